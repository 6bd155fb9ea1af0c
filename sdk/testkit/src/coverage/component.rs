//! How does a component get counters? Its own core modules are rewritten, each is given the memory of the counters when
//! it starts, and everything is numbered anew behind what is added at the beginning.

use super::module::{self, COUNTERS};
use super::tell::tell;
use super::{Constants, Counted, Counters, FIRST, INTERFACE, MOST, nested};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use wasm_encoder::reencode::{Error, Reencode, ReencodeComponent, component_utils};
use wasm_encoder::{
    Alias, CanonicalFunctionSection, CanonicalOption, Component, ComponentAliasSection, ComponentExportKind,
    ComponentImportSection, ComponentSectionId, ComponentTypeRef, ComponentTypeSection, ExportKind, InstanceSection,
    InstanceType, ModuleArg, PrimitiveValType, RawSection,
};
use wasmparser::{
    CanonicalFunction, Chunk, ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind,
    CustomSectionReader, ExternalKind, Instance, Parser, Payload,
};

/// What is added at the beginning, by kind; so much further is everything else that is numbered.
const TYPES: u32 = 1;
const INSTANCES: u32 = 1;
const FUNCTIONS: u32 = 1;
const MODULES: u32 = 2;
const CORE_INSTANCES: u32 = 3;
const CORE_FUNCTIONS: u32 = 1;
const CORE_MEMORIES: u32 = 1;
/// The core instance that has memory and function of the counters.
const ADDED: u32 = 2;

/// Puts counters into a component in its binary form, or into one inside it if it has no module of its own.
pub(super) fn counted(binary: &[u8]) -> Result<Counted, String> {
    let counted = match counted_in(binary, false)? {
        Some(counted) => Some(counted),
        None => nested::counted(binary, false)?,
    };
    counted.ok_or_else(|| "neither its own modules nor a component inside it has the functions that are called".into())
}

/// The same for its own modules; nothing if none has the functions that are called. `enclosed` says that it is inside of
/// another one, to which something is added at the beginning too.
pub(super) fn counted_in(binary: &[u8], enclosed: bool) -> Result<Option<Counted>, String> {
    let layout = layout(binary).map_err(|error| error.to_string())?;
    if layout.called.is_empty() {
        return Ok(None);
    }
    let (mut counters, mut constants) = (Counters::default(), Constants::default());
    let nothing = BTreeSet::new();
    let mut modules = Vec::new();
    for (index, module) in layout.modules.iter().enumerate() {
        let Some(module) = module else { continue };
        let called = layout.called.get(&(index as u32)).unwrap_or(&nothing);
        modules.push(match layout.fixed.contains(&(index as u32)) {
            true => Part { index: index as u32, bytes: module.to_vec(), counts: false },
            false => match module::counted(module, called, &mut counters, &mut constants)? {
                Some(bytes) => Part { index: index as u32, bytes, counts: true },
                None => Part { index: index as u32, bytes: module.to_vec(), counts: false },
            },
        });
    }
    let size = counters.all.min(MOST).next_multiple_of(8);
    let mut component = Component::new();
    begin(&mut component, size)?;
    let counts = modules.iter().filter(|part| part.counts).map(|part| part.index).collect();
    let mut wiring = Wiring { depth: 0, enclosed, modules: modules.into_iter(), counts };
    wiring
        .parse_component(&mut component, Parser::new(0), binary)
        .map_err(|error| format!("it cannot be rewritten: {error}"))?;
    let (all, compares) = (counters.all, counters.compares);
    Ok(Some(Counted { component: component.finish(), counters: all, words: constants.words(), compares }))
}

/// A core module of the component itself.
struct Part {
    index: u32,
    bytes: Vec<u8>,
    counts: bool,
}

/// Where the core modules of a component are, and what of them its callers call.
#[derive(Default)]
struct Layout<'a> {
    /// All by index; those that are not in its own bytes are `None`.
    modules: Vec<Option<&'a [u8]>>,
    /// Modules that somebody else starts: they cannot be given more than they ask for.
    fixed: BTreeSet<u32>,
    /// By module, the exports that are lifted.
    called: BTreeMap<u32, BTreeSet<String>>,
}

fn layout(binary: &[u8]) -> wasmparser::Result<Layout<'_>> {
    let mut layout = Layout::default();
    // Core functions that are exports of an instance, core instances that are modules started here.
    let (mut functions, mut instances, mut lifted) = (Vec::new(), Vec::new(), Vec::new());
    let (mut parser, mut rest) = (Parser::new(0), binary);
    while !rest.is_empty() {
        let Chunk::Parsed { consumed, payload } = parser.parse(rest, true)? else { break };
        rest = &rest[consumed..];
        match payload {
            Payload::ModuleSection { unchecked_range, .. } => {
                let bytes = binary.get(unchecked_range.clone());
                rest = rest.get(unchecked_range.len()..).unwrap_or_default();
                layout.modules.push(bytes);
            }
            Payload::ComponentSection { unchecked_range, .. } => {
                layout.fixed.extend(taken_inside(binary.get(unchecked_range.clone()).unwrap_or_default())?);
                rest = rest.get(unchecked_range.len()..).unwrap_or_default();
            }
            Payload::ComponentImportSection(section) => {
                for import in section {
                    if let wasmparser::ComponentTypeRef::Module(_) = import?.ty {
                        layout.modules.push(None);
                    }
                }
            }
            Payload::ComponentExportSection(section) => {
                for export in section {
                    let export = export?;
                    if export.kind == ComponentExternalKind::Module {
                        layout.fixed.insert(export.index);
                        layout.modules.push(None);
                    }
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section {
                    match alias? {
                        ComponentAlias::InstanceExport { kind: ComponentExternalKind::Module, .. }
                        | ComponentAlias::Outer { kind: ComponentOuterAliasKind::CoreModule, .. } => {
                            layout.modules.push(None);
                        }
                        ComponentAlias::CoreInstanceExport {
                            kind: ExternalKind::Func | ExternalKind::FuncExact,
                            instance_index,
                            name,
                        } => functions.push(Some((instance_index, name))),
                        _ => {}
                    }
                }
            }
            Payload::InstanceSection(section) => {
                for instance in section {
                    instances.push(match instance? {
                        Instance::Instantiate { module_index, .. } => Some(module_index),
                        Instance::FromExports(_) => None,
                    });
                }
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section {
                    match instance? {
                        ComponentInstance::Instantiate { args, .. } => {
                            let modules = args.iter().filter(|arg| arg.kind == ComponentExternalKind::Module);
                            layout.fixed.extend(modules.map(|arg| arg.index));
                        }
                        ComponentInstance::FromExports(exports) => {
                            let modules = exports.iter().filter(|export| export.kind == ComponentExternalKind::Module);
                            layout.fixed.extend(modules.map(|export| export.index));
                        }
                    }
                }
            }
            Payload::ComponentCanonicalSection(section) => {
                for function in section {
                    match function? {
                        CanonicalFunction::Lift { core_func_index, .. } => lifted.push(core_func_index),
                        _ => functions.push(None),
                    }
                }
            }
            _ => {}
        }
    }
    for index in lifted {
        let Some((instance, name)) = functions.get(index as usize).copied().flatten() else { continue };
        let Some(module) = instances.get(instance as usize).copied().flatten() else { continue };
        layout.called.entry(module).or_default().insert(name.to_owned());
    }
    Ok(layout)
}

/// The outermost component's modules that a component in it takes, or one in that.
fn taken_inside(component: &[u8]) -> wasmparser::Result<BTreeSet<u32>> {
    let (mut taken, mut depth) = (BTreeSet::new(), 0);
    for payload in Parser::new(0).parse_all(component) {
        match payload? {
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            Payload::ComponentAliasSection(section) => {
                for alias in section {
                    if let ComponentAlias::Outer { kind: ComponentOuterAliasKind::CoreModule, count, index } = alias?
                        && count == depth
                    {
                        taken.insert(index);
                    }
                }
            }
            _ => {}
        }
    }
    Ok(taken)
}

/// Imports the interface.
pub(super) fn import(component: &mut Component) {
    let mut interface = InstanceType::new();
    interface
        .ty()
        .function()
        .params([("edges", PrimitiveValType::String), ("compared", PrimitiveValType::String)])
        .result(None);
    interface.export("ran", ComponentTypeRef::Func(0));
    let mut types = ComponentTypeSection::new();
    types.instance(&interface);
    component.section(&types);
    let mut imports = ComponentImportSection::new();
    imports.import(INTERFACE, ComponentTypeRef::Instance(0));
    component.section(&imports);
}

/// What is added: the interface, the counters' memory and the function that tells them.
fn begin(component: &mut Component, size: u32) -> Result<(), String> {
    import(component);
    let mut aliases = ComponentAliasSection::new();
    aliases.alias(Alias::InstanceExport { instance: 0, kind: ComponentExportKind::Func, name: "ran" });
    component.section(&aliases);

    let pages = (u64::from(FIRST) + u64::from(size) * 7).div_ceil(1 << 16);
    module_of(component, &format!("(module (memory (export \"memory\") {pages}))"))?;
    let mut instances = InstanceSection::new();
    instances.instantiate(0, [] as [(&str, ModuleArg); 0]);
    component.section(&instances);
    let mut aliases = ComponentAliasSection::new();
    aliases.alias(Alias::CoreInstanceExport { instance: 0, kind: ExportKind::Memory, name: "memory" });
    component.section(&aliases);
    let mut functions = CanonicalFunctionSection::new();
    functions.lower(0, [CanonicalOption::UTF8, CanonicalOption::Memory(0)]);
    component.section(&functions);

    module_of(component, &tell(size))?;
    let mut instances = InstanceSection::new();
    instances.export_items([("ran", ExportKind::Func, 0)]);
    instances.instantiate(1, [("counters", ModuleArg::Instance(0)), ("host", ModuleArg::Instance(1))]);
    component.section(&instances);
    Ok(())
}

fn module_of(component: &mut Component, text: &str) -> Result<(), String> {
    let bytes = wat::parse_str(text).map_err(|error| error.to_string())?;
    component.section(&RawSection { id: ComponentSectionId::CoreModule.into(), data: &bytes });
    Ok(())
}

/// Writes the component anew. Only what is numbered at its outermost level moves.
struct Wiring {
    depth: u32,
    enclosed: bool,
    /// Those of its modules that are in its own bytes, in their order.
    modules: std::vec::IntoIter<Part>,
    /// The indices of those that count.
    counts: BTreeSet<u32>,
}

impl Wiring {
    fn moved(&self, index: u32, by: u32) -> u32 {
        self.moved_from(0, index, by)
    }

    fn moved_from(&self, count: u32, index: u32, by: u32) -> u32 {
        if count == self.depth { index + by } else { index }
    }
}

impl Reencode for Wiring {
    type Error = Infallible;

    fn function_index(&mut self, index: u32) -> Result<u32, Error> {
        Ok(self.moved(index, CORE_FUNCTIONS))
    }

    fn memory_index(&mut self, index: u32) -> Result<u32, Error> {
        Ok(self.moved(index, CORE_MEMORIES))
    }
}

impl ReencodeComponent for Wiring {
    fn component_type_index(&mut self, index: u32) -> u32 {
        self.moved(index, TYPES)
    }

    fn component_instance_index(&mut self, index: u32) -> u32 {
        self.moved(index, INSTANCES)
    }

    fn component_func_index(&mut self, index: u32) -> u32 {
        self.moved(index, FUNCTIONS)
    }

    fn module_index(&mut self, index: u32) -> u32 {
        self.moved(index, MODULES)
    }

    fn instance_index(&mut self, index: u32) -> u32 {
        self.moved(index, CORE_INSTANCES)
    }

    fn outer_component_type_index(&mut self, count: u32, index: u32) -> u32 {
        if self.enclosed && count == self.depth + 1 {
            return index + nested::TYPES;
        }
        self.moved_from(count, index, TYPES)
    }

    fn outer_component_index(&mut self, _: u32, index: u32) -> u32 {
        index
    }

    fn outer_module_index(&mut self, count: u32, index: u32) -> u32 {
        self.moved_from(count, index, MODULES)
    }

    fn push_depth(&mut self) {
        self.depth += 1;
    }

    fn pop_depth(&mut self) {
        self.depth -= 1;
    }

    fn parse_component_submodule(&mut self, component: &mut Component, _: Parser, module: &[u8]) -> Result<(), Error> {
        let own = if self.depth == 0 { self.modules.next() } else { None };
        let data = own.as_ref().map_or(module, |part| &part.bytes);
        component.section(&RawSection { id: ComponentSectionId::CoreModule.into(), data });
        Ok(())
    }

    fn parse_instance(&mut self, instances: &mut InstanceSection, instance: Instance<'_>) -> Result<(), Error> {
        match instance {
            Instance::Instantiate { module_index, args } if self.depth == 0 && self.counts.contains(&module_index) => {
                let given = args.iter().map(|arg| (arg.name, ModuleArg::Instance(arg.index + CORE_INSTANCES)));
                let given: Vec<_> = given.chain([(COUNTERS, ModuleArg::Instance(ADDED))]).collect();
                instances.instantiate(module_index + MODULES, given);
                Ok(())
            }
            other => component_utils::parse_instance(self, instances, other),
        }
    }

    fn parse_component_custom_section(&mut self, _: &mut Component, _: CustomSectionReader<'_>) -> Result<(), Error> {
        Ok(())
    }
}

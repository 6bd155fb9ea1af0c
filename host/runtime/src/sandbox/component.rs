//! What is in a component? Its imports, exports and how much there is of it, read off its bytes in one pass before
//! anything is compiled. Must not run, compile or trust any of it.

use super::install::InstallError;
use crate::registry::manifest::LimitsManifest;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use wasmparser::{
    ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind, ComponentTypeRef, Encoding,
    Instance, KnownCustom, Parser, Payload,
};

/// Largest component, in bytes; one of a language with an interpreter has about 20 MB.
pub(crate) const BYTES: u64 = 64 << 20;
/// Largest component as text, in bytes. Text is for trying things out, and reading it takes many times its size.
const TEXT: u64 = 4 << 20;
/// Most types of all modules and components inside. Those of interpreters have some thousands.
const TYPES: u64 = 100_000;
/// Most imports and most exports.
const NAMES: u64 = 1000;
/// Most modules and components inside.
const PARTS: u64 = 1000;
/// Size of the largest page of memory, as a power of two.
const PAGE: u32 = 16;
/// How deep components may stand in components.
const DEPTH: usize = 32;

/// What was found in a component.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Contents {
    /// Its size in bytes.
    pub bytes: u64,
    /// The interfaces that it imports, by full name.
    pub imports: BTreeSet<String>,
    /// Imports that are no interfaces.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub other_imports: BTreeSet<String>,
    /// What it exports, by full name.
    pub exports: BTreeSet<String>,
    /// Modules and components inside.
    pub parts: u64,
    /// Types of all of them.
    pub types: u64,
    /// Core instances that it is made of when it starts, as far as its own parts say.
    pub instances: u64,
    /// Memory that its modules have before anything runs, each counted once, in bytes.
    pub memory_bytes: u64,
    /// What made it: languages and tools with their versions.
    pub producers: BTreeMap<String, BTreeSet<String>>,
}

/// What brings an interpreter along, by the name that it writes, and what its components get that say nothing: memory in
/// MiB and fuel. What is interpreted takes many times what is compiled.
const INTERPRETERS: &[(&str, u64, u64)] = &[
    ("componentize-py", 256, 50_000_000_000),
    // All that `componentize-py` itself leaves in a component, as others do that start a component before it is used.
    ("component-init-transform", 256, 50_000_000_000),
    // With SpiderMonkey.
    ("ComponentizeJS", 256, 50_000_000_000),
    // Leaves no word itself; `plugin build` does.
    ("componentize-qjs", 128, 30_000_000_000),
];

impl Contents {
    /// What a call of it gets where no manifest says how much.
    pub fn usual_limits(&self) -> LimitsManifest {
        let made_by = |name: &str| {
            let mut tools = self.producers.values().flatten();
            tools.any(|tool| tool.split(' ').next() == Some(name))
        };
        let interpreter = INTERPRETERS.iter().find(|(name, ..)| made_by(name));
        interpreter.map_or_else(LimitsManifest::default, |(_, memory_mb, fuel)| LimitsManifest {
            memory_mb: Some(*memory_mb),
            fuel: Some(*fuel),
            ..LimitsManifest::default()
        })
    }
}

/// Reads a component in its binary form.
///
/// # Errors
/// Bytes that do not hold together, or more of something than a component may have.
pub fn contents(binary: &[u8]) -> Result<Contents, InstallError> {
    too_many("bytes", binary.len() as u64, BYTES)?;
    let mut reader = Reader::default();
    for payload in Parser::new(0).parse_all(binary) {
        reader.take(payload.map_err(invalid)?)?;
    }
    reader.contents.bytes = binary.len() as u64;
    Ok(reader.contents)
}

/// The binary form of what may be component text.
///
/// # Errors
/// What is no component in either form.
pub fn binary(bytes: &[u8]) -> Result<Cow<'_, [u8]>, InstallError> {
    too_many("bytes", bytes.len() as u64, BYTES)?;
    if Parser::is_component(bytes) {
        return Ok(bytes.into());
    }
    if Parser::is_core_wasm(bytes) {
        return Err(InstallError::NotAComponent("a core module (wrap it with `wasm-tools component new`)"));
    }
    let is_text = bytes.trim_ascii_start().starts_with(b"(") || bytes.trim_ascii_start().starts_with(b";;");
    match std::str::from_utf8(bytes).ok().filter(|_| is_text) {
        Some(text) if text.len() as u64 > TEXT => {
            Err(InstallError::TooLarge { what: "bytes of text", count: text.len() as u64, limit: TEXT })
        }
        Some(text) => match wat::parse_str(text) {
            Ok(binary) if Parser::is_component(&binary) => Ok(binary.into()),
            Ok(_) => Err(InstallError::NotAComponent("the text of a core module")),
            Err(error) => Err(InstallError::Invalid(error.to_string())),
        },
        None => Err(InstallError::NotAComponent("some other file")),
    }
}

fn invalid(error: wasmparser::BinaryReaderError) -> InstallError {
    InstallError::Invalid(error.to_string())
}

fn too_many(what: &'static str, count: u64, limit: u64) -> Result<(), InstallError> {
    match count > limit {
        true => Err(InstallError::TooLarge { what, count, limit }),
        false => Ok(()),
    }
}

#[derive(Default)]
struct Reader {
    /// The modules and components around the present place, the innermost last.
    around: Vec<Part>,
    contents: Contents,
}

enum Part {
    Module,
    Component(Scope),
}

/// What is known of one component: how many core instances each component has that it can start, and itself.
#[derive(Default)]
struct Scope {
    components: Vec<u64>,
    instances: u64,
}

impl Reader {
    fn take(&mut self, payload: Payload<'_>) -> Result<(), InstallError> {
        match payload {
            Payload::Version { encoding, .. } => self.begin(encoding)?,
            Payload::End(_) => self.end(),
            Payload::TypeSection(section) => self.types(section.count())?,
            Payload::CoreTypeSection(section) => self.types(section.count())?,
            Payload::ComponentTypeSection(section) => self.types(section.count())?,
            Payload::MemorySection(section) => {
                for memory in section {
                    let memory = memory.map_err(invalid)?;
                    let bytes = memory.initial.saturating_mul(1 << memory.page_size_log2().min(PAGE));
                    self.contents.memory_bytes = self.contents.memory_bytes.saturating_add(bytes);
                }
            }
            Payload::InstanceSection(section) => {
                for instance in section {
                    if let Instance::Instantiate { .. } = instance.map_err(invalid)? {
                        self.start(1);
                    }
                }
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section {
                    if let ComponentInstance::Instantiate { component_index, .. } = instance.map_err(invalid)? {
                        self.start(self.component(0, component_index));
                    }
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section {
                    self.alias(&alias.map_err(invalid)?);
                }
            }
            Payload::ComponentImportSection(section) => {
                for import in section {
                    let import = import.map_err(invalid)?;
                    self.import(import.name.name, import.ty)?;
                }
            }
            Payload::ComponentExportSection(section) => {
                for export in section {
                    let export = export.map_err(invalid)?;
                    if export.kind == ComponentExternalKind::Component {
                        self.define(self.component(0, export.index));
                    }
                    if self.around.len() == 1 {
                        self.contents.exports.insert(export.name.name.to_owned());
                        too_many("exports", self.contents.exports.len() as u64, NAMES)?;
                    }
                }
            }
            Payload::CustomSection(section) => {
                if let KnownCustom::Producers(producers) = section.as_known() {
                    // What a tool says about itself decides nothing, so what cannot be read is left out.
                    let _ = self.producers(producers);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, encoding: Encoding) -> Result<(), InstallError> {
        self.contents.parts += u64::from(!self.around.is_empty());
        too_many("modules and components", self.contents.parts, PARTS)?;
        too_many("components in each other", self.around.len() as u64, DEPTH as u64)?;
        self.around.push(match encoding {
            Encoding::Module => Part::Module,
            Encoding::Component => Part::Component(Scope::default()),
        });
        Ok(())
    }

    fn end(&mut self) {
        if let Some(Part::Component(scope)) = self.around.pop() {
            match self.around.is_empty() {
                true => self.contents.instances = scope.instances,
                false => self.define(scope.instances),
            }
        }
    }

    fn types(&mut self, count: u32) -> Result<(), InstallError> {
        self.contents.types += u64::from(count);
        too_many("types", self.contents.types, TYPES)
    }

    /// The component so many components further out under an index: how many core instances it comes to.
    fn component(&self, outward: u32, index: u32) -> u64 {
        let components = self.around.iter().rev().filter_map(|part| match part {
            Part::Component(scope) => Some(scope),
            Part::Module => None,
        });
        let scope = components.take(DEPTH + 1).nth(outward as usize);
        scope.and_then(|scope| scope.components.get(index as usize)).copied().unwrap_or(0)
    }

    fn define(&mut self, instances: u64) {
        if let Some(Part::Component(scope)) = self.around.last_mut() {
            scope.components.push(instances);
        }
    }

    fn start(&mut self, instances: u64) {
        if let Some(Part::Component(scope)) = self.around.last_mut() {
            // Components that start each other twice grow as powers of two.
            scope.instances = scope.instances.saturating_add(instances);
        }
    }

    fn alias(&mut self, alias: &ComponentAlias<'_>) {
        match *alias {
            ComponentAlias::Outer { kind: ComponentOuterAliasKind::Component, count, index } => {
                self.define(self.component(count, index));
            }
            // What comes from elsewhere is counted where it is defined, or by the engine when it is compiled.
            ComponentAlias::InstanceExport { kind: ComponentExternalKind::Component, .. } => self.define(0),
            ComponentAlias::Outer { .. }
            | ComponentAlias::InstanceExport { .. }
            | ComponentAlias::CoreInstanceExport { .. } => {}
        }
    }

    fn import(&mut self, name: &str, what: ComponentTypeRef) -> Result<(), InstallError> {
        if matches!(what, ComponentTypeRef::Component(_)) {
            self.define(0);
        }
        if self.around.len() > 1 {
            return Ok(());
        }
        let found = &mut self.contents;
        match what {
            ComponentTypeRef::Instance(_) => found.imports.insert(name.to_owned()),
            _ => found.other_imports.insert(name.to_owned()),
        };
        too_many("imports", (found.imports.len() + found.other_imports.len()) as u64, NAMES)
    }

    fn producers(&mut self, section: wasmparser::ProducersSectionReader<'_>) -> wasmparser::Result<()> {
        /// Most names that are kept of each field, and most bytes of one.
        const KEPT: (usize, usize) = (16, 80);
        for field in section.into_iter().take(8) {
            let field = field?;
            for value in field.values.into_iter().take(KEPT.0) {
                let value = value?;
                let known = self.contents.producers.entry(crate::document::excerpt(field.name, KEPT.1)).or_default();
                if known.len() < KEPT.0 {
                    known.insert(crate::document::excerpt(format!("{} {}", value.name, value.version).trim(), KEPT.1));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Contents, InstallError> {
        contents(&binary(text.as_bytes())?)
    }

    #[test]
    fn instances_are_counted_through_components_that_start_each_other() {
        let double = |depth: usize| {
            let mut text = "(component $c0 (core module $m) (core instance (instantiate $m)))".to_owned();
            for level in 1..=depth {
                let inner = level - 1;
                text += &format!(
                    "(component $c{level} (alias outer 1 $c{inner} (component $x))
                       (instance (instantiate $x)) (instance (instantiate $x)))"
                );
            }
            of(&format!("(component {text} (instance (instantiate $c{depth})))"))
        };
        assert_eq!(double(0).unwrap().instances, 1);
        assert_eq!(double(5).unwrap().instances, 32);
        assert_eq!(double(70).unwrap().instances, u64::MAX);
    }

    #[test]
    fn memory_that_is_there_from_the_start_is_counted() {
        let text = "(component (core module (memory 3)) (component (core module (memory 2 5) (memory i64 1))))";
        assert_eq!(of(text).unwrap().memory_bytes, 6 << 16);
        assert_eq!(of("(component (core module (memory 0)))").unwrap().memory_bytes, 0);
    }

    #[test]
    fn what_brings_an_interpreter_along_gets_more_where_nothing_is_said() {
        let made_by =
            |name: &str| of(&format!("(component (core module (@producers (processed-by \"{name}\" \"1.0\"))))"));
        for (name, memory_mb) in [("component-init-transform", 256), ("ComponentizeJS", 256), ("componentize-qjs", 128)]
        {
            let limits = made_by(name).unwrap().usual_limits();
            assert_eq!((limits.memory_mb, limits.output_bytes), (Some(memory_mb), None));
        }
        assert_eq!(made_by("rustc").unwrap().usual_limits(), LimitsManifest::default());
    }

    #[test]
    fn what_there_is_too_much_of_is_named() {
        let types = format!("(component (core module {}))", "(type (func))".repeat(TYPES as usize + 1));
        assert_eq!(of(&types).unwrap_err().to_string(), "it has 100001 types, more than 100000");
        let modules = format!("(component {})", "(core module)".repeat(PARTS as usize + 1));
        assert_eq!(of(&modules).unwrap_err().to_string(), "it has 1001 modules and components, more than 1000");
        let imports: String = (0..=NAMES).map(|n| format!("(import \"a:b/c{n}\" (instance))")).collect();
        assert_eq!(
            of(&format!("(component {imports})")).unwrap_err().to_string(),
            "it has 1001 imports, more than 1000"
        );
        let deep = "(component ".repeat(40) + &")".repeat(40);
        assert_eq!(of(&deep).unwrap_err().to_string(), "it has 33 components in each other, more than 32");
    }
}

//! How does a core module count what it does? Before each branch stands what adds one to the counter of the way that it
//! goes; functions and loops have one at their beginning. A comparison with a number counts how much of it is the same,
//! so that one letter after the other can be found, and tells by that that there was one.

use super::compare::{self, Compares};
use super::count::{Count, Spare};
use super::{Constants, Counters};
use std::collections::{BTreeMap, BTreeSet};
use wasm_encoder::reencode::{Error, Reencode, utils};
use wasm_encoder::{
    CodeSection, EntityType, ExportSection, Function, FunctionSection, ImportSection, Instruction, MemoryType, Module,
    SectionId, TypeSection, ValType,
};
use wasmparser::{CompositeInnerType, ExternalKind, FunctionBody, Operator, Parser, Payload, TypeRef};

/// From where a module imports memory and function of the counters.
pub(super) const COUNTERS: &str = "hermes-testkit-coverage";

/// Puts counters into a module; `None` if it has no function. `called` are its exports that are called from outside:
/// at their end the counters are told.
pub(super) fn counted(
    module: &[u8],
    called: &BTreeSet<String>,
    counters: &mut Counters,
    constants: &mut Constants,
) -> Result<Option<Vec<u8>>, String> {
    let facts = Facts::of(module).map_err(|error| error.to_string())?;
    if facts.defined.is_empty() {
        return Ok(None);
    }
    let own = |index: &u32| *index >= facts.functions;
    let ends = facts.exports.iter().filter(|(name, index)| called.contains(*name) && own(index));
    let ends = ends.map(|(name, index)| (name.clone(), *index)).collect();
    let comparing = match facts.can_note {
        true => compare::comparing(module, &facts.exports, facts.functions, |index| facts.numbers(index)),
        false => BTreeMap::new(),
    };
    let count = Count { memory: facts.memories, counters, constants };
    let mut counting = Counting { facts: &facts, count, ends, comparing, body: 0, has_imports: false };
    let mut written = Module::new();
    counting
        .parse_core_module(&mut written, Parser::new(0), module)
        .map_err(|error| format!("one of its modules cannot be rewritten: {error}"))?;
    Ok(Some(written.finish()))
}

/// What has to be known of a module before it is written anew.
#[derive(Default)]
struct Facts {
    /// Functions and memories that it imports.
    functions: u32,
    memories: u32,
    /// By type, how many parameters a function of it has, and whether all are numbers of 32 bits.
    params: Vec<(u32, bool)>,
    /// Whether it has a memory of the common kind, where what it compares lies.
    can_note: bool,
    /// The types of its own functions.
    defined: Vec<u32>,
    /// Functions that it exports.
    exports: BTreeMap<String, u32>,
}

impl Facts {
    fn of(module: &[u8]) -> wasmparser::Result<Facts> {
        let mut facts = Facts::default();
        for payload in Parser::new(0).parse_all(module) {
            match payload? {
                Payload::TypeSection(section) => {
                    for group in section {
                        for type_ in group?.into_types() {
                            facts.params.push(match type_.composite_type.inner {
                                CompositeInnerType::Func(function) => {
                                    let params = function.params();
                                    (params.len() as u32, params.iter().all(|param| *param == wasmparser::ValType::I32))
                                }
                                _ => (0, false),
                            });
                        }
                    }
                }
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        match import?.ty {
                            TypeRef::Func(_) | TypeRef::FuncExact(_) => facts.functions += 1,
                            TypeRef::Memory(memory) => {
                                facts.can_note |= facts.memories == 0 && !memory.memory64;
                                facts.memories += 1;
                            }
                            _ => {}
                        }
                    }
                }
                Payload::MemorySection(section) => {
                    for memory in section.into_iter().take(1) {
                        facts.can_note |= facts.memories == 0 && !memory?.memory64;
                    }
                }
                Payload::FunctionSection(section) => {
                    facts.defined = section.into_iter().collect::<wasmparser::Result<_>>()?;
                }
                Payload::ExportSection(section) => {
                    for export in section {
                        let export = export?;
                        if let ExternalKind::Func | ExternalKind::FuncExact = export.kind {
                            facts.exports.insert(export.name.to_owned(), export.index);
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(facts)
    }

    fn params(&self, type_: u32) -> u32 {
        self.params.get(type_ as usize).map_or(0, |(count, _)| *count)
    }

    /// How many numbers one of its own functions takes, if it takes nothing else.
    fn numbers(&self, function: u32) -> Option<usize> {
        let type_ = self.defined.get(function.checked_sub(self.functions)? as usize)?;
        let (count, all) = self.params.get(*type_ as usize)?;
        all.then_some(*count as usize)
    }
}

/// Writes a module anew.
struct Counting<'a> {
    facts: &'a Facts,
    count: Count<'a>,
    /// Exports at whose end is told, with their functions; each has a function of its own behind all others.
    ends: Vec<(String, u32)>,
    /// Its own functions that compare texts.
    comparing: BTreeMap<u32, Compares>,
    /// Which function's body comes next.
    body: u32,
    has_imports: bool,
}

impl Counting<'_> {
    /// The type of the function that tells, behind all others.
    fn type_of_tell(&self) -> u32 {
        self.facts.params.len() as u32
    }

    /// The function that notes what is compared, behind all others; it has the type behind that one's.
    fn note(&self) -> u32 {
        self.facts.functions + 1 + self.facts.defined.len() as u32 + self.ends.len() as u32
    }

    fn add_imports(&mut self, imports: &mut ImportSection) {
        self.has_imports = true;
        let memory = MemoryType { minimum: 0, maximum: None, memory64: false, shared: false, page_size_log2: None };
        imports.import(COUNTERS, "memory", EntityType::Memory(memory));
        imports.import(COUNTERS, "tell", EntityType::Function(self.type_of_tell()));
    }
}

impl Reencode for Counting<'_> {
    type Error = String;

    fn function_index(&mut self, index: u32) -> Result<u32, Error<String>> {
        Ok(if index < self.facts.functions { index } else { index + 1 })
    }

    fn memory_index(&mut self, index: u32) -> Result<u32, Error<String>> {
        Ok(if index < self.facts.memories { index } else { index + 1 })
    }

    fn parse_type_section(
        &mut self,
        types: &mut TypeSection,
        section: wasmparser::TypeSectionReader<'_>,
    ) -> Result<(), Error<String>> {
        utils::parse_type_section(self, types, section)?;
        types.ty().function([], []);
        types.ty().function([ValType::I32; 4], []);
        Ok(())
    }

    fn parse_import_section(
        &mut self,
        imports: &mut ImportSection,
        section: wasmparser::ImportSectionReader<'_>,
    ) -> Result<(), Error<String>> {
        utils::parse_import_section(self, imports, section)?;
        self.add_imports(imports);
        Ok(())
    }

    fn intersperse_section_hook(
        &mut self,
        module: &mut Module,
        _: Option<SectionId>,
        before: Option<SectionId>,
    ) -> Result<(), Error<String>> {
        let is_early = matches!(before, None | Some(SectionId::Type | SectionId::Import));
        if !self.has_imports && !is_early {
            let mut imports = ImportSection::new();
            self.add_imports(&mut imports);
            module.section(&imports);
        }
        Ok(())
    }

    fn parse_function_section(
        &mut self,
        functions: &mut FunctionSection,
        section: wasmparser::FunctionSectionReader<'_>,
    ) -> Result<(), Error<String>> {
        utils::parse_function_section(self, functions, section)?;
        for (_, index) in &self.ends {
            functions.function(self.facts.defined[(index - self.facts.functions) as usize]);
        }
        if !self.comparing.is_empty() {
            functions.function(self.type_of_tell() + 1);
        }
        Ok(())
    }

    fn parse_export(
        &mut self,
        exports: &mut ExportSection,
        export: wasmparser::Export<'_>,
    ) -> Result<(), Error<String>> {
        let is_function = matches!(export.kind, ExternalKind::Func | ExternalKind::FuncExact);
        let end = self.ends.iter().position(|(name, _)| is_function && name == export.name);
        match end {
            Some(place) => {
                let first = self.facts.functions + 1 + self.facts.defined.len() as u32;
                exports.export(export.name, wasm_encoder::ExportKind::Func, first + place as u32);
                Ok(())
            }
            None => utils::parse_export(self, exports, export),
        }
    }

    fn parse_code_section(
        &mut self,
        code: &mut CodeSection,
        section: wasmparser::CodeSectionReader<'_>,
    ) -> Result<(), Error<String>> {
        utils::parse_code_section(self, code, section)?;
        for (_, index) in self.ends.clone() {
            let mut body = Function::new([]);
            for param in 0..self.facts.params(self.facts.defined[(index - self.facts.functions) as usize]) {
                body.instruction(&Instruction::LocalGet(param));
            }
            body.instruction(&Instruction::Call(self.function_index(index)?));
            body.instruction(&Instruction::Call(self.facts.functions));
            body.instruction(&Instruction::End);
            code.function(&body);
        }
        if !self.comparing.is_empty() {
            let memories = [self.memory_index(0)?, self.facts.memories];
            compare::note(code, memories).map_err(Error::UserError)?;
        }
        Ok(())
    }

    fn parse_function_body(&mut self, code: &mut CodeSection, body: FunctionBody<'_>) -> Result<(), Error<String>> {
        let type_ = self.facts.defined.get(self.body as usize).copied().unwrap_or_default();
        let compares = self.comparing.get(&(self.facts.functions + self.body)).copied();
        self.body += 1;
        let (mut locals, mut end) = (Vec::new(), self.facts.params(type_));
        for group in body.get_locals_reader()? {
            let (count, type_) = group?;
            end += count;
            locals.push((count, self.val_type(type_)?));
        }
        locals.extend([(3, ValType::I32), (2, ValType::I64)]);
        let spare = Spare { first: end, second: end + 1, place: end + 2, wide: [end + 3, end + 4] };
        let mut written = Function::new(locals);
        let mut operators = body.get_operators_reader()?;
        self.count.here(&mut written, &spare);
        for instruction in compares.iter().flat_map(|compares| compares.noting(self.note())) {
            written.instruction(&instruction);
        }
        let mut before = Operator::Nop;
        while !operators.eof() {
            let operator = operators.read()?;
            self.count.before(&mut written, &spare, &before, &operator);
            written.instruction(&self.instruction(operator.clone())?);
            if let Operator::Loop { .. } = operator {
                self.count.here(&mut written, &spare);
            }
            before = operator;
        }
        code.function(&written);
        Ok(())
    }

    fn parse_custom_section(
        &mut self,
        _: &mut Module,
        _: wasmparser::CustomSectionReader<'_>,
    ) -> Result<(), Error<String>> {
        // Names and lines are those of the code as it was.
        Ok(())
    }
}

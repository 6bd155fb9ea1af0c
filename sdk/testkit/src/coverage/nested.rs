//! How does a component get counters that has no module of its own, but puts components inside it together, as tools do
//! that give it the parts which it imports? The largest of them whose functions are called is counted, and handed the
//! interface that the outer one imports. Must not know how a component is counted.

use super::{Counted, INTERFACE, component};
use std::cmp::Reverse;
use std::convert::Infallible;
use wasm_encoder::reencode::{Error, Reencode, ReencodeComponent, component_utils};
use wasm_encoder::{Component, ComponentExportKind, ComponentInstanceSection, ComponentSectionId, RawSection};
use wasmparser::{
    Chunk, ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind, CustomSectionReader,
    Parser, Payload,
};

/// What is added at the beginning of the outer one: the interface's type and its import.
pub(super) const TYPES: u32 = 1;
const INSTANCES: u32 = 1;

/// Puts counters into a component inside, or into one inside that; nothing if none has the functions that are called.
/// `enclosed` says that the outer one is itself inside of another one that is written anew.
pub(super) fn counted(binary: &[u8], enclosed: bool) -> Result<Option<Counted>, String> {
    let mut inside = inside(binary).map_err(|error| error.to_string())?;
    inside.sort_by_key(|(_, bytes)| Reverse(bytes.len()));
    for (index, bytes) in inside {
        let counted = match component::counted_in(bytes, true)? {
            Some(counted) => Some(counted),
            None => self::counted(bytes, true)?,
        };
        let Some(counted) = counted else { continue };
        let mut outer = Component::new();
        component::import(&mut outer);
        let mut wrapping = Wrapping { depth: 0, enclosed, index, original: bytes, counted: &counted.component };
        wrapping
            .parse_component(&mut outer, Parser::new(0), binary)
            .map_err(|error| format!("it cannot be rewritten: {error}"))?;
        return Ok(Some(Counted { component: outer.finish(), ..counted }));
    }
    Ok(None)
}

/// The components that are in its own bytes, by index.
fn inside(binary: &[u8]) -> wasmparser::Result<Vec<(u32, &[u8])>> {
    let (mut found, mut next) = (Vec::new(), 0);
    let (mut parser, mut rest) = (Parser::new(0), binary);
    while !rest.is_empty() {
        let Chunk::Parsed { consumed, payload } = parser.parse(rest, true)? else { break };
        rest = &rest[consumed..];
        match payload {
            Payload::ModuleSection { unchecked_range, .. } => {
                rest = rest.get(unchecked_range.len()..).unwrap_or_default();
            }
            Payload::ComponentSection { unchecked_range, .. } => {
                found.extend(binary.get(unchecked_range.clone()).map(|bytes| (next, bytes)));
                rest = rest.get(unchecked_range.len()..).unwrap_or_default();
                next += 1;
            }
            Payload::ComponentImportSection(section) => {
                for import in section {
                    next += u32::from(matches!(import?.ty, wasmparser::ComponentTypeRef::Component(_)));
                }
            }
            Payload::ComponentExportSection(section) => {
                for export in section {
                    next += u32::from(export?.kind == ComponentExternalKind::Component);
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section {
                    next += u32::from(matches!(
                        alias?,
                        ComponentAlias::InstanceExport { kind: ComponentExternalKind::Component, .. }
                            | ComponentAlias::Outer { kind: ComponentOuterAliasKind::Component, .. }
                    ));
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Writes the outer component anew.
struct Wrapping<'a> {
    depth: u32,
    enclosed: bool,
    /// Which component is counted, as it is and with counters.
    index: u32,
    original: &'a [u8],
    counted: &'a [u8],
}

impl Reencode for Wrapping<'_> {
    type Error = Infallible;
}

impl ReencodeComponent for Wrapping<'_> {
    fn component_type_index(&mut self, index: u32) -> u32 {
        if self.depth == 0 { index + TYPES } else { index }
    }

    fn component_instance_index(&mut self, index: u32) -> u32 {
        if self.depth == 0 { index + INSTANCES } else { index }
    }

    fn outer_component_type_index(&mut self, count: u32, index: u32) -> u32 {
        let moves = count == self.depth || (self.enclosed && count == self.depth + 1);
        if moves { index + TYPES } else { index }
    }

    fn push_depth(&mut self) {
        self.depth += 1;
    }

    fn pop_depth(&mut self) {
        self.depth -= 1;
    }

    fn parse_component_submodule(&mut self, component: &mut Component, _: Parser, module: &[u8]) -> Result<(), Error> {
        component.section(&RawSection { id: ComponentSectionId::CoreModule.into(), data: module });
        Ok(())
    }

    fn parse_component_subcomponent(
        &mut self,
        component: &mut Component,
        parser: Parser,
        inner: &[u8],
        whole: &[u8],
    ) -> Result<(), Error> {
        if std::ptr::eq(inner, self.original) {
            component.section(&RawSection { id: ComponentSectionId::Component.into(), data: self.counted });
            return Ok(());
        }
        component_utils::parse_component_subcomponent(self, component, parser, inner, whole)
    }

    fn parse_component_instance(
        &mut self,
        instances: &mut ComponentInstanceSection,
        instance: ComponentInstance<'_>,
    ) -> Result<(), Error> {
        match instance {
            ComponentInstance::Instantiate { component_index, args }
                if self.depth == 0 && component_index == self.index =>
            {
                let mut given: Vec<(&str, ComponentExportKind, u32)> = Vec::new();
                for arg in &args {
                    given.push((arg.name, arg.kind.into(), self.component_external_index(arg.kind, arg.index)));
                }
                given.push((INTERFACE, ComponentExportKind::Instance, 0));
                instances.instantiate(component_index, given);
                Ok(())
            }
            other => component_utils::parse_component_instance(self, instances, other),
        }
    }

    fn parse_component_custom_section(&mut self, _: &mut Component, _: CustomSectionReader<'_>) -> Result<(), Error> {
        Ok(())
    }
}

//! Where in a manifest's text does each part of it stand? By JSON Pointer, for messages; only looked for when something
//! is wrong. Must not know what a manifest means.

use crate::document::Fault;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// The parts of a text. A member stands where its key does.
#[derive(Debug, Default)]
pub(super) struct Places(HashMap<String, (usize, usize)>);

impl Places {
    /// The parts of a TOML text, as far as it can be read.
    pub(super) fn of_toml(text: &str) -> Places {
        let mut places = Places::default();
        let (table, _) = DeTable::parse_recoverable(text);
        places.table("", table.get_ref(), text);
        places
    }

    /// The parts of a YAML text; none if it cannot be read.
    pub(super) fn of_yaml(text: &str) -> Places {
        let mut places = Places::default();
        if let Ok(node) = serde_saphyr::from_str::<Node>(text) {
            places.node("", node);
        }
        places
    }

    /// A fault at a part, or at what it is missing in.
    pub(super) fn fault(&self, file: &Path, pointer: &str, message: String) -> Fault {
        let mut fault = Fault::whole(file, message);
        let mut at = Some(pointer);
        while let Some(pointer) = at {
            if let Some((line, column)) = self.0.get(pointer) {
                (fault.line, fault.column) = (*line, *column);
                break;
            }
            at = pointer.rsplit_once('/').map(|(above, _)| above);
        }
        fault
    }

    fn note(&mut self, pointer: &str, text: &str, offset: usize) {
        let fault = Fault::at(Path::new(""), text, offset, "");
        self.0.insert(pointer.to_owned(), (fault.line, fault.column));
    }

    fn table(&mut self, at: &str, table: &DeTable<'_>, text: &str) {
        for (key, value) in table {
            let pointer = format!("{at}/{}", escape(key.get_ref()));
            self.note(&pointer, text, key.span().start);
            self.value(&pointer, value.get_ref(), text);
        }
    }

    fn value(&mut self, at: &str, value: &DeValue<'_>, text: &str) {
        match value {
            DeValue::Table(table) => self.table(at, table, text),
            DeValue::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let pointer = format!("{at}/{index}");
                    self.note(&pointer, text, item.span().start);
                    self.value(&pointer, item.get_ref(), text);
                }
            }
            _ => {}
        }
    }

    fn node(&mut self, at: &str, node: Node) {
        match node {
            Node::Map(members) => {
                for (key, value) in members {
                    let pointer = format!("{at}/{}", escape(&key.value));
                    self.0.insert(pointer.clone(), place(&key));
                    self.node(&pointer, value);
                }
            }
            Node::List(items) => {
                for (index, item) in items.into_iter().enumerate() {
                    let pointer = format!("{at}/{index}");
                    self.0.insert(pointer.clone(), place(&item));
                    self.node(&pointer, item.value);
                }
            }
            Node::Scalar => {}
        }
    }
}

fn place<T>(spanned: &Spanned<T>) -> (usize, usize) {
    (spanned.referenced.line() as usize, spanned.referenced.column() as usize)
}

/// A key as a part of a JSON Pointer.
pub(super) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// A part of a YAML text, as far as places are concerned.
enum Node {
    Map(Vec<(Spanned<String>, Node)>),
    List(Vec<Spanned<Node>>),
    Scalar,
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(Parts)
    }
}

struct Parts;

impl<'de> Visitor<'de> for Parts {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Node::Map(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
        Ok(Node::Scalar)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
        Ok(Node::Scalar)
    }

    fn visit_i128<E>(self, _: i128) -> Result<Node, E> {
        Ok(Node::Scalar)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Node, E> {
        Ok(Node::Scalar)
    }

    fn visit_u128<E>(self, _: u128) -> Result<Node, E> {
        Ok(Node::Scalar)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(Node::Scalar)
    }

    fn visit_str<E>(self, _: &str) -> Result<Node, E> {
        Ok(Node::Scalar)
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place_of(places: &Places, pointer: &str) -> (usize, usize) {
        let fault = places.fault(Path::new("x"), pointer, String::new());
        (fault.line, fault.column)
    }

    #[test]
    fn every_part_of_both_forms_has_its_place() {
        let toml = Places::of_toml("[tool]\nname = 'a'\n\n[[tool.inputs]]\nname = 'x'\n[[tool.inputs]]\nname = 'y'\n");
        assert_eq!(place_of(&toml, "/tool/name"), (2, 1));
        assert_eq!(place_of(&toml, "/tool/inputs/1/name"), (7, 1));
        assert_eq!(place_of(&toml, "/tool/inputs/0/range").0, 4, "what is missing stands where it would be");
        let yaml = Places::of_yaml("tool:\n  name: a\n  inputs:\n    - name: x\n    - { name: y, type: z }\n");
        assert_eq!(place_of(&yaml, "/tool/name"), (2, 3));
        assert_eq!(place_of(&yaml, "/tool/inputs/0/name"), (4, 7));
        assert_eq!(place_of(&yaml, "/tool/inputs/1/type"), (5, 18));
    }
}

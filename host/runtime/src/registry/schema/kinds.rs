//! Which kinds of values are there for JSON Schema? A small set of them.

use serde_json::Value;

/// A set of kinds of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

impl Kinds {
    pub(crate) const NONE: Kinds = Kinds(0);
    pub(crate) const NULL: Kinds = Kinds(1);
    pub(crate) const BOOLEAN: Kinds = Kinds(2);
    pub(crate) const INTEGER: Kinds = Kinds(4);
    pub(crate) const FRACTION: Kinds = Kinds(8);
    pub(crate) const STRING: Kinds = Kinds(16);
    pub(crate) const ARRAY: Kinds = Kinds(32);
    pub(crate) const OBJECT: Kinds = Kinds(64);
    pub(crate) const ALL: Kinds = Kinds(127);

    /// The kind of a value.
    pub(crate) fn of(value: &Value) -> Kinds {
        match value {
            Value::Null => Kinds::NULL,
            Value::Bool(_) => Kinds::BOOLEAN,
            Value::Number(number) => match number.as_f64() {
                Some(float) if number.is_f64() && float.fract() != 0.0 => Kinds::FRACTION,
                _ => Kinds::INTEGER,
            },
            Value::String(_) => Kinds::STRING,
            Value::Array(_) => Kinds::ARRAY,
            Value::Object(_) => Kinds::OBJECT,
        }
    }

    /// Whether all of others are in it.
    pub(crate) fn has(self, others: Kinds) -> bool {
        self.0 & others.0 == others.0
    }

    /// What is in both.
    pub(crate) const fn and(self, other: Kinds) -> Kinds {
        Kinds(self.0 & other.0)
    }

    /// What is in one of them.
    pub(crate) const fn or(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    /// What is not in another.
    pub(crate) const fn without(self, other: Kinds) -> Kinds {
        Kinds(self.0 & !other.0)
    }

    pub(super) fn named(name: &str) -> Kinds {
        match name {
            "null" => Kinds::NULL,
            "boolean" => Kinds::BOOLEAN,
            "integer" => Kinds::INTEGER,
            "number" => Kinds::INTEGER.or(Kinds::FRACTION),
            "string" => Kinds::STRING,
            "array" => Kinds::ARRAY,
            "object" => Kinds::OBJECT,
            _ => Kinds::ALL,
        }
    }
}

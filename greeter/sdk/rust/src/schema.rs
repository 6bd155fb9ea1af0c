//! What does JSON of a type look like? The types that arguments can have, as JSON Schema (2020-12).

use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A type that arguments can have.
///
/// Derive it for structs with named fields and for enums without fields, beside `serde::Deserialize`:
///
/// ```
/// use hermes_sdk::Schema;
///
/// #[derive(serde::Deserialize, Schema)]
/// #[serde(rename_all = "snake_case")]
/// enum Order {
///     NewestFirst,
///     OldestFirst,
/// }
///
/// #[derive(serde::Deserialize, Schema)]
/// struct Page {
///     /// How many there are on it.
///     #[arg(min = 1, max = 100)]
///     size: u32,
///     order: Option<Order>,
/// }
///
/// assert_eq!(Order::schema()["enum"][0], "newest_first");
/// assert_eq!(Page::schema()["required"], serde_json::json!(["size"]));
/// ```
#[diagnostic::on_unimplemented(
    message = "an argument cannot be a `{Self}`: it has no schema",
    label = "no JSON is known for this type",
    note = "add `#[derive(serde::Deserialize, hermes_sdk::Schema)]` to `{Self}`",
    note = "texts, numbers, booleans, `Option`, `Vec`, maps with texts as keys and `serde_json::Value` have one"
)]
pub trait Schema {
    /// The schema.
    fn schema() -> Value;
}

macro_rules! schemas {
    ($($type:ty => $schema:expr;)*) => {
        $(impl Schema for $type {
            fn schema() -> Value {
                $schema
            }
        })*
    };
}

schemas! {
    String => json!({ "type": "string" });
    char => json!({ "type": "string", "minLength": 1, "maxLength": 1 });
    bool => json!({ "type": "boolean" });
    f32 => json!({ "type": "number" });
    f64 => json!({ "type": "number" });
    i8 => json!({ "type": "integer", "minimum": i8::MIN, "maximum": i8::MAX });
    i16 => json!({ "type": "integer", "minimum": i16::MIN, "maximum": i16::MAX });
    i32 => json!({ "type": "integer", "minimum": i32::MIN, "maximum": i32::MAX });
    i64 => json!({ "type": "integer", "minimum": i64::MIN, "maximum": i64::MAX });
    u8 => json!({ "type": "integer", "minimum": 0, "maximum": u8::MAX });
    u16 => json!({ "type": "integer", "minimum": 0, "maximum": u16::MAX });
    u32 => json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX });
    u64 => json!({ "type": "integer", "minimum": 0, "maximum": u64::MAX });
    Value => json!({});
    Map<String, Value> => json!({ "type": "object" });
}

impl<T: Schema> Schema for Option<T> {
    fn schema() -> Value {
        T::schema()
    }
}

impl<T: Schema> Schema for Vec<T> {
    fn schema() -> Value {
        json!({ "type": "array", "items": T::schema() })
    }
}

impl<T: Schema> Schema for BTreeSet<T> {
    fn schema() -> Value {
        json!({ "type": "array", "items": T::schema(), "uniqueItems": true })
    }
}

impl<T: Schema> Schema for BTreeMap<String, T> {
    fn schema() -> Value {
        json!({ "type": "object", "additionalProperties": T::schema() })
    }
}

impl<T: Schema> Schema for HashMap<String, T> {
    fn schema() -> Value {
        json!({ "type": "object", "additionalProperties": T::schema() })
    }
}

impl<T: Schema> Schema for Box<T> {
    fn schema() -> Value {
        T::schema()
    }
}

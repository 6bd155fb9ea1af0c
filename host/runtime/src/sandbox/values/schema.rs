//! What does a type say as JSON Schema (2020-12)? Just the values that `from_json` takes.

use super::shape::{Field, Function, Shape};
use serde_json::{Map, Value, json};

/// The schema of a function's arguments: an object with its parameters.
pub fn schema_of(function: &Function) -> Value {
    object(&function.params)
}

/// The schema of a type.
pub fn schema(shape: &Shape) -> Value {
    let integer = |least: i64, most: u64| json!({ "type": "integer", "minimum": least, "maximum": most });
    match shape {
        Shape::Bool => json!({ "type": "boolean" }),
        Shape::S8 => integer(i8::MIN.into(), i8::MAX as u64),
        Shape::U8 => integer(0, u8::MAX.into()),
        Shape::S16 => integer(i16::MIN.into(), i16::MAX as u64),
        Shape::U16 => integer(0, u16::MAX.into()),
        Shape::S32 => integer(i32::MIN.into(), i32::MAX as u64),
        Shape::U32 => integer(0, u32::MAX.into()),
        Shape::S64 => integer(i64::MIN, i64::MAX as u64),
        Shape::U64 => integer(0, u64::MAX),
        Shape::F32 | Shape::F64 => {
            json!({ "anyOf": [{ "type": "number" }, { "enum": ["NaN", "Infinity", "-Infinity"] }] })
        }
        Shape::Char => json!({ "type": "string", "minLength": 1, "maxLength": 1 }),
        Shape::String => json!({ "type": "string" }),
        Shape::Bytes => json!({ "type": "string", "contentEncoding": "base64" }),
        Shape::List(item) => json!({ "type": "array", "items": schema(item) }),
        Shape::Fixed(item, length) => {
            json!({ "type": "array", "items": schema(item), "minItems": length, "maxItems": length })
        }
        Shape::Map(key, value) => json!({ "type": "array", "items": tuple(&[schema(key), schema(value)]) }),
        Shape::Tuple(items) => tuple(&items.iter().map(schema).collect::<Vec<_>>()),
        Shape::Record(fields) => object(fields),
        Shape::Variant(cases) => {
            let case = |case: &super::Case| {
                let schema = match &case.shape {
                    None => json!({ "const": case.name }),
                    Some(shape) => single(&case.name, schema(shape)),
                };
                described(schema, &case.docs)
            };
            json!({ "oneOf": cases.iter().map(case).collect::<Vec<_>>() })
        }
        Shape::Enum(names) => json!({ "type": "string", "enum": names }),
        Shape::Flags(names) => {
            json!({ "type": "array", "items": { "type": "string", "enum": names }, "uniqueItems": true })
        }
        Shape::Option(inner) => json!({ "anyOf": [some(inner), { "type": "null" }] }),
        Shape::Result(ok, error) => {
            let part = |name: &str, shape: &Option<Box<Shape>>| {
                single(name, shape.as_ref().map_or_else(|| json!({ "type": "null" }), |shape| schema(shape)))
            };
            json!({ "oneOf": [part("ok", ok), part("error", error)] })
        }
    }
}

/// The value of an option that has one. One that may itself be nothing is wrapped, so that the two can be told apart.
fn some(inner: &Shape) -> Value {
    match inner.has_null() {
        true => single("some", schema(inner)),
        false => schema(inner),
    }
}

fn single(name: &str, schema: Value) -> Value {
    json!({ "type": "object", "properties": { name: schema }, "required": [name], "additionalProperties": false })
}

fn tuple(items: &[Value]) -> Value {
    let count = items.len();
    json!({ "type": "array", "prefixItems": items, "items": false, "minItems": count, "maxItems": count })
}

fn object(fields: &[Field]) -> Value {
    let mut properties = Map::new();
    for field in fields {
        // What may be left out says so by that.
        let schema = match &field.shape {
            Shape::Option(inner) if !inner.has_null() => schema(&field.shape),
            shape => schema(shape),
        };
        properties.insert(field.name.clone(), described(schema, &field.docs));
    }
    let required: Vec<&str> =
        fields.iter().filter(|field| !field.shape.has_null()).map(|field| field.name.as_str()).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn described(mut schema: Value, docs: &str) -> Value {
    if let (Some(members), false) = (schema.as_object_mut(), docs.is_empty()) {
        members.insert("description".into(), docs.into());
    }
    schema
}

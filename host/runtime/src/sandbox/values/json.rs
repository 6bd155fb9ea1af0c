//! How does JSON become a value of a component, and a value JSON? Both ways for all that has a shape; there and back it is
//! the same.

use super::shape::{Field, Function, Shape};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Number, Value};
use wasmtime::component::Val;

/// The value that JSON stands for.
///
/// # Errors
/// The place and what it should have been.
pub fn from_json(shape: &Shape, json: &Value) -> Result<Val, String> {
    from(shape, json).map_err(Wrong::said)
}

/// A function's parameters in their order, from an object of them.
///
/// # Errors
/// The place and what it should have been.
pub fn params_from_json(function: &Function, json: &Value) -> Result<Vec<Val>, String> {
    let fields = record(&function.params, json).map_err(Wrong::said)?;
    Ok(fields.into_iter().map(|(_, value)| value).collect())
}

/// What is wrong, and where: the innermost part first.
struct Wrong(Vec<String>, String);

impl Wrong {
    fn said(self) -> String {
        let Wrong(place, why) = self;
        match place.is_empty() {
            true => why,
            false => format!("`{}`: {why}", place.iter().rev().map(|part| format!("/{part}")).collect::<String>()),
        }
    }

    fn at(mut self, part: impl ToString) -> Wrong {
        self.0.push(part.to_string());
        self
    }
}

fn wrong<T>(expected: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong(Vec::new(), format!("expected {}", expected.into())))
}

fn from(shape: &Shape, json: &Value) -> Result<Val, Wrong> {
    macro_rules! integer {
        ($case:ident, $type:ty) => {
            match whole(json).and_then(|number| <$type>::try_from(number).ok()) {
                Some(number) => Ok(Val::$case(number)),
                None => wrong(format!("an integer from {} to {}", <$type>::MIN, <$type>::MAX)),
            }
        };
    }
    match shape {
        Shape::Bool => json.as_bool().map_or_else(|| wrong("true or false"), |truth| Ok(Val::Bool(truth))),
        Shape::S8 => integer!(S8, i8),
        Shape::U8 => integer!(U8, u8),
        Shape::S16 => integer!(S16, i16),
        Shape::U16 => integer!(U16, u16),
        Shape::S32 => integer!(S32, i32),
        Shape::U32 => integer!(U32, u32),
        Shape::S64 => integer!(S64, i64),
        Shape::U64 => integer!(U64, u64),
        Shape::F32 => float(json).map_or_else(|| wrong("a number"), |number| Ok(Val::Float32(number as f32))),
        Shape::F64 => float(json).map_or_else(|| wrong("a number"), |number| Ok(Val::Float64(number))),
        Shape::Char => {
            let mut letters = json.as_str().unwrap_or_default().chars();
            match (letters.next(), letters.next()) {
                (Some(letter), None) => Ok(Val::Char(letter)),
                _ => wrong("one letter"),
            }
        }
        Shape::String => json.as_str().map_or_else(|| wrong("a text"), |text| Ok(Val::String(text.to_owned()))),
        Shape::Bytes => match json.as_str().and_then(|text| STANDARD.decode(text).ok()) {
            Some(bytes) => Ok(Val::List(bytes.into_iter().map(Val::U8).collect())),
            None => wrong("bytes in Base64"),
        },
        Shape::List(item) => items(json, None, |_| item).map(Val::List),
        Shape::Fixed(item, length) => items(json, Some(*length as usize), |_| item).map(Val::FixedLengthList),
        Shape::Tuple(shapes) => items(json, Some(shapes.len()), |index| &shapes[index]).map(Val::Tuple),
        Shape::Map(key, value) => {
            let pair = |(index, json): (usize, &Value)| {
                let shapes = [&**key, &**value];
                let pair = items(json, Some(2), |index| shapes[index]).map_err(|wrong| wrong.at(index))?;
                let mut pair = pair.into_iter();
                pair.next().zip(pair.next()).map_or_else(|| wrong("a pair"), Ok)
            };
            let Some(pairs) = json.as_array() else { return wrong("a list of pairs") };
            pairs.iter().enumerate().map(pair).collect::<Result<_, _>>().map(Val::Map)
        }
        Shape::Record(fields) => record(fields, json).map(Val::Record),
        Shape::Variant(cases) => {
            let (name, inner) = match json {
                Value::String(name) => (name, None),
                Value::Object(members) if members.len() == 1 => match members.iter().next() {
                    Some((name, inner)) => (name, Some(inner)),
                    None => return wrong("a case"),
                },
                _ => return wrong("a case: its name, or an object of its name and its value"),
            };
            match (cases.iter().find(|case| case.name == *name).map(|case| &case.shape), inner) {
                (Some(None), None) => Ok(Val::Variant(name.clone(), None)),
                (Some(Some(shape)), Some(inner)) => {
                    let inner = from(shape, inner).map_err(|wrong| wrong.at(name))?;
                    Ok(Val::Variant(name.clone(), Some(Box::new(inner))))
                }
                (Some(Some(_)), None) => wrong(format!("an object of `{name}` and its value")),
                (Some(None), Some(_)) => wrong(format!("the text `{name}`")),
                (None, _) => wrong(one_of(cases.iter().map(|case| case.name.as_str()))),
            }
        }
        Shape::Enum(names) => match json.as_str().filter(|name| names.iter().any(|known| known == name)) {
            Some(name) => Ok(Val::Enum(name.to_owned())),
            None => wrong(one_of(names.iter().map(String::as_str))),
        },
        Shape::Flags(names) => {
            let given: Option<Vec<&str>> = json.as_array().and_then(|given| given.iter().map(Value::as_str).collect());
            match given.filter(|given| given.iter().all(|flag| names.iter().any(|name| name == flag))) {
                Some(given) => {
                    Ok(Val::Flags(names.iter().filter(|name| given.contains(&name.as_str())).cloned().collect()))
                }
                None => wrong(format!("a list of {}", one_of(names.iter().map(String::as_str)))),
            }
        }
        Shape::Option(_) if json.is_null() => Ok(Val::Option(None)),
        Shape::Option(inner) => {
            let json = match inner.has_null() {
                true => only(json, "some").ok_or(()),
                false => Ok(json),
            };
            let Ok(json) = json else { return wrong("null, or an object of `some` and its value") };
            Ok(Val::Option(Some(Box::new(from(inner, json)?))))
        }
        Shape::Result(ok, error) => {
            let part = |shape: &Option<Box<Shape>>, json: &Value, name: &str| match shape {
                Some(shape) => Ok(Some(Box::new(from(shape, json).map_err(|wrong| wrong.at(name))?))),
                None if json.is_null() => Ok(None),
                None => wrong("null").map_err(|wrong: Wrong| wrong.at(name)),
            };
            match (only(json, "ok"), only(json, "error")) {
                (Some(json), _) => Ok(Val::Result(Ok(part(ok, json, "ok")?))),
                (_, Some(json)) => Ok(Val::Result(Err(part(error, json, "error")?))),
                _ => wrong("an object of `ok` or `error` and its value"),
            }
        }
    }
}

/// The value of an object's only member, if it is called so.
fn only<'a>(json: &'a Value, name: &str) -> Option<&'a Value> {
    json.as_object().filter(|members| members.len() == 1)?.get(name)
}

fn one_of<'a>(names: impl Iterator<Item = &'a str>) -> String {
    format!("one of {}", names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
}

/// An integer, also one that is written as `3.0`, which JSON Schema takes for the same.
fn whole(json: &Value) -> Option<i128> {
    let number = json.as_number()?;
    let float =
        || number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 9.1e18).map(|float| float as i128);
    number.as_u64().map(i128::from).or_else(|| number.as_i64().map(i128::from)).or_else(float)
}

fn float(json: &Value) -> Option<f64> {
    match json.as_str() {
        Some("NaN") => Some(f64::NAN),
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        Some(_) => None,
        None => json.as_f64(),
    }
}

fn items<'a>(json: &Value, count: Option<usize>, shape: impl Fn(usize) -> &'a Shape) -> Result<Vec<Val>, Wrong> {
    let Some(given) = json.as_array().filter(|given| count.is_none_or(|count| given.len() == count)) else {
        return wrong(count.map_or("a list".to_owned(), |count| format!("a list of {count}")));
    };
    let item = |(index, json)| from(shape(index), json).map_err(|wrong| wrong.at(index));
    given.iter().enumerate().map(item).collect()
}

/// The fields of a record or the parameters of a function, in their order. What is an option may be left out.
fn record(fields: &[Field], json: &Value) -> Result<Vec<(String, Val)>, Wrong> {
    let Some(members) = json.as_object() else { return wrong("an object") };
    if let Some(unknown) = members.keys().find(|key| fields.iter().all(|field| field.name != **key)) {
        return wrong(one_of(fields.iter().map(|field| field.name.as_str()))).map_err(|wrong: Wrong| wrong.at(unknown));
    }
    let field = |field: &Field| {
        let json = match members.get(&field.name) {
            Some(json) => json,
            None if field.shape.has_null() => &Value::Null,
            None => return wrong("a value").map_err(|wrong: Wrong| wrong.at(&field.name)),
        };
        let value = from(&field.shape, json).map_err(|wrong| wrong.at(&field.name))?;
        Ok((field.name.clone(), value))
    };
    fields.iter().map(field).collect()
}

/// The JSON of a value.
///
/// # Errors
/// The value is not of the type.
pub fn to_json(shape: &Shape, value: &Val) -> Result<Value, String> {
    let all = |shapes: &mut dyn Iterator<Item = &Shape>, values: &[Val]| {
        shapes.zip(values).map(|(shape, value)| to_json(shape, value)).collect::<Result<Vec<_>, _>>()
    };
    Ok(match (shape, value) {
        (Shape::Bool, Val::Bool(truth)) => Value::Bool(*truth),
        (Shape::S8, Val::S8(number)) => Value::from(*number),
        (Shape::U8, Val::U8(number)) => Value::from(*number),
        (Shape::S16, Val::S16(number)) => Value::from(*number),
        (Shape::U16, Val::U16(number)) => Value::from(*number),
        (Shape::S32, Val::S32(number)) => Value::from(*number),
        (Shape::U32, Val::U32(number)) => Value::from(*number),
        (Shape::S64, Val::S64(number)) => Value::from(*number),
        (Shape::U64, Val::U64(number)) => Value::from(*number),
        (Shape::F32, Val::Float32(number)) => of_float(f64::from(*number)),
        (Shape::F64, Val::Float64(number)) => of_float(*number),
        (Shape::Char, Val::Char(letter)) => Value::String(letter.to_string()),
        (Shape::String, Val::String(text)) => Value::String(text.clone()),
        (Shape::Bytes, Val::List(bytes)) => {
            let byte = |byte: &Val| if let Val::U8(byte) = byte { Ok(*byte) } else { Err(other()) };
            Value::String(STANDARD.encode(bytes.iter().map(byte).collect::<Result<Vec<u8>, _>>()?))
        }
        (Shape::List(item), Val::List(values)) | (Shape::Fixed(item, _), Val::FixedLengthList(values)) => {
            all(&mut std::iter::repeat(&**item), values)?.into()
        }
        (Shape::Tuple(shapes), Val::Tuple(values)) if shapes.len() == values.len() => {
            all(&mut shapes.iter(), values)?.into()
        }
        (Shape::Map(key, inner), Val::Map(pairs)) => {
            let pair =
                |(first, second): &(Val, Val)| Ok(Value::Array(vec![to_json(key, first)?, to_json(inner, second)?]));
            Value::Array(pairs.iter().map(pair).collect::<Result<_, String>>()?)
        }
        (Shape::Record(fields), Val::Record(values)) if fields.len() == values.len() => {
            let mut members = Map::new();
            for (field, (_, value)) in fields.iter().zip(values) {
                members.insert(field.name.clone(), to_json(&field.shape, value)?);
            }
            Value::Object(members)
        }
        (Shape::Variant(cases), Val::Variant(name, inner)) => {
            let case = cases.iter().find(|case| case.name == *name).ok_or_else(other)?;
            match (&case.shape, inner) {
                (None, None) => Value::String(name.clone()),
                (Some(shape), Some(inner)) => single(name, to_json(shape, inner)?),
                _ => return Err(other()),
            }
        }
        (Shape::Enum(_), Val::Enum(name)) => Value::String(name.clone()),
        (Shape::Flags(_), Val::Flags(names)) => names.iter().cloned().map(Value::String).collect(),
        (Shape::Option(_), Val::Option(None)) => Value::Null,
        (Shape::Option(shape), Val::Option(Some(inner))) if shape.has_null() => single("some", to_json(shape, inner)?),
        (Shape::Option(shape), Val::Option(Some(inner))) => to_json(shape, inner)?,
        (Shape::Result(ok, error), Val::Result(result)) => {
            let (name, shape, inner) = match result {
                Ok(inner) => ("ok", ok, inner),
                Err(inner) => ("error", error, inner),
            };
            let inner = match (shape, inner) {
                (None, None) => Value::Null,
                (Some(shape), Some(inner)) => to_json(shape, inner)?,
                _ => return Err(other()),
            };
            single(name, inner)
        }
        _ => return Err(other()),
    })
}

fn other() -> String {
    "the value is of another type than the function says".into()
}

fn single(name: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(name.to_owned(), value)]))
}

/// JSON has no word for what is no number, so it is told as a text.
fn of_float(number: f64) -> Value {
    let text = if number.is_nan() {
        "NaN"
    } else if number > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    };
    Number::from_f64(number).map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

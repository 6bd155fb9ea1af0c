//! Do all values make the way there and back, and does the schema take just them?

use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use wasmtime::component::Val;

fn names(most: usize) -> impl Strategy<Value = Vec<String>> {
    prop::collection::btree_set("[a-z]{1,3}(-[a-z]{1,3})?", 1..=most).prop_map(|names| names.into_iter().collect())
}

/// Any type that has a shape.
fn shapes() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        prop::sample::select(vec![
            Shape::Bool,
            Shape::S8,
            Shape::U8,
            Shape::S16,
            Shape::U16,
            Shape::S32,
            Shape::U32,
            Shape::S64,
            Shape::U64,
            Shape::F32,
            Shape::F64,
            Shape::Char,
            Shape::String,
            Shape::Bytes,
        ]),
        names(4).prop_map(Shape::Enum),
        names(4).prop_map(Shape::Flags),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let optional = prop::option::of(inner.clone());
        let field = |(name, shape)| Field { name, docs: String::new(), shape };
        let case = |(name, shape)| Case { name, docs: String::new(), shape };
        prop_oneof![
            inner.clone().prop_map(|shape| Shape::List(Box::new(shape))),
            (inner.clone(), 0_u32..4).prop_map(|(shape, length)| Shape::Fixed(Box::new(shape), length)),
            (inner.clone(), inner.clone()).prop_map(|(key, value)| Shape::Map(Box::new(key), Box::new(value))),
            inner.clone().prop_map(|shape| Shape::Option(Box::new(shape))),
            (optional.clone(), optional.clone())
                .prop_map(|(ok, error)| Shape::Result(ok.map(Box::new), error.map(Box::new))),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Shape::Tuple),
            (names(3), prop::collection::vec(inner, 3))
                .prop_map(move |(names, shapes)| Shape::Record(names.into_iter().zip(shapes).map(field).collect())),
            (names(3), prop::collection::vec(optional, 3))
                .prop_map(move |(names, shapes)| Shape::Variant(names.into_iter().zip(shapes).map(case).collect())),
        ]
    })
}

/// Any value of a type.
fn values(shape: &Shape) -> BoxedStrategy<Val> {
    let boxed = |shape: &Option<Box<Shape>>| match shape {
        Some(shape) => values(shape).prop_map(|value| Some(Box::new(value))).boxed(),
        None => Just(None).boxed(),
    };
    match shape {
        Shape::Bool => any::<bool>().prop_map(Val::Bool).boxed(),
        Shape::S8 => any::<i8>().prop_map(Val::S8).boxed(),
        Shape::U8 => any::<u8>().prop_map(Val::U8).boxed(),
        Shape::S16 => any::<i16>().prop_map(Val::S16).boxed(),
        Shape::U16 => any::<u16>().prop_map(Val::U16).boxed(),
        Shape::S32 => any::<i32>().prop_map(Val::S32).boxed(),
        Shape::U32 => any::<u32>().prop_map(Val::U32).boxed(),
        Shape::S64 => any::<i64>().prop_map(Val::S64).boxed(),
        Shape::U64 => any::<u64>().prop_map(Val::U64).boxed(),
        Shape::F32 => {
            let special = prop::sample::select(vec![f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0]);
            prop_oneof![prop::num::f32::ANY.prop_map(canonical32), special].prop_map(Val::Float32).boxed()
        }
        Shape::F64 => {
            let special = prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0]);
            prop_oneof![prop::num::f64::ANY.prop_map(canonical64), special].prop_map(Val::Float64).boxed()
        }
        Shape::Char => any::<char>().prop_map(Val::Char).boxed(),
        Shape::String => any::<String>().prop_map(Val::String).boxed(),
        Shape::Bytes => {
            let bytes = prop::collection::vec(any::<u8>().prop_map(Val::U8), 0..10);
            bytes.prop_map(Val::List).boxed()
        }
        Shape::List(item) => prop::collection::vec(values(item), 0..4).prop_map(Val::List).boxed(),
        Shape::Fixed(item, length) => {
            prop::collection::vec(values(item), *length as usize).prop_map(Val::FixedLengthList).boxed()
        }
        Shape::Map(key, value) => prop::collection::vec((values(key), values(value)), 0..3).prop_map(Val::Map).boxed(),
        Shape::Tuple(shapes) => shapes.iter().map(values).collect::<Vec<_>>().prop_map(Val::Tuple).boxed(),
        Shape::Record(fields) => {
            let names: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
            let inner = fields.iter().map(|field| values(&field.shape)).collect::<Vec<_>>();
            inner.prop_map(move |values| Val::Record(names.iter().cloned().zip(values).collect())).boxed()
        }
        Shape::Variant(cases) => {
            let case = |case: &Case| {
                let name = case.name.clone();
                boxed(&case.shape.clone().map(Box::new))
                    .prop_map(move |value| Val::Variant(name.clone(), value))
                    .boxed()
            };
            prop::strategy::Union::new(cases.iter().map(case)).boxed()
        }
        Shape::Enum(names) => prop::sample::select(names.clone()).prop_map(Val::Enum).boxed(),
        Shape::Flags(names) => prop::sample::subsequence(names.clone(), 0..=names.len()).prop_map(Val::Flags).boxed(),
        Shape::Option(inner) => {
            prop::option::of(values(inner)).prop_map(|value| Val::Option(value.map(Box::new))).boxed()
        }
        Shape::Result(ok, error) => prop_oneof![
            boxed(ok).prop_map(|value| Val::Result(Ok(value))),
            boxed(error).prop_map(|value| Val::Result(Err(value))),
        ]
        .boxed(),
    }
}

/// Which number it is that is none, JSON does not say.
fn canonical32(number: f32) -> f32 {
    if number.is_nan() { f32::NAN } else { number }
}

fn canonical64(number: f64) -> f64 {
    if number.is_nan() { f64::NAN } else { number }
}

proptest! {
    #[test]
    fn every_value_makes_the_way_there_and_back_and_fits_its_schema(
        (shape, value) in shapes().prop_flat_map(|shape| (Just(shape.clone()), values(&shape)))
    ) {
        let json = to_json(&shape, &value).unwrap();
        // As text, as it goes into a record and comes from an agent.
        let json: Value = serde_json::from_str(&json.to_string()).unwrap();
        let back = from_json(&shape, &json);
        prop_assert_eq!(back.as_ref(), Ok(&value), "{}", json);
        let schema = schema(&shape);
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        prop_assert!(validator.is_valid(&json), "{} is not in {}", json, schema);
    }

    #[test]
    fn what_is_no_value_is_refused_and_never_breaks_off(shape in shapes(), json in "\\PC{0,40}") {
        let json = serde_json::from_str(&json).unwrap_or(Value::String(json));
        if let Ok(value) = from_json(&shape, &json) {
            prop_assert!(to_json(&shape, &value).is_ok());
        }
    }
}

#[test]
fn types_and_words_of_a_text_become_tools() {
    let text = "
        package test:shop@1.2.0;
        interface orders {
            /// How it is sent.
            enum speed { slow, fast }
            record item { name: string, /** How many. */ count: u32 }
            resource basket { add: func(item: item); }
            /// Put an order in.
            place: func(items: list<item>, speed: option<speed>, note: option<option<string>>) -> result<u64, string>;
            take: func(basket: borrow<basket>);
            listen: func() -> stream<u8>;
        }
        world shop { export orders; export ping: func(); }";
    let functions = functions_of_wit(text, "shop").unwrap();
    let mut paths: Vec<String> = functions.usable.iter().map(Function::path).collect();
    paths.sort();
    assert_eq!(paths, ["ping", "test:shop/orders@1.2.0#place"]);
    let place = functions.usable.iter().find(|function| function.path() == paths[1]).unwrap();
    assert_eq!(place.docs, "Put an order in.");
    let schema = schema_of(place);
    assert_eq!(schema["required"], json!(["items"]), "{schema:#}");
    assert_eq!(schema["properties"]["items"]["items"]["properties"]["count"]["description"], "How many.");
    assert_eq!(schema["properties"]["speed"]["anyOf"][0]["enum"], json!(["slow", "fast"]));
    let refused: Vec<&str> = functions.refused.iter().map(|(_, why)| why.as_str()).collect();
    assert!(refused.iter().any(|why| why.contains("its parameter `basket` has a resource")), "{refused:?}");
    assert!(refused.iter().any(|why| why.contains("its result has a stream")), "{refused:?}");
    assert!(refused.iter().any(|why| why.contains("it belongs to a resource")), "{refused:?}");

    let said = |args: Value| params_from_json(place, &args);
    assert_eq!(said(json!({ "items": [] })).unwrap().len(), 3);
    let wrong = said(json!({ "items": [{ "name": "a", "count": -1 }] })).unwrap_err();
    assert_eq!(wrong, "`/items/0/count`: expected an integer from 0 to 4294967295");
    assert!(said(json!({ "items": [], "sped": "slow" })).unwrap_err().contains("/sped"));
    assert!(said(json!({})).unwrap_err().contains("`/items`: expected a value"));
}

#[test]
fn types_that_grow_without_end_are_refused() {
    let mut text = "package test:bomb; interface i { type t0 = u8;".to_owned();
    for level in 1..30 {
        let inner = level - 1;
        text += &format!("type t{level} = tuple<t{inner}, t{inner}>;");
    }
    text += "f: func(x: t29); } world w { export i; }";
    let functions = functions_of_wit(&text, "w").unwrap();
    assert_eq!(functions.refused[0].1, "its parameter `x` has more than 2000 types");
}

//! Which inputs are worth a try? Made from a tool's schema: valid ones with values at their edges, and ones that are
//! nearly valid. The same seed makes the same inputs.

use serde_json::{Map, Number, Value, json};

/// Numbers that decide: random ones that follow from a seed, or those of somebody else's bytes.
#[derive(Clone, Debug)]
pub struct Random(Drawn);

#[derive(Clone, Debug)]
enum Drawn {
    Seed(Box<blake3::OutputReader>),
    /// The bytes that are left; when there are none, every number is 0.
    Bytes(std::collections::VecDeque<u8>),
}

impl Random {
    /// For one seed.
    pub fn new(seed: u64) -> Random {
        Random(Drawn::Seed(Box::new(blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof())))
    }

    /// For an engine that has bytes of its own: a change of one of them changes one decision.
    pub fn of_bytes(bytes: &[u8]) -> Random {
        Random(Drawn::Bytes(bytes.iter().copied().collect()))
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        let mut bytes = [0; 8];
        match &mut self.0 {
            Drawn::Seed(reader) => reader.fill(&mut bytes),
            Drawn::Bytes(left) => {
                // No more than the number needs, so that those after it stay what they are.
                let needed = (64 - end.saturating_sub(1).leading_zeros()).div_ceil(8) as usize;
                bytes.iter_mut().take(needed).for_each(|byte| *byte = left.pop_front().unwrap_or(0));
            }
        }
        u64::from_le_bytes(bytes) % end.max(1)
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let index = self.below(items.len() as u64) as usize;
        items.get(index)
    }
}

/// How an input was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// As the schema says, with values as people give them.
    Valid,
    /// As the schema says, with values at the edges of what it allows.
    Hostile,
    /// With one thing wrong.
    NearlyValid,
}

/// Arguments for a schema. `texts` are some that mean something where they are used, such as URLs that can be reached.
pub fn arguments(schema: &Value, manner: Manner, random: &mut Random, texts: &[String]) -> Value {
    let mut maker = Maker { root: schema, random, texts, hostile: manner == Manner::Hostile };
    let mut value = maker.value(schema, 0);
    if !value.is_object() {
        value = json!({});
    }
    if manner == Manner::NearlyValid {
        spoil(&mut value, random);
    }
    value
}

/// A text of a format that few texts have by chance.
fn example(format: &str) -> Option<&'static str> {
    Some(match format {
        "date" => "2026-01-31",
        "time" => "23:59:60Z",
        "date-time" => "2026-01-31T23:59:59.5+14:00",
        "duration" => "P1DT2H",
        "email" => "a.b+c@example.com",
        "uuid" => "00000000-0000-4000-8000-ffffffffffff",
        "ipv4" => "127.0.0.1",
        "ipv6" => "::1",
        "hostname" | "host" => "example.com",
        "uri" | "url" => "https://example.com/a?b=c#d",
        "regex" => "(a|b)*",
        _ => return None,
    })
}

/// One value for a part of a schema, with values as people give them.
pub(crate) fn value(root: &Value, schema: &Value, random: &mut Random) -> Value {
    Maker { root, random, texts: &[], hostile: false }.value(schema, 0)
}

/// A part of a schema, or what it refers to.
pub(crate) fn resolved(root: &Value, schema: &Value) -> Value {
    let mut schema = schema.clone();
    for _ in 0..8 {
        let Some(pointer) = schema.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#')) else {
            break;
        };
        schema = root.pointer(pointer).cloned().unwrap_or_default();
    }
    schema
}

/// The least and the most that a number may be.
pub(crate) fn bounds(schema: &Value) -> (f64, f64) {
    let number = |name: &str| schema[name].as_f64();
    let least = number("minimum").or(number("exclusiveMinimum").map(|least| least + 1.0));
    let most = number("maximum").or(number("exclusiveMaximum").map(|most| most - 1.0));
    (least.unwrap_or(i64::MIN as f64), most.unwrap_or(i64::MAX as f64))
}

struct Maker<'a> {
    root: &'a Value,
    random: &'a mut Random,
    texts: &'a [String],
    hostile: bool,
}

/// Deepest value that is made.
const DEEP: usize = 12;
/// Texts that have broken programs before.
const TEXTS: &[&str] = &[
    "",
    " ",
    "\n",
    "\t\r\n",
    "0",
    "-1",
    "null",
    "true",
    "NaN",
    "a/../../b",
    "../../../../etc/passwd",
    "/workspace/../..",
    "/workspace/",
    "C:\\x",
    "%00",
    "%s%n",
    "{}",
    "[",
    "\"",
    "'; --",
    "<b>",
    "ﬁ",
    "é",
    "ｆｕｌｌ",
    "\u{202e}txt",
    "\u{feff}",
    "🤷🏽‍♀️",
    "\u{0}",
    "ß",
    "İ",
    "$(x)",
    "a,b",
    "1e400",
    "-0",
    "00",
    "٣",
    "/workspace/a.txt",
    "https://example.com/",
    "2026-02-30",
    "あ",
];
pub(crate) const NUMBERS: &[i64] = &[
    0,
    1,
    -1,
    2,
    7,
    10,
    63,
    64,
    127,
    128,
    255,
    256,
    1000,
    65_535,
    65_536,
    i32::MAX as i64,
    i32::MIN as i64,
    i64::MAX,
    i64::MIN,
];

impl Maker<'_> {
    fn value(&mut self, schema: &Value, depth: usize) -> Value {
        let schema = resolved(self.root, schema);
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
            return self.random.pick(choices).cloned().unwrap_or_default();
        }
        if let Some(default) = schema.get("default")
            && self.random.one_in(4)
        {
            return default.clone();
        }
        for union in ["oneOf", "anyOf"] {
            if let Some(parts) = schema.get(union).and_then(Value::as_array) {
                let part = self.random.pick(parts).cloned().unwrap_or_default();
                return self.value(&part, depth + 1);
            }
        }
        let type_ = match schema.get("type") {
            Some(Value::String(type_)) => type_.clone(),
            Some(Value::Array(types)) => self.random.pick(types).and_then(Value::as_str).unwrap_or("string").to_owned(),
            _ if schema.get("properties").is_some() => "object".to_owned(),
            _ if depth > DEEP => "null".to_owned(),
            _ => (*self
                .random
                .pick(&["string", "integer", "number", "boolean", "null", "array", "object"])
                .unwrap_or(&"null"))
            .to_owned(),
        };
        match type_.as_str() {
            "object" => self.object(&schema, depth),
            "array" => self.array(&schema, depth),
            "string" => Value::String(self.text(&schema)),
            "integer" => self.integer(&schema),
            "number" => self.number(&schema),
            "boolean" => Value::Bool(self.random.one_in(2)),
            _ => Value::Null,
        }
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut object = Map::new();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let wanted = required.contains(&name.as_str()) || (depth < DEEP && !self.random.one_in(3));
            if wanted {
                object.insert(name.clone(), self.value(property, depth + 1));
            }
        }
        let free =
            schema.get("additionalProperties").cloned().unwrap_or(Value::Bool(schema.get("properties").is_none()));
        if free != Value::Bool(false) && depth < DEEP {
            let inner = if free.is_object() { free } else { json!({}) };
            for _ in 0..self.random.below(3) {
                let key = self.text(&json!({}));
                object.insert(key, self.value(&inner, depth + 1));
            }
        }
        Value::Object(object)
    }

    fn array(&mut self, schema: &Value, depth: usize) -> Value {
        let least = schema["minItems"].as_u64().unwrap_or(0);
        let most = schema["maxItems"].as_u64().unwrap_or(if self.hostile { 300 } else { 4 }).min(1000);
        let wide = self.hostile && depth < 2 && self.random.one_in(4);
        let end = if wide { most } else { most.min(least + 3) };
        let count = if depth > DEEP { least } else { least + self.random.below(end.saturating_sub(least) + 1) };
        let items = schema.get("items").cloned().unwrap_or_default();
        Value::Array((0..count).map(|_| self.value(&items, depth + 1)).collect())
    }

    fn text(&mut self, schema: &Value) -> String {
        let least = schema["minLength"].as_u64().unwrap_or(0) as usize;
        let most = schema["maxLength"].as_u64().unwrap_or(if self.hostile { 100_000 } else { 40 }) as usize;
        let format = schema["format"].as_str().unwrap_or_default();
        let is_path = matches!(format, "path" | "url" | "uri" | "host");
        let mut text = match (self.random.below(8), example(format)) {
            (0..=4, Some(example)) if !is_path || self.random.one_in(3) => example.to_owned(),
            (0 | 1, _) if self.hostile => {
                let unit = self.random.pick(&["a", "ä", "🤷", "\n", "0", "(", "/"]).copied().unwrap_or("a");
                let count = self.random.below(most.min(100_000) as u64 + 1) as usize;
                unit.repeat(count)
            }
            (0..=4, _) if is_path && !self.texts.is_empty() => self.told(),
            (2 | 3, _) if !self.texts.is_empty() => self.told(),
            (5.., _) if self.hostile || self.random.one_in(3) => {
                self.random.pick(TEXTS).copied().unwrap_or_default().to_owned()
            }
            _ => (0..self.random.below(12)).map(|_| char::from(b'a' + self.random.below(26) as u8)).collect(),
        };
        while text.chars().count() < least {
            text.push('a');
        }
        text.chars().take(most).collect()
    }

    /// A text that means something where it is used.
    fn told(&mut self) -> String {
        self.random.pick(self.texts).cloned().unwrap_or_default()
    }

    fn integer(&mut self, schema: &Value) -> Value {
        let (least, most) = bounds(schema);
        let (least, most) = (least as i64, most as i64);
        let value = match self.random.below(4) {
            0 => least,
            1 if self.hostile => most,
            2 => *self.random.pick(NUMBERS).unwrap_or(&0),
            _ => self.random.below(200) as i64 - 20,
        };
        json!(value.clamp(least, most.max(least)))
    }

    fn number(&mut self, schema: &Value) -> Value {
        let (least, most) = bounds(schema);
        let edge = [0.0, -0.0, 0.5, -1.5, 1e-300, 1e300, 0.1, least, most];
        let value = self.random.pick(&edge).copied().unwrap_or(0.0).clamp(least, most.max(least));
        Number::from_f64(value).map_or(json!(0), Value::Number)
    }
}

/// Takes about half of the members from another value.
pub(crate) fn mix(value: &mut Value, other: &Value, random: &mut Random) {
    let (Some(value), Some(other)) = (value.as_object_mut(), other.as_object()) else { return };
    for (key, member) in other {
        if random.one_in(2) {
            value.insert(key.clone(), member.clone());
        }
    }
}

/// Makes one thing wrong.
fn spoil(value: &mut Value, random: &mut Random) {
    let Some(object) = value.as_object_mut() else { return };
    let keys: Vec<String> = object.keys().cloned().collect();
    let key = random.pick(&keys).cloned();
    match (random.below(4), key) {
        (0, Some(key)) => drop(object.remove(&key)),
        (1, Some(key)) => drop(object.insert(key, Value::Null)),
        (2, Some(key)) => {
            let other = match &object[&key] {
                Value::String(_) => json!([1]),
                Value::Number(_) => json!("x"),
                _ => json!(3.5),
            };
            object.insert(key, other);
        }
        (_, _) => drop(object.insert("unknown_key".to_owned(), json!(1))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_makes_one_input_and_others_make_others() {
        let schema = json!({ "type": "object", "required": ["a"], "properties": {
            "a": { "type": "string", "maxLength": 5 }, "n": { "type": "integer", "minimum": 1, "maximum": 9 },
        } });
        let made = |seed| arguments(&schema, Manner::Hostile, &mut Random::new(seed), &[]);
        assert_eq!(made(1), made(1));
        let all: std::collections::BTreeSet<String> = (0..50).map(|seed| made(seed).to_string()).collect();
        assert!(all.len() > 20, "{all:?}");
        for seed in 0..200 {
            let value = made(seed);
            assert!(value["a"].as_str().is_some_and(|text| text.chars().count() <= 5), "{value}");
            assert!(value.get("n").is_none_or(|n| (1..=9).contains(&n.as_i64().unwrap())), "{value}");
        }
    }
}

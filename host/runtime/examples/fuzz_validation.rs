//! Does any text break step 4? Makes arguments without end and holds the answers against what must always be true:
//!
//! ```text
//! cargo run --release --example fuzz_validation -- parser 600        # seconds; or coercion, or sanitiser
//! ```
//!
//! It is blind (no coverage guides it) but knows JSON: it grows values, writes them, breaks the text, and puts what
//! models write in the place of what is wanted. A failure prints the seed and the input and ends the program.
#![expect(clippy::print_stdout, clippy::panic, reason = "a program of its own")]

use hermes_runtime::call::{Arguments, Judged};
use hermes_runtime::document::is_deceptive;
use hermes_runtime::registry::Tool;
use hermes_runtime::registry::tool::{self, Surroundings};
use hermes_runtime::validation::{judge, parse};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let target = arguments.next().unwrap_or_else(|| "parser".into());
    let seconds: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(10);
    let mut random = Random(arguments.next().and_then(|text| text.parse().ok()).unwrap_or(0x9e37_79b9_7f4a_7c15));
    let tools = tools();
    let strict: Vec<Tool> = tools.iter().map(|tool| load(tool.input.json(), false)).collect();
    let started = Instant::now();
    let (mut count, mut taken) = (0_u64, 0_u64);
    while started.elapsed() < Duration::from_secs(seconds) {
        let seed = random.0;
        let number = random.below(tools.len());
        let tool = &tools[number];
        let (input, is_taken) = match target.as_str() {
            "parser" => parser(&mut random),
            "coercion" => coercion(&mut random, tool, &strict[number]),
            "sanitiser" => sanitiser(&mut random, &tools[0]),
            other => panic!("there is no target `{other}`; there are parser, coercion and sanitiser"),
        }
        .unwrap_or_else(|(input, why)| panic!("seed {seed}, tool {}: {why}: {input}", tool.name));
        drop(input);
        count += 1;
        taken += u64::from(is_taken);
    }
    println!("{target}: {count} inputs in {seconds} s, {taken} of them taken, none breaks a promise");
}

/// An input and whether it was taken, or an input and the promise that it broke.
type Tried = Result<(String, bool), (String, String)>;

/// What is read is what everybody reads, and nothing that is no JSON is read.
fn parser(random: &mut Random) -> Tried {
    let mut text = random.value(4).to_string();
    for _ in 0..random.below(4) {
        random.break_text(&mut text);
    }
    let fail = |why: String| Err((text.clone(), why));
    // A byte order mark before the arguments is no part of them.
    let theirs = serde_json::from_str::<Value>(text.strip_prefix('\u{feff}').unwrap_or(&text));
    match parse::parse(&text) {
        Ok(ours) => {
            let Ok(theirs) = theirs else { return fail("read what is no JSON".into()) };
            let same = canonical(&ours.value) == canonical(&theirs);
            if same { Ok((text, true)) } else { fail(format!("read as {}", ours.value)) }
        }
        Err(problem) if problem.rule == "json" && theirs.is_ok() => fail(format!("refused: {problem:?}")),
        Err(problem) if problem.hint.is_none() && problem.rule != "depth" && problem.rule != "size" => {
            fail("no hint".into())
        }
        Err(_) => Ok((text, false)),
    }
}

/// What is taken fits the schema; a right value is not changed; what was repaired needs no repair.
fn coercion(random: &mut Random, tool: &Tool, strict: &Tool) -> Tried {
    let args = random.arguments();
    let text = args.to_string();
    let ask = |args: &Value| judge(tool, &Arguments::Value(args.clone()), Duration::MAX);
    let strict = judge(strict, &Arguments::Value(args.clone()), Duration::MAX);
    let loose = ask(&args);
    let fail = |why: String| Err((text.clone(), why));
    match (&strict, &loose) {
        (Ok(strict), Ok(loose)) if canonical(&strict.value) != canonical(&loose.value) => {
            fail(format!("a right value became {}", loose.value))
        }
        (Ok(_), Err(error)) => fail(format!("a right value was refused: {error:?}")),
        (_, Err(error)) if error.problems.is_empty() || error.problems.iter().any(|it| it.hint.is_none()) => {
            fail(format!("refused without a word: {error:?}"))
        }
        (_, Ok(judged)) => match settled(judged, ask(&judged.value)) {
            Ok(()) => Ok((text, true)),
            Err(why) => fail(why),
        },
        (_, Err(_)) => Ok((text, false)),
    }
}

/// What was judged once is judged the same again, with nothing left to repair but how a number is written.
fn settled(once: &Judged, again: Result<Judged, hermes_runtime::Error>) -> Result<(), String> {
    match again {
        Err(error) => Err(format!("what was taken is refused: {error:?}")),
        Ok(again) if again.digest != once.digest => Err(format!("{} became {}", once.canonical, again.canonical)),
        Ok(again) if !again.repairs.is_empty() => Err(format!("repaired again: {:?}", again.repairs)),
        Ok(_) => Ok(()),
    }
}

/// No strict text that is taken deceives; free text passes byte for byte; a path is in its normal form.
fn sanitiser(random: &mut Random, tool: &Tool) -> Tried {
    let mut args = Map::new();
    for name in ["path", "name", "kind", "note", "files", "any"] {
        let text = Value::String(random.text());
        let value = if name == "files" { json!([text]) } else { text };
        if random.below(3) > 0 {
            args.insert(name.to_owned(), value);
        }
    }
    let args = Value::Object(args);
    let text = args.to_string();
    let fail = |why: String| Err((text.clone(), why));
    let Ok(judged) = judge(tool, &Arguments::Json(text.clone()), Duration::MAX) else { return Ok((text, false)) };
    for name in ["path", "name", "kind"] {
        if judged.value[name].as_str().is_some_and(|text| text.chars().any(is_deceptive)) {
            return fail(format!("`{name}` deceives: {:?}", judged.value[name]));
        }
    }
    if args.get("note").is_some() && args["note"] != judged.value["note"] {
        return fail(format!("free text became {}", judged.value["note"]));
    }
    let path = judged.value["path"].as_str().unwrap_or("/");
    let is_normal =
        path.starts_with('/') && (path == "/" || path.split('/').skip(1).all(|part| !part.is_empty() && part != "."));
    if is_normal { Ok((text, true)) } else { fail(format!("`{path}` is no normal form")) }
}

fn canonical(value: &Value) -> String {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => format!("{float:e}").replace("-0e0", "0e0"),
            _ => format!("{:e}", number.as_i64().map_or_else(|| number.as_f64().unwrap_or_default(), |n| n as f64)),
        },
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::Object(members) => {
            let mut all: Vec<String> =
                members.iter().map(|(key, value)| format!("{key:?}:{}", canonical(value))).collect();
            all.sort();
            format!("{{{}}}", all.join(","))
        }
        other => other.to_string(),
    }
}

fn tools() -> Vec<Tool> {
    let path = json!({ "type": "string", "format": "path" });
    let schemas = [
        json!({ "type": "object", "properties": {
            "path": path, "name": { "type": "string", "format": "name" }, "kind": { "type": "string", "pattern": "a" },
            "note": { "type": "string", "format": "text" }, "files": { "type": "array", "items": path },
            "count": { "type": "integer" }, "deep": { "type": "boolean" }, "ratio": { "type": "number" },
            "any": {}, "options": { "type": "object", "properties": { "n": { "type": "integer" } } } },
            "additionalProperties": false }),
        json!({ "$ref": "#/$defs/n", "$defs": { "n": { "type": "object", "properties": {
            "any": { "anyOf": [{ "$ref": "#/$defs/n" }, { "type": "integer" }, { "type": "null" }] },
            "files": { "type": ["array", "null"], "items": { "$ref": "#/$defs/n" } },
            "count": { "enum": [1, 2, "a"] }, "options": { "type": "object", "additionalProperties": { "type": "boolean" } } } } } }),
        json!({ "properties": { "any": { "oneOf": [
            { "type": "object", "properties": { "kind": { "const": "a" }, "count": { "type": "integer" } }, "required": ["kind"] },
            { "type": "object", "properties": { "kind": { "const": "b" }, "count": { "type": "string" } }, "required": ["kind"] } ] },
            "files": { "prefixItems": [{ "type": "integer" }, { "type": "boolean" }], "items": { "type": "string" } },
            "count": { "allOf": [{ "type": "number" }, { "type": ["integer", "string"] }] } } }),
    ];
    schemas.iter().map(|schema| load(schema, true)).collect()
}

fn load(schema: &Value, coercion: bool) -> Tool {
    let manifest = format!(
        "[tool]\nname = \"probe\"\nversion = \"0.1.0\"\ndescription = \"x\"\ncoercion = {coercion}\n\
         input_schema = '''{schema}'''\npermissions = {{ risk_level = \"low\" }}\n\
         backend = {{ type = \"custom\", adapter = \"probe\" }}\n"
    );
    tool::parse(Path::new("probe.toml"), &manifest, &Surroundings::default())
        .unwrap_or_else(|faults| panic!("{faults}"))
}

/// A small generator of numbers (xorshift), so that a seed says everything.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn pick<'a, T: ?Sized>(&mut self, among: &[&'a T]) -> &'a T {
        among[self.below(among.len())]
    }

    fn text(&mut self) -> String {
        const PARTS: [&str; 34] = [
            "a",
            "b",
            "true",
            "false",
            "null",
            "1",
            "-7",
            "30.0",
            "042",
            "1e3",
            "[",
            "]",
            "{",
            "}",
            "\"",
            "\\",
            ":",
            ",",
            "/",
            "..",
            ".",
            "\u{0}",
            "\n",
            "\u{202e}",
            "\u{200b}",
            "é",
            "😀",
            "\u{e0041}",
            " ",
            "[1]",
            "{\"n\":\"1\"}",
            "[\"a\"]",
            "$ref",
            "\u{7f}",
        ];
        (0..self.below(6)).map(|_| self.pick(&PARTS)).collect()
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 6 } else { 9 }) {
            0 => Value::Null,
            1 => Value::Bool(self.below(2) == 0),
            2 => Value::from(self.next() as i64 >> self.below(64)),
            3 => Value::from(self.next()),
            4 => serde_json::Number::from_f64(f64::from_bits(self.next())).map_or(json!(30.0), Value::Number),
            5 => Value::String(self.text()),
            6 => (0..self.below(4)).map(|_| self.value(depth - 1)).collect(),
            7 => Value::String(self.value(depth - 1).to_string()),
            _ => {
                const KEYS: [&str; 8] = ["n", "any", "kind", "count", "files", "a", "", "~/"];
                (0..self.below(4)).map(|_| (self.pick(&KEYS).to_owned(), self.value(depth - 1))).collect()
            }
        }
    }

    fn arguments(&mut self) -> Value {
        const NAMES: [&str; 11] =
            ["path", "name", "kind", "note", "files", "count", "deep", "ratio", "any", "options", "other"];
        let args: Map<String, Value> =
            (0..self.below(6)).map(|_| (self.pick(&NAMES).to_owned(), self.value(3))).collect();
        Value::Object(args)
    }

    fn break_text(&mut self, text: &mut String) {
        const INSERTS: [&str; 22] = [
            "\"",
            "\\",
            "\\u",
            "\\ud83d",
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "0",
            "-",
            ".",
            "e",
            "1e999",
            "\u{feff}",
            "\u{0}",
            "NaN",
            "\"a\":1,\"a\":2",
            "123456789012345678901234567890",
            "0.1000000000000000055",
            "//",
        ];
        let mut at = self.below(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        match self.below(3) {
            0 => text.insert_str(at, self.pick(&INSERTS)),
            1 => text.truncate(at),
            _ => {
                if at < text.len() {
                    text.remove(at);
                }
            }
        }
    }
}

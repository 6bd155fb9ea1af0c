//! How does a list of functions, as models are given it elsewhere, become manifests? Loose types become those of JSON
//! Schema where it is sure what is meant, and anything else is refused by its place. Pure; what a manifest means is
//! checked where all manifests are.

use super::manifest::{Backend, LimitsManifest};
use super::manifest::{OneOrMany, Permissions, RequiresApproval, RiskLevel, ToolManifest};
use super::places::escape;
use crate::document::{excerpt, nearest};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Functions of one list at most.
const MOST: usize = 10_000;
/// Deepest schema that is looked through.
const DEEPEST: usize = 64;
/// Types as they stand in lists of functions, each with its name in JSON Schema; none for any type.
const TYPES: &[(&str, Option<&str>)] = &[
    ("string", Some("string")),
    ("str", Some("string")),
    ("text", Some("string")),
    ("char", Some("string")),
    ("integer", Some("integer")),
    ("int", Some("integer")),
    ("long", Some("integer")),
    ("number", Some("number")),
    ("float", Some("number")),
    ("double", Some("number")),
    ("boolean", Some("boolean")),
    ("bool", Some("boolean")),
    ("array", Some("array")),
    ("list", Some("array")),
    ("tuple", Some("array")),
    ("object", Some("object")),
    ("dict", Some("object")),
    ("map", Some("object")),
    ("hashmap", Some("object")),
    ("null", Some("null")),
    ("none", Some("null")),
    ("any", None),
];

/// What a list of functions does not say.
#[derive(Clone, Debug)]
pub struct Missing {
    /// The adapter that runs them.
    pub adapter: String,
    /// The roles that may call them.
    pub roles: Vec<String>,
    /// The version of each.
    pub version: String,
}

/// What became of a list.
#[derive(Debug, Default)]
pub struct Imported {
    /// The tools. They count as destructive until somebody says what they do.
    pub tools: Vec<ToolManifest>,
    /// What was read as something else than it says, with its place.
    pub repaired: Vec<String>,
    /// What is wrong: the place as a JSON Pointer, and why.
    pub problems: Vec<(String, String)>,
}

/// Makes manifests of a list of functions, in OpenAI's form with or without `type: function`, or in Anthropic's.
pub fn functions(document: &Value, missing: &Missing) -> Imported {
    let mut imported = Imported::default();
    let (at, list) = match document {
        Value::Array(list) => (String::new(), list),
        Value::Object(members) => {
            match ["tools", "functions"].iter().find_map(|key| Some((*key, members.get(*key)?))) {
                Some((key, Value::Array(list))) => (format!("/{key}"), list),
                _ => {
                    let why = "there is no list of functions: neither a list, nor one under `tools` or `functions`";
                    imported.problems.push((String::new(), why.into()));
                    return imported;
                }
            }
        }
        _ => {
            imported.problems.push((String::new(), "a list of functions is a JSON array".into()));
            return imported;
        }
    };
    if list.len() > MOST {
        imported.problems.push((at, format!("there are more than {MOST} functions")));
        return imported;
    }
    for (index, item) in list.iter().enumerate() {
        function(&format!("{at}/{index}"), item, missing, &mut imported);
    }
    imported
}

fn function(at: &str, item: &Value, missing: &Missing, imported: &mut Imported) {
    let kind = item.get("type").and_then(Value::as_str);
    let (at, item) = match (kind, item.get("function")) {
        (Some("function") | None, Some(function)) => (format!("{at}/function"), function),
        (Some("function" | "custom") | None, None) => (at.to_owned(), item),
        (Some(other), _) => {
            let why = format!("`{}` is no function", excerpt(other, 60));
            return imported.problems.push((format!("{at}/type"), why));
        }
    };
    let mut text = |key: &str| match item.get(key) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(_) => {
            imported.problems.push((format!("{at}/{key}"), format!("`{key}` is a text")));
            None
        }
        None => {
            imported.problems.push((at.clone(), format!("the function has no `{key}`")));
            None
        }
    };
    let (name, description) = (text("name"), text("description"));
    let (key, schema) = match ["parameters", "input_schema", "inputSchema"].iter().find(|key| item.get(**key).is_some())
    {
        Some(key) => (*key, item[*key].clone()),
        None => ("parameters", json!({ "type": "object", "properties": {} })),
    };
    let mut reading = Reading { repaired: &mut imported.repaired, problems: &mut imported.problems };
    let schema = reading.schema(&format!("{at}/{key}"), schema, 0);
    let (Some(name), Some(description)) = (name, description) else { return };
    imported.tools.push(manifest(name, description, schema, missing));
}

fn manifest(name: String, description: String, schema: Value, missing: &Missing) -> ToolManifest {
    let backend = Backend {
        type_: "custom".into(),
        adapter: missing.adapter.clone(),
        tool: None,
        endpoint: None,
        connection_pool_size: None,
        arguments: None,
        result: None,
    };
    ToolManifest {
        name,
        aliases: Vec::new(),
        version: missing.version.clone(),
        description,
        category: None,
        inputs: Vec::new(),
        input_schema: Some(schema),
        schemas: BTreeMap::new(),
        coercion: true,
        outputs: Vec::new(),
        output_schema: None,
        permissions: Permissions {
            required_roles: missing.roles.clone(),
            denied_roles: Vec::new(),
            risk_level: RiskLevel::Medium,
            requires_approval: RequiresApproval::WhenHigh,
        },
        effect: None,
        target: OneOrMany::default(),
        rate_limit: None,
        timeout_ms: None,
        deadline_ms: None,
        grace_ms: None,
        timeout_argument: None,
        retry_policy: None,
        limits: LimitsManifest::default(),
        backend: OneOrMany(vec![backend]),
        unlisted: false,
        stands_for: None,
        health_check: None,
        result: None,
        metadata: None,
    }
}

/// Reads schemas, and notes what it finds.
struct Reading<'a> {
    repaired: &'a mut Vec<String>,
    problems: &'a mut Vec<(String, String)>,
}

impl Reading<'_> {
    /// A schema with types of JSON Schema.
    fn schema(&mut self, at: &str, schema: Value, depth: usize) -> Value {
        let Value::Object(mut members) = schema else { return schema };
        if depth > DEEPEST {
            self.problems.push((at.to_owned(), format!("the schema is deeper than {DEEPEST}")));
            return Value::Object(members);
        }
        self.types(at, &mut members);
        for key in ["properties", "$defs", "definitions", "patternProperties"] {
            if let Some(Value::Object(inner)) = members.get_mut(key) {
                for (name, property) in inner.iter_mut() {
                    *property = self.schema(&format!("{at}/{key}/{}", escape(name)), property.take(), depth + 1);
                }
            }
        }
        for key in ["items", "additionalProperties", "not"] {
            if let Some(inner) = members.get_mut(key).filter(|inner| inner.is_object()) {
                *inner = self.schema(&format!("{at}/{key}"), inner.take(), depth + 1);
            }
        }
        // A list of schemas under `items` was how earlier drafts wrote what 2020-12 calls `prefixItems`.
        if members.get("items").is_some_and(Value::is_array) {
            let items = members.shift_remove("items").unwrap_or_default();
            members.insert("prefixItems".into(), items);
            self.repaired.push(format!("{at}/items: a list of schemas is `prefixItems`"));
        }
        for key in ["anyOf", "oneOf", "allOf", "prefixItems"] {
            if let Some(Value::Array(inner)) = members.get_mut(key) {
                for (index, choice) in inner.iter_mut().enumerate() {
                    *choice = self.schema(&format!("{at}/{key}/{index}"), choice.take(), depth + 1);
                }
            }
        }
        Value::Object(members)
    }

    fn types(&mut self, at: &str, members: &mut Map<String, Value>) {
        let at = format!("{at}/type");
        match members.get("type").cloned() {
            None => {}
            Some(Value::String(word)) => match self.one(&at, &word) {
                Some(Some(type_)) => drop(members.insert("type".into(), type_.into())),
                Some(None) => drop(members.shift_remove("type")),
                None => {}
            },
            Some(Value::Array(words)) => {
                let known: Vec<Option<Option<&str>>> =
                    words.iter().map(|word| word.as_str().and_then(|word| self.one(&at, word))).collect();
                match known.iter().any(|type_| matches!(type_, Some(None))) {
                    true => drop(members.shift_remove("type")),
                    false => drop(members.insert("type".into(), known.into_iter().flatten().flatten().collect())),
                }
            }
            Some(_) => self.problems.push((at, "a type is a word or a list of words".into())),
        }
    }

    /// The type that a word means: none of them if it is any type, nothing at all if nobody knows.
    fn one(&mut self, at: &str, word: &str) -> Option<Option<&'static str>> {
        let lower = word.trim().to_lowercase();
        if let Some((_, type_)) = TYPES.iter().find(|(known, _)| *known == lower) {
            if *type_ != Some(word) {
                let meant = type_.map_or("any type".to_owned(), |type_| format!("`{type_}`"));
                self.repaired.push(format!("{at}: `{}` is {meant}", excerpt(word, 40)));
            }
            return Some(*type_);
        }
        let near = nearest(&lower, TYPES.iter().map(|(known, _)| *known));
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        self.problems.push((at.to_owned(), format!("`{}` is no type{near}", excerpt(word, 40))));
        None
    }
}

/// A manifest as the text of a TOML file.
///
/// # Errors
/// If it has a value that TOML cannot write.
pub fn as_toml(tool: &ToolManifest) -> Result<String, String> {
    let mut written = serde_json::to_value(tool).map_err(|error| error.to_string())?;
    // TOML has no null, so a schema that needs one is written as a text.
    if has_null(&written["input_schema"]) {
        written["input_schema"] = Value::String(written["input_schema"].to_string());
    }
    toml::to_string(&json!({ "tool": written })).map_err(|error| error.to_string())
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(members) => members.values().any(has_null),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn import(document: Value) -> Imported {
        let missing = Missing { adapter: "a".into(), roles: vec!["Builder".into()], version: "1.0.0".into() };
        functions(&document, &missing)
    }

    #[test]
    fn loose_types_are_read_as_what_they_mean() {
        let imported = import(json!([{ "name": "f", "description": "x", "parameters": {
            "type": "dict",
            "properties": {
                "ratio": { "type": "float" },
                "pair": { "type": "tuple", "items": [{ "type": "int" }, { "type": "str" }] },
                "free": { "type": "any" },
                "several": { "type": ["str", "none"] },
                "list": { "type": "list", "items": { "type": "bool" } },
            },
        } }]));
        assert_eq!(imported.problems, []);
        let schema = imported.tools[0].input_schema.clone().unwrap();
        let expected = json!({ "type": "object", "properties": {
            "ratio": { "type": "number" },
            "pair": { "type": "array", "prefixItems": [{ "type": "integer" }, { "type": "string" }] },
            "free": {},
            "several": { "type": ["string", "null"] },
            "list": { "type": "array", "items": { "type": "boolean" } },
        } });
        assert_eq!(schema, expected);
        assert!(imported.repaired.contains(&"/0/parameters/type: `dict` is `object`".to_owned()));
    }

    #[test]
    fn what_nobody_can_know_is_refused_by_its_place() {
        let imported = import(json!({ "tools": [
            { "type": "function", "function": { "name": "f", "description": "x", "parameters": {
                "type": "object", "properties": { "a/b": { "type": "flaot" }, "c": { "type": 7 } } } } },
            { "type": "web_search" },
            { "name": 7 },
        ] }));
        let places: Vec<&str> = imported.problems.iter().map(|(at, _)| at.as_str()).collect();
        let expected = [
            "/tools/0/function/parameters/properties/a~1b/type",
            "/tools/0/function/parameters/properties/c/type",
            "/tools/1/type",
            "/tools/2/name",
            "/tools/2",
        ];
        assert_eq!(places, expected, "{:?}", imported.problems);
        assert!(imported.problems[0].1.contains("did you mean `float`?"));
        assert_eq!(import(json!("x")).problems.len(), 1);
    }

    #[test]
    fn a_null_survives_the_way_through_a_file() {
        let imported = import(json!([{ "name": "f", "description": "x", "parameters": {
            "type": "object", "properties": { "a": { "enum": [1, null] } } } }]));
        let text = as_toml(&imported.tools[0]).unwrap();
        let read: super::super::manifest::ManifestFile = toml::from_str(&text).unwrap();
        assert_eq!(read.tool.input_schema, imported.tools[0].input_schema);
    }
}

//! What does a schema say for certain about each place of the arguments? The kinds of values that a place takes, its
//! members, its text. What cannot be told (a document elsewhere, a condition, a negation) says nothing, so that whoever
//! goes by a shape never takes a right value for a wrong one. Must not see a call.

use super::kinds::Kinds;
use super::subschema::Schema;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Places of one schema that are told apart. Schemas that fold into themselves in many ways have more; the rest says
/// nothing.
const PLACES: usize = 4096;
/// The place of which nothing is known.
const ANYTHING: usize = 0;
/// The whole.
pub(crate) const ROOT: usize = 1;

/// The places of a schema.
#[derive(Debug)]
pub(crate) struct Shape {
    places: Vec<Place>,
}

/// What every right value at a place is.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Kinds of values that it can be.
    pub(crate) kinds: Kinds,
    /// The only values, if they are listed.
    pub(crate) allowed: Option<Vec<Value>>,
    /// Members that an object has.
    pub(crate) required: Vec<String>,
    /// Members of which something is known.
    pub(crate) members: BTreeMap<String, usize>,
    /// All other members.
    pub(crate) rest: usize,
    /// Whether there are no other members.
    pub(crate) is_closed: bool,
    /// The first items of an array.
    pub(crate) first: Vec<usize>,
    /// All other items.
    pub(crate) items: usize,
    /// Places of which at least one is this one, too, for each union.
    pub(crate) unions: Vec<Vec<usize>>,
    /// What its text is.
    pub(crate) text: Text,
    /// Whether something is known about the text here or below.
    pub(crate) has_text: bool,
}

/// What is known about a text.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Text {
    /// It passes byte for byte.
    pub(crate) is_free: bool,
    /// It is a virtual path.
    pub(crate) is_path: bool,
    /// It has no characters that deceive.
    pub(crate) is_strict: bool,
    /// It is shown to nobody.
    pub(crate) is_secret: bool,
}

impl Shape {
    /// The shape of a schema. The text of the members in `strict` and `paths` is what it is for permission, whatever
    /// the schema says.
    pub(crate) fn of(schema: &Value, strict: &[String], paths: &[String]) -> Shape {
        let mut builder = Builder { places: vec![Some(Place::anything())], ids: HashMap::new(), waiting: Vec::new() };
        builder.place(vec![Schema::new(schema)]);
        while let Some((id, schemas)) = builder.waiting.pop() {
            let place = builder.merge(&schemas);
            builder.places[id] = Some(place);
        }
        let mut places: Vec<Place> =
            builder.places.into_iter().map(|place| place.unwrap_or_else(Place::anything)).collect();
        if places.len() == ROOT {
            places.push(Place::anything());
        }
        for (names, is_path) in [(strict, false), (paths, true)] {
            for name in names {
                mark(&mut places, name, is_path);
            }
        }
        narrow(&mut places);
        Shape { places }
    }

    /// A place.
    pub(crate) fn place(&self, id: usize) -> &Place {
        &self.places[id]
    }

    /// The place of a member.
    pub(crate) fn member(&self, id: usize, key: &str) -> usize {
        let place = self.place(id);
        place.members.get(key).copied().unwrap_or(place.rest)
    }

    /// The place of an item.
    pub(crate) fn item(&self, id: usize, index: usize) -> usize {
        let place = self.place(id);
        place.first.get(index).copied().unwrap_or(place.items)
    }

    /// The places that a value is at besides the one it is at: of each union the branch that takes it, if just one can.
    pub(crate) fn branches(&self, id: usize, value: &Value) -> impl Iterator<Item = usize> {
        self.place(id).unions.iter().filter_map(|union| {
            let mut taking = union.iter().filter(|branch| !self.refuses(**branch, value));
            taking.next().filter(|_| taking.next().is_none()).copied()
        })
    }

    /// Whether a value is wrong at a place at first sight: its kind, a listed value or a required member.
    pub(crate) fn refuses(&self, id: usize, value: &Value) -> bool {
        let place = self.place(id);
        if !place.kinds.has(Kinds::of(value))
            || place.allowed.as_ref().is_some_and(|allowed| !allowed.iter().any(|it| same(it, value)))
        {
            return true;
        }
        let Value::Object(object) = value else { return false };
        let is_other = |(key, id): (&String, &usize)| {
            let allowed = self.place(*id).allowed.as_ref();
            object.get(key).zip(allowed).is_some_and(|(value, allowed)| !allowed.iter().any(|it| same(it, value)))
        };
        place.required.iter().any(|key| !object.contains_key(key)) || place.members.iter().any(is_other)
    }
}

/// Whether two values are equal for JSON Schema, at first sight: numbers by what they count.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        // Within them numbers may differ in how they are written; rather say too little.
        (Value::Array(_) | Value::Object(_), Value::Array(_) | Value::Object(_)) => true,
        (one, other) => one == other,
    }
}

impl Place {
    fn anything() -> Place {
        Place {
            kinds: Kinds::ALL,
            allowed: None,
            required: Vec::new(),
            members: BTreeMap::new(),
            rest: ANYTHING,
            is_closed: false,
            first: Vec::new(),
            items: ANYTHING,
            unions: Vec::new(),
            text: Text::default(),
            has_text: false,
        }
    }

    fn below(&self) -> impl Iterator<Item = usize> {
        let members = self.members.values().chain(&self.first).chain(self.unions.iter().flatten());
        members.copied().chain([self.rest, self.items])
    }
}

fn mark(places: &mut Vec<Place>, name: &str, is_path: bool) {
    let mut place = places[ROOT].members.get(name).map_or_else(Place::anything, |id| places[*id].clone());
    place.text.is_strict = true;
    place.text.is_path |= is_path;
    // A list of targets is a list of such texts.
    if place.items != ANYTHING || place.kinds.has(Kinds::ARRAY) {
        let mut items = places[place.items].clone();
        items.text = place.text;
        places.push(items);
        place.items = places.len() - 1;
    }
    places.push(place);
    let id = places.len() - 1;
    places[ROOT].members.insert(name.to_owned(), id);
}

/// Carries upwards what follows from what is below: the kinds of unions, and where there is text to look at.
fn narrow(places: &mut [Place]) {
    // Each round makes kinds fewer or text more, and stopping early says too little, never something wrong.
    for _ in 0..16 {
        let mut is_changed = false;
        for id in 0..places.len() {
            let place = &places[id];
            let kinds = place.unions.iter().fold(place.kinds, |kinds, union| {
                kinds.and(union.iter().fold(Kinds::NONE, |all, branch| all.or(places[*branch].kinds)))
            });
            let text = place.text;
            let has_text = text.is_path || text.is_strict || place.below().any(|below| places[below].has_text);
            is_changed |= kinds != place.kinds || has_text != place.has_text;
            places[id].kinds = kinds;
            places[id].has_text = has_text;
        }
        if !is_changed {
            return;
        }
    }
    places.iter_mut().for_each(|place| place.has_text = true);
}

struct Builder<'a> {
    places: Vec<Option<Place>>,
    ids: HashMap<Vec<usize>, usize>,
    waiting: Vec<(usize, Vec<Schema<'a>>)>,
}

impl<'a> Builder<'a> {
    /// The place where a value is right for all of some schemas.
    fn place(&mut self, schemas: Vec<Schema<'a>>) -> usize {
        let mut all = Vec::new();
        let mut seen = BTreeSet::new();
        let mut open = schemas;
        while let Some(schema) = open.pop() {
            let Some(schema) = schema.understood() else { continue };
            if seen.insert(schema.address()) {
                all.push(schema);
                open.extend(schema.reference());
                open.extend(schema.list("allOf"));
            }
        }
        let says_something = |schema: &Schema<'_>| *schema.value != Value::Bool(true);
        all.retain(says_something);
        if all.is_empty() {
            return ANYTHING;
        }
        let key: Vec<usize> = seen.into_iter().collect();
        if let Some(id) = self.ids.get(&key) {
            return *id;
        }
        if self.places.len() >= PLACES {
            return ANYTHING;
        }
        self.places.push(None);
        let id = self.places.len() - 1;
        self.ids.insert(key, id);
        self.waiting.push((id, all));
        id
    }

    fn merge(&mut self, schemas: &[Schema<'a>]) -> Place {
        let mut place = Place::anything();
        let mut names = BTreeSet::new();
        let mut prefix = 0;
        for schema in schemas {
            place.kinds = place.kinds.and(kinds(*schema));
            place.allowed = place.allowed.take().or_else(|| allowed(*schema));
            place.required.extend(schema.list("required").filter_map(|name| name.value.as_str().map(str::to_owned)));
            add_text(&mut place.text, *schema);
            names.extend(schema.object("properties").into_iter().flat_map(Map::keys));
            place.is_closed |= is_closed(*schema);
            prefix = prefix.max(schema.list("prefixItems").count());
            for key in ["anyOf", "oneOf"] {
                let branches: Vec<usize> = schema.list(key).map(|branch| self.place(vec![branch])).collect();
                if !branches.is_empty() {
                    place.unions.push(branches);
                }
            }
        }
        place.text.is_strict &= !place.text.is_free;
        for name in names {
            let all = schemas.iter().filter_map(|schema| member(*schema, name)).collect();
            place.members.insert(name.clone(), self.place(all));
        }
        place.rest = self.place(schemas.iter().filter_map(|schema| rest(*schema)).collect());
        for index in 0..prefix {
            let all = schemas.iter().filter_map(|schema| schema.list("prefixItems").nth(index).or(schema.get("items")));
            let all = all.collect();
            let id = self.place(all);
            place.first.push(id);
        }
        place.items = self.place(schemas.iter().filter_map(|schema| schema.get("items")).collect());
        place
    }
}

fn kinds(schema: Schema<'_>) -> Kinds {
    if *schema.value == Value::Bool(false) {
        return Kinds::NONE;
    }
    let typed = match schema.value.get("type") {
        Some(Value::String(name)) => Kinds::named(name),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).fold(Kinds::NONE, |kinds, name| kinds.or(Kinds::named(name)))
        }
        _ => Kinds::ALL,
    };
    let listed = allowed(schema)
        .map_or(Kinds::ALL, |values| values.iter().fold(Kinds::NONE, |kinds, value| kinds.or(Kinds::of(value))));
    typed.and(listed)
}

fn allowed(schema: Schema<'_>) -> Option<Vec<Value>> {
    match (schema.value.get("const"), schema.value.get("enum")) {
        (Some(value), _) => Some(vec![value.clone()]),
        (None, Some(Value::Array(values))) => Some(values.clone()),
        _ => None,
    }
}

fn add_text(text: &mut Text, schema: Schema<'_>) {
    let has = |key: &str| schema.value.get(key).is_some();
    match schema.value.get("format").and_then(Value::as_str) {
        Some("text") => text.is_free = true,
        Some("path") => {
            text.is_path = true;
            text.is_strict = true;
        }
        Some("password") => text.is_secret = true,
        Some(_) => text.is_strict = true,
        None => {}
    }
    text.is_secret |= schema.value.get("writeOnly") == Some(&Value::Bool(true));
    text.is_strict |= has("pattern") || has("forbiddenPatterns") || has("enum") || has("const");
}

fn member<'a>(schema: Schema<'a>, name: &str) -> Option<Schema<'a>> {
    let declared = schema.object("properties").and_then(|properties| properties.get(name));
    declared.map(|value| schema.of(value)).or_else(|| rest(schema))
}

/// What members say that are not declared. With patterns, it would depend on the name.
fn rest(schema: Schema<'_>) -> Option<Schema<'_>> {
    schema.get("additionalProperties").filter(|_| schema.value.get("patternProperties").is_none())
}

fn is_closed(schema: Schema<'_>) -> bool {
    rest(schema).is_some_and(|rest| *rest.value == Value::Bool(false))
}

#[cfg(test)]
#[path = "shape_tests.rs"]
mod tests;

//! What does a part of a schema refer to? Only what stands in the same resource is followed.

use serde_json::{Map, Value};

/// A schema and the document or embedded resource that its references start from.
#[derive(Clone, Copy)]
pub(super) struct Schema<'a> {
    pub(super) value: &'a Value,
    root: &'a Value,
}

impl<'a> Schema<'a> {
    pub(super) fn new(document: &'a Value) -> Schema<'a> {
        Schema { value: document, root: document }
    }

    /// A schema within it.
    pub(super) fn of(self, value: &'a Value) -> Schema<'a> {
        Schema { value, root: self.root }
    }

    pub(super) fn get(self, key: &str) -> Option<Schema<'a>> {
        self.value.get(key).map(|value| self.of(value))
    }

    pub(super) fn list(self, key: &str) -> impl Iterator<Item = Schema<'a>> {
        self.value.get(key).and_then(Value::as_array).into_iter().flatten().map(move |value| self.of(value))
    }

    pub(super) fn object(self, key: &str) -> Option<&'a Map<String, Value>> {
        self.value.get(key)?.as_object()
    }

    pub(super) fn members(self, key: &str) -> impl Iterator<Item = Schema<'a>> {
        self.object(key).into_iter().flat_map(Map::values).map(move |value| self.of(value))
    }

    /// Which schema it is among all of the document.
    pub(super) fn address(self) -> usize {
        std::ptr::from_ref(self.value) as usize
    }

    /// The schema as it is to be read, if it is one of ours: a resource of its own is the start of its own references,
    /// and one in another dialect says what we do not know.
    pub(super) fn understood(self) -> Option<Schema<'a>> {
        let dialect = self.value.get("$schema").and_then(Value::as_str);
        let ours = "https://json-schema.org/draft/2020-12/schema";
        let is_ours = dialect.is_none_or(|uri| uri.trim_end_matches('#') == ours);
        let is_resource = self.value.get("$id").and_then(Value::as_str).is_some_and(|id| !id.starts_with('#'));
        is_ours.then_some(if is_resource { Schema::new(self.value) } else { self })
    }

    /// What its reference means, if it is one within the same resource.
    pub(super) fn reference(self) -> Option<Schema<'a>> {
        let pointer = self.value.get("$ref")?.as_str()?.strip_prefix('#')?;
        if !(pointer.is_empty() || pointer.starts_with('/')) || pointer.contains('%') {
            return None;
        }
        let mut target = self.root;
        for part in pointer.split('/').skip(1) {
            let key = part.replace("~1", "/").replace("~0", "~");
            target = target.get(&key).or_else(|| target.as_array()?.get(part.parse::<usize>().ok()?))?;
            // Beyond the border of another resource references start from there.
            if target.get("$id").is_some() {
                return None;
            }
        }
        Some(self.of(target))
    }
}

//! What can a schema cost? One that never comes to an end is refused, and one whose errors could be counted up without
//! end is marked. Must not see a call.

use super::subschema::Schema;
use serde_json::Value;
use std::collections::HashMap;

/// Deepest nesting of a schema with its references followed; deeper ones would use up the stack.
const DEPTH: usize = 256;
/// Subschemas, with references written out, above which errors are not collected from all of them.
const LARGE: u64 = 50_000;

/// What was found about a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cost {
    /// Looking at all errors costs about as much as looking at the value.
    Linear,
    /// Branches fold into themselves: each level of the value could double the errors.
    Explosive,
}

/// Weighs a schema.
///
/// # Errors
/// A reference that leads back to itself without looking at a part of the value, or nesting without end.
pub(super) fn weigh(schema: &Value) -> Result<Cost, String> {
    let mut walk = Walk::default();
    let weight = walk.weigh(Schema::new(schema), 0)?;
    Ok(if walk.is_explosive || weight.count > LARGE { Cost::Explosive } else { Cost::Linear })
}

/// Keywords whose schemas look at the same value.
const SAME: [&str; 4] = ["not", "if", "then", "else"];
/// The same, in a list.
const SAME_LIST: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords whose schemas look at parts of the value, each part by one of them.
const PART: [&str; 4] = ["additionalProperties", "items", "unevaluatedItems", "unevaluatedProperties"];

#[derive(Clone, Copy, Default)]
struct Weight {
    /// Subschemas, with references written out.
    count: u64,
    /// Whether it leads back to a schema around it.
    is_recursive: bool,
}

enum State {
    /// Being weighed, at a level of the value.
    Open {
        level: usize,
    },
    Weighed(Weight),
}

#[derive(Default)]
struct Walk {
    state: HashMap<usize, State>,
    depth: usize,
    is_explosive: bool,
}

impl Walk {
    fn weigh(&mut self, schema: Schema<'_>, level: usize) -> Result<Weight, String> {
        // What another dialect means is not known; it may lead anywhere.
        let Some(schema) = schema.understood() else { return Ok(Weight { count: 1, is_recursive: true }) };
        if !schema.value.is_object() {
            return Ok(Weight { count: 1, is_recursive: false });
        }
        match self.state.get(&schema.address()) {
            Some(State::Open { level: before }) if *before == level => {
                return Err("a reference leads back to itself and never comes to a value".into());
            }
            Some(State::Open { .. }) => return Ok(Weight { count: 1, is_recursive: true }),
            Some(State::Weighed(weight)) => return Ok(*weight),
            None => {}
        }
        if self.depth >= DEPTH {
            return Err(format!("with its references it is nested more than {DEPTH} deep"));
        }
        self.state.insert(schema.address(), State::Open { level });
        self.depth += 1;
        let weight = self.below(schema, level)?;
        self.depth -= 1;
        self.state.insert(schema.address(), State::Weighed(weight));
        Ok(weight)
    }

    fn below(&mut self, schema: Schema<'_>, level: usize) -> Result<Weight, String> {
        let mut ways = Vec::new();
        let target = schema.reference();
        let has_unknown = schema.get("$ref").is_some() && target.is_none() || schema.get("$dynamicRef").is_some();
        if has_unknown {
            ways.push(Weight { count: 1, is_recursive: true });
        }
        let same = SAME.iter().filter_map(|key| schema.get(key));
        let same_list = SAME_LIST.iter().flat_map(|key| schema.list(key));
        for below in target.into_iter().chain(same).chain(same_list).chain(schema.members("dependentSchemas")) {
            ways.push(self.weigh(below, level)?);
        }
        for below in schema.members("patternProperties").chain(schema.get("contains")) {
            ways.push(self.weigh(below, level + 1)?);
        }
        let mut parts = Weight::default();
        let others = PART.iter().filter_map(|key| schema.get(key));
        for below in schema.members("properties").chain(schema.list("prefixItems")).chain(others) {
            let weight = self.weigh(below, level + 1)?;
            parts.count = parts.count.saturating_add(weight.count);
            parts.is_recursive |= weight.is_recursive;
        }
        ways.push(parts);
        let recursive = ways.iter().filter(|weight| weight.is_recursive).count();
        self.is_explosive |= recursive > 1;
        let count = ways.iter().fold(1_u64, |count, weight| count.saturating_add(weight.count));
        Ok(Weight { count, is_recursive: recursive > 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, json};

    #[test]
    fn what_doubles_at_each_level_is_marked() {
        let check = |schema: Value, cost: Cost| assert_eq!(weigh(&schema), Ok(cost), "{schema}");
        check(json!({ "properties": { "a": { "$ref": "#" }, "b": { "$ref": "#" } } }), Cost::Linear);
        check(json!({ "properties": { "a": { "anyOf": [{ "type": "null" }, { "$ref": "#" }] } } }), Cost::Linear);
        check(
            json!({ "anyOf": [{ "properties": { "a": { "$ref": "#" } } }, { "properties": { "a": { "$ref": "#" } } }] }),
            Cost::Explosive,
        );
        check(json!({ "patternProperties": { "a": { "$ref": "#" }, "b": { "$ref": "#" } } }), Cost::Explosive);
        let mut defs = json!({ "d0": { "type": "integer" } });
        for n in 1..40 {
            let below = json!({ "$ref": format!("#/$defs/d{}", n - 1) });
            defs[format!("d{n}")] = json!({ "anyOf": [below, below] });
        }
        check(json!({ "$ref": "#/$defs/d39", "$defs": defs }), Cost::Explosive);
    }

    #[test]
    fn what_never_comes_to_a_value_is_refused() {
        for schema in [
            json!({ "$ref": "#" }),
            json!({ "properties": { "x": { "$ref": "#/$defs/a" } },
                "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "allOf": [{ "$ref": "#/$defs/a" }] } } }),
            json!({ "anyOf": [{ "type": "integer" }, { "$ref": "#" }] }),
        ] {
            assert!(weigh(&schema).is_err(), "{schema}");
        }
        let chain = (0..5000)
            .map(|n| (format!("d{n}"), json!({ "$ref": format!("#/$defs/d{}", n + 1) })))
            .collect::<Map<_, _>>();
        assert!(weigh(&json!({ "$ref": "#/$defs/d0", "$defs": chain })).is_err());
    }
}

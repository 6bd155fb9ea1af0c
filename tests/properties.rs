//! Is what was judged what runs, and is a valid call left alone? Random arguments through permission and validation,
//! and through a component that answers with what it got.

use crate::support::block_on;
use crate::support::guest::Guest;
use crate::support::house::{House, call};
use hermes_runtime::Runtime;
use hermes_runtime::call::{Arguments, Digest};
use hermes_runtime::registry::Tool;
use hermes_runtime::registry::tool::{self, Surroundings};
use hermes_runtime::validation;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::Path;

/// Longer than any attempt takes.
const LONGEST: std::time::Duration = std::time::Duration::from_secs(600);

const TOOL: &str = r#"
[tool]
name = "probe"
version = "0.1.0"
description = "A tool of the tests"
permissions = { required_roles = ["Builder"], risk_level = "low" }
effect = { kind = "read" }
backend = { type = "custom", adapter = "probe" }
"#;

const INPUTS: &str = r#"
[[tool.inputs]]
name = "path"
type = "string"
required = true
validation = { format = "path", max_length = 100 }
[[tool.inputs]]
name = "note"
type = "string"
validation = { format = "text" }
[[tool.inputs]]
name = "count"
type = "integer"
range = [-5000, 5000]
[[tool.inputs]]
name = "deep"
type = "boolean"
[[tool.inputs]]
name = "files"
type = "array"
items = "string"
[[tool.inputs]]
name = "options"
type = "object"
"#;

fn tool() -> Tool {
    tool::parse(Path::new("probe.toml"), &format!("{TOOL}{INPUTS}"), &Surroundings::default()).unwrap()
}

/// Arguments that are valid as they are.
fn valid() -> impl Strategy<Value = Value> {
    let path = "(/[a-z.é]{1,8}){1,4}"
        .prop_filter("in normal form", |path| path.split('/').all(|part| part != "." && part != ".."));
    let note = prop::option::of("[\\PC\u{0}-\u{1f}\u{202e}]{0,20}");
    let files = prop::option::of(prop::collection::vec("[\\PC]{0,6}", 0..4));
    let options = prop::option::of(prop::collection::hash_map("[a-z]{1,3}", any::<i32>(), 0..3));
    (path, note, prop::option::of(-5000..5000i64), prop::option::of(any::<bool>()), files, options).prop_map(
        |(path, note, count, deep, files, options)| {
            let mut args = json!({ "path": path });
            let optional = [
                ("note", json!(note)),
                ("count", json!(count)),
                ("deep", json!(deep)),
                ("files", json!(files)),
                ("options", json!(options)),
            ];
            for (name, value) in optional.into_iter().filter(|(_, value)| !value.is_null()) {
                args[name] = value;
            }
            args
        },
    )
}

/// Arguments that are nearly valid, some loosely typed.
fn loose() -> impl Strategy<Value = Value> {
    let odd = prop::sample::select(vec![
        json!("7"),
        json!("07"),
        json!(7.0),
        json!(7.5),
        json!("true"),
        json!("True"),
        json!(null),
        json!("[1]"),
        json!("[\"a\"]"),
        json!("{\"a\":1}"),
        json!("{\"a\":1,\"a\":2}"),
        json!(1),
        json!([]),
        json!({}),
        json!("../x"),
        json!("a\u{200b}"),
        json!("a/../b"),
    ]);
    let name = prop::sample::select(vec!["path", "note", "count", "deep", "files", "options", "Path", "other"]);
    (valid(), prop::collection::vec((name, odd), 0..3)).prop_map(|(mut args, changes)| {
        for (name, value) in changes {
            args[name] = value;
        }
        args
    })
}

struct Running {
    _house: House,
    runtime: Runtime,
}

fn running() -> Running {
    let house = House::empty();
    Guest { inputs: INPUTS.into(), ..Guest::default() }.put(&house);
    let runtime = house.start(house.config());
    Running { _house: house, runtime }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_valid_call_is_never_changed(args in valid()) {
        thread_local!(static TOOL: Tool = tool());
        let judged = TOOL.with(|tool| validation::judge(tool, &Arguments::Json(args.to_string()), LONGEST));
        let judged = judged.map_err(|error| TestCaseError::fail(format!("{args}: {:?}", error.problems)))?;
        prop_assert_eq!(&*judged.value, &args);
        prop_assert!(judged.repairs.is_empty());
    }

    #[test]
    fn judging_what_was_judged_changes_nothing(args in loose()) {
        thread_local!(static TOOL: Tool = tool());
        let judge = |args: Arguments| TOOL.with(|tool| validation::judge(tool, &args, LONGEST));
        let Ok(once) = judge(Arguments::Value(args)) else { return Ok(()) };
        let again = judge(Arguments::Json(once.canonical.to_string())).unwrap();
        prop_assert_eq!(once.digest, again.digest);
        prop_assert!(again.repairs.is_empty(), "{:?}", again.repairs);
    }

    #[test]
    fn what_was_judged_is_what_runs(args in loose()) {
        thread_local!(static RUNNING: (Running, Tool) = (running(), tool()));
        RUNNING.with(|(running, tool)| {
            let judged = validation::judge(tool, &Arguments::Value(args.clone()), LONGEST);
            let answer = block_on(running.runtime.call(call("probe", args))).envelope;
            match judged {
                Ok(judged) => {
                    prop_assert_eq!(judged.digest, Digest::of(judged.canonical.as_bytes()));
                    prop_assert_eq!(&answer.data, &*judged.value);
                    prop_assert_eq!(answer.metadata.repairs, judged.repairs.to_vec());
                }
                Err(error) => {
                    let got = answer.error.unwrap();
                    prop_assert_eq!((got.kind, got.problems.clone()), (error.kind, error.problems.clone()));
                    prop_assert!(answer.data.is_null());
                }
            }
            Ok(())
        })?;
    }
}

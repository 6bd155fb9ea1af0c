//! What happens with policies that are wrong, and with those that fail when they are asked? Nothing runs that they
//! could have forbidden.

use crate::support::block_on;
use crate::support::guest::Guest;
use crate::support::house::{House, call};
use hermes_runtime::document::Faults;
use hermes_runtime::rules::{LabelRule, PolicySettings};
use hermes_runtime::{Envelope, Runtime, StartError};
use serde_json::json;

/// A house with a tool that has arguments of every kind.
fn house() -> House {
    let house = House::empty();
    let inputs = r#"
[[tool.inputs]]
name = "database"
type = "enum"
required = true
allowed_values = ["analytics", "profiles"]
[[tool.inputs]]
name = "count"
type = "integer"
[[tool.inputs]]
name = "ratio"
type = "number"
[[tool.inputs]]
name = "names"
type = "array"
items = "string"
[[tool.inputs]]
name = "options"
type = "object"
"#;
    Guest { inputs: inputs.into(), ..Guest::default() }.put(&house);
    house
}

fn start(house: &House, permissions: &str, factors: &str) -> Result<Runtime, Faults> {
    std::fs::write(house.path("permissions.cedar"), permissions).unwrap();
    std::fs::write(house.path("factors.cedar"), factors).unwrap();
    let mut config = house.config();
    config.policies = PolicySettings {
        permissions: vec![house.path("permissions.cedar")],
        factors: vec![house.path("factors.cedar")],
        ..PolicySettings::default()
    };
    match Runtime::start(config, &[], None) {
        Ok(runtime) => Ok(runtime),
        Err(StartError::Policies(faults)) => Err(faults),
        Err(other) => panic!("{other}"),
    }
}

fn answer(permissions: &str, factors: &str, args: serde_json::Value) -> Envelope {
    let house = house();
    let runtime = start(&house, permissions, factors).unwrap_or_else(|faults| panic!("{faults}"));
    block_on(runtime.call(call("probe", args))).envelope
}

fn error(envelope: &Envelope) -> (&'static str, Option<String>) {
    let error = envelope.error.as_ref().unwrap();
    (error.kind.name(), error.reason.as_ref().map(|reason| reason.to_string()))
}

#[test]
fn a_wrong_policy_is_refused_with_its_place_and_what_is_wrong() {
    let house = house();
    let permissions = [
        ("\n\nforbid (principal, action, resource) when { ", 3, "unexpected"),
        ("forbid (principal, action == Action::\"prob\", resource);", 1, "the tool `prob`, which there is not"),
        ("permit (principal == Role::\"Bilder\", action, resource);", 1, "the role `Bilder`, which there is not"),
        (
            "\nforbid (principal, action == Action::\"probe\", resource) when { context.args.databas == \"a\" };",
            2,
            "databas",
        ),
        ("forbid (principal, action == Action::\"probe\", resource) when { context.args.count > 3 };", 1, "count"),
        (
            "forbid (principal, action == Action::\"probe\", resource) when { context.args.ratio == 3 };",
            1,
            "a fraction",
        ),
        (
            "forbid (principal, action == Action::\"probe\", resource) when { context.args.options == 3 };",
            1,
            "an object",
        ),
        ("forbid (principal, action, resource) when { context.workflow == \"a\" };", 1, "workflow"),
        ("forbid (principal, action, resource) when { context.labels == 3 };", 1, ""),
        ("@risk(\"3\") permit (principal, action, resource);", 1, "belongs to factors"),
        ("@floor @ask forbid (principal, action, resource);", 1, "cannot be asked for"),
        ("@flor forbid (principal, action, resource);", 1, "did you mean `@floor`?"),
        ("permit (principal == ?principal, action, resource);", 0, "templates"),
    ];
    for (text, line, words) in permissions {
        let faults = start(&house, text, "").err().unwrap_or_else(|| panic!("taken: {text}"));
        let fault = &faults.0[0];
        assert_eq!(fault.line, line, "{text}: {fault}");
        assert!(fault.to_string().contains(words), "{text}: {fault}");
        assert!(fault.file.ends_with("permissions.cedar"), "{fault}");
    }
    let factors = [
        ("@risk(\"many\") permit (principal, action, resource);", "whole number from 0 to 100"),
        ("@risk(\"101\") permit (principal, action, resource);", "whole number from 0 to 100"),
        ("@risk(\"-1\") permit (principal, action, resource);", "whole number from 0 to 100"),
        ("permit (principal, action, resource);", "a factor needs `@risk"),
        ("@risk(\"3\") forbid (principal, action, resource);", "a factor is a `permit`"),
        (
            "@id(\"a\") @risk(\"3\") permit (principal, action, resource);\n@id(\"a\") @risk(\"4\") permit (principal, action, resource);",
            "another statement",
        ),
        ("@id(\"data_secret\") @risk(\"3\") permit (principal, action, resource);", "another statement"),
    ];
    for (text, words) in factors {
        let faults = start(&house, "", text).err().unwrap_or_else(|| panic!("taken: {text}"));
        assert!(faults.to_string().contains(words), "{text}: {faults}");
    }
}

#[test]
fn all_mistakes_of_all_files_are_shown_at_once() {
    let house = house();
    let wrong = "@risk(\"x\") permit (principal, action, resource);\n";
    let forbids =
        "forbid (principal, action == Action::\"a\", resource);\nforbid (principal == Role::\"b\", action, resource);";
    let faults = start(&house, forbids, &wrong.repeat(2)).err().unwrap();
    assert_eq!(faults.0.len(), 4, "{faults}");
}

#[test]
fn a_label_that_no_policy_asks_for_is_refused() {
    let house = house();
    let rule = |labels: &[&str]| LabelRule {
        target: "x".into(),
        syntax: None,
        tool: None,
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
    };
    let mut config = house.config();
    config.labels = vec![rule(&["production", "personel"])];
    let error = Runtime::start(config, &[], None).err().unwrap().to_string();
    assert!(error.contains("`personel`") && error.contains("did you mean `personal`?"), "{error}");
}

/// An evaluation that overflows, which no schema can rule out.
const FAILS: &str = "context.args has count && context.args.count * 9223372036854775807 > 0";

#[test]
fn a_policy_that_fails_denies_whatever_kind_it_is() {
    let args = || json!({ "database": "analytics", "count": 3 });
    let head = "(principal, action == Action::\"probe\", resource)";
    for (permissions, factors) in [
        (format!("permit {head} when {{ {FAILS} }};"), String::new()),
        (format!("forbid {head} when {{ {FAILS} }};"), String::new()),
        (format!("@floor forbid {head} when {{ {FAILS} }};"), String::new()),
        (format!("@ask forbid {head} when {{ {FAILS} }};"), String::new()),
        (String::new(), format!("@risk(\"3\") permit {head} when {{ {FAILS} }};")),
        (String::new(), format!("@ask permit {head} when {{ {FAILS} }};")),
    ] {
        let envelope = answer(&permissions, &factors, args());
        assert_eq!(error(&envelope), ("policy_error", None), "{permissions}{factors}");
        let said = envelope.error.unwrap();
        assert!(!said.message.contains("overflow"), "insides of policies go to the record alone: {}", said.message);
    }
}

#[test]
fn policies_see_arguments_with_their_types() {
    let forbid = |when: &str| {
        format!("@reason(\"so\") forbid (principal, action == Action::\"probe\", resource) when {{ {when} }};")
    };
    let args = || json!({ "database": "profiles", "count": 7, "names": ["a", "b"] });
    for when in [
        "context.args.database == \"profiles\"",
        "context.args has count && context.args.count == 7",
        "context.args has names && context.args.names.containsAll([\"b\", \"a\"])",
        "context.effect == \"read\" && context.mode == \"explore\" && !(context has workflow)",
        "resource in Adapter::\"probe\" && principal == Role::\"Builder\"",
    ] {
        let envelope = answer(&forbid(when), "", args());
        assert_eq!(error(&envelope), ("denied", Some("forbidden".into())), "{when}");
        assert!(envelope.error.unwrap().message.ends_with(": so"));
    }
    let envelope = answer(&forbid("context.args.database == \"analytics\""), "", args());
    assert!(envelope.error.is_none(), "{envelope:#?}");
}

#[test]
fn without_a_permit_nothing_runs() {
    let house = house();
    std::fs::write(house.path("permissions.cedar"), "permit (principal == Role::\"Builder\", action == Action::\"probe\", resource) when { context.args.database == \"analytics\" };").unwrap();
    let mut config = house.config();
    config.policies.permissions = vec![house.path("permissions.cedar")];
    config.policies.permit_listed_roles = false;
    let runtime = house.start(config);
    let run = |database: &str| block_on(runtime.call(call("probe", json!({ "database": database })))).envelope;
    assert!(run("analytics").error.is_none());
    assert_eq!(error(&run("profiles")), ("denied", Some("not_permitted".into())));
}

//! Is it learnt from calls how a tool's arguments are got wrong and right, without keeping what was in them?

use crate::support::block_on;
use crate::support::guest::Guest;
use crate::support::house::{House, call};
use serde_json::json;

const INPUTS: &str = r#"
[[tool.inputs]]
name = "path"
type = "string"
required = true
validation = { format = "path" }
[[tool.inputs]]
name = "kind"
type = "enum"
allowed_values = ["fast", "slow"]
[[tool.inputs]]
name = "limit"
type = "integer"
default = 10
[[tool.inputs]]
name = "api_token"
type = "string"
[[tool.inputs]]
name = "tags"
type = "array"
items = "string"
"#;

#[test]
fn mistakes_are_counted_and_what_went_well_becomes_a_template() {
    let house = House::empty();
    Guest { inputs: INPUTS.into(), ..Guest::default() }.put(&house);
    let runtime = house.start(house.config());
    block_on(async {
        for n in 0..3 {
            let args = json!({ "path": format!("secret-{n}"), "kind": "fast", "limit": 10, "api_token": "hunter2", "tags": ["x"] });
            assert_eq!(runtime.call(call("probe", args)).await.envelope.code(), 200);
            runtime.call(call("probe", json!({ "pth": format!("secret-{n}"), "tags": [1, 2] }))).await;
        }
        assert_eq!(runtime.call(call("probe", json!({ "path": "a", "limit": 3 }))).await.envelope.code(), 200);
        assert!(runtime.flush().await);
        let templates = runtime.argument_templates("probe").await.unwrap();
        assert_eq!(templates.len(), 2);
        let expect = json!({ "api_token": "<secret>", "kind": "fast", "path": "<path>", "tags": ["<string>"] });
        assert_eq!((&templates[0].arguments, templates[0].count), (&expect, 3));
        assert_eq!(templates[1].arguments, json!({ "limit": "<integer>", "path": "<path>" }));
        let mistakes = runtime.argument_mistakes(Some("probe")).await.unwrap();
        let told: Vec<_> = mistakes.iter().map(|it| (it.path.as_str(), it.rule.as_str(), it.count)).collect();
        assert_eq!(told.len(), 3);
        for wanted in [("/path", "required", 3), ("/pth", "unknown_key", 3), ("/tags/*", "type", 6)] {
            assert!(told.contains(&wanted), "{told:?}");
        }
        assert_eq!(runtime.argument_mistakes(None).await.unwrap(), mistakes);
        assert!(runtime.argument_mistakes(Some("other")).await.unwrap().is_empty());
        let described = runtime.call(call("tool_describe", json!({ "name": "probe" }))).await.envelope.data;
        assert_eq!(described["templates"][0]["arguments"], expect, "{described}");
        assert_eq!(described["frequent_mistakes"][0]["path"], "/tags/*", "{described}");
        let kept = serde_json::to_string(&(templates, mistakes)).unwrap();
        assert!(!kept.contains("secret-") && !kept.contains("hunter2"), "{kept}");
    });
}

/// Whoever makes up keys fills no disk.
#[test]
fn made_up_keys_fill_a_bounded_table() {
    let house = House::empty();
    Guest { inputs: INPUTS.into(), ..Guest::default() }.put(&house);
    let runtime = house.start(house.config());
    block_on(async {
        for n in 0..30 {
            let keys: serde_json::Map<_, _> = (0..20).map(|k| (format!("{n}-{k}"), json!(1))).collect();
            runtime.call(call("probe", keys.into())).await;
        }
        assert!(runtime.flush().await);
    });
    let journal = rusqlite::Connection::open(house.path("state/journal.db")).unwrap();
    let rows: u32 = journal.query_row("SELECT count(*) FROM argument_mistakes", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 200);
}

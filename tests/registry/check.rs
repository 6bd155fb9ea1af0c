//! Is everything that is wrong with a folder said at once, by its place? And can no name be taken for another one?

use super::manifest;
use crate::support::house::{House, project};
use crate::support::user::User;
use hermes_runtime::registry::published;
use serde_json::Value;

/// Where each fault is, as `file:line:column`.
fn places(report: &Value) -> Vec<String> {
    let place = |fault: &Value| {
        let file = fault["file"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        format!("{file}:{}:{}", fault["line"], fault["column"])
    };
    report["faults"].as_array().unwrap().iter().map(place).collect()
}

#[test]
fn all_faults_of_all_files_are_in_one_report() {
    let user = User::new();
    user.write("tools/good.toml", manifest("good", "1.0.0", "a"));
    user.write(
        "tools/keys.toml",
        "[tool]\nname = \"keys\"\nversion = \"one\"\ndescripton = \"x\"\ndescription = \"x\"\n\
         permissions = { risk_level = \"low\" }\nbackend = { type = \"custom\", adaptor = \"y\", adapter = \"y\" }\n\
         [[tool.inputs]]\nname = \"a\"\ntype = \"string\"\n[[tool.inputs]]\nname = \"b\"\ntype = \"string\"\nrange = [2, 1]\n",
    );
    user.write(
        "tools/yaml.yaml",
        "tool:\n  name: yaml\n  version: 1.0.0\n  description: x\n  permissions:\n    risk_level: low\n    risk: high\n\
         \x20 backend:\n    type: custom\n    adapter: a\n  helth_check:\n    enabled: true\n",
    );
    user.write("tools/broken.toml", "[tool\n");
    user.write("tools/types.toml", manifest("types", "1.0.0", "a").replace("\"low\"", "\"tiny\""));
    let report = user.run(&["tools", "check", "../tools", "--output", "json"]).exits(8).json();
    let expected = [
        "broken.toml:1:6",
        "keys.toml:3:1",
        "keys.toml:4:1",
        "keys.toml:7:30",
        "keys.toml:12:1",
        "types.toml:6:60",
        "yaml.yaml:7:5",
        "yaml.yaml:11:3",
    ];
    let found = places(&report);
    for place in expected {
        assert!(found.iter().any(|found| found == place), "no {place} in {report:#}");
    }
    let hint = |key: &str| {
        let of_key = |fault: &&Value| fault["message"].as_str().unwrap().contains(&format!("unknown field `{key}`"));
        report["faults"].as_array().unwrap().iter().find(of_key).unwrap()["hint"].as_str().unwrap().to_owned()
    };
    assert_eq!(hint("descripton"), "did you mean `description`?");
    assert_eq!(hint("adaptor"), "did you mean `adapter`?");
    assert_eq!(hint("helth_check"), "did you mean `health_check`?");
    assert_eq!((&report["manifests"], &report["tools"]), (&5.into(), &serde_json::json!(["good 1.0.0"])));
    // Nothing was written down and nothing was loaded for it.
    assert!(!user.state().exists());
}

#[test]
fn a_person_sees_the_lines_and_a_good_folder_is_good() {
    let user = User::new();
    user.write("tools/a.toml", manifest("a", "1.0.0", "x").replace("version", "verson"));
    let ended = user.run(&["tools", "check", "../tools", "--output", "text"]).exits(8);
    assert!(ended.out.contains("1 manifest, 0 good tools"), "{}", ended.out);
    ended.says(&["unknown field `verson`", "did you mean `version`?", "verson = "]);
    user.write("tools/a.toml", manifest("a", "1.0.0", "x"));
    let ended = user.run(&["tools", "check", "../tools", "--output", "text"]).exits(0);
    assert_eq!(ended.out, "1 manifest, 1 good tool: nothing is wrong\n");
    user.run(&["tools", "check", "../nowhere"]).exits(2);
    user.write("empty/x.txt", "");
    user.run(&["tools", "check", "../empty"]).exits(8);
}

#[test]
fn the_shipped_plugins_are_right() {
    let user = User::new();
    let plugins = project().join("plugins").display().to_string();
    let report = user.run(&["tools", "check", &format!("{plugins}/file/tools")]).exits(0).json();
    assert_eq!(report["faults"], serde_json::json!([]));
    assert!(report["tools"].as_array().unwrap().len() >= 4);
}

/// Letters that look like another one, beside that one.
const ALIKE: &[(char, &str)] = &[
    ('a', "\u{430}\u{251}\u{3b1}\u{ff41}\u{1d41a}\u{1d44e}"),
    ('c', "\u{441}\u{ff43}\u{1d41c}\u{217d}"),
    ('d', "\u{501}\u{ff44}\u{1d41d}\u{217e}"),
    ('e', "\u{435}\u{ff45}\u{1d41e}\u{212f}"),
    ('i', "\u{456}\u{ff49}\u{1d422}\u{2170}"),
    ('l', "\u{4cf}\u{ff4c}\u{1d425}\u{217c}1I"),
    ('o', "\u{43e}\u{3bf}\u{ff4f}\u{1d428}0"),
    ('p', "\u{440}\u{3c1}\u{ff50}\u{1d429}"),
    ('s', "\u{455}\u{ff53}\u{1d42c}"),
    ('x', "\u{445}\u{ff58}\u{1d431}\u{2179}"),
    ('y', "\u{443}\u{ff59}\u{1d432}"),
];

#[test]
fn no_name_that_looks_like_another_one_comes_into_service() {
    const NAMES: &[&str] = &["file_read", "delete_all", "copy_disk", "explode", "list_pools"];
    let house = House::empty();
    let tools = house.path("tools");
    std::fs::create_dir(&tools).unwrap();
    for name in NAMES {
        std::fs::write(tools.join(format!("0_{name}.toml")), manifest(name, "1.0.0", "a")).unwrap();
    }
    let mut pairs = 0;
    for name in NAMES {
        for (at, letter) in name.char_indices() {
            let alike = ALIKE.iter().find(|(plain, _)| *plain == letter).map_or("", |(_, alike)| alike);
            for other in alike.chars() {
                let fake = format!("{}{other}{}", &name[..at], &name[at + 1..]);
                std::fs::write(tools.join(format!("1_{pairs}.toml")), manifest(&fake, "9.0.0", "b")).unwrap();
                pairs += 1;
            }
        }
    }
    assert!(pairs >= 100, "{pairs}");
    let mut config = house.config();
    config.plugin_folders.clear();
    config.tool_folders = vec![tools];
    let runtime = hermes_runtime::Runtime::start(config, &[], None).unwrap();
    let toolbox = runtime.toolbox();
    assert_eq!(toolbox.faults.len(), pairs, "each of them is told");
    let served: Vec<&str> = toolbox.registry.in_order().iter().map(|tool| &*tool.name).collect();
    let own: Vec<&str> = served.iter().filter(|name| NAMES.contains(*name)).copied().collect();
    assert_eq!(own.len(), NAMES.len());
    assert!(toolbox.registry.in_order().iter().all(|tool| &*tool.version != "9.0.0"), "{served:?}");
}

#[test]
fn the_published_schema_is_the_one_that_manifests_are_read_by() {
    let file = project().join("sdk/schema/manifest.schema.json");
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let command = "hermes-dispatch tools schema > sdk/schema/manifest.schema.json";
    assert!(&written == published::schema(), "the file is behind; write it anew: {command}");
    let printed = User::new().run(&["tools", "schema"]).exits(0).json();
    assert_eq!(printed, written);
}

//! What is said of a program that cannot be started?

use super::start;
use crate::support::block_on;
use crate::support::house::{House, call};
use serde_json::json;

#[test]
fn what_cannot_be_started_is_named() {
    let house = House::with_files();
    std::fs::create_dir_all(house.path("workspace/folder")).unwrap();
    house.write("plain.txt", "x");
    std::fs::create_dir_all(house.path("tools")).unwrap();
    let manifest = |name: &str, argv: &str| {
        let text = format!(
            "[tool]\nname = {name:?}\nversion = \"1.0.0\"\ndescription = \"d\"\ncategory = \"cli\"\n\
             [[tool.inputs]]\nname = \"words\"\ntype = \"array\"\nitems = \"string\"\nrequired = false\ndefault = []\n\
             validation = {{ format = \"text\", max_length = 1000000 }}\n\
             [tool.permissions]\nrequired_roles = [\"Builder\"]\nrisk_level = \"low\"\nrequires_approval = true\n\
             [tool.effect]\nkind = \"read\"\n\
             [tool.backend]\ntype = \"cli\"\nadapter = \"CLIAdapter\"\ntool = \"program\"\n\
             [tool.backend.arguments]\nargv = {argv:?}\nvalues = {{ words = \"{{words}}\" }}\n"
        );
        std::fs::write(house.path("tools").join(format!("{name}.toml")), text).unwrap();
    };
    for (name, argv) in [
        ("missing", "no-such-program {{words}}"),
        ("missing_path", "/workspace/no-such-program"),
        ("folder", "/workspace/folder"),
        ("plain", "/workspace/plain.txt"),
        ("say", "echo {{words}}"),
    ] {
        manifest(name, argv);
    }
    let mut config = house.config();
    config.tool_folders.push(house.path("tools"));
    let runtime = start(&house, config);
    let many: Vec<String> = (0..90_000).map(|number| format!("{number:030}")).collect();
    let long = "x".repeat(200_000);
    let cases = [
        ("missing", json!([]), 502, "program_not_found", "no-such-program"),
        ("missing_path", json!([]), 502, "program_not_found", "/workspace/no-such-program"),
        ("folder", json!([]), 502, "not_a_program", "`/workspace/folder` is a directory"),
        ("plain", json!([]), 403, "permission_denied", "plain.txt"),
        ("say", json!(["a", "b\0c"]), 400, "invalid_argument", "argument 2 has a NUL"),
        ("say", json!(many), 413, "too_large", "arguments"),
        ("say", json!([long]), 413, "too_large", "`echo` cannot be given so many or so long arguments"),
    ];
    block_on(async {
        for (tool, words, code, reason, names) in cases {
            let envelope = runtime.call(call(tool, json!({ "words": words }))).await.envelope;
            let error = envelope.error.unwrap_or_else(|| panic!("{tool} went well"));
            assert_eq!((error.code, error.reason.as_deref()), (code, Some(reason)), "{tool}: {error:#?}");
            assert!(error.message.contains(names), "{tool}: {error:#?}");
        }
        let said = runtime.call(call("say", json!({ "words": ["a | b", "$HOME", "it's; x", "`id`"] }))).await.envelope;
        assert_eq!(said.data["stdout"], "a | b $HOME it's; x `id`\n", "no shell is in between: {said:#?}");
    });
}

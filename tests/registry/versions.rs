//! Can versions of a tool be called beside each other, and does each have records and figures of its own?

use super::manifest;
use crate::support::guest::Guest;
use crate::support::user::User;
use serde_json::{Value, json};

/// A user with a guest that is served as `greet` in three versions, of which the oldest has an alias.
fn user() -> User {
    let user = User::with_guest(&Guest::default());
    user.write(
        "tools/a.toml",
        manifest("greet", "1.4.0", "probe").replace("version", "aliases = [\"hello\"]\nversion"),
    );
    user.write("tools/b.toml", manifest("greet", "2.1.0", "probe"));
    user.write("tools/c.toml", manifest("greet", "3.0.0-beta.1", "probe"));
    let (plugins, tools) = (user.path("plugins"), user.path("tools"));
    user.configure(&format!(
        "plugin_folders = [{plugins:?}]\ntool_folders = [{tools:?}]\n[roles.Builder]\ndefault = true\n"
    ));
    user
}

fn version(user: &User, tool: &str) -> Value {
    user.run(&["call", tool]).exits(0).json()["metadata"]["version"].clone()
}

#[test]
fn a_call_names_the_version_that_it_means() {
    let user = user();
    assert_eq!(version(&user, "greet"), "2.1.0", "the newest released one");
    assert_eq!(version(&user, "hello"), "2.1.0");
    assert_eq!(version(&user, "greet@^1"), "1.4.0");
    assert_eq!(version(&user, "hello@1"), "1.4.0");
    assert_eq!(version(&user, "greet@=3.0.0-beta.1"), "3.0.0-beta.1");
    let missing = user.run(&["call", "greet@^4"]).exits(5).json();
    assert_eq!(missing["error"]["kind"], "unknown_tool");
    assert_eq!(missing["error"]["message"], "no version of `greet` fits `^4`");
    assert_eq!(missing["error"]["hint"], "there is 2.1.0, 1.4.0, 3.0.0-beta.1");
    let wrong = user.run(&["call", "greet@new"]).exits(5).json();
    assert_eq!(wrong["error"]["message"], "`new` is no requirement of a version such as `^2`");
    user.run(&["call", "nobody@^1"]).exits(5);
    let records = user.run(&["audit", "list"]).exits(0).json();
    let versions: Vec<&Value> = records.as_array().unwrap().iter().map(|record| &record["record"]["version"]).collect();
    assert_eq!(versions[..3], [&json!("2.1.0"), &json!("2.1.0"), &json!("1.4.0")], "{records:#}");
}

#[test]
fn who_may_not_call_a_tool_does_not_learn_its_versions() {
    let user = user();
    let refused = user.run(&["call", "greet@^9", "--role", "guest"]).exits(5).json();
    assert_eq!(refused["error"]["message"], "no tool is called `greet@^9`");
    user.run(&["call", "greet@^1", "--role", "guest"]).exits(6);
}

#[test]
fn agents_and_people_see_the_newest_version_alone() {
    let user = user();
    let listed = user.run(&["tools", "list"]).exits(0).json();
    let listed: Vec<&Value> = listed.as_array().unwrap().iter().filter(|tool| tool["name"] == "greet").collect();
    assert_eq!(listed.len(), 1);
    assert_eq!(
        (&listed[0]["version"], &listed[0]["versions"]),
        (&json!("2.1.0"), &json!(["2.1.0", "1.4.0", "3.0.0-beta.1"]))
    );
    let exported = user.run(&["tools", "export", "--format", "mcp"]).exits(0).json();
    assert_eq!(exported.as_array().unwrap().iter().filter(|tool| tool["name"] == "greet").count(), 1);
    let found = user.run(&["call", "tool_search", "query=greet"]).exits(0).json();
    let found: Vec<&Value> =
        found["data"]["tools"].as_array().unwrap().iter().filter(|tool| tool["name"] == "greet").collect();
    assert_eq!((found.len(), &found[0]["version"]), (1, &json!("2.1.0")));
    let shown = user.run(&["tools", "show", "greet@^1"]).exits(0).json();
    assert_eq!(shown["manifest"]["version"], "1.4.0");
    user.run(&["tools", "show", "greet@^7"]).exits(5).says(&["there is 2.1.0, 1.4.0"]);
}

#[test]
fn another_folder_cannot_make_itself_the_newest_version() {
    let user = user();
    user.write("more/d.toml", manifest("greet", "99.0.0", "probe"));
    user.write("tools/e.toml", manifest("greet", "2.1.0+other", "probe"));
    let (plugins, tools, more) = (user.path("plugins"), user.path("tools"), user.path("more"));
    user.configure(&format!(
        "plugin_folders = [{plugins:?}]\ntool_folders = [{tools:?}, {more:?}]\n[roles.Builder]\ndefault = true\n"
    ));
    assert_eq!(version(&user, "greet"), "2.1.0");
    user.run(&["tools", "list"])
        .exits(0)
        .says(&["another tool is already called `greet`", "version 2.1.0+other of `greet` is there already"]);
}

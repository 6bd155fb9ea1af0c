//! Is a component tested against the world that its author wrote down? The shipped adapters, each with a scripted world
//! behind the runtime's real capabilities.

use crate::support::house::{component, copy_folder, project};
use hermes_testkit::scripted::Reply;
use hermes_testkit::{Bench, FileFaults, Setting};
use serde_json::json;

/// A shipped plugin with its component.
fn shipped(adapter: &str) -> Setting {
    hermes_testkit::use_helper(env!("CARGO_BIN_EXE_hermes-test-helper"));
    let folder = tempfile::tempdir().unwrap();
    let source = project().join("plugins").join(adapter);
    copy_folder(&source.join("tools"), &folder.path().join("tools"));
    std::fs::copy(source.join("adapter.toml"), folder.path().join("adapter.toml")).unwrap();
    std::fs::copy(component(adapter), folder.path().join(format!("{adapter}.wasm"))).unwrap();
    Bench::of(folder.path()).unwrap()
}

#[test]
fn other_hosts_answer_as_the_test_says() {
    let bench = shipped("custom")
        .reply("GET", "/rates", Reply::json(&json!({ "eur": 1.25 })))
        .reply("GET", "/gone", Reply::status(410, "no longer"))
        .reply("GET", "/cut", Reply::Cut(3))
        .reply("GET", "/dribble", Reply::Dribble)
        .reply("GET", "/garbage", Reply::Garbage)
        .start()
        .unwrap();
    let get = |path: &str| bench.call("http_get", json!({ "url": format!("{}{path}", bench.origin()) }));
    let called = get("/rates");
    assert!(called.ok().to_string().contains("1.25"), "{:#}", called.ok());
    assert!(called.envelope.metadata.usage.as_ref().is_some_and(|usage| usage.host_calls > 0));
    assert!(get("/gone").failure().ends_with("http_status"), "{}", get("/gone").failure());
    assert!(get("/dribble").ok().to_string().contains("2.5"), "byte by byte, and whole");
    for broken in ["/cut", "/garbage"] {
        assert!(get(broken).failure().starts_with("upstream/"), "{}", get(broken).failure());
    }
    let arrived = bench.requests();
    assert_eq!((arrived[0].method.as_str(), arrived[0].path.as_str()), ("GET", "/rates"), "{arrived:?}");
    // Nothing else is reached, also not what is public.
    let called = bench.call("http_get", json!({ "url": "http://example.com/" }));
    assert!(called.failure().starts_with("denied/"), "{}", called.failure());
}

#[test]
fn a_disk_is_full_and_files_are_cut_when_the_test_says_so() {
    let faults = |full, shrinking| FileFaults { full, shrinking };
    let text = "0123456789\n".repeat(1000);
    let bench = |faults| shipped("file").file("a.txt", &text).file_faults(faults).start().unwrap();
    let write = json!({ "path": "/workspace/b.txt", "mode": "create", "content": "x" });
    let full = bench(faults(true, false));
    assert_eq!(full.call("file_write", write.clone()).failure(), "tool_failed/no_space");
    assert!(!full.workspace().join("b.txt").exists());
    let read = json!({ "path": "/workspace/a.txt" });
    let shown =
        |bench: &Bench| bench.call("file_read", read.clone()).envelope.data.to_string().matches("0123456789").count();
    let (cut, whole) = (shown(&bench(faults(false, true))), shown(&full));
    assert!(cut < whole && cut > 0, "{cut} of {whole} lines");
    bench(FileFaults::default()).call("file_write", write).ok();
}

#[test]
fn programs_are_scripts_in_the_real_sandbox() {
    let bench = shipped("cli")
        .program("git", "#!/bin/sh\necho \"scripted: $*\"\nid -u >&2\nexit 3\n")
        .file("a.txt", "x")
        .start()
        .unwrap();
    let called = bench.call("terminal", json!({ "command": "git status" }));
    let shown = serde_json::to_string(&called.envelope).unwrap();
    assert!(shown.contains("scripted: status") && shown.contains('3'), "{shown}");
}

#[test]
fn a_server_of_the_protocol_offers_what_the_test_says() {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
    let result = json!({ "content": [{ "type": "text", "text": "rain" }], "isError": false });
    let bench = shipped("mcp").server_tool("weather", schema, result).start().unwrap();
    let offered = bench.runtime().toolbox().registry.tools().map(|tool| tool.name.to_string()).collect::<Vec<_>>();
    let name = offered.iter().find(|name| name.contains("weather")).unwrap_or_else(|| panic!("{offered:?}"));
    assert!(bench.call(name, json!({ "city": "Bern" })).ok().to_string().contains("rain"));
    assert!(
        bench.requests().iter().any(|request| request.body.contains("\"city\":\"Bern\"")),
        "{:?}",
        bench.requests()
    );
}

#[test]
fn a_browser_gets_the_pages_that_the_test_says() {
    let page = Reply::page("<title>Scripted</title><h1>Hello</h1><button>Go</button>");
    let bench = shipped("browser").reply("GET", "/", page).start().unwrap();
    let called = bench.call("browser_navigate", json!({ "url": format!("{}/", bench.origin()) }));
    let shown = serde_json::to_string(&called.envelope).unwrap();
    assert!(shown.contains("Scripted") && called.envelope.error.is_none(), "{shown}");
}

#[test]
fn the_whole_trail_is_the_same_in_every_run() {
    let snapshot = || {
        let bench = shipped("file").file("a.txt", "one\ntwo\n").start().unwrap();
        bench.call("file_read", json!({ "path": "/workspace/a.txt" })).snapshot()
    };
    let first = snapshot();
    for word in ["\"one\\ntwo\\n\"", "registry", "result", "host_calls"] {
        assert!(first.contains(word), "nothing of `{word}` in\n{first}");
    }
    assert_eq!(first, snapshot());
}

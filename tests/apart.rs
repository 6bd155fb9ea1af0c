//! Does a component of the profile `process` run in a process of its own, in the sandbox of the operating system, with the
//! limits of every other one, and is nothing of it left?

mod lies;

use crate::support::guest::Guest;
use crate::support::house::{House, call, component, project};
use crate::support::{block_on, records};
use hermes_runtime::Runtime;
use hermes_runtime::authority::Authority;
use hermes_runtime::call::Call;
use hermes_runtime::cancel::Cancel;
use hermes_runtime::error::Kind;
use serde_json::json;

const RUNS: &str = "(call $report (i64.const 1) (i32.const 1) (i64.const 2) (i32.const 0) (i32.const 0) (i32.const 0))";

fn apart(body: impl Into<String>) -> Guest {
    Guest {
        sandbox: "profile = \"process\"".into(),
        manifest: "timeout_ms = 20000".into(),
        fields: "(data (i32.const 1024) \"written\")".into(),
        ..Guest::that(body)
    }
}

/// Processes of this test that run a component, found by what they were started with.
fn workers() -> Vec<u32> {
    let is_ours = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == b"__work") && is_below(*pid, std::process::id())
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_ours).collect()
}

fn is_below(mut pid: u32, above: u32) -> bool {
    while pid > 1 {
        let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) else { return false };
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok());
        pid = parent.unwrap_or(0);
        if pid == above {
            return true;
        }
    }
    false
}

#[test]
fn it_answers_logs_and_reports_from_a_process_of_its_own_that_sees_nothing() {
    let house = House::empty();
    let body = format!(
        "{RUNS} (call $log (i32.const 1) (i32.const 1024) (i32.const 7))
         (local.set $deadline (i64.const 200000000))
         (loop $on (br_if $on (i64.ne (local.tee $deadline (i64.sub (local.get $deadline) (i64.const 1))) (i64.const 0))))
         (call $ok (local.get $args) (local.get $args_len))"
    );
    apart(body).put(&house);
    let runtime = house.start(house.config());
    assert!(runtime.toolbox().faults.is_empty(), "{:?}", runtime.toolbox().faults);
    block_on(async {
        let (sender, mut progress) = tokio::sync::mpsc::channel(4);
        let call = Call { progress: Some(sender), ..call("probe", json!({ "a": "ü" })) };
        let mut running = std::pin::pin!(runtime.call(call));
        tokio::select! {
            answer = &mut running => panic!("it ended without a word: {answer:?}"),
            told = progress.recv() => assert_eq!((told.as_ref().unwrap().done, told.unwrap().total), (1, Some(2))),
        }
        let ours = workers();
        assert_eq!(ours.len(), 1, "one process runs it");
        let own = |of: &str| std::fs::read_link(format!("/proc/{of}/ns/net")).unwrap();
        assert_ne!(own(&ours[0].to_string()), own("self"), "without our network");
        let root = std::fs::read_dir(format!("/proc/{}/root", ours[0])).map(|names| {
            names.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
        });
        if let Ok(names) = root {
            assert!(!names.iter().any(|name| name == "workspace"), "{names:?}");
        }
        let answer = running.await.envelope;
        assert_eq!(answer.data, json!({ "a": "ü" }), "{answer:#?}");
        let usage = answer.metadata.usage.unwrap();
        assert!(usage.fuel > 200_000_000 && usage.memory_bytes >= 65_536 && usage.host_calls == 2, "{usage:?}");
        assert!(runtime.flush().await);
        let (_, outcome) = records::of_call(&runtime.config().state_dir, &answer.metadata.call_id);
        assert_eq!(outcome.facts.log, ["info: written"]);
        assert!(workers().is_empty(), "nothing is left");
    });
}

#[test]
fn its_limits_are_those_of_every_component() {
    let grow = "(drop (memory.grow (i32.const 2000))) (i32.store (i32.const 100000000) (i32.const 1)) unreachable";
    for (body, limits, expected) in [
        ("(loop $on (br $on)) unreachable", "fuel = 1000000", Kind::OutOfFuel),
        (grow, "memory_mb = 2", Kind::OutOfMemory),
        ("unreachable", "", Kind::Trap),
        (
            "(loop $on (call $log (i32.const 1) (i32.const 1024) (i32.const 7)) (br $on)) unreachable",
            "",
            Kind::LogLimit,
        ),
    ] {
        let house = House::empty();
        Guest { limits: limits.into(), ..apart(body) }.put(&house);
        let runtime = house.start(house.config());
        let answer = block_on(runtime.call(call("probe", json!({})))).envelope;
        assert_eq!(answer.error.as_ref().map(|error| error.kind), Some(expected), "{body}: {answer:#?}");
    }
}

#[test]
fn it_is_ended_at_its_deadline_and_when_nobody_waits() {
    let house = House::empty();
    let body = format!("{RUNS} (loop $on (br $on)) unreachable");
    let endless = |timeout: u32| Guest {
        manifest: format!("timeout_ms = {timeout}"),
        limits: "fuel = 100000000000000".into(),
        ..apart(body.clone())
    };
    endless(1500).put(&house);
    Guest { name: "longer".into(), ..endless(60_000) }.put(&house);
    let mut config = house.config();
    config.ceiling.fuel = u64::MAX;
    let runtime = house.start(config);
    block_on(async {
        let answer = runtime.call(call("probe", json!({}))).await.envelope;
        assert_eq!(answer.error.map(|error| error.kind), Some(Kind::Timeout));
        assert!(workers().is_empty(), "nothing is left");
        let (sender, mut progress) = tokio::sync::mpsc::channel(4);
        let call = Call { progress: Some(sender), ..call("longer", json!({})) };
        tokio::select! {
            answer = runtime.call(call) => panic!("it ended: {answer:?}"),
            told = progress.recv() => assert_eq!(told.unwrap().done, 1),
        }
        // The tree is gone when the call is dropped, or a moment later on a busy machine.
        while !workers().is_empty() {
            tokio::task::yield_now().await;
        }
    });
}

/// Changes words of a plugin's `adapter.toml`.
fn rewrite(house: &House, plugin: &str, changes: &[(&str, &str)]) {
    let file = house.path("plugins").join(plugin).join("adapter.toml");
    let mut text = std::fs::read_to_string(&file).unwrap();
    for (old, new) in changes {
        assert!(text.contains(old), "{text}");
        text = text.replace(old, new);
    }
    std::fs::write(file, text).unwrap();
}

fn faults(runtime: &Runtime) -> Vec<String> {
    runtime.toolbox().faults.iter().map(ToString::to_string).collect()
}

#[test]
fn what_reaches_no_other_process_is_refused_with_what_does() {
    let house = House::empty();
    apart("unreachable").put(&house);
    rewrite(&house, "probe", &[("capabilities = []", "capabilities = [\"http\"]")]);
    let runtime = Runtime::start(house.config(), &[], None).unwrap();
    let said = faults(&runtime);
    let words = ["`http`", "files, invoke, process, mcp", "`in-process`"];
    assert!(said.iter().any(|fault| words.iter().all(|word| fault.contains(word))), "{said:?}");
    let answer = block_on(runtime.call(call("probe", json!({})))).envelope;
    assert_eq!(answer.error.map(|error| error.kind), Some(Kind::NoAdapter));
}

#[test]
fn a_profile_that_nobody_knows_is_refused_with_those_that_there_are() {
    let house = House::empty();
    Guest { sandbox: "profile = \"elsewhere\"".into(), ..Guest::default() }.put(&house);
    let runtime = Runtime::start(house.config(), &[], None).unwrap();
    let said = faults(&runtime);
    let words = ["`elsewhere`", "`in-process`, `process`"];
    assert!(said.iter().any(|fault| words.iter().all(|word| fault.contains(word))), "{said:?}");
}

/// The runtime's own file tools, in a process that sees no file: what they do is done here, within the grants.
#[test]
fn files_are_read_and_written_across_the_border_within_the_grants() {
    let house = House::with_files();
    let reasons = "reasons = [\"text_not_found\", \"text_not_unique\", \"not_text\"]\n";
    rewrite(&house, "file", &[(reasons, &format!("{reasons}[sandbox]\nprofile = \"process\"\n"))]);
    house.write("a.txt", "one\ntwo\n");
    std::fs::write(house.path("outside.txt"), "kept from it").unwrap();
    std::os::unix::fs::symlink(house.path("outside.txt"), house.path("workspace/link.txt")).unwrap();
    let runtime = house.start(house.config());
    assert_eq!(faults(&runtime), [""; 0]);
    let run = |tool: &str, args| block_on(runtime.call(call(tool, args))).envelope;
    let read = run("file_read", json!({ "path": "a.txt" }));
    assert_eq!(read.data["text"], "one\ntwo\n", "{read:#?}");
    let usage = read.metadata.usage.unwrap();
    assert!(usage.host_calls > 1 && usage.bytes_across >= 8, "{usage:?}");
    let digest = read.data["digest"].clone();
    let args = json!({ "path": "a.txt", "mode": "overwrite", "content": "three\n", "if_digest": digest });
    let written = run("file_write", args.clone());
    assert!(written.error.is_none(), "{written:#?}");
    assert_eq!(std::fs::read_to_string(house.path("workspace/a.txt")).unwrap(), "three\n");
    assert_eq!(run("file_write", args).error.map(|error| error.kind), Some(Kind::Conflict), "it has changed since");
    let found = run("file_search", json!({ "query": "three" }));
    assert!(found.data.to_string().contains("a.txt"), "{found:#?}");
    for (path, reason) in
        [("link.txt", "path_out_of_bounds"), ("../outside.txt", "path_out_of_bounds"), ("none.txt", "not_found")]
    {
        let answer = run("file_read", json!({ "path": path }));
        let error = answer.error.as_ref().unwrap();
        assert_eq!(error.reason.as_deref(), Some(reason), "{path}: {answer:#?}");
        assert!(!answer.data.to_string().contains("kept from it"));
    }
    assert!(workers().is_empty());
}

/// What was not granted is not answered, whatever the process asks: the grant of one call cannot be had by another one's.
#[test]
fn handles_and_limits_are_kept_on_this_side() {
    let house = House::empty();
    // It opens the same file again and again and lets go of nothing.
    let body = "(loop $on (call $open (i32.const 1024) (i32.const 16) (i32.const 2048)) (br $on)) unreachable";
    let guest = Guest {
        files: true,
        fields: "(data (i32.const 1024) \"/workspace/a.txt\")".into(),
        limits: "fuel = 100000000".into(),
        ..apart(body)
    };
    guest.put(&house);
    house.write("a.txt", "x");
    let runtime = house.start(house.config());
    let answer = block_on(runtime.call(call("probe", json!({})))).envelope;
    assert_eq!(answer.error.as_ref().map(|error| error.kind), Some(Kind::HandleLimit), "{answer:#?}");
}

#[test]
fn calls_within_calls_are_made_across_the_border() {
    let house = House::empty();
    let guest = Guest { name: "nesting".into(), sandbox: "profile = \"process\"".into(), ..Guest::default() };
    guest.put(&house);
    let changes = [
        ("component.wat", "component.wasm"),
        ("capabilities = []", "capabilities = [\"invoke\"]"),
        ("hermes:tool/tool@", "hermes:tool/invoking-tool@"),
    ];
    rewrite(&house, "nesting", &changes);
    std::fs::copy(component("nesting"), house.path("plugins/nesting/component.wasm")).unwrap();
    Guest { name: "echo".into(), ..Guest::default() }.put(&house);
    let mut config = house.config();
    config.invoke.insert("nesting".into(), ["echo".to_owned()].into());
    let runtime = house.start(config);
    assert_eq!(faults(&runtime), [""; 0]);
    let args = json!({ "calls": [{ "tool": "echo", "args": { "n": 7 } }, { "tool": "nesting", "args": {} }] });
    let answer = block_on(runtime.call(call("nesting", args))).envelope;
    assert_eq!(answer.data["granted"], json!(["echo"]), "{answer:#?}");
    let inner = &answer.data["answers"][0]["envelope"];
    assert_eq!(inner["data"], json!({ "n": 7 }), "{answer:#?}");
    assert!(answer.data["answers"][1].to_string().contains("not"), "{answer:#?}");
    assert!(block_on(runtime.flush()));
    let id = inner["metadata"]["call_id"].as_str().unwrap();
    let (_, record) = records::of_call(&runtime.config().state_dir, id);
    assert_eq!(record.parent.as_deref(), Some(&*answer.metadata.call_id));
}

#[test]
fn an_authority_of_the_embedding_program_answers_across_the_border() {
    let house = House::empty();
    let folder = house.path("plugins/desk");
    std::fs::create_dir_all(&folder).unwrap();
    let adapter = "name = 'desk'\nversion = '1.0.0'\ncomponent = 'desk.wat'\nworld = 'shop:house/desk'\n\
                   capabilities = ['stock']\n[functions]\nrequired_roles = ['Builder']\n[sandbox]\nprofile = 'process'\n";
    std::fs::write(folder.join("adapter.toml"), adapter).unwrap();
    std::fs::copy(project().join("host/runtime/examples/guests/desk.wat"), folder.join("desk.wat")).unwrap();
    let stock =
        Authority::new("stock", "package shop:house@1.0.0; interface stock { count: func(item: string) -> u32; }")
            .function("count", |asked| {
                let count = if asked.args["item"] == "tea" { 12 } else { 0 };
                Box::pin(async move { Ok(json!(count)) })
            });
    let runtime = house.start(house.config().authority(stock));
    assert_eq!(faults(&runtime), [""; 0]);
    for (wanted, there) in [(10, true), (20, false)] {
        let answer = block_on(runtime.call(call("desk_has", json!({ "item": "tea", "wanted": wanted })))).envelope;
        assert_eq!(answer.data, json!(there), "{answer:#?}");
    }
}

#[test]
fn it_is_told_when_nobody_waits_and_puts_away_what_it_began() {
    let house = House::empty();
    let body = format!(
        "{RUNS} (loop $on (br_if $on (i32.eqz (call $cancelled))))
         (call $log (i32.const 1) (i32.const 1024) (i32.const 7))
         (call $ok (local.get $args) (local.get $args_len))"
    );
    let guest = |manifest: &str, body: String| Guest {
        manifest: manifest.into(),
        limits: "fuel = 1000000000000, host_calls = 1000000000".into(),
        ..apart(body)
    };
    guest("timeout_ms = 60000\ngrace_ms = 10000", body).put(&house);
    let deaf = guest("timeout_ms = 60000\ngrace_ms = 50", format!("{RUNS} (loop $on (br $on)) unreachable"));
    Guest { name: "deaf".into(), ..deaf }.put(&house);
    let mut config = house.config();
    (config.ceiling.fuel, config.ceiling.host_calls) = (u64::MAX, u64::MAX);
    let runtime = house.start(config);
    block_on(async {
        for (tool, log) in [("probe", &["info: written"][..]), ("deaf", &[])] {
            let (sender, mut progress) = tokio::sync::mpsc::channel(1);
            let cancel = Cancel::default();
            let call = Call { progress: Some(sender), cancel: Some(cancel.clone()), ..call(tool, json!({})) };
            let mut running = std::pin::pin!(runtime.call(call));
            tokio::select! {
                answer = &mut running => panic!("it ended: {answer:?}"),
                told = progress.recv() => assert_eq!(told.unwrap().done, 1),
            }
            assert!(cancel.tell(), "it has time");
            let answer = running.await.envelope;
            assert_eq!(answer.error.map(|error| error.kind), Some(Kind::Cancelled));
            assert!(runtime.flush().await);
            let (_, outcome) = records::of_call(&runtime.config().state_dir, &answer.metadata.call_id);
            assert_eq!(outcome.facts.log, log);
            assert!(workers().is_empty(), "nothing is left");
        }
    });
}

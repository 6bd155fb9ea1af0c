//! What is left of programs when their call is over, and what do they cost the runtime? Counts processes, descriptors
//! and memory from outside.

use crate::support::house::{House, call};
use crate::support::{block_on, block_on_within, child};
use hermes_runtime::Runtime;
use serde_json::json;
use std::time::{Duration, Instant};

/// The processes that this one has started and that are still there, launchers and all beneath them.
fn descendants() -> Vec<String> {
    let mut found = vec![std::process::id().to_string()];
    let mut at = 0;
    while let Some(parent) = found.get(at).cloned() {
        let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            found.extend(children.split_whitespace().map(str::to_owned));
        }
        at += 1;
    }
    found.remove(0);
    found
}

/// Other tests of this program start processes too; those with this mark are ours.
fn marked(mark: &str) -> usize {
    let line = |pid: &String| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    descendants().iter().filter(|pid| String::from_utf8_lossy(&line(pid)).contains(mark)).count()
}

/// A figure of this process's memory.
fn kib(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().unwrap()
}

/// What the runtime may need beside a flood.
const ROOM_KIB: u64 = 64 << 10;

async fn until(wanted: impl Fn() -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(120);
    while !wanted() {
        if Instant::now() > end {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    true
}

fn start(house: &House) -> Runtime {
    house.start(house.config())
}

#[test]
fn a_dropped_call_leaves_no_process() {
    let house = House::with_files();
    let runtime = start(&house);
    block_on(async {
        let command = "for i in 1 2 3; do (setsid sleep 7131.5 &) ; done; trap '' TERM; sleep 7131.5";
        let running = runtime.call(call("terminal", json!({ "command": command })));
        tokio::select! {
            injection = running => panic!("it ended: {:?}", injection.envelope),
            there = until(|| marked("7131.5") >= 4) => assert!(there, "the programs never ran"),
        }
        // The call was dropped with the block above.
        assert!(until(|| marked("7131.5") == 0).await, "{} processes are left", marked("7131.5"));
        assert!(runtime.flush().await);
    });
}

#[test]
fn a_timed_out_call_leaves_no_process_and_no_descriptor() {
    let house = House::with_files();
    let runtime = start(&house);
    block_on(async {
        let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let command = json!({ "command": "(setsid sleep 7132.5 &); sleep 7132.5", "timeout_seconds": 1 });
        let envelope = runtime.call(call("terminal", command)).await.envelope;
        assert_eq!(envelope.code(), 408, "{:?}", envelope.error);
        assert_eq!(marked("7132.5"), 0);
        // Other tests open files meanwhile, so that only a leak of every call would show.
        let before = open();
        for _ in 0..40 {
            assert_eq!(runtime.call(call("terminal", json!({ "command": "true" }))).await.envelope.code(), 200);
        }
        assert!(open() < before + 40, "{before} descriptors became {}", open());
    });
}

/// Two streams without end, then a line of 300 MB on both at once.
#[test]
fn programs_that_print_without_end_cost_little_memory() {
    let house = House::with_files();
    // In a process of its own, since the other tests of this one take memory too.
    let output = child::command("programs::floods_and_says_what_it_cost", house.root()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    let grown: Vec<u64> =
        said.lines().filter_map(|line| line.split("GROWN ").nth(1)).map(|n| n.parse().unwrap()).collect();
    assert_eq!(grown.len(), 2, "{said}");
    assert!(grown.iter().all(|grown| *grown <= ROOM_KIB), "the runtime grew by {grown:?} KiB");
}

/// Does nothing unless [`programs_that_print_without_end_cost_little_memory`] started it.
#[test]
fn floods_and_says_what_it_cost() {
    let Some(house) = child::house() else { return };
    let runtime = start(&house);
    let line = "head -c 300000000 /dev/zero | tr '\\0' a";
    let floods = [
        (json!({ "command": "yes & yes >&2 & wait", "timeout_seconds": 3 }), 408),
        (json!({ "command": format!("{line} & {line} >&2 & wait"), "timeout_seconds": 250 }), 200),
    ];
    block_on_within(Duration::from_secs(300), async {
        let warm = runtime.call(call("terminal", json!({ "command": "head -c 1000000 /dev/zero" }))).await;
        assert_eq!(warm.envelope.code(), 200, "{:?}", warm.envelope.error);
        for (args, code) in floods {
            let idle = kib("VmRSS");
            // From here on the kernel notes the peak anew.
            std::fs::write("/proc/self/clear_refs", "5").unwrap();
            let envelope = runtime.call(call("terminal", args)).await.envelope;
            println!("\nGROWN {}", kib("VmHWM").saturating_sub(idle));
            assert_eq!(envelope.code(), code, "{:?}", envelope.error);
            assert_eq!(envelope.data["truncated"], true);
            let told = serde_json::to_string(&envelope.metadata).unwrap();
            assert!(code == 408 || told.matches("300000000").count() == 2, "both streams are counted: {told}");
        }
        let other = runtime.call(call("terminal", json!({ "command": "echo still here" }))).await.envelope;
        assert_eq!(other.data["stdout"], "still here\n");
    });
}

/// Processes of the whole machine whose command line has a mark; those of a dead host are nobody's descendants.
fn anywhere(mark: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path().join("cmdline"));
    processes.filter(|file| String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).contains(mark)).count()
}

#[test]
fn a_host_that_is_killed_leaves_no_process() {
    let house = House::with_files();
    let mut host = child::command("programs::runs_until_it_is_killed", house.root())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    block_on(async {
        // The shell's own line has the mark too.
        assert!(until(|| anywhere("sleep\x007133.5") >= 3).await, "the programs never ran");
        host.kill().unwrap();
        host.wait().unwrap();
        assert!(until(|| anywhere("7133.5") == 0).await, "{} processes are left", anywhere("7133.5"));
    });
}

/// Does nothing unless [`a_host_that_is_killed_leaves_no_process`] started it.
#[test]
fn runs_until_it_is_killed() {
    let Some(house) = child::house() else { return };
    let runtime = start(&house);
    let command = "(setsid sleep 7133.5 &); (trap '' TERM HUP; sleep 7133.5) & nohup sleep 7133.5";
    let args = json!({ "command": command, "timeout_seconds": 60 });
    let answer = block_on_within(Duration::from_secs(120), runtime.call(call("terminal", args))).envelope;
    panic!("it ended: {answer:?}");
}

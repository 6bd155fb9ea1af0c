//! What is left of ten thousand calls that ended badly? No task, no descriptor, no process, no memory; and none of them
//! touched another one.

use crate::support::guest::Guest;
use crate::support::house::{House, call};
use crate::support::people::{Channel, Person};
use crate::support::{block_on, block_on_within, child};
use hermes_runtime::error::Kind;
use hermes_runtime::injection::audit::Reader;
use hermes_runtime::permission::approval::{Approver, Asking, Request};
use hermes_runtime::{Call, Runtime};
use serde_json::{Value, json};
use std::future::Future;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// Calls of each kind.
const EACH: usize = 2000;
/// Calls at the same time.
const TOGETHER: usize = 64;

/// The kinds of calls: a tool's name, its arguments and how it ends.
fn kinds() -> [(&'static str, Value, Option<Kind>); 5] {
    [
        ("endless", json!({}), Some(Kind::Timeout)),
        ("asking", json!({}), Some(Kind::HostCallLimit)),
        ("recursive", json!({}), Some(Kind::StackOverflow)),
        ("file_read", json!({ "path": "fifo" }), Some(Kind::InvalidInput)),
        ("calm", json!({}), None),
    ]
}

fn house() -> House {
    let house = House::with_files();
    let endless = "(loop $on (br $on)) unreachable";
    let asking = "(loop $on (call $report (i64.const 1) (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0) (i32.const 0)) (br $on)) unreachable";
    let guests = [
        (
            "endless",
            Guest { manifest: "timeout_ms = 5".into(), limits: "fuel = 100000000000".into(), ..Guest::that(endless) },
        ),
        ("asking", Guest { limits: "host_calls = 200".into(), ..Guest::that(asking) }),
        (
            "recursive",
            Guest {
                fields: "(func $f (param i64) (call $f (local.get 0)))".into(),
                ..Guest::that("(call $f (i64.const 0)) unreachable")
            },
        ),
        ("calm", Guest::default()),
    ];
    for (name, guest) in guests {
        Guest { name: name.into(), ..guest }.put(&house);
    }
    rustix::fs::mknodat(
        rustix::fs::CWD,
        house.path("workspace/fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    house
}

/// What this process holds.
#[derive(Debug)]
struct Held {
    tasks: usize,
    descriptors: usize,
    children: usize,
    /// Bytes in memory.
    memory: usize,
}

fn held() -> Held {
    let count = |folder: &str| std::fs::read_dir(folder).unwrap().count();
    let pages: usize =
        std::fs::read_to_string("/proc/self/statm").unwrap().split_whitespace().nth(1).unwrap().parse().unwrap();
    Held {
        tasks: tokio::runtime::Handle::current().metrics().num_alive_tasks(),
        descriptors: count("/proc/self/fd"),
        children: child::children(),
        memory: pages * 4096,
    }
}

/// Calls of every kind, so many of each, at the same time.
async fn run_all(runtime: &Arc<Runtime>, each: usize) {
    let places = Arc::new(tokio::sync::Semaphore::new(TOGETHER));
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..each * kinds().len() {
        let place = places.clone().acquire_owned().await.unwrap();
        let runtime = runtime.clone();
        calls.spawn(async move {
            let [endless, asking, recursive, fifo, calm] = kinds();
            let (tool, args, expected) = [endless, calm, asking, fifo, recursive][number % 5].clone();
            let answer = runtime.call(call(tool, args)).await.envelope;
            let kind = answer.error.as_ref().map(|error| error.kind);
            // The command says in its own words what a pipe is.
            let fits = if tool == "file_read" { kind.is_some() } else { kind == expected };
            assert!(fits, "{tool}: {:?}", answer.error);
            drop(place);
        });
        while let Some(ended) = calls.try_join_next() {
            ended.unwrap();
        }
    }
    while let Some(ended) = calls.join_next().await {
        ended.unwrap();
    }
}

#[test]
fn ten_thousand_calls_that_end_badly_leave_nothing_and_touch_no_other() {
    // In a process of its own, where nothing else holds anything.
    if child::house().is_none() {
        let house = House::empty();
        let mut command =
            child::command("leaks::ten_thousand_calls_that_end_badly_leave_nothing_and_touch_no_other", house.root());
        let ended = command.output().unwrap();
        assert!(
            ended.status.success(),
            "{}\n{}",
            String::from_utf8_lossy(&ended.stdout),
            String::from_utf8_lossy(&ended.stderr)
        );
        return;
    }
    let house = house();
    let runtime = Arc::new(house.start(house.config()));
    block_on_within(Duration::from_secs(300), async {
        // Pools, threads and caches are as large as they get.
        run_all(&runtime, 200).await;
        assert!(runtime.flush().await);
        let before = held();
        run_all(&runtime, EACH).await;
        assert!(runtime.flush().await);
        let after = held();
        assert_eq!((after.tasks, after.children), (before.tasks, before.children), "{before:?} {after:?}");
        // The journal keeps up to four connections for reading, of three descriptors each.
        assert!(after.descriptors <= before.descriptors + 12, "{before:?} {after:?}");
        let grown = after.memory.saturating_sub(before.memory);
        assert!(grown < 32 << 20, "{grown} bytes more: {before:?} {after:?}");
    });
}

/// Polls a future so often at most.
async fn polled<F: Future>(times: usize, future: F) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    let mut count = 0;
    std::future::poll_fn(|context| {
        count += 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if count >= times => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

#[test]
fn a_call_can_be_dropped_at_every_await_and_leaves_its_outcome() {
    let house = house();
    let sleeping = Guest {
        name: "busy".into(),
        manifest: "timeout_ms = 60".into(),
        limits: "fuel = 100000000000".into(),
        effect: "write".into(),
        ..Guest::that("(loop $on (br $on)) unreachable")
    };
    sleeping.put(&house);
    house.write("a.txt", "a");
    let runtime = house.start(house.config());
    let calls = [
        ("calm", json!({})),
        ("file_read", json!({ "path": "a.txt" })),
        ("file_write", json!({ "path": "b.txt", "mode": "append", "content": "b" })),
        ("busy", json!({})),
    ];
    block_on(async {
        let mut made = 0;
        for (tool, args) in calls {
            let mut ended = false;
            for times in 1..200 {
                made += 1;
                ended = polled(times, runtime.call(call(tool, args.clone()))).await.is_some();
                if ended {
                    break;
                }
            }
            assert!(ended, "`{tool}` never ends");
        }
        assert!(runtime.flush().await);
        let outcomes = Reader::open(&runtime.config().state_dir).unwrap().list(10_000).unwrap();
        let cancelled = outcomes.iter().filter(|entry| entry.record.code == Some(499)).count();
        assert_eq!(outcomes.len(), made, "one outcome each");
        assert!(cancelled >= 4, "{cancelled} of {made} were dropped on their way");
        assert_eq!(runtime.call(call("calm", json!({}))).await.envelope.data, json!({}));
    });
}

/// A channel whose program has a fault.
struct Broken;

impl Approver for Broken {
    fn ask<'a>(&'a self, _: &'a Request) -> Asking<'a> {
        Box::pin(async { panic!("the channel is broken, and says so at /secret/place") })
    }
}

#[test]
fn a_step_that_panics_is_a_failure_of_the_host_with_a_record() {
    let house = house();
    let always = Guest { name: "asks".into(), effect: "write".into(), ..Guest::default() };
    always.put(&house);
    let file = house.path("plugins/asks/tools/tool.toml");
    let manifest = std::fs::read_to_string(&file).unwrap();
    std::fs::write(
        &file,
        manifest.replace("risk_level = \"low\"", "risk_level = \"low\"\nrequires_approval = \"always\""),
    )
    .unwrap();
    let runtime = house.start_with(house.config(), Some(Arc::new(Broken)));
    block_on(async {
        let answer = runtime.call(call("asks", json!({}))).await.envelope;
        let error = answer.error.clone().unwrap();
        assert_eq!(
            (error.kind, error.code, error.step),
            (Kind::Internal, 500, hermes_runtime::error::Step::Permission)
        );
        assert!(!serde_json::to_string(&answer).unwrap().contains("/secret/place"), "its insides are for the log");
        assert_eq!(runtime.call(call("calm", json!({}))).await.envelope.data, json!({}), "the next call");
        assert!(runtime.flush().await);
        let (_, outcome) = crate::support::records::of_call(&runtime.config().state_dir, &answer.metadata.call_id);
        assert_eq!(outcome.code, Some(500));
        assert!(outcome.insides.unwrap().contains("/secret/place"));
    });
}

/// Somebody who is asked while the caller goes away is asked no more.
#[test]
fn a_call_that_waits_for_a_person_can_be_dropped() {
    let house = house();
    Guest { name: "asks".into(), effect: "write".into(), ..Guest::default() }.put(&house);
    let file = house.path("plugins/asks/tools/tool.toml");
    let manifest = std::fs::read_to_string(&file).unwrap();
    std::fs::write(
        &file,
        manifest.replace("risk_level = \"low\"", "risk_level = \"low\"\nrequires_approval = \"always\""),
    )
    .unwrap();
    let channel = Arc::new(Channel::new(Person::Silent));
    let runtime = house.start_with(house.config(), Some(channel.clone()));
    block_on(async {
        let asked = async {
            while channel.asked.lock().unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            answer = runtime.call(Call::new("asks", json!({})).role("Builder")) => panic!("it ended: {answer:?}"),
            () = asked => {}
        }
        assert!(runtime.flush().await);
        let last = Reader::open(&runtime.config().state_dir).unwrap().list(1).unwrap();
        assert_eq!(last[0].record.code, Some(499));
    });
}

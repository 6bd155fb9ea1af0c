//! Do many processes share one journal? Eight of them leave one dense chain with every outcome in it.

use crate::support::guest::Guest;
use crate::support::house::{House, call};
use crate::support::{block_on_within, child, records};
use serde_json::json;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

const PROCESSES: usize = 8;
const CALLS: usize = 1250;
/// Calls of one process that run at the same time.
const AT_ONCE: usize = 50;
/// Far more than it takes.
const WATCHDOG: Duration = Duration::from_secs(300);

#[test]
fn eight_processes_leave_one_chain() {
    let house = House::empty();
    Guest::default().put(&house);
    Guest { name: "effect".into(), effect: "write".into(), ..Guest::default() }.put(&house);
    let start = |_| child::command("processes::makes_its_calls", house.root()).stdout(Stdio::null()).spawn().unwrap();
    let children: Vec<_> = (0..PROCESSES).map(start).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let verification = records::verified(&house.path("state"));
    assert!(verification.unknown.is_empty());

    let journal = rusqlite::Connection::open(house.path("state/journal.db")).unwrap();
    let count = |sql: &str| journal.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    let all = (PROCESSES * CALLS) as i64;
    assert_eq!(count("SELECT COUNT(*) FROM records WHERE kind = 'outcome'"), all);
    assert_eq!(count("SELECT COUNT(DISTINCT call_id) FROM records"), all);
    assert_eq!(count("SELECT COUNT(*) FROM records WHERE kind = 'intent'"), all / 10);
    assert_eq!(count("SELECT MAX(seq) FROM records"), count("SELECT COUNT(*) FROM records"));
    assert_eq!(verification.records, all + all / 10);
}

/// Does nothing unless [`eight_processes_leave_one_chain`] started it.
#[test]
fn makes_its_calls() {
    let Some(house) = child::house() else { return };
    let runtime = Arc::new(house.start(house.config()));
    block_on_within(WATCHDOG, async {
        for group in 0..CALLS / AT_ONCE {
            let start = |n: usize| {
                let tool = if n.is_multiple_of(10) { "effect" } else { "probe" };
                let (runtime, call) = (runtime.clone(), call(tool, json!({ "n": n, "group": group })));
                tokio::spawn(async move { runtime.call(call).await.envelope })
            };
            for running in (0..AT_ONCE).map(start).collect::<Vec<_>>() {
                let answer = running.await.unwrap();
                assert_eq!(answer.code(), 200, "{answer:?}");
            }
        }
        assert!(runtime.flush().await);
    });
}

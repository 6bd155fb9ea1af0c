//! What is left when the power goes? A disk that drops, keeps or tears what was not synced, between any two operations:
//! every answer that said `durable` is there, nothing ran whose intent is not, and the chain is whole.

use crate::support::guest::Guest;
use crate::support::house::{House, call};
use crate::support::{block_on_within, child, disk};
use hermes_runtime::Call;
use hermes_runtime::call::Digest;
use hermes_runtime::envelope::Durability;
use hermes_runtime::injection::audit::Reader;
use serde_json::json;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// Callers at the same time, and calls of each.
const CALLERS: usize = 6;
const CALLS: usize = 25;
/// Operations of the disk between two losses: no divisor of what one commit does.
const EVERY: u64 = 7;
/// Far more than it takes.
const WATCHDOG: Duration = Duration::from_secs(300);
/// Tells the child that the disk lies.
const LIES: &str = "HERMES_TEST_DISK_LIES";

/// What came of all losses of one run.
#[derive(Debug, Default)]
struct Found {
    losses: usize,
    acknowledged: usize,
    acknowledged_and_missing: usize,
    executed: usize,
    executed_without_intent: usize,
    broken: usize,
}

fn run(lies: bool) -> Found {
    let house = House::empty();
    let reports = "(call $report (i64.const 1) (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0) (i32.const 0)) (call $ok (local.get $args) (local.get $args_len))";
    Guest { name: "effect".into(), effect: "write".into(), ..Guest::that(reports) }.put(&house);
    let mut command: Command = child::command("power::calls_on_a_disk_that_loses", house.root());
    if lies {
        command.env(LIES, "1");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut found = Found::default();
    for number in 0.. {
        let folder = house.path(&format!("loss/{number}"));
        if !folder.exists() {
            break;
        }
        found.losses += 1;
        look(&folder, &mut found);
    }
    found
}

/// Looks at what one loss left.
fn look(folder: &std::path::Path, found: &mut Found) {
    let told = std::fs::read_to_string(folder.join("told")).unwrap();
    let reader = Reader::open(folder);
    let verified = reader.as_ref().ok().and_then(|reader| reader.verify().ok());
    // Before the first commit there is no table yet, and nobody was told anything.
    let whole = verified.as_ref().is_some_and(|verification| verification.broken.is_none());
    found.broken += usize::from(!whole && !told.is_empty());
    let journal = rusqlite::Connection::open(folder.join("journal.db")).unwrap();
    let count = |sql: &str, parameter: &str| -> i64 {
        journal.query_row(sql, [parameter], |row| row.get(0)).unwrap_or_default()
    };
    for line in told.lines() {
        match line.split_once(' ') {
            Some(("durable", id)) => {
                found.acknowledged += 1;
                let there = count("SELECT count(*) FROM records WHERE call_id = ?1", id);
                found.acknowledged_and_missing += usize::from(there != 2);
            }
            Some(("ran", digest)) => {
                found.executed += 1;
                let sql = "SELECT count(*) FROM records WHERE kind = 'intent' AND body LIKE '%' || ?1 || '%'";
                found.executed_without_intent += usize::from(count(sql, digest) == 0);
            }
            _ => panic!("{line}"),
        }
    }
}

#[test]
fn nothing_that_was_acknowledged_is_lost_with_the_power_and_nothing_ran_unwritten() {
    let found = run(false);
    println!("{found:?}");
    assert!(found.losses > 50 && found.acknowledged > 500 && found.executed > 500, "{found:?}");
    assert_eq!((found.acknowledged_and_missing, found.executed_without_intent, found.broken), (0, 0, 0), "{found:?}");
}

/// The same on a disk that says it synced and did not: the test above would notice.
#[test]
fn a_disk_that_lies_about_syncing_is_noticed() {
    let found = run(true);
    println!("{found:?}");
    assert!(found.acknowledged_and_missing > 0 && found.executed_without_intent > 0, "{found:?}");
}

/// Does nothing unless a test above started it.
#[test]
fn calls_on_a_disk_that_loses() {
    let Some(house) = child::house() else { return };
    disk::install(EVERY, std::env::var_os(LIES).is_some());
    let runtime = Arc::new(house.start(house.config()));
    block_on_within(WATCHDOG, async {
        let callers: Vec<_> = (0..CALLERS).map(|caller| tokio::spawn(calls(runtime.clone(), caller))).collect();
        for caller in callers {
            caller.await.unwrap();
        }
    });
    for (number, loss) in disk::losses().into_iter().enumerate() {
        let folder = house.path(&format!("loss/{number}"));
        loss.put(&folder);
        let told: Vec<String> = loss.told.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(folder.join("told"), told.concat()).unwrap();
    }
}

async fn calls(runtime: Arc<hermes_runtime::Runtime>, caller: usize) {
    for number in 0..CALLS {
        let args = json!({ "n": caller * 1000 + number });
        let digest = Digest::of(args.to_string().as_bytes());
        let (sender, mut progress) = tokio::sync::mpsc::channel(1);
        let watching = tokio::spawn(async move {
            if progress.recv().await.is_some() {
                disk::told(format!("ran {digest}"));
            }
        });
        let answer = runtime.call(Call { progress: Some(sender), ..call("effect", args) }).await.envelope;
        watching.await.unwrap();
        assert_eq!(answer.metadata.durability, Some(Durability::Durable), "{answer:?}");
        disk::told(format!("durable {}", answer.metadata.call_id));
    }
}

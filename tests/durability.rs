//! What is left of a process that is killed? Every call whose answer said `durable` is in the journal, calls that ran
//! are known to be unknown, and the next process goes on from there.

use crate::support::guest::Guest;
use crate::support::house::{House, call};
use crate::support::{block_on, block_on_within, child, records};
use hermes_runtime::Call;
use hermes_runtime::envelope::Durability;
use hermes_runtime::injection::audit::Reader;
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

/// Answers that arrive before the process is killed.
const ANSWERS: usize = 100;
/// Far more than it takes.
const WATCHDOG: Duration = Duration::from_secs(300);

fn guests(house: &House) {
    Guest { name: "effect".into(), effect: "write".into(), ..Guest::default() }.put(house);
    let hang = "(call $report (i64.const 1) (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0) (i32.const 0)) (loop $on (br $on)) unreachable";
    let limits = "fuel = 100000000000".to_owned();
    let manifest = "timeout_ms = 300000".to_owned();
    Guest { name: "hang".into(), effect: "write".into(), limits, manifest, ..Guest::that(hang) }.put(house);
}

/// Runs calls in another process, kills it, and gives the ids of those that were answered as durable.
fn killed(house: &House) -> Vec<String> {
    let mut child =
        child::command("durability::calls_until_it_is_killed", house.root()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    let acknowledged = |line: String| line.split_once("DURABLE ").map(|(_, id)| id.to_owned());
    let mut answered: Vec<String> = lines.by_ref().filter_map(acknowledged).take(ANSWERS).collect();
    child.kill().unwrap();
    answered.extend(lines.filter_map(acknowledged));
    assert!(!child.wait().unwrap().success());
    assert!(answered.len() >= ANSWERS, "only {} answers", answered.len());
    answered
}

/// The power goes while the last record is written: half of it is on disk.
#[test]
fn a_torn_last_record_is_repaired_and_said() {
    use std::io::{Seek, SeekFrom, Write};
    let house = House::empty();
    guests(&house);
    let answered = killed(&house);
    let (state_dir, log) = (house.path("state"), house.path("state/journal.db-wal"));
    let bytes = std::fs::read(&log).unwrap();
    let (salts, frame) = (&bytes[16..24], 24 + usize::from(bytes[10]) * 256 + usize::from(bytes[11]));
    // The end of this round of the log; after it there may be what an earlier round left.
    let mut end = 32;
    while bytes.get(end + 8..end + 16) == Some(salts) {
        end += frame;
    }
    // The head of a frame that belongs to this round, and a part of what should follow it.
    let torn = [&1_u32.to_be_bytes()[..], &9_u32.to_be_bytes(), salts, &[7; 1500]].concat();
    let mut file = std::fs::OpenOptions::new().write(true).open(&log).unwrap();
    file.seek(SeekFrom::Start(end as u64)).unwrap();
    file.write_all(&torn).unwrap();

    let runtime = house.start(house.config());
    assert!(block_on(runtime.flush()));
    let verification = records::verified(&state_dir);
    let [repaired] = verification.repaired[..] else { panic!("{:?}", verification.repaired) };
    assert!(repaired.bytes >= torn.len() as u64, "{repaired:?}");
    for call_id in &answered {
        assert_eq!(records::of_call(&state_dir, call_id).1.code, Some(200));
    }
    drop(runtime);
    // Said once: what was repaired is whole.
    drop(house.start(house.config()));
    assert_eq!(records::verified(&state_dir).repaired, [repaired]);
}

#[test]
fn no_answer_that_was_durable_is_lost_when_the_process_is_killed() {
    let house = House::empty();
    guests(&house);
    let answered = killed(&house);

    let state_dir = house.path("state");
    for call_id in &answered {
        let (intent, outcome) = records::of_call(&state_dir, call_id);
        assert_eq!((intent.is_some(), outcome.code), (true, Some(200)));
    }
    let verification = records::verified(&state_dir);
    let reader = Reader::open(&state_dir).unwrap();
    let tool = |id: &String| reader.show(id).unwrap()[0].record.facts.tool.to_string();
    assert!(verification.unknown.iter().any(|id| tool(id) == "hang"), "the call that ran is unknown");
    assert!(verification.unknown.iter().all(|id| !answered.contains(id)));

    let runtime = house.start(house.config());
    let answer = block_on(runtime.call(call("effect", json!({})))).envelope;
    assert_eq!(answer.metadata.durability, Some(Durability::Durable));
    assert!(records::verified(&state_dir).records > verification.records);
}

/// Does nothing unless [`no_answer_that_was_durable_is_lost_when_the_process_is_killed`] started it.
#[test]
fn calls_until_it_is_killed() {
    let Some(house) = child::house() else { return };
    let runtime = Arc::new(house.start(house.config()));
    block_on_within(WATCHDOG, async {
        let (sender, mut progress) = tokio::sync::mpsc::channel(1);
        let hanging = Call { progress: Some(sender), ..call("hang", json!({})) };
        let hang = {
            let runtime = runtime.clone();
            tokio::spawn(async move { runtime.call(hanging).await.envelope })
        };
        assert!(progress.recv().await.is_some(), "it runs");
        let callers = (0..4).map(|_| {
            let runtime = runtime.clone();
            tokio::spawn(async move {
                loop {
                    let answer = runtime.call(call("effect", json!({}))).await.envelope;
                    assert_eq!(answer.metadata.durability, Some(Durability::Durable), "{answer:?}");
                    println!("DURABLE {}", answer.metadata.call_id);
                }
            })
        });
        for caller in callers.collect::<Vec<tokio::task::JoinHandle<()>>>() {
            caller.await.unwrap();
        }
        hang.await.unwrap();
    });
}

/// The chain shows what was changed after it was written.
#[test]
fn a_changed_record_is_found() {
    let house = House::empty();
    guests(&house);
    let runtime = house.start(house.config());
    for _ in 0..5 {
        block_on(runtime.call(call("effect", json!({}))));
    }
    drop(runtime);
    let state_dir = house.path("state");
    let broken = |sql: &str| {
        let journal = rusqlite::Connection::open(state_dir.join("journal.db")).unwrap();
        journal
            .execute_batch(&format!(
                "DROP INDEX IF EXISTS one_record_of_a_kind; SAVEPOINT changed; {sql}; RELEASE changed"
            ))
            .unwrap();
        Reader::open(&state_dir).unwrap().verify().unwrap().broken.map(|(seq, _)| seq)
    };
    assert_eq!(broken("SELECT 1"), None);
    let saved = "CREATE TABLE saved AS SELECT * FROM records";
    assert_eq!(broken(saved), None);
    for (change, found) in [
        ("UPDATE records SET body = replace(body, '\"code\":200', '\"code\":403') WHERE seq = 4", 4),
        ("DELETE FROM records WHERE seq = 3", 4),
        ("UPDATE records SET call_id = 'x' WHERE seq = 5", 5),
        ("UPDATE records SET kind = 'intent' WHERE seq = 6", 6),
        ("UPDATE records SET hash = zeroblob(32) WHERE seq = 2", 2),
    ] {
        assert_eq!(broken(change), Some(found), "{change}");
        assert_eq!(broken("DELETE FROM records; INSERT INTO records SELECT * FROM saved"), None);
    }
}

/// The journal's table goes away under a running process, and comes back.
#[test]
fn nothing_with_an_effect_runs_while_the_journal_cannot_be_written() {
    let house = House::empty();
    guests(&house);
    Guest::default().put(&house);
    let runtime = house.start(house.config());
    let journal = rusqlite::Connection::open(house.path("state/journal.db")).unwrap();
    block_on(async {
        let ask = async |tool: &str| runtime.call(call(tool, json!({}))).await.envelope;
        assert_eq!(ask("effect").await.code(), 200);
        journal.execute_batch("ALTER TABLE records RENAME TO away").unwrap();
        for _ in 0..2 {
            let refused = ask("effect").await;
            let error = refused.error.unwrap();
            assert_eq!((error.code, error.kind.name(), error.retryable), (503, "audit_unavailable", true));
            assert_eq!((refused.metadata.attempts, refused.metadata.durability), (0, Some(Durability::Failed)));
        }
        let read = ask("probe").await;
        assert_eq!((read.code(), read.metadata.durability), (200, Some(Durability::Queued)));
        journal.execute_batch("ALTER TABLE away RENAME TO records").unwrap();
        assert!(runtime.flush().await);
        assert_eq!(ask("effect").await.metadata.durability, Some(Durability::Durable));
        // What was answered meanwhile is written, each once.
        let (_, outcome) = records::of_call(&house.path("state"), &read.metadata.call_id);
        assert_eq!(outcome.code, Some(200));
        assert_eq!(records::verified(&house.path("state")).unknown, Vec::<String>::new());
    });
}

/// One of the tables beside the records goes away under a running process, then another one.
#[test]
fn a_table_beside_the_records_that_is_damaged_costs_no_record_and_no_other_table() {
    let house = House::empty();
    guests(&house);
    let runtime = house.start(house.config());
    let journal = rusqlite::Connection::open(house.path("state/journal.db")).unwrap();
    let count = |sql: &str| -> i64 { journal.query_row(sql, (), |row| row.get(0)).unwrap() };
    let call = || {
        let answer = block_on(runtime.call(call("effect", json!({})))).envelope;
        assert_eq!((answer.code(), answer.metadata.durability), (200, Some(Durability::Durable)), "{answer:#?}");
    };
    call();
    let calls = "SELECT sum(calls) FROM sessions";
    let lines = "SELECT count(*) FROM session_calls";
    let (before, lines_before) = (count(calls), count(lines));
    journal.execute_batch("ALTER TABLE tool_use RENAME TO away").unwrap();
    call();
    assert_eq!((count(calls), count(lines)), (before + 1, lines_before + 1), "the other tables are kept up");
    journal.execute_batch("ALTER TABLE away RENAME TO tool_use; DROP TABLE sessions").unwrap();
    call();
    assert_eq!(count(lines), lines_before + 1, "what belongs together is taken back together");
    assert!(block_on(runtime.flush()));
    let verification = records::verified(&house.path("state"));
    assert_eq!((verification.records, verification.unknown.len()), (6, 0), "an intent and an outcome of each");
}

/// A file system of its own, as only root can have one. Gone with the test.
struct Disk(std::path::PathBuf);

impl Disk {
    fn mount(at: std::path::PathBuf, size: &str) -> Option<Disk> {
        std::fs::create_dir_all(&at).unwrap();
        let mount = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size},mode=0700"), "tmpfs"])
            .arg(&at)
            .stderr(Stdio::null())
            .status();
        mount.is_ok_and(|status| status.success()).then_some(Disk(at))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Fills the disk of the journal to the last byte while calls run, and makes room again.
#[test]
fn on_a_full_disk_nothing_with_an_effect_runs_until_there_is_room() {
    use std::io::Write;
    let house = House::empty();
    guests(&house);
    Guest::default().put(&house);
    let Some(disk) = Disk::mount(house.path("state"), "12m") else {
        eprintln!("not run: only root can mount the small disk that this needs");
        return;
    };
    let runtime = house.start(house.config());
    let filler = house.path("state/filler");
    block_on(async {
        let ask = async |tool: &str, args: serde_json::Value| runtime.call(call(tool, args)).await.envelope;
        assert_eq!(ask("effect", json!({})).await.metadata.durability, Some(Durability::Durable));
        let fill = || {
            let mut file = std::fs::OpenOptions::new().append(true).create(true).open(&filler).unwrap();
            for size in [1 << 16, 1 << 12, 1] {
                while file.write_all(&vec![0; size]).is_ok() {}
            }
        };
        // Room for a part of what is written: the disk is full in the middle of a transaction.
        fill();
        let length = std::fs::metadata(&filler).unwrap().len();
        std::fs::File::options().write(true).open(&filler).unwrap().set_len(length - (256 << 10)).unwrap();
        let refused = ask("effect", json!({ "text": "x".repeat(1 << 20) })).await;
        let error = refused.error.unwrap();
        assert_eq!((error.code, error.kind.name(), error.retryable), (503, "audit_unavailable", true));
        assert!(error.message.contains("journal cannot be written") && error.hint.is_some(), "{error:?}");
        assert_eq!(refused.metadata.attempts, 0, "it did not run");
        fill();
        let mut read = Vec::new();
        for _ in 0..20 {
            let refused = ask("effect", json!({})).await;
            assert_eq!((refused.code(), refused.metadata.attempts), (503, 0), "{refused:#?}");
            let answer = ask("probe", json!({ "n": 1 })).await;
            assert_eq!(answer.code(), 200, "what only reads goes on");
            read.push(answer.metadata.call_id);
        }
        assert!(!runtime.flush().await, "the journal says that it cannot be written");
        std::fs::remove_file(&filler).unwrap();
        // The writer tries again by itself, without a restart.
        while !runtime.flush().await {}
        let answer = ask("effect", json!({})).await;
        assert_eq!(answer.metadata.durability, Some(Durability::Durable), "{answer:#?}");
        for call_id in &read {
            assert_eq!(records::of_call(&house.path("state"), call_id).1.code, Some(200));
        }
        assert_eq!(records::verified(&house.path("state")).unknown, Vec::<String>::new());
    });
    drop(runtime);
    drop(disk);
}

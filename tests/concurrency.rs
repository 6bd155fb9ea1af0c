//! What do calls at the same time do to each other, and to a check that somebody races? Nothing is lost, nothing leads
//! out, and what is apart does not wait.

use crate::support::block_on_within;
use crate::support::house::{House, call};
use hermes_runtime::Runtime;
use hermes_runtime::envelope::Envelope;
use rustix::fs::{CWD, RenameFlags};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// These tests do thousands of things; each of them has an end of its own.
const WATCHDOG: Duration = Duration::from_secs(300);

fn started(runtime: &Arc<Runtime>, tool: &str, args: Value) -> tokio::task::JoinHandle<Envelope> {
    let (runtime, call) = (runtime.clone(), call(tool, args));
    tokio::spawn(async move { runtime.call(call).await.envelope })
}

fn lines(range: std::ops::RangeInclusive<u32>) -> String {
    range.map(|n| format!("line {n};\n")).collect()
}

#[test]
fn two_edits_of_one_file_at_once_are_both_in_it() {
    let house = House::with_files();
    let (a, b) = (Arc::new(house.start(house.config())), Arc::new(house.start(house.config())));
    block_on_within(WATCHDOG, async {
        for round in 0..200 {
            house.write("n.txt", lines(1..=100));
            let edit = |old: &str, new: &str| json!({ "path": "n.txt", "mode": "replace", "old": old, "new": new });
            let one = started(&a, "file_write", edit("line 50;", "FIFTY"));
            let two = started(&b, "file_write", edit("line 75;", "SEVENTY-FIVE"));
            let (one, two) = (one.await.unwrap(), two.await.unwrap());
            let text = house.read("n.txt");
            assert!(text.contains("line 49;") && text.contains("line 100;"), "round {round}: {text}");
            for (answer, word) in [(&one, "FIFTY\n"), (&two, "SEVENTY-FIVE\n")] {
                let in_it = text.lines().any(|line| line == word.trim_end());
                match answer.code() {
                    200 => assert!(in_it, "round {round}: a success whose edit is lost"),
                    409 => assert!(!in_it, "round {round}: a conflict whose edit is there"),
                    other => panic!("round {round}: {other} {answer:?}"),
                }
            }
        }
    });
}

#[test]
fn of_two_writes_on_what_both_have_read_one_is_a_conflict() {
    let house = House::with_files();
    let (a, b) = (Arc::new(house.start(house.config())), Arc::new(house.start(house.config())));
    block_on_within(WATCHDOG, async {
        for round in 0..50 {
            house.write("n.txt", format!("round {round}"));
            let read = a.call(call("file_read", json!({ "path": "n.txt" }))).await.envelope;
            let digest = &read.data["digest"];
            let write = |content: &str| json!({ "path": "n.txt", "mode": "overwrite", "content": content, "if_digest": digest });
            let one = started(&a, "file_write", write("one"));
            let two = started(&b, "file_write", write("two"));
            let mut codes = [one.await.unwrap().code(), two.await.unwrap().code()];
            let winner = if codes[0] == 200 { "one" } else { "two" };
            codes.sort_unstable();
            assert_eq!(codes, [200, 409], "round {round}");
            assert_eq!(house.read("n.txt"), winner, "round {round}");
        }
    });
}

#[test]
fn a_write_in_one_directory_does_not_wait_for_another_one() {
    let house = House::with_files();
    let runtime = Arc::new(house.start(house.config()));
    std::fs::create_dir(house.path("workspace/held")).unwrap();
    std::fs::create_dir(house.path("workspace/free")).unwrap();
    let held = std::fs::File::open(house.path("workspace/held")).unwrap();
    held.lock().unwrap();
    block_on_within(WATCHDOG, async {
        let write = |path: &str| json!({ "path": path, "mode": "create", "content": "x" });
        let waiting = started(&runtime, "file_write", write("held/a"));
        let answer = started(&runtime, "file_write", write("free/a")).await.unwrap();
        assert_eq!(answer.code(), 200);
        assert!(!waiting.is_finished(), "the directory was held");
        held.unlock().unwrap();
        assert_eq!(waiting.await.unwrap().code(), 200);
    });
}

/// A directory is exchanged with a link that leads out, again and again, while calls go through its name.
#[test]
fn no_race_with_a_link_leads_out() {
    let house = House::with_files();
    let runtime = Arc::new(house.start(house.config()));
    let (folder, link) = (house.path("workspace/d"), house.path("workspace/l"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("secret.txt"), "inside").unwrap();
    std::fs::write(house.path("outside/secret.txt"), "SECRET").unwrap();
    std::os::unix::fs::symlink(house.path("outside"), &link).unwrap();
    let ended = AtomicBool::new(false);
    let (mut inside, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        let _end = OnDrop(|| ended.store(true, Ordering::Relaxed));
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        block_on_within(WATCHDOG, async {
            for n in 0..400 {
                let read = started(&runtime, "file_read", json!({ "path": "d/secret.txt" }));
                let write = json!({ "path": format!("d/{n}.txt"), "mode": "create", "content": "x" });
                let append = json!({ "path": "d/secret.txt", "mode": "append", "content": "" });
                let write = started(&runtime, "file_write", if n % 2 == 0 { write } else { append });
                let read = read.await.unwrap();
                assert!(!read.data.to_string().contains("SECRET"), "{read:?}");
                for answer in [read, write.await.unwrap()] {
                    match answer.code() {
                        200 => inside += 1,
                        _ => refused += 1,
                    }
                }
            }
        });
    });
    let outside: Vec<_> =
        std::fs::read_dir(house.path("outside")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(outside, ["secret.txt"]);
    assert_eq!(std::fs::read_to_string(house.path("outside/secret.txt")).unwrap(), "SECRET");
    assert!(inside > 0 && refused > 0, "the race took place: {inside} inside, {refused} refused");
}

/// Does something at the end, also when a check has failed; the other thread would run for ever.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

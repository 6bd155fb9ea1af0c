//! What is left of a browser? Nothing: no process, no profile, whatever ended it; and what comes after a browser that
//! broke off is a fresh one.

use super::*;
use crate::support::{block_on_within, child};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

/// The processes beneath one, with the moment of their start, so that a number that is given again is not taken for them.
fn beneath(root: u32) -> BTreeSet<(String, String)> {
    let mut found = vec![root.to_string()];
    let mut at = 0;
    while let Some(parent) = found.get(at).cloned() {
        let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            found.extend(children.split_whitespace().map(str::to_owned));
        }
        at += 1;
    }
    found.drain(..1);
    found.into_iter().filter_map(|pid| Some((pid.clone(), started(&pid)?))).collect()
}

fn started(pid: &str) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let after = stat.rsplit_once(')')?.1.split_whitespace().collect::<Vec<_>>();
    // A zombie is still there.
    Some((*after.get(19)?).to_owned())
}

fn left(of: &BTreeSet<(String, String)>) -> usize {
    of.iter().filter(|(pid, start)| started(pid).as_ref() == Some(start)).count()
}

fn until(wanted: impl Fn() -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(20);
    while !wanted() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    wanted()
}

fn is_browser(pid: &str) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).contains("/var/agent/profile")
}

/// The browsers beneath this process, without their parts.
pub(super) fn browsers() -> Vec<String> {
    let is_part = |pid: &str| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("--type=")
    };
    beneath(std::process::id()).into_iter().map(|(pid, _)| pid).filter(|pid| is_browser(pid) && !is_part(pid)).collect()
}

/// Browsers leave such folders where they were not told to use another place.
fn profiles() -> usize {
    let names = std::fs::read_dir("/tmp").into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter(|name| name.to_string_lossy().to_lowercase().contains("chrom")).count()
}

/// Starts a copy of this program that opens a page and then waits, and ends it as the caller likes.
fn ended_by(how: &str, end: impl FnOnce(&mut std::process::Child)) {
    let house = House::with_files();
    std::fs::write(house.path("how"), how).unwrap();
    let profiles_before = profiles();
    let mut copy = child::command("browser::lifetime::opens_a_page_and_waits", house.root());
    let mut copy = copy.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(copy.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("OPEN")), "the page was never open");
    let processes = beneath(copy.id());
    assert!(processes.iter().filter(|(pid, _)| is_browser(pid)).count() >= 3, "no browser runs: {processes:?}");
    end(&mut copy);
    copy.wait().unwrap();
    assert!(
        until(|| left(&processes) == 0),
        "{} of {} processes are left after {how}",
        left(&processes),
        processes.len()
    );
    assert!(!Path::new("/var/agent").exists() && profiles() <= profiles_before, "a profile is left after {how}");
}

#[test]
fn a_runtime_that_is_killed_leaves_no_browser() {
    ended_by("kill", |copy| copy.kill().unwrap());
}

#[test]
fn a_runtime_that_panics_leaves_no_browser() {
    ended_by("panic", |copy| drop(copy.stdin.take()));
}

#[test]
fn a_runtime_that_is_interrupted_leaves_no_browser() {
    ended_by("interrupt", |copy| {
        let pid = rustix::process::Pid::from_raw(copy.id() as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    });
}

/// Does nothing unless [`ended_by`] started it.
#[test]
fn opens_a_page_and_waits() {
    let Some(house) = child::house() else { return };
    let how = std::fs::read_to_string(house.path("how")).unwrap();
    // Served here: what another process of this program listens on is taken for the runtime's own.
    let server = Server::start();
    server.page("/", "<title>open</title>");
    let config = config(&house, &[&server]);
    let runtime = house.start(config);
    block_on_within(WATCHDOG, async {
        ok(&runtime, "browser_navigate", json!({ "url": server.url("/") })).await;
        println!("OPEN");
        tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new())).await.unwrap().unwrap();
        assert_ne!(how, "panic", "as it was told");
    });
}

#[test]
fn a_browser_that_breaks_off_fails_its_calls_and_the_next_one_is_fresh() {
    let server = Server::start();
    server.page("/", "<title>open</title>");
    let house = House::with_files();
    let runtime = house.start(config(&house, &[&server]));
    block_on_within(WATCHDOG, async {
        ok(&runtime, "browser_navigate", json!({ "url": server.url("/") })).await;
        let main = browsers();
        let waiting = runtime.call(call("browser_wait", json!({ "seconds": 20 })));
        let breaking = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            for pid in &main {
                let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            }
        };
        let (waited, ()) = tokio::join!(waiting, breaking);
        let error = waited.envelope.error.expect("the wait went well without a browser");
        assert_eq!((error.code, error.reason.as_deref()), (502, Some("browser_crashed")), "{error:#?}");
        let page = ok(&runtime, "browser_navigate", json!({ "url": server.url("/") })).await;
        assert_eq!((page["title"].as_str(), page["tab"].as_u64()), (Some("open"), Some(1)));
    });
}

#[test]
fn a_session_ends_when_nobody_uses_it_and_the_browser_with_the_last_one() {
    let server = Server::start();
    server.page("/", "<title>open</title>");
    let house = House::with_files();
    let mut config = config(&house, &[&server]);
    config.browser.session_idle_seconds = 1;
    let runtime = house.start(config);
    block_on_within(WATCHDOG, async {
        ok(&runtime, "browser_navigate", json!({ "url": server.url("/") })).await;
        let processes = beneath(std::process::id());
        let gone = tokio::task::spawn_blocking(move || {
            let browser: BTreeSet<_> = processes.into_iter().filter(|(pid, _)| is_browser(pid)).collect();
            until(|| left(&browser) == 0)
        });
        assert!(gone.await.unwrap(), "the browser of a session that is over still runs");
        let tabs = ok(&runtime, "browser_tabs", empty()).await;
        assert_eq!(tabs["tabs"], json!([]));
    });
}

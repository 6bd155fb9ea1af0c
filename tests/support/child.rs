//! How does a test run in several processes? It starts this program again with one test and a house that exists.

use super::house::House;
use std::path::Path;
use std::process::Command;

/// Tells the copy where its house is.
const HOUSE: &str = "HERMES_TEST_HOUSE";

/// A copy of this program that will run one test in a house. Nothing depends on the folders above the program being
/// open to whoever runs it.
pub(crate) fn command(test: &str, house: &Path) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(HOUSE, house);
    command
}

/// The house that this copy was started for; `None` in the first process.
pub(crate) fn house() -> Option<House> {
    std::env::var_os(HOUSE).map(|root| House::at(root.into()))
}

/// Processes that this one has started and that are not gone.
pub(crate) fn children() -> usize {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().map(|entry| entry.unwrap().path().join("children"));
    threads.map(|file| std::fs::read_to_string(file).unwrap_or_default().split_whitespace().count()).sum()
}

/// All processes beneath this one, each with its command line.
pub(crate) fn beneath() -> Vec<(rustix::process::Pid, String)> {
    let children = |id: u32| -> Vec<u32> {
        let threads = std::fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
        let texts = threads.map(|thread| std::fs::read_to_string(thread.path().join("children")).unwrap_or_default());
        texts.flat_map(|text| text.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>()).collect()
    };
    let (mut left, mut found) = (children(std::process::id()), Vec::new());
    while let Some(id) = left.pop() {
        left.extend(children(id));
        let words = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let pid = rustix::process::Pid::from_raw(id.try_into().unwrap()).unwrap();
        found.push((pid, String::from_utf8_lossy(&words).replace('\0', " ")));
    }
    found
}

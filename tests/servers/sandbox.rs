//! What of the machine does the program of a server have? What its configuration lists and what it needs to start;
//! everything else is not there for it, and nothing that it starts outlives it.

use super::{Peers, none};
use crate::support::{block_on, child};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// Far more than any of it takes.
const WATCHDOG: Duration = Duration::from_secs(60);

/// Lets a server reach for places of the machine, and tells what came of each.
async fn reach(peers: &Peers, server: &str, what: &[(&str, String)]) -> Vec<Value> {
    let answer = peers.ok(&format!("{server}_reach"), json!({ "what": what })).await;
    let text = answer["content"][0]["text"].as_str().or(answer.as_str()).unwrap_or_else(|| panic!("{answer:#}"));
    serde_json::from_str(text).unwrap()
}

fn is_refused(answer: &Value) -> bool {
    answer.as_str().is_some_and(|text| text.starts_with("refused"))
}

#[test]
fn a_server_has_what_is_listed_and_nothing_else_of_the_machine() {
    let outside = tempfile::tempdir().unwrap();
    let path = |name: &str| outside.path().join(name).to_str().unwrap().to_owned();
    for folder in ["read", "write", "other"] {
        std::fs::create_dir(path(folder)).unwrap();
        std::fs::write(path(&format!("{folder}/file")), "content").unwrap();
    }
    let notes = |peers: &Peers, name: &str| peers.house.path("outside").join(name).display().to_string();
    let listed = format!("sandbox.read = [{:?}]", path("read"));
    let network = "sandbox.network = true".to_owned();
    let peers = Peers::start(&[("plain", "", ""), ("listed", "", &listed), ("net", "", &network)]);
    peers.house.write("secret.txt", "of the workspace");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let home = std::env::home_dir().unwrap().display().to_string();
    let workspace = peers.house.path("workspace/secret.txt").display().to_string();
    block_on(async {
        let tried = [
            ("read", workspace),
            ("read", peers.house.path("state").display().to_string()),
            ("read", home),
            ("read", path("read/file")),
            ("write", path("read/file")),
            ("read", path("other")),
            ("read", "/etc/hostname".into()),
            ("read", format!("/proc/{}/environ", std::process::id())),
            ("connect", port),
        ];
        let of_plain = reach(&peers, "plain", &tried).await;
        assert!(of_plain.iter().all(is_refused), "{of_plain:#?}");
        let of_listed = reach(&peers, "listed", &tried).await;
        let open: Vec<&Value> = of_listed.iter().filter(|answer| !is_refused(answer)).collect();
        assert_eq!(open, [&json!("content")], "{of_listed:#?}");
        let of_net = reach(&peers, "net", &tried).await;
        let open: Vec<&Value> = of_net.iter().filter(|answer| !is_refused(answer)).collect();
        assert_eq!(open, [&json!("connected")], "{of_net:#?}");
        // What it may change it does change; its environment names nothing of this process's.
        let own = notes(&peers, "plain") + "/own";
        let answers = reach(&peers, "plain", &[("write", own.clone()), ("environment", String::new())]).await;
        assert_eq!(
            (answers[0].as_str(), std::fs::read_to_string(own).unwrap().as_str()),
            (Some("written"), "written\n")
        );
        let names: Vec<&String> = answers[1].as_object().unwrap().keys().collect();
        let usual = ["HOME", "LANG", "LC_CTYPE", "PATH", "PEER_DIR", "TERM", "TMPDIR"];
        assert!(names.iter().all(|name| usual.contains(&name.as_str())), "{names:?}");
        assert_eq!(answers[1]["HOME"], "/var/agent");
    });
    assert_eq!(std::fs::read_to_string(path("read/file")).unwrap(), "content");
}

#[test]
fn what_the_runtime_lives_on_is_covered_in_what_is_listed() {
    let peers = Peers::start_with_faults(&[("wide", "", "")], |config| {
        let house = config.state_dir.parent().unwrap().to_owned();
        let server = config.mcp.servers.get_mut("wide").unwrap();
        server.sandbox.write = vec![house];
    });
    block_on(async {
        let house = |name: &str| peers.house.path(name).display().to_string();
        let tried = [("read", house("workspace")), ("read", house("state")), ("write", house("plugins/x"))];
        let answers = reach(&peers, "wide", &tried).await;
        assert_eq!(answers.iter().map(is_refused).collect::<Vec<_>>(), [false, true, true], "{answers:#?}");
    });
    let faults = |place: &dyn Fn(&crate::support::house::House) -> std::path::PathBuf| {
        let house = crate::support::house::House::with_files();
        let mut config = super::config(&house, &[("peer", "", "")]);
        std::fs::create_dir_all(&config.state_dir).unwrap();
        config.mcp.servers.get_mut("peer").unwrap().sandbox.read = vec![place(&house)];
        let runtime = hermes_runtime::Runtime::start(config, &[], None).unwrap();
        runtime.toolbox().faults.iter().map(ToString::to_string).collect::<String>()
    };
    assert!(faults(&|house| house.path("state")).contains("is kept from everything"));
    assert!(faults(&|house| house.path("missing")).contains("missing"));
}

#[test]
fn what_git_would_run_is_kept_from_servers_that_may_write() {
    let peers = Peers::start_with_faults(&[("peer", "", "")], |config| {
        let repository = config.state_dir.parent().unwrap().join("outside/repository");
        std::fs::create_dir_all(repository.join(".git/hooks")).unwrap();
        std::fs::create_dir(repository.join(".git/objects")).unwrap();
        std::fs::write(repository.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(repository.join(".git/config"), "[core]\n").unwrap();
        config.mcp.servers.get_mut("peer").unwrap().sandbox.write.push(repository);
    });
    block_on(async {
        let place = |name: &str| peers.house.path("outside/repository").join(name).display().to_string();
        let tried = [".git/config", ".git/hooks/pre-commit", "file"].map(|name| ("write", place(name)));
        let answers = reach(&peers, "peer", &tried).await;
        assert_eq!(answers.iter().map(is_refused).collect::<Vec<_>>(), [true, true, false], "{answers:#?}");
    });
    assert!(!peers.house.path("outside/repository/.git/hooks/pre-commit").exists());
}

#[test]
fn without_its_sandbox_a_server_has_what_the_user_has() {
    let peers = Peers::start_with_faults(&[("free", "", "")], |config| {
        let sandbox = &mut config.mcp.servers.get_mut("free").unwrap().sandbox;
        (sandbox.write, sandbox.off) = (Vec::new(), true);
    });
    peers.house.write("a.txt", "seen");
    block_on(async {
        let place = peers.house.path("workspace/a.txt").display().to_string();
        assert_eq!(reach(&peers, "free", &[("read", place)]).await, [json!("seen")]);
    });
}

#[test]
fn nothing_that_a_server_started_outlives_it() {
    let peers = Peers::start(&[("peer", "", "")]);
    block_on(async { peers.ok("peer_start_others", none()).await });
    // What was started is for a moment still a copy of who started it.
    let began = Instant::now();
    let sleepers = loop {
        let all = child::beneath();
        let found: Vec<_> = all.iter().filter(|(_, words)| words.contains("sleep 47")).cloned().collect();
        if found.len() >= 2 {
            break found;
        }
        assert!(began.elapsed() < WATCHDOG, "{all:?}");
        std::thread::sleep(Duration::from_millis(10));
    };
    drop(peers);
    for (pid, words) in sleepers {
        let now = std::fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
        assert!(now.is_empty(), "{words} still runs");
    }
    assert_eq!(child::children(), 0, "a process is left over");
}

#[test]
fn a_server_that_dies_at_once_is_told_with_its_last_words_and_the_way_out() {
    let peers = Peers::start_with_faults(&[("silent", "silent_start", "")], |_| {});
    let faults: String = peers.runtime.toolbox().faults.iter().map(ToString::to_string).collect();
    for word in ["cannot find its configuration", "[mcp.servers.silent.sandbox]"] {
        assert!(faults.contains(word), "{word} is not in {faults}");
    }
}

//! What does the operator's configuration say about servers, and what of it reaches them? Credentials go to the addresses
//! that they are for, and a server that is configured nowhere is named.

use super::{call, none};
use crate::support::block_on;
use crate::support::house::{House, project};
use hermes_runtime::Runtime;
use hermes_runtime::config::{Config, Origin, Source};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

const SECRET: &str = "s3cr3t-0123456789-abcdef";

/// A server over HTTP. Dropping it ends it.
struct Far {
    child: Child,
    port: u16,
    sent: std::sync::mpsc::Receiver<String>,
}

impl Far {
    fn start() -> Far {
        let script = project().join("tests/peers/far.py");
        let mut child = Command::new("/usr/bin/python3").arg(script).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines.next().unwrap().unwrap().parse().unwrap();
        let (sender, sent) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).unwrap());
            }
        });
        Far { child, port, sent }
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn load(house: &House, text: &str) -> Result<Config, String> {
    let origin = Origin::User(house.path("config.toml"));
    let source = Source { origin, text: text.to_owned(), trusted: true };
    Config::load(house.config(), &[source]).map(|loaded| loaded.config).map_err(|faults| faults.to_string())
}

#[test]
fn a_secret_goes_to_its_own_address_and_to_no_other_and_does_not_come_back() {
    let (far, other) = (Far::start(), Far::start());
    let house = House::with_files();
    std::fs::write(house.path("outside/key"), SECRET).unwrap();
    let text = format!(
        "[secrets.api]\nfile = {:?}\nadapters = [\"mcp\"]\norigins = [\"http://127.0.0.1:{}\"]\n\
         [mcp.servers.far]\nurl = \"http://127.0.0.1:{}/mcp\"\nroles = [\"Builder\"]\n\
         headers = {{ Authorization = {{ secret = \"api\", value = \"Bearer {{secret}}\" }} }}\n\
         [mcp.servers.other]\nurl = \"http://127.0.0.1:{}/mcp\"\nroles = [\"Builder\"]\n\
         headers = {{ Authorization = {{ secret = \"api\" }} }}\n",
        house.path("outside/key"),
        far.port,
        far.port,
        other.port
    );
    let runtime = Runtime::start(load(&house, &text).unwrap(), &[], None).unwrap();
    let faults: Vec<String> = runtime.toolbox().faults.iter().map(ToString::to_string).collect();
    assert!(faults.iter().any(|fault| fault.contains("`other`") && fault.contains("`origins`")), "{faults:?}");
    assert!(!faults.iter().any(|fault| fault.contains(SECRET)), "{faults:?}");
    let envelope = block_on(runtime.call(call("far_echo", none()))).envelope;
    assert_eq!(envelope.code(), 200, "{:#?}", envelope.error);
    let text = serde_json::to_string(&envelope).unwrap();
    assert!(text.contains("you sent Bearer") && !text.contains(SECRET), "{text}");
    let sent: Vec<String> = far.sent.try_iter().collect();
    assert!(!sent.is_empty() && sent.iter().all(|header| *header == format!("Bearer {SECRET}")), "{sent:?}");
    assert!(other.sent.try_iter().next().is_none(), "nothing was sent where the secret may not go");
}

#[test]
fn whatever_a_server_over_http_answers_ends_the_call_and_the_next_one_works() {
    let far = Far::start();
    let house = House::with_files();
    let text = format!(
        "[mcp.servers.far]\nurl = \"http://127.0.0.1:{}/mcp\"\nroles = [\"Builder\"]\n[ceiling]\ntimeout_ms = 5000\n",
        far.port
    );
    let runtime = Runtime::start(load(&house, &text).unwrap(), &[], None).unwrap();
    let before = super::deaths::peak_mb();
    for tool in [
        "huge",
        "endless_line",
        "endless_events",
        "silent",
        "garbage",
        "wrong_id",
        "failure",
        "elsewhere",
        "half",
        "empty",
    ] {
        let envelope = block_on(runtime.call(call(&format!("far_{tool}"), none()))).envelope;
        let error = envelope.error.unwrap_or_else(|| panic!("{tool} went well: {:#}", envelope.data));
        assert!(matches!(error.code, 408 | 413 | 502 | 503), "{tool}: {error:#?}");
        assert!(!error.message.contains("not yours"), "{tool}: {error:#?}");
        let began = std::time::Instant::now();
        // After a failure it may be reached again only after a pause.
        while let Some(error) = block_on(runtime.call(call("far_echo", none()))).envelope.error {
            assert!(began.elapsed() < std::time::Duration::from_secs(60), "after {tool}: {error:#?}");
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }
    let grown = super::deaths::peak_mb().saturating_sub(before);
    assert!(grown < 400, "{grown} MiB");
}

#[test]
fn a_secret_is_no_variable_of_a_program() {
    let house = House::with_files();
    let text = "[mcp.servers.a]\nargv = [\"x\"]\nenv.KEY = { secret = \"api\" }\n";
    assert!(load(&house, text).unwrap_err().contains("`headers` only"));
}

#[test]
fn the_tools_of_a_server_that_is_configured_nowhere_name_it() {
    let house = House::with_files();
    std::fs::create_dir(house.path("tools")).unwrap();
    std::fs::copy(project().join("tests/fixtures/database_query.yaml"), house.path("tools/q.yaml")).unwrap();
    let folders = format!("tool_folders = [{:?}]\n", house.path("tools"));
    let configured = "[mcp.servers.database-server]\nargv = [\"/bin/false\"]\ntools = []\n";
    for (more, is_named) in [("", true), ("disabled = true\n", true), ("", false)] {
        let text = match (more, is_named) {
            ("", true) => folders.clone(),
            _ => format!("{folders}{configured}{more}"),
        };
        let runtime = Runtime::start(load(&house, &text).unwrap(), &[], None).unwrap();
        let args = serde_json::json!({ "query": "SELECT 1", "database": "analytics" });
        let error = block_on(runtime.call(call("database_query", args).role("Builder"))).envelope.error.unwrap();
        let names = error.message.contains("`database-server`");
        assert_eq!((error.code == 501, names), (is_named, is_named), "{text}: {error:#?}");
    }
}

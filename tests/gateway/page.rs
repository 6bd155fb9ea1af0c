//! Does the page for approvals let people decide, and nobody else? Over raw HTTP, and in a real browser.

use super::http::{self, Answer, Server, answer, call};
use super::peer::WATCHDOG;
use crate::support::block_on_within;
use crate::support::house::{self, House};
use crate::support::people::{self, Channel};
use crate::support::user::User;
use hermes_runtime::Runtime;
use hermes_runtime::address::HostPattern;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Starting a browser on a busy machine takes a while.
const BROWSER: Duration = Duration::from_secs(180);

/// A user whose agents are guests, so that what they write waits for a person; and an operator's token.
fn user() -> (User, String) {
    let user = User::new();
    user.configure("[approval]\npark_wait_seconds = 120\n");
    let shown = user.at_terminal(&["token", "add", "alice", "--operator"], &[]).exits(0).out;
    let token = shown.split_whitespace().find(|word| word.starts_with("hermes_operator_")).unwrap().to_owned();
    (user, token)
}

/// A browser without its pictures: it keeps a cookie and says where its forms come from.
struct Person {
    port: u16,
    cookie: String,
}

impl Person {
    fn sign_in(server: &Server, token: &str) -> Person {
        let mut person = Person { port: server.page.expect("the page is served"), cookie: String::new() };
        let entered = person.post("/login", &format!("token={token}"));
        assert_eq!(entered.status, 303, "{}", entered.body);
        let cookie = entered.head.split("set-cookie: ").nth(1).unwrap().lines().next().unwrap();
        for part in ["httponly", "samesite=strict", "path=/"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        // The answer's head is in small letters here, and a cookie is not.
        let value = person.raw("/login", &format!("token={token}"));
        let at = value.find("hermes_operator=").unwrap();
        person.cookie = value[at..].split(';').next().unwrap().to_owned();
        person
    }

    fn raw(&self, path: &str, form: &str) -> String {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(WATCHDOG)).unwrap();
        let head =
            format!("{}connection: close\r\ncontent-length: {}\r\n\r\n{form}", self.head("POST", path), form.len());
        stream.write_all(head.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    fn head(&self, method: &str, path: &str) -> String {
        let port = self.port;
        let cookie = if self.cookie.is_empty() { String::new() } else { format!("cookie: {}\r\n", self.cookie) };
        let form = match method {
            "POST" => format!("origin: http://127.0.0.1:{port}\r\ncontent-type: application/x-www-form-urlencoded\r\n"),
            _ => String::new(),
        };
        format!("{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n{cookie}{form}")
    }

    fn get(&self, path: &str) -> Answer {
        http::send(self.port, &self.head("GET", path), b"")
    }

    fn post(&self, path: &str, form: &str) -> Answer {
        http::send(self.port, &self.head("POST", path), form.as_bytes())
    }

    /// Sends the form of a page with the mark that is in it.
    fn say(&self, path: &str, form: &str) -> Answer {
        let page = self.get(path).body;
        let mark = page.split("name=\"mark\" value=\"").nth(1).unwrap_or_else(|| panic!("no form in {page}"));
        let mark = mark.split('"').next().unwrap();
        self.post(path, &format!("mark={mark}&{form}"))
    }

    /// The address of the request that waits, once one does.
    fn waiting(&self) -> String {
        let start = Instant::now();
        loop {
            let list = self.get("/").body;
            let first = list.split("<h2>Lately").next().unwrap();
            if let Some(rest) = first.split("href=\"/request/").nth(1) {
                return format!("/request/{}", rest.split('"').next().unwrap());
            }
            assert!(start.elapsed() < WATCHDOG, "nothing waits: {list}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

const WRITE: &str = r#"{"path":"n.txt","mode":"create","content":"hello <b>&amp;</b>"}"#;

/// Makes a call that waits, lets somebody decide meanwhile, and returns what the agent gets.
fn decided(server: &Server, arguments: &str, decide: impl FnOnce()) -> Value {
    let head = server.open();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| answer(&server.send(&head, call(7, "file_write", arguments).as_bytes()), 7));
        decide();
        waiting.join().unwrap()
    })
}

#[test]
fn a_yes_on_the_page_lets_the_waiting_call_go_on() {
    let (user, token) = user();
    let server = Server::start(&user);
    let person = Person::sign_in(&server, &token);
    let result = decided(&server, WRITE, || {
        let request = person.waiting();
        let page = person.get(&request);
        assert_eq!(page.status, 200);
        for text in [
            "file_write",
            "/workspace/n.txt",
            "&#34;content&#34;: &#34;hello &lt;b&gt;&amp;amp;&lt;/b&gt;&#34;",
            "token:agent as guest",
            "of 100",
            "left",
            "lower:",
            "id=\"once\"",
            "id=\"session\"",
            "id=\"until\"",
            "id=\"deny\"",
        ] {
            let numeric = text.replace("&lt;", "&#60;").replace("&gt;", "&#62;").replace("&amp;", "&#38;");
            assert!(page.body.contains(text) || page.body.contains(&numeric), "no `{text}` in {}", page.body);
        }
        assert!(user.workspace().is_empty(), "looking runs nothing");
        assert_eq!(person.say(&request, "say=once&minutes=60").status, 303);
        assert!(person.get(&request).body.contains("by operator alice on the page"));
        assert_eq!(person.post(&request, "say=deny").status, 403, "a form without the page's mark");
    });
    assert_eq!(result["result"]["isError"], false, "{result}");
    assert_eq!(std::fs::read_to_string(user.path("workspace/n.txt")).unwrap(), "hello <b>&amp;</b>");
    let records = super::peer::records(&user);
    assert_eq!(records.last().unwrap()["record"]["approver"], "operator alice on the page");
}

#[test]
fn a_no_tells_the_agent_why_and_the_first_answer_counts() {
    let (user, token) = user();
    let server = Server::start(&user);
    let person = Person::sign_in(&server, &token);
    let result = decided(&server, WRITE, || {
        let request = person.waiting();
        let page = person.get(&request).body;
        let mark = page.split("name=\"mark\" value=\"").nth(1).unwrap().split('"').next().unwrap();
        let form = |say: &str| person.post(&request, &format!("mark={mark}&{say}"));
        assert_eq!(form("say=deny&reason=use+another+name").status, 303);
        let late = form("say=once");
        assert_eq!(late.status, 409);
        assert!(late.body.contains("somebody else was first"), "{}", late.body);
    });
    assert_eq!(result["result"]["structuredContent"]["error"]["kind"], "approval_denied", "{result}");
    assert!(result.to_string().contains("use another name"));
    assert!(user.workspace().is_empty());
}

#[test]
fn only_an_operator_on_the_page_itself_gets_in() {
    let (user, token) = user();
    let server = Server::start(&user);
    let person = Person::sign_in(&server, &token);
    decided(&server, WRITE, || {
        let request = person.waiting();
        let page = person.get(&request).body;
        let mark = page.split("name=\"mark\" value=\"").nth(1).unwrap().split('"').next().unwrap();
        let form = format!("mark={mark}&say=once");
        let port = person.port;
        let own = format!("host: 127.0.0.1:{port}\r\n");
        let head = person.head("POST", &request);
        let refused = |head: &str, form: &str, status: u16, why: &str| {
            assert_eq!(http::send(port, head, form.as_bytes()).status, status, "{why}");
        };
        refused(&head.replace(&own, "host: evil.test:7358\r\n"), &form, 403, "a name that was made to lead here");
        refused(&head.replace("origin: http://127.0.0.1", "origin: http://evil.test"), &form, 403, "another page");
        refused(&head.replace(&format!("origin: http://127.0.0.1:{port}\r\n"), ""), &form, 403, "a form from nowhere");
        refused(&head.replace("origin: http", "origin: null\r\nx-a: http"), &form, 403, "a page in a frame");
        refused(&head, "say=once", 403, "no mark");
        refused(&head, &form.replace("mark=", "mark=A"), 403, "another mark");
        refused(&head.replace("hermes_operator=", "hermes_operator=A"), &form, 401, "another cookie");
        refused(&head.replace("cookie:", "x-cookie:"), &form, 401, "no cookie");
        let bearer = |token: &str| head.replace("cookie:", &format!("authorization: Bearer {token}\r\nx-cookie:"));
        refused(&bearer(&server.token), &form, 401, "an agent's token");
        refused(&bearer("hermes_operator_00"), &form, 401, "a token of nobody");
        refused(&head.replace("x-www-form-urlencoded", "json"), &form, 415, "no form");
        let agent = server.head().replace(&server.token, &token);
        assert_eq!(server.send(&agent, br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).status, 401);
        assert!(user.workspace().is_empty());
        let policy = person.get(&request).head;
        for part in ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "nosniff", "no-store"] {
            assert!(policy.contains(part), "no {part} in {policy}");
        }
        let stored = std::fs::read_to_string(user.state().join("tokens.toml")).unwrap();
        assert!(!stored.contains(&token), "the token itself is kept");
        refused(&bearer(&token), "say=deny", 303, "the token itself needs no mark");
    });
    user.run(&["token", "revoke", "alice"]).exits(0);
    assert_eq!(person.get("/").status, 401, "the cookie of a token that was taken back");
}

#[test]
fn what_an_agent_writes_is_shown_and_never_obeyed() {
    let (user, token) = user();
    let server = Server::start(&user);
    let person = Person::sign_in(&server, &token);
    let content = "</pre><script>document.forms[0].submit()</script>\u{202e}\u{1b}[2J";
    let arguments = json!({ "path": "\u{fc}.txt", "mode": "create", "content": content }).to_string();
    decided(&server, &arguments, || {
        let request = person.waiting();
        let page = person.get(&request).body;
        assert!(!page.contains("<script") && !page.contains('\u{202e}') && !page.contains('\u{1b}'), "{page}");
        assert!(page.contains("u{202e}") && page.contains("script"), "{page}");
        person.say(&request, "say=deny");
    });
}

#[test]
fn a_token_of_an_operator_decides_where_there_is_no_terminal() {
    let (user, token) = user();
    user.configure("[approval]\npark_wait_seconds = 0\n");
    let write = ["call", "file_write", "path=n.txt", "mode=create", "content=hello"];
    let id = user.run(&write).exits(7).json()["error"]["approval_id"].as_str().unwrap().to_owned();
    let file = user.write("outside/token", format!("{token}\n"));
    let file = file.to_str().unwrap();
    let approve = ["approvals", "approve", &id, "--operator-token-file", file];
    let mode = |mode: u32| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o644);
    user.run(&approve).exits(2).says(&["chmod 600"]);
    mode(0o600);
    let agent = super::peer::token(&user, "agent");
    let with = |token: &str, words: &[&str]| {
        let mut command = user.command(words);
        command.env("HERMES_OPERATOR_TOKEN", token);
        crate::support::user::finish(command.spawn().unwrap(), &[])
    };
    for wrong in [agent.as_str(), "", "hermes_operator_00"] {
        with(wrong, &["approvals", "approve", &id]).exits(6);
    }
    let approved = user.run(&approve).exits(0);
    assert!(approved.out.contains("\"content\": \"hello\""), "what is approved is shown whole: {}", approved.out);
    user.run(&write).exits(0);
    assert_eq!(user.workspace(), ["n.txt"]);
    let more = ["call", "file_write", "path=m.txt", "mode=create", "content=hello"];
    let id = user.run(&more).exits(7).json()["error"]["approval_id"].as_str().unwrap().to_owned();
    with(&token, &["approvals", "deny", &id, "--reason", "no"]).exits(0);
    assert_eq!(user.run(&more).exits(7).kind(), "approval_denied");
    with(&token, &["token", "add", "another"]).exits(0);
}

async fn browse(runtime: &Runtime, tool: &str, args: Value) -> Value {
    let envelope = runtime.call(house::call(tool, args)).await.envelope;
    assert_eq!(envelope.code(), 200, "{tool}: {:#?}", envelope.error);
    envelope.data
}

#[test]
fn a_person_with_a_real_browser_signs_in_reads_and_approves() {
    let (user, token) = user();
    let server = Server::start(&user);
    let page = server.page.unwrap();
    let house = House::with_files();
    let mut config = house.config();
    config.browser.private_hosts.push(HostPattern::parse(&format!("127.0.0.1:{page}")).unwrap());
    // Pages of the web may ask a person for what a click does; this person is the test itself.
    let runtime = house.start_with(config, Some(Arc::new(Channel::new(people::Person::Yes))));
    let result = decided(&server, WRITE, || {
        block_on_within(BROWSER, async {
            let at = crate::browser::reference;
            browse(&runtime, "browser_navigate", json!({ "url": format!("http://127.0.0.1:{page}/") })).await;
            let shown = browse(&runtime, "browser_snapshot", json!({})).await;
            browse(&runtime, "browser_type", json!({ "ref": at(&shown, "textbox"), "text": token })).await;
            browse(&runtime, "browser_click", json!({ "ref": at(&shown, "Sign in") })).await;
            let link = loop {
                let shown = browse(&runtime, "browser_snapshot", json!({})).await;
                // The list looks again by itself every few seconds, so a reference in it does not last.
                if let Some((_, link)) = shown["text"].as_str().unwrap().split_once("link \"file_write\" -> ") {
                    break link.split_whitespace().next().unwrap().to_owned();
                }
                browse(&runtime, "browser_navigate", json!({ "url": format!("http://127.0.0.1:{page}/") })).await;
            };
            browse(&runtime, "browser_navigate", json!({ "url": link })).await;
            let shown = browse(&runtime, "browser_snapshot", json!({})).await;
            assert!(shown["text"].as_str().unwrap().contains("/workspace/n.txt"), "{shown:#}");
            browse(&runtime, "browser_click", json!({ "ref": at(&shown, "Run it once") })).await;
            let shown = browse(&runtime, "browser_snapshot", json!({})).await;
            assert!(shown["text"].as_str().unwrap().contains("operator alice"), "{shown:#}");
        });
    });
    assert_eq!(result["result"]["isError"], false, "{result}");
    assert_eq!(user.workspace(), ["n.txt"]);
}

#[test]
fn a_monitor_reads_the_counts_with_an_operators_token_and_nobody_else() {
    let (user, token) = user();
    let server = Server::start(&user);
    let head = server.open();
    answer(&server.send(&head, call(1, "file_list", "{}").as_bytes()), 1);
    answer(&server.send(&head, call(2, "made_up", "{}").as_bytes()), 2);
    let port = server.page.unwrap();
    let ask = |method: &str, token: &str| {
        let head = format!("{method} /metrics HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {token}\r\n");
        http::send(port, &head, b"")
    };
    let counts = ask("GET", &token);
    assert_eq!(counts.status, 200, "{}", counts.body);
    assert!(counts.head.contains("content-type: text/plain; version=0.0.4"), "{}", counts.head);
    for line in [
        "hermes_calls_total{tool=\"file_list\",code=\"200\"} 1",
        "hermes_calls_total{tool=\"\",code=\"404\"} 1",
        "hermes_step_seconds_count{step=\"registry\"} 2",
        "hermes_step_seconds_count{step=\"sandbox\"} 1",
        "hermes_step_seconds_count{step=\"injection\"} 2",
        "hermes_call_seconds_count 2",
        "hermes_calls_running 0",
        "hermes_journal_queue_places 8192",
        "hermes_journal_failing 0",
    ] {
        assert!(counts.body.lines().any(|found| found == line), "no `{line}` in\n{}", counts.body);
    }
    assert!(!counts.body.contains("made_up"), "what a caller made up is no label");
    for wrong in [&server.token, "hermes_operator_0", ""] {
        assert_eq!(ask("GET", wrong).status, 401, "{wrong}");
    }
    assert_eq!(ask("POST", &token).status, 405);
    let elsewhere = format!("GET /metrics HTTP/1.1\r\nhost: example.org\r\nauthorization: Bearer {token}\r\n");
    assert_eq!(http::send(port, &elsewhere, b"").status, 403);
}

//! What happens at the limits that an operator sets, and when what is named is not there: no browser, no such tab, no
//! such element.

use super::*;
use crate::support::block_on_within;
use crate::support::user::User;

#[test]
fn without_a_browser_the_answer_says_how_to_get_one() {
    let house = House::with_files();
    let mut config = house.config();
    config.browser.program = Some(house.path("no-such-browser"));
    let runtime = house.start(config);
    block_on_within(WATCHDOG, async {
        let url = json!({ "url": "https://example.org/" });
        let envelope = fails(&runtime, "browser_navigate", url, 501, "browser_not_installed").await;
        let error = envelope.error.unwrap();
        let hint = error.hint.as_ref().unwrap();
        assert!(hint.contains("apt-get install chromium") && hint.contains("doctor"), "{hint}");
        assert!(!error.message.contains("no-such-browser"), "a host path is named: {}", error.message);
        assert_eq!(ok(&runtime, "terminal", json!({ "command": "echo fine" })).await["stdout"], "fine\n");
    });
    let user = User::new();
    user.configure("[browser]\nprogram = \"/no/such/browser\"\n");
    let said = user.run(&["doctor", "--output", "text"]).exits(0).out;
    assert!(said.lines().any(|line| line.starts_with("note  browser") && line.contains("out of service")), "{said}");
}

#[test]
fn a_session_has_no_more_tabs_than_it_may() {
    let server = Server::start();
    server.page(
        "/",
        "<title>one</title><button onclick=\"window.open('/other')\">Open</button><button onclick='window.close()'>Close</button>",
    );
    server.page("/other", "<title>other</title><button onclick='window.close()'>Leave</button>");
    let house = House::with_files();
    let mut config = config(&house, &[&server]);
    config.browser.tabs = 2;
    let runtime = house.start(config);
    block_on_within(WATCHDOG, async {
        let new_tab = json!({ "url": server.url("/"), "new_tab": true });
        for _ in 0..2 {
            ok(&runtime, "browser_navigate", new_tab.clone()).await;
        }
        let envelope = fails(&runtime, "browser_navigate", new_tab, 503, "too_many_tabs").await;
        assert!(envelope.error.unwrap().message.contains("2 tabs are open"));
        // A page gets no further either, and the answer says what it wanted.
        let shown = ok(&runtime, "browser_snapshot", empty()).await;
        let pressed = ok(&runtime, "browser_click", json!({ "ref": reference(&shown, "\"Open\"") })).await;
        let count = ok(&runtime, "browser_tabs", empty()).await["tabs"].as_array().map(Vec::len);
        assert_eq!(count, Some(2), "after {pressed:#}");
        let wanted = pressed["tabs_refused"][0].as_str().unwrap_or_default();
        assert!(wanted.is_empty() || wanted.contains("/other"), "{pressed:#}");
        assert!(pressed["tabs_refused"].as_array().is_some_and(|refused| refused.len() == 1), "{pressed:#}");
        // With one closed there is room again.
        ok(&runtime, "browser_close", json!({ "tab": 2 })).await;
        fails(&runtime, "browser_snapshot", json!({ "tab": 2 }), 502, "no_such_tab").await;
        fails(&runtime, "browser_navigate", json!({ "tab": 2, "url": server.url("/") }), 502, "no_such_tab").await;
        let shown = ok(&runtime, "browser_snapshot", json!({ "tab": 1 })).await;
        let again = ok(&runtime, "browser_click", json!({ "ref": reference(&shown, "\"Open\""), "tab": 1 })).await;
        assert!(again["new_tabs"][0].is_number(), "{again:#}");
    });
}

/// How soon a closed tab is noticed is the browser's affair; that it is noticed is ours.
#[test]
fn a_page_that_closes_its_own_tab_gives_its_place_back() {
    let server = Server::start();
    server.page("/", "<title>one</title><button onclick=\"window.open('/other')\">Open</button>");
    server.page("/other", "<title>other</title><button onclick='window.close()'>Leave</button>");
    let house = House::with_files();
    let mut config = config(&house, &[&server]);
    config.browser.tabs = 2;
    let runtime = house.start(config);
    block_on_within(WATCHDOG, async {
        ok(&runtime, "browser_navigate", json!({ "url": server.url("/") })).await;
        for _ in 0..3 {
            let shown = ok(&runtime, "browser_snapshot", json!({ "tab": 1 })).await;
            let opened = json!({ "ref": reference(&shown, "\"Open\""), "tab": 1 });
            let opened = ok(&runtime, "browser_click", opened).await;
            let other = opened["new_tabs"][0].clone();
            assert!(other.is_number(), "{opened:#}");
            let leave = ok(&runtime, "browser_snapshot", json!({ "tab": other })).await;
            ok(&runtime, "browser_click", json!({ "tab": other, "ref": reference(&leave, "Leave") })).await;
            while ok(&runtime, "browser_tabs", empty()).await["tabs"].as_array().map(Vec::len) != Some(1) {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
            fails(&runtime, "browser_click", json!({ "tab": other, "ref": "d1e1" }), 502, "no_such_tab").await;
        }
    });
}

#[test]
fn there_are_no_more_sessions_than_there_may_be() {
    let server = Server::start();
    server.page("/", "<title>open</title>");
    let house = House::with_files();
    let mut config = config(&house, &[&server]);
    config.browser.sessions = 1;
    let runtime = house.start(config);
    block_on_within(WATCHDOG, async {
        let visit = |who: &str| {
            let visit = call("browser_navigate", json!({ "url": server.url("/") }));
            runtime.call(session(visit, who))
        };
        assert_eq!(visit("a").await.envelope.code(), 200);
        let error = visit("b").await.envelope.error.unwrap();
        assert_eq!((error.code, error.reason.as_deref()), (503, Some("too_many_tabs")), "{error:#?}");
        assert!(error.message.contains("as many sessions"), "{error:#?}");
        let close = session(call("browser_close", json!({ "all": true })), "a");
        assert_eq!(runtime.call(close).await.envelope.code(), 200);
        assert_eq!(visit("b").await.envelope.code(), 200, "the place of a session that was closed is free");
    });
}

/// A page takes memory until it gets no more; its tab may break off, the browser and the runtime do not.
#[test]
fn a_page_gets_no_more_memory_than_it_may() {
    let server = Server::start();
    server.page(
        "/",
        "<title>greedy</title><script>
         const kept = [];
         setTimeout(() => { try { for (;;) kept.push(new Uint8Array(1 << 26).fill(7)); } catch (e) { document.title = 'full ' + e.name; } }, 50);
         </script>",
    );
    server.page("/good", "<title>good</title>");
    let house = House::with_files();
    let mut config = config(&house, &[&server]);
    config.browser.memory_mb = 1024;
    let runtime = house.start(config);
    block_on_within(WATCHDOG, async {
        let greedy = json!({ "url": server.url("/"), "timeout_seconds": 60 });
        let _ = runtime.call(call("browser_navigate", greedy)).await;
        let full = json!({ "function": "document.title + ' ' + kept.length", "timeout_seconds": 60 });
        let envelope = runtime.call(call("browser_evaluate", full)).await.envelope;
        match &envelope.error {
            // Sixteen pieces are a gibibyte.
            None => {
                let said = envelope.data["result"].as_str().unwrap();
                let pieces: u32 = said.rsplit(' ').next().unwrap().parse().unwrap();
                assert!(said.starts_with("full ") && pieces < 16, "{said}");
            }
            Some(error) => {
                let reasons = ["page_crashed", "no_such_tab", "element_unreachable", "browser_crashed"];
                assert!(reasons.contains(&error.reason.as_deref().unwrap_or_default()), "{error:#?}");
            }
        }
        let page = ok(&runtime, "browser_navigate", json!({ "url": server.url("/good") })).await;
        assert_eq!(page["title"], "good");
    });
}

#[test]
fn a_reference_that_is_none_gets_those_that_are_near() {
    let server = Server::start();
    let buttons: String = (0..30).map(|number| format!("<button>Button {number}</button>")).collect();
    server.page("/", format!("<title>buttons</title>{buttons}"));
    let house = House::with_files();
    let runtime = house.start(config(&house, &[&server]));
    block_on_within(WATCHDOG, async {
        ok(&runtime, "browser_navigate", json!({ "url": server.url("/") })).await;
        let shown = ok(&runtime, "browser_snapshot", empty()).await;
        let last = reference(&shown, "\"Button 29\"");
        let (document, element) = last.split_once('e').unwrap();
        let beyond = format!("{document}e{}", element.parse::<u64>().unwrap() + 1000);
        for (wrong, tool) in [(beyond.as_str(), "browser_click"), (beyond.as_str(), "browser_screenshot")] {
            let error = fails(&runtime, tool, json!({ "ref": wrong }), 502, "element_unreachable").await.error.unwrap();
            let hint = error.hint.as_ref().unwrap();
            assert!(error.message.contains(wrong), "{}", error.message);
            assert!(hint.contains(&format!("{last} (button \"Button 29\")")), "{tool}: {hint}");
        }
        let typed = json!({ "ref": beyond, "text": "x" });
        let error = fails(&runtime, "browser_type", typed, 502, "element_unreachable").await.error.unwrap();
        assert!(error.hint.as_ref().unwrap().contains("Button 29"));
        let unread = json!({ "ref": "the blue one" });
        let error = fails(&runtime, "browser_click", unread, 502, "element_unreachable").await.error.unwrap();
        assert!(error.message.contains("is no reference") && error.hint.as_ref().unwrap().contains("Button 0"));
    });
}

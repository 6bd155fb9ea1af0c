//! Does every wait end that a page or a server controls? Pages that never finish, scripts without end, frames that never
//! answer, huge documents, dialogs in a loop.

use super::*;
use crate::support::block_on_within;
use crate::support::server::Answer;

#[test]
fn a_frame_without_an_answer_does_not_hold_up_its_page() {
    let server = Server::start();
    server.answer("/silent", Answer::Silence);
    server.page(
        "/",
        "<title>frames</title><iframe srcdoc=\"<button onclick='this.textContent=1+1'>Inside</button>\"></iframe>
         <iframe src=/silent></iframe><div style='height:5000px'></div><iframe loading=lazy src=/lazy></iframe>",
    );
    let house = House::with_files();
    let runtime = house.start(config(&house, &[&server]));
    block_on_within(WATCHDOG, async {
        let args = json!({ "url": server.url("/"), "timeout_seconds": 20 });
        let page = ok(&runtime, "browser_navigate", args).await;
        assert_eq!(page["title"], "frames", "{page:#}");
        assert_eq!(page["pending_frames"].as_array().map(Vec::len), Some(1), "{page:#}");
        let shown = ok(&runtime, "browser_snapshot", empty()).await;
        let pressed = json!({ "ref": reference(&shown, "\"Inside\"") });
        ok(&runtime, "browser_click", pressed).await;
        let shown = ok(&runtime, "browser_snapshot", empty()).await;
        assert!(shown["text"].as_str().unwrap().contains("button \"2\""), "{shown:#}");
    });
}

#[test]
fn servers_that_fail_are_told_apart_and_spoil_nothing() {
    let server = Server::start();
    server.answer("/silent", Answer::Silence);
    server.answer("/hang-up", Answer::HangUp);
    server.page("/", "<title>good</title>");
    let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let house = House::with_files();
    let mut config = config(&house, &[&server]);
    config.browser.private_hosts.push(HostPattern::parse(&dead.to_string()).unwrap());
    let runtime = house.start(config);
    block_on_within(WATCHDOG, async {
        let refused = json!({ "url": format!("http://{dead}/") });
        let silent = json!({ "url": server.url("/silent"), "timeout_seconds": 2 });
        let hang_up = json!({ "url": server.url("/hang-up") });
        for (args, code, reason) in
            [(refused, 502, "page_load_failed"), (silent, 408, "timed_out"), (hang_up, 502, "page_load_failed")]
        {
            fails(&runtime, "browser_navigate", args, code, reason).await;
            let page = ok(&runtime, "browser_navigate", json!({ "url": server.url("/"), "new_tab": true })).await;
            assert_eq!(page["title"], "good");
            let tabs = ok(&runtime, "browser_tabs", empty()).await;
            assert_eq!(tabs["tabs"].as_array().unwrap().len(), 1, "a tab of a failed call is open: {tabs:#}");
            ok(&runtime, "browser_close", empty()).await;
        }
    });
}

#[test]
fn scripts_without_end_end_with_the_call() {
    let server = Server::start();
    server.page("/", "<title>busy</title><button onclick='for (;;);'>Hang</button>");
    server.page("/good", "<title>good</title>");
    let house = House::with_files();
    let runtime = house.start(config(&house, &[&server]));
    block_on_within(WATCHDOG, async {
        ok(&runtime, "browser_navigate", json!({ "url": server.url("/") })).await;
        let endless = json!({ "function": "for (;;); return 1", "timeout_seconds": 2 });
        fails(&runtime, "browser_evaluate", endless, 408, "page_unresponsive").await;
        let never = json!({ "function": "new Promise(() => {})", "timeout_seconds": 2 });
        fails(&runtime, "browser_evaluate", never, 408, "page_unresponsive").await;
        let three = ok(&runtime, "browser_evaluate", json!({ "function": "1 + 2" })).await;
        assert_eq!(three["result"], 3);
        let shown = ok(&runtime, "browser_snapshot", empty()).await;
        let hang = runtime.call(call("browser_click", json!({ "ref": reference(&shown, "Hang") }))).await.envelope;
        assert!(matches!(hang.code(), 200 | 408), "{:#?}", hang.error);
        let page = ok(&runtime, "browser_navigate", json!({ "url": server.url("/good") })).await;
        assert_eq!(page["title"], "good");
    });
}

#[test]
fn dialogs_are_answered_and_told_also_in_a_loop() {
    let server = Server::start();
    server.page(
        "/",
        "<title>dialogs</title><script>
         const yes = confirm('Delete all?'), said = prompt('Name?');
         for (let i = 0; i < 300; i++) alert('again ' + i);
         document.title = 'answered ' + yes + ' ' + said;
         </script>",
    );
    let house = House::with_files();
    let runtime = house.start(config(&house, &[&server]));
    block_on_within(WATCHDOG, async {
        let page = ok(&runtime, "browser_navigate", json!({ "url": server.url("/") })).await;
        assert_eq!(page["title"], "answered false null", "{page:#}");
        assert_eq!(page["dialogs"][0], json!({ "kind": "confirm", "text": "Delete all?", "answered": "no" }));
        assert!(
            page["dialogs"].as_array().unwrap().len() <= 100 && page["events_left_out"].as_u64() > Some(100),
            "{page:#}"
        );
    });
}

#[test]
fn a_huge_document_is_shown_in_part() {
    let server = Server::start();
    let rows: String = (0..6_000).map(|row| format!("<li><a href=/{row}>Row number {row}</a></li>")).collect();
    server.page("/", format!("<title>huge</title><h1>All rows</h1><ul>{rows}</ul>"));
    let house = House::with_files();
    let runtime = house.start(config(&house, &[&server]));
    block_on_within(WATCHDOG, async {
        ok(&runtime, "browser_navigate", json!({ "url": server.url("/"), "timeout_seconds": 60 })).await;
        let task = hermes_runtime::call::Situation { task: Some("open row number 5345".into()), ..Default::default() };
        let asked = call("browser_snapshot", empty()).situation(std::sync::Arc::new(task));
        let shown = runtime.call(asked).await.envelope;
        assert_eq!(shown.code(), 200, "{:#?}", shown.error);
        let text = shown.data["text"].as_str().unwrap();
        assert!(text.len() < 30_000 && shown.data["omitted_lines"].as_u64() > Some(1000), "{} bytes", text.len());
        assert!(text.contains("Row number 5345") && text.contains("All rows"), "{text}");
    });
}

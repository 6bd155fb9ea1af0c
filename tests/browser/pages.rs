//! What can be done on ordinary pages: forms, links, frames, shadow roots, pages that change by script.

use super::*;
use crate::support::block_on_within;

#[test]
fn a_page_is_read_and_used_by_references() {
    let server = Server::start();
    server.page(
        "/",
        "<title>Start</title><h1>Welcome</h1><label>Name <input id=n></label>
         <button onclick=\"document.title='Hello ' + n.value; this.textContent='Done'\">Greet</button>
         <a href='/next'>Next page</a>",
    );
    server.page("/next", "<title>Next</title><p>You have arrived</p>");
    let house = House::with_files();
    let runtime = house.start(config(&house, &[&server]));
    block_on_within(WATCHDOG, async {
        let page = ok(&runtime, "browser_navigate", json!({ "url": server.url("/") })).await;
        assert_eq!((page["title"].as_str(), page["status"].as_u64()), (Some("Start"), Some(200)), "{page:#}");
        let shown = ok(&runtime, "browser_snapshot", empty()).await;
        let typed = json!({ "ref": reference(&shown, "textbox \"Name\""), "text": "Ada" });
        ok(&runtime, "browser_type", typed).await;
        let pressed = ok(&runtime, "browser_click", json!({ "ref": reference(&shown, "Greet") })).await;
        assert_eq!(pressed["title"], "Hello Ada", "{pressed:#}");
        let moved = ok(&runtime, "browser_click", json!({ "ref": reference(&shown, "Next page") })).await;
        assert_eq!((moved["title"].as_str(), moved["new_page"].as_bool()), (Some("Next"), Some(true)), "{moved:#}");
        let shown = ok(&runtime, "browser_snapshot", empty()).await;
        assert!(shown["text"].as_str().unwrap().contains("You have arrived"), "{shown:#}");
    });
}

#[test]
fn frames_and_shadow_roots_are_read_and_pressed() {
    let server = Server::start();
    let port = server.port();
    server.page(
        "/",
        format!(
            "<title>outer</title><div style='height:300px'>top</div>
             <iframe src='http://other.example:{port}/inner' style='margin:40px;border:7px solid'></iframe>
             <open-box></open-box><closed-box></closed-box><p id=out></p>
             <script>
             for (const [name, mode] of [['open-box', 'open'], ['closed-box', 'closed']])
               customElements.define(name, class extends HTMLElement {{
                 constructor() {{
                   super();
                   const button = document.createElement('button');
                   button.textContent = mode + ' shadow';
                   button.onclick = () => out.textContent += ' pressed-' + mode;
                   this.attachShadow({{ mode }}).append(button);
                 }}
               }});
             addEventListener('message', (event) => out.textContent += ' ' + event.data);
             </script>"
        ),
    );
    server.page(
        "/inner",
        "<div style='height:120px'></div><button onclick=\"parent.postMessage('pressed-frame', '*')\">In the frame</button>",
    );
    let house = House::with_files();
    let mut config = config(&house, &[&server]);
    config.browser.names.insert("other.example".into(), "127.0.0.1".parse().unwrap());
    config.browser.private_hosts.push(HostPattern::parse("other.example").unwrap());
    let runtime = house.start(config);
    block_on_within(WATCHDOG, async {
        ok(&runtime, "browser_navigate", json!({ "url": server.url("/") })).await;
        let shown = ok(&runtime, "browser_snapshot", empty()).await;
        for name in ["open shadow", "closed shadow", "In the frame"] {
            ok(&runtime, "browser_click", json!({ "ref": reference(&shown, name) })).await;
        }
        ok(&runtime, "browser_wait", json!({ "text": "pressed-open pressed-closed pressed-frame" })).await;
    });
}

#[test]
fn a_page_that_changes_by_script_is_followed() {
    let server = Server::start();
    server.page(
        "/",
        "<title>app</title><select aria-label=Size><option value=s>Small<option value=l>Large</select>
         <input aria-label=Find><p id=out></p><button disabled>Never</button>
         <div style='position:relative'><button id=b>Covered</button><div style='position:absolute;inset:0;background:#fff'>veil</div></div>
         <a href=/gone target=_blank>Elsewhere</a>
         <script>
         document.querySelector('select').onchange = (e) => out.textContent = 'size ' + e.target.value;
         document.querySelector('input').onkeydown = (e) => {
           if (e.key === 'Enter') setTimeout(() => { history.pushState(0, '', '/found'); document.title = 'found ' + e.target.value; }, 50);
         };
         console.error('trouble', { a: 1 });
         setTimeout(() => window.open('/popup'), 10);
         </script>",
    );
    server.page("/popup", "<title>popup</title>");
    server.page("/gone", "<title>elsewhere</title>");
    let house = House::with_files();
    let runtime = house.start(config(&house, &[&server]));
    block_on_within(WATCHDOG, async {
        let page = ok(&runtime, "browser_navigate", json!({ "url": server.url("/") })).await;
        assert!(page["console"][0].as_str().unwrap().contains("trouble"), "{page:#}");
        let shown = ok(&runtime, "browser_snapshot", empty()).await;
        let size = reference(&shown, "\"Size\"");
        let chosen = ok(&runtime, "browser_select", json!({ "ref": size, "values": ["Large"] })).await;
        assert_eq!(chosen["selected"], json!(["l"]));
        ok(&runtime, "browser_wait", json!({ "text": "size l" })).await;
        let missing =
            fails(&runtime, "browser_select", json!({ "ref": size, "values": ["XXL"] }), 502, "option_not_found");
        assert!(missing.await.error.unwrap().hint.as_ref().unwrap().contains("l (Large)"));
        for (name, why) in [("Never", "disabled"), ("\"Covered\"", "beneath")] {
            let args = json!({ "ref": reference(&shown, name) });
            let error = fails(&runtime, "browser_click", args, 502, "element_unreachable").await.error.unwrap();
            assert!(error.message.contains(why), "{error:#?}");
        }
        let find = reference(&shown, "\"Find\"");
        ok(&runtime, "browser_type", json!({ "ref": find, "text": "grün \"1\"", "submit": true })).await;
        ok(&runtime, "browser_wait", json!({ "seconds": 1 })).await;
        let shown = ok(&runtime, "browser_snapshot", empty()).await;
        assert_eq!(shown["title"], "found grün \"1\"", "{shown:#}");
        assert!(shown["url"].as_str().unwrap().ends_with("/found"));
        // The reference is as good as before: the document is the same.
        ok(&runtime, "browser_press", json!({ "ref": find, "key": "Control+a" })).await;
        let opened = ok(&runtime, "browser_click", json!({ "ref": reference(&shown, "Elsewhere") })).await;
        let tabs = ok(&runtime, "browser_tabs", empty()).await;
        let titles: Vec<&str> =
            tabs["tabs"].as_array().unwrap().iter().map(|tab| tab["title"].as_str().unwrap()).collect();
        assert!(titles.contains(&"popup") && titles.contains(&"elsewhere"), "{tabs:#} after {opened:#}");
        assert_eq!(opened["new_tabs"].as_array().map(Vec::len), Some(1), "{opened:#}");
        let other = json!({ "tab": opened["new_tabs"][0] });
        assert_eq!(ok(&runtime, "browser_snapshot", other).await["title"], "elsewhere");
    });
}

#[test]
fn a_reference_never_comes_to_mean_another_element() {
    let server = Server::start();
    server.page("/one", "<title>one</title><button onclick=\"document.title='wrong'\">First</button>");
    server.page("/two", "<title>two</title><button onclick=\"document.title='wrong'\">Second</button>");
    let house = House::with_files();
    let runtime = house.start(config(&house, &[&server]));
    block_on_within(WATCHDOG, async {
        ok(&runtime, "browser_navigate", json!({ "url": server.url("/one") })).await;
        let shown = ok(&runtime, "browser_snapshot", empty()).await;
        let old = reference(&shown, "First");
        ok(&runtime, "browser_navigate", json!({ "url": server.url("/two") })).await;
        let error =
            fails(&runtime, "browser_click", json!({ "ref": old }), 502, "element_unreachable").await.error.unwrap();
        assert!(error.hint.as_ref().unwrap().contains("button \"Second\""));
        let page = ok(&runtime, "browser_tabs", empty()).await;
        assert_eq!(page["tabs"][0]["title"], "two");
        ok(&runtime, "browser_close", empty()).await;
        fails(&runtime, "browser_snapshot", json!({ "tab": 1 }), 502, "no_such_tab").await;
    });
}

#[test]
fn a_title_that_is_half_a_character_spoils_nothing() {
    let server = Server::start();
    server.page("/", "<script>document.title = 'a\\ud83db'</script><p>\\ud83d</p><button>x</button>");
    let house = House::with_files();
    let runtime = house.start(config(&house, &[&server]));
    block_on_within(WATCHDOG, async {
        let page = ok(&runtime, "browser_navigate", json!({ "url": server.url("/") })).await;
        assert_eq!(page["title"], "a\u{fffd}b");
        let half = json!({ "function": "'\\ud83d' + document.title" });
        let half = runtime.call(call("browser_evaluate", half)).await.envelope;
        assert!(half.code() == 403 || half.data["result"] == "\u{fffd}a\u{fffd}b", "{half:#?}");
        let shown = ok(&runtime, "browser_snapshot", empty()).await;
        assert_eq!(shown["title"], "a\u{fffd}b");
    });
}

#[test]
fn sessions_see_nothing_of_each_other() {
    let server = Server::start();
    server.page(
        "/",
        "<script>document.cookie ||= 'who=' + location.search.slice(1); document.title = document.cookie</script>",
    );
    let house = House::with_files();
    let runtime = house.start(config(&house, &[&server]));
    block_on_within(WATCHDOG, async {
        for who in ["a", "b", "a"] {
            let visit = call("browser_navigate", json!({ "url": server.url(&format!("/?{who}")) }));
            let page = runtime.call(session(visit, who)).await.envelope;
            assert_eq!(page.data["title"], format!("who={who}"), "{page:#?}");
            let tabs = runtime.call(session(call("browser_tabs", empty()), who)).await.envelope;
            assert_eq!(tabs.data["tabs"].as_array().map(Vec::len), Some(1), "{tabs:#?}");
        }
    });
}

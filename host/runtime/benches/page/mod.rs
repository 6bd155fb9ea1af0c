//! Which page is visited, and what does the browser take for it without the runtime: started by its own library, with no
//! proxy and no sandbox around it.

use chromiumoxide::cdp::browser_protocol::accessibility::GetFullAxTreeParams;
use chromiumoxide::types::{Command, Method, MethodId};
use chromiumoxide::{Browser, BrowserConfig, Page};
use futures_util::StreamExt;
use serde::Serialize;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

/// A page with forms, lists, tables and text.
pub(crate) fn of_elements(count: usize) -> String {
    let part = |n: usize| match n % 5 {
        0 => format!("<h2>Section {n}</h2>"),
        1 => format!("<p>Some words about number {n} that somebody wrote for others to read.</p>"),
        2 => format!("<a href='/{n}'>Link to number {n}</a>"),
        3 => format!("<label>Field {n} <input name=f{n}></label>"),
        _ => format!("<button id=b{n}>Button {n}</button>"),
    };
    format!("<!doctype html><title>page</title><main>{}</main>", (0..count).map(part).collect::<String>())
}

/// A page that is one long list of links.
pub(crate) fn of_links(count: usize) -> String {
    let rows: String = (0..count).map(|row| format!("<li><a href=/{row}>Row number {row}</a></li>")).collect();
    format!("<!doctype html><title>links</title><h1>All rows</h1><ul>{rows}</ul>")
}

/// Serves one page on this machine.
pub(crate) struct Server(SocketAddr);

impl Server {
    pub(crate) fn start(body: &str) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        // The thread ends with the process.
        std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| serve(stream, &answer)));
        Server(address)
    }

    pub(crate) fn host(&self) -> String {
        self.0.to_string()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.0)
    }
}

fn serve(mut stream: TcpStream, answer: &str) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
    let _ = stream.read(&mut [0; 4096]);
    let _ = stream.write_all(answer.as_bytes());
}

/// A browser that nothing of ours is around.
pub(crate) struct Alone {
    browser: Browser,
    page: Page,
    events: tokio::task::JoinHandle<()>,
}

/// The same request with its answer unread: a newer browser says more than the library's types know.
#[derive(Debug, Serialize)]
struct Tree(GetFullAxTreeParams);

impl Method for Tree {
    fn identifier(&self) -> MethodId {
        self.0.identifier()
    }
}

impl Command for Tree {
    type Response = Value;
}

impl Alone {
    pub(crate) async fn start(profile: &Path) -> Alone {
        // The page is the bench's own, so that the administrator's missing sandbox is no danger.
        let config = BrowserConfig::builder().no_sandbox().user_data_dir(profile).window_size(1280, 800);
        let config = config.request_timeout(Duration::from_secs(300)).build();
        let (browser, mut handler) =
            Browser::launch(config.unwrap()).await.expect("run `just bench`, which installs Chromium");
        let events = tokio::spawn(async move { while handler.next().await.is_some() {} });
        let page = browser.new_page("about:blank").await.unwrap();
        Alone { browser, page, events }
    }

    /// How long the page took, how long its tree, and how many bytes that has.
    pub(crate) async fn visit(&self, url: &str) -> (Duration, Duration, usize) {
        let started = Instant::now();
        self.page.goto(url).await.unwrap();
        let there = started.elapsed();
        let started = Instant::now();
        let tree = self.page.execute(Tree(GetFullAxTreeParams::default())).await.unwrap();
        let read = started.elapsed();
        (there, read, tree.result.to_string().len())
    }

    pub(crate) async fn end(mut self) {
        let _ = self.browser.close().await;
        let _ = self.browser.wait().await;
        self.events.abort();
    }
}

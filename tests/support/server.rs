//! What serves the pages of a test? A small server on this machine's own address that says what it is told to, slowly,
//! wrongly or not at all where a test wants that, and remembers who asked for what.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What a path answers with.
#[derive(Clone)]
pub(crate) enum Answer {
    /// A page.
    Page(String),
    /// A script.
    Script(String),
    /// Somewhere else.
    Redirect(String),
    /// Nothing, for as long as the server is there.
    Silence,
    /// A file of so many bytes, with the head that announces it.
    File(String, u64),
    /// A connection that is closed at once.
    HangUp,
}

/// A server that ends with the test.
pub(crate) struct Server {
    address: SocketAddr,
    paths: Arc<Mutex<HashMap<String, Answer>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) fn start() -> Server {
        Server::start_at("127.0.0.1:0")
    }

    pub(crate) fn start_at(address: &str) -> Server {
        let listener = TcpListener::bind(address).unwrap();
        let server = Server { address: listener.local_addr().unwrap(), paths: Arc::default(), asked: Arc::default() };
        let (paths, asked) = (server.paths.clone(), server.asked.clone());
        std::thread::spawn(move || {
            // The thread ends with the process; a test needs no more.
            for stream in listener.incoming().flatten() {
                let (paths, asked) = (paths.clone(), asked.clone());
                std::thread::spawn(move || answer(stream, &paths, &asked));
            }
        });
        server
    }

    /// Sets what a path answers with.
    pub(crate) fn page(&self, path: &str, body: impl Into<String>) {
        self.answer(path, Answer::Page(body.into()));
    }

    pub(crate) fn answer(&self, path: &str, answer: Answer) {
        self.paths.lock().unwrap().insert(path.to_owned(), answer);
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// The address of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The host and port.
    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    /// Everything that was asked for, in order: `GET /path`. A connection without a request is `connected`.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn answer(mut stream: TcpStream, paths: &Mutex<HashMap<String, Answer>>, asked: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    let mut byte = [0; 1];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => {
                asked.lock().unwrap().push("connected".into());
                return;
            }
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut words = head.split_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    asked.lock().unwrap().push(format!("{method} {target}"));
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let found = paths.lock().unwrap().get(path).cloned();
    let whole = |status: &str, kind: &str, extra: &str, body: &str| {
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{extra}Connection: close\r\n\r\n{body}",
            body.len()
        )
    };
    let text = match found {
        Some(Answer::Page(body)) => whole("200 OK", "text/html; charset=utf-8", "", &body),
        Some(Answer::Script(body)) => whole("200 OK", "text/javascript", "", &body),
        Some(Answer::Redirect(to)) => whole("302 Found", "text/plain", &format!("Location: {to}\r\n"), ""),
        Some(Answer::Silence) => {
            let _ = stream.read(&mut byte);
            return;
        }
        Some(Answer::HangUp) => return,
        Some(Answer::File(disposition, size)) => return send_file(stream, &disposition, size),
        None => whole("404 Not Found", "text/html", "", "<title>nothing</title>"),
    };
    let _ = stream.write_all(text.as_bytes());
}

fn send_file(mut stream: TcpStream, disposition: &str, size: u64) {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Disposition: {disposition}\r\n\
         Content-Length: {size}\r\nConnection: close\r\n\r\n"
    );
    if stream.write_all(head.as_bytes()).is_err() {
        return;
    }
    let part = [b'x'; 64 << 10];
    let mut left = size;
    while left > 0 {
        let count = left.min(part.len() as u64) as usize;
        if stream.write_all(&part[..count]).is_err() {
            return;
        }
        left -= count as u64;
    }
}

//! What do other machines say in a test? A server on a free port of this machine, whose answers the test wrote down
//! before. The component reaches it through the runtime's real capabilities: requests, servers of the Model Context
//! Protocol and pages of a browser all come here.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Largest head and body of a request that are read, in bytes.
const LARGEST: u64 = 16 << 20;
/// How long a connection may be silent.
const SILENT: Duration = Duration::from_secs(5);

/// What is answered to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A whole answer.
    Whole {
        /// Its status, for example 200.
        status: u16,
        /// What its body is.
        media_type: String,
        /// The body.
        body: Vec<u8>,
    },
    /// The connection ends after so many bytes of a body that was announced as longer.
    Cut(usize),
    /// What is no HTTP.
    Garbage,
    /// JSON with status 200, a byte at a time; all of it comes.
    Dribble,
    /// One byte of the body every tenth of a second, for ever.
    Slow,
    /// Nothing, for ever.
    Silent,
}

impl Reply {
    /// JSON with status 200.
    pub fn json(value: &Value) -> Reply {
        Reply::Whole { status: 200, media_type: "application/json".into(), body: value.to_string().into_bytes() }
    }

    /// A page with status 200.
    pub fn page(html: &str) -> Reply {
        Reply::Whole { status: 200, media_type: "text/html; charset=utf-8".into(), body: html.as_bytes().to_vec() }
    }

    /// A text with another status.
    pub fn status(status: u16, body: &str) -> Reply {
        Reply::Whole { status, media_type: "text/plain".into(), body: body.as_bytes().to_vec() }
    }
}

/// A request that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// For example `GET`.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Fields of the head, names in small letters.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: String,
}

/// Answers by method and path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    /// Each is given once, the last one again and again.
    replies: BTreeMap<(String, String), Vec<Reply>>,
    /// What is answered to everything else.
    pub(crate) otherwise: Option<Reply>,
    /// Tools of a server of the Model Context Protocol at `/mcp`: description and schema, and what a call gives.
    tools: Vec<(Value, Value)>,
}

impl Script {
    pub(crate) fn reply(&mut self, method: &str, path: &str, reply: Reply) {
        self.replies.entry((method.to_owned(), path.to_owned())).or_default().push(reply);
    }

    pub(crate) fn tool(&mut self, name: &str, schema: Value, result: Value) {
        self.tools.push((json!({ "name": name, "description": name, "inputSchema": schema }), result));
    }

    pub(crate) fn has_tools(&self) -> bool {
        !self.tools.is_empty()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.replies.is_empty() && self.tools.is_empty() && self.otherwise.is_none()
    }

    fn answer(&mut self, request: &Arrived) -> Reply {
        let path = request.path.split('?').next().unwrap_or_default().to_owned();
        for path in [request.path.clone(), path.clone()] {
            if let Some(replies) = self.replies.get_mut(&(request.method.clone(), path)) {
                return if replies.len() > 1 { replies.remove(0) } else { replies[0].clone() };
            }
        }
        if path == "/mcp" && !self.tools.is_empty() {
            return self.protocol(request);
        }
        self.otherwise.clone().unwrap_or_else(|| Reply::status(404, "the test has no answer to this request"))
    }

    /// The little of the Model Context Protocol that a server with tools needs.
    fn protocol(&self, request: &Arrived) -> Reply {
        if request.method != "POST" {
            return Reply::status(405, "");
        }
        let Ok(message) = serde_json::from_str::<Value>(&request.body) else { return Reply::status(400, "no JSON") };
        let Some(id) = message.get("id") else { return Reply::status(202, "") };
        let known = |name: &Value| self.tools.iter().find(|(tool, _)| tool["name"] == *name);
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": message["params"]["protocolVersion"], "capabilities": { "tools": {} },
                "serverInfo": { "name": "scripted", "version": "1" },
            }),
            Some("tools/list") => json!({ "tools": self.tools.iter().map(|(tool, _)| tool).collect::<Vec<_>>() }),
            Some("tools/call") => match known(&message["params"]["name"]) {
                Some((_, result)) => result.clone(),
                None => return Reply::json(&failed(id, -32602, "no such tool")),
            },
            Some("ping") => json!({}),
            _ => return Reply::json(&failed(id, -32601, "no such method")),
        };
        Reply::json(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }
}

fn failed(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

/// The server. Lifetime: the bench.
pub(crate) struct Elsewhere {
    pub(crate) address: SocketAddr,
    arrived: Arc<Mutex<Vec<Arrived>>>,
    over: Arc<AtomicBool>,
    listens: Option<JoinHandle<()>>,
}

impl Elsewhere {
    pub(crate) fn start(script: Script) -> std::io::Result<Elsewhere> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let (arrived, over) = (Arc::<Mutex<Vec<Arrived>>>::default(), Arc::<AtomicBool>::default());
        let script = Arc::new(Mutex::new(script));
        let (kept, end) = (arrived.clone(), over.clone());
        let listens = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if end.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let (script, kept, end) = (script.clone(), kept.clone(), end.clone());
                // It ends with its connection, which is silent for a bounded time only.
                std::thread::spawn(move || drop(serve(stream, &script, &kept, &end)));
            }
        });
        Ok(Elsewhere { address, arrived, over, listens: Some(listens) })
    }

    pub(crate) fn arrived(&self) -> Vec<Arrived> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // The listener looks up once somebody knocks.
        let _ = TcpStream::connect(self.address);
        if let Some(listens) = self.listens.take() {
            let _ = listens.join();
        }
    }
}

fn serve(
    stream: TcpStream,
    script: &Mutex<Script>,
    kept: &Mutex<Vec<Arrived>>,
    end: &AtomicBool,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(SILENT))?;
    stream.set_write_timeout(Some(SILENT))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    while let Some(request) = read(&mut reader)? {
        let reply = script.lock().unwrap_or_else(PoisonError::into_inner).answer(&request);
        let is_head = request.method == "HEAD";
        kept.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        match reply {
            Reply::Whole { status, media_type, body } => {
                let head = format!(
                    "HTTP/1.1 {status} -\r\ncontent-type: {media_type}\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                );
                stream.write_all(head.as_bytes())?;
                stream.write_all(if is_head { &[] } else { &body })?;
            }
            Reply::Cut(sent) => {
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", sent + 1000);
                stream.write_all(head.as_bytes())?;
                return stream.write_all(&vec![b' '; sent]);
            }
            Reply::Garbage => return stream.write_all(b"\x00\xff garbage\r\n\r\n"),
            Reply::Dribble => {
                let body = b"{\"n\": 1, \"list\": [1, 2.5, null, \"x\"]}";
                let head = format!(
                    "HTTP/1.1 200 -\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                );
                stream.write_all(head.as_bytes())?;
                for byte in body {
                    stream.write_all(&[*byte])?;
                    stream.flush()?;
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            Reply::Slow => {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")?;
                while !end.load(Ordering::Relaxed) {
                    stream.write_all(b" ")?;
                    std::thread::sleep(Duration::from_millis(100));
                }
                return Ok(());
            }
            Reply::Silent => {
                // The other side gives up, or the bench is over.
                while !end.load(Ordering::Relaxed) && stream.peek(&mut [0]).is_err() {}
                return Ok(());
            }
        }
    }
    Ok(())
}

/// One request; `None` when the connection has ended.
fn read(reader: &mut BufReader<TcpStream>) -> std::io::Result<Option<Arrived>> {
    let mut line = String::new();
    let mut head = reader.by_ref().take(LARGEST);
    if head.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        if head.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    let length = headers.get("content-length").and_then(|length| length.parse::<u64>().ok()).unwrap_or(0);
    let mut body = Vec::new();
    reader.by_ref().take(length.min(LARGEST)).read_to_end(&mut body)?;
    Ok(Some(Arrived { method, path, headers, body: String::from_utf8_lossy(&body).into_owned() }))
}

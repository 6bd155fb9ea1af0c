//! Many clients over HTTP, each with a connection and a session of its own.

use crate::LOST;
use crate::options::{Options, Tally, hello, ready};
use http::{HeaderMap, Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::sync::Arc;
use std::time::Instant;
use tokio::net::TcpStream;

struct Client {
    sender: SendRequest<Full<Bytes>>,
    uri: Uri,
    token: Option<String>,
    session: Option<String>,
}

pub(crate) async fn run(options: &Options) -> Result<(), String> {
    let uri: Uri = options.plain.first().and_then(|url| url.parse().ok()).ok_or("which URL?")?;
    let (clients, calls) = (options.number(1)?, options.number(2)?);
    let mut opened = Vec::new();
    for _ in 0..clients {
        opened.push(Client::open(&uri, options.token.clone()).await?);
    }
    let began = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for (index, mut client) in opened.into_iter().enumerate() {
        let bodies: Vec<Value> = (0..calls / clients).map(|call| options.call(index * 1_000_000 + call)).collect();
        let bodies: Arc<[Value]> = bodies.into();
        tasks.spawn(async move {
            let mut tally = Tally::default();
            for body in bodies.iter() {
                let sent = Instant::now();
                let number = body["id"].as_u64().unwrap_or_default() as usize;
                match tokio::time::timeout(LOST, client.ask(body)).await {
                    Ok(Ok(answer)) => tally.count(number, &answer, sent.elapsed()),
                    Ok(Err(why)) => tally.fail(why),
                    Err(_) => break,
                }
            }
            tally
        });
    }
    let mut tally = Tally::default();
    while let Some(done) = tasks.join_next().await {
        tally.add(done.map_err(|error| error.to_string())?);
    }
    tally.report(calls / clients * clients, began.elapsed());
    Ok(())
}

impl Client {
    async fn open(uri: &Uri, token: Option<String>) -> Result<Client, String> {
        let authority = uri.authority().ok_or("the URL has no host")?.as_str();
        let stream = TcpStream::connect(authority).await.map_err(|error| error.to_string())?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
        tokio::spawn(connection);
        let mut client = Client { sender, uri: uri.clone(), token, session: None };
        let answer = client.send(&hello()).await?;
        client.session = text(answer.headers(), "mcp-session-id");
        read(answer).await?;
        client.send(&ready()).await?.into_body().collect().await.map_err(|error| error.to_string())?;
        Ok(client)
    }

    async fn ask(&mut self, message: &Value) -> Result<Value, String> {
        let answer = self.send(message).await?;
        read(answer).await
    }

    async fn send(&mut self, message: &Value) -> Result<Response<Incoming>, String> {
        let mut request = Request::post(self.uri.path())
            .header("host", self.uri.authority().map_or("", |host| host.as_str()))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session).header("mcp-protocol-version", "2025-11-25");
        }
        let request = request.body(Full::new(Bytes::from(message.to_string()))).map_err(|error| error.to_string())?;
        self.sender.ready().await.map_err(|error| error.to_string())?;
        self.sender.send_request(request).await.map_err(|error| error.to_string())
    }
}

/// The message in an answer, which is JSON or a stream of events.
async fn read(answer: Response<Incoming>) -> Result<Value, String> {
    let status = answer.status();
    let body = answer.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
    let body = String::from_utf8_lossy(&body);
    let mut data =
        body.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim).filter(|data| !data.is_empty());
    let message = data.next_back().unwrap_or(&body);
    serde_json::from_str(message).map_err(|_| format!("{status}: {body}"))
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

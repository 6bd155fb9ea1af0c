//! What leaves for other hosts, and what of the answer does anybody see? A server on this machine is the other host.

use crate::support::house::{House, call};
use crate::support::{block_on, records};
use hermes_runtime::config::{Config, Origin, Source};
use hermes_runtime::envelope::Envelope;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

const SECRET: &str = "s3cr3t-Wert-4711";

/// A server that keeps what it was sent.
pub(crate) struct Server {
    pub(crate) port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Answers every request by what a function makes of its head.
    pub(crate) fn start(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, heads) = (listener.local_addr().unwrap().port(), Arc::<Mutex<Vec<String>>>::default());
        let kept = heads.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let head = head(&stream);
                kept.lock().unwrap().push(head.clone());
                let _ = stream.write_all(&answer(&head));
            }
        });
        Server { port, heads }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn head(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while reader.read_line(&mut head).is_ok_and(|read| read > 2) {}
    let length =
        head.to_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    let _ = reader.read_exact(&mut body);
    head + &String::from_utf8_lossy(&body)
}

pub(crate) fn ok(type_: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: {type_}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

pub(crate) fn config(house: &House, text: &str) -> Config {
    let origin = Origin::User(house.path("hermes.toml"));
    Config::load(house.config(), &[Source { origin, text: text.into(), trusted: true }]).unwrap().config
}

pub(crate) fn grant(port: u16) -> String {
    format!("[[http.grants]]\norigin = 'http://127.0.0.1:{port}'\nprivate = true\n")
}

/// Calls `http_get` in a house with these settings; returns the answer and the call's whole record.
fn get(house: &House, settings: &str, args: Value) -> (Envelope, Value) {
    let runtime = house.start(config(house, settings));
    let state = runtime.config().state_dir.clone();
    let answer = block_on(async {
        let answer = runtime.call(call("http_get", args)).await.envelope;
        runtime.flush().await;
        answer
    });
    let (_, outcome) = records::of_call(&state, &answer.metadata.call_id);
    (answer, serde_json::to_value(outcome).unwrap())
}

#[test]
fn a_credential_goes_along_and_nobody_sees_it() {
    use base64::Engine;
    let server = Server::start(|head| {
        let packed = base64::engine::general_purpose::STANDARD.encode(format!("user:{SECRET}"));
        ok("application/json", &json!({ "echo": head, "packed": packed }).to_string())
    });
    let house = House::with_files();
    std::fs::write(house.path("api-key"), format!("{SECRET}\n")).unwrap();
    let settings = format!(
        "{}[secrets.api]\nfile = '{}'\nadapters = ['custom']\norigins = ['http://127.0.0.1:{}']\nheader = 'authorization'\n",
        grant(server.port),
        house.path("api-key").display(),
        server.port
    );
    let (answer, record) = get(&house, &settings, json!({ "url": server.url("/me") }));
    assert!(server.heads()[0].contains(&format!("authorization: Bearer {SECRET}")), "{:?}", server.heads());
    assert_eq!(answer.code(), 200, "{answer:#?}");
    let shown = serde_json::to_string(&answer).unwrap();
    assert!(answer.data["json"]["echo"].as_str().unwrap().contains("authorization: Bearer [secret api]"), "{shown}");
    assert!(answer.data["json"]["packed"].as_str().unwrap().contains("[secret api]"), "{shown}");
    for text in [shown, record.to_string()] {
        assert!(!text.contains(SECRET) && !text.contains("4711"), "{text}");
    }
}

#[test]
fn a_credential_stays_with_its_origin() {
    let other = Server::start(|_| ok("text/plain", "elsewhere"));
    let there = other.url("/stolen");
    let server = Server::start(move |_| {
        format!("HTTP/1.1 302 Found\r\nlocation: {there}\r\ncontent-length: 0\r\n\r\n").into_bytes()
    });
    let house = House::with_files();
    std::fs::write(house.path("api-key"), SECRET).unwrap();
    let settings = format!(
        "{}{}[secrets.api]\nfile = '{}'\nadapters = ['custom']\norigins = ['http://127.0.0.1:{}']\nquery = 'key'\n",
        grant(server.port),
        grant(other.port),
        house.path("api-key").display(),
        server.port
    );
    let (answer, _) = get(&house, &settings, json!({ "url": server.url("/a?b=1") }));
    assert_eq!(answer.data["text"], "elsewhere", "{answer:#?}");
    assert!(server.heads()[0].starts_with(&format!("GET /a?b=1&key={SECRET} HTTP/1.1")), "{:?}", server.heads());
    assert!(!other.heads()[0].contains(SECRET), "{:?}", other.heads());
}

#[test]
fn a_redirection_leads_only_where_a_request_may_go() {
    let other = Server::start(|_| ok("text/plain", "inside"));
    let there = other.url("/metadata");
    let server = Server::start(move |_| {
        format!("HTTP/1.1 307 x\r\nlocation: {there}\r\ncontent-length: 0\r\n\r\n").into_bytes()
    });
    let house = House::with_files();
    let (answer, record) = get(&house, &grant(server.port), json!({ "url": server.url("/") }));
    let error = answer.error.unwrap();
    assert_eq!((error.kind.name(), error.reason.as_deref()), ("denied", Some("host_not_granted")), "{error:?}");
    assert!(other.heads().is_empty(), "{:?}", other.heads());
    assert!(record.to_string().contains("is not among the hosts"), "{record}");
}

#[test]
fn a_name_for_a_private_address_reaches_nothing() {
    // Any host may be reached, as long as its address is public; the name's is not.
    let server = Server::start(|_| ok("text/plain", "inside"));
    let there = format!("http://localhost.localdomain.:{}/", server.port);
    let first = Server::start(move |_| {
        format!("HTTP/1.1 302 x\r\nlocation: {there}\r\ncontent-length: 0\r\n\r\n").into_bytes()
    });
    let house = House::with_files();
    for (location, reason) in [(first.url("/"), "address_not_public"), ("http://127.1/".into(), "private_host")] {
        let settings = format!("[http]\npublic = true\n{}", grant(first.port));
        let (answer, _) = get(&house, &settings, json!({ "url": location }));
        let error = answer.error.unwrap();
        // Where no name server answers, the name has no address at all.
        let reasons = [Some(reason), Some("name_not_found")];
        assert!(reasons.contains(&error.reason.as_deref()), "{error:?}");
    }
    assert!(server.heads().is_empty(), "{:?}", server.heads());
}

#[test]
fn an_answer_without_end_is_ended() {
    let endless = Server::start(|_| {
        [
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec(),
            format!("10000\r\n{}\r\n", "x".repeat(1 << 16)).repeat(64).into_bytes(),
        ]
        .concat()
    });
    let house = House::with_files();
    let settings = format!(
        "http = {{ response_bytes = 100000, grants = [{{ origin = 'http://127.0.0.1:{}', private = true }}] }}",
        endless.port
    );
    let (answer, record) = get(&house, &settings, json!({ "url": endless.url("/"), "max_bytes": 8_000_000 }));
    // The component sees that it broke off; the record says why.
    assert!(answer.error.is_some());
    assert!(record.to_string().contains("the answer is larger than 100000 bytes"), "{record}");
}

#[test]
fn a_server_that_never_answers_ends_with_the_call() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let house = House::with_files();
    let settings = format!("{}[ceiling]\ntimeout_ms = 300\n", grant(port));
    let (answer, _) = get(&house, &settings, json!({ "url": format!("http://127.0.0.1:{port}/") }));
    assert_eq!(answer.code(), 408, "{answer:#?}");
    // The connection is gone with the call.
    let (mut stream, _) = listener.accept().unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    assert!(all.starts_with("GET / HTTP/1.1"), "{all}");
}

#[test]
fn a_secret_that_cannot_be_read_sends_nothing() {
    let server = Server::start(|_| ok("text/plain", "open"));
    let house = House::with_files();
    let settings = format!(
        "{}[secrets.api]\nenvironment = 'HERMES_TEST_NOT_SET'\nadapters = ['custom']\norigins = ['http://127.0.0.1:{}']\nheader = 'x-key'\n",
        grant(server.port),
        server.port
    );
    let (answer, record) = get(&house, &settings, json!({ "url": server.url("/") }));
    assert_eq!(answer.error.unwrap().kind.name(), "denied");
    assert!(server.heads().is_empty());
    assert!(record.to_string().contains("HERMES_TEST_NOT_SET"), "{record}");
}

/// A server that answers one line over TLS, with a certificate for these names.
fn secure_server(names: &[&str]) -> (u16, String) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let settings = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let (settings, listener) = (Arc::new(settings), TcpListener::bind("127.0.0.1:0").unwrap());
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            let connection = rustls::ServerConnection::new(settings.clone()).unwrap();
            let mut stream = rustls::StreamOwned::new(connection, stream);
            // One who does not trust it goes before there is a request.
            let mut first = [0; 1024];
            if stream.read(&mut first).is_ok_and(|read| read > 0) {
                let _ = stream.write_all(&ok("text/plain", "encrypted"));
                let _ = stream.flush();
            }
        }
    });
    (port, made.cert.pem())
}

#[test]
fn a_server_over_tls_is_the_one_that_its_certificate_names() {
    let house = House::with_files();
    let (port, certificate) = secure_server(&["127.0.0.1"]);
    let (other_port, other_certificate) = secure_server(&["other.example"]);
    std::fs::write(house.path("ours.pem"), certificate + &other_certificate).unwrap();
    let granted = |port: u16| format!("[[http.grants]]\norigin = 'https://127.0.0.1:{port}'\nprivate = true\n");
    let trusting = format!("http.authorities = ['{}']\n", house.path("ours.pem").display());
    let url = |port: u16| json!({ "url": format!("https://127.0.0.1:{port}/") });
    let (answer, record) = get(&house, &(trusting.clone() + &granted(port)), url(port));
    assert_eq!(answer.data["text"], "encrypted", "{record:#}");
    // Nobody vouches for the first; the second is vouched for under another name.
    for (settings, port) in [(granted(port), port), (trusting + &granted(other_port), other_port)] {
        let (answer, record) = get(&house, &settings, url(port));
        let error = answer.error.unwrap();
        assert_eq!(error.reason.as_deref(), Some("not_secure"), "{error:?}");
        assert!(record.to_string().contains("no secure connection"), "{record}");
    }
}

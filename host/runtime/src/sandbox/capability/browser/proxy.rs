//! Where may the browser go? The only way out of its network is here: each session has a port of its own, and whatever
//! the session's pages ask the network for comes as a request to it. The host is checked as it was named; a name is
//! looked up once; the address is checked, and just that one is dialled. So neither a redirect nor a name that leads
//! elsewhere the second time goes round it.

use super::Event;
use crate::address::{Host, HostGrants, Reach, is_public};
use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Result};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Longest head of a request.
const HEAD: usize = 64 << 10;
/// How long a head may take.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long an address may take to answer; a browser would try longer.
const DIAL: Duration = Duration::from_secs(15);
/// Connections of one session at the same time.
const CONNECTIONS: usize = 256;
/// How long a browser that is refused may take to hang up.
const LINGER: Duration = Duration::from_millis(500);

/// What the operator lets the browser reach.
pub(super) struct Rules {
    pub(super) grants: HostGrants,
    /// Names that are not looked up elsewhere.
    pub(super) names: BTreeMap<String, IpAddr>,
    /// Whether an address is one that the runtime itself listens on.
    pub(super) is_own: Box<dyn Fn(SocketAddr) -> bool + Send + Sync>,
}

/// Told about everything that went nowhere.
pub(super) type Report = Arc<dyn Fn(Event) + Send + Sync>;

/// Lets a session out, until the future is dropped, which ends its connections.
pub(super) async fn serve(listener: &TcpListener, rules: Arc<Rules>, report: Report) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut open = JoinSet::new();
    loop {
        while open.try_join_next().is_some() {}
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(HEAD_TIME / 100).await;
            continue;
        };
        let (rules, report) = (rules.clone(), report.clone());
        open.spawn(async move {
            if let Err(error) = carry(stream, &rules, &report).await {
                tracing::debug!(%error, "a connection of the browser ended early");
            }
            drop(place);
        });
    }
}

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    host: Host,
    port: u16,
    /// The head to send on; none for a tunnel, of which the proxy sees nothing more.
    head: Option<Vec<u8>>,
}

async fn carry(mut stream: TcpStream, rules: &Rules, report: &Report) -> Result<()> {
    let (head, more) =
        tokio::time::timeout(HEAD_TIME, read_head(&mut stream)).await.map_err(|_| ErrorKind::TimedOut)??;
    let wanted = match parse(&head) {
        Ok(wanted) => wanted,
        Err(what) => {
            report(Event::Blocked((what, "this is no request for a page of the web".into())));
            return refuse(stream, "400 Bad Request").await;
        }
    };
    let named = format!("{}:{}", wanted.host, wanted.port);
    let address = match resolve(&wanted, rules).await {
        Ok(address) => address,
        Err(Refused::Unknown) => {
            report(Event::NotReached((named, "no address has that name".into())));
            return refuse(stream, "502 Bad Gateway").await;
        }
        Err(Refused::Blocked(why)) => {
            report(Event::Blocked((named, why.to_owned())));
            return refuse(stream, "403 Forbidden").await;
        }
    };
    let dialled = tokio::time::timeout(DIAL, TcpStream::connect(address)).await;
    let mut there = match dialled.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into())) {
        Ok(there) => there,
        Err(error) => {
            report(Event::NotReached((named, error.kind().to_string())));
            return refuse(stream, "502 Bad Gateway").await;
        }
    };
    let _ = there.set_nodelay(true);
    let _ = stream.set_nodelay(true);
    match wanted.head {
        Some(head) => there.write_all(&head).await?,
        None => stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?,
    }
    there.write_all(&more).await?;
    copy_bidirectional(&mut stream, &mut there).await.map(drop)
}

/// Answers with nothing to show, so that what the browser shows is its own failure.
async fn refuse(mut stream: TcpStream, status: &str) -> Result<()> {
    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await?;
    let mut rest = [0; 1024];
    let hang_up = async { while matches!(stream.read(&mut rest).await, Ok(1..)) {} };
    let _ = tokio::time::timeout(LINGER, hang_up).await;
    Ok(())
}

/// Reads up to the empty line; what follows it was read too and is handed on.
async fn read_head(stream: &mut TcpStream) -> Result<(Vec<u8>, Vec<u8>)> {
    let mut head = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let from = head.len().saturating_sub(3);
        head.extend_from_slice(&buffer[..count]);
        if let Some(end) = head[from..].windows(4).position(|window| window == b"\r\n\r\n") {
            let more = head.split_off(from + end + 4);
            return Ok((head, more));
        }
        if head.len() > HEAD {
            return Err(Error::other("the head of a request is too long"));
        }
    }
}

/// Reads the head of a request to a proxy. The failure is what was asked for.
fn parse(head: &[u8]) -> std::result::Result<Wanted, String> {
    let text = String::from_utf8_lossy(head);
    let shown = || crate::document::excerpt(text.lines().next().unwrap_or_default(), 200);
    let (line, rest) = head.split_at(head.windows(2).position(|pair| pair == b"\r\n").ok_or_else(shown)?);
    let line = std::str::from_utf8(line).map_err(|_| shown())?;
    let [method, target, version] = line.split(' ').collect::<Vec<_>>()[..] else { return Err(shown()) };
    if !version.starts_with("HTTP/1.") {
        return Err(shown());
    }
    if method == "CONNECT" {
        let (host, port) = target.rsplit_once(':').ok_or_else(shown)?;
        let host = Host::parse(host).ok_or_else(shown)?;
        let port = port.parse().ok().filter(|port| *port > 0).ok_or_else(shown)?;
        return Ok(Wanted { host, port, head: None });
    }
    let after = target.strip_prefix("http://").ok_or_else(shown)?;
    let (authority, path) = after.split_at(after.find(['/', '?']).unwrap_or(after.len()));
    if authority.contains('@') {
        return Err(shown());
    }
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if is_port(port) => (host, port.parse().map_err(|_| shown())?),
        _ => (authority, 80),
    };
    let host = Host::parse(host).ok_or_else(shown)?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut sent = format!("{method} {slash}{path} HTTP/1.1\r\n").into_bytes();
    sent.extend(headers(&rest[2..]));
    // One request for each connection: the next one may be for another host, which has to be checked.
    sent.extend_from_slice(b"Connection: close\r\n\r\n");
    Ok(Wanted { host, port, head: Some(sent) })
}

/// The headers that are not for the proxy.
fn headers(rest: &[u8]) -> Vec<u8> {
    let mut kept = Vec::new();
    for line in rest.split_inclusive(|byte| *byte == b'\n') {
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default().to_ascii_lowercase();
        let is_ours = matches!(&name[..], b"connection" | b"proxy-connection" | b"proxy-authorization" | b"keep-alive");
        if !is_ours && line != b"\r\n" {
            kept.extend_from_slice(line);
        }
    }
    kept
}

/// Why a request goes nowhere.
#[derive(Debug, PartialEq, Eq)]
enum Refused {
    /// No address has that name.
    Unknown,
    /// The operator's rules say no.
    Blocked(&'static str),
}

/// The one address that may be dialled.
async fn resolve(wanted: &Wanted, rules: &Rules) -> std::result::Result<SocketAddr, Refused> {
    let reach = rules.grants.reach(&wanted.host, wanted.port);
    match reach {
        Reach::NotGranted => return Err(Refused::Blocked("it is none of the hosts that the browser may reach")),
        Reach::Private => return Err(Refused::Blocked(PRIVATE)),
        Reach::Public | Reach::Any => {}
    }
    let found = look_up(&wanted.host, wanted.port, rules).await.map_err(|_| Refused::Unknown)?;
    let allowed = |address: &SocketAddr| reach == Reach::Any || is_public(address.ip());
    // A name that leads to private addresses too is one that somebody plays tricks with.
    if !found.iter().all(allowed) {
        return Err(Refused::Blocked(PRIVATE));
    }
    let address = *found.first().ok_or(Refused::Unknown)?;
    match (rules.is_own)(address) {
        true => Err(Refused::Blocked("the runtime itself listens there, which no tool may reach")),
        false => Ok(address),
    }
}

const PRIVATE: &str = "it is a private address, and not one that the operator granted";

async fn look_up(host: &Host, port: u16, rules: &Rules) -> Result<Vec<SocketAddr>> {
    let name = match host {
        Host::Address(address) => return Ok(vec![(*address, port).into()]),
        Host::Name(name) => name,
    };
    match rules.names.get(name) {
        Some(address) => Ok(vec![(*address, port).into()]),
        None => Ok(tokio::net::lookup_host((name.as_str(), port)).await?.collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::HostPattern;

    fn wanted(head: &str) -> std::result::Result<Wanted, String> {
        parse(head.as_bytes())
    }

    #[test]
    fn requests_are_read_and_sent_on_without_what_was_for_the_proxy() {
        let read = wanted(
            "GET http://Example.org:81/a?b HTTP/1.1\r\nHost: example.org:81\r\nProxy-Connection: keep-alive\r\n\r\n",
        );
        let read = read.unwrap();
        assert_eq!((read.host.to_string().as_str(), read.port), ("example.org", 81));
        let sent = String::from_utf8(read.head.unwrap()).unwrap();
        assert_eq!(sent, "GET /a?b HTTP/1.1\r\nHost: example.org:81\r\nConnection: close\r\n\r\n");
        let tunnel = wanted("CONNECT [::1]:443 HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!((tunnel.host.to_string().as_str(), tunnel.port, tunnel.head), ("[::1]", 443, None));
        for bad in [
            "GET /a HTTP/1.1\r\n\r\n",
            "GET ftp://a.org/ HTTP/1.1\r\n\r\n",
            "GET http://evil\0.example.org/ HTTP/1.1\r\n\r\n",
            "GET http://user@example.org/ HTTP/1.1\r\n\r\n",
            "CONNECT example.org HTTP/1.1\r\n\r\n",
            "CONNECT example.org:0 HTTP/1.1\r\n\r\n",
            "nonsense\r\n\r\n",
        ] {
            assert!(wanted(bad).is_err(), "{bad:?}");
        }
    }

    #[tokio::test]
    async fn what_a_name_leads_to_is_checked() {
        let rules = Rules {
            grants: HostGrants {
                hosts: Vec::new(),
                private_hosts: vec![
                    HostPattern::parse("127.0.0.1:8080").unwrap(),
                    HostPattern::parse("dev.example").unwrap(),
                ],
            },
            names: [
                ("public.example", "93.184.215.14"),
                ("rebound.example", "127.0.0.1"),
                ("dev.example", "127.0.0.1"),
                ("metadata.example", "169.254.169.254"),
            ]
            .map(|(name, address)| (name.to_owned(), address.parse().unwrap()))
            .into(),
            is_own: Box::new(|address| address.port() == 7777),
        };
        let check = async |host: &str, port: u16, expect: std::result::Result<&str, Refused>| {
            let wanted = Wanted { host: Host::parse(host).unwrap(), port, head: None };
            let expect = expect.map(|address| SocketAddr::new(address.parse().unwrap(), port));
            assert_eq!(resolve(&wanted, &rules).await, expect, "{host}:{port}");
        };
        check("public.example", 80, Ok("93.184.215.14")).await;
        check("127.0.0.1", 8080, Ok("127.0.0.1")).await;
        check("dev.example", 5000, Ok("127.0.0.1")).await;
        check("127.0.0.1", 8081, Err(Refused::Blocked(PRIVATE))).await;
        check("rebound.example", 8080, Err(Refused::Blocked(PRIVATE))).await;
        check("metadata.example", 80, Err(Refused::Blocked(PRIVATE))).await;
        check("[::ffff:127.0.0.1]", 8080, Err(Refused::Blocked(PRIVATE))).await;
        assert!(matches!(
            resolve(&Wanted { host: Host::parse("dev.example").unwrap(), port: 7777, head: None }, &rules).await,
            Err(Refused::Blocked(why)) if why.contains("runtime itself")
        ));
    }
}

//! What does a process get that runs a component and lies? It speaks as whoever broke out of WebAssembly could.

use crate::support::block_on;
use crate::support::guest::Guest;
use crate::support::house::{House, call};
use hermes_runtime::error::Kind;
use hermes_runtime::profile::{Job, Profile, Running};
use serde_json::json;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

/// A process that was taken over and speaks as it likes: what it says first, and what it was answered.
#[derive(Clone)]
struct Liar {
    says: Vec<u8>,
    heard: Arc<Mutex<Vec<(u8, String)>>>,
}

impl Profile for Liar {
    fn accept(&self, _: &[u8], _: &std::collections::BTreeSet<String>) -> Result<(), String> {
        Ok(())
    }

    fn run<'a>(&'a self, job: Job<'a>) -> Running<'a> {
        Box::pin(async move {
            let (ours, theirs) = tokio::io::duplex(1 << 20);
            let (input, output) = tokio::io::split(ours);
            let lies = async {
                let (mut ear, mut mouth) = tokio::io::split(theirs);
                let (_, task) = piece(&mut ear).await;
                let task: serde_json::Value = serde_json::from_str(&task).unwrap();
                let code = task["component"].as_u64().unwrap() + task["code"].as_u64().unwrap();
                let mut rest = vec![0; code as usize];
                ear.read_exact(&mut rest).await.unwrap();
                mouth.write_all(&self.says).await.unwrap();
                if self.says.first() == Some(&b'a') {
                    let answer = piece(&mut ear).await;
                    self.heard.lock().unwrap().push(answer);
                }
            };
            tokio::join!(job.over(input, output), lies).0
        })
    }
}

async fn piece(ear: &mut (impl AsyncRead + Unpin)) -> (u8, String) {
    // Where it was let go of, nothing comes any more.
    let Ok(kind) = ear.read_u8().await else { return (0, String::new()) };
    let length = ear.read_u32_le().await.unwrap();
    let mut content = vec![0; length as usize];
    ear.read_exact(&mut content).await.unwrap();
    (kind, String::from_utf8_lossy(&content).into_owned())
}

/// A piece as a process says it: a letter, the length, the content.
fn said(kind: u8, content: &[u8]) -> Vec<u8> {
    [&[kind][..], &u32::try_from(content.len()).unwrap().to_le_bytes(), content].concat()
}

fn question(name: &str, args: &[u8]) -> Vec<u8> {
    said(b'a', &[&[name.len() as u8], name.as_bytes(), args].concat())
}

/// Whoever breaks out of WebAssembly, and then speaks for the process, gets no more than the component was granted.
#[test]
fn a_process_that_lies_gets_nothing_that_was_not_granted() {
    let house = House::empty();
    Guest { sandbox: "profile = \"liar\"".into(), ..Guest::default() }.put(&house);
    let reads = Guest { name: "reads".into(), files: true, sandbox: "profile = \"liar\"".into(), ..Guest::default() };
    reads.put(&house);
    house.write("a.txt", "x");
    let path = b"\x10/workspace/a.txt";
    let write = [&path[..], b"\x01y\x02"].concat();
    for (tool, says, refused) in [
        ("probe", said(b's', b"no JSON"), None),
        ("probe", said(b's', b"{\"Ended\":{}}"), None),
        ("probe", b"s\xff\xff\xff\xff".to_vec(), None),
        ("probe", said(b'x', b""), None),
        ("probe", said(b'a', b"\xff"), None),
        ("probe", Vec::new(), None),
        ("probe", question("files.stat", path), Some("was not granted")),
        ("probe", question("process.ready", b""), Some("was not granted")),
        ("probe", question("embedder.call", b"\x01a\x02{}"), Some("nobody answers")),
        ("probe", question("none", b""), Some("was not granted")),
        ("reads", question("files.none", b""), Some("nothing that can be asked")),
        ("reads", question("files.stat", b"\xff"), Some("")),
        // A handle that it was never given, and a write in a call that reads.
        ("reads", question("files.reader.digest", b"\x07"), Some("")),
        ("reads", question("files.write", &write), None),
    ] {
        let liar = Liar { says: says.clone(), heard: Arc::default() };
        let runtime = house.start(house.config().profile("liar", liar.clone()));
        let answer = block_on(runtime.call(call(tool, json!({})))).envelope;
        let kind = answer.error.as_ref().map(|error| error.kind);
        assert_eq!(kind, Some(Kind::Trap), "{}: {answer:#?}", String::from_utf8_lossy(&says));
        let heard = liar.heard.lock().unwrap();
        if let Some(refused) = refused {
            let (kind, why) = &heard[0];
            assert!(*kind == b'r' && why.contains(refused), "{heard:?}");
        }
    }
    assert_eq!(std::fs::read_to_string(house.path("workspace/a.txt")).unwrap(), "x");
}

//! Does a session outlive whatever a client sends? Every message is answered with its id where it can be read, the next
//! one too, and standard output has nothing but the protocol.

use super::peer::{Home, Peer, code};
use serde_json::{Value, json};

#[test]
fn what_cannot_be_read_is_answered_and_the_session_goes_on() {
    let home = Home::of_builder();
    let mut peer = Peer::start(&home, &["run"]);
    let mut refused = |bytes: &[u8], code: i64| {
        peer.write(bytes);
        let answer = peer.next();
        assert_eq!(answer["error"]["code"], code, "{answer} to {}", String::from_utf8_lossy(bytes));
        assert_eq!(answer.get("id"), Some(&Value::Null));
    };
    refused(b"not json\n", -32700);
    refused(b"{\"jsonrpc\":\"2.0\",\"id\":1,\n", -32700);
    refused(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}\n", -32700);
    refused(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"arguments\":{\"a\":[}}}\n", -32700);
    refused(b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]\n", -32600);
    refused(b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}\n", -32600);
    refused(b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}\n", -32600);
    let long = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{}\",\"method\":\"ping\"}}\n", "x".repeat(100_000));
    refused(long.as_bytes(), -32600);
    peer.write(b"\n\r\n");
    peer.write(
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/early\"}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n",
    );
    peer.write(b"\xef\xbb\xbf");
    peer.handshake();
    peer.assert_alive(2);
    let (rest, status) = peer.finish();
    assert!(rest.is_empty(), "{rest:?}");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn arguments_that_parsers_disagree_on_are_answered_by_validation() {
    let home = Home::of_builder();
    let mut peer = Peer::open(&home);
    let hostile: [&[u8]; 7] = [
        br#"{"path":"a","path":"b"}"#,
        br#"{"path":"\ud83d"}"#,
        br#"{"path":"\ude00\ud83d"}"#,
        br#"{"path":1e999}"#,
        br#"{"path":tru}"#,
        br#"["path"]"#,
        br#"{"path":"a\u0000b"}"#,
    ];
    for (id, arguments) in (1..).zip(hostile) {
        peer.call_raw(id, "file_read", arguments);
        assert_eq!(code(&peer.answer(id)), 400, "{}", String::from_utf8_lossy(arguments));
        peer.assert_alive(1000 + id);
    }
    let (_, status) = peer.finish();
    assert_eq!(status.code(), Some(0));
    assert_eq!(home.records().len(), hostile.len(), "each is recorded");
}

#[test]
fn depth_overflows_nothing() {
    let home = Home::of_builder();
    let mut peer = Peer::open(&home);
    let mut id = 0;
    for depth in [124, 126, 1_000, 100_000] {
        for (open, close) in [("{\"a\":", "}"), ("[", "]")] {
            id += 1;
            let arguments = format!("{{\"a\":{}1{}}}", open.repeat(depth), close.repeat(depth));
            peer.call_raw(id, "probe", arguments.as_bytes());
            assert_eq!(code(&peer.answer(id)), 400, "depth {depth}");
            peer.assert_alive(1000 + id);
        }
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    peer.write(format!("{{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"ping\",\"params\":{deep}}}\n").as_bytes());
    assert_eq!(peer.answer(77)["error"]["code"], -32600);
    peer.assert_alive(78);
}

#[test]
fn size_is_limited_by_name_and_the_id_is_still_known() {
    let home = Home::of_builder();
    let mut peer = Peer::open(&home);
    let keys: Vec<String> = (0..100_001).map(|key| format!("\"k{key}\":1")).collect();
    peer.call_raw(1, "file_read", format!("{{{}}}", keys.join(",")).as_bytes());
    assert_eq!(code(&peer.answer(1)), 400);
    let text = |megabytes: usize| format!("{{\"path\":\"{}\"}}", "x".repeat(megabytes << 20));
    for (id, megabytes) in [(2, 10), (3, 20)] {
        peer.call_raw(id, "file_read", text(megabytes).as_bytes());
        assert_eq!(code(&peer.answer(id)), 400, "{megabytes} MiB");
    }
    // The id comes after what is too long to keep.
    let head = br#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"file_read","arguments":"#;
    peer.write(&[head.as_slice(), text(40).as_bytes(), b"},\"id\":4}\n"].concat());
    let answer = peer.answer(4);
    assert_eq!(answer["error"]["code"], -32600);
    assert!(answer["error"]["message"].as_str().unwrap().contains("33554432"), "{answer}");
    peer.assert_alive(5);
}

#[test]
fn an_id_that_is_taken_is_not_answered_twice() {
    let home = Home::of_builder();
    let mut peer = Peer::open(&home);
    peer.call(1, "probe", json!({ "slow": true }));
    peer.call(1, "probe", json!({}));
    let answer = peer.next();
    assert_eq!((&answer["error"]["code"], answer.get("id")), (&json!(-32600), Some(&Value::Null)));
    peer.assert_alive(2);
}

#[test]
fn a_client_that_floods_is_told_so_and_others_of_its_requests_are_answered() {
    let home = Home::of_builder();
    let mut peer = Peer::open(&home);
    for id in 1..=1100 {
        peer.call(id, "probe", json!({ "slow": true }));
    }
    assert_eq!(code(&peer.answer(1100)), 503);
    peer.assert_alive(2000);
}

#[test]
fn a_client_that_never_reads_the_log_stops_nothing() {
    let home = Home::of_builder();
    let mut peer = Peer::open(&home);
    // Each refusal is an entry of the log; together they are more than any pipe holds.
    for id in 0..4000 {
        peer.write(b"garbage\n");
        if id % 100 == 0 {
            peer.assert_alive(id);
        }
    }
    peer.assert_alive(5000);
    peer.close_log();
    peer.write(b"garbage\n");
    peer.assert_alive(5001);
    let (_, status) = peer.finish();
    assert_eq!(status.code(), Some(0));
}

//! What if a server ends, or only seems to be there? The call that was running says that the connection was lost and
//! whether the request was sent; the next one reaches the server again; nothing is done twice and nobody is left over.

use super::{Peers, call, none};
use crate::support::{block_on, block_on_within, child};
use serde_json::json;
use std::time::Duration;

#[test]
fn a_server_that_dies_while_it_works_is_lost_and_reached_again_and_nothing_is_done_twice() {
    let peers = Peers::start(&[("peer", "", "")]);
    block_on(async {
        for tool in ["die", "half", "effect_then_die"] {
            let lost = peers.fails(&format!("peer_{tool}"), none(), 502, "connection_lost").await;
            let error = lost.error.unwrap();
            assert!(error.hint.as_ref().unwrap().contains("may have done"), "{error:#?}");
            assert!(!error.retryable, "what may have had its effect is not simply repeated: {error:#?}");
            assert_eq!(lost.metadata.attempts, 1, "{tool}");
            peers.recovers("peer").await;
        }
    });
    assert_eq!(peers.notes("peer", "effects"), ["done"]);
    let calls = peers.notes("peer", "calls");
    for tool in ["die", "half", "effect_then_die"] {
        assert_eq!(calls.iter().filter(|called| *called == tool).count(), 1, "{calls:?}");
    }
    drop(peers);
    assert_eq!(child::children(), 0, "a process is left over");
}

#[test]
fn a_server_that_is_killed_in_the_middle_of_a_call_ends_the_call() {
    let peers = Peers::start(&[("peer", "", "")]);
    block_on(async {
        let runtime = peers.runtime.clone();
        let waiting = tokio::spawn(async move { runtime.call(call("peer_wait", none())).await.envelope });
        while peers.notes("peer", "waiting").is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let peer = child::beneath().into_iter().find(|(_, words)| words.contains("tests/peers/peer.py")).unwrap().0;
        rustix::process::kill_process(peer, rustix::process::Signal::KILL).unwrap();
        let error = waiting.await.unwrap().error.unwrap();
        assert_eq!((error.code, error.reason.as_deref()), (502, Some("connection_lost")), "{error:#?}");
        peers.recovers("peer").await;
    });
}

#[test]
fn a_server_that_ends_after_each_call_or_closes_its_output_is_reached_anew() {
    let peers = Peers::start(&[("once", "once", ""), ("deaf", "deaf", "")]);
    block_on_within(Duration::from_secs(180), async {
        for _ in 0..4 {
            peers.recovers("once").await;
            peers.recovers("deaf").await;
        }
    });
    drop(peers);
    assert_eq!(child::children(), 0, "a process is left over");
}

#[test]
fn a_server_that_ends_before_it_says_anything_is_no_wait() {
    let peers = Peers::start_with_faults(&[("silent", "silent_start", ""), ("peer", "", "")], |_| {});
    let faults: Vec<String> = peers.runtime.toolbox().faults.iter().map(ToString::to_string).collect();
    assert!(faults.iter().any(|fault| fault.contains("`silent`") && fault.contains("ended before")), "{faults:?}");
    block_on(async {
        peers.ok("peer_echo", json!({ "text": "others work" })).await;
        assert_eq!(peers.call("silent_echo", none()).await.code(), 404);
    });
}

#[test]
fn an_answer_counts_for_its_own_request_and_once() {
    let peers = Peers::start_with_faults(&[("peer", "", "connections = 1")], |config| config.ceiling.timeout_ms = 3000);
    block_on(async {
        let late = peers.call("peer_wrong_id", none()).await;
        assert_eq!(late.code(), 408, "{late:#?}");
        assert!(!serde_json::to_string(&late).unwrap().contains("not yours"));
        assert!(peers.ok("peer_twice", none()).await.to_string().contains("first"));
        let echoing: Vec<_> = (0..50)
            .map(|number| {
                let runtime = peers.runtime.clone();
                tokio::spawn(async move {
                    let text = format!("text {number}");
                    let envelope = runtime.call(call("peer_echo", json!({ "text": text }))).await.envelope;
                    assert_eq!(envelope.data["text"], text, "{envelope:#?}");
                })
            })
            .collect();
        for echo in echoing {
            echo.await.unwrap();
        }
        assert!(peers.ok("peer_garbage", none()).await.to_string().contains("after the garbage"));
    });
}

#[test]
fn a_call_that_is_given_up_is_taken_back() {
    let peers = Peers::start(&[("peer", "", "")]);
    block_on(async {
        let waiting = {
            let runtime = peers.runtime.clone();
            tokio::spawn(async move { runtime.call(call("peer_wait", none())).await })
        };
        while peers.notes("peer", "waiting").is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        waiting.abort();
        while peers.notes("peer", "cancelled").is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        peers.ok("peer_echo", json!({ "text": "the connection lives" })).await;
    });
    assert_eq!(peers.notes("peer", "starts").len(), 1);
}

#[test]
fn what_a_server_says_beside_the_protocol_spoils_nothing() {
    let peers = Peers::start(&[("noise", "noise", ""), ("chatty", "chatty", "")]);
    block_on_within(Duration::from_secs(180), async {
        for server in ["noise", "chatty"] {
            for number in 0..5 {
                let text = format!("{number}");
                let answer = peers.ok(&format!("{server}_echo"), json!({ "text": text })).await;
                assert_eq!(answer["text"], text);
                assert!(!answer.to_string().contains("INFO"), "{answer}");
            }
        }
    });
}

#[test]
fn messages_without_end_hit_a_limit_and_not_the_memory() {
    let peers = Peers::start(&[("peer", "", ""), ("slow", "slow", "")]);
    let before = peak_mb();
    block_on_within(Duration::from_secs(300), async {
        for tool in ["peer_endless_line", "peer_huge"] {
            let envelope = peers.fails(tool, none(), 413, "too_large").await;
            assert!(envelope.error.unwrap().message.contains("longer than"));
            peers.recovers("peer").await;
        }
        // A message that may pass and that the tool's own memory does not hold ends by that limit, which is named.
        let big = peers.call("peer_big", none()).await.error.unwrap();
        assert_eq!((big.kind, big.code), (hermes_runtime::Kind::OutOfMemory, 507), "{big:#?}");
        assert!(big.message.contains("64 MiB"), "{big:#?}");
        peers.recovers("peer").await;
        let long = "x".repeat(5 << 20);
        assert_eq!(peers.call("slow_echo", json!({ "text": long })).await.code(), 200);
    });
    let used = peak_mb() - before;
    assert!(used < 1024, "{used} MiB for messages of at most 64");
}

/// The most memory that this process has had, in MiB.
pub(super) fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() / 1024
}

//! What is made of answers of every kind? Nothing that signals a failure is dropped, nothing that is known is lost for
//! something that is not, and whatever is passed on can be read by a strict reader.

use super::{Peers, call, none};
use crate::support::block_on;
use hermes_runtime::registry::statistics::By;
use serde_json::{Value, json};

#[test]
fn a_failure_stays_a_failure_with_all_that_came_with_it() {
    let peers = Peers::start(&[("peer", "", "")]);
    block_on(async {
        let text = peers.fails("peer_error_text", none(), 502, "reported_error").await;
        assert!(text.error.as_ref().unwrap().message.contains("it broke"), "{text:#?}");
        let structured = peers.fails("peer_error_structured", none(), 502, "reported_error").await;
        assert_eq!((&structured.data["code"], &structured.data["retry_after"]), (&json!("RATE_LIMITED"), &json!(30)));
        peers.fails("peer_error_empty", none(), 502, "reported_error").await;
        let fine = peers.ok("peer_no_error", none()).await;
        assert!(fine.to_string().contains("Error: none found"), "{fine}");
        assert!(peers.runtime.flush().await);
        let used = peers.runtime.statistics(By::Tool).await.unwrap();
        let rate = |tool: &str| {
            let used = used.iter().find(|used| used.tool == tool).unwrap_or_else(|| panic!("no {tool}"));
            (used.calls, used.ok)
        };
        assert_eq!(rate("peer_error_text"), (1, 0));
        assert_eq!(rate("peer_no_error"), (1, 1));
    });
}

#[test]
fn parts_that_nobody_knows_are_kept_and_hide_no_others() {
    let peers = Peers::start(&[("peer", "", "")]);
    block_on(async {
        let blocks = peers.call("peer_blocks", none()).await;
        assert_eq!(blocks.code(), 200, "{:#?}", blocks.error);
        let text = serde_json::to_string(&blocks).unwrap();
        for part in ["known", "file:///x", "hologram", "cube"] {
            assert!(text.contains(part), "no {part} in {text}");
        }
        assert_eq!(peers.ok("peer_array", none()).await["value"], json!([1, 2]));
        peers.fails("peer_not_an_object", none(), 502, "protocol_error").await;
        peers.fails("peer_deep", none(), 502, "not_nested_so_deep").await;
        peers.fails("peer_refuse", none(), 502, "refused").await;
        peers.ok("peer_echo", json!({ "text": "the connection lives" })).await;
    });
    assert_eq!(peers.notes("peer", "starts").len(), 1, "none of this ends the connection");
}

#[test]
fn half_a_surrogate_pair_is_replaced_and_everything_can_be_read() {
    let peers = Peers::start(&[("peer", "", "")]);
    let envelope = block_on(async {
        let envelope = peers.call("peer_surrogates", none()).await;
        peers.ok("peer_echo", json!({ "text": "after" })).await;
        assert!(peers.runtime.flush().await);
        envelope
    });
    assert_eq!(envelope.code(), 200, "{:#?}", envelope.error);
    let text = serde_json::to_string(&envelope).unwrap();
    assert!(serde_json::from_str::<Value>(&text).unwrap().to_string().contains('\u{fffd}'), "{text}");
    let (_, outcome) = crate::support::records::of_call(&peers.runtime.config().state_dir, &envelope.metadata.call_id);
    assert_eq!(outcome.code, Some(200));
}

#[test]
fn null_for_an_optional_argument_is_left_out_unless_its_schema_takes_it() {
    let peers = Peers::start(&[("peer", "", "")]);
    block_on(async {
        let seen = peers.ok("peer_seen", json!({ "optional": null, "nullable": null })).await.to_string();
        assert!(seen.contains("nullable") && !seen.contains("optional\\\""), "{seen}");
        let seen = peers.ok("peer_seen", json!({ "optional": "null" })).await.to_string();
        assert!(seen.contains("null"), "{seen}");
    });
}

#[test]
fn a_server_gets_nothing_that_it_asks_for() {
    let peers = Peers::start(&[("peer", "", ""), ("modern", "modern", "")]);
    block_on(async {
        let codes = peers.ok("peer_ask", none()).await.to_string();
        assert_eq!(codes.matches("-32601").count(), 3, "{codes}");
        peers.fails("modern_input_required", none(), 403, "input_required").await;
        assert_eq!(peers.ok("modern_echo", json!({ "text": "x" })).await["text"], "x");
    });
}

#[test]
fn progress_of_a_server_is_the_calls() {
    let peers = Peers::start(&[("peer", "", "")]);
    block_on(async {
        let (sender, mut updates) = tokio::sync::mpsc::channel(8);
        let mut call = call("peer_progress", none());
        call.progress = Some(sender);
        let envelope = peers.runtime.call(call).await.envelope;
        assert_eq!(envelope.code(), 200, "{:#?}", envelope.error);
        let mut seen = Vec::new();
        while let Some(update) = updates.recv().await {
            seen.push((update.done, update.message.unwrap_or_default()));
        }
        assert_eq!(seen, [(1, "step 1".to_owned()), (2, "step 2".to_owned())]);
    });
}

/// The server is not asked again: what it said is enough, also where it failed.
#[test]
fn a_call_of_a_server_goes_the_same_way_again() {
    let peers = Peers::start(&[("peer", "", "")]);
    block_on(async {
        for (tool, args) in [("peer_echo", json!({ "text": "once" })), ("peer_error_structured", none())] {
            let made = peers.call(tool, args).await;
            assert!(peers.runtime.flush().await);
            let asked = peers.notes("peer", "calls");
            let replayed = peers.runtime.replay(&made.metadata.call_id).await.unwrap();
            assert!(replayed.is_same() && replayed.rerun.as_ref().unwrap().crossings > 0, "{tool}: {replayed:#?}");
            assert_eq!(peers.notes("peer", "calls"), asked, "the server is asked once");
        }
    });
}

//! What does a tracing subscriber see of a call? One span a step beneath that of the call, with what the step said, and
//! nothing that a caller wrote.

use crate::support::guest::Guest;
use crate::support::house::{House, call};
use crate::support::{block_on, records};
use hermes_runtime::{Call, Envelope, Runtime};
use serde_json::json;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// A span as it was seen.
#[derive(Clone, Debug, Default)]
struct Seen {
    name: &'static str,
    parent: Option<usize>,
    fields: BTreeMap<&'static str, String>,
    /// Who holds on to it.
    held: usize,
}

/// Collects the runtime's spans, and the text of everything.
#[derive(Clone, Default)]
struct Collecting(Arc<Mutex<(Vec<Seen>, String)>>);

thread_local! {
    static ENTERED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

struct Fields<'a>(&'a mut BTreeMap<&'static str, String>);

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl Collecting {
    fn note(&self, fields: &BTreeMap<&'static str, String>) {
        self.0.lock().unwrap().1.push_str(&format!("{fields:?}\n"));
    }
}

fn at(id: &Id) -> usize {
    usize::try_from(id.into_u64()).unwrap() - 1
}

impl Subscriber for Collecting {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("hermes")
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut seen = Seen { name: attributes.metadata().name(), held: 1, ..Seen::default() };
        attributes.record(&mut Fields(&mut seen.fields));
        seen.parent = ENTERED.with_borrow(|entered| entered.last().copied());
        self.note(&seen.fields);
        let mut collected = self.0.lock().unwrap();
        collected.0.push(seen);
        Id::from_u64(collected.0.len() as u64)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        let mut fields = BTreeMap::new();
        values.record(&mut Fields(&mut fields));
        self.note(&fields);
        self.0.lock().unwrap().0[at(id)].fields.extend(fields);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = BTreeMap::new();
        event.record(&mut Fields(&mut fields));
        self.note(&fields);
    }

    fn enter(&self, id: &Id) {
        ENTERED.with_borrow_mut(|entered| entered.push(at(id)));
    }

    fn exit(&self, id: &Id) {
        let left = ENTERED.with_borrow_mut(Vec::pop);
        assert_eq!(left, Some(at(id)), "spans are left as they were entered");
    }

    fn clone_span(&self, id: &Id) -> Id {
        self.0.lock().unwrap().0[at(id)].held += 1;
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let mut collected = self.0.lock().unwrap();
        let held = &mut collected.0[at(&id)].held;
        *held -= 1;
        *held == 0
    }
}

/// Makes a call and gives the spans of it, that of the call first, and all that was said meanwhile.
fn watch(runtime: &Runtime, call: Call) -> (Envelope, Vec<Seen>, String) {
    let collecting = Collecting::default();
    let watched = || block_on(runtime.call(call)).envelope;
    let envelope = tracing::subscriber::with_default(collecting.clone(), watched);
    let (spans, text) = collecting.0.lock().unwrap().clone();
    assert!(spans.iter().all(|span| span.held == 0), "a span is not closed: {spans:#?}");
    assert_eq!((spans[0].name, spans[0].parent), ("call", None));
    assert_eq!(spans[0].fields["code"], envelope.code().to_string());
    for span in &spans {
        assert_eq!(span.fields["call_id"], envelope.metadata.call_id, "{span:#?}");
        assert!(span.name == "call" || span.parent == Some(0), "{span:#?}");
    }
    (envelope, spans, text)
}

/// The steps' spans, each as `name verdict` or `name verdict by`.
fn steps(spans: &[Seen]) -> Vec<String> {
    let said = |span: &Seen, field: &str| span.fields.get(field).map(|said| format!(" {said}")).unwrap_or_default();
    spans[1..].iter().map(|span| format!("{}{}{}", span.name, said(span, "verdict"), said(span, "by"))).collect()
}

#[test]
fn each_step_has_a_span_with_what_it_said_and_nothing_that_was_written() {
    let house = House::with_files();
    house.write("s3cret-name.txt", "s3cret-content\n");
    let runtime = house.start(house.config());
    let read = call("file_read", json!({ "path": "s3cret-name.txt" }));
    let (envelope, spans, text) = watch(&runtime, read);
    assert_eq!(envelope.code(), 200, "{envelope:#?}");
    let all =
        ["registry ok", "adapter ok", "permission ok", "validation ok", "sandbox ok", "result ok", "injection queued"];
    assert_eq!(steps(&spans), all);
    for span in &spans {
        assert_eq!(span.fields["tool"], "file_read", "{span:#?}");
    }
    block_on(runtime.flush());
    let (_, outcome) = records::of_call(&runtime.config().state_dir, &envelope.metadata.call_id);
    for (entry, span) in outcome.steps.iter().zip(&spans[1..]) {
        assert_eq!(span.fields["us"], entry.us.to_string());
    }
    assert!(!text.contains("s3cret"), "{text}");
}

#[test]
fn a_refusal_stands_in_the_span_of_the_step_that_asked_for_it() {
    let house = House::with_files();
    let runtime = house.start(house.config());
    let (_, spans, text) = watch(&runtime, call("file_read", json!({ "s3cret": "s3cret" })));
    assert_eq!(steps(&spans)[2..], ["permission invalid_input validation", "injection queued"]);
    assert!(!text.contains("s3cret"), "{text}");

    let (_, spans, text) = watch(&runtime, call("s3cret_tool", json!({})));
    assert_eq!(steps(&spans), ["registry unknown_tool", "injection queued"]);
    assert!(spans.iter().all(|span| !span.fields.contains_key("tool")) && !text.contains("s3cret"), "{text}");
}

#[test]
fn a_call_that_is_given_up_leaves_no_span_open() {
    let house = House::empty();
    let hang = "(call $report (i64.const 1) (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0) (i32.const 0)) (loop $on (br $on)) unreachable";
    let limits = "fuel = 100000000000".to_owned();
    Guest { limits, manifest: "timeout_ms = 300000".into(), ..Guest::that(hang) }.put(&house);
    let runtime = house.start(house.config());
    let collecting = Collecting::default();
    tracing::subscriber::with_default(collecting.clone(), || {
        block_on(async {
            let (sender, mut progress) = tokio::sync::mpsc::channel(1);
            let hanging = runtime.call(Call { progress: Some(sender), ..call("probe", json!({})) });
            tokio::select! {
                _ = hanging => panic!("it never ends"),
                running = progress.recv() => assert!(running.is_some()),
            }
        });
    });
    let (spans, _) = collecting.0.lock().unwrap().clone();
    assert!(spans.iter().all(|span| span.held == 0), "a span is not closed: {spans:#?}");
    assert_eq!(spans[0].fields["code"], "499");
    assert_eq!(steps(&spans)[4..], ["sandbox cancelled"]);
}

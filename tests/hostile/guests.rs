//! Which guests in component text want to harm the host, what does each attempt, and how does it end? A table: one line
//! of what is tried, one guest, one end.

mod amounts;
mod lies;

use super::kind;
use crate::support::block_on;
use crate::support::guest::Guest;
use crate::support::house::{House, call};
use hermes_runtime::error::Kind;
use serde_json::json;
use std::collections::BTreeSet;

/// What a guest is after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Aim {
    /// The processor's time.
    Processor,
    /// Its own memory, without end.
    Memory,
    /// Tables, instances, handles.
    Things,
    /// The host's memory, through what it hands over.
    HostMemory,
    /// The host's belief that what it is handed makes sense.
    Interface,
    /// Being entered or leaving where it must not.
    Reentrance,
    /// Breaking off.
    Trap,
    /// Authority that nobody granted.
    Authority,
}

/// How it ends.
enum End {
    /// With a failure of this kind.
    Kind(Kind),
    /// The same, refined.
    Reason(Kind, &'static str),
    /// It is not loaded; the fault says this.
    Unloaded(&'static str),
    /// It gets an answer, and nothing else.
    Answer(&'static str),
}

struct Hostile {
    aim: Aim,
    attempt: &'static str,
    guest: Guest,
    end: End,
}

fn hostile(aim: Aim, attempt: &'static str, guest: Guest, end: End) -> Hostile {
    Hostile { aim, attempt, guest, end }
}

fn that(body: &str) -> Guest {
    Guest::that(body)
}

fn limited(limits: &str, body: &str) -> Guest {
    Guest { limits: limits.into(), ..that(body) }
}

/// Enough fuel that its time is over first.
fn short(body: &str) -> Guest {
    Guest { manifest: "timeout_ms = 40".into(), ..limited("fuel = 100000000000", body) }
}

fn fields(fields: &str, body: &str) -> Guest {
    Guest { fields: fields.into(), ..that(body) }
}

/// A guest that imports something of WASI.
fn wasi(before: &str, with: &str, imports: &str, body: &str) -> Guest {
    Guest { before: before.into(), with: with.into(), imports: imports.into(), ..that(body) }
}

const DONE: &str = "(call $ok (local.get $args) (local.get $args_len))";

fn table() -> Vec<Hostile> {
    let mut all = processor();
    all.extend(amounts::memory());
    all.extend(amounts::things());
    all.extend(amounts::host_memory());
    all.extend(lies::interface());
    all.extend(lies::reentrance());
    all.extend(lies::traps());
    all.extend(lies::authority());
    all
}

fn processor() -> Vec<Hostile> {
    use Aim::Processor;
    let endless = "(loop $on (br $on))";
    let start = |body: &str| Guest { fields: format!("(func $first {body}) (start $first)"), ..short(DONE) };
    let timeout = || End::Kind(Kind::Timeout);
    vec![
        hostile(Processor, "a loop without end", short("(loop $on (br $on)) unreachable"), timeout()),
        hostile(
            Processor,
            "a loop that costs all fuel",
            limited("fuel = 100000", "(loop $on (br $on)) unreachable"),
            End::Kind(Kind::OutOfFuel),
        ),
        hostile(Processor, "a loop before the call", start(endless), timeout()),
        hostile(
            Processor,
            "a loop before the call that costs all fuel",
            Guest { limits: "fuel = 100000".into(), ..start(endless) },
            End::Kind(Kind::OutOfFuel),
        ),
        hostile(
            Processor,
            "a loop while the host hands over the arguments",
            Guest { realloc: "(loop $on (br $on))".into(), ..short(DONE) },
            timeout(),
        ),
        hostile(
            Processor,
            "a loop after the host took the result",
            Guest { post_return: "(loop $on (br $on))".into(), ..short(DONE) },
            timeout(),
        ),
        hostile(
            Processor,
            "filling memory again and again",
            Guest {
                memory: "64".into(),
                ..short("(loop $on (memory.fill (i32.const 0) (i32.const 0) (i32.const 4194304)) (br $on)) unreachable")
            },
            timeout(),
        ),
        hostile(
            Processor,
            "copying memory over itself again and again",
            Guest {
                memory: "64".into(),
                ..short("(loop $on (memory.copy (i32.const 0) (i32.const 1) (i32.const 4000000)) (br $on)) unreachable")
            },
            timeout(),
        ),
        hostile(
            Processor,
            "filling a table again and again",
            Guest {
                fields: "(table $t 90000 funcref)".into(),
                ..short(
                    "(loop $on (table.fill $t (i32.const 0) (ref.null func) (i32.const 90000)) (br $on)) unreachable",
                )
            },
            timeout(),
        ),
        hostile(
            Processor,
            "copying a table over itself again and again",
            Guest {
                fields: "(table $t 90000 funcref)".into(),
                ..short(
                    "(loop $on (table.copy $t $t (i32.const 0) (i32.const 1) (i32.const 80000)) (br $on)) unreachable",
                )
            },
            timeout(),
        ),
        hostile(
            Processor,
            "calling itself without end",
            fields(
                "(func $f (param i64) (call $f (i64.add (local.get 0) (i64.const 1))))",
                "(call $f (i64.const 0)) unreachable",
            ),
            End::Kind(Kind::StackOverflow),
        ),
        hostile(
            Processor,
            "calling itself through a table without end",
            fields(
                "(type $t (func)) (table $fs 1 funcref) (elem (table $fs) (i32.const 0) func $f)
                 (func $f (type $t) (call_indirect $fs (type $t) (i32.const 0)))",
                "(call $f) unreachable",
            ),
            End::Kind(Kind::StackOverflow),
        ),
        hostile(
            Processor,
            "looking at the clock without end",
            Guest {
                manifest: "timeout_ms = 40".into(),
                limits: "fuel = 100000000000, host_calls = 10000000".into(),
                ..wasi(
                    r#"(import "wasi:clocks/monotonic-clock@0.2.0" (instance $clock (export "now" (func (result u64)))))
                       (core func $now (canon lower (func $clock "now")))
                       (core instance $time (export "now" (func $now)))"#,
                    r#"(with "time" (instance $time))"#,
                    r#"(import "time" "now" (func $now (result i64)))"#,
                    "(loop $on (drop (call $now)) (br $on)) unreachable",
                )
            },
            timeout(),
        ),
        hostile(
            Processor,
            "sleeping for an hour",
            Guest {
                manifest: "timeout_ms = 40".into(),
                ..sleeping("(call $block (call $in (i64.const 3600000000000))) unreachable")
            },
            timeout(),
        ),
    ]
}

/// A guest that can sleep: `$in (nanoseconds)` gives a thing that `$block` waits for.
fn sleeping(body: &str) -> Guest {
    wasi(
        r#"(import "wasi:io/poll@0.2.0" (instance $poll (export "pollable" (type $pollable (sub resource)))
             (export "[method]pollable.block" (func (param "self" (borrow $pollable))))))
           (alias export $poll "pollable" (type $pollable))
           (import "wasi:clocks/monotonic-clock@0.2.0" (instance $clock
             (alias outer 1 $pollable (type $outer)) (export "pollable" (type $pollable2 (eq $outer)))
             (export "subscribe-duration" (func (param "when" u64) (result (own $pollable2))))))
           (core func $block (canon lower (func $poll "[method]pollable.block")))
           (core func $in (canon lower (func $clock "subscribe-duration")))
           (core instance $time (export "block" (func $block)) (export "in" (func $in)))"#,
        r#"(with "time" (instance $time))"#,
        r#"(import "time" "block" (func $block (param i32))) (import "time" "in" (func $in (param i64) (result i32)))"#,
        body,
    )
}

/// Each between calm ones on one runtime, twice.
#[test]
fn what_a_hostile_guest_attempts_ends_as_it_must_and_the_next_call_works() {
    let all = table();
    let aims: BTreeSet<Aim> = all.iter().map(|hostile| hostile.aim).collect();
    assert!(all.len() >= 40 && aims.len() == 8, "{} guests with {} aims", all.len(), aims.len());
    let house = House::empty();
    super::calm().put(&house);
    for (number, Hostile { guest, .. }) in all.iter().enumerate() {
        Guest { name: format!("probe_{number}"), ..guest.clone() }.put(&house);
    }
    let runtime = hermes_runtime::Runtime::start(house.config(), &[], None).unwrap();
    let faults: Vec<String> = runtime.toolbox().faults.iter().map(ToString::to_string).collect();
    let mut wrong = Vec::new();
    block_on(async {
        for (number, Hostile { attempt, end, .. }) in all.iter().enumerate() {
            let name = format!("probe_{number}");
            let about: Vec<&String> = faults.iter().filter(|fault| fault.contains(&format!("`{name}`"))).collect();
            for time in ["first", "second"] {
                let answer = runtime.call(call(&name, json!({}))).await.envelope;
                let reason = answer.error.as_ref().and_then(|error| error.reason.as_deref());
                let fits = match end {
                    End::Kind(expected) => kind(&answer) == Some(*expected),
                    End::Reason(expected, why) => kind(&answer) == Some(*expected) && reason == Some(why),
                    End::Unloaded(why) => {
                        kind(&answer) == Some(Kind::NoAdapter) && about.iter().any(|fault| fault.contains(why))
                    }
                    End::Answer(warning) => {
                        answer.error.is_none() && answer.metadata.warnings.iter().any(|text| text.contains(warning))
                    }
                };
                if !fits {
                    let log = about.iter().map(|fault| fault.as_str()).collect::<Vec<_>>().join("; ");
                    wrong.push(format!("{attempt}, the {time} time: {:?} {reason:?} {log}", answer.error));
                }
                let calm = super::ask(&runtime, "calm").await;
                if calm.data != json!({}) {
                    wrong.push(format!("the call after {attempt}: {calm:?}"));
                }
            }
        }
    });
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all.len() * 2, wrong.join("\n"));
}

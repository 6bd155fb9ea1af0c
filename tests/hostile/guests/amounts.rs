//! Which guests want more than there is: memory, tables, instances, handles, or the host's own memory?

use super::{Aim, DONE, End, Hostile, fields, hostile, limited, sleeping, that, wasi};
use crate::support::guest::Guest;
use hermes_runtime::error::Kind;

const OPTIONS: &str = r#"(memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))"#;

pub(super) fn memory() -> Vec<Hostile> {
    use Aim::Memory;
    let grow = "(loop $on (br_if $on (i32.ge_s (memory.grow (i32.const 1)) (i32.const 0)))) unreachable";
    let too_much = || End::Kind(Kind::OutOfMemory);
    let more =
        "(core module $more (memory 200)) (core instance (instantiate $more)) (core instance (instantiate $more))";
    vec![
        hostile(Memory, "growing page by page", limited("memory_mb = 16", grow), too_much()),
        hostile(
            Memory,
            "growing by all there is",
            limited(
                "memory_mb = 16",
                "(if (i32.eq (memory.grow (i32.const 65000)) (i32.const -1)) (then unreachable)) unreachable",
            ),
            too_much(),
        ),
        hostile(
            Memory,
            "beginning above the limit",
            Guest { memory: "300".into(), limits: "memory_mb = 16".into(), ..that(DONE) },
            too_much(),
        ),
        hostile(
            Memory,
            "several memories",
            Guest { beside: more.into(), limits: "memory_mb = 20".into(), ..that(DONE) },
            too_much(),
        ),
        hostile(
            Memory,
            "returning half a gigabyte",
            limited(
                "memory_mb = 16",
                "(if (i32.eq (memory.grow (i32.const 8000)) (i32.const -1)) (then unreachable)) (call $text (i32.const 0) (i32.const 524288000))",
            ),
            too_much(),
        ),
        hostile(
            Memory,
            "beginning with four gigabytes",
            Guest { memory: "65536".into(), ..that(DONE) },
            End::Unloaded("memory"),
        ),
        hostile(
            Memory,
            "addresses of 64 bits",
            Guest { memory: "i64 1".into(), ..that(DONE) },
            End::Unloaded("not a valid component"),
        ),
        hostile(
            Memory,
            "memory shared by threads",
            Guest { memory: "1 2 shared".into(), ..that(DONE) },
            End::Unloaded("not a valid component"),
        ),
    ]
}

pub(super) fn things() -> Vec<Hostile> {
    use Aim::Things;
    let tables = "(core module $more (table 60000 funcref)) (core instance (instantiate $more)) (core instance (instantiate $more))";
    let grow =
        "(loop $on (br_if $on (i32.ge_s (table.grow $t (ref.null func) (i32.const 1000)) (i32.const 0)))) unreachable";
    let many = "(core instance (instantiate $more))".repeat(8);
    let own = |body: &str| {
        Guest {
        before: "(type $thing (resource (rep i32))) (core func $new (canon resource.new $thing))
            (core func $drop (canon resource.drop $thing)) (core func $rep (canon resource.rep $thing))
            (core instance $own (export \"new\" (func $new)) (export \"drop\" (func $drop)) (export \"rep\" (func $rep)))"
            .into(),
        with: "(with \"own\" (instance $own))".into(),
        imports: "(import \"own\" \"new\" (func $new (param i32) (result i32)))
            (import \"own\" \"drop\" (func $drop (param i32))) (import \"own\" \"rep\" (func $rep (param i32) (result i32)))"
            .into(),
        ..that(body)
    }
    };
    vec![
        hostile(
            Things,
            "two tables that are too large together",
            Guest { beside: tables.into(), ..that(DONE) },
            End::Kind(Kind::TableLimit),
        ),
        hostile(Things, "a table that grows", fields("(table $t 1 funcref)", grow), End::Kind(Kind::TableLimit)),
        hostile(
            Things,
            "a table of four thousand million elements",
            fields("(table 4000000000 funcref)", DONE),
            End::Unloaded("table"),
        ),
        hostile(
            Things,
            "more instances than it may have",
            Guest { beside: format!("(core module $more) {many}"), limits: "instances = 8".into(), ..that(DONE) },
            End::Kind(Kind::InstanceLimit),
        ),
        hostile(
            Things,
            "components that start each other twice",
            Guest { beside: doubling(20), ..that(DONE) },
            End::Unloaded("instances"),
        ),
        hostile(
            Things,
            "handles of its own without end",
            own("(loop $on (drop (call $new (i32.const 1))) (br $on)) unreachable"),
            End::Kind(Kind::HandleLimit),
        ),
        hostile(
            Things,
            "things to wait for without end",
            sleeping("(loop $on (drop (call $in (i64.const 3600000000000))) (br $on)) unreachable"),
            End::Kind(Kind::HandleLimit),
        ),
        hostile(
            Things,
            "a handle that nobody gave it",
            own("(drop (call $rep (i32.const 77))) unreachable"),
            End::Kind(Kind::Trap),
        ),
        hostile(
            Things,
            "a handle that it has dropped",
            own(
                "(local $h i32) (local.set $h (call $new (i32.const 1))) (call $drop (local.get $h)) (call $drop (local.get $h)) unreachable",
            ),
            End::Kind(Kind::Trap),
        ),
        hostile(
            Things,
            "waiting for what nobody gave it",
            sleeping("(call $block (i32.const 9)) unreachable"),
            End::Kind(Kind::Trap),
        ),
    ]
}

pub(super) fn host_memory() -> Vec<Hostile> {
    use Aim::HostMemory;
    let report = "(call $report (i64.const 1) (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0) (i32.const 0))";
    let many_texts = "(local $i i32) (local $at i32) (local.set $at (i32.const 65536)) (loop $on
        (i32.store offset=4 (local.get $at) (i32.const 131072)) (i32.store offset=8 (local.get $at) (i32.const 40000))
        (local.set $at (i32.add (local.get $at) (i32.const 44))) (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $on (i32.lt_u (local.get $i) (i32.const 1000))))
        (i32.store (i32.const 80) (i32.const 65536)) (i32.store (i32.const 84) (i32.const 1000)) (i32.const 64)";
    let many_parts = "(drop (memory.grow (i32.const 400))) (i32.store (i32.const 80) (i32.const 65536))
        (i32.store (i32.const 84) (i32.const 500000)) (i32.const 64)";
    let json = "(drop (memory.grow (i32.const 80)))
        (i32.store8 (i32.const 65536) (i32.const 91))
        (memory.fill (i32.const 65537) (i32.const 44) (i32.const 4000000)) (call $ok (i32.const 65536) (i32.const 4000001))";
    let random = |body: &str| {
        wasi(
            r#"(import "wasi:random/random@0.2.0" (instance $random (export "get-random-bytes" (func (param "len" u64) (result (list u8))))))
               (core func $random (canon lower (func $random "get-random-bytes") OPTIONS))
               (core instance $chance (export "random" (func $random)))"#
                .replace("OPTIONS", OPTIONS)
                .as_str(),
            r#"(with "chance" (instance $chance))"#,
            r#"(import "chance" "random" (func $random (param i64 i32)))"#,
            body,
        )
    };
    vec![
        hostile(
            HostMemory,
            "reporting progress without end",
            limited("host_calls = 500", &format!("(loop $on {report} (br $on)) unreachable")),
            End::Kind(Kind::HostCallLimit),
        ),
        hostile(
            HostMemory,
            "logging without end",
            that("(loop $on (call $log (i32.const 1) (i32.const 1024) (i32.const 100)) (br $on)) unreachable"),
            End::Kind(Kind::LogLimit),
        ),
        hostile(
            HostMemory,
            "empty lines without end",
            that("(loop $on (call $log (i32.const 1) (i32.const 1024) (i32.const 0)) (br $on)) unreachable"),
            End::Kind(Kind::LogLimit),
        ),
        hostile(
            HostMemory,
            "one line of a hundred megabytes",
            limited(
                "memory_mb = 128",
                "(drop (memory.grow (i32.const 1700))) (call $log (i32.const 1) (i32.const 0) (i32.const 104857600)) unreachable",
            ),
            End::Reason(Kind::HostCallLimit, "host_call_bytes"),
        ),
        hostile(
            HostMemory,
            "one text a thousand times",
            Guest { memory: "4".into(), ..that(many_texts) },
            End::Kind(Kind::OutputLimit),
        ),
        hostile(
            HostMemory,
            "half a million empty parts",
            limited("output_bytes = 1000000", many_parts),
            End::Kind(Kind::OutputLimit),
        ),
        hostile(
            HostMemory,
            "four million values in four megabytes",
            that(json),
            End::Reason(Kind::OutputLimit, "json_values"),
        ),
        hostile(
            HostMemory,
            "four gigabytes of randomness",
            random("(call $random (i64.const 4294967296) (i32.const 1024)) unreachable"),
            End::Kind(Kind::Trap),
        ),
    ]
}

/// Components of which each starts the one before twice.
fn doubling(depth: usize) -> String {
    let mut text = "(component $c0 (core module $m) (core instance (instantiate $m)))".to_owned();
    for level in 1..=depth {
        text += &format!(
            "(component $c{level} (alias outer 1 $c{} (component $x)) (instance (instantiate $x)) (instance (instantiate $x)))",
            level - 1
        );
    }
    format!("{text} (instance (instantiate $c{depth}))")
}

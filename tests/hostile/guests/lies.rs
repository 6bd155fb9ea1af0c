//! Which guests hand over what makes no sense, enter or leave where they must not, break off, or ask for what nobody
//! granted?

use super::{Aim, DONE, End, Hostile, fields, hostile, that, wasi};
use crate::support::guest::Guest;
use hermes_runtime::error::Kind;

pub(super) fn interface() -> Vec<Hostile> {
    use Aim::Interface;
    let trap = || End::Kind(Kind::Trap);
    let bad = |attempt, body: &str| hostile(Interface, attempt, that(body), trap());
    let encoded = |encoding: &str, body: &str| Guest { encoding: encoding.into(), ..that(body) };
    let words = r#"(data (i32.const 1024) "\ff\fe\80")"#;
    vec![
        bad(
            "a text that begins before memory ends and ends after it",
            "(call $log (i32.const 1) (i32.const 4294967280) (i32.const 64)) unreachable",
        ),
        bad("a text longer than memory", "(call $log (i32.const 1) (i32.const 0) (i32.const 524288000)) unreachable"),
        bad("a level that does not exist", "(call $log (i32.const 9) (i32.const 0) (i32.const 0)) unreachable"),
        bad(
            "a result whose text lies at the end of all addresses",
            "(call $text (i32.const 4294967295) (i32.const 16))",
        ),
        bad("facts beyond memory", "(call $ok (i32.const 65530) (i32.const 100))"),
        bad("a result beyond memory", "(i32.const 4294967292)"),
        bad("a result at an odd address", "(i32.const 65)"),
        bad(
            "a list whose size overflows",
            "(i32.store (i32.const 80) (i32.const 4)) (i32.store (i32.const 84) (i32.const 2147483647)) (i32.const 64)",
        ),
        bad("a variant that does not exist", "(i32.store8 (i32.const 64) (i32.const 7)) (i32.const 64)"),
        hostile(
            Interface,
            "a result that is no UTF-8",
            fields(words, "(call $text (i32.const 1024) (i32.const 3))"),
            trap(),
        ),
        hostile(
            Interface,
            "a line that is no UTF-8",
            fields(words, "(call $log (i32.const 1) (i32.const 1024) (i32.const 3)) unreachable"),
            trap(),
        ),
        hostile(
            Interface,
            "UTF-16 at an odd address",
            encoded("string-encoding=utf16", "(call $text (i32.const 1025) (i32.const 3))"),
            trap(),
        ),
        hostile(
            Interface,
            "half a character of UTF-16",
            Guest {
                fields: r#"(data (i32.const 1024) "\00\d8")"#.into(),
                ..encoded("string-encoding=utf16", "(call $text (i32.const 1024) (i32.const 1))")
            },
            trap(),
        ),
        hostile(
            Interface,
            "a text of two encodings, too long",
            encoded("string-encoding=latin1+utf16", "(call $text (i32.const 1024) (i32.const 2147483647))"),
            trap(),
        ),
        hostile(
            Interface,
            "allocating beyond memory",
            Guest { realloc: "(return (i32.const -64))".into(), ..that(DONE) },
            trap(),
        ),
        hostile(
            Interface,
            "allocating at an odd address",
            Guest { realloc: "(return (i32.const 16385))".into(), ..wide() },
            trap(),
        ),
        hostile(
            Interface,
            "facts a hundred thousand levels deep",
            that(
                "(drop (memory.grow (i32.const 4))) (memory.fill (i32.const 65536) (i32.const 91) (i32.const 100000)) (call $ok (i32.const 65536) (i32.const 100000))",
            ),
            End::Answer("the component's data is no JSON object"),
        ),
    ]
}

pub(super) fn reentrance() -> Vec<Hostile> {
    use Aim::Reentrance;
    vec![
        hostile(
            Reentrance,
            "breaking off while the host hands over the arguments",
            Guest { realloc: "unreachable".into(), ..that(DONE) },
            End::Kind(Kind::Trap),
        ),
        hostile(
            Reentrance,
            "breaking off after the host took the result",
            Guest { post_return: "unreachable".into(), ..that(DONE) },
            End::Kind(Kind::Trap),
        ),
        hostile(
            Reentrance,
            "calling the host after the host took the result",
            Guest { post_return: "(call $log (i32.const 1) (i32.const 1024) (i32.const 1))".into(), ..that(DONE) },
            End::Kind(Kind::Trap),
        ),
    ]
}

pub(super) fn traps() -> Vec<Hostile> {
    use Aim::Trap;
    let ends = |attempt, guest: Guest, reason| hostile(Trap, attempt, guest, End::Reason(Kind::Trap, reason));
    vec![
        ends("breaking off", that("unreachable"), "unreachable_code_reached"),
        ends(
            "dividing by zero",
            that("(drop (i32.div_s (i32.const 1) (i32.const 0))) unreachable"),
            "integer_division_by_zero",
        ),
        ends(
            "a quotient that is too large",
            that("(drop (i32.div_s (i32.const 0x80000000) (i32.const -1))) unreachable"),
            "integer_overflow",
        ),
        ends(
            "a number that is none",
            that("(drop (i32.trunc_f32_s (f32.const nan))) unreachable"),
            "bad_conversion_to_integer",
        ),
        ends("reading beyond memory", that("(drop (i32.load (i32.const -4))) unreachable"), "memory_out_of_bounds"),
        ends(
            "calling beyond a table",
            fields("(table $t 1 funcref) (type $f (func))", "(call_indirect $t (type $f) (i32.const 9)) unreachable"),
            "table_out_of_bounds",
        ),
        ends(
            "calling nothing",
            fields("(table $t 1 funcref) (type $f (func))", "(call_indirect $t (type $f) (i32.const 0)) unreachable"),
            "indirect_call_to_null",
        ),
        ends(
            "calling something else than it says",
            fields(
                "(type $f (func)) (table $t 1 funcref) (elem (table $t) (i32.const 0) func $g) (func $g (param i64))",
                "(call_indirect $t (type $f) (i32.const 0)) unreachable",
            ),
            "bad_signature",
        ),
        hostile(
            Trap,
            "breaking off before the call",
            fields("(func $first unreachable) (start $first)", DONE),
            End::Kind(Kind::Trap),
        ),
        hostile(
            Trap,
            "ending the process",
            wasi(
                r#"(import "wasi:cli/exit@0.2.0" (instance $exit (export "exit" (func (param "status" (result))))))
                   (core func $exit (canon lower (func $exit "exit"))) (core instance $end (export "exit" (func $exit)))"#,
                r#"(with "end" (instance $end))"#,
                r#"(import "end" "exit" (func $exit (param i32)))"#,
                "(call $exit (i32.const 1)) unreachable",
            ),
            End::Reason(Kind::Trap, "exit"),
        ),
    ]
}

pub(super) fn authority() -> Vec<Hostile> {
    use Aim::Authority;
    let imports = |import: &str| Guest { before: import.to_owned(), ..that(DONE) };
    vec![
        hostile(
            Authority,
            "a capability that it did not ask for",
            imports(r#"(import "hermes:tool/files@0.1.0" (instance))"#),
            End::Unloaded("does not ask for `files`"),
        ),
        hostile(
            Authority,
            "an interface of its own making",
            imports(r#"(import "evil:tool/everything@1.0.0" (instance))"#),
            End::Unloaded("`evil:tool/everything@1.0.0`"),
        ),
        hostile(
            Authority,
            "a function that belongs to no interface",
            imports(r#"(import "system" (func))"#),
            End::Unloaded("`system`"),
        ),
        hostile(
            Authority,
            "a part of WASI that does not exist",
            imports(r#"(import "wasi:everything/all@0.2.0" (instance (export "do" (func))))"#),
            End::Unloaded("wasi:everything/all"),
        ),
    ]
}

/// A guest in whose texts each character has two bytes, so that the host asks for even addresses.
fn wide() -> Guest {
    Guest { encoding: "string-encoding=utf16".into(), ..that(DONE) }
}

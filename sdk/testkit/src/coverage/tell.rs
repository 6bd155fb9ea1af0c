//! How does a component tell what it counted? A module of its own, which all others share, reads the counters and what
//! was compared, and hands both to the host as text.

use super::{FIRST, LETTERS, compare};

/// The module that tells which counters are not 0 and what was compared, and sets all to 0. What it tells of counters lies
/// behind them.
pub(super) fn tell(size: u32) -> String {
    let end = FIRST + size;
    let letter = |place: u32, shift: u32, value: &str| {
        format!(
            "(i32.store8 offset={place} (local.get $out) (i32.add (i32.const 48) (i32.and (i32.const 63)
               (i32.shr_u (local.get {value}) (i32.const {shift})))))"
        )
    };
    let letters = [
        letter(0, 18, "$number"),
        letter(1, 12, "$number"),
        letter(2, 6, "$number"),
        letter(3, 0, "$number"),
        letter(4, 6, "$count"),
        letter(5, 0, "$count"),
    ]
    .concat();
    let letters_of = letters_of();
    format!(
        "(module
          (import \"counters\" \"memory\" (memory 0))
          (import \"host\" \"ran\" (func $ran (param i32 i32 i32 i32)))
          (export \"memory\" (memory 0))
          (func (export \"tell\")
            (local $at i32) (local $next i32) (local $number i32) (local $out i32) (local $count i32)
            (local.set $at (i32.const {FIRST}))
            (local.set $out (i32.const {end}))
            (loop $words
              (if (i64.eqz (i64.load (local.get $at)))
                (then (local.set $at (i32.add (local.get $at) (i32.const 8))))
                (else
                  (local.set $next (i32.add (local.get $at) (i32.const 8)))
                  (loop $bytes
                    (local.set $count (i32.load8_u (local.get $at)))
                    (local.set $number (i32.sub (local.get $at) (i32.const {FIRST})))
                    (if (local.get $count)
                      (then {letters} (local.set $out (i32.add (local.get $out) (i32.const 6)))))
                    (local.set $at (i32.add (local.get $at) (i32.const 1)))
                    (br_if $bytes (i32.lt_u (local.get $at) (local.get $next))))))
              (br_if $words (i32.lt_u (local.get $at) (i32.const {end}))))
            (memory.fill (i32.const {FIRST}) (i32.const 0) (i32.const {size}))
            (call $letters)
            (call $ran (i32.const {end}) (i32.sub (local.get $out) (i32.const {end}))
              (i32.const 4) (i32.load (i32.const 0)))
            (i32.store (i32.const 0) (i32.const 0)))
          {letters_of})"
    )
}

/// The function that adds the letters that were compared to the texts that were, each pair as two texts of one letter.
fn letters_of() -> String {
    let room = compare::SIZE - 10;
    let digit = |place: u32, shift: u32, mask: u32| {
        format!(
            "(i32.store8 offset={place} (local.get $out) (i32.add (i32.const 48)
               (i32.and (i32.const {mask}) (i32.shr_u (local.get $pair) (i32.const {shift})))))"
        )
    };
    let digits = [digit(1, 11, 7), digit(2, 7, 15), digit(4, 4, 7), digit(5, 0, 15)].concat();
    format!(
        "(func $letters (local $pair i32) (local $out i32)
           (local.set $out (i32.add (i32.const 4) (i32.load (i32.const 0))))
           (loop $pairs
             (if (i32.and (i32.load8_u offset={LETTERS} (local.get $pair))
                   (i32.lt_u (local.get $out) (i32.const {room})))
               (then
                 (i32.store8 (local.get $out) (i32.const 49))
                 (i32.store8 offset=3 (local.get $out) (i32.const 49))
                 {digits}
                 (local.set $out (i32.add (local.get $out) (i32.const 6)))))
             (local.set $pair (i32.add (local.get $pair) (i32.const 1)))
             (br_if $pairs (i32.lt_u (local.get $pair) (i32.const 16384))))
           (i32.store (i32.const 0) (i32.sub (local.get $out) (i32.const 4)))
           (memory.fill (i32.const {LETTERS}) (i32.const 0) (i32.const 16384)))"
    )
}

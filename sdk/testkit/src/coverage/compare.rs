//! With which texts is an input compared? The functions of the C library that compare note what they were given where it
//! is not the same: a text of the input and the one that is looked for.

use std::collections::BTreeMap;
use std::convert::Infallible;
use wasm_encoder::reencode::{Error, Reencode};
use wasm_encoder::{CodeSection, Instruction};
use wasmparser::{FunctionBody, KnownCustom, Name, Operator, Parser, Payload};

/// Room for what was compared, in bytes: how much of it is used, and then the texts.
pub(super) const SIZE: u32 = 256 << 10;
/// Most bytes of one text.
const LONGEST: u32 = 32;

/// How a function compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compares {
    /// So many bytes.
    Bytes,
    /// Texts that end with a zero.
    Texts,
    /// Such texts, but so many bytes at most.
    SomeOfTexts,
}

impl Compares {
    fn of(name: &str) -> Option<Compares> {
        match name {
            "memcmp" | "bcmp" => Some(Compares::Bytes),
            "strcmp" | "strcasecmp" => Some(Compares::Texts),
            "strncmp" | "strncasecmp" => Some(Compares::SomeOfTexts),
            _ => None,
        }
    }

    fn params(self) -> usize {
        match self {
            Compares::Texts => 2,
            Compares::Bytes | Compares::SomeOfTexts => 3,
        }
    }

    /// What a function does first that compares so.
    pub(super) fn noting(self, note: u32) -> [Instruction<'static>; 5] {
        let most = match self {
            Compares::Texts => Instruction::I32Const(LONGEST as i32),
            Compares::Bytes | Compares::SomeOfTexts => Instruction::LocalGet(2),
        };
        let is_text = Instruction::I32Const(i32::from(self != Compares::Bytes));
        [Instruction::LocalGet(0), Instruction::LocalGet(1), most, is_text, Instruction::Call(note)]
    }
}

/// Functions of a module that compare, by their names, whatever these are good for, and, where names were taken out, by
/// what they do. `imported` is how many functions it imports; `params` gives how many numbers a function takes, if it takes
/// nothing else.
pub(super) fn comparing(
    module: &[u8],
    exports: &BTreeMap<String, u32>,
    imported: u32,
    params: impl Fn(u32) -> Option<usize>,
) -> BTreeMap<u32, Compares> {
    let mut found = BTreeMap::new();
    let mut note = |name: &str, index: u32| {
        if let Some(compares) = Compares::of(name).filter(|compares| params(index) == Some(compares.params())) {
            found.insert(index, compares);
        }
    };
    exports.iter().for_each(|(name, index)| note(name, *index));
    let (mut by_shape, mut index) = (Vec::new(), imported);
    for payload in Parser::new(0).parse_all(module) {
        match payload {
            Ok(Payload::CodeSectionEntry(body)) => {
                if params(index) == Some(Compares::Bytes.params()) && compares_bytes(&body).unwrap_or(false) {
                    by_shape.push(index);
                }
                index += 1;
            }
            Ok(Payload::CustomSection(section)) => {
                let KnownCustom::Name(names) = section.as_known() else { continue };
                for names in names {
                    let Ok(Name::Function(names)) = names else { continue };
                    names.into_iter().flatten().for_each(|naming| note(naming.name, naming.index));
                }
            }
            _ => {}
        }
    }
    by_shape.into_iter().for_each(|index| _ = found.entry(index).or_insert(Compares::Bytes));
    found
}

/// Whether a function does what `memcmp` does: it is short, reads two bytes in a loop, takes one from the other, and changes
/// and calls nothing.
fn compares_bytes(body: &FunctionBody<'_>) -> wasmparser::Result<bool> {
    /// Most instructions; compilers make thirty to fifty of it.
    const SHORT: usize = 70;
    let (mut all, mut reads, mut has_loop, mut takes) = (0, 0, false, false);
    for operator in body.get_operators_reader()? {
        all += 1;
        match operator? {
            Operator::I32Load8U { .. } => reads += 1,
            Operator::Loop { .. } => has_loop = true,
            Operator::I32Sub => takes = true,
            Operator::LocalGet { .. } | Operator::LocalSet { .. } | Operator::LocalTee { .. } => {}
            Operator::Block { .. } | Operator::If { .. } | Operator::Else | Operator::End => {}
            Operator::Br { .. } | Operator::BrIf { .. } | Operator::Return | Operator::Select => {}
            Operator::I32Const { .. } | Operator::I32Add | Operator::I32Eqz | Operator::I32Eq | Operator::I32Ne => {}
            _ => return Ok(false),
        }
        if all > SHORT {
            return Ok(false);
        }
    }
    Ok(reads == 2 && has_loop && takes)
}

/// The function that notes two texts, as the body of a module's function. `memories` are those of the module and of the
/// counters.
pub(super) fn note(code: &mut CodeSection, memories: [u32; 2]) -> Result<(), String> {
    let length = |length: &str, from: &str| {
        format!(
            "(local.set {length} (i32.const 0))
             (block $end (loop $on
               (br_if $end (i32.ge_u (local.get {length}) (local.get $most)))
               (br_if $end (i32.eqz (i32.load8_u (i32.add (local.get {from}) (local.get {length})))))
               (local.set {length} (i32.add (local.get {length}) (i32.const 1)))
               (br $on)))"
        )
    };
    let write = |length: &str, from: &str| {
        format!(
            "(i32.store8 1 (local.get $out) (i32.add (i32.const 48) (local.get {length})))
             (local.set $out (i32.add (local.get $out) (i32.const 1)))
             (local.set $at (i32.const 0))
             (block $end (loop $on
               (br_if $end (i32.ge_u (local.get $at) (local.get {length})))
               (local.set $byte (i32.load8_u (i32.add (local.get {from}) (local.get $at))))
               (i32.store8 1 (local.get $out) (i32.add (i32.const 48) (i32.shr_u (local.get $byte) (i32.const 4))))
               (i32.store8 1 offset=1 (local.get $out)
                 (i32.add (i32.const 48) (i32.and (local.get $byte) (i32.const 15))))
               (local.set $out (i32.add (local.get $out) (i32.const 2)))
               (local.set $at (i32.add (local.get $at) (i32.const 1)))
               (br $on)))"
        )
    };
    // At the end of memory nothing is read that the function itself would not read.
    let inside = |from: &str| {
        format!(
            "(if (i64.gt_u (i64.add (i64.extend_i32_u (local.get {from})) (i64.const {LONGEST}))
                   (i64.shl (i64.extend_i32_u (memory.size)) (i64.const 16)))
               (then (return)))"
        )
    };
    let (in_a, in_b) = (inside("$a"), inside("$b"));
    let (one, two) = (length("$one", "$a"), length("$two", "$b"));
    let (write_one, write_two) = (write("$one", "$a"), write("$two", "$b"));
    let room = SIZE - 4 - 4 * LONGEST - 2;
    let text = format!(
        "(module
          (import \"its\" \"own\" (memory 0))
          (import \"the\" \"counters\" (memory 0))
          (func (param $a i32) (param $b i32) (param $most i32) (param $is_text i32)
            (local $one i32) (local $two i32) (local $at i32) (local $differs i32) (local $byte i32) (local $out i32)
            (if (i32.gt_u (local.get $most) (i32.const {LONGEST})) (then (local.set $most (i32.const {LONGEST}))))
            {in_a} {in_b}
            (local.set $one (local.get $most))
            (local.set $two (local.get $most))
            (if (local.get $is_text) (then {one} {two}))
            (if (i32.lt_u (i32.add (local.get $one) (local.get $two)) (i32.const 4)) (then (return)))
            (local.set $differs (i32.ne (local.get $one) (local.get $two)))
            (block $end (loop $on
              (br_if $end (local.get $differs))
              (br_if $end (i32.ge_u (local.get $at) (local.get $one)))
              (local.set $differs (i32.ne
                (i32.load8_u (i32.add (local.get $a) (local.get $at)))
                (i32.load8_u (i32.add (local.get $b) (local.get $at)))))
              (local.set $at (i32.add (local.get $at) (i32.const 1)))
              (br $on)))
            (if (i32.eqz (local.get $differs)) (then (return)))
            (local.set $out (i32.load 1 (i32.const 0)))
            (if (i32.gt_u (local.get $out) (i32.const {room})) (then (return)))
            (local.set $out (i32.add (local.get $out) (i32.const 4)))
            {write_one} {write_two}
            (i32.store 1 (i32.const 0) (i32.sub (local.get $out) (i32.const 4)))))"
    );
    let module = wat::parse_str(text).map_err(|error| error.to_string())?;
    for payload in Parser::new(0).parse_all(&module) {
        if let Payload::CodeSectionEntry(body) = payload.map_err(|error| error.to_string())? {
            Moved { memories }.parse_function_body(code, body).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

/// Takes a function from one module into another one.
struct Moved {
    memories: [u32; 2],
}

impl Reencode for Moved {
    type Error = Infallible;

    fn memory_index(&mut self, memory: u32) -> Result<u32, Error> {
        Ok(self.memories.get(memory as usize).copied().unwrap_or(memory))
    }
}

/// Pairs of texts: each begins with how many bytes it has, and each byte is two letters.
pub(super) fn read(mut compared: &str) -> Vec<[String; 2]> {
    let mut pairs = Vec::new();
    while let Some(first) = one(&mut compared)
        && let Some(second) = one(&mut compared)
    {
        if let (Ok(first), Ok(second)) = (String::from_utf8(first), String::from_utf8(second)) {
            pairs.push([first, second]);
        }
    }
    pairs
}

fn one(compared: &mut &str) -> Option<Vec<u8>> {
    let (first, rest) = compared.as_bytes().split_first()?;
    let length = usize::from(first.wrapping_sub(b'0')) * 2;
    let letters = rest.get(..length)?;
    *compared = compared.get(length + 1..)?;
    let half = |letter: &u8| letter.wrapping_sub(b'0') & 15;
    Some(letters.chunks_exact(2).map(|pair| half(&pair[0]) << 4 | half(&pair[1])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_without_a_name_is_known_by_what_it_does() {
        let compares = "(func (param i32 i32 i32) (result i32) (local i32 i32)
            (block $end (br_if $end (i32.eqz (local.get 2)))
              (loop $on
                (if (i32.eq (local.tee 3 (i32.load8_u (local.get 0))) (local.tee 4 (i32.load8_u (local.get 1))))
                  (then
                    (local.set 0 (i32.add (local.get 0) (i32.const 1)))
                    (local.set 1 (i32.add (local.get 1) (i32.const 1)))
                    (br_if $on (local.tee 2 (i32.sub (local.get 2) (i32.const 1))))
                    (br $end))))
              (return (i32.sub (local.get 3) (local.get 4))))
            (i32.const 0))";
        let other = compares.replacen("(local.set 0 ", "(i32.store8 (local.get 0) (i32.const 1)) (local.set 0 ", 1);
        let text = format!("(module (import \"a\" \"b\" (func)) (memory 1) (func) {other} {compares})");
        let module = wat::parse_str(text).unwrap();
        let found = comparing(&module, &BTreeMap::new(), 1, |index| (index > 1).then_some(3));
        assert_eq!(found, BTreeMap::from([(3, Compares::Bytes)]));
    }

    #[test]
    fn what_was_compared_is_read_in_pairs() {
        assert_eq!(read("261622717:"), [["ab", "qz"]]);
        assert!(read("26162271").is_empty(), "what is cut off is left out");
    }
}

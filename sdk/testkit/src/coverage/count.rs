//! What is put before an instruction, so that it is counted? Leaves what is on the stack as it is.

use super::{Constants, Counters, FIRST, LETTERS};
use wasm_encoder::{BlockType, Function, Instruction, MemArg};
use wasmparser::Operator;

/// Most ways of one branch with a table that are told apart.
const WAYS: u32 = 256;

/// Locals of a function that are ours: two numbers and a place, and two wide numbers.
pub(super) struct Spare {
    pub(super) first: u32,
    pub(super) second: u32,
    pub(super) place: u32,
    pub(super) wide: [u32; 2],
}

/// What counts. Lifetime: one module.
pub(super) struct Count<'a> {
    /// The index of the counters' memory.
    pub(super) memory: u32,
    pub(super) counters: &'a mut Counters,
    pub(super) constants: &'a mut Constants,
}

impl Count<'_> {
    /// Adds one to a counter; on the stack is its place, which is added to its number.
    fn add(&self, code: &mut Function, spare: &Spare, number: u32) {
        let counter = MemArg { offset: u64::from(FIRST + number), align: 0, memory_index: self.memory };
        for instruction in [
            Instruction::LocalTee(spare.place),
            Instruction::LocalGet(spare.place),
            Instruction::I32Load8U(counter),
            Instruction::I32Const(1),
            Instruction::I32Add,
            Instruction::I32Store8(counter),
        ] {
            code.instruction(&instruction);
        }
    }

    /// Notes two letters that are about to be compared.
    fn note_letters(&self, code: &mut Function, spare: &Spare) {
        let letters = MemArg { offset: u64::from(LETTERS), align: 0, memory_index: self.memory };
        for instruction in [
            Instruction::LocalSet(spare.second),
            Instruction::LocalTee(spare.first),
            Instruction::LocalGet(spare.second),
            Instruction::I32Or,
            Instruction::I32Const(128),
            Instruction::I32LtU,
            Instruction::If(BlockType::Empty),
            Instruction::LocalGet(spare.first),
            Instruction::I32Const(7),
            Instruction::I32Shl,
            Instruction::LocalGet(spare.second),
            Instruction::I32Or,
            Instruction::I32Const(1),
            Instruction::I32Store8(letters),
            Instruction::End,
            Instruction::LocalGet(spare.first),
            Instruction::LocalGet(spare.second),
        ] {
            code.instruction(&instruction);
        }
    }

    /// Counts that this place was reached.
    pub(super) fn here(&mut self, code: &mut Function, spare: &Spare) {
        let number = self.counters.take(1);
        code.instruction(&Instruction::I32Const(0));
        self.add(code, spare, number);
    }

    /// Counts what is about to happen, with what is on the stack as it is.
    pub(super) fn before(&mut self, code: &mut Function, spare: &Spare, before: &Operator<'_>, next: &Operator<'_>) {
        let constant = match before {
            Operator::I32Const { value } => Some(i64::from(*value)),
            Operator::I64Const { value } => Some(*value),
            _ => None,
        };
        if let Some(value) = constant.filter(|_| compares(next)) {
            self.constants.note(value);
        }
        // Small numbers are those of loops and cases.
        let looked_for = constant.filter(|value| !(-16..=' ' as i64).contains(value));
        match next {
            Operator::If { .. } | Operator::BrIf { .. } | Operator::Select | Operator::TypedSelect { .. } => {
                let number = self.counters.take(2);
                code.instruction(&Instruction::LocalTee(spare.first));
                code.instruction(&Instruction::I32Eqz);
                self.add(code, spare, number);
                code.instruction(&Instruction::LocalGet(spare.first));
            }
            Operator::BrTable { targets } => {
                let last = targets.len().min(WAYS - 1);
                let number = self.counters.take(last + 1);
                for instruction in [
                    Instruction::LocalTee(spare.first),
                    Instruction::I32Const(last as i32),
                    Instruction::LocalGet(spare.first),
                    Instruction::I32Const(last as i32),
                    Instruction::I32LtU,
                    Instruction::Select,
                ] {
                    code.instruction(&instruction);
                }
                self.add(code, spare, number);
                code.instruction(&Instruction::LocalGet(spare.first));
            }
            Operator::I32Eq | Operator::I32Ne | Operator::I32Xor if looked_for.is_some() => {
                if looked_for.is_some_and(|value| value < 128) {
                    self.note_letters(code, spare);
                }
                let number = self.counters.take_for(5, looked_for);
                for instruction in [
                    Instruction::LocalSet(spare.second),
                    Instruction::LocalTee(spare.first),
                    Instruction::LocalGet(spare.second),
                    Instruction::I32Xor,
                    Instruction::I32Ctz,
                    Instruction::I32Const(3),
                    Instruction::I32ShrU,
                ] {
                    code.instruction(&instruction);
                }
                self.add(code, spare, number);
                code.instruction(&Instruction::LocalGet(spare.first));
                code.instruction(&Instruction::LocalGet(spare.second));
            }
            Operator::I32Eq | Operator::I32Ne if constant.is_none() => self.note_letters(code, spare),
            Operator::I64Eq | Operator::I64Ne | Operator::I64Xor if looked_for.is_some() => {
                let number = self.counters.take_for(9, looked_for);
                for instruction in [
                    Instruction::LocalSet(spare.wide[1]),
                    Instruction::LocalTee(spare.wide[0]),
                    Instruction::LocalGet(spare.wide[1]),
                    Instruction::I64Xor,
                    Instruction::I64Ctz,
                    Instruction::I32WrapI64,
                    Instruction::I32Const(3),
                    Instruction::I32ShrU,
                ] {
                    code.instruction(&instruction);
                }
                self.add(code, spare, number);
                code.instruction(&Instruction::LocalGet(spare.wide[0]));
                code.instruction(&Instruction::LocalGet(spare.wide[1]));
            }
            _ => {}
        }
    }
}

/// Whether something is compared, or taken apart to be compared.
fn compares(operator: &Operator<'_>) -> bool {
    use Operator as O;
    matches!(
        operator,
        O::I32Eq
            | O::I32Ne
            | O::I32LtS
            | O::I32LtU
            | O::I32GtS
            | O::I32GtU
            | O::I32LeS
            | O::I32LeU
            | O::I32GeS
            | O::I32GeU
            | O::I32Xor
            | O::I64Eq
            | O::I64Ne
            | O::I64LtS
            | O::I64LtU
            | O::I64GtS
            | O::I64GtU
            | O::I64LeS
            | O::I64LeU
            | O::I64GeS
            | O::I64GeU
            | O::I64Xor
    )
}

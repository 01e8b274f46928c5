//! Compiles a tree to steps and registers.

use super::{ArgumentSource, Program, ProgramStep, StackAction};
use crate::{Basis, Expr, Function, Protection, Terminal};
use recrawl_types::Reads;

/// The steps of an expression.
pub(super) fn program(expr: &Expr, protection: Protection, basis: Basis) -> Program {
    let mut values = Values { protection, list: Vec::with_capacity(expr.nodes()) };
    let constant = match values.add(expr) {
        CompiledOperand::Constant(bits) => Some(f64::from_bits(bits)),
        CompiledOperand::Value(_) => None,
    };
    let reads = expr.terminals().into_iter().fold(Reads::LAST, |all, t| all | (t.reads)(basis));
    let mut program = Program { steps: Vec::new(), constant, registers: 0, basis, reads };
    program.give_registers(&values.list, protection);
    program
}

/// The operation of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    Terminal(&'static Terminal),
    Call(&'static Function, [CompiledOperand; 2]),
}

/// An argument: the number of a value, or a constant by its bits, since −0 and 0 differ here. The
/// second argument of a unary function is 0.
#[derive(Clone, Copy, Debug, PartialEq)]
enum CompiledOperand {
    Value(usize),
    Constant(u64),
}

/// Distinct values, each after its operands.
struct Values {
    protection: Protection,
    list: Vec<Value>,
}

impl Values {
    /// Adds the new values of an expression.
    fn add(&mut self, expr: &Expr) -> CompiledOperand {
        let value = match expr {
            Expr::Constant(value) => return CompiledOperand::Constant(value.to_bits()),
            Expr::Terminal(terminal) => Value::Terminal(terminal),
            Expr::Call(function, arguments) => {
                let mut operands = [CompiledOperand::Constant(0); 2];
                for (operand, argument) in operands.iter_mut().zip(arguments) {
                    *operand = self.add(argument);
                }
                match operands {
                    [CompiledOperand::Constant(x), CompiledOperand::Constant(y)] => {
                        let constants = [x, y].map(f64::from_bits);
                        let value = function.apply(self.protection, &constants[..function.arity]);
                        return CompiledOperand::Constant(value.to_bits());
                    }
                    _ => Value::Call(function, operands),
                }
            }
        };
        let known = self.list.iter().position(|v| *v == value);
        CompiledOperand::Value(known.unwrap_or_else(|| {
            self.list.push(value);
            self.list.len() - 1
        }))
    }
}

impl Value {
    /// The operands of a value, each once.
    fn parts(&self) -> impl Iterator<Item = usize> {
        let parts = match *self {
            Value::Terminal(_) => [None, None],
            Value::Call(_, [CompiledOperand::Value(x), CompiledOperand::Value(y)]) => {
                [Some(x), (x != y).then_some(y)]
            }
            Value::Call(_, [CompiledOperand::Value(x), _] | [_, CompiledOperand::Value(x)]) => {
                [Some(x), None]
            }
            Value::Call(..) => unreachable!("functions of constants are computed beforehand"),
        };
        parts.into_iter().flatten()
    }
}

impl Program {
    /// Makes a step of every value and assigns registers. A register is free again after the last
    /// step that reads it.
    fn give_registers(&mut self, values: &[Value], protection: Protection) {
        let mut last_use = vec![0; values.len()];
        for (step, value) in values.iter().enumerate() {
            value.parts().for_each(|part| last_use[part] = step);
        }
        let mut free = Vec::new();
        for (step, value) in values.iter().enumerate() {
            let out = free.pop().unwrap_or_else(|| {
                self.registers += 1;
                self.registers - 1
            });
            let action = match *value {
                Value::Terminal(terminal) => StackAction::Load(terminal.load),
                Value::Call(function, operands) => {
                    StackAction::Call((function.kernel)(protection), operands.map(|o| self.source(o)))
                }
            };
            self.steps.push(ProgramStep { action, out });
            free.extend(value.parts().filter(|&p| last_use[p] == step).map(|p| self.steps[p].out));
        }
    }

    fn source(&self, operand: CompiledOperand) -> ArgumentSource {
        match operand {
            CompiledOperand::Value(value) => ArgumentSource::Register(self.steps[value].out),
            CompiledOperand::Constant(bits) => ArgumentSource::Constant(f64::from_bits(bits)),
        }
    }
}

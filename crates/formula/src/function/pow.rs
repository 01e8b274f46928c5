//! `pow(x, y)`: x to the y, plain in every protection.

use super::{Function, FunctionSyntax};
use crate::Tile;
use crate::kernel::{Kernel, Operand};
use crate::math::{pow, pow_rows};

pub(super) static FUNCTION: Function = Function {
    name: "pow",
    syntax: FunctionSyntax::Call,
    help: "x to the power of y; NaN if x < 0 and y is not an integer",
    arity: 2,
    kernel: |_| Kernel::Binary(rows),
};

/// With a constant argument, the compiler would split the loops and emit no vector instructions. So
/// the constant is written to a buffer first.
fn rows(out: &mut [f64], x: Operand<'_>, y: Operand<'_>) {
    let mut spread = [0.0; Tile::MAX_ROWS];
    let spread = &mut spread[..out.len()];
    match (x, y) {
        (Operand::Constant(x), Operand::Constant(y)) => out.fill(pow(x, y)),
        (Operand::Column(x), Operand::Column(y)) => pow_rows(out, x, y),
        (Operand::Column(x), Operand::Constant(y)) => {
            spread.fill(y);
            pow_rows(out, x, spread);
        }
        (Operand::Constant(x), Operand::Column(y)) => {
            spread.fill(x);
            pow_rows(out, spread, y);
        }
    }
}

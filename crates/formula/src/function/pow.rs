//! `pow(x, y)`: x to the y, plain in every protection.

use super::{Function, Syntax};
use crate::Tile;
use crate::kernel::{Kernel, Operand, vectorised};
use crate::math;

pub(super) static FUNCTION: Function = Function {
    name: "pow",
    syntax: Syntax::Call,
    help: "x to the y; NaN where x < 0 and y is no whole number",
    arity: 2,
    kernel: |_| Kernel::Binary(rows),
};

/// [`math::pow`] in three passes: in one the chain of dependent operations is so long that the processor
/// waits for it most of the time.
fn rows(out: &mut [f64], x: Operand<'_>, y: Operand<'_>) {
    let mut spread = [0.0; Tile::MAX_ROWS];
    let spread = &mut spread[..out.len()];
    let (x, y) = match (x, y) {
        (Operand::Constant(x), Operand::Constant(y)) => return out.fill(math::pow(x, y)),
        (Operand::Column(x), Operand::Column(y)) => (x, y),
        // A constant is written out: where an argument is the same in all rows, the compiler takes the loop
        // apart and makes no vector instructions of it.
        (Operand::Column(x), Operand::Constant(y)) => {
            spread.fill(y);
            (x, &*spread)
        }
        (Operand::Constant(x), Operand::Column(y)) => {
            spread.fill(x);
            (&*spread, y)
        }
    };
    let mut tails = [0.0; Tile::MAX_ROWS];
    let tails = &mut tails[..out.len()];
    log2(out, tails, x);
    exp2(out, tails, y);
    settle(out, x, y);
}

fn log2(out: &mut [f64], tails: &mut [f64], x: &[f64]) {
    vectorised(
        #[inline(always)]
        move || {
            for ((out, tail), &x) in out.iter_mut().zip(tails).zip(x) {
                (*out, *tail) = math::log2_of_size(x);
            }
        },
    );
}

fn exp2(out: &mut [f64], tails: &[f64], y: &[f64]) {
    vectorised(
        #[inline(always)]
        move || {
            for ((out, &tail), &y) in out.iter_mut().zip(tails).zip(y) {
                *out = math::exp2_of_product(y, *out, tail);
            }
        },
    );
}

fn settle(out: &mut [f64], x: &[f64], y: &[f64]) {
    vectorised(
        #[inline(always)]
        move || {
            for ((out, &x), &y) in out.iter_mut().zip(x).zip(y) {
                *out = math::settled(x, y, *out);
            }
        },
    );
}

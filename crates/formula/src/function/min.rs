//! `min(x, y)`: the minimum.

use super::{Function, FunctionSyntax, binary};

pub(super) static FUNCTION: Function = Function {
    name: "min",
    syntax: FunctionSyntax::Call,
    help: "minimum of x and y, y if they are equal; NaN if either is NaN",
    arity: 2,
    kernel: |_| binary!(least),
};

#[inline(always)]
fn least(x: f64, y: f64) -> f64 {
    if (x < y) | x.is_nan() { x } else { y }
}

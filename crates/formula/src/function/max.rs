//! `max(x, y)`: the maximum.

use super::{Function, FunctionSyntax, binary};

pub(super) static FUNCTION: Function = Function {
    name: "max",
    syntax: FunctionSyntax::Call,
    help: "maximum of x and y, y if they are equal; NaN if either is NaN",
    arity: 2,
    kernel: |_| binary!(greatest),
};

#[inline(always)]
fn greatest(x: f64, y: f64) -> f64 {
    if (x > y) | x.is_nan() { x } else { y }
}

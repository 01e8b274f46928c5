//! `max(x, y)`: the maximum.

use super::{Function, Syntax, binary};

pub(super) static FUNCTION: Function = Function {
    name: "max",
    syntax: Syntax::Call,
    help: "maximum of x and y, y if they are equal; NaN if either is NaN",
    arity: 2,
    kernel: |_| binary!(greatest),
};

#[inline(always)]
fn greatest(x: f64, y: f64) -> f64 {
    if (x > y) | x.is_nan() { x } else { y }
}

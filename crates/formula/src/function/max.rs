//! `max(x, y)`: the greater of two.

use super::{Function, Syntax, binary};

pub(super) static FUNCTION: Function = Function {
    name: "max",
    syntax: Syntax::Call,
    help: "the greater of x and y, the latter of equals; NaN if either is",
    arity: 2,
    kernel: |_| binary!(greatest),
};

#[inline(always)]
fn greatest(x: f64, y: f64) -> f64 {
    if (x > y) | x.is_nan() { x } else { y }
}

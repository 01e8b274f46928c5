//! `-`: difference.

use super::{Function, FunctionSyntax, binary};

pub(super) static FUNCTION: Function = Function {
    name: "sub",
    syntax: FunctionSyntax::Infix { symbol: '-', binds: 1 },
    help: "difference",
    arity: 2,
    kernel: |_| binary!(difference),
};

#[inline(always)]
fn difference(x: f64, y: f64) -> f64 {
    x - y
}

//! `+`: sum.

use super::{Function, FunctionSyntax, binary};

pub(super) static FUNCTION: Function = Function {
    name: "add",
    syntax: FunctionSyntax::Infix { symbol: '+', binds: 1 },
    help: "sum",
    arity: 2,
    kernel: |_| binary!(sum),
};

#[inline(always)]
fn sum(x: f64, y: f64) -> f64 {
    x + y
}

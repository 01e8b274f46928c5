//! `-x`: negation.

use super::{Function, FunctionSyntax, unary};

pub(super) static FUNCTION: Function = Function {
    name: "neg",
    syntax: FunctionSyntax::Prefix { symbol: '-' },
    help: "negation",
    arity: 1,
    kernel: |_| unary!(opposite),
};

#[inline(always)]
fn opposite(x: f64) -> f64 {
    -x
}

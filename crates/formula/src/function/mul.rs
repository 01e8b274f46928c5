//! `*`: product.

use super::{Function, FunctionSyntax, binary};

pub(super) static FUNCTION: Function = Function {
    name: "mul",
    syntax: FunctionSyntax::Infix { symbol: '*', binds: 2 },
    help: "product",
    arity: 2,
    kernel: |_| binary!(product),
};

#[inline(always)]
fn product(x: f64, y: f64) -> f64 {
    x * y
}

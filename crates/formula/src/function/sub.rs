//! `-`: difference.

use super::{Function, Syntax, binary};

pub(super) static FUNCTION: Function = Function {
    name: "sub",
    syntax: Syntax::Infix { symbol: '-', binds: 1 },
    help: "difference",
    arity: 2,
    kernel: |_| binary!(|x: f64, y: f64| x - y),
};

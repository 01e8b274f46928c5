//! `-x`: negation.

use super::{Function, Syntax, unary};

pub(super) static FUNCTION: Function = Function {
    name: "neg",
    syntax: Syntax::Prefix { symbol: '-' },
    help: "negation",
    arity: 1,
    kernel: |_| unary!(|x: f64| -x),
};

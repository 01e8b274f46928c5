//! `sqrt(x)`: the square root, plain in every protection.

use super::{Function, FunctionSyntax, unary};

pub(super) static FUNCTION: Function = Function {
    name: "sqrt",
    syntax: FunctionSyntax::Call,
    help: "square root; NaN below 0",
    arity: 1,
    kernel: |_| unary!(f64::sqrt),
};

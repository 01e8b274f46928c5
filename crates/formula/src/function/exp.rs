//! `exp(x)`: the exponential function, plain in every protection.

use super::{Function, FunctionSyntax, unary};

pub(super) static FUNCTION: Function = Function {
    name: "exp",
    syntax: FunctionSyntax::Call,
    help: "e to the power of x; infinite above 709.78",
    arity: 1,
    kernel: |_| unary!(crate::math::exp),
};

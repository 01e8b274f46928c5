//! `pow(x, y)`: x to the y, plain in every protection.

use super::{Function, Syntax, binary};

pub(super) static FUNCTION: Function = Function {
    name: "pow",
    syntax: Syntax::Call,
    help: "x to the y; NaN where x < 0 and y is no whole number",
    arity: 2,
    kernel: |_| binary!(f64::powf),
};

//! `log(x)`: the natural logarithm, protected.

use super::{Function, FunctionSyntax, unary};
use crate::Protection;
use crate::math::ln;

pub(super) static FUNCTION: Function = Function {
    name: "log",
    syntax: FunctionSyntax::Call,
    help: "natural logarithm, protected",
    arity: 1,
    kernel: |protection| match protection {
        Protection::Program => unary!(program),
        Protection::Thesis => unary!(thesis),
        Protection::Journal => unary!(journal),
    },
};

#[inline(always)]
fn program(x: f64) -> f64 {
    if x.abs() <= 1.0 { 0.0 } else { ln(x.abs()) }
}

#[inline(always)]
fn thesis(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { ln(x) }
}

#[inline(always)]
fn journal(x: f64) -> f64 {
    if x <= 0.0 { 0.0 } else { ln(x) }
}

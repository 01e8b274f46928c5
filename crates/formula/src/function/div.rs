//! `/`: division, protected.

use super::{Function, FunctionSyntax, binary};
use crate::Protection;

pub(super) static FUNCTION: Function = Function {
    name: "div",
    syntax: FunctionSyntax::Infix { symbol: '/', binds: 2 },
    help: "quotient, protected",
    arity: 2,
    kernel: |protection| match protection {
        Protection::Program => binary!(program),
        Protection::Thesis => binary!(thesis),
        Protection::Journal => binary!(journal),
    },
};

// Both branches are computed and one is selected, so that the loop over a tile has no branch.

#[inline(always)]
fn program(x: f64, y: f64) -> f64 {
    let protected = if x * y < 0.0 { -Protection::VERY_LARGE } else { Protection::VERY_LARGE };
    let plain = x / y;
    if y.abs() < Protection::NEAR_ZERO { protected } else { plain }
}

/// Compares with 0 instead of reading the sign bit, which has no meaning for a NaN.
#[inline(always)]
fn thesis(x: f64, y: f64) -> f64 {
    let turned = (x < 0.0) != (y < 0.0);
    let protected = if turned { -Protection::VERY_LARGE } else { Protection::VERY_LARGE };
    let plain = x / y;
    if y.abs() < Protection::NEAR_ZERO { protected } else { plain }
}

#[inline(always)]
fn journal(x: f64, y: f64) -> f64 {
    let plain = x / y;
    if y == 0.0 { 0.0 } else { plain }
}

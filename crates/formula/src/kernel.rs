//! Operations over the rows of a tile, with the widest vector instructions of the processor.
//!
//! A loop is compiled twice, for the baseline processor and for AVX2, and selected at run time.
//! Both do the same additions, multiplications and comparisons, row by row, so the choice affects
//! no bit of a result.

use fearless_simd::{Level, Simd, dispatch};
use std::sync::LazyLock;

/// The processor's instruction set.
static LEVEL: LazyLock<Level> = LazyLock::new(Level::new);

/// An operation over the rows of a tile. Operands and result have equal lengths.
#[derive(Clone, Copy, Debug)]
pub enum Kernel {
    /// One argument.
    Unary(fn(out: &mut [f64], x: &[f64])),
    /// Two arguments.
    Binary(fn(out: &mut [f64], x: Operand<'_>, y: Operand<'_>)),
}

/// An argument of a binary operation.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// One value per row.
    Column(&'a [f64]),
    /// The same value in all rows.
    Constant(f64),
}

/// Runs a loop over rows. The closure and the functions it calls must be marked for inlining, or
/// they are compiled for the baseline processor. The closure must own its captures, or they are
/// read again in every row.
#[inline(always)]
pub fn vectorised(rows: impl FnOnce()) {
    dispatch!(*LEVEL, simd => simd.vectorize(rows));
}

/// `out = value(x)`.
#[inline(always)]
pub(crate) fn unary(out: &mut [f64], x: &[f64], value: impl Fn(f64) -> f64) {
    vectorised(
        #[inline(always)]
        move || {
            for (out, &x) in out.iter_mut().zip(x) {
                *out = value(x);
            }
        },
    );
}

/// `x = value(x)`.
#[inline(always)]
pub(crate) fn update(x: &mut [f64], value: impl Fn(f64) -> f64) {
    vectorised(
        #[inline(always)]
        move || {
            x.iter_mut().for_each(
                #[inline(always)]
                |x| *x = value(*x),
            )
        },
    );
}

/// `out = value(x, y)`.
#[inline(always)]
pub(crate) fn binary(out: &mut [f64], x: Operand<'_>, y: Operand<'_>, value: impl Fn(f64, f64) -> f64) {
    match (x, y) {
        (Operand::Column(x), Operand::Column(y)) => vectorised(
            #[inline(always)]
            move || {
                for ((out, &x), &y) in out.iter_mut().zip(x).zip(y) {
                    *out = value(x, y);
                }
            },
        ),
        (Operand::Column(x), Operand::Constant(y)) => unary(
            out,
            x,
            #[inline(always)]
            move |x| value(x, y),
        ),
        (Operand::Constant(x), Operand::Column(y)) => unary(
            out,
            y,
            #[inline(always)]
            move |y| value(x, y),
        ),
        (Operand::Constant(x), Operand::Constant(y)) => out.fill(value(x, y)),
    }
}

//! The rows that are scored at one time.

use crate::Basis;
use crate::kernel::vectorised;
use recrawl_types::{Cycle, StateColumns};
use std::ops::Range;

/// A run of rows short enough that every intermediate value stays in the first-level cache, and what
/// terminals need to know beside the rows.
#[derive(Clone, Debug)]
pub struct Tile<'a> {
    /// The block that the rows are part of.
    pub columns: &'a StateColumns,
    /// Which rows.
    pub rows: Range<usize>,
    /// The cycle that is being planned: t counts up to it.
    pub cycle: Cycle,
    /// Where the rates come from.
    pub basis: Basis,
}

impl Tile<'_> {
    /// The most rows in a tile: 4 KiB a register.
    pub const MAX_ROWS: usize = 512;

    /// The part of a column that belongs to the tile.
    pub(crate) fn of<'c, T>(&self, column: &'c [T]) -> &'c [T] {
        &column[self.rows.clone()]
    }

    /// Fills `out` with `value` of the entries of one column. A `value` that is marked for inlining becomes
    /// vector instructions.
    #[inline(always)]
    pub(crate) fn map<T: Copy>(&self, column: &[T], out: &mut [f64], value: impl Fn(T) -> f64) {
        let column = self.of(column);
        vectorised(
            #[inline(always)]
            move || {
                for (out, &a) in out.iter_mut().zip(column) {
                    *out = value(a);
                }
            },
        );
    }

    /// Fills `out` with `value` of the entries of two columns.
    #[inline(always)]
    pub(crate) fn map2<T: Copy, U: Copy>(
        &self,
        a: &[T],
        b: &[U],
        out: &mut [f64],
        value: impl Fn(T, U) -> f64,
    ) {
        let (a, b) = (self.of(a), self.of(b));
        vectorised(
            #[inline(always)]
            move || {
                for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
                    *out = value(a, b);
                }
            },
        );
    }

    /// Replaces what is in `out` by `value` of it and of the entries of two columns.
    #[inline(always)]
    pub(crate) fn update2<T: Copy, U: Copy>(
        &self,
        a: &[T],
        b: &[U],
        out: &mut [f64],
        value: impl Fn(f64, T, U) -> f64,
    ) {
        let (a, b) = (self.of(a), self.of(b));
        vectorised(
            #[inline(always)]
            move || {
                for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
                    *out = value(*out, a, b);
                }
            },
        );
    }
}

//! The rows that are scored at a time.

use crate::Basis;
use crate::kernel::vectorised;
use recrawl_types::{Cycle, StateColumns};
use std::cell::RefCell;
use std::ops::Range;

/// A run of rows, short enough that every intermediate value stays in the first-level cache, and
/// the other inputs of terminals.
#[derive(Clone, Debug)]
pub struct Tile<'a> {
    /// The block of the rows.
    pub columns: &'a StateColumns,
    /// The rows.
    pub rows: Range<usize>,
    /// The cycle that is being planned; t counts up to it.
    pub cycle: Cycle,
    /// The basis of the rate estimates.
    pub basis: Basis,
    /// Hazards of the rows by the model of the next change, once a terminal has asked for them.
    pub model: ModelHazards,
}

/// Hazards that several terminals of a formula read, and whether they are by the feature of sections, too. One computation costs
/// as much as a dozen terminals.
#[derive(Clone, Debug, Default)]
pub struct ModelHazards(pub(crate) RefCell<Option<(bool, Vec<f64>)>>);

impl Tile<'_> {
    /// Maximum rows of a tile: 4 KiB per register.
    pub const MAX_ROWS: usize = 512;

    /// The tile's part of a column.
    pub(crate) fn slice<'c, T>(&self, column: &'c [T]) -> &'c [T] {
        &column[self.rows.clone()]
    }

    /// Fills `out` with `value` of the entries of one column. Mark `value` for inlining, so that it
    /// becomes vector instructions.
    #[inline(always)]
    pub(crate) fn map<T: Copy>(&self, column: &[T], out: &mut [f64], value: impl Fn(T) -> f64) {
        let column = self.slice(column);
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
        let (a, b) = (self.slice(a), self.slice(b));
        vectorised(
            #[inline(always)]
            move || {
                for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
                    *out = value(a, b);
                }
            },
        );
    }

    /// Replaces each entry of `out` by `value` of it and the entry of one column.
    #[inline(always)]
    pub(crate) fn update<T: Copy>(&self, column: &[T], out: &mut [f64], value: impl Fn(f64, T) -> f64) {
        let column = self.slice(column);
        vectorised(
            #[inline(always)]
            move || {
                for (out, &a) in out.iter_mut().zip(column) {
                    *out = value(*out, a);
                }
            },
        );
    }

    /// Replaces each entry of `out` by `value` of it and the entries of two columns.
    #[inline(always)]
    pub(crate) fn update2<T: Copy, U: Copy>(
        &self,
        a: &[T],
        b: &[U],
        out: &mut [f64],
        value: impl Fn(f64, T, U) -> f64,
    ) {
        let (a, b) = (self.slice(a), self.slice(b));
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

//! One column of numbers in a block: the least value, then every value's distance from it in as few
//! whole bytes as the greatest distance needs. A column of equal values takes nine bytes in all.

use crate::file::bytes::{Malformed, Put, Take};
use recrawl_types::Cycle;
use std::convert::identity;

/// A number of a record. Its type decides how it is written.
pub(crate) trait ColumnCell: Copy + Default {
    /// In a column.
    fn to_bits(self) -> u64;
    /// None when the bits are more than the type has.
    fn from_bits(bits: u64) -> Option<Self>;
    /// In a record that stands alone.
    fn put_alone(self, out: &mut Vec<u8>);
    fn take_alone(take: &mut Take<'_>) -> Result<Self, Malformed>;
}

macro_rules! cells {
    ($($cell:ty as $bits:ty: $to_bits:expr, $from_bits:expr, $put:ident, $take:ident;)*) => {$(
        impl ColumnCell for $cell {
            fn to_bits(self) -> u64 {
                ($to_bits)(self).into()
            }

            fn from_bits(bits: u64) -> Option<$cell> {
                <$bits>::try_from(bits).ok().map($from_bits)
            }

            fn put_alone(self, out: &mut Vec<u8>) {
                out.$put(($to_bits)(self).into());
            }

            fn take_alone(take: &mut Take<'_>) -> Result<$cell, Malformed> {
                let bits: $bits = take.$take()?;
                Ok($from_bits(bits))
            }
        }
    )*};
}

cells! {
    u8 as u8: identity, identity, put_u8, u8;
    u16 as u16: identity, identity, put_varint, narrow;
    u32 as u32: identity, identity, put_varint, narrow;
    u64 as u64: identity, identity, put_varint, varint;
    f32 as u32: f32::to_bits, f32::from_bits, put_u32, u32;
    f64 as u64: f64::to_bits, f64::from_bits, put_u64, u64;
    Cycle as u32: |cycle: Cycle| cycle.0, Cycle, put_varint, narrow;
}

/// A field of a record: a cell, or an array of cells.
pub(crate) trait RecordField: Copy {
    /// Appends it to a record that stands alone.
    fn put(self, out: &mut Vec<u8>);
    /// Takes what [`RecordField::put`] wrote.
    fn take(take: &mut Take<'_>) -> Result<Self, Malformed>;
    /// Appends the field of all rows: a column, or one for each cell of an array.
    fn put_columns<R>(out: &mut Vec<u8>, rows: &[R], of: impl Fn(&R) -> &Self);
    /// Takes what [`RecordField::put_columns`] wrote into rows of zeros.
    fn take_columns<R>(
        take: &mut Take<'_>,
        rows: &mut [R],
        of: impl Fn(&mut R) -> &mut Self,
    ) -> Result<(), Malformed>;
}

impl<C: ColumnCell> RecordField for C {
    fn put(self, out: &mut Vec<u8>) {
        self.put_alone(out);
    }

    fn take(take: &mut Take<'_>) -> Result<C, Malformed> {
        C::take_alone(take)
    }

    fn put_columns<R>(out: &mut Vec<u8>, rows: &[R], of: impl Fn(&R) -> &C) {
        put_column(out, rows.iter().map(|row| *of(row)));
    }

    fn take_columns<R>(
        take: &mut Take<'_>,
        rows: &mut [R],
        of: impl Fn(&mut R) -> &mut C,
    ) -> Result<(), Malformed> {
        take_column_over_zeros(take, rows.len(), |row, cell| *of(&mut rows[row]) = cell)
    }
}

impl<C: ColumnCell, const N: usize> RecordField for [C; N] {
    fn put(self, out: &mut Vec<u8>) {
        self.into_iter().for_each(|cell| cell.put_alone(out));
    }

    fn take(take: &mut Take<'_>) -> Result<[C; N], Malformed> {
        let mut cells = [C::default(); N];
        for cell in &mut cells {
            *cell = C::take_alone(take)?;
        }
        Ok(cells)
    }

    fn put_columns<R>(out: &mut Vec<u8>, rows: &[R], of: impl Fn(&R) -> &[C; N]) {
        (0..N).for_each(|i| put_column(out, rows.iter().map(|row| of(row)[i])));
    }

    fn take_columns<R>(
        take: &mut Take<'_>,
        rows: &mut [R],
        of: impl Fn(&mut R) -> &mut [C; N],
    ) -> Result<(), Malformed> {
        (0..N).try_for_each(|i| C::take_columns(take, rows, |row| &mut of(row)[i]))
    }
}

/// A field in memory, column by column.
pub(crate) trait Columns {
    /// Adds rows of zeros.
    fn resize(&mut self, rows: usize);
    /// Takes what [`RecordField::put_columns`] wrote into some rows.
    fn take(&mut self, take: &mut Take<'_>, rows: &[usize]) -> Result<(), Malformed>;
}

impl<C: ColumnCell> Columns for Vec<C> {
    fn resize(&mut self, rows: usize) {
        self.resize(rows, C::default());
    }

    fn take(&mut self, take: &mut Take<'_>, rows: &[usize]) -> Result<(), Malformed> {
        take_column_over_zeros(take, rows.len(), |i, cell| self[rows[i]] = cell)
    }
}

impl<C: ColumnCell, const N: usize> Columns for [Vec<C>; N] {
    fn resize(&mut self, rows: usize) {
        self.iter_mut().for_each(|column| Columns::resize(column, rows));
    }

    fn take(&mut self, take: &mut Take<'_>, rows: &[usize]) -> Result<(), Malformed> {
        self.iter_mut().try_for_each(|column| column.take(take, rows))
    }
}

/// Appends a column.
pub(crate) fn put_column<T: ColumnCell>(out: &mut Vec<u8>, values: impl Iterator<Item = T> + Clone) {
    let mut least = u64::MAX;
    let mut greatest = 0;
    for v in values.clone() {
        least = least.min(v.to_bits());
        greatest = greatest.max(v.to_bits());
    }
    let least = least.min(greatest);
    let width = (64 - (greatest - least).leading_zeros()).div_ceil(8) as u8;
    out.put_u8(width);
    out.put_u64(least);
    let distances = values.map(|v| v.to_bits() - least);
    match width {
        0 => {}
        1 => out.extend(distances.map(|d| d as u8)),
        2 => distances.for_each(|d| out.extend_from_slice(&(d as u16).to_le_bytes())),
        4 => distances.for_each(|d| out.extend_from_slice(&(d as u32).to_le_bytes())),
        8 => distances.for_each(|d| out.extend_from_slice(&d.to_le_bytes())),
        w => distances.for_each(|d| out.extend_from_slice(&d.to_le_bytes()[..usize::from(w)])),
    }
}

/// Takes a column of `rows` values and gives each to `set` with its row.
pub(crate) fn take_column<T: ColumnCell>(
    take: &mut Take<'_>,
    rows: usize,
    mut set: impl FnMut(usize, T),
) -> Result<(), Malformed> {
    let width = usize::from(take.u8()?);
    let least = take.u64()?;
    if width > 8 {
        return Err(Malformed("a column is wider than 64 bits"));
    }
    let bytes = take.slice(rows * width)?;
    let mut sound = true;
    let mut put = |row: usize, distance: u64| {
        match T::from_bits(least.wrapping_add(distance)) {
            Some(v) => set(row, v),
            None => sound = false,
        };
    };
    match width {
        0 => (0..rows).for_each(|row| put(row, 0)),
        1 => bytes.iter().enumerate().for_each(|(row, &b)| put(row, u64::from(b))),
        2 => each(bytes, |row, b| put(row, u64::from(u16::from_le_bytes(b)))),
        4 => each(bytes, |row, b| put(row, u64::from(u32::from_le_bytes(b)))),
        8 => each(bytes, |row, b| put(row, u64::from_le_bytes(b))),
        w => {
            for (row, part) in bytes.chunks_exact(w).enumerate() {
                let mut wide = [0; 8];
                wide[..w].copy_from_slice(part);
                put(row, u64::from_le_bytes(wide));
            }
        }
    }
    if sound { Ok(()) } else { Err(Malformed("a column holds a value out of range")) }
}

/// The same where `set` has nothing to do for a zero, since that is what is there: of a column of zeros, and most columns
/// are, no row is touched.
pub(crate) fn take_column_over_zeros<T: ColumnCell>(
    take: &mut Take<'_>,
    rows: usize,
    set: impl FnMut(usize, T),
) -> Result<(), Malformed> {
    match take.0.strip_prefix(&[0; 9]) {
        Some(rest) => {
            take.0 = rest;
            Ok(())
        }
        None => take_column(take, rows, set),
    }
}

fn each<const N: usize>(bytes: &[u8], mut f: impl FnMut(usize, [u8; N])) {
    for (row, part) in bytes.chunks_exact(N).enumerate() {
        f(row, part.try_into().expect("chunks have their length"));
    }
}

/// Takes a column and appends it to `out`.
pub(crate) fn take_into<T: ColumnCell>(
    take: &mut Take<'_>,
    rows: usize,
    out: &mut Vec<T>,
) -> Result<(), Malformed> {
    let start = out.len();
    out.resize(start + rows, T::default());
    let new = &mut out[start..];
    take_column_over_zeros(take, rows, |row, v| new[row] = v)
}

/// Appends a column of flags, eight a byte, the first in the lowest bit.
pub(crate) fn put_flags(out: &mut Vec<u8>, flags: &[bool]) {
    out.extend(flags.chunks(8).map(|c| c.iter().rev().fold(0, |byte, &flag| byte << 1 | u8::from(flag))));
}

/// Takes a column of flags and appends it to `out`.
pub(crate) fn take_flags(take: &mut Take<'_>, rows: usize, out: &mut Vec<bool>) -> Result<(), Malformed> {
    let bytes = take.slice(rows.div_ceil(8))?;
    out.extend((0..rows).map(|row| bytes[row / 8] >> (row % 8) & 1 == 1));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip<T: ColumnCell + Default + PartialEq + std::fmt::Debug>(values: &[T]) -> usize {
        let mut bytes = Vec::new();
        put_column(&mut bytes, values.iter().copied());
        let mut take = Take(&bytes);
        let mut back: Vec<T> = Vec::new();
        take_into(&mut take, values.len(), &mut back).unwrap();
        take.end().unwrap();
        assert_eq!(back, values);
        bytes.len()
    }

    proptest! {
        #[test]
        fn columns_come_back(values in proptest::collection::vec(any::<u64>(), 0..50), shift in 0u32..64) {
            let values: Vec<u64> = values.iter().map(|v| v >> shift).collect();
            let size = round_trip(&values);
            prop_assert!(size <= 9 + values.len() * (64 - shift as usize).div_ceil(8));
            round_trip(&values.iter().map(|&v| v as u16).collect::<Vec<_>>());
            round_trip(&values.iter().map(|&v| v as f64).collect::<Vec<_>>());
            round_trip(&values.iter().map(|&v| v as f32).collect::<Vec<_>>());
        }

        #[test]
        fn flags_come_back(flags in proptest::collection::vec(any::<bool>(), 0..50)) {
            let mut bytes = Vec::new();
            put_flags(&mut bytes, &flags);
            let mut back = Vec::new();
            take_flags(&mut Take(&bytes), flags.len(), &mut back).unwrap();
            prop_assert_eq!(back, flags);
        }
    }

    #[test]
    fn equal_values_take_no_room_and_values_out_of_range_are_refused() {
        assert_eq!(round_trip(&[7u32; 1000]), 9);
        assert_eq!(round_trip(&[0u32; 1000]), 9);
        assert_eq!(round_trip(&[1u32 << 20, (1 << 20) + 255]), 11);
        let mut bytes = Vec::new();
        put_column(&mut bytes, [70_000u32, 70_001].into_iter());
        assert!(take_into::<u16>(&mut Take(&bytes), 2, &mut Vec::new()).is_err());
    }
}

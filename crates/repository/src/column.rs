//! One column of numbers in a block: the least value, then every value's distance from it in as few
//! whole bytes as the greatest distance needs. A column of equal values takes nine bytes in all.

use crate::bytes::{Malformed, Put, Take};
use recrawl_types::Cycle;

/// A value that a column can hold.
pub(crate) trait Cell: Copy {
    fn to_bits(self) -> u64;
    /// None when the bits are more than the type has.
    fn from_bits(bits: u64) -> Option<Self>;
}

macro_rules! integer_cells {
    ($($int:ty)*) => {$(
        impl Cell for $int {
            fn to_bits(self) -> u64 {
                u64::from(self)
            }

            fn from_bits(bits: u64) -> Option<$int> {
                <$int>::try_from(bits).ok()
            }
        }
    )*};
}

integer_cells!(u8 u16 u32 u64);

impl Cell for Cycle {
    fn to_bits(self) -> u64 {
        u64::from(self.0)
    }

    fn from_bits(bits: u64) -> Option<Cycle> {
        u32::from_bits(bits).map(Cycle)
    }
}

impl Cell for f32 {
    fn to_bits(self) -> u64 {
        f32::to_bits(self).into()
    }

    fn from_bits(bits: u64) -> Option<f32> {
        u32::try_from(bits).ok().map(f32::from_bits)
    }
}

impl Cell for f64 {
    fn to_bits(self) -> u64 {
        f64::to_bits(self)
    }

    fn from_bits(bits: u64) -> Option<f64> {
        Some(f64::from_bits(bits))
    }
}

/// Appends a column.
pub(crate) fn put_column<T: Cell>(out: &mut Vec<u8>, values: impl Iterator<Item = T> + Clone) {
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
pub(crate) fn take_column<T: Cell>(
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
pub(crate) fn take_column_over_zeros<T: Cell>(
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
pub(crate) fn take_into<T: Cell>(
    take: &mut Take<'_>,
    rows: usize,
    out: &mut Vec<T>,
) -> Result<(), Malformed> {
    let start = out.len();
    out.resize(start + rows, T::from_bits(0).expect("every cell may be zero"));
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

    fn round_trip<T: Cell + Default + PartialEq + std::fmt::Debug>(values: &[T]) -> usize {
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

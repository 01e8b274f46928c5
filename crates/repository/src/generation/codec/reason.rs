//! Why a page is visited, and how it stood in the plan, as bytes.

use crate::file::bytes::{Malformed, Put, Take};
use crate::generation::column::RecordField;
use recrawl_types::{Expected, Share, Standing};

/// Bits of the first byte that encode the share.
const SHARE: u8 = 0x0f;
/// A compared candidate would not choose it.
const IS_ONLY_IN_FORCE: u8 = 0x20;
/// Its score is at least the lowest that was chosen.
const IS_ABOVE_CUTOFF: u8 = 0x40;
/// A standing follows.
const HAS_STANDING: u8 = 0x80;

/// Appends a share and a standing. Without a standing it is the share alone, as in older versions.
pub(crate) fn put_reason(out: &mut Vec<u8>, share: Share, standing: Option<Standing>) {
    let (code, probability) = match share {
        Share::Score => (0, None),
        Share::Discovery => (1, None),
        Share::Warmup => (2, None),
        Share::Audit(probability) => (3, Some(probability)),
        Share::Followed => (4, None),
        Share::Announced => (5, None),
        Share::Asked => (6, None),
        Share::Panel => (7, None),
        Share::Contested(probability) => (8, Some(probability)),
        Share::Promised => (9, None),
        Share::Explored(probability) => (10, Some(probability)),
    };
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let flags = standing.map_or(0, |standing| {
        HAS_STANDING
            | flag(standing.is_above_cutoff, IS_ABOVE_CUTOFF)
            | flag(standing.is_only_in_force, IS_ONLY_IN_FORCE)
    });
    out.put_u8(code | flags);
    probability.into_iter().for_each(|probability: f64| probability.put(out));
    if let Some(Standing { age, score, expected, .. }) = standing {
        out.put_varint(age.into());
        out.put_u32(score.to_bits());
        out.extend_from_slice(&expected.0.to_le_bytes());
    }
}

/// Takes a share and a standing that [`put_reason`] wrote.
pub(crate) fn take_reason(take: &mut Take<'_>) -> Result<(Share, Option<Standing>), Malformed> {
    let first = take.u8()?;
    let share = match first & SHARE {
        0 => Share::Score,
        1 => Share::Discovery,
        2 => Share::Warmup,
        3 => Share::Audit(RecordField::take(take)?),
        4 => Share::Followed,
        5 => Share::Announced,
        6 => Share::Asked,
        7 => Share::Panel,
        8 => Share::Contested(RecordField::take(take)?),
        9 => Share::Promised,
        10 => Share::Explored(RecordField::take(take)?),
        _ => return Err(Malformed("unknown share")),
    };
    let standing = match first & !SHARE {
        0 => None,
        flags if flags & !(IS_ABOVE_CUTOFF | IS_ONLY_IN_FORCE) == HAS_STANDING => Some(Standing {
            age: take.narrow()?,
            score: f32::from_bits(take.u32()?),
            expected: Expected(u16::from_le_bytes(take.array()?)),
            is_above_cutoff: flags & IS_ABOVE_CUTOFF > 0,
            is_only_in_force: flags & IS_ONLY_IN_FORCE > 0,
        }),
        _ => return Err(Malformed("unknown share")),
    };
    Ok((share, standing))
}

//! Powers.

use super::{ROUND, WHOLE, factors, scaled_exp, split};
use crate::Tile;
use crate::kernel::vectorised;

/// ln 2 in two parts, of 26 bits and the rest.
const LN_2: [f64; 2] = [0.693_147_167_563_438_4, 1.299_650_689_388_988_9e-8];
/// 2/(3 ln 2), and its parts of 26 bits and the rest.
const TWO_THIRDS_LOG2_E: f64 = 0.961_796_693_925_975_6;
const PARTS: [f64; 2] = [0.961_796_686_053_276_1, 7.872_699_542_894_897e-9];

/// The first 26 bits: the product of two such numbers is exact.
#[inline(always)]
fn head(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & !((1 << 27) - 1))
}

/// Whether this number, from 0 up, is an integer; false for NaN.
#[inline(always)]
fn is_whole(x: f64) -> bool {
    (x >= WHOLE) | ((x + WHOLE) - WHOLE == x)
}

/// |x| as 2^k·m: k, and s = (m − 1)/(m + 1) in two parts: the rounded sum, and a correction of its
/// head. Some finite value for 0 and non-finite numbers.
#[inline(always)]
fn reduced(x: f64) -> [f64; 3] {
    let (k, m) = split(x.abs());
    let (below, above) = (m - 1.0, m + 1.0);
    let inverse = 1.0 / above;
    let s = below * inverse;
    let (s_head, above_head) = (head(s), head(above));
    let above_tail = m - (above_head - 1.0);
    [k, s, inverse * ((below - s_head * above_head) - s_head * above_tail)]
}

/// log₂ of 2^k·m as a sum of two parts, the first with 26 bits, accurate to about 2⁻⁶³. log₂ m is
/// 2/(3 ln 2)·s·(3 + s² + …), with everything but the dots in two parts.
#[inline(always)]
fn log2(k: f64, s: f64, s_tail: f64) -> [f64; 2] {
    let s_head = head(s);
    let (z, z_head) = (s * s, s_head * s_head);
    let w = z * z;
    let a = 0.600_000_000_000_034 + z * 0.428_571_428_551_439_7;
    let b = 0.333_333_337_808_836_4 + z * 0.272_726_764_602_439_8;
    let c = 0.230_801_402_931_704_34 + z * 0.198_851_237_147_716_83;
    let d = 0.197_954_732_767_802_24;
    let rest = w * ((a + w * b) + (w * w) * (c + w * d)) + s_tail * (s_head + s);
    let sum = head(3.0 + z_head + rest);
    let sum_tail = rest - ((sum - 3.0) - z_head);
    let (product, product_tail) = (s_head * sum, s_tail * sum + sum_tail * s);
    let p = head(product + product_tail);
    let p_tail = product_tail - (p - product);
    let (l, l_tail) = (PARTS[0] * p, PARTS[1] * p + p_tail * TWO_THIRDS_LOG2_E);
    let high = head((l + l_tail) + k);
    [high, l_tail - ((high - k) - l)]
}

/// `x` to the `y` with an error of less than 2 units in the last place and the special cases of C99
/// and `f64::powf`. It is 1 for y = 0 and for x = 1, whatever the other is. It is NaN for x < 0 if
/// y is not an integer. A zero or infinite x to an odd power keeps its sign.
#[inline(always)]
pub fn pow(x: f64, y: f64) -> f64 {
    let [k, s, s_tail] = reduced(x);
    let [log, log_tail] = log2(k, s, s_tail);
    let [high, low, f, g] = exponent(y, log, log_tail);
    settled(x, y, scaled_exp(high, low, [f, g]))
}

/// y·log₂|x| as an integer and a remainder: the remainder times ln 2 in two parts, and 2 to the
/// integer in two factors.
#[inline(always)]
fn exponent(y: f64, log: f64, log_tail: f64) -> [f64; 4] {
    // No logarithm except that of 1 is nearer to 0 than 2⁻⁵³, so from 2⁶⁵ on the result is
    // determined.
    let limit = 8192.0 * WHOLE;
    let bound = if y > limit { limit } else { y };
    let bound = if bound < -limit { -limit } else { bound };
    let y_head = head(bound);
    let (product, tail) = (y_head * log, (bound - y_head) * log + bound * log_tail);
    let sum = product + tail;
    // 2 to the sum. Beyond these it is infinite or 0 anyway, and 0 is skipped as in `exp`.
    let gone = sum < -1076.0;
    let within = !gone & (sum < 1100.0);
    let edge = if gone { 0.0 } else { 1100.0 };
    let (product, tail) = (if within { product } else { edge }, if within { tail } else { 0.0 });
    let whole = (product + tail) + ROUND;
    let part = product - (whole - ROUND);
    let t = head(part + tail);
    let t_tail = tail - (t - part);
    let high = t * LN_2[0];
    let low = t_tail * std::f64::consts::LN_2 + t * LN_2[1];
    let [f, g] = factors(whole);
    [high, low, f, if gone { 0.0 } else { g }]
}

/// x to the y, given its value for finite |x| > 0 and finite y.
#[inline(always)]
fn settled(x: f64, y: f64, value: f64) -> f64 {
    let size = x.abs();
    let endless = (size == 0.0) | (size == f64::INFINITY);
    let limit = if (size == 0.0) == (y < 0.0) { f64::INFINITY } else { 0.0 };
    let value = if endless { limit } else { value };
    let y_size = y.abs();
    let whole = is_whole(y_size);
    let odd = whole & (y_size < 2.0 * WHOLE) & !is_whole(0.5 * y_size);
    let value = if odd & x.is_sign_negative() { -value } else { value };
    let undefined = ((x < 0.0) & !endless & !whole) | x.is_nan() | y.is_nan();
    let value = if undefined { f64::NAN } else { value };
    if (y == 0.0) | (x == 1.0) { 1.0 } else { value }
}

/// Like [`settled`], for an x without sign.
#[inline(always)]
fn settled_from_zero_up(x: f64, y: f64, value: f64) -> f64 {
    let endless = (x == 0.0) | (x == f64::INFINITY);
    let limit = if (x == 0.0) == (y < 0.0) { f64::INFINITY } else { 0.0 };
    let value = if endless { limit } else { value };
    let value = if x.is_nan() | y.is_nan() { f64::NAN } else { value };
    if (y == 0.0) | (x == 1.0) { 1.0 } else { value }
}

/// [`pow`] of many pairs of numbers, at most [`Tile::MAX_ROWS`], stage by stage. In one loop the
/// chain of dependent operations would be too long for processors to overlap.
pub(crate) fn pow_rows(out: &mut [f64], x: &[f64], y: &[f64]) {
    let mut scratch = [[0.0; Tile::MAX_ROWS]; 3];
    let [b, c, d] = scratch.each_mut().map(|column| &mut column[..out.len()]);
    reduced_rows(out, b, c, x);
    log2_rows(out, b, c);
    exponent_rows(out, b, c, d, y);
    value_rows(out, b, c, d);
    // Whether y is an integer matters only for a negative x.
    let signs = x.iter().fold(0, |signs, x| signs | x.to_bits());
    if signs >> 63 == 0 { settled_rows_from_zero_up(out, x, y) } else { settled_rows(out, x, y) }
}

fn reduced_rows(a: &mut [f64], b: &mut [f64], c: &mut [f64], x: &[f64]) {
    vectorised(
        #[inline(always)]
        move || {
            for (((a, b), c), &x) in a.iter_mut().zip(b).zip(c).zip(x) {
                [*a, *b, *c] = reduced(x);
            }
        },
    );
}

fn log2_rows(a: &mut [f64], b: &mut [f64], c: &[f64]) {
    vectorised(
        #[inline(always)]
        move || {
            for ((a, b), &c) in a.iter_mut().zip(b).zip(c) {
                [*a, *b] = log2(*a, *b, c);
            }
        },
    );
}

fn exponent_rows(a: &mut [f64], b: &mut [f64], c: &mut [f64], d: &mut [f64], y: &[f64]) {
    vectorised(
        #[inline(always)]
        move || {
            for ((((a, b), c), d), &y) in a.iter_mut().zip(b).zip(c).zip(d).zip(y) {
                [*a, *b, *c, *d] = exponent(y, *a, *b);
            }
        },
    );
}

fn value_rows(a: &mut [f64], b: &[f64], c: &[f64], d: &[f64]) {
    vectorised(
        #[inline(always)]
        move || {
            for (((a, &b), &c), &d) in a.iter_mut().zip(b).zip(c).zip(d) {
                *a = scaled_exp(*a, b, [c, d]);
            }
        },
    );
}

fn settled_rows(out: &mut [f64], x: &[f64], y: &[f64]) {
    vectorised(
        #[inline(always)]
        move || {
            for ((out, &x), &y) in out.iter_mut().zip(x).zip(y) {
                *out = settled(x, y, *out);
            }
        },
    );
}

fn settled_rows_from_zero_up(out: &mut [f64], x: &[f64], y: &[f64]) {
    vectorised(
        #[inline(always)]
        move || {
            for ((out, &x), &y) in out.iter_mut().zip(x).zip(y) {
                *out = settled_from_zero_up(x, y, *out);
            }
        },
    );
}

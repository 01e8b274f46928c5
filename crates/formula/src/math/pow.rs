//! Powers.

use super::{ROUND, WHOLE, scaled_exp, split};

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

/// Has this number, from 0 up, no fraction? Not if it is NaN.
#[inline(always)]
fn is_whole(x: f64) -> bool {
    (x >= WHOLE) | ((x + WHOLE) - WHOLE == x)
}

/// log₂ of 2^k·m as a sum of two, the first of 26 bits; together good to some 2⁻⁶³.
///
/// With s = (m − 1)/(m + 1), log₂ m = 2/(3 ln 2)·s·(3 + s² + …), all but the dots in two parts.
#[inline(always)]
fn log2(k: f64, m: f64) -> (f64, f64) {
    let (below, above) = (m - 1.0, m + 1.0);
    let inverse = 1.0 / above;
    let s = below * inverse;
    let (s_head, above_head) = (head(s), head(above));
    let above_tail = m - (above_head - 1.0);
    let s_tail = inverse * ((below - s_head * above_head) - s_head * above_tail);
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
    (high, l_tail - ((high - k) - l))
}

/// `x` to the `y`, off by less than 2 units in the last place, with the special cases of C99 and of
/// `f64::powf`: 1 for y = 0 and for x = 1, whatever the other is; NaN for x < 0 where y is no whole number; a
/// zero or infinite x to an odd power keeps its sign.
#[inline(always)]
pub fn pow(x: f64, y: f64) -> f64 {
    let (log, tail) = log2_of_size(x);
    settled(x, y, exp2_of_product(y, log, tail))
}

/// log₂|x| as a sum of two, the first of 26 bits; something finite where there is none.
#[inline(always)]
pub(crate) fn log2_of_size(x: f64) -> (f64, f64) {
    let (k, m) = split(x.abs());
    log2(k, m)
}

/// 2^(y·(log + tail)) for a logarithm of [`log2_of_size`].
#[inline(always)]
pub(crate) fn exp2_of_product(y: f64, log: f64, log_tail: f64) -> f64 {
    // The logarithm of no number but 1 is nearer to 0 than 2⁻⁵³: from 2⁶⁵ on the result is settled.
    let limit = 8192.0 * WHOLE;
    let bound = if y > limit { limit } else { y };
    let bound = if bound < -limit { -limit } else { bound };
    let y_head = head(bound);
    let (product, tail) = (y_head * log, (bound - y_head) * log + bound * log_tail);
    let sum = product + tail;
    // 2 to the sum; beyond ±1,100 it is infinite or 0 anyway.
    let within = sum.abs() < 1100.0;
    let edge = if sum > 0.0 { 1100.0 } else { -1100.0 };
    let (product, tail) = (if within { product } else { edge }, if within { tail } else { 0.0 });
    let whole = (product + tail) + ROUND;
    let part = product - (whole - ROUND);
    let t = head(part + tail);
    let t_tail = tail - (t - part);
    let high = t * LN_2[0];
    let low = t_tail * std::f64::consts::LN_2 + t * LN_2[1];
    let r = high + low;
    scaled_exp(r, low - (r - high), whole)
}

/// x to the y, given what that is where |x| is a number above 0 and y one too.
#[inline(always)]
pub(crate) fn settled(x: f64, y: f64, value: f64) -> f64 {
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

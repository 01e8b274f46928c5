//! The natural logarithm.

use super::split;

/// ln 2 in two parts; the first has 32 bits, so that its product with an exponent is exact.
const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];

/// The natural logarithm with an error of less than 1 unit in the last place: −∞ at 0 and −0, NaN
/// below, ∞ at ∞.
#[inline(always)]
pub fn ln(x: f64) -> f64 {
    let (k, m) = split(x);
    // ln(1 + f) = 2·artanh(s) with s = f/(2 + f), which is f − (h − s·(h + R)) with h = f²/2 and R
    // = 2·artanh(s)/s − 2. The rounding of s has little effect there.
    let f = m - 1.0;
    let h = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let a = 0.666_666_666_666_673_5 + z * 0.399_999_999_994_128_9;
    let b = 0.285_714_287_428_248_4 + z * 0.222_221_985_246_119_64;
    let c = 0.181_835_670_320_132_3 + z * 0.153_139_769_096_640_3;
    let d = 0.147_967_287_687_848_2;
    let r = z * ((a + w * b) + (w * w) * (c + w * d));
    let value = k * LN_2[0] - ((h - (s * (h + r) + k * LN_2[1])) - f);
    let value = if x < f64::INFINITY { value } else { x };
    let value = if x > 0.0 { value } else { f64::NAN };
    if x == 0.0 { f64::NEG_INFINITY } else { value }
}

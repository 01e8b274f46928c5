//! The exponential function.

use super::{ROUND, factors, scaled_exp};
use std::f64::consts::LOG2_E;

/// ln 2 in two parts; the first has 32 bits, so that its product with an exponent is exact.
const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];

/// e^x with an error of less than 1 unit in the last place: infinite above 709.782712893384, 0
/// below −745.1332191019412, NaN for NaN.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    // Beyond these the result is infinite or 0 anyway; comparisons let NaN through. Results of 0
    // skip the computation, since processors are slow with subnormal numbers.
    let gone = x < -746.0;
    let x = if gone { 0.0 } else { x };
    let x = if x > 720.0 { 720.0 } else { x };
    let k = x * LOG2_E + ROUND;
    let whole = k - ROUND;
    let [f, g] = factors(k);
    scaled_exp(x - whole * LN_2[0], -(whole * LN_2[1]), [f, if gone { 0.0 } else { g }])
}

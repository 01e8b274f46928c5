use super::*;
use crate::testing::{numbers, same};
use proptest::prelude::*;

/// Number of representable values between two of the same sign; NaN is at the maximum distance.
fn apart(a: f64, b: f64) -> u64 {
    if same(a, b) {
        return 0;
    }
    if a.is_nan() || b.is_nan() || a.is_sign_negative() != b.is_sign_negative() {
        return u64::MAX;
    }
    a.to_bits().abs_diff(b.to_bits())
}

const SPECIAL: [f64; 28] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    -2.0,
    3.0,
    -3.0,
    0.5,
    -0.5,
    1.5,
    -1.5,
    1e300,
    -1e300,
    1e-300,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    f64::MAX,
    f64::MIN,
    f64::MIN_POSITIVE,
    5e-324,
    -5e-324,
    9_007_199_254_740_991.0,
    -9_007_199_254_740_991.0,
    9_007_199_254_740_992.0,
    1.0 + f64::EPSILON,
    1.0 - f64::EPSILON / 2.0,
];

#[test]
fn special_values_are_those_of_c99() {
    for x in SPECIAL {
        assert!(apart(exp(x), libm::exp(x)) <= 1, "exp {x}: {}", exp(x));
        assert!(apart(ln(x), libm::log(x)) <= 1, "ln {x}: {}", ln(x));
        for y in SPECIAL {
            let (own, oracle) = (pow(x, y), libm::pow(x, y));
            assert!(apart(own, oracle) <= 1, "{x} to the {y}: {own} for {oracle}");
        }
    }
    assert!(same(ln(1.0), 0.0) && same(exp(0.0), 1.0) && same(exp(-0.0), 1.0));
}

#[test]
fn thresholds_of_exp_and_pow_are_where_they_should_be() {
    let (last, least) = (709.782_712_893_384, -745.133_219_101_941_1);
    assert!(exp(last) < f64::INFINITY && exp(last.next_up()) == f64::INFINITY);
    assert!(exp(least) > 0.0 && exp(least.next_down()) == 0.0);
    assert_eq!((pow(2.0, 1023.0), pow(2.0, 1024.0)), (2f64.powi(1023), f64::INFINITY));
    assert_eq!((pow(2.0, -1074.0), pow(2.0, -1075.0)), (5e-324, 0.0));
}

#[test]
fn small_whole_powers_are_exact() {
    for x in -30i32..=30 {
        for y in 0..=10u32 {
            assert_eq!(pow(x.into(), y.into()), i64::from(x).pow(y) as f64, "{x} to the {y}");
        }
    }
    for k in -1022..=1023 {
        assert_eq!(pow(2.0, f64::from(k)), 2f64.powi(k), "2 to the {k}");
    }
}

/// These bits are the definition on every machine.
#[test]
fn bits_are_pinned() {
    let (mut state, mut digest) = (1u64, [0u64; 3]);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for _ in 0..100_000 {
        let unit = next() as f64 / u64::MAX as f64;
        let (x, y) = (unit * 100.0, next() as f64 / u64::MAX as f64 * 40.0 - 20.0);
        for (digest, value) in digest.iter_mut().zip([exp(y * 30.0), ln(x), pow(x, y)]) {
            *digest = digest.rotate_left(7) ^ value.to_bits();
        }
    }
    assert_eq!(
        digest.map(|d| format!("{d:016x}")),
        ["29942dd692d47f7e", "9379bfaa054984f1", "71023360ec072b59"]
    );
    for (value, bits) in [
        (exp(1.0), 0x4005_bf0a_8b14_576a_u64),
        (ln(2.0), 0x3fe6_2e42_fefa_39ef),
        (ln(10.0), 0x4002_6bb1_bbb5_5516),
        (pow(2.0, 0.5), 0x3ff6_a09e_667f_3bcc),
        (pow(10.0, -3.0), 0x3f50_624d_d2f1_a9fc),
    ] {
        assert_eq!(value.to_bits(), bits, "{value}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// The reference itself has an error of less than 1 unit in the last place.
    #[test]
    fn values_are_near_those_of_another_library(x in numbers(), y in numbers(), part in -1.0..1.0f64) {
        prop_assert!(apart(exp(x), libm::exp(x)) <= 1, "exp {}: {} for {}", x, exp(x), libm::exp(x));
        prop_assert!(apart(ln(x), libm::log(x)) <= 1, "ln {}: {} for {}", x, ln(x), libm::log(x));
        // Any power, a power with a finite result, and a power of a number near 1.
        let size = x.abs();
        for (x, y) in [(x, y), (size, part * 745.0 / libm::log(size)), (1.0 + part / 16.0, y)] {
            let (own, oracle) = (pow(x, y), libm::pow(x, y));
            prop_assert!(apart(own, oracle) <= 2, "{} to the {}: {} for {}", x, y, own, oracle);
        }
    }
}

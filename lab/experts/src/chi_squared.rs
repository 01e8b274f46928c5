//! The χ² distribution, and the test that two samples of words have one distribution.

use recrawl_formula::math::student::ln_gamma;
use recrawl_formula::math::{exp, ln};

/// The probability that χ² with `freedom` degrees of freedom, above 0, is at least `statistic`: the regularised upper
/// incomplete gamma function Q(freedom / 2, statistic / 2).
pub fn tail(statistic: f64, freedom: f64) -> f64 {
    let (a, x) = (freedom / 2.0, statistic / 2.0);
    if x <= 0.0 {
        return 1.0;
    }
    let front = exp(a * ln(x) - x - ln_gamma(a));
    if x < a + 1.0 { (1.0 - front * series(a, x)).max(0.0) } else { front * fraction(a, x) }
}

/// Σ x^i / (a (a + 1) … (a + i)) (Abramowitz & Stegun 1964, 6.5.29), for x below a + 1, where terms shrink.
fn series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum, mut i) = (1.0 / a, 1.0 / a, 1.0);
    while term > sum * f64::EPSILON {
        term *= x / (a + i);
        sum += term;
        i += 1.0;
    }
    sum
}

/// The continued fraction 1/(x + 1 − a − 1(1 − a)/(x + 3 − a − …)) (6.5.31), by Lentz's method, for x from a + 1 up.
fn fraction(a: f64, x: f64) -> f64 {
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (f64::INFINITY, 1.0 / b);
    let mut value = d;
    // Converges in about √a steps.
    for i in (1..100_000).map(f64::from) {
        let numerator = i * (a - i);
        b += 2.0;
        d = 1.0 / (numerator * d + b);
        c = b + numerator / c;
        value *= c * d;
        if (c * d - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    value
}

/// The p-value of Pearson's χ² test that two bags of words, ascending by word, come from one distribution; without
/// Yates's correction. 1 if a bag is empty or all words are one: there is nothing to compare.
pub fn homogeneity(a: &[(u32, u32)], b: &[(u32, u32)]) -> f64 {
    let total = |bag: &[(u32, u32)]| bag.iter().map(|&(_, count)| f64::from(count)).sum::<f64>();
    let (total_a, total_b) = (total(a), total(b));
    if total_a == 0.0 || total_b == 0.0 {
        return 1.0;
    }
    let (share_a, mut statistic, mut words) = (total_a / (total_a + total_b), 0.0, 0u32);
    super::significance::pairs(a, b, |x, y| {
        let (x, y) = (f64::from(x), f64::from(y));
        let expected = (x + y) * share_a;
        // Both cells of a column deviate by the same count.
        let squared = (x - expected) * (x - expected);
        statistic += squared / expected + squared / (x + y - expected);
        words += 1;
    });
    if words < 2 { 1.0 } else { tail(statistic, f64::from(words - 1)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_scipy() {
        // scipy 1.17.1, stats.chi2.sf
        for (statistic, freedom, expected) in [
            (3.841_458_820_694_124, 1.0, 0.049_999_999_999_999_89),
            (0.5, 1.0, 0.479_500_122_186_953_37),
            (10.0, 5.0, 0.075_235_246_146_512_17),
            (200.0, 3.0, 4.218_541_107_192_018e-43),
            (1400.0, 2.0, 9.859_676_543_759_39e-305),
            (950.0, 1000.0, 0.869_124_065_745_688_3),
            (1200.0, 1000.0, 1.225_594_233_062_289_3e-5),
            (21_000.0, 20_000.0, 4.275_872_455_059_654e-7),
            (0.001, 7.0, 0.999_999_999_999_759_7),
        ] {
            let value = tail(statistic, freedom);
            assert!(
                (value / expected - 1.0).abs() < 1e-9,
                "{statistic} of {freedom}: {value} for {expected}"
            );
        }
        assert_eq!((tail(0.0, 3.0), tail(1e5, 2.0)), (1.0, 0.0));
    }

    #[test]
    fn homogeneity_is_that_of_a_contingency_table() {
        // scipy 1.17.1, stats.chi2_contingency([[30, 14, 0, 7, 1], [18, 20, 5, 7, 4]], correction=False)
        let a = [(0, 30), (1, 14), (3, 7), (4, 1)];
        let b = [(0, 18), (1, 20), (2, 5), (3, 7), (4, 4)];
        assert!((homogeneity(&a, &b) - 0.028_603_504_459_736_917).abs() < 1e-12);
        assert_eq!(homogeneity(&a, &b), homogeneity(&b, &a));
        // Nothing to compare; and equal shares of unequal sizes are one distribution.
        assert_eq!((homogeneity(&a, &[]), homogeneity(&[(5, 2)], &[(5, 9)])), (1.0, 1.0));
        assert_eq!(homogeneity(&[(1, 10), (2, 30)], &[(1, 1), (2, 3)]), 1.0);
    }
}

//! How alike two time series are, although one may lag behind the other.

/// Delays that a cross-correlation tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delays {
    /// From 1 to the length of the series, as printed by Radinsky and Bennett 2013, section 6.3.
    Printed,
    /// From 0 to a quarter of it: longer ones leave few days to compare.
    Quarter,
}

/// A series with mean 0 and variance 1 (divisor N); none if it is constant.
pub fn standardised(series: &[f64]) -> Option<Vec<f64>> {
    let count = series.len() as f64;
    let mean = series.iter().sum::<f64>() / count;
    let variance = series.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count;
    (variance > 1e-24 * mean * mean && variance > 0.0)
        .then(|| series.iter().map(|x| (x - mean) / variance.sqrt()).collect())
}

/// The greatest normalised cross-correlation over the delays by which the series of an expert runs ahead of a page's:
/// `Σ_i page[i]·expert[i − d] / N`. Both are [standardised] and equally long; the paper's divisor is the deviation, not
/// the variance that it prints.
///
/// # Panics
/// If a series is empty.
pub fn cross_correlation(page: &[f64], expert: &[f64], delays: Delays) -> f64 {
    let count = page.len();
    let delays = match delays {
        Delays::Printed => 1..=count - 1,
        Delays::Quarter => 0..=count / 4,
    };
    let at = |delay: usize| page[delay..].iter().zip(expert).map(|(x, y)| x * y).sum::<f64>() / count as f64;
    delays.map(at).fold(f64::NEG_INFINITY, f64::max)
}

/// The cost of the best alignment of two series by dynamic time warping, with absolute differences (figure 5 of the
/// paper): every day of one is aligned with one or more days of the other, in order.
pub fn warping(a: &[f64], b: &[f64], rows: &mut Vec<f64>) -> f64 {
    rows.clear();
    rows.resize(b.len() + 1, f64::INFINITY);
    rows[0] = 0.0;
    for &x in a {
        let mut diagonal = std::mem::replace(&mut rows[0], f64::INFINITY);
        for (j, &y) in b.iter().enumerate() {
            let least = diagonal.min(rows[j + 1]).min(rows[j]);
            diagonal = std::mem::replace(&mut rows[j + 1], (x - y).abs() + least);
        }
    }
    rows[b.len()]
}

/// [`warping`] of a series and a constant one of the same length: every day is aligned at least once, and the diagonal
/// aligns it no more.
pub fn warping_to(series: &[f64], constant: f64) -> f64 {
    series.iter().map(|x| (x - constant).abs()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slow(a: &[f64], b: &[f64]) -> f64 {
        let cost = (a[0] - b[0]).abs();
        let rest = match (a.len(), b.len()) {
            (1, 1) => 0.0,
            (1, _) => slow(a, &b[1..]),
            (_, 1) => slow(&a[1..], b),
            _ => slow(&a[1..], b).min(slow(a, &b[1..])).min(slow(&a[1..], &b[1..])),
        };
        cost + rest
    }

    #[test]
    fn a_delayed_copy_is_found_in_one_direction_only() {
        let expert: Vec<f64> = (0..40).map(|day| f64::from(day * day % 11)).collect();
        let page: Vec<f64> = (0..40).map(|day: i32| f64::from((day - 3) * (day - 3) % 11)).collect();
        let [page, expert] = [page, expert].map(|series| standardised(&series).unwrap());
        let found = cross_correlation(&page, &expert, Delays::Quarter);
        // numpy 2.4.6, max(correlate(page, expert, "full")[39 + d] / 40 for d in 0..=10) of the standardised series.
        assert!((found - 0.945_272_582_051_117_1).abs() < 1e-12, "{found}");
        assert!(found > cross_correlation(&expert, &page, Delays::Quarter) + 0.01);
        assert_eq!(standardised(&[0.1; 9]), None);
        // Delay 0 is only ours.
        assert!((cross_correlation(&page, &page, Delays::Quarter) - 1.0).abs() < 1e-12);
        assert!(cross_correlation(&page, &page, Delays::Printed) < 0.9);
    }

    #[test]
    fn warping_stretches() {
        let mut rows = Vec::new();
        assert_eq!(warping(&[0.0, 0.0, 1.0, 2.0, 2.0], &[0.0, 1.0, 1.0, 1.0, 2.0], &mut rows), 0.0);
        assert_eq!(warping(&[1.0, 2.0, 3.0], &[2.0, 2.0, 2.0, 3.0, 4.0], &mut rows), 2.0);
        assert_eq!(warping(&[1.0, 5.0], &[2.0, 2.0], &mut rows), warping_to(&[1.0, 5.0], 2.0));
        // dtw-python 1.9.0, dtw(page, expert, dist_method="cityblock", step_pattern="symmetric1").distance
        let page: Vec<f64> = (0..40).map(|day| f64::from(day * day % 11)).collect();
        let expert: Vec<f64> = (0..36).map(|day: i32| f64::from((day - 3) * (day - 3) % 11)).collect();
        assert_eq!(warping(&page, &expert, &mut rows), 32.0);
    }

    proptest! {
        #[test]
        fn warping_is_the_least_cost_of_all_alignments(
            a in prop::collection::vec(0u8..6, 1..7), b in prop::collection::vec(0u8..6, 1..7), constant in 0u8..6,
        ) {
            let [a, b] = [a, b].map(|series| series.into_iter().map(f64::from).collect::<Vec<_>>());
            prop_assert_eq!(warping(&a, &b, &mut Vec::new()), slow(&a, &b));
            let flat = vec![f64::from(constant); a.len()];
            prop_assert_eq!(warping(&a, &flat, &mut Vec::new()), warping_to(&a, f64::from(constant)));
        }
    }
}

//! When a site is exhausted, and when enough is found.

/// Probability below which a yield is ruled out.
const RULED_OUT: f64 = 0.05;
/// A site's yield is worth having from this part of the crawl's on.
const WORTH: f64 = 0.1;
/// With fewer relevant pages left to expect, a site is not worth more visits, whatever it yielded.
const FEW: f64 = 0.1;

/// What was found of a site lately.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StopEvidence {
    /// Discovery visits, the newest of the site.
    pub visits: u64,
    /// Of these, relevant.
    pub finds: u64,
    /// Σ odds of its URLs that were never fetched: a little more relevant pages than are expected.
    pub pending: f64,
}

/// Is a site exhausted? Its URLs let expect less than a tenth of a relevant page; or less than one, while its posterior all but
/// rules out a yield above a tenth of the crawl's.
pub fn is_exhausted(site: &StopEvidence, crawl_yield: f64, patience: u64) -> bool {
    let bound = WORTH * crawl_yield;
    if site.visits < patience.max(1) || site.pending >= 1.0 || bound <= 0.0 {
        return false;
    }
    // Where the yield is above the bound, it is not ruled out: so the sum below is short.
    let is_ruled_out = || {
        (site.finds as f64) < bound * site.visits as f64
            && chance_above(bound, site.finds, site.visits) < RULED_OUT
    };
    site.pending < FEW || is_ruled_out()
}

/// The posterior probability that a yield is above `bound`, with a uniform prior: the tail of Beta(finds + 1, visits − finds
/// + 1). It equals that of a binomial, P(Bin(visits + 1, bound) ≤ finds).
pub fn chance_above(bound: f64, finds: u64, visits: u64) -> f64 {
    if bound <= 0.0 {
        return 1.0;
    }
    if bound >= 1.0 {
        return 0.0;
    }
    let n = visits as f64 + 1.0;
    // Logarithms, since terms of long runs are too small for a number.
    let (in_, out) = (libm::log(bound), libm::log1p(-bound));
    let mut coefficient = 0.0;
    let mut sum = 0.0;
    for i in 0..=finds.min(visits) {
        let i = i as f64;
        sum += libm::exp(coefficient + i * in_ + (n - i) * out);
        coefficient += libm::log(n - i) - libm::log(i + 1.0);
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_posterior_is_that_of_a_table() {
        // Beta(1, 52): (1 − x)^51. Beta(2, 10) above 0.1: by hand, 0.9^11 + 11·0.1·0.9^10.
        for (bound, finds, visits, chance) in [
            (0.02, 0, 50, 0.98f64.powi(52 - 1)),
            (0.1, 1, 10, 0.9f64.powi(11) + 1.1 * 0.9f64.powi(10)),
            (0.5, 10, 10, 1.0 - 0.5f64.powi(11)),
            (0.0, 0, 9, 1.0),
            (1.0, 3, 9, 0.0),
        ] {
            let found = chance_above(bound, finds, visits);
            assert!((found - chance).abs() < 1e-12, "{bound} {finds} of {visits}: {found} for {chance}");
        }
        assert!(chance_above(0.01, 20, 100_000) < 1e-12);
        assert!(chance_above(1e-9, 0, u64::from(u32::MAX)) > 0.01);
    }

    #[test]
    fn a_site_is_exhausted_once_patience_evidence_and_hope_are_spent() {
        let barren = StopEvidence { visits: 150, finds: 0, pending: 0.5 };
        assert!(is_exhausted(&barren, 0.2, 50));
        assert!(!is_exhausted(&StopEvidence { visits: 49, ..barren }, 0.9, 50), "patience");
        assert!(!is_exhausted(&StopEvidence { pending: 1.0, ..barren }, 0.2, 50), "its links promise a page");
        assert!(!is_exhausted(&StopEvidence { finds: 5, ..barren }, 0.2, 50), "a find reopens it");
        let hopeless = StopEvidence { visits: 50, finds: 5, pending: 0.09 };
        assert!(is_exhausted(&hopeless, 0.2, 50), "its links promise hardly anything");
        assert!(!is_exhausted(&hopeless, 0.0, 50), "nothing was found anywhere");
        assert!(!is_exhausted(&StopEvidence { visits: 60, ..barren }, 0.2, 50), "too little evidence");
        assert!(!is_exhausted(&barren, 0.0, 50), "nothing is worse than nothing");
    }
}

//! NDCG: whether pages with changes rank first.

use recrawl_formula::math::ln;

/// The gains of the ranks, and their sums from the first rank on.
#[derive(Clone, Debug)]
pub struct Ndcg {
    gains: Vec<f64>,
    sums: Vec<f64>,
}

impl Ndcg {
    /// With the gain 1/log2(rank + 1) (Järvelin & Kekäläinen 2002 with the discount of Burges et
    /// al. 2005), for `ranks` ranks.
    pub fn log2(ranks: usize) -> Ndcg {
        Ndcg::new((1..=ranks).map(|rank| ln(2.0) / ln(rank as f64 + 1.0)))
    }

    /// With the gains of the GP4C authors' program: 1 at rank 1, then 1/ln(rank + 1). The article's
    /// formula, 1/ln(rank), is undefined at rank 1 (Santos et al. 2015, eq. 2).
    pub fn gp4c(ranks: usize) -> Ndcg {
        Ndcg::new((1..=ranks).map(|rank| if rank == 1 { 1.0 } else { 1.0 / ln(rank as f64 + 1.0) }))
    }

    fn new(gains: impl Iterator<Item = f64>) -> Ndcg {
        let gains: Vec<f64> = gains.collect();
        let sums = gains.iter().scan(0.0, |sum, gain| {
            *sum += gain;
            Some(*sum)
        });
        Ndcg { sums: sums.collect(), gains }
    }

    /// The NDCG of a ranking, best first. `hits` tells for each page whether it had changed, and
    /// `pending` is the number of all changed pages. It is the gain of the hits divided by that of
    /// a perfect ranking, and 0 if no page had changed.
    ///
    /// # Panics
    /// If there are more ranks than at construction.
    pub fn score(&self, hits: &[bool], pending: u64) -> f64 {
        let ideal = hits.len().min(usize::try_from(pending).unwrap_or(usize::MAX));
        if ideal == 0 {
            return 0.0;
        }
        let gained = self.gains.iter().zip(hits).filter(|hit| *hit.1).map(|(gain, _)| gain);
        // Start from 0: an empty sum is -0.
        let gained = gained.fold(0.0, |sum, gain| sum + gain);
        assert!(hits.len() <= self.gains.len(), "{} ranks", hits.len());
        gained / self.sums[ideal - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_the_hits_counts() {
        let log2 = Ndcg::log2(4);
        assert_eq!(log2.score(&[true, true, false, false], 2), 1.0);
        assert_eq!(log2.score(&[true; 4], 9), 1.0);
        assert_eq!(log2.score(&[false; 4], 9), 0.0);
        assert_eq!(format!("{:.4}", log2.score(&[false; 4], 9)), "0.0000", "and no -0.0000");
        assert_eq!((log2.score(&[false; 4], 0), log2.score(&[], 3)), (0.0, 0.0));
        let second = log2.score(&[false, true], 1);
        assert!((second - 1.0 / 3f64.log2()).abs() < 1e-15, "{second}");
        let gp4c = Ndcg::gp4c(4).score(&[false, true, true], 2);
        let literal = (1.0 / 3f64.ln() + 1.0 / 4f64.ln()) / (1.0 + 1.0 / 3f64.ln());
        assert!((gp4c - literal).abs() < 1e-15, "{gp4c}");
    }
}

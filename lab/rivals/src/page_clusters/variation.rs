//! How alike the change rates of a group are.

/// The coefficient of variation of the rates of each group, standard deviation / mean, as a mean over the groups (Tan &
/// Mitra 2010, eq. 19, who take the intervals between changes). A group of which no page changes has none and does not
/// count; NaN if that are all. The deviation is that of the group itself, not of a sample.
///
/// # Panics
/// If there is not one group for each rate.
pub fn variation_within_groups(groups: &[u32], rates: &[f64]) -> f64 {
    assert_eq!(groups.len(), rates.len(), "a group for each rate");
    let count = groups.iter().max().map_or(0, |&last| last as usize + 1);
    let (mut sizes, mut means, mut squares) = (vec![0.0; count], vec![0.0; count], vec![0.0; count]);
    for (&group, &rate) in groups.iter().zip(rates) {
        sizes[group as usize] += 1.0;
        means[group as usize] += rate;
    }
    means.iter_mut().zip(&sizes).for_each(|(mean, &size)| *mean /= f64::max(size, 1.0));
    for (&group, &rate) in groups.iter().zip(rates) {
        squares[group as usize] += (rate - means[group as usize]).powi(2);
    }
    let (mut sum, mut counted) = (0.0, 0u32);
    for group in (0..count).filter(|&group| means[group] > 0.0) {
        sum += (squares[group] / sizes[group]).sqrt() / means[group];
        counted += 1;
    }
    sum / f64::from(counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By scipy 1.17.1: the mean of `stats.variation` over the groups 0, 1 and 3.
    #[test]
    fn the_mean_over_groups_is_that_of_scipy() {
        let groups = [0, 1, 0, 3, 1, 0, 2, 2, 3, 1];
        let rates = [0.1, 0.5, 0.3, 0.25, 0.5, 0.8, 0.0, 0.0, 0.75, 0.2];
        let found = variation_within_groups(&groups, &rates);
        assert!((found - 0.5298444875957536).abs() < 1e-12, "{found}");
        assert!(
            variation_within_groups(&[0, 0], &[0.0, 0.0]).is_nan()
                && variation_within_groups(&[], &[]).is_nan()
        );
        assert_eq!(variation_within_groups(&[7], &[0.5]), 0.0);
    }
}

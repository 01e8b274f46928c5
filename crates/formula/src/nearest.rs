//! Suggests the known name nearest to a mistyped one.

/// The candidate with the fewest typing errors, ignoring case; `None` if even that has more errors
/// than half of the name's letters.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let limit = name.chars().count().div_ceil(2).min(3);
    candidates
        .into_iter()
        .map(|c| (strsim::osa_distance(&lower, &c.to_lowercase()), c))
        .filter(|&(errors, c)| errors <= limit && errors < c.chars().count().max(1))
        .min_by_key(|&(errors, _)| errors)
        .map(|(_, c)| c)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_nearest_name_is_offered_and_nothing_far_fetched() {
        let names = ["n", "X", "t", "nad", "p_nad", "log"];
        for (typed, meant) in [("x", Some("X")), ("nadd", Some("nad")), ("p_nda", Some("p_nad"))] {
            assert_eq!(nearest(typed, names), meant, "{typed}");
        }
        for typed in ["importance", "q", ""] {
            assert_eq!(nearest(typed, names), None, "{typed}");
        }
    }
}

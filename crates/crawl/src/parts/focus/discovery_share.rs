//! The part of k that a focused crawl spends on URLs that were never fetched, if `cycle.discovery_share = "auto"`.

use super::state::FocusState;
use super::survey::FocusSurvey;
use recrawl_focus::live::recall::AllPending;

/// Part of k that `cycle.discovery_share = "auto"` moves at most in a cycle, and that each side keeps.
const MAX_MOVED: f64 = 0.1;
const LEAST_SHARE: f64 = 0.05;
/// Places whose worth is compared.
const NEXT_PLACES: u64 = 100;

/// The discovery share of the next cycle: it moves to where the next places bring more. Relevant pages that are expected
/// of `pending` URLs count `worth` each; revisits count relevance × P(change).
pub fn next_share(
    state: &FocusState,
    worth: f64,
    survey: &FocusSurvey,
    pending: &AllPending,
    k: u64,
    others: f64,
    start: f64,
) -> f64 {
    let share = state.discovery_share.unwrap_or(start);
    let places = |share: f64| (share * k as f64) as u64;
    let discovery = worth * expected(pending, places(share), NEXT_PLACES);
    let revisits = survey.worth_of_revisits(places((1.0 - others - share).max(0.0)), NEXT_PLACES);
    let sum = discovery + revisits;
    let moved = if sum > 0.0 { MAX_MOVED * (discovery - revisits) / sum } else { 0.0 };
    (share + moved).clamp(LEAST_SHARE, (1.0 - others - LEAST_SHARE).max(LEAST_SHARE))
}

/// Relevant pages expected in places from a rank on.
fn expected(pending: &AllPending, mut from: u64, mut places: u64) -> f64 {
    let mut sum = 0.0;
    for stratum in pending.iter().rev() {
        let passed = from.min(stratum.urls);
        from -= passed;
        let taken = places.min(stratum.urls - passed);
        places -= taken;
        sum += stratum.expected * taken as f64 / stratum.urls.max(1) as f64;
    }
    sum
}

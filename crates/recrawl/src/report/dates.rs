//! Trust in the dates of an origin's sitemaps and feeds, and in its pings, as text and as JSON.

use recrawl_crawl::settings::Settings;
use recrawl_types::LastmodCounts;
use serde_json::{Value, json};

/// As one printed line.
pub fn text(settings: &Settings, counts: &LastmodCounts) -> String {
    if counts.total() == 0 {
        return "no dates compared yet".into();
    }
    told(settings, counts, "newer dates", "unchanged dates")
}

/// The same for pings.
pub fn text_of_pings(settings: &Settings, counts: &LastmodCounts) -> String {
    if counts.total() == 0 {
        return "no pings compared yet".into();
    }
    told(settings, counts, "pings", "visits without a ping")
}

fn told(settings: &Settings, counts: &LastmodCounts, news: &str, others: &str) -> String {
    let LastmodCounts { newer_changed, newer_unchanged, same_changed, .. } = *counts;
    let newer = u64::from(newer_changed) + u64::from(newer_unchanged);
    let verdict = if counts.is_trusted(min_trust(settings)) { "trusted" } else { "not trusted" };
    format!(
        "trust {:.2}, {verdict}: {newer_changed} of {newer} {news} announced a real change; \
         {same_changed} of {} {others} missed one",
        counts.trust(),
        counts.total() - newer
    )
}

/// The counts and the resulting trust.
pub fn json(settings: &Settings, counts: &LastmodCounts) -> Value {
    json!({
        "newer_changed": counts.newer_changed, "newer_unchanged": counts.newer_unchanged,
        "same_changed": counts.same_changed, "same_unchanged": counts.same_unchanged,
        "trust": counts.trust(), "trusted": counts.is_trusted(min_trust(settings)),
    })
}

fn min_trust(settings: &Settings) -> f64 {
    settings.config.hints.min_trust.0
}

//! Promises: pages of a pattern are visited within a time (`[[promises]]`).
//!
//! A page is due when its gap would pass the time before the next cycle could visit it. Due pages
//! are planned first, in a share of their own of at most k/2, early enough that no cycle has more of
//! them than it can visit. What was kept is counted from kept visits, not estimated. Without
//! promises, none of this is done.

pub mod account;
mod due;
pub mod limits;
mod survey;

pub use due::PromisedPage;
pub use survey::{PromiseSurvey, SurveyRules, Surveyed};

use crate::admission::pattern::Pattern;
use crate::config::{Config, PromiseTable};
use crate::labels;
use recrawl_types::{CanonicalUrl, UrlRules};
use std::time::Duration;

/// Periods beyond which a cycle counts as interrupted.
const OVERRUN: u32 = 4;

/// Promises at most: each of their pages is compared with all.
pub const MAX_PROMISES: usize = 100;

/// A promise.
#[derive(Clone, Debug, PartialEq)]
pub struct VisitPromise {
    /// Its pages.
    pub pages: Pattern,
    /// The longest gap between two visits of a page.
    pub within: Duration,
    /// The share of the pages whose gaps stay within.
    pub share: f64,
}

impl VisitPromise {
    /// Reads the promises of a configuration.
    ///
    /// # Errors
    /// What is wrong, with the key.
    pub fn all(config: &Config, urls: &UrlRules) -> Result<Vec<VisitPromise>, String> {
        let tables = &config.promises;
        if tables.len() > MAX_PROMISES {
            return Err(format!("at most {MAX_PROMISES} [[promises]] can be made"));
        }
        let promises = tables.iter().map(|table| VisitPromise::from_table(table, config, urls));
        let mut promises = promises.collect::<Result<Vec<VisitPromise>, String>>()?;
        promises.sort_by_cached_key(|promise| promise.key_prefixes());
        if let Some(pair) = promises.windows(2).find(|pair| pair[0].pages == pair[1].pages) {
            return Err(format!("promises.match {} is there twice", pair[0].pages));
        }
        Ok(promises)
    }

    fn from_table(table: &PromiseTable, config: &Config, urls: &UrlRules) -> Result<VisitPromise, String> {
        let PromiseTable { matches, within, share } = table;
        let pages = Pattern::parse(matches, urls).map_err(|e| format!("promises.match: {e}"))?;
        if share.0 <= 0.0 {
            return Err(format!("promises.share of {pages} must be above 0"));
        }
        let period = config.cycle.period;
        if within.0 < period.0 {
            return Err(limits::PromiseLimit::Period { within: within.0, period: period.0 }
                .binding(&pages)
                .to_string());
        }
        let cycles = cycles_of(within.0, period.0);
        if u64::from(config.storage.keep_visits) < cycles {
            return Err(format!(
                "promises.within of {pages} is {within}: storage.keep_visits must be at least {cycles} cycles of {period}, \
                 since gaps are counted from kept visits"
            ));
        }
        Ok(VisitPromise { pages, within: within.0, share: share.0 })
    }

    /// The promise that a page falls under: that of the fewest pages.
    pub fn covering<'p>(
        promises: &'p [VisitPromise],
        url: &CanonicalUrl,
    ) -> Option<(usize, &'p VisitPromise)> {
        let matching = promises.iter().enumerate().filter(|(_, promise)| promise.pages.matches(url));
        matching.reduce(|best, next| if best.1.pages.covers(&next.1.pages) { next } else { best })
    }

    /// The beginnings of the keys of its pages.
    fn key_prefixes(&self) -> Vec<Vec<u8>> {
        match &self.pages {
            Pattern::Page(page) => vec![page.key().to_vec()],
            pattern => pattern.key_prefixes().unwrap_or_default(),
        }
    }
}

/// The time from cycle to cycle if the last one began at `since` and the next one begins now: more than `cycle.period`
/// if it took longer, but not because the crawl stood still.
pub fn period(config: &Config, since: u64, now: u64) -> Duration {
    let period = config.cycle.period.0;
    let ran = Duration::from_millis(now.saturating_sub(since));
    if ran <= period * OVERRUN { period.max(ran) } else { period }
}

/// Cycles of kept visits that tell whether a promise was kept: those within its time, the one that is open, and the
/// one before, whose visit begins a gap.
pub fn cycles_of(within: Duration, period: Duration) -> u64 {
    within.as_nanos().div_ceil(period.as_nanos().max(1)).try_into().unwrap_or(u64::MAX).saturating_add(2)
}

/// A time in its largest whole unit.
fn spelled(time: Duration) -> String {
    // A spread has fractions; seconds are enough for people.
    let seconds = time.as_secs_f64();
    let time = if seconds >= 10.0 { Duration::from_secs(seconds.ceil() as u64) } else { time };
    crate::config::units::Span(time).to_string()
}

/// "1,234 pages".
fn pages(count: u64) -> String {
    labels::counted(count, "page")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::units::{Proportion, Span};

    fn config(matches: &str, within: u64, share: f64) -> Config {
        let mut config = Config::default();
        config.cycle.period = Span(Duration::from_secs(3600));
        let table = PromiseTable {
            matches: matches.into(),
            within: Span(Duration::from_secs(within)),
            share: Proportion(share),
        };
        config.promises = vec![table];
        config
    }

    #[test]
    fn a_promise_that_no_crawl_can_keep_is_refused() {
        let urls = UrlRules::default();
        let of = |matches: &str, within: u64, share: f64| {
            VisitPromise::all(&config(matches, within, share), &urls)
        };
        assert_eq!(of("https://a.example/news/*", 7200, 0.95).unwrap().len(), 1);
        for (matches, within, share, what) in [
            ("a/news", 7200, 0.95, "promises.match: \"a/news\""),
            ("https://a.example/", 7200, 0.0, "promises.share"),
            ("https://a.example/", 3599, 0.95, "at most once a cycle"),
            (
                "https://a.example/",
                3600 * 200,
                0.95,
                "storage.keep_visits must be at least 202 cycles of 1 h",
            ),
        ] {
            let refused = of(matches, within, share).unwrap_err();
            assert!(refused.contains(what), "{refused}");
        }
        let mut twice = config("https://a.example/", 7200, 0.5);
        twice.promises.push(twice.promises[0].clone());
        assert!(VisitPromise::all(&twice, &urls).unwrap_err().contains("twice"));
        twice.promises = vec![twice.promises[0].clone(); MAX_PROMISES + 1];
        assert!(VisitPromise::all(&twice, &urls).unwrap_err().contains("at most 100"));
    }

    #[test]
    fn the_promise_of_the_fewest_pages_decides() {
        let mut all = config("https://a.example/*", 7200, 0.5);
        for (matches, share) in [
            ("https://a.example/news/*", 0.9),
            ("*.c.example", 0.1),
            ("https://c.example/", 0.2),
            ("c.example", 0.3),
        ] {
            all.promises.push(config(matches, 3600, share).promises[0].clone());
        }
        let urls = UrlRules::default();
        let promises = VisitPromise::all(&all, &urls).unwrap();
        let of = |url: &str| {
            let url = urls.canonicalize(url).unwrap();
            VisitPromise::covering(&promises, &url).map(|(_, promise)| promise.share)
        };
        assert_eq!(of("https://c.example/"), Some(0.2));
        assert_eq!(of("https://c.example/x"), Some(0.3));
        assert_eq!(of("http://www.c.example/"), Some(0.1));
        assert_eq!(of("https://a.example/news/x"), Some(0.9));
        assert_eq!(of("https://a.example/old"), Some(0.5));
        assert_eq!(of("http://a.example/old"), None, "another scheme");
        assert_eq!(of("https://b.example/"), None);
    }
}

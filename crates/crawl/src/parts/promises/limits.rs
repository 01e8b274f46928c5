//! Whether a promise can be kept, and which limit keeps it from that.
//!
//! A page of a promise of W is visited every g cycles of the period P. A host's n pages take n·D at a
//! delay of D; a cycle visits n/g of them, which takes n·D/g. So a visit comes up to n·D/g after the
//! start of its cycle, and the longest gap is g·P + n·D/g. Feasible is every g with
//! g·P + n·D/g ≤ W and n·D/g ≤ P; the largest needs the fewest visits.

use super::{pages, spelled};
use crate::admission::pattern::Pattern;
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// How often the pages of a promise are visited.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rhythm {
    /// g: cycles between two visits of a page.
    pub every: u32,
    /// n·D/g: what the visits of a cycle take at the slowest host.
    pub spread: Duration,
}

impl Rhythm {
    /// The slowest rhythm that keeps gaps `within`; none if there is none. `takes` is n·D of the slowest host.
    pub fn slowest(within: Duration, period: Duration, takes: Duration) -> Option<Rhythm> {
        let [w, p, t] = [within, period, takes].map(|time| time.as_secs_f64());
        // P g² − W g + n·D ≤ 0.
        let root = (w * w - 4.0 * p * t).max(0.0).sqrt();
        let highest = ((w + root) / (2.0 * p)).floor().min(f64::from(u32::MAX)) as u32;
        let is_feasible = |every: &u32| {
            let spread = takes / *every;
            spread <= period && period.checked_mul(*every).is_some_and(|time| time + spread <= within)
        };
        // The root may be one too high by rounding, or one too low.
        let candidates = [highest.saturating_add(1), highest, highest.saturating_sub(1)];
        let every = candidates.into_iter().filter(|every| *every > 0).find(is_feasible)?;
        Some(Rhythm { every, spread: takes / every })
    }

    /// The rhythm of a promise that cannot be kept: every cycle.
    pub fn best_effort(within: Duration, takes: Duration) -> Rhythm {
        Rhythm { every: 1, spread: takes.min(within) }
    }

    /// Visits of a cycle for this many pages.
    pub fn visits(&self, pages: u64) -> u64 {
        pages.div_ceil(self.every.into())
    }
}

/// The host of a promise whose visits take longest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SlowestHost {
    /// Its name.
    pub host: String,
    /// Pages of the promise.
    pub pages: u64,
    /// The delay between a response and the next request.
    pub delay: Duration,
    /// Does its robots.txt ask for this delay?
    pub is_crawl_delay: bool,
}

impl SlowestHost {
    /// Time of one visit of each page.
    pub fn takes(&self) -> Duration {
        self.delay.checked_mul(u32::try_from(self.pages).unwrap_or(u32::MAX)).unwrap_or(Duration::MAX)
    }
}

/// A limit that keeps a promise from being kept.
#[derive(Clone, Debug, PartialEq)]
pub enum PromiseLimit {
    /// A page is visited at most once a cycle.
    Period {
        /// The promise.
        within: Duration,
        /// `cycle.period`.
        period: Duration,
    },
    /// The pages of a host, a delay apart, take too long.
    Host {
        /// The promise.
        within: Duration,
        /// `cycle.period`.
        period: Duration,
        /// The host.
        slowest: SlowestHost,
    },
    /// A host has too few places in a cycle.
    MaxPerHost {
        /// The host.
        host: String,
        /// Visits that a cycle needs.
        visits: u64,
        /// `schedule.max_per_host`.
        most: u64,
    },
    /// All promises together take more than half of k.
    Budget {
        /// Visits that a cycle needs.
        visits: u64,
        /// k/2.
        most: u64,
    },
}

/// A limit, and the promise that it concerns.
#[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize)]
pub struct Binding {
    /// The pages of the promise.
    #[serde(rename = "match", alias = "prefix")]
    pub pages: String,
    /// `period`, `host_delay`, `crawl_delay`, `max_per_host` or `budget`.
    pub limit: String,
    /// In words, with what would do.
    pub why: String,
}

impl PromiseLimit {
    /// The name in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            PromiseLimit::Period { .. } => "period",
            PromiseLimit::Host { slowest, .. } if slowest.is_crawl_delay => "crawl_delay",
            PromiseLimit::Host { .. } => "host_delay",
            PromiseLimit::MaxPerHost { .. } => "max_per_host",
            PromiseLimit::Budget { .. } => "budget",
        }
    }

    /// With the promise that it concerns.
    pub fn binding(&self, pages: &Pattern) -> Binding {
        Binding { pages: pages.to_string(), limit: self.name().into(), why: self.to_string() }
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the promise of {} cannot be kept: {}", self.pages, self.why)
    }
}

impl fmt::Display for PromiseLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PromiseLimit::Period { within, period } => write!(
                f,
                "a page is visited at most once a cycle of {}, which is more than {}; lower cycle.period, or raise within",
                spelled(*period),
                spelled(*within)
            ),
            PromiseLimit::Host { within, period, slowest } => {
                let SlowestHost { host, pages: count, delay, is_crawl_delay } = slowest;
                let (of, remedy) = match is_crawl_delay {
                    true => ("Crawl-delay", "promise a longer time or fewer pages"),
                    false => (
                        "delay",
                        "lower politeness.delay_per_host if the host allows it, promise a longer time, or fewer pages",
                    ),
                };
                write!(
                    f,
                    "{} of {host} at a {of} of {} take {}, and cycles begin every {}: more than {}; {remedy}",
                    pages(*count),
                    spelled(*delay),
                    spelled(slowest.takes()),
                    spelled(*period),
                    spelled(*within)
                )
            }
            PromiseLimit::MaxPerHost { host, visits, most } => write!(
                f,
                "it takes {visits} visits of {host} a cycle, and schedule.max_per_host allows {most}; raise it, or raise within"
            ),
            PromiseLimit::Budget { visits, most } => write!(
                f,
                "all promises take {visits} visits a cycle, and half of k is {most}; raise cycle.pages or cycle.pages_min, or \
                 raise within"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn the_rhythm_leaves_room_for_the_visits_of_a_cycle() {
        let of = |within: u32, takes: Duration| {
            Rhythm::slowest(HOUR * within, HOUR, takes).map(|rhythm| rhythm.every)
        };
        assert_eq!(of(6, Duration::ZERO), Some(6), "gaps of exactly six periods");
        assert_eq!(of(6, Duration::from_secs(1)), Some(5), "a second more would be too late");
        // 5 h + 5/5 h of visits a cycle is within 6 h.
        assert_eq!(of(6, HOUR * 5), Some(5));
        assert_eq!(of(6, HOUR * 6), None, "6 h of visits fill every cycle, and a gap is 6 h + 1 h");
        assert_eq!(of(7, HOUR * 6), Some(6));
        assert_eq!(of(1, Duration::ZERO), Some(1));
        assert_eq!(of(1, Duration::from_secs(1)), None);
        // A cycle cannot take longer than its period.
        assert_eq!(of(12, HOUR * 8), Some(11));
        assert_eq!(Rhythm::slowest(HOUR * 2, HOUR, HOUR / 2).unwrap().spread, HOUR / 2);
    }

    #[test]
    fn a_limit_says_what_would_do() {
        let news = Pattern::prefix("https://a.example/news/").unwrap();
        let slowest = |is_crawl_delay| SlowestHost {
            host: "a.example".into(),
            pages: 5000,
            delay: Duration::from_secs(10),
            is_crawl_delay,
        };
        let host = |is_crawl_delay| PromiseLimit::Host {
            within: HOUR * 6,
            period: HOUR,
            slowest: slowest(is_crawl_delay),
        };
        for (limit, name, words) in [
            (
                PromiseLimit::Period { within: HOUR * 6, period: HOUR * 24 },
                "period",
                "once a cycle of 1 d, which is more than 6 h",
            ),
            (host(false), "host_delay", "5,000 pages of a.example at a delay of 10 s take 50000 s"),
            (host(true), "crawl_delay", "at a Crawl-delay of 10 s"),
            (
                PromiseLimit::MaxPerHost { host: "a.example".into(), visits: 9, most: 5 },
                "max_per_host",
                "schedule.max_per_host allows 5",
            ),
            (PromiseLimit::Budget { visits: 900, most: 50 }, "budget", "half of k is 50"),
        ] {
            let binding = limit.binding(&news);
            assert_eq!(binding.limit, name);
            assert!(binding.to_string().contains(words), "{binding}");
            assert!(
                binding.to_string().starts_with("the promise of https://a.example/news/* cannot be kept: ")
            );
        }
    }

    proptest! {
        /// The closed form finds what a search over all rhythms finds.
        #[test]
        fn the_slowest_feasible_rhythm_is_found(within in 1u64..2000, period in 1u64..200, takes in 0u64..4000) {
            let [within, period, takes] = [within, period, takes].map(Duration::from_secs);
            let is_feasible =
                |every: &u32| takes / *every <= period && period * *every + takes / *every <= within;
            let expected = (1..=2000).rev().find(is_feasible);
            prop_assert_eq!(Rhythm::slowest(within, period, takes).map(|rhythm| rhythm.every), expected);
        }
    }
}

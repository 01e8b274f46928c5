//! The delay of a host, or why it is skipped, computed from its stored state. Used for reports and
//! for single pages; a run applies the same rules.

use crate::host::politeness::AdaptiveDelay;
use crate::net::limits::FetchConfig;
use crate::robots::RobotsRules;
use crate::robots::policy::{RobotsPolicy, refetch_at};
use recrawl_types::host::{RobotsBody, RobotsState};
use recrawl_types::{Failure, HostState, Outcome, Skip, Span};
use std::fmt;
use std::time::Duration;

/// The delay and back-off of one origin.
#[derive(Clone, Debug, PartialEq)]
pub struct HostDelay {
    /// Minimum time between a response and the next request, if no other host has the same address.
    pub delay: Duration,
    /// Why the delay is longer than `delay_per_host`, if it is.
    pub because: Option<DelayReason>,
    /// Why no page is requested now; none if pages may be requested.
    pub left_alone: Option<LeftAlone>,
}

/// Why a delay is longer than `delay_per_host`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayReason {
    /// The configured delay of its address.
    Address,
    /// Crawl-delay in robots.txt.
    CrawlDelay,
    /// Slow responses.
    Latency,
    /// Responses 429 or 503.
    Overload,
}

/// Why a host is skipped. Times in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LeftAlone {
    /// Back-off after repeated failures or a Retry-After.
    BackOff {
        /// End of the back-off.
        until: u64,
    },
    /// Its Crawl-delay exceeds `politeness.max_crawl_delay`.
    CrawlDelay {
        /// The Crawl-delay.
        asked: Duration,
        /// The maximum.
        kept: Duration,
    },
    /// Its robots.txt cannot be fetched (RFC 9309 §2.3.1.4).
    NoRobots {
        /// The failure; none if an earlier version recorded it.
        why: Option<Failure>,
        /// Time of the first failure.
        since: u64,
        /// Time of the next attempt.
        again: u64,
    },
}

impl HostDelay {
    /// Computes delay and back-off from a host's state at the time `now`.
    pub fn from_state(state: &HostState, config: &FetchConfig, now: u64) -> HostDelay {
        let rules = stored_rules(state, config);
        let asked = rules.as_ref().and_then(|rules| rules.crawl_delay);
        let kept = asked.filter(|d| *d <= config.max_crawl_delay).unwrap_or_default();
        let base = kept.max(config.delay_per_host);
        let adaptive_delay = AdaptiveDelay::load(state);
        let of_host = adaptive_delay.delay(base, config);
        let delay = of_host.max(config.delay_per_ip);
        let mut without_overload = adaptive_delay;
        without_overload.raised = Duration::ZERO;
        let because = match () {
            () if delay > of_host => Some(DelayReason::Address),
            () if without_overload.delay(base, config) < delay => Some(DelayReason::Overload),
            () if delay > base => Some(DelayReason::Latency),
            () if base > config.delay_per_host => Some(DelayReason::CrawlDelay),
            () => None,
        };
        let left_alone = match state.back_off_until {
            until if until > now => Some(LeftAlone::BackOff { until }),
            _ => LeftAlone::by_robots(state, rules.as_ref(), config),
        };
        HostDelay { delay, because, left_alone }
    }

    /// The key of the configuration or the cause that sets the delay.
    pub fn set_by(&self) -> String {
        self.because.map_or_else(|| "politeness.delay_per_host".into(), |because| because.to_string())
    }
}

impl fmt::Display for DelayReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DelayReason::Address => "politeness.delay_per_ip",
            DelayReason::CrawlDelay => "Crawl-delay in robots.txt",
            DelayReason::Latency => "slow responses",
            DelayReason::Overload => "responses 429 or 503",
        })
    }
}

/// The rules of the stored robots.txt, whatever its age; none if nothing is stored or it could not be fetched.
pub fn stored_rules(state: &HostState, config: &FetchConfig) -> Option<RobotsRules> {
    let robots = state.robots.as_ref()?;
    match RobotsPolicy::from_body(&robots.body, config.product_token()) {
        RobotsPolicy::Rules(rules) => Some(rules),
        RobotsPolicy::Unreachable(_) | RobotsPolicy::Refused(_) => None,
    }
}

impl LeftAlone {
    /// Why the stored robots.txt, with these rules, keeps the whole host from being requested, if it does.
    pub fn by_robots(
        state: &HostState,
        rules: Option<&RobotsRules>,
        config: &FetchConfig,
    ) -> Option<LeftAlone> {
        if let Some(robots @ RobotsState { body: RobotsBody::DisallowAll(why), .. }) = &state.robots {
            let since = robots.unreachable_since.unwrap_or(robots.fetched);
            return Some(LeftAlone::NoRobots { why: *why, since, again: refetch_at(robots, config) });
        }
        LeftAlone::by_rules(rules?, config)
    }

    /// Why the rules of a robots.txt keep the whole host from being requested, if they do.
    pub fn by_rules(rules: &RobotsRules, config: &FetchConfig) -> Option<LeftAlone> {
        let asked = rules.crawl_delay.filter(|asked| *asked > config.max_crawl_delay)?;
        Some(LeftAlone::CrawlDelay { asked, kept: config.max_crawl_delay })
    }

    /// The outcome of the host's pages.
    pub fn outcome(&self) -> Outcome {
        match self {
            LeftAlone::BackOff { .. } => Outcome::Skipped(Skip::HostBackOff),
            LeftAlone::CrawlDelay { .. } => Outcome::Skipped(Skip::CrawlDelay),
            LeftAlone::NoRobots { why, .. } => Outcome::RobotsUnreachable(*why),
        }
    }

    /// The name in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            LeftAlone::BackOff { .. } => "back_off",
            LeftAlone::CrawlDelay { .. } => "crawl_delay",
            LeftAlone::NoRobots { .. } => "no_robots",
        }
    }

    /// When it ends, in milliseconds since 1970; none if that is unknown.
    pub fn until(&self) -> Option<u64> {
        match self {
            LeftAlone::BackOff { until } => Some(*until),
            LeftAlone::NoRobots { again, .. } => Some(*again),
            LeftAlone::CrawlDelay { .. } => None,
        }
    }
}

impl fmt::Display for LeftAlone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeftAlone::BackOff { .. } => f.write_str("back-off after repeated failures or a Retry-After"),
            LeftAlone::CrawlDelay { asked, kept } => {
                let (asked, kept) = (Span(*asked), Span(*kept));
                write!(f, "Crawl-delay {asked} in robots.txt exceeds politeness.max_crawl_delay ({kept})")
            }
            LeftAlone::NoRobots { why, .. } => {
                f.write_str("its robots.txt cannot be read")?;
                why.map_or(Ok(()), |why| write!(f, ": {why}"))?;
                f.write_str(", and without it no page is requested (RFC 9309 section 2.3.1.4)")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::Validators;

    const SECOND: Duration = Duration::from_secs(1);
    const NOW: u64 = 1_790_000_000_000;

    fn with_robots(body: RobotsBody) -> HostState {
        let (fetched, unreachable_since, validators) = (NOW, None, Validators::default());
        let robots = Some(RobotsState { fetched, unreachable_since, body, validators });
        HostState { robots, ..HostState::default() }
    }

    fn delay_of(state: &HostState) -> HostDelay {
        HostDelay::from_state(state, &FetchConfig::default(), NOW)
    }

    #[test]
    fn the_delay_and_its_reason() {
        let promised =
            |state: &HostState| (delay_of(state).delay, delay_of(state).because, delay_of(state).left_alone);
        assert_eq!(promised(&HostState::default()), (SECOND, None, None));
        let slow = HostState { latency: 3000, ..HostState::default() };
        assert_eq!(promised(&slow), (SECOND * 6, Some(DelayReason::Latency), None));
        let raised = HostState { slow_down: 9000, ..slow.clone() };
        assert_eq!(promised(&raised), (SECOND * 9, Some(DelayReason::Overload), None));
        // Another key of the configuration may bind.
        let config = FetchConfig { delay_per_ip: SECOND * 4, ..FetchConfig::default() };
        for (state, delay, set_by) in
            [(&HostState::default(), 4, "politeness.delay_per_ip"), (&slow, 6, "slow responses")]
        {
            let found = HostDelay::from_state(state, &config, NOW);
            assert_eq!((found.delay, &*found.set_by()), (SECOND * delay, set_by));
        }
        assert_eq!(delay_of(&HostState::default()).set_by(), "politeness.delay_per_host");
        let asked = with_robots(RobotsBody::Rules(b"User-agent: *\nCrawl-delay: 7".to_vec()));
        assert_eq!(promised(&asked), (SECOND * 7, Some(DelayReason::CrawlDelay), None));
    }

    #[test]
    fn why_a_host_is_skipped() {
        let shut = HostState { back_off_until: NOW + 5, ..HostState::default() };
        assert_eq!(delay_of(&shut).left_alone, Some(LeftAlone::BackOff { until: NOW + 5 }));
        let over = HostState { back_off_until: NOW, ..HostState::default() };
        assert_eq!(delay_of(&over).left_alone, None);
        let asked = with_robots(RobotsBody::Rules(b"User-agent: *\nCrawl-delay: 31".to_vec()));
        let left = delay_of(&asked).left_alone.unwrap();
        assert_eq!((left.name(), left.until()), ("crawl_delay", None));
        assert!(left.to_string().contains("31 s in") && left.to_string().contains("(30 s)"), "{left}");
        let none = delay_of(&with_robots(RobotsBody::DisallowAll(Some(Failure::Dns)))).left_alone.unwrap();
        assert_eq!((none.name(), none.until()), ("no_robots", Some(NOW + 60_000)));
        assert!(
            none.to_string().contains("2.3.1.4") && none.to_string().contains("did not resolve"),
            "{none}"
        );
    }
}

//! Byte budgets: per second over all hosts, and per cycle for each host and for all. Requests per second over all hosts.
//!
//! The rate of bytes works like a debt that time pays off. While there is a debt, no request starts. Bodies
//! in flight are read at full speed. If they were read slowly, servers would wait with open
//! connections, and pages would time out because of our limit. So the rate holds on average, and
//! exceeds it at most by the bodies in flight.

use crate::net::limits::FetchConfig;
use crate::run::rate::RequestRate;
use recrawl_types::Origin;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Maximum credit of an idle run: one second at full rate.
const CREDIT: Duration = Duration::from_secs(1);

/// The budget of one run. A limit of 0 means no limit.
#[derive(Debug)]
pub struct RunBudget {
    per_second: u64,
    per_host: u64,
    per_cycle: u64,
    /// When the received bytes are paid off.
    paid_until: Instant,
    /// None without a limit of requests.
    rate: Option<Arc<RequestRate>>,
    /// Is a turn taken for a request that has not begun?
    has_turn: bool,
    /// Bytes spent per host in this cycle; empty without a limit per host.
    hosts: HashMap<Box<str>, u64>,
    total: u64,
}

impl RunBudget {
    /// The budget of a cycle in which earlier runs spent these bytes.
    pub fn new(
        config: &FetchConfig,
        rate: Option<Arc<RequestRate>>,
        spent: &BTreeMap<Origin, u64>,
        began: Instant,
    ) -> RunBudget {
        let mut budget = RunBudget {
            per_second: config.bytes_per_second,
            per_host: config.bytes_per_host,
            per_cycle: config.bytes_per_cycle,
            paid_until: began,
            rate,
            has_turn: false,
            hosts: HashMap::new(),
            total: 0,
        };
        for (origin, bytes) in spent {
            budget.spend(&origin.host, *bytes);
        }
        budget
    }

    /// Counts bytes of this host.
    pub fn spend(&mut self, host: &str, bytes: u64) {
        self.total = self.total.saturating_add(bytes);
        if self.per_host == 0 {
            return;
        }
        match self.hosts.get_mut(host) {
            Some(spent) => *spent = spent.saturating_add(bytes),
            None => _ = self.hosts.insert(host.into(), bytes),
        }
    }

    /// Did this host spend its budget of the cycle?
    pub fn is_spent_by(&self, host: &str) -> bool {
        self.per_host > 0 && self.hosts.get(host).is_some_and(|spent| *spent >= self.per_host)
    }

    /// Bytes spent in this cycle.
    pub fn spent(&self) -> u64 {
        self.total
    }

    /// Is the budget of the cycle spent?
    pub fn is_spent(&self) -> bool {
        self.per_cycle > 0 && self.total >= self.per_cycle
    }

    /// Counts received bytes towards the rate.
    pub fn received(&mut self, bytes: u64) {
        if self.per_second == 0 || bytes == 0 {
            return;
        }
        let worth = Duration::from_secs_f64(bytes as f64 / self.per_second as f64);
        let now = Instant::now();
        let from = now.checked_sub(CREDIT).map_or(self.paid_until, |least| self.paid_until.max(least));
        self.paid_until = from + worth;
    }

    /// When the next request may start; none if it may start now, and has its turn.
    pub fn free_at(&mut self) -> Option<Instant> {
        let now = Instant::now();
        if self.per_second > 0 && self.paid_until > now {
            return Some(self.paid_until);
        }
        let rate = self.rate.as_ref().filter(|_| !self.has_turn)?;
        let taken = rate.take();
        self.has_turn = taken.is_ok();
        taken.err().map(|wait| now + wait)
    }

    /// A request begins, and uses the turn.
    pub fn request_starts(&mut self) {
        self.has_turn = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::UrlRules;
    use tokio::time::advance;

    const SECOND: Duration = Duration::from_secs(1);

    fn budget(per_second: u64, per_host: u64, per_cycle: u64, spent: &[(&str, u64)]) -> RunBudget {
        let config = FetchConfig {
            bytes_per_second: per_second,
            bytes_per_host: per_host,
            bytes_per_cycle: per_cycle,
            ..FetchConfig::default()
        };
        let origin = |url: &str| Origin::from_url(&UrlRules::default().canonicalize(url).unwrap());
        let spent = spent.iter().map(|(url, bytes)| (origin(url), *bytes)).collect();
        RunBudget::new(&config, None, &spent, Instant::now())
    }

    #[tokio::test(start_paused = true)]
    async fn what_came_is_paid_for_with_time() {
        let mut budget = budget(1000, 0, 0, &[]);
        assert_eq!(budget.free_at(), None);
        budget.received(3000);
        let now = Instant::now();
        let free = budget.free_at().unwrap();
        assert!(free > now + SECOND * 19 / 10 && free <= now + SECOND * 3, "{:?}", free - now);
        advance(SECOND * 3).await;
        assert_eq!(budget.free_at(), None);
        // A long pause gives a credit of one second.
        advance(SECOND * 100).await;
        budget.received(2000);
        assert_eq!(budget.free_at(), Some(Instant::now() + SECOND));
    }

    #[tokio::test(start_paused = true)]
    async fn the_rate_holds_on_average_whatever_the_sizes() {
        let mut budget = budget(10_000, 0, 0, &[]);
        let (start, mut total) = (Instant::now(), 0);
        for i in 0..200u64 {
            let bytes = i * 7919 % 5000;
            budget.received(bytes);
            total += bytes;
            if let Some(free) = budget.free_at() {
                advance(free - Instant::now()).await;
            }
        }
        let rate = total as f64 / start.elapsed().as_secs_f64();
        assert!((9_900.0..10_500.0).contains(&rate), "{rate}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_and_a_cycle_have_limits_over_all_their_origins_and_runs() {
        let mut budget = budget(0, 100, 250, &[("http://a.test/", 60), ("https://a.test:8443/", 30)]);
        assert!(!budget.is_spent_by("a.test"));
        budget.spend("a.test", 10);
        assert!(budget.is_spent_by("a.test") && !budget.is_spent_by("b.test"));
        budget.spend("b.test", 149);
        assert!(!budget.is_spent());
        budget.spend("c.test", 1);
        assert!(budget.is_spent());
        budget.received(u64::MAX);
        assert_eq!(budget.free_at(), None, "no rate, no debt");
    }

    #[tokio::test(start_paused = true)]
    async fn without_limits_nothing_is_kept() {
        let mut budget = budget(0, 0, 0, &[("http://a.test/", u64::MAX)]);
        budget.spend("a.test", u64::MAX);
        assert!(!budget.is_spent_by("a.test") && !budget.is_spent() && budget.hosts.is_empty());
    }
}

//! Answers to requests for pages: counts by status, and a histogram of response times.
//!
//! A page costs three atomic additions. Only requests of this process are counted.

use recrawl_fetcher::{FetchResult, FetchedPage};
use recrawl_types::{Failure, Outcome, Skip};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// How a request for a page was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerKind {
    /// 2xx.
    Success,
    /// 3xx other than a 304 to a conditional request.
    Redirect,
    /// 304 to a conditional request.
    NotModified,
    /// 4xx.
    ClientError,
    /// 5xx.
    ServerError,
    /// No answer, or one that is not valid: DNS, connection, TLS, timeout, protocol, encoding.
    Failed,
}

/// Number of values of [`AnswerKind`].
pub const ANSWERS: usize = 6;

/// Upper bounds of the buckets of response times, in milliseconds. Slower answers are in one more bucket.
pub const BOUNDS: [u64; 18] =
    [5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 2000, 3000, 5000, 10_000, 30_000];

/// Number of buckets.
pub const BUCKETS: usize = BOUNDS.len() + 1;

/// How this page was answered; none if it was not requested.
pub fn classify(page: &FetchedPage) -> Option<AnswerKind> {
    let by_status = |status: u16| match status / 100 {
        3 => AnswerKind::Redirect,
        4 => AnswerKind::ClientError,
        5 => AnswerKind::ServerError,
        _ => AnswerKind::Failed,
    };
    Some(match &page.result {
        FetchResult::Page(_) | FetchResult::Nothing(Outcome::Skipped(Skip::MediaType)) => AnswerKind::Success,
        FetchResult::NotModified(_) => AnswerKind::NotModified,
        FetchResult::Redirect { .. } => AnswerKind::Redirect,
        FetchResult::Nothing(Outcome::NotFound(status) | Outcome::Failed(Failure::Status(status))) => {
            by_status(*status)
        }
        FetchResult::Nothing(Outcome::Failed(Failure::Redirect)) => AnswerKind::Redirect,
        FetchResult::Nothing(Outcome::Failed(_)) => AnswerKind::Failed,
        FetchResult::Nothing(_) => return None,
    })
}

/// Counters since the process started.
#[derive(Default)]
pub struct AnswerCounters {
    answers: [AtomicU64; ANSWERS],
    buckets: [AtomicU64; BUCKETS],
    micros: AtomicU64,
}

impl AnswerCounters {
    /// Counts a page, if it was requested. Requests without an answer have no response time.
    pub fn count(&self, page: &FetchedPage) {
        let Some(answer) = classify(page) else { return };
        self.answers[answer as usize].fetch_add(1, Relaxed);
        if answer != AnswerKind::Failed {
            let millis = page.elapsed.as_millis() as u64;
            self.buckets[BOUNDS.partition_point(|bound| *bound < millis)].fetch_add(1, Relaxed);
            self.micros.fetch_add(page.elapsed.as_micros() as u64, Relaxed);
        }
    }

    /// The counts so far.
    pub fn read(&self) -> AnswerCounts {
        let load = |counter: &AtomicU64| counter.load(Relaxed);
        AnswerCounts {
            answers: self.answers.each_ref().map(load),
            buckets: self.buckets.each_ref().map(load),
            total_time: Duration::from_micros(load(&self.micros)),
        }
    }
}

/// Counts of answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnswerCounts {
    /// By [`AnswerKind`].
    answers: [u64; ANSWERS],
    /// Answers by response time: at most the bound in [`BOUNDS`], and the rest.
    pub buckets: [u64; BUCKETS],
    /// Sum of the response times.
    pub total_time: Duration,
}

impl AnswerCounts {
    /// Requests answered so.
    pub fn count(&self, answer: AnswerKind) -> u64 {
        self.answers[answer as usize]
    }

    /// Those that came after `before`.
    pub fn since(&self, before: &AnswerCounts) -> AnswerCounts {
        AnswerCounts {
            answers: std::array::from_fn(|at| self.answers[at].saturating_sub(before.answers[at])),
            buckets: std::array::from_fn(|at| self.buckets[at].saturating_sub(before.buckets[at])),
            total_time: self.total_time.saturating_sub(before.total_time),
        }
    }

    /// The response time in milliseconds that this share of the answers did not exceed, interpolated within
    /// its bucket as PromQL's `histogram_quantile` does; none without answers. In the last bucket it is the
    /// highest bound.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let total: u64 = self.buckets.iter().sum();
        if total == 0 {
            return None;
        }
        let rank = share * total as f64;
        let mut below = 0.0;
        for (at, &answers) in self.buckets.iter().enumerate() {
            let here = answers as f64;
            if here > 0.0 && below + here >= rank {
                let Some(&high) = BOUNDS.get(at) else { break };
                let low = if at == 0 { 0 } else { BOUNDS[at - 1] };
                return Some(low as f64 + (high - low) as f64 * ((rank - below) / here));
            }
            below += here;
        }
        Some(BOUNDS[BOUNDS.len() - 1] as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use recrawl_fetcher::{Condition, Hold};
    use recrawl_types::{CanonicalUrl, Cycle, PageRecord, ScheduleEntry, Share, UrlRules};

    fn page(result: FetchResult, elapsed: Duration) -> FetchedPage {
        let url: CanonicalUrl = UrlRules::default().canonicalize("http://a.test/").unwrap();
        let record = PageRecord::discovered(Cycle(1), 0);
        FetchedPage {
            index: Some(0),
            entry: ScheduleEntry::new(url, Share::Discovery, record),
            hops: 0,
            result,
            condition: Condition::default(),
            at: 0,
            elapsed,
            sitemaps: None,
            hold: Hold::default(),
        }
    }

    #[test]
    fn every_outcome_has_its_place_and_what_was_not_requested_has_none() {
        let nothing = FetchResult::Nothing;
        for (result, expected) in [
            (FetchResult::Page(Box::default()), Some(AnswerKind::Success)),
            (FetchResult::NotModified(Box::default()), Some(AnswerKind::NotModified)),
            (nothing(Outcome::NotFound(410)), Some(AnswerKind::ClientError)),
            (nothing(Outcome::Failed(Failure::Status(429))), Some(AnswerKind::ClientError)),
            (nothing(Outcome::Failed(Failure::Status(503))), Some(AnswerKind::ServerError)),
            (nothing(Outcome::Failed(Failure::Status(304))), Some(AnswerKind::Redirect)),
            (nothing(Outcome::Failed(Failure::Redirect)), Some(AnswerKind::Redirect)),
            (nothing(Outcome::Failed(Failure::Timeout)), Some(AnswerKind::Failed)),
            (nothing(Outcome::RobotsDenied), None),
            (nothing(Outcome::RobotsUnreachable(None)), None),
            (nothing(Outcome::RefusedAddress(None)), None),
            (nothing(Outcome::Skipped(Skip::Deadline)), None),
            (nothing(Outcome::Skipped(Skip::MediaType)), Some(AnswerKind::Success)),
        ] {
            let page = page(result, Duration::ZERO);
            assert_eq!(classify(&page), expected, "{:?}", page.result);
        }
    }

    #[test]
    fn what_has_no_answer_has_no_response_time() {
        let counters = AnswerCounters::default();
        let before = counters.read();
        let fetched = FetchResult::Page(Box::default());
        counters.count(&page(fetched.clone(), Duration::from_millis(5)));
        counters.count(&page(fetched, Duration::from_secs(31)));
        let failed = FetchResult::Nothing(Outcome::Failed(Failure::Timeout));
        counters.count(&page(failed, Duration::from_secs(30)));
        counters.count(&page(FetchResult::Nothing(Outcome::RobotsDenied), Duration::ZERO));
        let answers = counters.read().since(&before);
        assert_eq!((answers.count(AnswerKind::Success), answers.count(AnswerKind::Failed)), (2, 1));
        assert_eq!((answers.buckets[0], answers.buckets[BUCKETS - 1]), (1, 1), "a bound is in its bucket");
        assert_eq!(answers.buckets.iter().sum::<u64>(), 2);
        assert_eq!(answers.total_time, Duration::from_millis(31_005));
        assert_eq!(counters.read().since(&counters.read()), AnswerCounts::default());
    }

    proptest! {
        /// The estimate is in the bucket of the exact quantile.
        #[test]
        fn a_quantile_is_right_to_its_bucket(mut times in prop::collection::vec(0u64..40_000, 1..200)) {
            let counters = AnswerCounters::default();
            let mut page = page(FetchResult::Page(Box::default()), Duration::ZERO);
            for millis in &times {
                page.elapsed = Duration::from_millis(*millis);
                counters.count(&page);
            }
            times.sort_unstable();
            let answers = counters.read();
            for share in [0.5, 0.95, 1.0] {
                let exact = times[((share * times.len() as f64).ceil() as usize).max(1) - 1];
                let at = BOUNDS.partition_point(|bound| *bound < exact);
                let low = if at == 0 { 0 } else { BOUNDS[at - 1] } as f64;
                let high = BOUNDS.get(at).map_or(f64::INFINITY, |bound| *bound as f64);
                let told = answers.quantile(share).unwrap();
                prop_assert!((low..=high).contains(&told), "{share}: {exact} told as {told}");
            }
        }
    }
}

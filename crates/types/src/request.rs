//! The requests that a crawl sends: what is written down of each, and what is kept of a host's.
//!
//! The fetcher tells a [`RequestLog`] of each request when its answer has ended. The program adds
//! them up by origin and round ([`HostRequests`]), so that a site owner can be told what was asked.

use crate::Origin;
use std::io;
use std::time::Duration;

/// One request, once it has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct SentRequest {
    /// Where it went.
    pub origin: Origin,
    /// When it started, in milliseconds since 1970.
    pub at: u64,
    /// Time since the start of the request before to the same host, whatever its scheme and port.
    /// None for the first since the host's queue was opened.
    pub gap: Option<Duration>,
    /// The delay that was in force for the host when it started.
    pub delay: Duration,
    /// The status of the answer; 0 if there was none.
    pub status: u16,
    /// Bytes of the body, as received.
    pub bytes: u64,
}

/// Takes the requests of a run.
pub trait RequestLog: Send + Sync {
    /// Appends a request.
    ///
    /// # Errors
    /// When it cannot be written.
    fn append(&self, request: &SentRequest) -> io::Result<()>;
}

/// How answers are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnswerClass {
    /// 2xx.
    Ok,
    /// 304.
    NotModified,
    /// Another 3xx.
    Redirect,
    /// A 4xx but 429.
    ClientError,
    /// 429 or 503: the server asks for fewer requests.
    Overload,
    /// A 5xx but 503, or a status that HTTP does not know.
    ServerError,
    /// No status: no connection, no answer in time, no HTTP.
    NoAnswer,
}

impl AnswerClass {
    /// All classes with their names, in the order in which they are kept.
    pub const ALL: [(AnswerClass, &'static str); 7] = [
        (AnswerClass::Ok, "ok"),
        (AnswerClass::NotModified, "not_modified"),
        (AnswerClass::Redirect, "redirects"),
        (AnswerClass::ClientError, "client_errors"),
        (AnswerClass::Overload, "overload"),
        (AnswerClass::ServerError, "server_errors"),
        (AnswerClass::NoAnswer, "no_answer"),
    ];

    /// The class of a status; 0 for no answer.
    pub fn of(status: u16) -> AnswerClass {
        match status {
            0 => AnswerClass::NoAnswer,
            200..=299 => AnswerClass::Ok,
            304 => AnswerClass::NotModified,
            300..=399 => AnswerClass::Redirect,
            429 | 503 => AnswerClass::Overload,
            400..=499 => AnswerClass::ClientError,
            _ => AnswerClass::ServerError,
        }
    }
}

/// The shortest time between the starts of two requests to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShortestGap {
    /// The time, in milliseconds, rounded down.
    pub millis: u64,
    /// The delay that was in force then, in milliseconds, rounded down.
    pub delay: u64,
}

/// The robots.txt that was in force when a round ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RobotsInForce {
    /// It was never fetched.
    #[default]
    Unknown,
    /// There is none: the server answers 4xx.
    Absent,
    /// It cannot be fetched: everything is forbidden.
    Unreachable,
    /// A file with this SHA-256.
    File([u8; 32]),
}

/// The requests to an origin in a round, or in several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostRequests {
    /// By class, in the order of [`AnswerClass::ALL`].
    pub answers: [u64; AnswerClass::ALL.len()],
    /// Bytes of bodies, as received.
    pub bytes: u64,
    /// Start of the first request, in milliseconds since 1970.
    pub first: u64,
    /// Start of the last one.
    pub last: u64,
    /// None while there is no gap.
    pub shortest: Option<ShortestGap>,
    /// Requests that started before their delay had passed since the start of the one before.
    pub early: u64,
    /// The delay in force at the last request, in milliseconds.
    pub delay: u64,
    /// robots.txt at the end.
    pub robots: RobotsInForce,
}

impl HostRequests {
    /// All requests.
    pub fn requests(&self) -> u64 {
        self.answers.iter().sum()
    }

    /// Those of a class.
    pub fn of(&self, class: AnswerClass) -> u64 {
        self.answers[class as usize]
    }

    /// Counts a request. `before`: start of the last request to the host, in milliseconds since
    /// 1970, where the fetcher did not measure the gap.
    pub fn count(&mut self, request: &SentRequest, before: Option<u64>) {
        if self.requests() == 0 {
            self.first = request.at;
        }
        self.answers[AnswerClass::of(request.status) as usize] += 1;
        self.bytes = self.bytes.saturating_add(request.bytes);
        // Requests end in another order than they start, and clocks are set back.
        (self.first, self.last) = (self.first.min(request.at), self.last.max(request.at));
        self.delay = millis(request.delay);
        let measured = request.gap.map(|gap| (millis(gap), gap < request.delay));
        let by_clock = || {
            let gap = request.at.checked_sub(before?)?;
            Some((gap, gap < self.delay))
        };
        if let Some((millis, is_early)) = measured.or_else(by_clock) {
            self.gap(ShortestGap { millis, delay: self.delay }, is_early);
        }
    }

    /// Adds the requests of a later time.
    pub fn add(&mut self, later: &HostRequests) {
        if later.requests() == 0 {
            return;
        }
        if self.requests() > 0 && later.first > self.last {
            let gap = later.first - self.last;
            self.gap(ShortestGap { millis: gap, delay: later.delay }, false);
        }
        self.first = if self.requests() == 0 { later.first } else { self.first.min(later.first) };
        self.last = self.last.max(later.last);
        self.answers.iter_mut().zip(later.answers).for_each(|(sum, answers)| *sum += answers);
        self.bytes = self.bytes.saturating_add(later.bytes);
        self.shortest = self.shortest.into_iter().chain(later.shortest).min();
        self.early += later.early;
        (self.delay, self.robots) = (later.delay, later.robots);
    }

    fn gap(&mut self, gap: ShortestGap, is_early: bool) {
        self.shortest = Some(self.shortest.map_or(gap, |shortest| shortest.min(gap)));
        self.early += u64::from(is_early);
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scheme;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn request(at: u64, gap: Option<u64>, status: u16) -> SentRequest {
        let origin = Origin { scheme: Scheme::Http, host: "a.example".into(), port: 80 };
        SentRequest { origin, at, gap: gap.map(Duration::from_millis), delay: SECOND, status, bytes: 10 }
    }

    #[test]
    fn each_status_has_one_class_and_names_differ() {
        let of = |status| AnswerClass::of(status);
        assert_eq!(
            [200, 304, 302, 404, 429, 503, 500, 999, 0].map(of),
            [
                AnswerClass::Ok,
                AnswerClass::NotModified,
                AnswerClass::Redirect,
                AnswerClass::ClientError,
                AnswerClass::Overload,
                AnswerClass::Overload,
                AnswerClass::ServerError,
                AnswerClass::ServerError,
                AnswerClass::NoAnswer,
            ]
        );
        for (place, (class, name)) in AnswerClass::ALL.iter().enumerate() {
            assert_eq!(*class as usize, place, "{name}");
            assert_eq!(AnswerClass::ALL.iter().filter(|(_, other)| other == name).count(), 1);
        }
    }

    #[test]
    fn gaps_are_measured_or_told_by_the_clock() {
        let mut sum = HostRequests::default();
        sum.count(&request(10_000, None, 200), None);
        assert_eq!((sum.shortest, sum.first), (None, 10_000));
        sum.count(&request(11_500, None, 200), Some(10_000));
        assert_eq!(sum.shortest, Some(ShortestGap { millis: 1500, delay: 1000 }));
        // The clock was set back; the fetcher measured the gap without it.
        sum.count(&request(5_000, Some(1_200), 304), Some(11_500));
        assert_eq!(sum.shortest, Some(ShortestGap { millis: 1200, delay: 1000 }));
        sum.count(&request(4_000, None, 304), Some(11_500));
        assert_eq!(sum.early, 0, "no gap is known");
        sum.count(&request(12_000, Some(999), 0), Some(11_500));
        assert_eq!((sum.early, sum.shortest.map(|gap| gap.millis)), (1, Some(999)));
        assert_eq!((sum.first, sum.last, sum.requests(), sum.bytes), (4_000, 12_000, 5, 50));
        assert_eq!(sum.of(AnswerClass::NotModified), 2);
    }

    #[test]
    fn the_time_between_two_rounds_is_a_gap_too() {
        let mut first = HostRequests::default();
        first.count(&request(1_000, None, 200), None);
        let mut later = HostRequests::default();
        later.count(&request(4_000, None, 200), None);
        first.add(&HostRequests::default());
        first.add(&later);
        assert_eq!(first.shortest, Some(ShortestGap { millis: 3_000, delay: 1_000 }));
        let mut none = HostRequests::default();
        none.add(&later);
        assert_eq!(none, later);
    }

    proptest! {
        /// Rounds added up are what one long round would be.
        #[test]
        fn parts_add_up_to_the_whole(
            steps in proptest::collection::vec((1u64..3000, prop::sample::select(vec![0u16, 200, 304, 404, 429])), 1..40),
            cut in any::<prop::sample::Index>(),
        ) {
            let (mut at, mut last, mut all) = (0, None, Vec::new());
            for (step, status) in steps {
                at += step;
                all.push((request(at, None, status), last));
                last = Some(at);
            }
            let sum = |part: &[(SentRequest, Option<u64>)]| {
                let mut sum = HostRequests::default();
                for (place, (request, before)) in part.iter().enumerate() {
                    sum.count(request, before.filter(|_| place > 0));
                }
                sum
            };
            let (head, tail) = all.split_at(cut.index(all.len()));
            let mut parts = sum(head);
            parts.add(&sum(tail));
            let whole = sum(&all);
            prop_assert!(whole.early >= parts.early, "a gap between two rounds is not judged");
            prop_assert_eq!(HostRequests { early: 0, ..parts }, HostRequests { early: 0, ..whole });
        }
    }
}

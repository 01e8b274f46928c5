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
    pub fn from_status(status: u16) -> AnswerClass {
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

/// A minute by the clock, and the requests that started in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Minute {
    /// Its start, in milliseconds since 1970.
    pub at: u64,
    /// Its requests.
    pub requests: u64,
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

/// The requests to a host in a round, or in several: all its schemes and ports, which share one pace.
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
    /// The minute with the most requests, the first of equals.
    pub busiest: Minute,
    /// Requests in the minute of the first one, and in that of the last one: they may go on in the
    /// rounds before and after.
    pub at_ends: [u64; 2],
}

impl HostRequests {
    /// All requests.
    pub fn requests(&self) -> u64 {
        self.answers.iter().sum()
    }

    /// Those of a class.
    pub fn answered(&self, class: AnswerClass) -> u64 {
        self.answers[class as usize]
    }

    /// Counts a request. Minutes are exact as long as requests end in the order in which they start, as
    /// they do over one connection. A gap that the fetcher did not measure is told by the clock.
    pub fn count(&mut self, request: &SentRequest) {
        let at = request.at;
        let before = (self.requests() > 0).then_some(self.last);
        let measured = request.gap.map(|gap| (millis(gap), gap < request.delay));
        self.delay = millis(request.delay);
        let by_clock = || before.and_then(|last| at.checked_sub(last)).map(|gap| (gap, gap < self.delay));
        if let Some((millis, is_early)) = measured.or_else(by_clock) {
            self.gap(ShortestGap { millis, delay: self.delay }, is_early);
        }
        let one = HostRequests { first: at, last: at, at_ends: [1, 1], ..HostRequests::default() };
        self.join_minutes(&HostRequests { busiest: Minute { at: at - at % MINUTE, requests: 1 }, ..one });
        self.answers[AnswerClass::from_status(request.status) as usize] += 1;
        self.bytes = self.bytes.saturating_add(request.bytes);
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
        self.join_minutes(later);
        self.answers.iter_mut().zip(later.answers).for_each(|(sum, answers)| *sum += answers);
        self.bytes = self.bytes.saturating_add(later.bytes);
        self.shortest = self.shortest.into_iter().chain(later.shortest).min();
        self.early += later.early;
        self.delay = later.delay;
    }

    /// Times and minutes of requests that started later, but for a clock that was set back.
    fn join_minutes(&mut self, later: &HostRequests) {
        if self.requests() == 0 {
            (self.first, self.last) = (later.first, later.last);
            (self.busiest, self.at_ends) = (later.busiest, later.at_ends);
            return;
        }
        let minute = |at: u64| at / MINUTE;
        let [first, last] = self.at_ends;
        let is_one = |requests: &HostRequests| minute(requests.first) == minute(requests.last);
        let mut busiest = self.busiest;
        if minute(later.first) == minute(self.last) {
            let joined = Minute { at: minute(self.last) * MINUTE, requests: last + later.at_ends[0] };
            self.at_ends = [
                if is_one(self) { joined.requests } else { first },
                if is_one(later) { joined.requests } else { later.at_ends[1] },
            ];
            busiest = busier(busiest, joined);
        } else if later.last > self.last {
            self.at_ends = [first, later.at_ends[1]];
        }
        self.busiest = busier(busiest, later.busiest);
        (self.first, self.last) = (self.first.min(later.first), self.last.max(later.last));
    }

    fn gap(&mut self, gap: ShortestGap, is_early: bool) {
        self.shortest = Some(self.shortest.map_or(gap, |shortest| shortest.min(gap)));
        self.early += u64::from(is_early);
    }
}

/// A minute in milliseconds.
const MINUTE: u64 = 60_000;

fn busier(minute: Minute, other: Minute) -> Minute {
    if other.requests > minute.requests { other } else { minute }
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
        let of = |status| AnswerClass::from_status(status);
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
        sum.count(&request(10_000, None, 200));
        assert_eq!((sum.shortest, sum.first), (None, 10_000));
        sum.count(&request(11_500, None, 200));
        assert_eq!(sum.shortest, Some(ShortestGap { millis: 1500, delay: 1000 }));
        // The clock was set back; the fetcher measured the gap without it.
        sum.count(&request(5_000, Some(1_200), 304));
        assert_eq!(sum.shortest, Some(ShortestGap { millis: 1200, delay: 1000 }));
        sum.count(&request(4_000, None, 304));
        assert_eq!(sum.early, 0, "no gap is known");
        sum.count(&request(12_000, Some(999), 0));
        assert_eq!((sum.early, sum.shortest.map(|gap| gap.millis)), (1, Some(999)));
        assert_eq!((sum.first, sum.last, sum.requests(), sum.bytes), (4_000, 12_000, 5, 50));
        assert_eq!(sum.answered(AnswerClass::NotModified), 2);
    }

    #[test]
    fn the_time_between_two_rounds_is_a_gap_too() {
        let mut first = HostRequests::default();
        first.count(&request(1_000, None, 200));
        let mut later = HostRequests::default();
        later.count(&request(4_000, None, 200));
        first.add(&HostRequests::default());
        first.add(&later);
        assert_eq!(first.shortest, Some(ShortestGap { millis: 3_000, delay: 1_000 }));
        let mut none = HostRequests::default();
        none.add(&later);
        assert_eq!(none, later);
    }

    proptest! {
        /// Rounds added up are what one long round would be, and minutes are those of a plain count.
        #[test]
        fn parts_add_up_to_the_whole(
            steps in proptest::collection::vec((1u64..50_000, prop::sample::select(vec![0u16, 200, 304, 404, 429])), 1..40),
            cuts in any::<[prop::sample::Index; 2]>(),
        ) {
            let (mut at, mut all) = (0, Vec::new());
            for (step, status) in steps {
                at += step;
                all.push(request(at, None, status));
            }
            let sum = |part: &[SentRequest]| {
                let mut sum = HostRequests::default();
                part.iter().for_each(|request| sum.count(request));
                sum
            };
            let mut cuts = cuts.map(|cut| cut.index(all.len()));
            cuts.sort_unstable();
            let mut parts = sum(&all[..cuts[0]]);
            parts.add(&sum(&all[cuts[0]..cuts[1]]));
            parts.add(&sum(&all[cuts[1]..]));
            let whole = sum(&all);
            prop_assert!(whole.early >= parts.early, "a gap between two rounds is not judged");
            let early = 0;
            prop_assert_eq!(HostRequests { early, ..parts }, HostRequests { early, ..whole.clone() });
            let of = |minute: u64| all.iter().filter(|request| request.at / MINUTE == minute).count() as u64;
            let busiest = (0..=at / MINUTE).rev().max_by_key(|minute| of(*minute)).unwrap();
            prop_assert_eq!(whole.busiest, Minute { at: busiest * MINUTE, requests: of(busiest) });
        }
    }
}

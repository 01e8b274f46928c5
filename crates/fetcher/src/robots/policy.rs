//! The robots policy of an origin, and how long it is valid.
//!
//! RFC 9309 §2.3.1: rules of a file are obeyed. 4xx means that there is no file. 407, 429, 5xx and
//! network failures forbid everything, for up to thirty days. §2.4: a file is cached for at most 24
//! hours.

use crate::net::client::{Cut, NetworkError, Reply};
use crate::net::limits::{FetchConfig, MAX_ROBOTS, MAX_ROBOTS_RETRY, MIN_ROBOTS_RETRY, ROBOTS_GONE};
use crate::outcome::validators_of;
use crate::robots::{RobotsRules, cut};
use recrawl_types::host::{RobotsBody, RobotsState};
use recrawl_types::outcome::AddressRefusal;
use recrawl_types::{Failure, Outcome, Validators};
use std::time::Duration;

/// The rules of robots.txt that apply to an origin.
#[derive(Clone, Debug)]
pub enum RobotsPolicy {
    /// The rules of the file; no rules if there is no file.
    Rules(RobotsRules),
    /// robots.txt is unreachable, so nothing is allowed. The failure, if it is known.
    Unreachable(Option<Failure>),
    /// The address guard refuses the address of robots.txt, and so the origin.
    Refused(AddressRefusal),
}

impl RobotsPolicy {
    /// The policy of a stored state, if it is still valid.
    pub fn cached(state: &RobotsState, now: u64, config: &FetchConfig) -> Option<RobotsPolicy> {
        // If the clock was set back, a file must not stay valid forever.
        let holds = (state.fetched..refetch_at(state, config)).contains(&now);
        holds.then(|| RobotsPolicy::from_body(&state.body, config.product_token()))
    }

    /// The policy of a stored body, whatever its age.
    pub fn from_body(body: &RobotsBody, product_token: &str) -> RobotsPolicy {
        match body {
            RobotsBody::Rules(file) => RobotsPolicy::Rules(RobotsRules::parse(file, product_token)),
            RobotsBody::AllowAll => RobotsPolicy::Rules(RobotsRules::default()),
            RobotsBody::DisallowAll(why) => RobotsPolicy::Unreachable(*why),
        }
    }
}

/// When robots.txt must be requested again, in milliseconds since 1970.
pub fn refetch_at(state: &RobotsState, config: &FetchConfig) -> u64 {
    let holds_for = match &state.body {
        RobotsBody::Rules(_) | RobotsBody::AllowAll => config.robots_cache,
        RobotsBody::DisallowAll(_) => retry_after(state),
    };
    state.fetched.saturating_add(holds_for.as_millis() as u64)
}

/// The time that it has been unreachable, within limits: an exponential back-off without a counter.
fn retry_after(state: &RobotsState) -> Duration {
    let since = state.unreachable_since.unwrap_or(state.fetched);
    Duration::from_millis(state.fetched.saturating_sub(since)).clamp(MIN_ROBOTS_RETRY, MAX_ROBOTS_RETRY)
}

/// Turns a response for robots.txt into a state; the caller follows redirects. `sent` are the
/// validators of the request. `direct`: the origin itself responded, without a redirect.
pub fn evaluate(
    answer: &Result<Reply, NetworkError>,
    before: Option<&RobotsState>,
    sent: &Validators,
    direct: bool,
    now: u64,
) -> RobotsState {
    let validators_in =
        |reply: &Reply| if direct { validators_of(&reply.headers) } else { Validators::default() };
    let (body, validators) = match (answer, before) {
        // Not modified (§2.4). Validators that the response omits stay valid (RFC 9111 §3.2).
        (Ok(reply), Some(before)) if reply.status == 304 && !sent.is_empty() => {
            let new = validators_in(reply);
            let etag = new.etag.or_else(|| before.validators.etag.clone());
            let last_modified = new.last_modified.or_else(|| before.validators.last_modified.clone());
            (before.body.clone(), Validators { etag, last_modified })
        }
        // Rules may be missing behind the damage.
        (Ok(reply), _) if reply.cut == Some(Cut::Coding) => {
            (RobotsBody::DisallowAll(Some(Failure::Encoding)), Validators::default())
        }
        (Ok(reply), _) => match reply.status {
            200..=299 => (RobotsBody::Rules(whole_lines(reply)), validators_in(reply)),
            // A redirect without a usable target, or one too many, counts as no file (§2.3.1.2).
            300..=406 | 408..=428 | 430..=499 => (RobotsBody::AllowAll, Validators::default()),
            // 429 means that we may not have the file now, not that there is none. 407 is of the proxy, so nothing is known
            // of the file.
            status => (RobotsBody::DisallowAll(Some(Failure::Status(status))), Validators::default()),
        },
        (Err(error), _) => (RobotsBody::DisallowAll(Some(failure(*error))), Validators::default()),
    };
    if !matches!(body, RobotsBody::DisallowAll(_)) {
        return RobotsState { fetched: now, unreachable_since: None, body, validators };
    }
    // If the clock was set back, the thirty days must still end.
    let since = before.and_then(|b| b.unreachable_since).map_or(now, |since| since.min(now));
    let gone = Duration::from_millis(now - since) >= ROBOTS_GONE;
    let body = if gone { RobotsBody::AllowAll } else { body };
    RobotsState { fetched: now, unreachable_since: Some(since), body, validators }
}

/// The failure to record for an error of robots.txt.
fn failure(error: NetworkError) -> Failure {
    match error.outcome() {
        Outcome::Failed(failure) => failure,
        // A refusal of its own address is handled before this, so a redirect led there.
        _ => Failure::Redirect,
    }
}

fn whole_lines(reply: &Reply) -> Vec<u8> {
    if reply.cut != Some(Cut::Limit) {
        return cut(&reply.body, MAX_ROBOTS).to_vec();
    }
    // The last line may be incomplete.
    let end = reply.body.iter().rposition(|b| matches!(b, b'\n' | b'\r')).map_or(0, |at| at + 1);
    cut(&reply.body[..end], MAX_ROBOTS).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{reply, with_header};

    const HOUR: u64 = 3_600_000;
    const DAY: u64 = 24 * HOUR;

    /// A response to an unconditional request.
    fn first(answer: &Result<Reply, NetworkError>, before: Option<&RobotsState>, now: u64) -> RobotsState {
        evaluate(answer, before, &Validators::default(), true, now)
    }

    fn unreachable(why: Failure) -> RobotsBody {
        RobotsBody::DisallowAll(Some(why))
    }

    fn judged(status: u16, now: u64) -> RobotsState {
        first(&Ok(reply(status, "User-agent: *\nDisallow: /x\n")), None, now)
    }

    #[test]
    fn rfc_9309_section_2_3_1_what_a_status_means() {
        for (status, body) in [
            (200, RobotsBody::Rules(b"User-agent: *\nDisallow: /x\n".to_vec())),
            (304, RobotsBody::AllowAll),
            (401, RobotsBody::AllowAll),
            (403, RobotsBody::AllowAll),
            (407, unreachable(Failure::Status(407))),
            (404, RobotsBody::AllowAll),
            (410, RobotsBody::AllowAll),
            (429, unreachable(Failure::Status(429))),
            (500, unreachable(Failure::Status(500))),
            (503, unreachable(Failure::Status(503))),
            (599, unreachable(Failure::Status(599))),
        ] {
            assert_eq!(judged(status, 7).body, body, "{status}");
        }
        for (error, why) in [
            (NetworkError::Dns, Failure::Dns),
            (NetworkError::Connect, Failure::Connect),
            (NetworkError::Tls, Failure::Tls),
            (NetworkError::Timeout, Failure::Timeout),
            (NetworkError::Protocol, Failure::Protocol),
            (NetworkError::Encoding, Failure::Encoding),
            (NetworkError::Refused, Failure::Redirect),
        ] {
            assert_eq!(first(&Err(error), None, 7).body, unreachable(why));
        }
    }

    #[test]
    fn rfc_9309_section_2_4_a_file_is_believed_for_a_day() {
        let config = FetchConfig::default();
        for status in [200, 404] {
            let state = judged(status, 5);
            assert!(matches!(
                RobotsPolicy::cached(&state, 5 + DAY - 1, &config),
                Some(RobotsPolicy::Rules(_))
            ));
            assert!(RobotsPolicy::cached(&state, 5 + DAY, &config).is_none());
            assert!(RobotsPolicy::cached(&state, 4, &config).is_none(), "fetched in the future");
        }
    }

    #[test]
    fn an_unreachable_file_is_asked_for_again_ever_more_rarely_up_to_hourly() {
        let config = FetchConfig::default();
        let mut now = DAY;
        let mut state = judged(503, now);
        let mut waits = Vec::new();
        for _ in 0..10 {
            let requested = now;
            while RobotsPolicy::cached(&state, now, &config).is_some() {
                now += 1000;
            }
            waits.push((now - requested) / 60_000);
            state = first(&Err(NetworkError::Connect), Some(&state), now);
        }
        assert_eq!(waits, [1, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
    }

    #[test]
    fn rfc_9309_section_2_3_1_4_after_thirty_days_it_counts_as_absent() {
        let start = judged(500, DAY);
        let late = first(&Err(NetworkError::Timeout), Some(&start), 31 * DAY - 1);
        assert_eq!(late.body, unreachable(Failure::Timeout), "the reason is the last one's");
        let gone = first(&Err(NetworkError::Timeout), Some(&late), 31 * DAY);
        assert_eq!((gone.body, gone.unreachable_since), (RobotsBody::AllowAll, Some(DAY)));
        let back = first(&Ok(reply(200, "")), Some(&late), 31 * DAY);
        assert_eq!(back.unreachable_since, None);
        // If the clock was a year ahead when the failures began, they do not last a year.
        let ahead = judged(500, 400 * DAY);
        let still = first(&Err(NetworkError::Dns), Some(&ahead), 35 * DAY);
        assert_eq!((&still.body, still.unreachable_since), (&unreachable(Failure::Dns), Some(35 * DAY)));
        assert_eq!(first(&Err(NetworkError::Dns), Some(&still), 65 * DAY).body, RobotsBody::AllowAll);
    }

    #[test]
    fn rfc_9309_section_2_4_not_modified_keeps_the_rules_and_renews_the_time() {
        let etag = |value: &str| with_header(reply(200, "User-agent: *\nDisallow: /x\n"), "etag", value);
        let before = first(&Ok(etag("\"1\"")), None, 5);
        assert_eq!(before.validators.etag.as_deref(), Some("\"1\""));
        let same = evaluate(&Ok(reply(304, "")), Some(&before), &before.validators, true, DAY);
        assert_eq!(same, RobotsState { fetched: DAY, ..before.clone() });
        // A validator in the 304 replaces the old one.
        let named = with_header(reply(304, ""), "etag", "\"2\"");
        let renamed = evaluate(&Ok(named), Some(&before), &before.validators, true, DAY);
        assert_eq!(renamed.validators.etag.as_deref(), Some("\"2\""));
        // A 304 to an unconditional request makes no sense.
        assert_eq!(first(&Ok(reply(304, "")), Some(&before), DAY).body, RobotsBody::AllowAll);
        // The target of a redirect has its own validators.
        let behind = evaluate(&Ok(etag("\"1\"")), None, &Validators::default(), false, 5);
        assert!(behind.validators.is_empty());
        assert!(first(&Err(NetworkError::Dns), Some(&before), DAY).validators.is_empty());
    }

    #[test]
    fn rfc_9309_section_2_5_a_long_file_is_cut_at_a_line() {
        let mut cut_off = reply(200, "Disallow: /a\nDisallow: /bcd");
        cut_off.cut = Some(Cut::Limit);
        let state = first(&Ok(cut_off), None, 0);
        assert_eq!(state.body, RobotsBody::Rules(b"Disallow: /a\n".to_vec()));
    }

    #[test]
    fn a_damaged_file_forbids_all_unless_only_its_checksum_is_missing() {
        let damaged = |cut| {
            let answer = Reply { cut: Some(cut), ..reply(200, "User-agent: *\nDisallow: /a") };
            first(&Ok(answer), None, 0).body
        };
        assert_eq!(damaged(Cut::Checksum), RobotsBody::Rules(b"User-agent: *\nDisallow: /a".to_vec()));
        assert_eq!(damaged(Cut::Coding), unreachable(Failure::Encoding));
    }
}

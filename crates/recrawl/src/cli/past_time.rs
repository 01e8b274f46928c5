//! Times in the past as people type them: one reader for all options and tools that take a date.

use humantime::{parse_duration, parse_rfc3339};
use recrawl_types::Span;
use std::time::{Duration, SystemTime};

/// Seconds of a day.
const DAY: u64 = 86_400;

/// A day, which begins at midnight UTC, or a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastTime {
    /// Its beginning since 1970.
    begin: Duration,
    is_day: bool,
}

impl PastTime {
    /// Reads `today`, `yesterday`, a day, a time of RFC 3339, or how long ago it was: `2 days ago`, `2d`, `1.5 h`.
    ///
    /// # Errors
    /// That it is none, and what to write.
    pub fn parse(text: &str) -> Result<PastTime, String> {
        PastTime::before(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default(), text)
    }

    fn before(now: Duration, text: &str) -> Result<PastTime, String> {
        let text = text.trim();
        let today = now.as_secs() / DAY;
        let day = match text {
            "today" => Some(Duration::from_secs(today * DAY)),
            "yesterday" => Some(Duration::from_secs(today.saturating_sub(1) * DAY)),
            _ => rfc_3339(&format!("{text}T00:00:00Z")),
        };
        let ago = || {
            let age = text.strip_suffix("ago").unwrap_or(text).trim_end();
            let age = Span::parse(age).map(|span| span.0).ok().or_else(|| parse_duration(age).ok())?;
            Some(now.saturating_sub(age))
        };
        let begin = day.or_else(|| rfc_3339(text)).or_else(ago);
        let begin = begin.ok_or_else(|| {
            format!(
                "{text:?} is no time; write a day (2026-01-31), a time (2026-01-31T12:00:00Z), today, yesterday, or how \
                 long ago ('2 days ago', 2d)"
            )
        })?;
        Ok(PastTime { begin, is_day: day.is_some() })
    }

    /// The first second since 1970.
    pub fn begin(self) -> u64 {
        self.begin.as_secs()
    }

    /// The same in milliseconds.
    pub fn begin_millis(self) -> u64 {
        u64::try_from(self.begin.as_millis()).unwrap_or(u64::MAX)
    }

    /// The last second since 1970: of a day its end.
    pub fn end(self) -> u64 {
        self.begin() + if self.is_day { DAY - 1 } else { 0 }
    }
}

/// The time since 1970, also of one with another zone than UTC.
fn rfc_3339(text: &str) -> Option<Duration> {
    let utc = |text: &str| parse_rfc3339(text).ok()?.duration_since(SystemTime::UNIX_EPOCH).ok();
    let zone = || {
        let (local, zone) = text.split_at_checked(text.len().checked_sub(6)?)?;
        let (hours, minutes) = zone.strip_prefix(['+', '-'])?.split_once(':')?;
        let shift =
            Duration::from_secs(hours.parse::<u64>().ok()? * 3600 + minutes.parse::<u64>().ok()? * 60);
        let local = utc(&format!("{local}Z"))?;
        if zone.starts_with('+') { local.checked_sub(shift) } else { local.checked_add(shift) }
    };
    utc(text).or_else(zone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        // 1970-01-03, at ten seconds past one.
        let now = Duration::from_secs(2 * DAY + 3610);
        for (text, begin, end) in [
            ("today", 2 * DAY, 3 * DAY - 1),
            ("yesterday", DAY, 2 * DAY - 1),
            ("1970-01-02", DAY, 2 * DAY - 1),
            ("2999-01-01", 32_472_144_000, 32_472_230_399),
            ("1970-01-03T01:00:00Z", 2 * DAY + 3600, 2 * DAY + 3600),
            ("1970-01-03T01:00:00.5Z", 2 * DAY + 3600, 2 * DAY + 3600),
            ("1970-01-03T02:00:00+01:00", 2 * DAY + 3600, 2 * DAY + 3600),
            ("1970-01-02T19:30:00-05:30", 2 * DAY + 3600, 2 * DAY + 3600),
            ("2 h", 2 * DAY - 3590, 2 * DAY - 3590),
            ("1.5 h", 2 * DAY - 1790, 2 * DAY - 1790),
            ("2 days ago", 3610, 3610),
            (" 2d ", 3610, 3610),
            ("1 day 1h ago", DAY + 10, DAY + 10),
            ("9 d", 0, 0),
        ] {
            let read = PastTime::before(now, text).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!((read.begin(), read.end()), (begin, end), "{text}");
        }
        for wrong in [
            "",
            "ago",
            "last week",
            "2026-13-01",
            "5",
            "20260131",
            "2026-01-31 12:00",
            "2026-01-31T00:00:00+é:0",
        ] {
            assert!(PastTime::before(now, wrong).unwrap_err().contains("2026-01-31T12:00:00Z"), "{wrong}");
        }
    }
}

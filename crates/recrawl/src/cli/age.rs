//! Times in the past as people type them.

use recrawl_types::Span;
use std::time::{Duration, SystemTime};

/// Seconds of a day.
const DAY: u64 = 86_400;

/// The age of a time: of a duration, `today`, `yesterday`, a day or a time. Days begin at midnight UTC.
pub fn age(text: &str) -> Result<Span, String> {
    age_at(text, SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}

fn age_at(text: &str, now: Duration) -> Result<Span, String> {
    let days = now.as_secs() / DAY;
    let since = match text {
        "today" => Some(Duration::from_secs(days * DAY)),
        "yesterday" => Some(Duration::from_secs(days.saturating_sub(1) * DAY)),
        _ => since_1970(text),
    };
    match since {
        Some(since) => Ok(Span(now.saturating_sub(since))),
        None => Span::parse(text).map_err(|e| {
            format!("{e}; or write yesterday, a day (2026-01-31) or a time (2026-01-31T12:00:00Z)")
        }),
    }
}

/// The last second, since 1970, of a time written in the same way: of a day its end.
pub fn until(text: &str) -> Result<u64, String> {
    until_at(text, SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}

fn until_at(text: &str, now: Duration) -> Result<u64, String> {
    let began = now.saturating_sub(age_at(text, now)?.0).as_secs();
    let is_day = matches!(text, "today" | "yesterday") || text.len() == 10 && since_1970(text).is_some();
    Ok(if is_day { began + DAY - 1 } else { began })
}

/// The time since 1970 of a day, or of an RFC 3339 time in UTC.
pub fn since_1970(text: &str) -> Option<Duration> {
    let whole = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
    humantime::parse_rfc3339(&whole).ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_in_words_or_figures_is_as_old_as_its_midnight() {
        // 1970-01-03, at ten seconds past one.
        let now = Duration::from_secs(2 * DAY + 3610);
        for (text, seconds) in [
            ("today", 3610),
            ("yesterday", DAY + 3610),
            ("1970-01-03", 3610),
            ("1970-01-03T01:00:00Z", 10),
            ("2 h", 7200),
            ("2999-01-01", 0),
        ] {
            assert_eq!(age_at(text, now), Ok(Span(Duration::from_secs(seconds))), "{text}");
        }
        for wrong in ["", "last week", "2026-13-01", "5"] {
            assert!(age_at(wrong, now).unwrap_err().contains("2026-01-31T12:00:00Z"), "{wrong}");
            assert_eq!(until_at(wrong, now).unwrap_err(), age_at(wrong, now).unwrap_err());
        }
        for (text, second) in [
            ("today", 3 * DAY - 1),
            ("yesterday", 2 * DAY - 1),
            ("1970-01-02", 2 * DAY - 1),
            ("1970-01-03T01:00:00Z", 2 * DAY + 3600),
            ("2 h", 2 * DAY + 3610 - 7200),
        ] {
            assert_eq!(until_at(text, now), Ok(second), "{text}");
        }
    }
}

//! Parses dates of sitemaps, feeds and robots directives, to seconds since 1970.
//!
//! Sitemaps and Atom use the W3C note's profile of ISO 8601. RSS uses RFC 822 (§5, with the years
//! of RFC 1123 §5.2.14). Both forms are accepted everywhere. A date without a time is its first
//! second; a time without a zone is in UTC.

use jiff::civil::{Date, date};

const EPOCH: Date = date(1970, 1, 1);
/// The first year that does not fit.
const END: u32 = 2106;

/// Seconds since 1970, never 0. `None` if it is no date, or before 1970 or after 2105.
pub(crate) fn seconds(text: &str) -> Option<u32> {
    let text = text.trim();
    if !text.is_ascii() || text.len() > 64 {
        return None;
    }
    let seconds = w3c(text).or_else(|| rfc_822(text))?;
    u32::try_from(seconds).ok().filter(|s| *s > 0)
}

/// `2005`, `2005-01`, `2005-01-01`, `2005-01-01T12:30+01:00`, `2005-01-01T12:30:15.5Z`, and similar
/// forms.
fn w3c(text: &str) -> Option<i64> {
    let (date, time) = match text.find(['T', 't', ' ']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let mut parts = date.split('-');
    let year = digits(parts.next()?, 4)?;
    let (month, day) = (parts.next(), parts.next());
    if parts.next().is_some() || (time.is_some() && day.is_none()) {
        return None;
    }
    let number = |part: Option<&str>| part.map_or(Some(1), |text| digits(text, 2));
    let days = days(year, number(month)?, number(day)?)?;
    match time {
        None => Some(days * 86_400),
        Some(time) => {
            let zone_at = time.find(['Z', 'z', '+', '-', ' ']).unwrap_or(time.len());
            let (clock, zone) = time.split_at(zone_at);
            Some(days * 86_400 + clock_seconds(clock)? - zone_seconds(zone.trim_start())?)
        }
    }
}

/// `Sat, 07 Sep 2002 00:00:01 GMT`; the weekday and the seconds are optional.
fn rfc_822(text: &str) -> Option<i64> {
    let text = text.split_once(',').map_or(text, |(_, rest)| rest);
    let mut words = text.split([' ', '\t', '-']).filter(|word| !word.is_empty());
    let day = words.next().filter(|d| d.len() <= 2).and_then(|d| d.parse().ok())?;
    let month = month(words.next()?)?;
    let year = match words.next()? {
        // Two digits, common in old feeds.
        short if short.len() == 2 => digits(short, 2).map(|y| if y < 70 { 2000 + y } else { 1900 + y })?,
        long => digits(long, 4)?,
    };
    let days = days(year, month, day)?;
    let Some(clock) = words.next() else { return Some(days * 86_400) };
    // The sign of a zone is a separator above, so the zone is read from the text.
    let zone = text[text.find(clock)? + clock.len()..].trim();
    Some(days * 86_400 + clock_seconds(clock)? - zone_seconds(zone)?)
}

fn month(name: &str) -> Option<u32> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let name = name.get(..3)?.to_ascii_lowercase();
    MONTHS.iter().position(|m| *m == name).map(|at| at as u32 + 1)
}

/// `12:30`, `12:30:15`, `12:30:15.25`. Drops the fraction; a leap second counts as the second
/// before.
fn clock_seconds(clock: &str) -> Option<i64> {
    let mut parts = clock.split(':');
    let hours = digits(parts.next()?, 2).filter(|h| *h < 24)?;
    let minutes = digits(parts.next()?, 2).filter(|m| *m < 60)?;
    let seconds = match parts.next() {
        None => 0,
        Some(seconds) => {
            let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
            if fraction.is_empty() || !fraction.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            digits(whole, 2).filter(|s| *s <= 60)?.min(59)
        }
    };
    parts.next().is_none().then(|| i64::from(hours) * 3600 + i64::from(minutes) * 60 + i64::from(seconds))
}

/// `Z`, `+01:00`, `-0530`, `+01`, the names of RFC 822 §5.1, or nothing. Returns the seconds to
/// subtract.
fn zone_seconds(zone: &str) -> Option<i64> {
    let hours = match zone.to_ascii_uppercase().as_str() {
        "" | "Z" | "UT" | "UTC" | "GMT" => 0,
        "EDT" => -4,
        "EST" | "CDT" => -5,
        "CST" | "MDT" => -6,
        "MST" | "PDT" => -7,
        "PST" => -8,
        _ => {
            let sign = match zone.as_bytes().first()? {
                b'+' => 1,
                b'-' => -1,
                _ => return None,
            };
            let (hours, minutes) = match zone[1..].split_once(':') {
                Some((hours, minutes)) => (hours, minutes),
                None if zone.len() == 5 => zone[1..].split_at(2),
                None => (&zone[1..], "00"),
            };
            let hours = digits(hours, 2).filter(|h| *h < 24)?;
            let minutes = digits(minutes, 2).filter(|m| *m < 60)?;
            return Some(sign * (i64::from(hours) * 3600 + i64::from(minutes) * 60));
        }
    };
    Some(hours * 3600)
}

/// A number of exactly `count` digits.
fn digits(text: &str, count: usize) -> Option<u32> {
    (text.len() == count && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

/// Days since 1970 of a Gregorian date.
fn days(year: u32, month: u32, day: u32) -> Option<i64> {
    if !(1970..END).contains(&year) {
        return None;
    }
    let date = Date::new(year as i16, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
    Some(date.duration_since(EPOCH).as_secs() / 86_400)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn w3c_note_on_date_and_time_formats() {
        for (text, expected) in [
            ("1997", Some(852_076_800)),
            ("1997-07", Some(867_715_200)),
            ("1997-07-16", Some(869_011_200)),
            ("1997-07-16T19:20+01:00", Some(869_077_200)),
            ("1997-07-16T19:20:30+01:00", Some(869_077_230)),
            ("1997-07-16T19:20:30.45+01:00", Some(869_077_230)),
            ("1997-07-16T18:20:30Z", Some(869_077_230)),
            ("1997-07-16t18:20:30z", Some(869_077_230)),
            // Not in the note, but common on the Web.
            ("1997-07-16 18:20:30", Some(869_077_230)),
            ("1997-07-16 19:20:30 +0100", Some(869_077_230)),
            (" 1997-07-16T18:20:30 ", Some(869_077_230)),
            ("2016-12-31T23:59:60Z", Some(1_483_228_799)),
            ("2024-02-29", Some(1_709_164_800)),
            ("2023-02-29", None),
            ("2100-02-29", None),
            ("1997-13-01", None),
            ("1997-00-01", None),
            ("1997-07-32", None),
            ("1997-07-16T24:00Z", None),
            ("1997-07-16T19:60Z", None),
            ("1997-07T19:20Z", None),
            ("1997-07-16T19:20+25:00", None),
            ("1997-07-16T19:20:30.Z", None),
            ("97-07-16", None),
            ("1969-12-31", None),
            ("1970-01-01", None),
            ("1970-01-01T00:00:01Z", Some(1)),
            ("1970-01-01T00:00:01+01:00", None),
            ("2105-12-31T23:59:59Z", Some(4_291_747_199)),
            ("2106-01-01", None),
            ("9999-12-31", None),
            ("99999999999-01-01", None),
            ("", None),
            ("today", None),
            ("２０２４-01-01", None),
        ] {
            assert_eq!(seconds(text), expected, "{text:?}");
        }
    }

    #[test]
    fn rfc_822_section_5_and_its_years_of_four_digits() {
        for (text, expected) in [
            ("Sat, 07 Sep 2002 00:00:01 GMT", Some(1_031_356_801)),
            ("07 Sep 2002 00:00:01 GMT", Some(1_031_356_801)),
            ("Sat, 7 Sep 02 00:00 UT", Some(1_031_356_800)),
            ("Sat, 07 Sep 2002 02:00:01 +0200", Some(1_031_356_801)),
            ("Fri, 06 Sep 2002 19:00:01 -0500", Some(1_031_356_801)),
            ("Fri, 06 Sep 2002 19:00:01 EST", Some(1_031_356_801)),
            ("Saturday, 07-Sep-02 00:00:01 GMT", Some(1_031_356_801)),
            ("Sat, 07 September 2002 00:00:01", Some(1_031_356_801)),
            ("Sat, 07 Sep 2002", Some(1_031_356_800)),
            ("Sun, 06 Nov 94 08:49:37 GMT", Some(784_111_777)),
            ("Sat, 31 Sep 2002 00:00:01 GMT", None),
            ("Sat, 07 Sep 2002 00:00:01 Mars", None),
            ("Sat, 07 Sep 20020 00:00:01 GMT", None),
            ("Sat, 007 Sep 2002 00:00:01 GMT", None),
            ("Sat, 07 Sxp 2002 00:00:01 GMT", None),
            (",", None),
        ] {
            assert_eq!(seconds(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn days_follow_each_other(year in 1970u32..2106, month in 1u32..13, day in 1u32..32) {
            if let Some(this) = days(year, month, day) {
                let next = days(year, month, day + 1)
                    .or_else(|| days(year, month + 1, 1))
                    .or_else(|| days(year + 1, 1, 1));
                prop_assert!(next.is_none_or(|next| next == this + 1));
            }
        }

        #[test]
        fn any_text_is_a_date_or_none(text in "[0-9TZ:+. ,a-zA-Z-]{0,40}|\\PC{0,20}") {
            prop_assert!(seconds(&text).is_none_or(|s| s > 0));
        }
    }
}

//! Days and dates: the Gregorian calendar, UTC.

use jiff::ToSpan;
use jiff::civil::Date;

/// Seconds of a day.
pub const DAY: u64 = 86_400;

/// The last supported day: 9999-12-31.
pub const LAST_DAY: i64 = 2_932_896;

const EPOCH: Date = jiff::civil::date(1970, 1, 1);

/// The day of a date, counted from 1970-01-01; `None` for an invalid date or a year outside 1970 to
/// 9999.
pub fn day(year: u32, month: u32, day: u32) -> Option<i64> {
    let number = |number: u32| i8::try_from(number).ok();
    let date = Date::new(i16::try_from(year).ok()?, number(month)?, number(day)?).ok()?;
    Some(date.duration_since(EPOCH).as_hours() / 24).filter(|day| *day >= 0)
}

/// The date of a day as YYYY-MM-DD.
///
/// # Panics
/// For days before 1970 or after 9999.
pub fn date(days: i64) -> String {
    assert!((0..=LAST_DAY).contains(&days), "day {days} is not in 1970 to 9999");
    EPOCH.checked_add(days.days()).expect("a year up to 9999").to_string()
}

/// The day of a date written YYYY-MM-DD; `None` for anything else.
pub fn parse_date(text: &str) -> Option<i64> {
    let is_date = text.len() == 10
        && text
            .bytes()
            .enumerate()
            .all(|(i, b)| if i == 4 || i == 7 { b == b'-' } else { b.is_ascii_digit() });
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse().ok();
    if is_date { day(number(0..4)?, number(5..7)?, number(8..10)?) } else { None }
}

/// The seconds since 1970 of a time of 14 digits, YYYYMMDDhhmmss; `None` for anything else.
pub fn parse_time(text: &str) -> Option<u64> {
    if text.len() != 14 || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<u32>().ok();
    let day = day(number(0..4)?, number(4..6)?, number(6..8)?)?;
    let (hour, minute, second) = (number(8..10)?, number(10..12)?, number(12..14)?);
    let is_time = hour < 24 && minute < 60 && second <= 60; // 60 is a leap second
    is_time.then(|| day as u64 * DAY + u64::from(hour * 3600 + minute * 60 + second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_has_a_date_that_leads_back_to_it() {
        assert_eq!(
            (date(0), date(11_016), date(20_454)),
            ("1970-01-01".into(), "2000-02-29".into(), "2026-01-01".into())
        );
        assert_eq!(date(LAST_DAY), "9999-12-31");
        for day in (0..LAST_DAY).step_by(37).chain(0..1500) {
            assert_eq!(parse_date(&date(day)), Some(day), "{day}");
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "2026-13-01",
            "2026-00-01",
            "2026-02-29",
            "1900-01-01",
            "2026-1-1",
            "2026-01-32",
            "+026-01-01",
            "2026-01-01 ",
        ] {
            assert_eq!(parse_date(text), None, "{text:?}");
        }
        for text in [
            "",
            "2026010100000",
            "20260101240000",
            "20260101006000",
            "20260101000061",
            "20260132000000",
            "+2026010100000",
        ] {
            assert_eq!(parse_time(text), None, "{text:?}");
        }
        assert_eq!(parse_time("20260101000001"), Some(1_767_225_601));
        assert!(parse_date("2024-02-29").is_some() && parse_date("2100-02-29").is_none());
    }
}

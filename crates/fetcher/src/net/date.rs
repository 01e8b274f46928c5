//! Dates in header fields.

use std::time::SystemTime;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The date of a field, in any of its forms, as browsers read that of a cookie (RFC 6265 §5.1.1): a wrong day of the week
/// and a missing or other name of the zone, which is always that of Greenwich, do not count. A date before 1970 is its begin.
pub fn http_date(value: &str) -> Option<SystemTime> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    let is_delimiter = |c: char| !c.is_ascii_alphanumeric() && c != ':';
    for token in value.split(is_delimiter).filter(|token| !token.is_empty()) {
        let number = token.parse::<u32>().ok();
        let named = token.get(..3).and_then(|name| MONTHS.iter().position(|m| name.eq_ignore_ascii_case(m)));
        if time.is_none() && token.contains(':') {
            let parts: Vec<u32> = token.split(':').filter_map(|part| part.parse().ok()).collect();
            let [hour, minute, second] = parts[..] else { return None };
            time = Some((hour, minute, second));
        } else if day.is_none() && number.is_some() && token.len() <= 2 {
            day = number;
        } else if month.is_none() && named.is_some() {
            month = named;
        } else if year.is_none() && matches!(token.len(), 2 | 4) {
            year = number.map(|year| match year {
                0..=69 => year + 2000,
                70..=99 => year + 1900,
                _ => year,
            });
        }
    }
    let ((hour, minute, second), month) = (time?, MONTHS[month?]);
    let month = format!("{}{}", month[..1].to_ascii_uppercase(), &month[1..]);
    let (day, year) = (day?, year?);
    if year < 1970 {
        return Some(SystemTime::UNIX_EPOCH);
    }
    // The parser wants the right day of the week, which servers often get wrong.
    ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].iter().find_map(|weekday| {
        let date = format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT");
        httpdate::parse_http_date(&date).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_servers_write_them() {
        let expected = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        for date in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "Mon, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 06 Nov 1994 08:49:37 +0000",
            "sun, 6 nov 1994 08:49:37 gmt",
            "06 Nov 1994 08:49:37",
        ] {
            assert_eq!(http_date(date), Some(expected), "{date}");
        }
        assert_eq!(http_date("Thu, 01 Jan 1000 00:00:00 GMT"), Some(SystemTime::UNIX_EPOCH));
        for none in [
            "",
            "0",
            "-1",
            "tomorrow",
            "Sun, 06 Nov 1994",
            "Sun, 31 Feb 1994 08:49:37 GMT",
            "a:b:c 1 Jan 2000",
        ] {
            assert_eq!(http_date(none), None, "{none}");
        }
    }
}

//! Parses URL lists with dates, as other crawlers and content systems export them: one URL per
//! line, with an optional modification date.

use crate::date;

/// A line of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatedLine<'l> {
    /// The URL as written.
    pub address: &'l str,
    /// The modification date in seconds since 1970; 0 if the line has none.
    pub lastmod: u32,
}

/// Parses a line: a URL, then an optional date after a tab or a comma; further fields are ignored.
/// Both fields may be quoted. `None` for an empty line, a comment (`#`), and a header (`url`,
/// `loc`).
///
/// A URL may contain commas: a comma separates only if a date (`2026-01-31`) or nothing follows.
///
/// # Errors
/// The text in place of the date.
///
/// ```
/// use recrawl_extractor::dated_line;
///
/// let line = dated_line("https://example.com/\t2026-11-26")?.expect("it names a page");
/// assert_eq!((line.address, line.lastmod), ("https://example.com/", 1_795_651_200));
/// assert!(dated_line("# a comment")?.is_none());
/// # Ok::<(), String>(())
/// ```
pub fn dated_line(line: &str) -> Result<Option<DatedLine<'_>>, String> {
    let line = line.trim_start_matches('\u{feff}').trim_matches([' ', '\r', '\n']);
    let first = unquoted(line.split(['\t', ',']).next().unwrap_or("").trim());
    let (address, rest) = split(line);
    let address = address.trim();
    if line.is_empty() || line.starts_with('#') || is_name(first) || is_name(address) {
        return Ok(None);
    }
    let field = rest.split('\t').next().unwrap_or("").trim();
    let lastmod = match unquoted(field) {
        "" | "-" => 0,
        text => date::seconds(text)
            .or_else(|| text.split_once(',').and_then(|(date, _)| date::seconds(unquoted(date.trim()))))
            .ok_or_else(|| format!("{:?} is not a date", text.chars().take(40).collect::<String>()))?,
    };
    Ok(Some(DatedLine { address, lastmod }))
}

/// Whether this is a usual header of a URL column.
fn is_name(field: &str) -> bool {
    ["url", "loc", "address"].iter().any(|name| field.eq_ignore_ascii_case(name))
}

/// The URL, and the text after the separator.
fn split(line: &str) -> (&str, &str) {
    if let Some((address, rest)) = line.strip_prefix('"').and_then(|inner| inner.split_once('"')) {
        return (address, rest.strip_prefix([',', '\t', ';']).unwrap_or(rest));
    }
    if let Some((address, rest)) = line.split_once('\t') {
        return (unquoted(address), rest);
    }
    let is_separator = |at: &usize| {
        let rest = line[at + 1..].trim_start_matches([' ', '"']);
        rest.is_empty() || has_date_form(rest)
    };
    match line.match_indices(',').map(|(at, _)| at).find(is_separator) {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => (line, ""),
    }
}

/// Whether it begins like `2026-01-31`, or with a number.
fn has_date_form(text: &str) -> bool {
    let day = text.as_bytes().get(..10);
    let fits =
        |(at, byte): (usize, &u8)| if matches!(at, 4 | 7) { *byte == b'-' } else { byte.is_ascii_digit() };
    day.is_some_and(|day| day.iter().enumerate().all(fits))
}

fn unquoted(field: &str) -> &str {
    field.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).unwrap_or(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_may_hold_commas_and_dates_come_in_many_forms() {
        const DAY: u32 = 1_769_817_600;
        for (line, expected) in [
            ("http://a.example/", Some(("http://a.example/", 0))),
            ("\u{feff}http://a.example/\r\n", Some(("http://a.example/", 0))),
            ("http://a.example/\t2026-01-31", Some(("http://a.example/", DAY))),
            ("http://a.example/\t2026-01-31\tmore\t,", Some(("http://a.example/", DAY))),
            ("http://a.example/\t", Some(("http://a.example/", 0))),
            ("http://a.example/\t-", Some(("http://a.example/", 0))),
            ("http://a.example/,2026-01-31", Some(("http://a.example/", DAY))),
            ("http://a.example/,2026-01-31T01:00:00+01:00,x", Some(("http://a.example/", DAY))),
            ("http://a.example/a,b,2026-01-31", Some(("http://a.example/a,b", DAY))),
            ("http://a.example/a,b", Some(("http://a.example/a,b", 0))),
            ("http://a.example/a,2026", Some(("http://a.example/a,2026", 0))),
            ("http://a.example/,", Some(("http://a.example/", 0))),
            (
                "\"http://a.example/a,2026-01-31\",\"2026-01-31\"",
                Some(("http://a.example/a,2026-01-31", DAY)),
            ),
            ("\"http://a.example/\"\t\"2026-01-31 00:00:00\"", Some(("http://a.example/", DAY))),
            ("\"http://a.example/\"", Some(("http://a.example/", 0))),
            ("http://a.example/\tSat, 31 Jan 2026 00:00:00 GMT", Some(("http://a.example/", DAY))),
            ("rubbish", Some(("rubbish", 0))),
            ("# http://a.example/", None),
            ("  ", None),
            ("url,lastmod", None),
            ("\"loc\",\"lastmod\"", None),
            ("url\tlastmod", None),
            ("URL", None),
        ] {
            let found = dated_line(line).unwrap().map(|line| (line.address, line.lastmod));
            assert_eq!(found, expected, "{line:?}");
        }
    }

    #[test]
    fn what_stands_for_a_date_and_is_none_is_told() {
        for line in [
            "http://a.example/\tyesterday",
            "http://a.example/\t2026-02-30",
            "\"http://a.example/\",1e9",
            "http://a.example/,2999-01-01",
        ] {
            assert!(dated_line(line).unwrap_err().contains("is not a date"), "{line}");
        }
    }
}

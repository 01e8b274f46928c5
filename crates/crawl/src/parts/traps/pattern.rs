//! Patterns of URLs that are produced by the same rule, and the wider patterns that contain them.
//!
//! A script with endless URLs makes them by a rule, which shows in their form: a date, a counter, a
//! session, a set of parameters. So the parts that vary are masked, and the rest identifies the
//! script.

use recrawl_types::CanonicalUrl;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Maximum bytes of a pattern; longer ones are truncated.
const MAX_PATTERN: usize = 200;
/// A run of at least this many letters and digits with both is random: a session, a hash, a key.
const RANDOM: usize = 16;
/// So is a shorter run of this length if letters and digits alternate.
const SHORT_RANDOM: usize = 8;
/// Minimum number of these alternations: words often have a year or a number at their end.
const TURNS: usize = 3;
/// Length of a UUID, with its dashes at these places.
const UUID_BYTES: usize = 36;
const UUID_DASHES: [usize; 4] = [8, 13, 18, 23];

/// Specificity of a pattern, from the narrowest to the widest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The whole path, numbers as `#` and random tokens as `{id}`, and the sorted names of the
    /// parameters.
    Address,
    /// The path with any parameters: `/list?*`.
    Query,
    /// A folder: `/list/*`.
    Folder,
    /// Everything below the first segment: `/list/**`.
    Top,
}

/// A pattern of URLs, within an origin.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TrapPattern {
    /// The part that the pattern leaves out.
    pub level: Level,
    /// The pattern as text.
    pub text: String,
}

impl fmt::Display for TrapPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TrapPattern {
    /// The narrowest pattern of a URL.
    pub fn narrowest(url: &CanonicalUrl) -> TrapPattern {
        let (path, query) = url.path_and_query().split_once('?').unwrap_or((url.path_and_query(), ""));
        let mut text = mask(path);
        let mut names: Vec<&str> = query
            .split('&')
            .map(|p| p.split('=').next().unwrap_or(""))
            .filter(|name| !name.is_empty())
            .collect();
        names.sort_unstable();
        names.dedup();
        if !names.is_empty() {
            text.push('?');
            text.push_str(&mask(&names.join("&")));
        }
        text.truncate(MAX_PATTERN);
        TrapPattern { level: Level::Address, text }
    }

    /// The next wider pattern. It follows from the text alone, so patterns form a tree.
    pub fn wider(&self) -> Option<TrapPattern> {
        let (path, query) = self.text.split_once('?').map_or((&*self.text, None), |(p, q)| (p, Some(q)));
        let folder = || TrapPattern {
            level: Level::Folder,
            text: format!("{}*", &path[..=path.rfind('/').unwrap_or(0)]),
        };
        match self.level {
            Level::Address if query.is_some() => {
                Some(TrapPattern { level: Level::Query, text: format!("{path}?*") })
            }
            Level::Address | Level::Query => Some(folder()),
            Level::Folder => {
                let first = path.get(1..)?.split_once('/')?.0;
                Some(TrapPattern { level: Level::Top, text: format!("/{first}/**") })
            }
            Level::Top => None,
        }
    }

    /// The patterns of a URL, narrowest first.
    pub fn all_of(url: &CanonicalUrl) -> impl Iterator<Item = TrapPattern> {
        std::iter::successors(Some(TrapPattern::narrowest(url)), TrapPattern::wider)
    }
}

/// Masks numbers as `#` and random tokens as `{id}`. Masking twice changes nothing.
fn mask(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_encoded = first == '%'
            && rest.as_bytes().get(1..3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit));
        let run = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let taken = if is_encoded {
            masked.push_str(&rest[..3]);
            3
        } else if run == 0 {
            masked.push(first);
            first.len_utf8()
        } else if begins_with_uuid(rest) {
            masked.push_str("{id}");
            UUID_BYTES
        } else {
            push_run(&rest[..run], &mut masked);
            run
        };
        rest = &rest[taken..];
    }
    masked
}

fn push_run(run: &str, masked: &mut String) {
    let digits = || run.bytes().map(|b| b.is_ascii_digit());
    let turns = digits().zip(digits().skip(1)).filter(|(a, b)| a != b).count();
    if run.len() >= RANDOM && turns > 0 || run.len() >= SHORT_RANDOM && turns >= TURNS {
        masked.push_str("{id}");
        return;
    }
    for character in run.chars() {
        if !character.is_ascii_digit() {
            masked.push(character);
        } else if !masked.ends_with('#') {
            masked.push('#');
        }
    }
}

fn begins_with_uuid(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_form = |(at, byte): (usize, &u8)| match UUID_DASHES.contains(&at) {
        true => *byte == b'-',
        false => byte.is_ascii_hexdigit(),
    };
    let is_long = bytes.len() >= UUID_BYTES && bytes[..UUID_BYTES].iter().enumerate().all(is_form);
    is_long && !bytes.get(UUID_BYTES).is_some_and(u8::is_ascii_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use recrawl_types::UrlRules;

    fn url(path: &str) -> CanonicalUrl {
        UrlRules::keep_all().canonicalize(&format!("http://a.example{path}")).unwrap()
    }

    fn texts(path: &str) -> Vec<String> {
        TrapPattern::all_of(&url(path)).map(|pattern| pattern.text).collect()
    }

    #[test]
    fn what_varies_is_masked_and_patterns_widen() {
        for (path, expected) in [
            ("/", &["/", "/*"] as &[_]),
            ("/about", &["/about", "/*"]),
            ("/cal/2031/07.html", &["/cal/#/#.html", "/cal/#/*", "/cal/**"]),
            ("/cal/?month=7&year=2031", &["/cal/?month&year", "/cal/?*", "/cal/*", "/cal/**"]),
            ("/list?b=1&a=2&a=3&", &["/list?a&b", "/list?*", "/*"]),
            ("/s/f00dfeed8badf00d1/page-3", &["/s/{id}/page-#", "/s/{id}/*", "/s/**"]),
            ("/x;v=a1b2c3d4/caf%C3%A9", &["/x;v={id}/caf%C3%A9", "/x;v={id}/*", "/x;v={id}/**"]),
            ("/u/123e4567-e89b-12d3-a456-426614174000.pdf", &["/u/{id}.pdf", "/u/*", "/u/**"]),
            ("/news/elections-2024/all", &["/news/elections-#/all", "/news/elections-#/*", "/news/**"]),
            (
                "/internationalisation/",
                &["/internationalisation/", "/internationalisation/*", "/internationalisation/**"],
            ),
            ("/a?filter[12]=x", &["/a?filter[#]", "/a?*", "/*"]),
        ] {
            assert_eq!(texts(path), expected, "{path}");
        }
    }

    #[test]
    fn an_order_of_parameters_and_their_values_make_no_pattern() {
        assert_eq!(texts("/l?b=1&a=2"), texts("/l?a=9&b=x&b=y"));
        assert_ne!(texts("/l?b=1")[0], texts("/l?a=1")[0]);
    }

    proptest! {
        #[test]
        fn masking_is_idempotent_and_every_pattern_is_bounded(path in "/[a-f0-9/?&=%;{}*#-]{0,40}([a-zA-Z0-9/._~-]{0,300})") {
            let url = url(&path);
            let text = url.path_and_query();
            prop_assert_eq!(mask(&mask(text)), mask(text));
            let all: Vec<TrapPattern> = TrapPattern::all_of(&url).collect();
            prop_assert!((2..=4).contains(&all.len()), "{:?}", all);
            prop_assert!(all.iter().all(|p| p.text.len() <= MAX_PATTERN + 3 && p.text.starts_with('/')));
            prop_assert!(all.is_sorted_by(|a, b| a.level < b.level));
        }

        #[test]
        fn numbers_do_not_tell_addresses_apart(a in 0..1_000_000u32, b in 0..1_000_000u32) {
            prop_assert_eq!(texts(&format!("/c/{a}/p{a}?x={b}")), texts(&format!("/c/{b}/p{b}?x={a}")));
        }
    }
}

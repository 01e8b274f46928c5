//! robots.txt as in RFC 9309: groups, longest match, `*`, `$`, percent-encoding.
//!
//! This is our own small linear matcher. The crate texting_robots 0.2 has these faults:
//!
//! - It does not recognise `User-agent: name/1.0`.
//! - It compares percent-encoded paths byte by byte.
//! - It applies rules that belong to no group.
//! - One long `$` rule makes the whole file an error.
//! - It accepts an infinite Crawl-delay.
//! - A file of 500 kB can make it use hundreds of megabytes.
//!
//! Avoiding these by rewriting its input needs a parser of groups and percent-encoding, which
//! leaves only the comparison to the crate. Our tests compare with it on the files that it handles
//! correctly.
//!
//! Only rules that apply to us are kept. So the file size bounds memory, and (rules × length of the
//! path) bounds one check.

use crate::net::limits::{MAX_ROBOTS, MAX_SITEMAPS};
use recrawl_types::site::with_scheme;
use recrawl_types::url::{MAX_URL_BYTES, is_whole};
use recrawl_types::{CanonicalUrl, Origin, UrlRules};
use std::borrow::Cow;
use std::ops::Range;
use std::time::Duration;

pub mod policy;

/// The rules of one robots.txt for one product token.
#[derive(Clone, Debug, Default)]
pub struct RobotsRules {
    /// All patterns, normalised and concatenated.
    text: String,
    /// Longest first; at equal length, allow first. The first match decides (RFC 9309 §2.2.2).
    rules: Vec<RobotsRule>,
    /// The longest Crawl-delay of our groups.
    pub crawl_delay: Option<Duration>,
    /// The sitemaps as written in the file. A Sitemap record belongs to no group (RFC 9309 §2.2.4;
    /// sitemaps.org, "Specifying the Sitemap location in your robots.txt file").
    pub sitemaps: Vec<Box<str>>,
}

#[derive(Clone, Debug)]
struct RobotsRule {
    pattern: Range<u32>,
    allow: bool,
}

/// The crawlers that a group applies to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Addressee {
    Others,
    Everyone,
    Us,
}

impl RobotsRules {
    /// Parses a file. Ignores anything invalid, so it cannot fail.
    pub fn parse(file: &[u8], product_token: &str) -> RobotsRules {
        let file = cut(file, MAX_ROBOTS);
        let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
        let mut ours = RobotsRules::default();
        let mut everyones = RobotsRules::default();
        let (mut named, mut sitemaps) = (false, Vec::new());
        // The crawlers of the current group; none before the first User-agent line.
        let mut address: Option<Addressee> = None;
        let mut group_has_rules = false;
        for line in file.split(|&b| matches!(b, b'\n' | b'\r' | 0)) {
            let Some((key, value)) = key_and_value(line) else { continue };
            if key == RobotsKey::UserAgent {
                if group_has_rules {
                    (address, group_has_rules) = (None, false);
                }
                let this = addressee(value, product_token);
                named |= this == Addressee::Us;
                address = address.max(Some(this));
                continue;
            }
            if key == RobotsKey::Sitemap {
                let room = MAX_SITEMAPS - sitemaps.len();
                sitemaps.extend(addresses(value).into_iter().take(room).map(Box::from));
                continue;
            }
            let is_rule = key != RobotsKey::CrawlDelay;
            group_has_rules |= is_rule;
            let rules = match address {
                Some(Addressee::Us) => &mut ours,
                Some(Addressee::Everyone) => &mut everyones,
                // Rules without a group, or for other crawlers.
                Some(Addressee::Others) | None => continue,
            };
            if is_rule {
                rules.add(value, key == RobotsKey::Allow);
            } else {
                rules.crawl_delay = rules.crawl_delay.max(seconds(value));
            }
        }
        // A group that names us replaces those for everyone, even if it is empty (§2.2.1).
        let mut rules = RobotsRules { sitemaps, ..if named { ours } else { everyones } };
        rules.rules.sort_by_key(|r| (std::cmp::Reverse(r.pattern.len()), !r.allow));
        rules.text.shrink_to_fit();
        rules.rules.shrink_to_fit();
        rules
    }

    fn add(&mut self, value: &[u8], allow: bool) {
        // An empty pattern matches nothing. A pattern with another first character matches no path.
        if !matches!(value.first(), Some(b'/' | b'*')) {
            return;
        }
        let start = self.text.len();
        normalize(value, RuleSide::Pattern, &mut self.text);
        self.rules.push(RobotsRule { pattern: start as u32..self.text.len() as u32, allow });
    }

    /// May this path (with its query) be requested?
    pub fn allows(&self, path_and_query: &str) -> bool {
        self.decides(path_and_query).is_none_or(|rule| rule.allow)
    }

    /// The rule that forbids this path, in normal form as a line of the file. None if it is
    /// allowed.
    pub fn forbids(&self, path_and_query: &str) -> Option<String> {
        let rule = self.decides(path_and_query).filter(|rule| !rule.allow)?;
        Some(format!("Disallow: {}", self.pattern(rule).replace(STAR, "%2A").replace(DOLLAR, "%24")))
    }

    fn pattern(&self, rule: &RobotsRule) -> &str {
        &self.text[rule.pattern.start as usize..rule.pattern.end as usize]
    }

    fn decides(&self, path_and_query: &str) -> Option<&RobotsRule> {
        // "The /robots.txt URI is implicitly allowed" (§2.2.2).
        if self.rules.is_empty() || path_and_query == "/robots.txt" {
            return None;
        }
        let mut path = String::with_capacity(path_and_query.len());
        normalize(path_and_query.as_bytes(), RuleSide::Path, &mut path);
        self.rules.iter().find(|rule| matches(self.pattern(rule), &path))
    }
}

/// The canonical sitemap URLs of an origin's robots.txt. Ignores invalid ones.
pub fn sitemaps(rules: &RobotsRules, origin: &Origin, canonical: &UrlRules) -> Vec<CanonicalUrl> {
    let Ok(base) = UrlRules::keep_all().canonicalize(&format!("{origin}/robots.txt")) else {
        return Vec::new();
    };
    let parsed = base.to_url();
    let whole = |address| with_scheme(address, &base).map_or(Cow::Borrowed(address), Cow::Owned);
    rules.sitemaps.iter().filter_map(|address| canonical.join(&parsed, &whole(address)).ok()).collect()
}

/// The URLs of a Sitemap record: one, or several with blanks between them; `<` and `>`, or quotes, may stand around each.
fn addresses(value: &[u8]) -> Vec<&str> {
    fn bare(address: &str) -> &str {
        address.trim_matches(['<', '>', '"', '\''])
    }
    let Ok(value) = std::str::from_utf8(value) else { return Vec::new() };
    let words: Vec<&str> = value.split_whitespace().map(bare).collect();
    let addresses = if words.iter().all(|word| is_whole(word)) { words } else { vec![bare(value)] };
    addresses.into_iter().filter(|a| !a.is_empty() && a.len() <= MAX_URL_BYTES).collect()
}

/// At most `limit` bytes, cut at the end of a line.
pub fn cut(file: &[u8], limit: usize) -> &[u8] {
    if file.len() <= limit {
        return file;
    }
    let end = file[..limit].iter().rposition(|b| matches!(b, b'\n' | b'\r')).map_or(0, |at| at + 1);
    &file[..end]
}

/// `key : value # comment`, trimmed. A blank may stand for the colon between two words, as in Google's parser.
fn key_and_value(line: &[u8]) -> Option<(RobotsKey, &[u8])> {
    let line = line.split(|&b| b == b'#').next().unwrap_or(line).trim_ascii();
    let end = line.iter().position(|&b| b == b':');
    let end = end.or_else(|| {
        let blank = line.iter().position(u8::is_ascii_whitespace)?;
        let is_word = !line[blank..].trim_ascii().iter().any(u8::is_ascii_whitespace);
        is_word.then_some(blank)
    })?;
    Some((RobotsKey::parse(line[..end].trim_ascii())?, line[end + 1..].trim_ascii()))
}

/// The meaning of a record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RobotsKey {
    UserAgent,
    Allow,
    Disallow,
    Sitemap,
    CrawlDelay,
}

/// Keys by their beginnings and with the usual slips, as Google's parser takes them (github.com/google/robotstxt): site
/// owners test their files with it.
const KEYS: [(&str, RobotsKey); 12] = [
    ("user-agent", RobotsKey::UserAgent),
    ("useragent", RobotsKey::UserAgent),
    ("user agent", RobotsKey::UserAgent),
    ("allow", RobotsKey::Allow),
    ("disallow", RobotsKey::Disallow),
    ("dissallow", RobotsKey::Disallow),
    ("dissalow", RobotsKey::Disallow),
    ("disalow", RobotsKey::Disallow),
    ("diasllow", RobotsKey::Disallow),
    ("disallaw", RobotsKey::Disallow),
    ("sitemap", RobotsKey::Sitemap),
    ("site-map", RobotsKey::Sitemap),
];

impl RobotsKey {
    fn parse(key: &[u8]) -> Option<RobotsKey> {
        let begins =
            |name: &str| key.get(..name.len()).is_some_and(|k| k.eq_ignore_ascii_case(name.as_bytes()));
        let named = KEYS.iter().find(|(name, _)| begins(name)).map(|(_, key)| *key);
        named.or(key.eq_ignore_ascii_case(b"crawl-delay").then_some(RobotsKey::CrawlDelay))
    }
}

/// Compares the token at the start of the value without case. Ignores the rest (`/1.0`, §2.2.1).
fn addressee(value: &[u8], product_token: &str) -> Addressee {
    if value.first() == Some(&b'*') && value.get(1).is_none_or(u8::is_ascii_whitespace) {
        return Addressee::Everyone;
    }
    let is_token = |b: &u8| b.is_ascii_alphabetic() || matches!(b, b'-' | b'_');
    let end = value.iter().position(|b| !is_token(b)).unwrap_or(value.len());
    let ours = end > 0 && value[..end].eq_ignore_ascii_case(product_token.as_bytes());
    if ours { Addressee::Us } else { Addressee::Others }
}

/// Parses a Crawl-delay, with fractions. None if it is not a number, not finite, or negative.
fn seconds(value: &[u8]) -> Option<Duration> {
    let seconds: f64 = std::str::from_utf8(value).ok()?.parse().ok()?;
    let sound = seconds.is_finite() && seconds >= 0.0;
    sound.then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RuleSide {
    Pattern,
    Path,
}

/// A literal `*` or `$`, written as such in a path or as `%2A` and `%24`. They have three bytes, as
/// encoded, but with digits that no pattern can contain: `*2` is in no `$`.
const STAR: &str = "%\x02\x0a";
const DOLLAR: &str = "%\x02\x04";

/// Normalises path or pattern (§2.2.2): decodes unreserved characters, encodes everything that is
/// neither unreserved nor reserved, writes hex digits in upper case. In a path, `*` and `$` are
/// literal. In a pattern, `*` is a wildcard, and so is `$` at the end.
fn normalize(bytes: &[u8], side: RuleSide, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let encode = |byte: u8, out: &mut String| {
        out.push('%');
        out.push(char::from(HEX[usize::from(byte >> 4)]));
        out.push(char::from(HEX[usize::from(byte & 15)]));
    };
    let digit = |at: usize| bytes.get(at).and_then(|b| char::from(*b).to_digit(16)).map(|d| d as u8);
    let mut i = 0;
    while i < bytes.len() {
        let byte = bytes[i];
        i += 1;
        match byte {
            b'%' => match (digit(i), digit(i + 1)) {
                (Some(high), Some(low)) => {
                    let decoded = high << 4 | low;
                    match decoded {
                        b'*' => out.push_str(STAR),
                        b'$' => out.push_str(DOLLAR),
                        _ if decoded.is_ascii_alphanumeric() || b"-._~".contains(&decoded) => {
                            out.push(char::from(decoded));
                        }
                        _ => encode(decoded, out),
                    }
                    i += 2;
                }
                _ => out.push('%'),
            },
            b'*' if side == RuleSide::Pattern => out.push('*'),
            b'$' if side == RuleSide::Pattern && i == bytes.len() => out.push('$'),
            b'*' => out.push_str(STAR),
            b'$' => out.push_str(DOLLAR),
            _ if byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!&'()+,;=".contains(&byte) => {
                out.push(char::from(byte));
            }
            _ => encode(byte, out),
        }
    }
}

/// Does the normalised pattern match at the start of the path? Each piece between stars is matched
/// at its first position. That is correct because a star matches anything, so no backtracking is
/// needed.
fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, anchored) = match pattern.strip_suffix('$') {
        Some(p) => (p, true),
        None => (pattern, false),
    };
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or("");
    let Some(mut rest) = path.strip_prefix(first) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return !anchored || rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if anchored && pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        match memchr::memmem::find(rest.as_bytes(), piece.as_bytes()) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod differential;
#[cfg(test)]
mod tests;

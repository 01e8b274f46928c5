//! robots.txt. Input: a line with a path, and the file.

use crate::{FuzzTarget, first_line};
use recrawl_fetcher::limits::MAX_ROBOTS;
use recrawl_fetcher::robots::{RobotsRules, cut};

/// Parser and matcher of robots.txt as a target.
pub const TARGET: FuzzTarget = FuzzTarget { name: "robots", check };

const TOKEN: &str = "recrawl";

/// Asserts that the verdict is that of a plain reading of RFC 9309's matching, and that what says nothing (line
/// ends, a mark, comments, encodings, the order of rules) changes nothing.
pub fn check(data: &[u8]) {
    let (path, file) = first_line(data);
    let path = format!("/{}", String::from_utf8_lossy(path).trim_start_matches('/'));
    let rules = RobotsRules::parse(file, TOKEN);
    let verdict = rules.allows(&path);
    assert!(rules.allows("/robots.txt"), "robots.txt itself is always allowed (RFC 9309 section 2.2.2)");
    let same = |file: &[u8], why: &str| {
        let rules = RobotsRules::parse(file, TOKEN);
        assert_eq!((rules.allows(&path), rules.crawl_delay), (verdict, delay_of(data)), "{path}: {why}");
    };
    same(&[file, b"\n# the end\n"].concat(), "a comment at the end");
    same(&replaced(file, b'\n', b"\r\n"), "lines that end otherwise");
    if !file.starts_with(b"\xef\xbb\xbf") {
        same(&[b"\xef\xbb\xbf", file].concat(), "a byte order mark");
    }
    if path != "/robots.txt" && spelled_out(&path) != "/%72%6F%62%6F%74%73%2E%74%78%74" {
        assert_eq!(rules.allows(&spelled_out(&path)), verdict, "{path}: encoded where it need not be");
    }
    is_cut_at_a_line(file);
    order_does_not_matter(&path, file);
    matches_as_defined(&path, file);
}

fn delay_of(data: &[u8]) -> Option<std::time::Duration> {
    RobotsRules::parse(first_line(data).1, TOKEN).crawl_delay
}

fn replaced(bytes: &[u8], from: u8, to: &[u8]) -> Vec<u8> {
    bytes
        .iter()
        .flat_map(|byte| if *byte == from { to } else { std::slice::from_ref(byte) })
        .copied()
        .collect()
}

/// Every letter and digit percent-encoded that is not part of an encoding already, or behind a stray `%`.
fn spelled_out(path: &str) -> String {
    if path.contains('%') {
        return path.to_owned();
    }
    let spell =
        |c: char| if c.is_ascii_alphanumeric() { format!("%{:02X}", c as u32) } else { c.to_string() };
    path.chars().map(spell).collect::<String>().replace('.', "%2E")
}

/// What is cut is cut behind a line's end, as late as possible, and what is left says what its lines say.
fn is_cut_at_a_line(file: &[u8]) {
    let is_end = |b: &u8| matches!(b, b'\n' | b'\r');
    for limit in [file.len() / 2, file.len().saturating_sub(1), file.len(), MAX_ROBOTS] {
        let part = cut(file, limit);
        assert!(part.len() <= limit && file.starts_with(part), "at {limit}");
        if file.len() > limit {
            assert!(part.last().is_none_or(is_end), "cut within a line at {limit}");
            assert!(!file[part.len()..limit].iter().any(is_end), "a whole line is lost at {limit}");
        } else {
            assert_eq!(part, file);
        }
    }
}

/// The longest rule decides, wherever it stands in its group.
fn order_does_not_matter(path: &str, file: &[u8]) {
    let lines = file.split(|b| matches!(b, b'\n' | b'\r' | 0));
    let is_rule = |line: &&[u8]| {
        let line = line.trim_ascii_start().to_ascii_lowercase();
        line.starts_with(b"allow") || line.starts_with(b"disallow")
    };
    let mut rules: Vec<&[u8]> = lines.filter(is_rule).collect();
    let group = |rules: &[&[u8]]| [b"User-agent: *", rules.join(&b'\n').as_slice()].join(&b'\n');
    let forward = RobotsRules::parse(&group(&rules), TOKEN).allows(path);
    rules.reverse();
    assert_eq!(RobotsRules::parse(&group(&rules), TOKEN).allows(path), forward, "{path}: the order of rules");
}

/// One rule, its pattern the file's last line, beside a matcher that tries everything: where neither side has
/// anything to decode.
fn matches_as_defined(path: &str, file: &[u8]) {
    let last = file.rsplit(|b| *b == b'\n').next().unwrap_or_default();
    let pattern = &last[last.iter().position(|b| matches!(b, b'/' | b'*')).unwrap_or(last.len())..];
    let is_plain = |b: &u8| b.is_ascii_alphanumeric() || b"/-._~:?@!&'()+,;=".contains(b);
    let body = pattern.strip_suffix(b"$").unwrap_or(pattern);
    if pattern.is_empty()
        || pattern.len() > 40
        || path.len() > 200
        || !body.iter().all(|b| is_plain(b) || *b == b'*')
        || !path.bytes().all(|b| is_plain(&b))
        || path == "/robots.txt"
    {
        return;
    }
    let file = [b"User-agent: *\nDisallow: ", pattern].concat();
    let expected = matches(pattern, path.as_bytes());
    assert_eq!(
        !RobotsRules::parse(&file, TOKEN).allows(path),
        expected,
        "{path}: {}",
        pattern.escape_ascii()
    );
}

/// RFC 9309 section 2.2.3, as a table: `reached[i]` tells whether the pattern so far can end before byte i.
fn matches(pattern: &[u8], path: &[u8]) -> bool {
    let (body, is_anchored) = match pattern.strip_suffix(b"$") {
        Some(body) => (body, true),
        None => (pattern, false),
    };
    let mut reached = vec![false; path.len() + 1];
    reached[0] = true;
    for byte in body {
        let before = reached.clone();
        for at in 0..=path.len() {
            reached[at] = match byte {
                b'*' => before[at] || at > 0 && reached[at - 1],
                _ => at > 0 && before[at - 1] && path[at - 1] == *byte,
            };
        }
    }
    if is_anchored { reached[path.len()] } else { reached.contains(&true) }
}

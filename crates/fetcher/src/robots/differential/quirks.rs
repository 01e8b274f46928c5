//! Differences between other parsers and RFC 9309, as rewritings under which our parser shows them
//! too.

use crate::robots::{KEYS as OURS, RobotsKey};
use robotstxt::matcher::{LongestMatchRobotsMatchStrategy as Google, RobotsMatchStrategy};
use robotstxt::parser::escape_pattern;

/// One difference.
#[derive(Debug)]
pub struct Quirk {
    pub name: &'static str,
    rewrite: fn(&str, &str) -> (String, String),
}

/// In the order of application: lines, keys, groups, patterns.
pub const PROTEGO: &[Quirk] = &[
    Quirk { name: "byte order mark", rewrite: mark },
    Quirk { name: "line ends", rewrite: |file, path| (python_lines(&no_nul(file)), path.into()) },
    Quirk { name: "no size limit", rewrite: without_comments },
    Quirk { name: "missing colon", rewrite: protego_colon },
    Quirk { name: "key by its beginning", rewrite: whole_keys },
    Quirk { name: "agent", rewrite: protego_agent },
    Quirk { name: "end of group", rewrite: protego_group },
    Quirk { name: "literal dollar", rewrite: literal_dollar },
    Quirk { name: "index.html", rewrite: protego_index },
    Quirk { name: "encoding", rewrite: protego_encoding },
];

/// Those that affect Crawl-delay.
pub const PROTEGO_DELAY: &[Quirk] = &[
    Quirk { name: "byte order mark", rewrite: mark },
    Quirk { name: "missing colon", rewrite: protego_colon },
    Quirk { name: "key by its beginning", rewrite: whole_keys },
    Quirk { name: "agent", rewrite: protego_agent },
    Quirk { name: "end of group", rewrite: protego_group },
    Quirk { name: "last one counts", rewrite: last_delay },
];

/// In the same order as [`PROTEGO`].
pub const ROBOTSTXT: &[Quirk] = &[
    Quirk { name: "byte order mark", rewrite: mark },
    Quirk { name: "line ends", rewrite: |file, path| (no_nul(file), path.into()) },
    Quirk { name: "no size limit", rewrite: without_comments },
    Quirk { name: "agent", rewrite: robotstxt_agent },
    Quirk { name: "end of group", rewrite: robotstxt_group },
    Quirk { name: "wildcard", rewrite: robotstxt_wildcard },
    Quirk { name: "robots.txt itself", rewrite: robots_itself },
    Quirk { name: "index.html", rewrite: robotstxt_index },
    Quirk { name: "encoding", rewrite: robotstxt_encoding },
];

/// Applies quirks one after the other.
pub fn rewrite(file: &str, path: &str, quirks: &[&Quirk]) -> (String, String) {
    quirks.iter().fold((file.into(), path.into()), |(file, path), quirk| (quirk.rewrite)(&file, &path))
}

const TYPOS: [&str; 5] = ["dissallow", "dissalow", "disalow", "diasllow", "disallaw"];
const KEYS: [&str; 6] = ["user-agent", "allow", "disallow", "sitemap", "crawl-delay", "host"];

fn right_key(key: &str) -> &str {
    match key {
        "useragent" | "user agent" => "user-agent",
        typo if TYPOS.contains(&typo) => "disallow",
        other => other,
    }
}

fn is_key(key: &str) -> bool {
    KEYS.contains(&right_key(key))
}

fn by_line(file: &str, mut f: impl FnMut(&str) -> Vec<String>) -> String {
    file.split(['\n', '\r']).flat_map(&mut f).collect::<Vec<_>>().join("\n")
}

fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or(line).trim()
}

/// Rewrites the records; passes the key as our parser takes it, or in lower case.
fn by_record(file: &str, mut f: impl FnMut(&str, &str) -> Option<Vec<String>>) -> String {
    by_line(file, |line| {
        let record = record(without_comment(line));
        let rewritten = record.and_then(|(key, value)| f(&key, value));
        rewritten.unwrap_or_else(|| vec![line.into()])
    })
}

fn record(text: &str) -> Option<(String, &str)> {
    let mut words = text.split_ascii_whitespace();
    let two = || Some((words.next()?, words.next().filter(|_| words.next().is_none())?));
    let (key, value) = text.split_once(':').or_else(two)?;
    let key = key.trim().to_lowercase();
    let name = match RobotsKey::parse(key.as_bytes()) {
        Some(RobotsKey::CrawlDelay) | None => key,
        Some(ours) => OURS.iter().find(|(_, key)| *key == ours)?.0.to_owned(),
    };
    Some((name, value.trim()))
}

/// Rewrites the non-empty values of Allow and Disallow.
fn by_rule(file: &str, mut f: impl FnMut(&str, &str) -> Vec<String>) -> String {
    by_record(file, |key, value| {
        let is_rule = matches!(key, "allow" | "disallow") && !value.is_empty();
        is_rule.then(|| f(key, value).iter().map(|v| format!("{key}: {v}")).collect())
    })
}

/// A leading U+FEFF is part of the first key.
fn mark(file: &str, path: &str) -> (String, String) {
    let marked = file.strip_prefix('\u{feff}').map(|rest| format!("x{rest}"));
    (marked.unwrap_or_else(|| file.into()), path.into())
}

/// NUL does not end a line.
fn no_nul(file: &str) -> String {
    file.replace('\0', "\u{1}")
}

/// Lines end as in Python.
fn python_lines(file: &str) -> String {
    let ends = ['\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];
    file.replace(ends, "\n")
}

/// Without comment lines, the only file above 500 KiB is below that limit.
fn without_comments(file: &str, path: &str) -> (String, String) {
    (by_line(file, |line| if line.starts_with('#') { Vec::new() } else { vec![line.into()] }), path.into())
}

fn protego_colon(file: &str, path: &str) -> (String, String) {
    let file =
        by_line(file, |line| {
            let text = without_comment(line);
            if let Some((key, value)) = text.split_once(':')
                && (is_key(&key.trim().to_lowercase())
                    || value.is_empty()
                    || value.starts_with(char::is_whitespace))
            {
                return vec![line.into()];
            }
            let words: Vec<&str> = text.split_whitespace().collect();
            let known = (1..=words.len().min(2)).find(|&n| is_key(&words[..n].join(" ").to_lowercase()));
            vec![known.map_or(format!("#{text}"), |n| {
                format!("{}: {}", words[..n].join(" "), words[n..].join(" "))
            })]
        });
    (file, path.into())
}

/// A longer key is another one.
fn whole_keys(file: &str, path: &str) -> (String, String) {
    let file = by_line(file, |line| match without_comment(line).split_once(':') {
        Some((key, value)) => {
            let key = key.trim().to_lowercase();
            vec![format!("{}{}: {}", if is_key(&key) { "" } else { "x" }, right_key(&key), value.trim())]
        }
        None => vec![line.into()],
    });
    (file, path.into())
}

/// Uses only the longest agent value, without stars, that our name begins with, compared as a
/// whole.
fn protego_agent(file: &str, path: &str) -> (String, String) {
    let spellings = |value: &str| {
        let lower = value.to_lowercase();
        let bare = if lower == "*" { lower.clone() } else { lower.replace('*', "") };
        [lower, bare]
    };
    let mut best = String::new();
    by_record(file, |key, value| {
        if key == "user-agent" {
            let ours = |v: &String| "recrawl".starts_with(v.as_str()) && v.len() > best.len();
            if let Some(better) = spellings(value).into_iter().find(ours) {
                best = better;
            }
        }
        None
    });
    let file = by_record(file, |key, value| {
        let agent = match value {
            _ if key != "user-agent" => return None,
            // Matches no crawler, but ends the group before.
            "" => return Some(vec!["Disallow:".into()]),
            "*" => "*",
            _ if !best.is_empty() && spellings(value).contains(&best) => "recrawl",
            _ => "other",
        };
        Some(vec![format!("User-agent: {agent}")])
    });
    (file, path.into())
}

/// A star stays a star with any space (also Unicode) and text after it.
fn robotstxt_agent(file: &str, path: &str) -> (String, String) {
    let file = by_record(file, |key, value| {
        let star = key == "user-agent" && value.strip_prefix('*')?.starts_with(char::is_whitespace);
        star.then(|| vec!["User-agent: *".into()])
    });
    (file, path.into())
}

/// Any other record ends the list of a group's agents, as a rule does.
fn ends_group(file: &str, but: &[&str]) -> String {
    by_record(file, |key, value| {
        (!but.contains(&key)).then(|| vec![format!("{key}: {value}"), "Disallow:".into()])
    })
}

fn protego_group(file: &str, path: &str) -> (String, String) {
    (ends_group(file, &["user-agent", "sitemap", "host"]), path.into())
}

fn robotstxt_group(file: &str, path: &str) -> (String, String) {
    (ends_group(file, &["user-agent", ""]), path.into())
}

/// `$` at the end is an anchor and, in a second rule, a literal.
fn literal_dollar(file: &str, path: &str) -> (String, String) {
    let file = by_rule(file, |_, value| match value.ends_with('$') {
        true => vec![value.into(), value.replace('$', "%24")],
        false => vec![value.into()],
    });
    (file, path.into())
}

/// A rule that allows `/a/index.html` allows `/a/`.
fn index(file: &str, is_index: impl Fn(&str) -> bool) -> String {
    by_rule(file, |key, value| {
        let cut = value.rfind('/').filter(|&at| key == "allow" && is_index(&value[at..]));
        cut.map_or(vec![value.into()], |at| vec![value.into(), format!("{}$", &value[..=at])])
    })
}

fn protego_index(file: &str, path: &str) -> (String, String) {
    (index(file, |name| name == "/index.html"), path.into())
}

fn robotstxt_index(file: &str, path: &str) -> (String, String) {
    (index(file, |name| name.starts_with("/index.htm")), path.into())
}

/// /robots.txt is not an exception: both sides get another name for it.
fn robots_itself(file: &str, path: &str) -> (String, String) {
    (file.replace("robots.txt", "rokots.txt"), path.replace("robots.txt", "rokots.txt"))
}

fn hex(bytes: &[u8]) -> Option<u8> {
    let digits = bytes.get(1..3).filter(|d| d.iter().all(u8::is_ascii_hexdigit))?;
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Decodes everything except `kept`, then encodes everything except those, `=` and unreserved
/// characters.
fn python_quote(text: &str, kept: &[u8]) -> String {
    let bytes = text.as_bytes();
    let (mut decoded, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        match hex(&bytes[at..]).filter(|_| bytes[at] == b'%') {
            Some(byte) if kept.contains(&byte) => decoded.extend(format!("%{byte:02X}").bytes()),
            Some(byte) => decoded.push(byte),
            None => decoded.push(bytes[at]),
        }
        at += if bytes[at] == b'%' && hex(&bytes[at..]).is_some() { 3 } else { 1 };
    }
    let quote = |byte: u8| match byte {
        b if b.is_ascii_alphanumeric() || b"_.-~=".contains(&b) || kept.contains(&b) => char::from(b).into(),
        b => format!("%{b:02X}"),
    };
    String::from_utf8_lossy(&decoded).bytes().map(quote).collect()
}

/// A reserved character equals its encoding, except for `/`, `%` and `*`.
fn protego_encoding(file: &str, path: &str) -> (String, String) {
    let file = by_rule(file, |_, value| {
        let value = if value.starts_with("http") { format!("/{value}") } else { value.into() };
        let (body, anchor) = value.strip_suffix('$').map_or((value.as_str(), ""), |body| (body, "$"));
        vec![python_quote(body, b"/%*") + anchor]
    });
    (file, python_quote(path, b"/%"))
}

/// Decodes nothing and leaves the path unchanged. Characters that ours would treat as equal or
/// encode are replaced by letters that occur in no case.
fn robotstxt_encoding(file: &str, path: &str) -> (String, String) {
    const ODD: &str = "%\"{}|^ \u{1}$*";
    const LETTERS: &str = ")PQXRTSWUV";
    let letter = |c: char| ODD.find(c).and_then(|at| LETTERS[at..].chars().next()).unwrap_or(c);
    let file = by_rule(file, |_, value| {
        let escaped = escape_pattern(value);
        let (body, anchor) = escaped.strip_suffix('$').map_or((escaped.as_str(), ""), |body| (body, "$"));
        vec![body.chars().map(|c| if c == '*' { c } else { letter(c) }).collect::<String>() + anchor]
    });
    (file, path.chars().map(letter).collect())
}

/// The port of the matcher inserts where the original overwrites, and so misses matches after a
/// star.
fn robotstxt_wildcard(file: &str, path: &str) -> (String, String) {
    let file = by_rule(file, |_, value| {
        let is_lost = value.contains('*') && !Google::matches(path, &escape_pattern(value));
        vec![if is_lost { String::new() } else { value.into() }]
    });
    (file, path.into())
}

/// The last Crawl-delay of a group counts, not the longest: removes all before it.
fn last_delay(file: &str, path: &str) -> (String, String) {
    let count = file.to_lowercase().matches("crawl-delay").count();
    let only = |kept: usize| {
        let mut at = 0;
        by_record(file, |key, _| {
            at += usize::from(key == "crawl-delay");
            (key == "crawl-delay" && at != kept).then(|| vec!["Noindex: /".into()])
        })
    };
    let counts = |file: &String| super::RobotsRules::parse(file.as_bytes(), "recrawl").crawl_delay.is_some();
    (((1..=count).rev().map(only)).find(counts).unwrap_or_else(|| file.into()), path.into())
}

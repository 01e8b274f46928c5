//! Seeds: URLs given on the command line or in a file.

use crate::config::operator_file;
use crate::failure::Failure;
use crate::labels::counted;
use recrawl_types::{CanonicalUrl, UrlRules};
use std::path::Path;

/// Maximum bytes of a seed file.
const MAX_SEED_FILE: u64 = 1 << 30;
/// Maximum number of bad lines that are listed; the rest is counted.
const NAMED_LINES: usize = 5;

/// Reads the seeds, sorted and without duplicates.
///
/// # Errors
/// [`Failure::Usage`], naming the argument, or the first lines, that cannot be crawled.
pub fn read(words: &[String], file: Option<&Path>, rules: &UrlRules) -> Result<Vec<CanonicalUrl>, Failure> {
    let (mut seeds, mut named) = (Vec::new(), 0);
    for word in words {
        named += u64::from(names_user(word));
        let url = rules.canonicalize(word.trim());
        seeds.push(url.map_err(|e| {
            Failure::Usage(format!("seed {word:?}: {e} (write `example.com` or `https://example.com/`)"))
        })?);
    }
    if let Some(path) = file {
        let (more, of_file) = read_file(path, rules)?;
        seeds.extend(more);
        named += of_file;
    }
    if named > 0 {
        tracing::warn!(
            "{} left out of the URLs of seeds; [[hosts]] sets user and password of a host",
            counted(named, "name of a user")
        );
    }
    seeds.sort();
    seeds.dedup();
    Ok(seeds)
}

/// Has the URL a user before its host?
fn names_user(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().is_some_and(|authority| authority.contains('@'))
}

/// The seeds of a file, and how many of them name a user.
fn read_file(path: &Path, rules: &UrlRules) -> Result<(Vec<CanonicalUrl>, u64), Failure> {
    let named = |e: std::io::Error| {
        let todo = "name a file with a URL a line, or the URLs themselves";
        Failure::Usage(format!("cannot read seed file {}: {e}; {todo}", path.display()))
    };
    let bytes = operator_file::read(path, MAX_SEED_FILE).map_err(named)?;
    let (mut seeds, mut bad, mut named_users) = (Vec::new(), Vec::new(), 0);
    // Some systems end lines by a carriage return alone.
    let has_line_feeds = bytes.contains(&b'\n');
    for (number, line) in bytes.split(|b| *b == b'\n' || *b == b'\r' && !has_line_feeds).enumerate() {
        let problem = match std::str::from_utf8(line) {
            Ok(line) => match url_of(line) {
                "" => continue,
                text => match rules.canonicalize(text) {
                    Ok(url) => {
                        named_users += u64::from(names_user(text));
                        seeds.push(url);
                        continue;
                    }
                    Err(error) => error.to_string(),
                },
            },
            Err(_) => "not UTF-8".to_owned(),
        };
        bad.push(format!("line {}: {problem}", number + 1));
    }
    if bad.is_empty() {
        return Ok((seeds, named_users));
    }
    let more = bad.len().saturating_sub(NAMED_LINES);
    let named = bad[..bad.len() - more].join("; ");
    let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
    Err(Failure::Usage(format!("seed file {}: {named}{rest}", path.display())))
}

/// The URL of a line, without its comment and without what stands in further columns; empty if there is none.
fn url_of(line: &str) -> &str {
    let line = line.trim().trim_start_matches('\u{feff}');
    let first = line.split('\t').next().unwrap_or_default();
    let is_comment = |at: &usize| first[..*at].ends_with(char::is_whitespace) || *at == 0;
    let end = first.match_indices('#').map(|(at, _)| at).find(is_comment).unwrap_or(first.len());
    first[..end].trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_file_may_hold_comments_and_repetitions() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = "\u{feff}# mine\nhttps://b.example/\r\n\n  https://a.example/#x # note\nhttps://a.example/\tA name\n #\n";
        std::fs::write(file.path(), text).unwrap();
        let seeds = read(&["http://c.example".into()], Some(file.path()), &UrlRules::default()).unwrap();
        let texts: Vec<_> = seeds.iter().map(|s| s.to_string()).collect();
        assert_eq!(texts, ["https://a.example/", "https://b.example/", "http://c.example/"]);
    }

    #[test]
    fn a_user_of_a_url_is_seen() {
        for (url, names) in [
            ("https://user:password@a.example/", true),
            ("user@a.example", true),
            ("https://a.example/@me", false),
            ("https://a.example?to=me@b.example", false),
            ("https://a.example/", false),
        ] {
            assert_eq!(names_user(url), names, "{url}");
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "https://u:p@a.example/\nhttps://a.example/b\n").unwrap();
        let (seeds, named) = read_file(file.path(), &UrlRules::default()).unwrap();
        assert_eq!((seeds[0].to_string(), seeds.len(), named), ("https://a.example/".into(), 2, 1));
    }

    #[test]
    fn bad_lines_are_named_by_number() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"https://a.example/\nexample.com\n\xff\xfe\nftp://a/\n").unwrap();
        let error = read(&[], Some(file.path()), &UrlRules::default()).unwrap_err();
        assert!(error.is_usage());
        let text = error.to_string();
        assert!(text.contains("line 2") && text.contains("https://"), "{text}");
        assert!(text.contains("line 3: not UTF-8") && text.contains("line 4"), "{text}");
        std::fs::write(file.path(), "x\n".repeat(100)).unwrap();
        let text = read(&[], Some(file.path()), &UrlRules::default()).unwrap_err().to_string();
        assert!(text.contains("line 5") && !text.contains("line 6") && text.contains("95 more"), "{text}");
        assert!(read(&["x".into()], None, &UrlRules::default()).is_err());
    }
}

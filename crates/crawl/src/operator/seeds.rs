//! Seeds: URLs given on the command line or in a file.

use crate::failure::Failure;
use recrawl_types::{CanonicalUrl, Size, UrlRules};
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
    let mut seeds = Vec::new();
    for word in words {
        let url = rules.canonicalize(word.trim());
        seeds.push(url.map_err(|e| Failure::Usage(format!("--seed {word:?}: {e}")))?);
    }
    if let Some(path) = file {
        seeds.extend(read_file(path, rules)?);
    }
    seeds.sort();
    seeds.dedup();
    Ok(seeds)
}

fn read_file(path: &Path, rules: &UrlRules) -> Result<Vec<CanonicalUrl>, Failure> {
    let named = |e: std::io::Error| {
        let todo = "name a file with a URL a line, or the URLs themselves";
        Failure::Usage(format!("cannot read seed file {}: {e}; {todo}", path.display()))
    };
    let length = std::fs::metadata(path).map_err(named)?.len();
    if length > MAX_SEED_FILE {
        let most = Size(MAX_SEED_FILE);
        let text = format!("seed file {} is longer than {most}; split the file", path.display());
        return Err(Failure::Usage(text));
    }
    let bytes = std::fs::read(path).map_err(named)?;
    let (mut seeds, mut bad) = (Vec::new(), Vec::new());
    // Some systems end lines by a carriage return alone.
    let has_line_feeds = bytes.contains(&b'\n');
    for (number, line) in bytes.split(|b| *b == b'\n' || *b == b'\r' && !has_line_feeds).enumerate() {
        let problem = match std::str::from_utf8(line) {
            Ok(line) => match url_of(line) {
                "" => continue,
                text => match rules.canonicalize(text) {
                    Ok(url) => {
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
        return Ok(seeds);
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

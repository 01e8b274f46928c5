//! Hosts whose owners opted out: a file that is read again at the start of each cycle.

use crate::config::operator_file;
use recrawl_types::{HostPattern, Size};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Maximum bytes of the file: about three million hosts, each taking about 100 bytes of memory.
const MAX_FILE: u64 = 64 << 20;
/// Maximum number of bad lines that are listed; the rest is counted.
const NAMED_LINES: usize = 5;

/// The hosts of the file, with their line numbers.
#[derive(Clone, Debug, Default)]
pub struct OptOut {
    file: PathBuf,
    /// Digest of the file's bytes.
    digest: u64,
    exact: HashMap<String, u32>,
    with_subdomains: HashMap<String, u32>,
}

impl OptOut {
    /// Reads `file`, with one host per line: `example.com` or `*.example.com` (with its
    /// subdomains). `#` starts a comment. An empty path is an empty list.
    ///
    /// # Errors
    /// The file, and its first bad lines. A list that cannot be read in full is not used, since the
    /// hosts missing from it would be crawled again.
    pub fn read(file: &Path) -> Result<OptOut, String> {
        let mut list = OptOut { file: file.into(), ..OptOut::default() };
        if file.as_os_str().is_empty() {
            return Ok(list);
        }
        let named = |e: &dyn std::fmt::Display| format!("scope.opt_out: cannot use {}: {e}", file.display());
        let bytes = operator_file::read(file, MAX_FILE).map_err(|e| match e.kind() {
            ErrorKind::FileTooLarge => {
                named(&format!("longer than {}; name whole domains as *.example.com", Size(MAX_FILE)))
            }
            _ => named(&e),
        })?;
        list.digest = xxhash_rust::xxh3::xxh3_64(&bytes);
        let mut bad = Vec::new();
        for (line, number) in bytes.split(|b| *b == b'\n').zip(1..) {
            if let Err(problem) = list.take(line, number) {
                bad.push(format!("line {number}: {problem}"));
            }
        }
        if bad.is_empty() {
            return Ok(list);
        }
        let more = bad.len().saturating_sub(NAMED_LINES);
        let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
        Err(named(&format!("{}{rest}", bad[..bad.len() - more].join("; "))))
    }

    fn take(&mut self, line: &[u8], number: u32) -> Result<(), String> {
        let text = std::str::from_utf8(line).map_err(|_| "not UTF-8".to_owned())?;
        let host = text.split('#').next().unwrap_or("").trim_start_matches('\u{feff}').trim();
        if host.is_empty() {
            return Ok(());
        }
        let parsed =
            HostPattern::parse(host).map_err(|e| format!("{e}; write example.com or *.example.com"))?;
        let (hosts, host) = match parsed {
            HostPattern::Any => return Err("\"*\" would exclude every host; stop the crawl instead".into()),
            HostPattern::Exact(host) => (&mut self.exact, host),
            HostPattern::WithSubdomains(host) => (&mut self.with_subdomains, host),
        };
        hosts.entry(host).or_insert(number);
        Ok(())
    }

    /// The line that names this canonical host or a parent domain; none if it is not listed.
    pub fn line(&self, host: &str) -> Option<u32> {
        if let Some(line) = self.exact.get(host) {
            return Some(*line);
        }
        if self.with_subdomains.is_empty() {
            return None;
        }
        let above = host.match_indices('.').map(|(at, _)| &host[at + 1..]);
        std::iter::once(host).chain(above).find_map(|domain| self.with_subdomains.get(domain).copied())
    }

    /// Why this host is excluded, as text.
    pub fn because(&self, host: &str) -> Option<String> {
        self.line(host).map(|line| format!("opted out ({}, line {line})", self.file.display()))
    }

    /// A digest that changes with the file.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// Reads the same file again.
    ///
    /// # Errors
    /// As [`OptOut::read`].
    pub fn again(&self) -> Result<OptOut, String> {
        OptOut::read(&self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: impl AsRef<[u8]>) -> Result<OptOut, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        OptOut::read(file.path())
    }

    #[test]
    fn hosts_and_domains_are_found_with_their_line() {
        let list = list(
            "\u{feff}# ours\r\nExample.com\n\n*.b.example   # all of it\n127.0.0.1\n[::1]\nbücher.example\n",
        )
        .unwrap();
        for (host, line) in [
            ("example.com", Some(2)),
            ("www.example.com", None),
            ("b.example", Some(4)),
            ("x.y.b.example", Some(4)),
            ("ab.example", None),
            ("127.0.0.1", Some(5)),
            ("[::1]", Some(6)),
            ("xn--bcher-kva.example", Some(7)),
            ("example", None),
        ] {
            assert_eq!(list.line(host), line, "{host}");
        }
        assert!(list.because("example.com").unwrap().contains("line 2"));
        assert_eq!(OptOut::read(Path::new("")).unwrap().line("example.com"), None);
    }

    #[test]
    fn bad_lines_are_named_and_nothing_of_the_list_is_used() {
        let error = list(b"example.com\nhttp://a/b\n\xff\n*\nc d\n").unwrap_err();
        for part in ["scope.opt_out", "line 2", "line 3: not UTF-8", "line 4", "every host", "line 5"] {
            assert!(error.contains(part), "{part}: {error}");
        }
        let error = list("a/b\n".repeat(9)).unwrap_err();
        assert!(error.contains("line 5") && !error.contains("line 6") && error.contains("4 more"), "{error}");
        assert!(OptOut::read(Path::new("no/such/file")).unwrap_err().contains("no/such/file"));
    }
}

//! The index of captures, as ZipNum: CDXJ lines compressed in parts, and the first key of each part.

use super::package::{WaczPackage, sha256};
use flate2::Compression;
use flate2::write::GzEncoder;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::output::sorted_lines::SortedLines;
use ring::digest::{Context, SHA256};
use serde_json::json;
use std::collections::HashSet;
use std::io::Write;

/// Lines of a part. A reader unpacks a part to find one capture.
const PART_LINES: usize = 1000;
/// Name of the compressed index.
const NAME: &str = "index.cdx.gz";

/// Writes the index of these CDXJ lines and returns their number. Leaves out revisits whose body is not in
/// the index: they would lead nowhere.
///
/// # Errors
/// When the lines cannot be read, or the package cannot be written.
pub fn write(lines: SortedLines, package: &mut WaczPackage) -> Result<u64, Failure> {
    package.begin(format!("indexes/{NAME}"))?;
    let mut parts = IndexParts { package, lines: Vec::new(), keys: Vec::new(), written: 0 };
    let mut merged = lines.merged()?;
    // All lines of a URL key, which stand together.
    let mut captures: Vec<String> = Vec::new();
    loop {
        let line = merged.next_line()?;
        if captures.first().is_some_and(|first| line.as_deref().map(key) != Some(key(first))) {
            let bodies: HashSet<String> =
                captures.iter().filter(|line| !is_revisit(line)).filter_map(|line| payload(line)).collect();
            for line in captures.drain(..) {
                if !is_revisit(&line) || payload(&line).is_some_and(|body| bodies.contains(&body)) {
                    parts.push(line)?;
                }
            }
        }
        match line {
            Some(line) => captures.push(line),
            None => return parts.finish(),
        }
    }
}

fn key(line: &str) -> &str {
    line.split(' ').next().unwrap_or(line)
}

/// The fields of a line.
fn fields(line: &str) -> Option<serde_json::Value> {
    serde_json::from_str(line.splitn(3, ' ').nth(2)?).ok()
}

fn is_revisit(line: &str) -> bool {
    fields(line).is_some_and(|fields| fields["mime"] == "warc/revisit")
}

/// URL and digest of the body.
fn payload(line: &str) -> Option<String> {
    let fields = fields(line)?;
    Some(format!("{} {}", fields["digest"].as_str()?, fields["url"].as_str()?))
}

struct IndexParts<'p> {
    package: &'p mut WaczPackage,
    /// Lines of the part being filled.
    lines: Vec<String>,
    /// A line for each part.
    keys: Vec<String>,
    written: u64,
}

impl IndexParts<'_> {
    fn push(&mut self, line: String) -> Result<(), Failure> {
        self.lines.push(line);
        self.written += 1;
        if self.lines.len() == PART_LINES { self.end_part() } else { Ok(()) }
    }

    fn end_part(&mut self) -> Result<(), Failure> {
        let Some(first) = self.lines.first() else { return Ok(()) };
        let first: Vec<&str> = first.splitn(3, ' ').take(2).collect();
        let first = first.join(" ");
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        for line in self.lines.drain(..) {
            writeln!(encoder, "{line}")?;
        }
        let part = encoder.finish()?;
        let mut digest = Context::new(&SHA256);
        digest.update(&part);
        let (offset, length, digest) = (self.package.length(), part.len(), sha256(digest));
        let place = json!({"offset": offset, "length": length, "digest": digest, "filename": NAME});
        self.keys.push(format!("{first} {place}\n"));
        self.package.write(&part)
    }

    fn finish(mut self) -> Result<u64, Failure> {
        self.end_part()?;
        self.package.begin("indexes/index.idx".into())?;
        let head = json!({"format": "cdxj-gzip-1.0", "filename": NAME});
        self.package.write(format!("!meta 0 {head}\n").as_bytes())?;
        for key in &self.keys {
            self.package.write(key.as_bytes())?;
        }
        Ok(self.written)
    }
}

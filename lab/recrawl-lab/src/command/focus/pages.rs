//! Pages from files of HTML or plain text, as a crawl would read them.

use recrawl_crawl::failure::Failure;
use recrawl_extractor::{BodyFields, ExtractOptions, Extracted, extract};
use recrawl_types::UrlRules;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes of a page that are read, as `fetch.max_body` has by default.
const MAX_PAGE: u64 = 2 << 20;

/// A page.
pub struct FilePage {
    pub path: PathBuf,
    pub title: String,
    pub text: String,
}

/// Reads a page.
///
/// # Errors
/// If the file cannot be read, or is neither HTML nor text.
pub fn read(path: &Path) -> Result<FilePage, Failure> {
    let failed = |problem: String| Failure::Usage(format!("{}: {problem}", path.display()));
    let mut body = vec![];
    let read = File::open(path).and_then(|file| file.take(MAX_PAGE).read_to_end(&mut body));
    read.map_err(|e| failed(format!("{e} (name a file of HTML or text)")))?;
    let rules = UrlRules::default();
    let url = rules.canonicalize("http://localhost/").expect("a sound URL");
    match extract(&body, &BodyFields::default(), &url, &rules, &ExtractOptions::default()) {
        Extracted::Page(page) => {
            Ok(FilePage { path: path.into(), title: page.title.unwrap_or_default(), text: page.text })
        }
        _ => Err(failed("neither HTML nor text".into())),
    }
}

/// Reads the pages of files and of folders, in order of their names; subfolders are left out.
///
/// # Errors
/// As [`read`], and if there are no pages, or more than `most`.
pub fn read_all(paths: &[PathBuf], most: usize) -> Result<Vec<FilePage>, Failure> {
    let mut files = vec![];
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = fs::read_dir(path).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
        let entries = entries.map_err(|e| Failure::Usage(format!("{}: {e}", path.display())))?;
        let mut within: Vec<PathBuf> =
            entries.iter().map(fs::DirEntry::path).filter(|p| p.is_file()).collect();
        within.sort();
        if within.is_empty() {
            return Err(Failure::Usage(format!("{}: no files (put example pages there)", path.display())));
        }
        files.extend(within);
    }
    if files.len() > most {
        return Err(Failure::Usage(format!("{} example pages, at most {most} are read", files.len())));
    }
    files.iter().map(|path| read(path)).collect()
}

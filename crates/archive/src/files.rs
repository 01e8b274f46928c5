//! The WARC files by number. A page's position has the number; the name also tells the file from those
//! of other crawls and machines, so that archives can be put together in one folder elsewhere.

use super::spelling::{in_file, timestamp};
use recrawl_repository::storage::Storage;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};

/// The name of a file begun at `at` (milliseconds since 1970) by the crawl with this tag:
/// `recrawl-20260131120000-000001-0123456789ab.warc.gz`, as WARC 1.1 recommends (annex C).
pub(super) fn file_name(number: u32, at: u64, tag: &str) -> String {
    let time: String = timestamp(at).chars().filter(char::is_ascii_digit).collect();
    format!("recrawl-{time}-{number:06}-{tag}.warc.gz")
}

/// Suffix of WARC files.
const WARC: &str = ".warc.gz";
/// Before it, in the name of a file that was thinned.
const THINNED: &str = ".thinned";

/// Was the file thinned?
pub fn is_thinned(name: &str) -> bool {
    name.strip_suffix(WARC).is_some_and(|stem| stem.ends_with(THINNED))
}

/// The name of a file once it is thinned.
pub(super) fn thinned_name(name: &str) -> String {
    format!("{}{THINNED}{WARC}", name.strip_suffix(WARC).unwrap_or(name))
}

/// The name that a listed file has now: another one if it was thinned since, and none if it was removed.
///
/// # Errors
/// When a file cannot be opened.
pub fn name_now(storage: &dyn Storage, name: &str) -> io::Result<Option<String>> {
    for name in [name.to_owned(), thinned_name(name)] {
        match storage.open(&name) {
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            opened => return opened.map(|_| Some(name)),
        }
    }
    Ok(None)
}

/// The number in the name of a WARC file of recrawl. Earlier releases named files
/// `recrawl-000001.warc.gz`.
pub fn number_in(name: &str) -> Option<u32> {
    let stem = name.strip_prefix("recrawl-")?.strip_suffix(WARC)?;
    let parts: Vec<&str> = stem.strip_suffix(THINNED).unwrap_or(stem).split('-').collect();
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let number = match parts[..] {
        [number] => number,
        [time, number, tag] => {
            let is_tag = !tag.is_empty() && tag.bytes().all(|byte| byte.is_ascii_alphanumeric());
            Some(number).filter(|_| time.len() == 14 && digits(time) && is_tag)?
        }
        _ => return None,
    };
    let value = Some(number).filter(|text| digits(text))?.parse().ok()?;
    (format!("{value:06}") == number).then_some(value)
}

/// The name of a file of recrawl with another number.
pub(super) fn renumbered_name(name: &str, number: u32) -> String {
    let before = number_in(name).map(|before| format!("-{before:06}")).unwrap_or_default();
    name.replacen(&before, &format!("-{number:06}"), 1)
}

/// The names of the present WARC files by number.
#[derive(Clone, Debug, Default)]
pub struct WarcFiles(BTreeMap<u32, String>);

impl WarcFiles {
    /// The files of this storage.
    ///
    /// # Errors
    /// When the storage cannot be listed; [`ErrorKind::InvalidData`] if two files have one number.
    pub fn in_storage(storage: &dyn Storage) -> io::Result<WarcFiles> {
        WarcFiles::among(storage.list()?).map_err(|e| in_file(storage, "", &e))
    }

    fn among(names: impl IntoIterator<Item = String>) -> io::Result<WarcFiles> {
        let mut files = BTreeMap::new();
        for name in names {
            let Some(number) = number_in(&name) else { continue };
            // A file that was just thinned may still be beside the new one, which is complete.
            let is_before = |old: &str, new: &str| thinned_name(old) == new;
            match files.get(&number).map(String::as_str) {
                Some(known) if is_before(&name, known) => continue,
                Some(known) if is_before(known, &name) => drop(files.remove(&number)),
                _ => {}
            }
            if let Some(other) = files.insert(number, name.clone()) {
                let text = format!(
                    "{other} and {name} have the same number, so positions in them are ambiguous; \
                     move the one of another crawl away"
                );
                return Err(io::Error::new(ErrorKind::InvalidData, text));
            }
        }
        Ok(WarcFiles(files))
    }

    /// The name of a file.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if it is not present.
    pub fn name(&self, number: u32) -> io::Result<&str> {
        let missing = || io::Error::new(ErrorKind::NotFound, format!("WARC file {number} is missing"));
        self.0.get(&number).map(String::as_str).ok_or_else(missing)
    }

    /// The highest number; 0 if there is no file.
    pub fn newest(&self) -> u32 {
        self.0.last_key_value().map_or(0, |(number, _)| *number)
    }

    /// Is this file older than all that are present? `storage.archive_max` removes only such files.
    pub fn is_before_all(&self, number: u32) -> bool {
        self.0.first_key_value().is_some_and(|(oldest, _)| number < *oldest)
    }

    /// How many numbers below the newest have no file: their files were removed.
    pub fn missing(&self) -> u64 {
        u64::from(self.newest()) - self.0.len() as u64
    }

    /// Numbers and names, in the order of numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        self.0.iter().map(|(number, name)| (*number, name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_its_number_whichever_release_gave_it() {
        let today = file_name(7, 1_700_000_000_000, "0123456789ab");
        assert_eq!(today, "recrawl-20231114221320-000007-0123456789ab.warc.gz");
        for (name, number) in [
            (today.as_str(), Some(7)),
            ("recrawl-000001.warc.gz", Some(1)),
            ("recrawl-1234567.warc.gz", Some(1_234_567)),
            ("recrawl-20231114221320-000007-ab.thinned.warc.gz", Some(7)),
            ("recrawl-000001.thinned.warc.gz", Some(1)),
            ("recrawl-20231114221320-000007-ab.other.warc.gz", None),
            ("recrawl-1.warc.gz", None),
            ("recrawl-+00001.warc.gz", None),
            ("recrawl-0000001.warc.gz", None),
            ("recrawl-000001.warc.gz.part", None),
            ("recrawl-20231114221320-000007.warc.gz", None),
            ("recrawl-2023-000007-ab.warc.gz", None),
            ("recrawl-20231114221320-000007-.warc.gz", None),
            ("recrawl-20231114221320-7-ab.warc.gz", None),
            ("rec-20231114221320-000007-ab.warc.gz", None),
        ] {
            assert_eq!(number_in(name), number, "{name}");
        }
    }

    #[test]
    fn two_files_of_one_number_are_refused_by_name() {
        let names = ["recrawl-000001.warc.gz".to_owned(), file_name(1, 0, "ab"), file_name(2, 0, "ab")];
        let files = WarcFiles::among(names[1..].to_vec()).unwrap();
        assert_eq!((files.newest(), files.name(1).unwrap()), (2, names[1].as_str()));
        assert_eq!(files.name(3).unwrap_err().kind(), ErrorKind::NotFound);
        let thinned = thinned_name(&names[0]);
        for both in [[names[0].clone(), thinned.clone()], [thinned.clone(), names[0].clone()]] {
            assert_eq!(WarcFiles::among(both).unwrap().name(1).unwrap(), thinned);
        }
        assert!(WarcFiles::among([thinned, names[1].clone()]).is_err());
        let error = WarcFiles::among(names.clone()).unwrap_err();
        assert!(error.to_string().contains(&names[1]), "{error}");
    }
}

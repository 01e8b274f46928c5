//! A first look at a site: the requests that a data directory may make before its operator names a contact.
//!
//! They go to the hosts of the seeds alone, and robots.txt counts. The count is in a file of its own, so that restarts do
//! not begin it anew, and that commands which only try a page share it with the crawl.

use crate::failure::Failure;
use recrawl_types::CanonicalUrl;
use recrawl_types::host::literal;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// The requests of a data directory.
pub const MAX_REQUESTS: u32 = 100;
/// The file, in the data directory.
pub const FILE: &str = "first-look.json";
/// Seed hosts at most: each needs a request.
const MAX_SEED_HOSTS: usize = MAX_REQUESTS as usize;

/// The first look of a data directory.
#[derive(Clone, Debug)]
pub struct FirstLookFile(PathBuf);

#[derive(Debug, Default, Serialize, Deserialize)]
struct FirstLookUse {
    requests: u32,
    /// Hosts of the seeds, without a leading `www.`.
    hosts: BTreeSet<String>,
}

impl FirstLookUse {
    fn admits(&self, host: &str) -> bool {
        self.requests < MAX_REQUESTS && self.hosts.contains(name(host))
    }
}

impl FirstLookFile {
    /// That of a data directory. Nothing is read or written yet.
    pub fn in_folder(data_dir: &Path) -> FirstLookFile {
        FirstLookFile(data_dir.join(FILE))
    }

    /// Adds the hosts of seeds. The directory exists.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn admit(&self, seeds: &[CanonicalUrl]) -> Result<(), Failure> {
        let hosts: BTreeSet<String> = seeds.iter().map(|seed| name(&seed.host()).to_owned()).collect();
        let add = |taken: &mut FirstLookUse| {
            let before = taken.hosts.len();
            let room = MAX_SEED_HOSTS.saturating_sub(before);
            let news: Vec<String> = hosts.difference(&taken.hosts).take(room).cloned().collect();
            taken.hosts.extend(news);
            taken.hosts.len() > before
        };
        self.change(add)
            .map(|_| ())
            .map_err(|e| Failure::Work(format!("cannot write {}: {e}", self.0.display())))
    }

    /// Has it a host, and a request left?
    pub fn is_open(&self) -> bool {
        let taken = self.taken();
        !taken.hosts.is_empty() && taken.requests < MAX_REQUESTS
    }

    /// The requests that were made; all if the file cannot be read.
    fn taken(&self) -> FirstLookUse {
        let used_up = || FirstLookUse { requests: MAX_REQUESTS, ..FirstLookUse::default() };
        match std::fs::read(&self.0) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => FirstLookUse::default(),
            Err(_) => used_up(),
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_else(|_| used_up()),
        }
    }

    /// Changes the file durably; `change` says whether it did. Processes take turns.
    fn change(&self, change: impl FnOnce(&mut FirstLookUse) -> bool) -> io::Result<bool> {
        let is_new = !self.0.exists();
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&self.0)?;
        flock(&file, FlockOperation::LockExclusive)?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        // A file without content is left by a crash; another process may have written a new one by now.
        let mut taken = match is_new && text.is_empty() {
            true => FirstLookUse::default(),
            false => serde_json::from_str(&text)?,
        };
        let is_changed = change(&mut taken);
        if is_changed {
            write(&mut file, &taken)?;
        }
        Ok(is_changed)
    }
}

/// Over what is there, which is never longer.
fn write(file: &mut File, taken: &FirstLookUse) -> io::Result<()> {
    file.rewind()?;
    file.write_all(serde_json::to_string(taken)?.as_bytes())?;
    file.sync_all()
}

/// `www.example.com` is the same place as `example.com`: one often leads to the other.
fn name(host: &str) -> &str {
    match literal(host) {
        Some(_) => host,
        None => host.strip_prefix("www.").unwrap_or(host),
    }
}

impl recrawl_fetcher::FirstLook for FirstLookFile {
    fn admits(&self, host: &str) -> bool {
        self.taken().admits(host)
    }

    fn take(&self, host: &str) -> bool {
        // Without a seed there is no file. To open it would leave an empty one, which counts as damaged.
        if !self.admits(host) {
            return false;
        }
        let take = |taken: &mut FirstLookUse| {
            let is_free = taken.admits(host);
            taken.requests += u32::from(is_free);
            is_free
        };
        self.change(take).unwrap_or_else(|e| {
            tracing::error!("{}: {e}; no request is made without crawler.contact", self.0.display());
            false
        })
    }

    fn is_over(&self) -> bool {
        self.taken().requests >= MAX_REQUESTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_fetcher::FirstLook as _;
    use recrawl_types::UrlRules;

    fn seeds(urls: &[&str]) -> Vec<CanonicalUrl> {
        urls.iter().map(|url| UrlRules::default().canonicalize(url).unwrap()).collect()
    }

    #[test]
    fn a_hundred_requests_to_the_hosts_of_the_seeds_and_no_more_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let look = FirstLookFile::in_folder(folder.path());
        assert!(!look.is_over() && !look.is_open() && !look.take("a.test"), "no seed is given");
        look.admit(&seeds(&["https://a.test/x", "http://www.b.test:8080/"])).unwrap();
        assert!(look.is_open() && look.admits("www.a.test") && look.admits("b.test"));
        assert!(!look.take("sub.a.test") && !look.take("c.test"));
        for request in 0..MAX_REQUESTS {
            let look = FirstLookFile::in_folder(folder.path());
            assert!(!look.is_over() && look.take(["a.test", "b.test"][request as usize % 2]), "{request}");
        }
        assert!(look.is_over() && !look.take("a.test") && !look.admits("a.test"));
        look.admit(&seeds(&["https://c.test/"])).unwrap();
        assert!(!look.take("c.test"), "other seeds bring no more");
    }

    #[test]
    fn processes_that_take_at_once_take_no_more() {
        let folder = tempfile::tempdir().unwrap();
        FirstLookFile::in_folder(folder.path()).admit(&seeds(&["https://a.test/"])).unwrap();
        let taken: usize = std::thread::scope(|threads| {
            let all: Vec<_> = (0..4)
                .map(|_| {
                    threads.spawn(|| {
                        let look = FirstLookFile::in_folder(folder.path());
                        (0..50).filter(|_| look.take("a.test")).count()
                    })
                })
                .collect();
            all.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(taken, MAX_REQUESTS as usize);
    }

    #[test]
    fn a_damaged_file_is_no_new_look() {
        let folder = tempfile::tempdir().unwrap();
        let look = FirstLookFile::in_folder(folder.path());
        for damaged in ["", "{\"requests\":"] {
            std::fs::write(folder.path().join(FILE), damaged).unwrap();
            assert!(look.is_over() && !look.take("a.test"), "{damaged}");
            assert!(look.admit(&seeds(&["https://a.test/"])).unwrap_err().to_string().contains(FILE));
        }
    }
}

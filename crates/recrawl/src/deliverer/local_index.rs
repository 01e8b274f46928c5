//! The full-text index in the data directory (`to = "index"`), as a target of documents.

use recrawl_crawl::admission::pattern::Pattern;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::settings::Settings;
use recrawl_delivery::protocol::{CopyItem, TargetProtocol};
use recrawl_delivery::{PageDocument, doubt, id, name_of};
use recrawl_extractor::PageFields;
use recrawl_repository::CopyReader;
use recrawl_repository::storage::Storage;
use recrawl_search::{IndexWriter, IndexedPage, SearchError, check};
use recrawl_types::CanonicalUrl;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Its address, as that of any target.
pub const ADDRESS: &str = "index";
/// The folder, in the data directory.
const FOLDER: &str = "index";
/// Time for another writer to end: a daemon that stepped aside may still merge.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(50);

const HEADINGS: &str = "headings";
/// The further fields of its documents, whatever the configuration says.
pub static FIELDS: LazyLock<PageFields> = LazyLock::new(|| {
    let fields = [(HEADINGS.into(), "h1, h2, h3[]".into())];
    PageFields::new(&fields.into()).expect("a selector")
});

/// Indexes that this process has read as a whole. It writes them alone, so they stay sound until an error says otherwise.
static SOUND: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// The folder of a crawl's index.
pub fn folder(data_dir: &Path) -> PathBuf {
    data_dir.join(FOLDER)
}

/// Lets the next delivery read all of an index, and make it anew if it is damaged.
pub fn suspect(folder: &Path) {
    SOUND.lock().unwrap_or_else(PoisonError::into_inner).remove(folder);
}

/// The index, opened when something is sent. `is_ended` breaks off what takes longer than a commit.
pub struct LocalIndex<'s> {
    folder: PathBuf,
    taken_down: Vec<Pattern>,
    writer: Cell<Option<IndexWriter>>,
    is_ended: &'s dyn Fn() -> bool,
}

impl<'s> LocalIndex<'s> {
    /// Checks the index once in the life of a process. One that is damaged, or of which nobody knows what it holds, is made
    /// anew. The order of writes: all is in doubt first, so a kill behind that sends all again.
    ///
    /// # Errors
    /// When it cannot be read or made.
    pub fn new(
        data_dir: &Path,
        storage: &dyn Storage,
        taken_down: &[Pattern],
        is_ended: &'s dyn Fn() -> bool,
    ) -> Result<LocalIndex<'s>, Failure> {
        let folder = folder(data_dir);
        let is_known = CopyReader::open(storage, &name_of(ADDRESS)).is_ok_and(|copy| copy.is_some());
        let is_sound = SOUND.lock().unwrap_or_else(PoisonError::into_inner).contains(&folder);
        let checked = match is_sound && folder.is_dir() {
            true => Ok(()),
            false => check(&folder, is_ended),
        };
        let is_absent = checked == Err(SearchError::Absent);
        let (taken_down, writer) = (taken_down.to_vec(), Cell::new(None));
        let index = LocalIndex { folder, taken_down, writer, is_ended };
        match checked {
            Ok(()) if is_known => {}
            Err(error @ (SearchError::Busy | SearchError::Ended | SearchError::Failed(_))) => {
                return Err(index.failure(&error));
            }
            found => {
                if let Err(SearchError::Damaged(why)) = found {
                    tracing::warn!("{}: {why}; it is made anew", index.folder.display());
                } else if is_known && is_absent {
                    tracing::warn!("{} is gone; it is made anew", index.folder.display());
                }
                doubt(storage, &name_of(ADDRESS), Some(ADDRESS)).map_err(Failure::work)?;
                let made = IndexWriter::create(&index.folder).map_err(|e| index.failure(&e))?;
                index.writer.set(Some(made));
            }
        }
        SOUND.lock().unwrap_or_else(PoisonError::into_inner).insert(index.folder.clone());
        Ok(index)
    }

    fn failure(&self, error: &SearchError) -> Failure {
        Failure::Work(format!("{}: {error}", self.folder.display()))
    }

    /// Makes changes in one commit: all or none.
    ///
    /// # Errors
    /// Why they cannot be made now.
    pub fn send(&self, items: &[CopyItem]) -> Result<(), String> {
        self.make(items).map_err(|error| {
            if error != SearchError::Ended {
                suspect(&self.folder);
            }
            format!("{}: {error}", self.folder.display())
        })
    }

    /// A writer that has failed is not used again.
    fn make(&self, items: &[CopyItem]) -> Result<(), SearchError> {
        let mut writer = self.writer.take().map_or_else(|| opened(&self.folder, self.is_ended), Ok)?;
        let mut needs_purge = false;
        for item in items {
            match item {
                CopyItem::Put(document) => writer.put(&page(document, &headings(document)))?,
                CopyItem::Delete(url) => {
                    writer.delete(&id(url));
                    needs_purge |= self.taken_down.iter().any(|pattern| pattern.matches(url));
                }
            }
        }
        if needs_purge {
            writer = writer.purge(self.is_ended)?;
        } else {
            writer.commit()?;
        }
        self.writer.set(Some(writer));
        Ok(())
    }

    /// Waits for merges, unless the program ends.
    pub fn settle(&self) {
        if let Some(writer) = self.writer.take() {
            writer.settle(self.is_ended);
        }
    }
}

/// Removes the index if no target keeps it any more: nothing would delete pages there that are gone.
pub fn remove_leftover(settings: &Settings) {
    let is_kept =
        settings.deliver.iter().any(|target| matches!(target.place.protocol, TargetProtocol::Index));
    let folder = folder(&settings.data_dir);
    if is_kept || !folder.is_dir() {
        return;
    }
    match discard(&settings.data_dir) {
        Ok(()) => tracing::warn!("{} is removed: no target of [[deliver]] keeps it", folder.display()),
        Err(e) => {
            tracing::warn!("{}: no target of [[deliver]] keeps it; cannot remove it: {e}", folder.display())
        }
    }
}

/// Removes the index: the next delivery makes it anew.
///
/// # Errors
/// When a file cannot be removed.
pub fn discard(data_dir: &Path) -> io::Result<()> {
    let folder = folder(data_dir);
    suspect(&folder);
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Removes pages from the index, to the last byte. Gives their number; 0 without an index.
///
/// # Errors
/// When it cannot be read or written.
pub fn remove(data_dir: &Path, is_gone: &dyn Fn(&CanonicalUrl) -> bool) -> Result<u64, SearchError> {
    let rules = recrawl_types::UrlRules::keep_all();
    let gone = |url: &str| rules.canonicalize(url).ok().filter(|url| is_gone(url)).map(|url| id(&url));
    match opened(&folder(data_dir), &|| false).and_then(|writer| writer.remove(&gone)) {
        Ok((writer, removed)) => {
            writer.settle(&|| false);
            Ok(removed)
        }
        Err(SearchError::Absent) => Ok(0),
        Err(e) => Err(e),
    }
}

fn opened(folder: &Path, is_ended: &dyn Fn() -> bool) -> Result<IndexWriter, SearchError> {
    let begun = Instant::now();
    loop {
        match IndexWriter::open(folder) {
            Err(SearchError::Busy) if is_ended() => return Err(SearchError::Ended),
            Err(SearchError::Busy) if begun.elapsed() < PATIENCE => thread::sleep(LOOK_EVERY),
            opened => return opened,
        }
    }
}

/// The headings of a document, one a line.
fn headings(document: &PageDocument) -> String {
    let headings = document.fields.get(HEADINGS).and_then(|headings| headings.as_array());
    let headings = headings.into_iter().flatten().filter_map(|heading| heading.as_str());
    headings.collect::<Vec<_>>().join("\n")
}

fn page<'d>(document: &'d PageDocument, headings: &'d str) -> IndexedPage<'d> {
    IndexedPage {
        id: &document.id,
        url: &document.url,
        host: &document.host,
        title: document.title.as_deref(),
        headings,
        language: document.language.as_deref(),
        text: document.text.as_deref().unwrap_or_default(),
        fetched_at: document.fetched_at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_repository::storage::FileStorage;

    #[test]
    fn the_end_is_heard_while_the_index_is_read_and_while_another_writes() {
        let data = tempfile::tempdir().unwrap();
        let storage = FileStorage::existing(data.path()).unwrap();
        let never = || false;
        let index = LocalIndex::new(data.path(), &storage, &[], &never).unwrap();
        // Its writer goes on, and holds the folder.
        assert_eq!(opened(&folder(data.path()), &|| true).err(), Some(SearchError::Ended));
        index.send(&[]).unwrap();
        drop(index);
        let url = recrawl_types::UrlRules::keep_all().canonicalize("https://a.example/").unwrap();
        let document = PageDocument {
            id: id(&url),
            version: 1,
            url: url.to_string(),
            host: "a.example".into(),
            title: None,
            language: None,
            content_type: None,
            status: 200,
            fetched_at: 1,
            changes: 0,
            text: Some("words".into()),
            fields: Default::default(),
        };
        let index = LocalIndex::new(data.path(), &storage, &[Pattern::host("a.example").unwrap()], &|| true);
        let index = index.unwrap();
        index.send(&[CopyItem::Put(Box::new(document))]).unwrap();
        // Its segment is written anew.
        let told = index.send(&[CopyItem::Delete(url)]).unwrap_err();
        assert!(told.ends_with("the program ends, or has another configuration"), "{told}");
    }
}

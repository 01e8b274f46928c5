//! Writes an index.

use crate::error::{SearchError, guarded};
use crate::schema::FIELDS;
use crate::words::{marked, tokenizers};
use recrawl_focus::Language;
use recrawl_focus::words::head;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::thread;
use std::time::Duration;
use tantivy::directory::MmapDirectory;
use tantivy::index::{SegmentId, SegmentMeta};
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy, NoMergePolicy};
use tantivy::schema::Value;
use tantivy::store::Compressor;
use tantivy::{Index, IndexBuilder, IndexSettings, ReloadPolicy, TantivyDocument, Term};

/// Memory for words that are not written yet.
const MEMORY: usize = 20 << 20;
/// Deleted pages of a segment after which it is written anew.
const MAX_DELETED: f32 = 0.2;
/// Pages of a segment that is not merged with others any more: a merge is to end within a minute.
const MAX_MERGED: usize = 100_000;
/// Bytes of a text from which its language is guessed, where it declares none.
const GUESSED: usize = 1024;
/// The file in which tantivy lists the files of an index.
const MANAGED: &str = ".managed.json";
/// Interval at which the end of merges is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A page as it is indexed.
#[derive(Clone, Copy, Debug)]
pub struct IndexedPage<'p> {
    /// One word that names it. Another page with this id is replaced.
    pub id: &'p str,
    /// As it is shown.
    pub url: &'p str,
    /// Host name.
    pub host: &'p str,
    /// Title, if there is one.
    pub title: Option<&'p str>,
    /// Tag of the language that it declares; else it is guessed.
    pub language: Option<&'p str>,
    /// Its text.
    pub text: &'p str,
    /// Time of the text, in seconds since 1970.
    pub fetched_at: u64,
}

/// The only one who writes to an index.
pub struct IndexWriter {
    writer: tantivy::IndexWriter,
}

/// Reads all files of an index.
///
/// # Errors
/// That there is no index, or it is damaged or of another version, or it cannot be read.
pub fn check(folder: &Path) -> Result<(), SearchError> {
    guarded(|| {
        let index = open(folder)?;
        // Without its list of files, tantivy would check none.
        if !folder.join(MANAGED).is_file() {
            return Err(SearchError::Damaged(format!("{MANAGED} is missing")));
        }
        let damaged = index.validate_checksum()?;
        match damaged.iter().next() {
            None => Ok(()),
            Some(file) => {
                Err(SearchError::Damaged(format!("{} has other bytes than were written", file.display())))
            }
        }
    })
}

/// The index of a folder.
pub(crate) fn open(folder: &Path) -> Result<Index, SearchError> {
    let directory = MmapDirectory::open(folder).map_err(tantivy::TantivyError::from)?;
    let mut index = Index::open(directory)?;
    if index.schema() != FIELDS.schema {
        return Err(SearchError::Damaged("it is of another version of recrawl".into()));
    }
    index.set_tokenizers(tokenizers());
    Ok(index)
}

impl IndexWriter {
    /// Opens the index of a folder.
    ///
    /// # Errors
    /// As [`check`], which it does not replace, or that somebody else writes to it.
    pub fn open(folder: &Path) -> Result<IndexWriter, SearchError> {
        guarded(|| IndexWriter::new(&open(folder)?))
    }

    /// Begins an empty index. Removes one that is there.
    ///
    /// # Errors
    /// When a file cannot be removed or written.
    pub fn create(folder: &Path) -> Result<IndexWriter, SearchError> {
        let failed = |e: io::Error| SearchError::Failed(format!("cannot begin {}: {e}", folder.display()));
        match fs::remove_dir_all(folder) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(failed(e)),
            _ => fs::create_dir_all(folder).map_err(failed)?,
        }
        guarded(|| {
            let directory = MmapDirectory::open(folder).map_err(tantivy::TantivyError::from)?;
            let settings =
                IndexSettings { docstore_compression: Compressor::None, ..IndexSettings::default() };
            let builder = IndexBuilder::new().schema(FIELDS.schema.clone()).settings(settings);
            IndexWriter::new(&builder.tokenizers(tokenizers()).open_or_create(directory)?)
        })
    }

    fn new(index: &Index) -> Result<IndexWriter, SearchError> {
        let options = IndexWriterOptions::builder();
        let options = options.num_worker_threads(1).num_merge_threads(1).memory_budget_per_thread(MEMORY);
        let writer = index.writer_with_options(options.build())?;
        writer.set_merge_policy(merge_policy());
        // A kill leaves files of a commit that was not made. The next one would have the same names.
        writer.garbage_collect_files().wait()?;
        Ok(IndexWriter { writer })
    }

    /// Puts a page in place of one with its id, from the next commit on.
    ///
    /// # Errors
    /// When a thread of the index has failed, mostly since the disk is full. Then this writer is of no more use.
    pub fn put(&mut self, page: &IndexedPage<'_>) -> Result<(), SearchError> {
        let IndexedPage { id, url, host, title, language, text, fetched_at } = *page;
        let fields = &*FIELDS;
        let language = Language::of_page(language, head(text, GUESSED));
        let mut document = TantivyDocument::new();
        document.add_text(fields.id, id);
        document.add_text(fields.url, url);
        document.add_text(fields.language, language.name());
        document.add_u64(fields.fetched_at, fetched_at);
        hosts(host).for_each(|host| document.add_text(fields.host, host));
        if let Some(title) = title.filter(|title| !title.is_empty()) {
            document.add_text(fields.shown_title, title);
            document.add_text(fields.title, marked(language, title));
            document.add_text(fields.text, marked(language, title));
        }
        document.add_text(fields.text, marked(language, text));
        self.delete(id);
        self.writer.add_document(document)?;
        Ok(())
    }

    /// Removes a page, if it is there, from the next commit on.
    pub fn delete(&mut self, id: &str) {
        self.writer.delete_term(Term::from_field_text(FIELDS.id, id));
    }

    /// Stores what was put and deleted: all of it, durably, or nothing.
    ///
    /// # Errors
    /// As [`IndexWriter::put`].
    pub fn commit(&mut self) -> Result<(), SearchError> {
        guarded(|| Ok(self.writer.commit().map(|_| ())?))
    }

    /// Commits, and writes segments anew that have deleted pages, so that no word of these stays.
    ///
    /// # Errors
    /// As [`IndexWriter::put`].
    pub fn purge(self) -> Result<IndexWriter, SearchError> {
        guarded(|| {
            let IndexWriter { mut writer } = self;
            writer.commit()?;
            // A segment that is being merged cannot be merged again.
            writer.set_merge_policy(Box::new(NoMergePolicy));
            let index = writer.index().clone();
            writer.wait_merging_threads()?;
            let mut writer = IndexWriter::new(&index)?.writer;
            writer.set_merge_policy(Box::new(NoMergePolicy));
            while let Some(segment) = deleted_segment(&index)? {
                writer.merge(&[segment]).wait()?;
            }
            writer.garbage_collect_files().wait()?;
            writer.set_merge_policy(merge_policy());
            Ok(IndexWriter { writer })
        })
    }

    /// Removes pages, durably and to the last word. `gone` gives the id of a URL whose page is to go. Gives the number of
    /// removed pages.
    ///
    /// # Errors
    /// As [`IndexWriter::put`], or when the index cannot be read.
    pub fn remove(
        mut self,
        gone: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(IndexWriter, u64), SearchError> {
        let removed = guarded(|| {
            let reader =
                self.writer.index().reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
            let mut removed = 0;
            for segment in reader.searcher().segment_readers() {
                for document in segment.get_store_reader(1)?.iter::<TantivyDocument>(segment.alive_bitset()) {
                    let document = document?;
                    let url = document.get_first(FIELDS.url).and_then(|url| url.as_str());
                    if let Some(id) = url.and_then(gone) {
                        self.delete(&id);
                        removed += 1;
                    }
                }
            }
            Ok(removed)
        })?;
        // Pages that left the index before still have their words in its segments.
        let is_clean = removed == 0 && guarded(|| deleted_segment(self.writer.index()))?.is_none();
        Ok((if is_clean { self } else { self.purge()? }, removed))
    }

    /// Waits for the merges in the background, as long as not `is_ended`.
    pub fn settle(self, is_ended: &dyn Fn() -> bool) {
        let waiting = thread::spawn(move || self.writer.wait_merging_threads());
        while !waiting.is_finished() && !is_ended() {
            thread::sleep(LOOK_EVERY);
        }
    }
}

/// A segment with deleted pages.
fn deleted_segment(index: &Index) -> Result<Option<SegmentId>, SearchError> {
    let segments = index.searchable_segment_metas()?;
    Ok(segments.iter().find(|segment| segment.has_deletes()).map(SegmentMeta::id))
}

fn merge_policy() -> Box<LogMergePolicy> {
    let mut policy = LogMergePolicy::default();
    policy.set_del_docs_ratio_before_merge(MAX_DELETED);
    policy.set_max_docs_before_merge(MAX_MERGED);
    Box::new(policy)
}

/// The names by which a host is found: itself, and `*.` before it and before each domain above.
fn hosts(host: &str) -> impl Iterator<Item = String> {
    let above = host.match_indices('.').map(|(dot, _)| &host[dot + 1..]);
    [host.to_owned()].into_iter().chain([host].into_iter().chain(above).map(|domain| format!("*.{domain}")))
}

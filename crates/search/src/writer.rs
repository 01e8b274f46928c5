//! Writes an index.

use crate::error::{SearchError, guarded};
use crate::folder::IndexFolder;
use crate::merging::MergeRule;
use crate::schema::FIELDS;
use crate::words::{marked, tokenizers};
use crc32fast::Hasher;
use recrawl_focus::Language;
use recrawl_focus::words::head;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tantivy::directory::FileSlice;
use tantivy::directory::footer::Footer;
use tantivy::index::{SegmentId, SegmentMeta};
use tantivy::indexer::{IndexWriterOptions, NoMergePolicy};
use tantivy::schema::Value;
use tantivy::store::Compressor;
use tantivy::{Index, IndexBuilder, IndexSettings, ReloadPolicy, TantivyDocument, Term};

/// Memory for words that are not written yet.
const MEMORY: usize = 20 << 20;
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
    /// Headings of its text, one a line.
    pub headings: &'p str,
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

/// Reads all files of an index by calls, so that a sector that cannot be read is an error. Breaks off when `is_ended`,
/// which is asked for each MiB.
///
/// # Errors
/// That there is no index, or it is damaged or of another version, or it cannot be read.
pub fn check(folder: &Path, is_ended: &dyn Fn() -> bool) -> Result<(), SearchError> {
    guarded(|| {
        let index = open(IndexFolder::to_read(folder)?)?;
        // Without its list of files, tantivy would remove none.
        if !folder.join(MANAGED).is_file() {
            return Err(SearchError::Damaged(format!("{MANAGED} is missing")));
        }
        let written = index.directory().list_managed_files();
        let files = index.load_metas()?.list_segment_files();
        // A segment has some of the files that are named.
        for file in files.intersection(&written) {
            if !is_as_written(&folder.join(file), is_ended)? {
                let why = format!("{} has other bytes than were written", file.display());
                return Err(SearchError::Damaged(why));
            }
        }
        Ok(())
    })
}

fn is_as_written(file: &Path, is_ended: &dyn Fn() -> bool) -> Result<bool, SearchError> {
    let missing = |e: io::Error| match e.kind() {
        ErrorKind::NotFound => SearchError::Damaged(format!("{} is missing", file.display())),
        _ => e.into(),
    };
    let (footer, body) = Footer::extract_footer(FileSlice::open(file).map_err(missing)?)?;
    let mut hasher = Hasher::new();
    for piece in body.stream_file_chunks() {
        if is_ended() {
            return Err(SearchError::Ended);
        }
        hasher.update(&piece?);
    }
    Ok(hasher.finalize() == footer.crc)
}

/// The index of a folder.
pub(crate) fn open(folder: IndexFolder) -> Result<Index, SearchError> {
    let mut index = Index::open(folder)?;
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
        guarded(|| IndexWriter::new(&open(IndexFolder::to_write(folder)?)?))
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
            let settings =
                IndexSettings { docstore_compression: Compressor::None, ..IndexSettings::default() };
            let builder = IndexBuilder::new().schema(FIELDS.schema.clone()).settings(settings);
            IndexWriter::new(
                &builder.tokenizers(tokenizers()).open_or_create(IndexFolder::to_write(folder)?)?,
            )
        })
    }

    fn new(index: &Index) -> Result<IndexWriter, SearchError> {
        let options = IndexWriterOptions::builder();
        let options = options.num_worker_threads(1).num_merge_threads(1).memory_budget_per_thread(MEMORY);
        let writer = index.writer_with_options(options.build())?;
        writer.set_merge_policy(Box::new(MergeRule::default()));
        // A kill leaves files of a commit that was not made. The next one would have the same names.
        writer.garbage_collect_files().wait()?;
        Ok(IndexWriter { writer })
    }

    /// Puts a page in place of one with its id, from the next commit on.
    ///
    /// # Errors
    /// When a thread of the index has failed, mostly since the disk is full. Then this writer is of no more use.
    pub fn put(&mut self, page: &IndexedPage<'_>) -> Result<(), SearchError> {
        let IndexedPage { id, url, host, title, headings, language, text, fetched_at } = *page;
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
        if !headings.is_empty() {
            document.add_text(fields.headings, marked(language, headings));
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

    /// Commits, and writes segments anew that have deleted pages, so that no word of these stays. Breaks off when `is_ended`;
    /// the segment that is being written then ends in the background.
    ///
    /// # Errors
    /// As [`IndexWriter::put`].
    pub fn purge(mut self, is_ended: &dyn Fn() -> bool) -> Result<IndexWriter, SearchError> {
        self.commit()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let purging = thread::spawn({
            let is_over = is_over.clone();
            move || guarded(|| self.write_anew(&is_over))
        });
        wait(&purging, is_ended);
        if purging.is_finished() {
            return purging.join().expect("panics are caught");
        }
        is_over.store(true, Relaxed);
        Err(SearchError::Ended)
    }

    fn write_anew(self, is_over: &AtomicBool) -> Result<IndexWriter, SearchError> {
        let IndexWriter { writer } = self;
        // A segment that is being merged cannot be merged again.
        writer.set_merge_policy(Box::new(NoMergePolicy));
        let index = writer.index().clone();
        writer.wait_merging_threads()?;
        let mut writer = IndexWriter::new(&index)?.writer;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        while let Some(segment) = deleted_segment(&index)? {
            if is_over.load(Relaxed) {
                return Err(SearchError::Ended);
            }
            writer.merge(&[segment]).wait()?;
        }
        writer.garbage_collect_files().wait()?;
        writer.set_merge_policy(Box::new(MergeRule::default()));
        Ok(IndexWriter { writer })
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
        Ok((if is_clean { self } else { self.purge(&|| false)? }, removed))
    }

    /// Waits for the merges in the background, as long as not `is_ended`.
    pub fn settle(self, is_ended: &dyn Fn() -> bool) {
        wait(&thread::spawn(move || self.writer.wait_merging_threads()), is_ended);
    }
}

/// Waits for the end of a thread, unless `is_ended`.
fn wait<T>(thread: &JoinHandle<T>, is_ended: &dyn Fn() -> bool) {
    while !thread.is_finished() && !is_ended() {
        thread::sleep(LOOK_EVERY);
    }
}

/// A segment with deleted pages.
fn deleted_segment(index: &Index) -> Result<Option<SegmentId>, SearchError> {
    let segments = index.searchable_segment_metas()?;
    Ok(segments.iter().find(|segment| segment.has_deletes()).map(SegmentMeta::id))
}

/// The names by which a host is found: itself, and `*.` before it and before each domain above.
fn hosts(host: &str) -> impl Iterator<Item = String> {
    let above = host.match_indices('.').map(|(dot, _)| &host[dot + 1..]);
    [host.to_owned()].into_iter().chain([host].into_iter().chain(above).map(|domain| format!("*.{domain}")))
}

//! Reads the contents of a data set: one JSON object a line, by page and version.

use crate::links::LinkTargets;
use crate::text::Text;
use crate::vocabulary::Vocabulary;
use recrawl_simulation::contents::NO_TEXT;
use recrawl_simulation::format::{LineReader, native};
use recrawl_simulation::{Contents, Dataset, DatasetError, ReplayDocument};
use serde::Deserialize;
use std::borrow::Cow;
use std::path::Path;

/// Maximum bytes of a line: a content as JSON. The largest recorded one has 1.1 MB.
pub const MAX_TEXT_LINE: usize = 32 << 20;
/// Maximum counts of words in all documents together: 8 bytes each. The largest recorded set has 24 million.
pub const MAX_COUNTS: usize = 250_000_000;

/// A line.
#[derive(Deserialize)]
struct Version<'a> {
    page_id: u64,
    cycle: u32,
    version: u16,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

/// The part that is read so far.
struct ContentsReader {
    text: Text,
    vocabulary: Vocabulary,
    targets: LinkTargets,
    documents: Vec<ReplayDocument>,
    in_force: Vec<Box<[(u32, u32)]>>,
    /// Page and version of the line before.
    before: Option<(u64, u16)>,
    /// The first cycle of each version of the page of the line before.
    first_shown: Vec<u32>,
    counts: usize,
}

/// Reads the contents of a data set from its folder.
///
/// # Errors
/// If the folder has no contents, a file cannot be read or is invalid, or a limit is exceeded; the message names file
/// and line. If the folder's pages are not those of the data set.
pub fn read(data: &Dataset, folder: &Path) -> Result<Contents, DatasetError> {
    let mut lines = open(folder)?;
    let (mut paths, mut titles) = (Vec::new(), Vec::new());
    native::read_texts(folder, |page| {
        let known = data.pages.get(paths.len()).is_some_and(|known| *known.url == *page.name);
        if !known {
            return Err("not a page of the data set in memory; read contents before a part is taken".into());
        }
        paths.push(page.path.into());
        titles.push(page.title.to_owned());
        Ok::<(), String>(())
    })?;
    if titles.len() != data.pages.len() {
        return Err(DatasetError::whole(folder, "fewer pages than the data set in memory; read it again"));
    }
    let mut vocabulary = Vocabulary::default();
    let mut words_of = |title: &String| -> Result<Box<[u32]>, String> {
        Ok(vocabulary.count(title)?.into_iter().map(|(word, _)| word).collect())
    };
    let titles = titles.iter().map(&mut words_of).collect::<Result<_, _>>();
    let titles = titles.map_err(|what| DatasetError::whole(folder, what))?;
    let mut reader = ContentsReader {
        text: Text::default(),
        vocabulary,
        targets: LinkTargets::new(data.pages.iter().map(|page| &*page.url), paths),
        documents: Vec::new(),
        in_force: Vec::with_capacity(data.pages.len()),
        before: None,
        first_shown: Vec::new(),
        counts: 0,
    };
    // Versions in the place of documents, until these are known.
    let each = |page: usize, changes: &[(u32, u16)]| -> Result<(), DatasetError> {
        let changes = changes.iter().map(|&(cycle, version)| (cycle, u32::from(version)));
        reader.in_force.push(std::iter::once((data.pages[page].first, 0)).chain(changes).collect());
        Ok(())
    };
    data.truth.try_each_page(each)?;
    let mut numbers = Vec::new();
    while let Some(line) = lines.next_line()? {
        let added = reader.add(line, &mut numbers);
        added.map_err(|what| lines.wrong(what))?;
    }
    reader.leave_page(&numbers);
    // The lines may end before the pages do: those behind have no text.
    let seen = reader.before.map_or(0, |(page, _)| page as usize + 1);
    reader.in_force[seen..].iter_mut().flatten().for_each(|entry| entry.1 = NO_TEXT);
    let words = reader.vocabulary.into_words().into();
    Ok(Contents::new(words, reader.documents, reader.in_force, titles))
}

fn open(folder: &Path) -> Result<LineReader, DatasetError> {
    let path = folder.join(native::CONTENTS);
    if !path.is_file() {
        return Err(DatasetError::NoContents { path: folder.to_owned() });
    }
    LineReader::open_bounded(&path, MAX_TEXT_LINE)
}

impl ContentsReader {
    /// Adds a line. `numbers` has the documents of the page of the line before, by version.
    fn add(&mut self, line: &str, numbers: &mut Vec<u32>) -> Result<(), String> {
        let Version { page_id, cycle, version, text } = serde_json::from_str(line).map_err(|e| {
            format!(
                "not an object with page_id, cycle, version and text as the data set README has them: {e}"
            )
        })?;
        let pages = self.in_force.len() as u64;
        if page_id >= pages {
            return Err(format!("page_id {page_id}: the data set has pages 0 to {}", pages - 1));
        }
        // In this order, one page at a time is in memory.
        if let Some((page, last)) = self.before.filter(|&before| before >= (page_id, version)) {
            return Err(format!(
                "version {version} of page {page_id} after version {last} of page {page}: order by page and version"
            ));
        }
        let page = page_id as usize;
        if self.before.is_none_or(|(before, _)| before != page_id) {
            self.leave_page(numbers);
            numbers.clear();
            let passed = self.before.map_or(0, |(before, _)| before as usize + 1);
            self.in_force[passed..page].iter_mut().flatten().for_each(|entry| entry.1 = NO_TEXT);
            self.first_shown.clear();
            for &(from, version) in &self.in_force[page] {
                // A version not shown before has the next number.
                if version as usize == self.first_shown.len() {
                    self.first_shown.push(from);
                }
            }
        }
        match self.first_shown.get(usize::from(version)) {
            None => {
                let last = self.first_shown.len() - 1;
                return Err(format!("version {version} of page {page_id}: its last version is {last}"));
            }
            Some(&first) if first != cycle => {
                return Err(format!(
                    "cycle {cycle} of version {version} of page {page_id}: it is first shown in cycle {first}"
                ));
            }
            Some(_) => {}
        }
        let document = self.document(page, &text)?;
        numbers.resize(usize::from(version), NO_TEXT);
        numbers.push(self.documents.len() as u32);
        self.documents.push(document);
        self.before = Some((page_id, version));
        Ok(())
    }

    /// Replaces the versions of the page of the line before by its documents.
    fn leave_page(&mut self, numbers: &[u32]) {
        if let Some((page, _)) = self.before {
            for (_, version) in &mut self.in_force[page as usize] {
                *version = numbers.get(*version as usize).copied().unwrap_or(NO_TEXT);
            }
        }
    }

    fn document(&mut self, page: usize, text: &str) -> Result<ReplayDocument, String> {
        self.text.read(text);
        let words = self.vocabulary.count(&self.text.visible)?;
        self.counts += words.len();
        if self.counts > MAX_COUNTS {
            return Err(format!("more than {MAX_COUNTS} counts of words; split the data set"));
        }
        let (links, links_out) = self.targets.resolve(page, self.text.targets());
        Ok(ReplayDocument {
            words: words.into(),
            bytes: text.len() as u32,
            images: self.text.images,
            tables: self.text.tables,
            addresses: self.text.addresses(),
            links_out,
            links,
            kind: self.targets.kind(page),
        })
    }
}

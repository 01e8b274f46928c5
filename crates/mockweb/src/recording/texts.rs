//! The contents of a recording, compressed, with fast access to any version of any page.
//!
//! Versions of a page are similar. Each version is a zstd frame whose dictionary is an earlier
//! version of the same page, the key text. Every sixteenth version is a new key text, because pages
//! drift. A read unpacks at most two frames. 1.3 GB of recorded text take about 100 MB. One stream
//! over everything would be smaller, but would have no random access.

use super::RecordingError;
use super::align::Alignment;
use super::source::RecordingSource;
use super::table::Table;
use serde::Deserialize;
use std::borrow::Cow;
use std::io::{Cursor, Read, Write};

const LEVEL: i32 = 3;
/// Versions between key texts.
const KEY_EVERY: u32 = 16;
/// Maximum bytes of one version's text; the longest recorded one has 1.1 MB.
pub const MAX_TEXT_BYTES: usize = 64 << 20;

#[derive(Clone, Copy)]
struct Frame {
    start: u64,
    bytes: u32,
    unpacked: u32,
    /// The frame whose text is this one's dictionary; its own number if it is a key text.
    key: u32,
}

/// The contents of a recording by page and version.
pub struct RecordedTexts {
    packed: Vec<u8>,
    frames: Vec<Frame>,
    /// The frame of each version, page by page.
    by_version: Vec<u32>,
    /// Start of each page in `by_version`, and the end.
    starts: Vec<u32>,
}

/// One line of `content.jsonl.zst`.
#[derive(Deserialize)]
pub(super) struct ContentLine<'a> {
    pub(super) page_id: u32,
    pub(super) version: u32,
    #[serde(borrow)]
    pub(super) text: Cow<'a, str>,
}

const ABSENT: u32 = u32::MAX;

impl RecordedTexts {
    /// Reads the contents of all sources as streams and keeps those in the alignment.
    pub(super) fn read(
        sources: &[RecordingSource],
        tables: &[Table],
        aligned: &Alignment,
    ) -> Result<RecordedTexts, RecordingError> {
        let mut starts = vec![0];
        for page in &aligned.pages {
            starts.push(starts[starts.len() - 1] + page.old_versions.len() as u32);
        }
        let by_version = vec![ABSENT; starts[starts.len() - 1] as usize];
        let mut texts = RecordedTexts { packed: Vec::new(), frames: Vec::new(), by_version, starts };
        let mut key = TextKey { page: ABSENT, frame: 0, uses: 0, text: Vec::new() };
        for_each(sources, tables, aligned, |page, version, text| {
            let frame = texts.add(page, text.as_bytes(), &mut key)?;
            let slot = texts.starts[page as usize] + version;
            texts.by_version[slot as usize] = frame;
            Ok(())
        })?;
        if let Some(slot) = texts.by_version.iter().position(|&frame| frame == ABSENT) {
            let page = texts.starts.partition_point(|&start| start as usize <= slot) - 1;
            let source = &sources[aligned.pages[page].source];
            let version = slot - texts.starts[page] as usize;
            return Err(RecordingError::Line {
                path: source.path("content.jsonl.zst"),
                line: 0,
                why: format!("no text for version {version} of {:?}", aligned.pages[page].page.path),
            });
        }
        texts.packed.shrink_to_fit();
        Ok(texts)
    }

    fn add(&mut self, page: u32, text: &[u8], key: &mut TextKey) -> std::io::Result<u32> {
        let number = self.frames.len() as u32;
        let is_key = key.page != page || key.uses == KEY_EVERY;
        let start = self.packed.len() as u64;
        if is_key {
            pack(text, &[], &mut self.packed)?;
            *key = TextKey { page, frame: number, uses: 0, text: text.to_vec() };
        } else {
            pack(text, &key.text, &mut self.packed)?;
        }
        key.uses += 1;
        let bytes = (self.packed.len() as u64 - start) as u32;
        self.frames.push(Frame { start, bytes, unpacked: text.len() as u32, key: key.frame });
        Ok(number)
    }

    /// The text of a version, as recorded.
    ///
    /// # Panics
    /// If the page has no such version, or its memory is damaged.
    pub fn text(&self, page: u32, version: u32) -> String {
        let number = self.by_version[(self.starts[page as usize] + version) as usize];
        let frame = self.frames[number as usize];
        let bytes = if frame.key == number {
            self.unpack(frame, &[])
        } else {
            self.unpack(frame, &self.unpack(self.frames[frame.key as usize], &[]))
        };
        String::from_utf8(bytes).expect("a text was UTF-8 when it was packed")
    }

    fn unpack(&self, frame: Frame, dictionary: &[u8]) -> Vec<u8> {
        let packed = &self.packed[frame.start as usize..][..frame.bytes as usize];
        let mut text = Vec::with_capacity(frame.unpacked as usize);
        zstd::stream::read::Decoder::with_ref_prefix(Cursor::new(packed), dictionary)
            .and_then(|mut decoder| decoder.read_to_end(&mut text))
            .expect("a frame packed by this process can be unpacked");
        text
    }

    /// Memory of the contents in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.packed.len()
            + self.frames.len() * size_of::<Frame>()
            + (self.by_version.len() + self.starts.len()) * size_of::<u32>()
    }
}

/// The current key text while reading.
struct TextKey {
    page: u32,
    frame: u32,
    uses: u32,
    text: Vec<u8>,
}

fn pack(text: &[u8], dictionary: &[u8], out: &mut Vec<u8>) -> std::io::Result<()> {
    let mut encoder = zstd::stream::write::Encoder::with_ref_prefix(out, LEVEL, dictionary)?;
    // The window must cover the whole dictionary.
    let reach = (dictionary.len() + text.len()).next_power_of_two().trailing_zeros();
    encoder.window_log(reach.clamp(10, 27))?;
    encoder.set_pledged_src_size(Some(text.len() as u64))?;
    encoder.include_contentsize(false)?;
    encoder.write_all(text)?;
    encoder.finish()?;
    Ok(())
}

/// Calls `each` with (page, version, text), numbered as in the alignment, for every content in it.
/// A page's contents are consecutive.
pub(super) fn for_each(
    sources: &[RecordingSource],
    tables: &[Table],
    aligned: &Alignment,
    mut each: impl FnMut(u32, u32, &str) -> std::io::Result<()>,
) -> Result<(), RecordingError> {
    for (number, source) in sources.iter().enumerate() {
        let mut new_ids = vec![ABSENT; tables[number].pages.len()];
        for (id, page) in aligned.pages.iter().enumerate().filter(|(_, page)| page.source == number) {
            new_ids[page.old_id as usize] = id as u32;
        }
        let mut lines = source.content()?;
        let mut before = None;
        while let Some(line) = lines.next_line()? {
            let content = match checked(line, before, new_ids.len()) {
                Ok(content) => content,
                Err(why) => return Err(lines.error(why)),
            };
            before = Some((content.page_id, content.version));
            let id = new_ids[content.page_id as usize];
            if id == ABSENT {
                continue;
            }
            let versions = &aligned.pages[id as usize].old_versions;
            if let Some(version) = versions.iter().position(|&old| old == content.version) {
                each(id, version as u32, &content.text)
                    .map_err(|cause| RecordingError::Io { path: source.path("content.jsonl.zst"), cause })?;
            }
        }
    }
    Ok(())
}

/// Parses a line and checks its order after the previous one.
fn checked(line: &str, before: Option<(u32, u32)>, pages: usize) -> Result<ContentLine<'_>, String> {
    let content: ContentLine = serde_json::from_str(line).map_err(|e| e.to_string())?;
    if content.page_id as usize >= pages {
        return Err(format!("page_id {} is not in pages.tsv.gz", content.page_id));
    }
    if before.is_some_and(|before| before >= (content.page_id, content.version)) {
        return Err("contents are not ordered by page and version".into());
    }
    if content.text.len() > MAX_TEXT_BYTES {
        return Err(format!("the text is longer than {MAX_TEXT_BYTES} bytes"));
    }
    Ok(content)
}

//! A block that a merge edits. Its keys stay as they lie on disk, and of visited pages only those are unpacked that are asked for.

use crate::file::error::ReadError;
use crate::file::format::unpack_frame;
use crate::generation::contents::{Packable, StoredContents};
use crate::generation::front_coded::{FrontCoded, KeyGap, KeyPlace};
use crate::generation::index::FramedFile;
use crate::generation::page_block::{Changed, PackedBlock, PackedPages, PackedPiece, Scratch, pack_piece};
use recrawl_types::{History, KeyRows, Known, PageRecord, Visited};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// A block that is edited. The default has no page.
#[derive(Default)]
pub struct OpenBlock {
    keys: FrontCoded,
    visited: Vec<bool>,
    known: Vec<Known>,
    /// None when only [`BlockExtent::Known`](crate::BlockExtent::Known) was read, and without any page.
    past: Option<Past>,
}

/// What visited pages have.
#[derive(Default)]
struct Past {
    /// The rows of the visited pages that were read.
    rows: Vec<usize>,
    histories: Vec<History>,
    contents: StoredContents,
    /// By row; instead of what was read.
    put: BTreeMap<usize, Visited>,
}

/// Pages that are new to a block, in order. Most were never visited, and a visited page's part is many times the size of
/// what every known page has; so it is kept apart.
#[derive(Default)]
pub struct NewPages {
    keys: KeyRows,
    gaps: Vec<KeyGap>,
    known: Vec<Known>,
    is_visited: Vec<bool>,
    /// Of the visited ones.
    visited: Vec<Visited>,
}

impl NewPages {
    /// Number of pages.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Is there no page?
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Adds a page, whose key comes behind those before it.
    pub fn push(&mut self, key: &[u8], gap: KeyGap, record: PageRecord) {
        self.keys.push(key);
        self.gaps.push(gap);
        self.known.push(record.known);
        self.is_visited.push(record.visited.is_some());
        self.visited.extend(record.visited);
    }
}

impl PackedBlock {
    /// Checks and opens what was read, and finds the places of URLs in it, which must ascend.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn open<'u>(
        &self,
        urls: impl Iterator<Item = &'u [u8]>,
        scratch: &mut Scratch,
    ) -> Result<(OpenBlock, Vec<KeyPlace>), ReadError> {
        let frame = self.frame(FramedFile::Keys);
        let (keys, places) = unpack_frame(&frame.bytes, FramedFile::Keys.kind())
            .and_then(|keys| FrontCoded::take(keys, self.pages, urls))
            .map_err(|malformed| self.damaged(FramedFile::Keys, malformed.0))?;
        if keys.first() != self.key {
            return Err(self.damaged(FramedFile::Keys, "its first key differs from the index"));
        }
        let (visited, known) = self.known(scratch)?;
        let mut block = OpenBlock { keys, visited, known, past: None };
        if self.frames[FramedFile::History as usize].is_some() {
            let rows = (0..self.pages).filter(|&row| block.visited[row]).collect();
            let histories = self.histories(scratch)?;
            let contents = self.part(FramedFile::Content, &mut scratch.payload, |payload, _| {
                StoredContents::take(payload, self.visited)
            })?;
            block.past = Some(Past { rows, histories, contents, put: BTreeMap::new() });
        }
        Ok((block, places))
    }
}

impl OpenBlock {
    /// Pages.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Is there no page?
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The places of URLs, which must ascend.
    pub fn find<'u>(&self, urls: impl Iterator<Item = &'u [u8]>) -> Vec<KeyPlace> {
        self.keys.find(urls).expect("the keys were checked")
    }

    /// Was the page in `row` ever visited?
    pub fn is_visited(&self, row: usize) -> bool {
        self.visited[row]
    }

    /// What every known page has, of the page in `row`.
    pub fn known(&self, row: usize) -> &Known {
        &self.known[row]
    }

    /// The same, to be changed.
    pub fn known_mut(&mut self, row: usize) -> &mut Known {
        &mut self.known[row]
    }

    /// The record of the page in `row`.
    ///
    /// # Panics
    /// When the page was visited and only [`BlockExtent::Known`](crate::BlockExtent::Known) was read.
    pub fn record(&self, row: usize) -> PageRecord {
        let visited = self.visited[row].then(|| self.read_past().get(row));
        PageRecord { known: self.known[row], visited }
    }

    /// Puts a record in the place of the one in `row`.
    ///
    /// # Panics
    /// When the page was visited and `record` or what was read says otherwise.
    pub fn put_record(&mut self, row: usize, record: PageRecord) {
        assert!(record.visited.is_some() || !self.visited[row], "a visited page stays one");
        self.known[row] = record.known;
        self.visited[row] = record.visited.is_some();
        if let Some(visited) = record.visited {
            self.past.as_mut().expect("the pasts were read").put.insert(row, visited);
        }
    }

    /// Moves the pages from this key on into a block of their own.
    #[must_use]
    pub fn split_before(&mut self, key: &[u8]) -> OpenBlock {
        let place = self.find([key].into_iter()).pop().expect("a place for the key");
        let row = match place {
            KeyPlace::Known(row) => row,
            KeyPlace::New(gap) => gap.row,
        };
        let mut pieces = self.keys.cut(&[row]);
        let keys = pieces.pop().expect("a cut leaves two pieces");
        self.keys = pieces.pop().expect("a cut leaves two pieces");
        OpenBlock {
            keys,
            visited: self.visited.split_off(row),
            known: self.known.split_off(row),
            past: self.past.as_mut().map(|past| past.split_off(row)),
        }
    }

    /// Packs the block with pages that are new. What `changed` says is as it was on disk is not packed again. A block of more
    /// than twice `block_pages` is cut into blocks of so many or nearly so.
    ///
    /// # Panics
    /// When it has more pages, or other visited ones, than `changed` allows, or no page at all.
    pub fn pack(self, new: NewPages, changed: Changed, block_pages: usize) -> PackedPages {
        let pages = self.len() + new.len();
        assert!(pages > 0, "a block has pages");
        assert!(changed.keys || new.is_empty(), "new pages change the keys");
        let past: Vec<_> = if changed.past { self.packable(&new) } else { Vec::new() };
        let (keys, known, visited) = if new.is_empty() {
            (None, Cow::Borrowed(&*self.known), Cow::Borrowed(&*self.visited))
        } else {
            let of = |i| (new.keys.get(i), new.gaps[i]);
            let known = with(&self.known, &new.gaps, &new.known);
            let visited = with(&self.visited, &new.gaps, &new.is_visited);
            (Some(self.keys.splice((0..new.len()).map(of))), Cow::Owned(known), Cow::Owned(visited))
        };
        let keys = keys.as_ref().unwrap_or(&self.keys);
        let piece = |keys: &FrontCoded, rows: Range<usize>, past: &[_]| {
            pack_piece(&keys.first(), keys, &known[rows.clone()], &visited[rows], past, changed)
        };
        if pages <= 2 * block_pages {
            return PackedPages(vec![piece(keys, 0..pages, &past)]);
        }
        assert_eq!(changed, Changed::ALL, "what is cut must be packed anew");
        let pieces = pages.div_ceil(block_pages);
        let cuts: Vec<usize> = (1..pieces).map(|piece| piece * pages / pieces).collect();
        let (mut row, mut seen) = (0, 0);
        let mut next = |keys: &FrontCoded| -> PackedPiece {
            let rows = row..row + keys.len();
            let count = visited[rows.clone()].iter().filter(|&&v| v).count();
            (row, seen) = (rows.end, seen + count);
            piece(keys, rows, &past[seen - count..seen])
        };
        PackedPages(keys.cut(&cuts).iter().map(&mut next).collect())
    }

    fn read_past(&self) -> &Past {
        self.past.as_ref().expect("the pasts were read")
    }

    /// The visited pages, old and new, in order.
    fn packable<'b>(&'b self, new: &'b NewPages) -> Vec<(&'b History, Packable<'b>)> {
        assert!(self.past.is_some() || self.is_empty(), "the pasts were read");
        let rows = new.gaps.iter().zip(&new.is_visited).filter(|(_, is_visited)| **is_visited);
        let mut new = rows.map(|(gap, _)| gap.row).zip(&new.visited).peekable();
        let of = |visited: &'b Visited| (&visited.history, Packable::Given(&visited.content));
        let mut all = Vec::new();
        let mut rank = 0;
        for row in (0..self.len()).filter(|&row| self.visited[row]) {
            while let Some((_, visited)) = new.next_if(|(before, _)| *before <= row) {
                all.push(of(visited));
            }
            let past = self.read_past();
            let was_visited = past.rows.get(rank) == Some(&row);
            all.push(match past.put.get(&row) {
                Some(visited) => of(visited),
                None => {
                    assert!(was_visited, "a visited page was read or put");
                    (&past.histories[rank], Packable::Kept(&past.contents, rank))
                }
            });
            rank += usize::from(was_visited);
        }
        all.extend(new.map(|(_, visited)| of(visited)));
        all
    }
}

/// A column, with what is new of it in its gaps.
fn with<T: Copy>(old: &[T], gaps: &[KeyGap], new: &[T]) -> Vec<T> {
    let mut all = Vec::with_capacity(old.len() + new.len());
    let mut row = 0;
    for (gap, value) in gaps.iter().zip(new) {
        all.extend_from_slice(&old[row..gap.row]);
        all.push(*value);
        row = gap.row;
    }
    all.extend_from_slice(&old[row..]);
    all
}

impl Past {
    /// The number of a page among those that were read; none if it had no past then.
    fn rank(&self, row: usize) -> Option<usize> {
        self.rows.binary_search(&row).ok()
    }

    fn get(&self, row: usize) -> Visited {
        if let Some(visited) = self.put.get(&row) {
            return visited.clone();
        }
        let rank = self.rank(row).expect("a visited page was read or put");
        Visited { history: self.histories[rank], content: self.contents.get(rank) }
    }

    fn split_off(&mut self, row: usize) -> Past {
        let first = self.rows.partition_point(|&of| of < row);
        let read = self.rows[first..].iter().map(|&of| (of - row, self.get(of)));
        let mut tail = Past { put: read.collect(), ..Past::default() };
        tail.put.extend(self.put.split_off(&row).into_iter().map(|(of, visited)| (of - row, visited)));
        self.rows.truncate(first);
        tail
    }
}

#[cfg(test)]
mod tests;

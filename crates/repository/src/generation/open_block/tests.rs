//! A block that is edited in place is packed, byte for byte, as one that was unpacked whole.

use super::*;
use crate::BlockExtent;
use crate::file::frames::FrameSource;
use crate::generation::page_block::{PackedFrame, PageBlock};
use crate::storage::{MemoryStorage, Storage};
use crate::testing::{record, url};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use recrawl_types::CanonicalUrl;

type Pages = BTreeMap<CanonicalUrl, PageRecord>;

/// Packed as a whole, in the plain way.
fn packed_anew(pages: &Pages, changed: Changed, block_pages: usize) -> PackedPages {
    let mut block = PageBlock::default();
    pages.iter().for_each(|(url, record)| block.push(url.key(), record.clone()));
    block.pack(changed, block_pages)
}

/// As it is read back from disk.
fn on_disk(piece: &PackedPiece, extent: BlockExtent) -> PackedBlock {
    let storage = MemoryStorage::new();
    storage.create("file").unwrap();
    let source = FrameSource::open_unchecked(&storage, "file").unwrap();
    let frame = |(part, bytes): (FramedFile, &Option<Vec<u8>>)| {
        let bytes = bytes.clone().filter(|_| extent.parts().contains(&part))?;
        Some(PackedFrame { source: source.clone(), offset: 0, bytes })
    };
    let frames = FramedFile::ALL.map(|part| frame((part, &piece.frames[part as usize])));
    let (pages, visited) = (piece.pages as usize, piece.visited as usize);
    PackedBlock { pages, visited, key: piece.key.clone(), frames }
}

fn opened(pages: &Pages, extent: BlockExtent) -> PackedBlock {
    let packed = packed_anew(pages, Changed::ALL, crate::BLOCK_PAGES);
    on_disk(&packed.0[0], extent)
}

/// What one URL of a batch does: nothing that stays, a new state, a whole new record.
#[derive(Clone, Copy, Debug)]
enum Edit {
    None,
    State,
    Record,
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![Just(Edit::None), Just(Edit::State), Just(Edit::Record)]
}

/// Edits the open block and the plain pages alike; says what changed.
fn apply(
    block: &mut OpenBlock,
    places: &[KeyPlace],
    pages: &mut Pages,
    batch: &BTreeMap<CanonicalUrl, (PageRecord, Edit)>,
    extent: BlockExtent,
) -> (NewPages, Changed) {
    let (mut new, mut changed) = (NewPages::default(), Changed::default());
    for ((url, (record, edit)), place) in batch.iter().zip(places) {
        let mut record = record.clone();
        if extent == BlockExtent::Known {
            record.visited = None;
        }
        match (*place, edit) {
            (_, Edit::None) => {}
            (KeyPlace::New(gap), _) => {
                (changed.keys, changed.past) = (true, changed.past | record.visited.is_some());
                new.push(url.key(), gap, record.clone());
                pages.insert(url.clone(), record);
            }
            (KeyPlace::Known(row), Edit::State) => {
                changed.known = true;
                *block.known_mut(row) = record.known;
                pages.get_mut(url).unwrap().known = record.known;
            }
            (KeyPlace::Known(row), Edit::Record) if extent == BlockExtent::All => {
                let before = block.record(row);
                assert_eq!(&before, &pages[url]);
                record.visited = record.visited.or(before.visited);
                (changed.known, changed.past) = (true, true);
                block.put_record(row, record.clone());
                assert_eq!((&block.record(row), block.is_visited(row)), (&record, record.visited.is_some()));
                pages.insert(url.clone(), record);
            }
            (KeyPlace::Known(_), Edit::Record) => {}
        }
    }
    (new, changed)
}

proptest! {
    #[test]
    fn what_is_spliced_is_what_would_be_packed_anew(
        old in btree_map(url(), record(), 1..40),
        batch in btree_map(url(), (record(), edit()), 0..30),
        is_known in any::<bool>(),
        block_pages in 1usize..40,
    ) {
        let mut pages = old.clone();
        let extent = if is_known { BlockExtent::Known } else { BlockExtent::All };
        let keys = || batch.keys().map(CanonicalUrl::key);
        let (mut block, places) = opened(&old, extent).open(keys(), &mut Scratch::default()).unwrap();
        let (new, mut changed) = apply(&mut block, &places, &mut pages, &batch, extent);
        let mut block_pages = block_pages;
        if pages.len() > 2 * block_pages {
            // What is cut is read whole.
            if is_known { block_pages = pages.len() } else { changed = Changed::ALL }
        }
        let spliced = block.pack(new, changed, block_pages);
        prop_assert_eq!(spliced.0, packed_anew(&pages, changed, block_pages).0);
    }

    #[test]
    fn a_block_that_is_split_is_packed_as_its_parts(
        pages in btree_map(url(), record(), 1..40), at in url(), edits in vec(edit(), 40),
    ) {
        let (mut head, places) =
            opened(&pages, BlockExtent::All).open(pages.keys().map(CanonicalUrl::key), &mut Scratch::default()).unwrap();
        let (mut pages, batch) = (pages.clone(), pages.into_iter().rev());
        let batch: BTreeMap<_, _> = batch.zip(edits).map(|((url, record), edit)| (url, (record, edit))).collect();
        apply(&mut head, &places, &mut pages, &batch, BlockExtent::All);
        let tail_pages = pages.split_off(&at);
        let tail = head.split_before(at.key());
        for (block, pages) in [(head, pages), (tail, tail_pages)] {
            prop_assert_eq!(block.len(), pages.len());
            if !block.is_empty() {
                let packed = block.pack(NewPages::default(), Changed::ALL, crate::BLOCK_PAGES);
                prop_assert_eq!(packed.0, packed_anew(&pages, Changed::ALL, crate::BLOCK_PAGES).0);
            }
        }
    }
}

//! Blocks that are unpacked, changed and packed again are what a sorted map would be.

use super::*;
use crate::Repository;
use crate::generation::Generation;
use crate::storage::MemoryStorage;
use crate::testing::{record, url};
use proptest::collection::btree_map;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

type Pages = BTreeMap<CanonicalUrl, PageRecord>;

fn block_of(pages: &Pages) -> PageBlock {
    let mut block = PageBlock::default();
    pages.iter().for_each(|(url, record)| block.push(url.key(), record.clone()));
    block
}

fn pages_of(mut block: PageBlock) -> Pages {
    let rows = 0..block.len();
    rows.map(|row| (CanonicalUrl::from_key(block.key(row)).unwrap(), block.take_record(row))).collect()
}

/// A repository whose only generation is these blocks.
fn committed(blocks: &[PackedPages]) -> Arc<Generation> {
    let mut repository = Repository::open(Arc::new(MemoryStorage::new())).unwrap();
    let empty = Generation::default();
    let mut writer = repository.begin(&empty, repository.current().cycle().next()).unwrap();
    for block in blocks {
        let pieces =
            block.0.iter().map(|p| PackedPiece { frames: p.frames.clone(), key: p.key.clone(), ..*p });
        writer.append(PackedPages(pieces.collect())).unwrap();
    }
    // Origins are not what is looked at here.
    writer
        .add_to_origin(b"a", blocks.iter().flat_map(|b| &b.0).map(|p| u64::from(p.pages)).sum(), 0)
        .unwrap();
    repository.commit(writer, b"").unwrap();
    repository.current()
}

proptest! {
    #[test]
    fn new_pages_find_their_places_and_all_come_back_from_disk(
        old in btree_map(url(), record(), 1..40), new in btree_map(url(), record(), 0..20),
    ) {
        let new: Pages = new.into_iter().filter(|(url, _)| !old.contains_key(url)).collect();
        let generation = committed(&[block_of(&old).pack(Changed::ALL, BLOCK_PAGES)]);
        let packed = generation.packed_blocks().read(0, Extent::All).unwrap();
        let mut block = packed.unpack(&mut Scratch::default()).unwrap();
        prop_assert_eq!(&pages_of(block.clone()), &old);
        let at: Vec<usize> = new.keys().map(|url| old.range(..url).count()).collect();
        block.insert(block_of(&new), &at);
        let all: Pages = old.into_iter().chain(new).collect();
        prop_assert_eq!(&pages_of(block.clone()), &all);
        let again = committed(&[block.pack(Changed::ALL, BLOCK_PAGES)]);
        let back = again.packed_blocks().read(0, Extent::All).unwrap();
        prop_assert_eq!(pages_of(back.unpack(&mut Scratch::default()).unwrap()), all);
    }

    #[test]
    fn a_block_is_the_sum_of_its_halves(pages in btree_map(url(), record(), 1..40), cut in 0usize..40) {
        let mut head = block_of(&pages);
        let cut = cut % (head.len() + 1);
        let tail = head.split_off(cut);
        prop_assert_eq!((head.len(), tail.len()), (cut, pages.len() - cut));
        let both: Pages = pages_of(head).into_iter().chain(pages_of(tail)).collect();
        prop_assert_eq!(both, pages);
    }
}

#[test]
fn a_block_that_outgrows_its_size_is_cut_evenly() {
    let url = |i: usize| crate::testing::canonical(&format!("https://host.example/{i:06}"));
    let pages: Pages =
        (0..5 * BLOCK_PAGES + 7).map(|i| (url(i), PageRecord::discovered(Cycle(1), 0))).collect();
    let packed = block_of(&pages).pack(Changed::ALL, BLOCK_PAGES);
    let sizes: Vec<u32> = packed.0.iter().map(|piece| piece.pages).collect();
    assert_eq!(sizes.len(), 6);
    assert!(sizes.iter().all(|&size| (854..=856).contains(&size)), "{sizes:?}");
    let mut records = BTreeMap::new();
    let generation = committed(&[packed]);
    let mut walk = generation.records();
    while let Some((_, key, record)) = walk.next_record().unwrap() {
        records.insert(CanonicalUrl::from_key(key).unwrap(), record);
    }
    assert_eq!(records, pages);
}

//! Blocks come back from disk as they were packed.

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
        writer.append(PackedPages(block.0.clone())).unwrap();
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
    fn all_pages_come_back_from_disk(pages in btree_map(url(), record(), 1..40)) {
        let generation = committed(&[block_of(&pages).pack(Changed::ALL, BLOCK_PAGES)]);
        let packed = generation.packed_blocks().read(0, BlockExtent::All).unwrap();
        prop_assert_eq!(pages_of(packed.unpack(&mut Scratch::default()).unwrap()), pages);
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

//! Reads the part of a run that is a receiver's own. Each link is checked as a stranger's.

use super::{EachLink, MAX_VALUE, RunBlock, RunHeader, take_length};
use crate::key;
use recrawl_types::CanonicalUrl;
use recrawl_types::url::MAX_URL_BYTES;
use recrawl_vault::{Store, StoreError, VaultError, read_framed};

/// Bytes of a block at most: a record may begin before a block is full.
const MAX_BLOCK: u64 = (64 << 10) + MAX_URL_BYTES as u64 + MAX_VALUE as u64 + 6;

/// A run that is there.
#[derive(Debug)]
pub struct ReceivedRun {
    partition: u32,
    epoch: u64,
    number: u64,
    head: RunHeader,
}

/// The parts of a run that were not taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefusedParts {
    /// Runs whose heads are damaged or missing: all of their links.
    pub runs: u64,
    /// Blocks that are damaged, missing or malformed: all of their links.
    pub blocks: u64,
    /// Links whose key is no canonical URL's, or whose value the receiver refused.
    pub links: u64,
}

impl ReceivedRun {
    /// Opens a run; none if there is none.
    ///
    /// # Errors
    /// When its head is damaged, or the store does not answer.
    pub fn open(
        store: &dyn Store,
        partition: u32,
        epoch: u64,
        number: u64,
    ) -> Result<Option<ReceivedRun>, VaultError> {
        let key = key::run(partition, epoch, number);
        let Some(head) = read_framed::<RunHeader>(store, &key)? else { return Ok(None) };
        let is_before = |pair: &[RunBlock]| {
            (pair[0].part, pair[0].at) < (pair[1].part, pair[1].at) && pair[0].first < pair[1].first
        };
        if !head.blocks.windows(2).all(is_before) || head.blocks.iter().any(|block| block.bytes > MAX_BLOCK) {
            let what = "its blocks are not such as a run has".into();
            return Err(VaultError::Damaged { object: store.locate(&key), offset: 0, what });
        }
        Ok(Some(ReceivedRun { partition, epoch, number, head }))
    }

    /// The round of a run, without its blocks; none if its head is damaged: then nobody reads its links.
    ///
    /// # Errors
    /// When the store does not answer.
    pub(crate) fn round_of(
        store: &dyn Store,
        partition: u32,
        epoch: u64,
        number: u64,
    ) -> Result<Option<u32>, VaultError> {
        match ReceivedRun::open(store, partition, epoch, number) {
            Err(VaultError::Damaged { .. }) => Ok(None),
            opened => Ok(opened?.map(|run| run.round())),
        }
    }

    /// The round whose links it has.
    pub fn round(&self) -> u32 {
        self.head.round
    }

    /// Calls `each` with key and value of the links from `begin` on and before `end`, in order; it says whether it takes a
    /// link. Damage is counted, and never stops a receiver.
    ///
    /// # Errors
    /// When the store does not answer, or `each` fails.
    pub fn links_within<E: From<VaultError>>(
        &self,
        store: &dyn Store,
        (begin, end): (&[u8], Option<&[u8]>),
        each: &mut EachLink<'_, E>,
    ) -> Result<RefusedParts, E> {
        let mut refused = RefusedParts::default();
        let blocks = &self.head.blocks;
        let from = blocks.partition_point(|block| block.first.as_slice() <= begin).saturating_sub(1);
        for (at, block) in blocks.iter().enumerate().skip(from) {
            if end.is_some_and(|end| block.first.as_slice() >= end) {
                break;
            }
            let Some(bytes) = self.read(store, block).map_err(E::from)? else {
                refused.blocks += 1;
                continue;
            };
            let next = blocks.get(at + 1).map(|next| next.first.as_slice());
            // Checked whole before any link of it is taken.
            let Some(records) = records(&bytes, &block.first, next) else {
                refused.blocks += 1;
                continue;
            };
            for (key, value) in records {
                if *key < *begin || end.is_some_and(|end| &*key >= end) {
                    continue;
                }
                let is_taken = CanonicalUrl::is_key(&key) && each(&key, value)?;
                refused.links += u64::from(!is_taken);
            }
        }
        Ok(refused)
    }

    /// The bytes of a block; none if they are damaged or missing.
    fn read(&self, store: &dyn Store, block: &RunBlock) -> Result<Option<Vec<u8>>, VaultError> {
        let part = key::part(self.partition, self.epoch, self.number, block.part);
        match store.read_range(&part, block.at, block.bytes) {
            Ok(bytes) if bytes.len() as u64 == block.bytes && crc32fast::hash(&bytes) == block.crc => {
                Ok(Some(bytes))
            }
            Ok(_) | Err(StoreError::Absent(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// The records of a block, if all are well-formed, ascend, begin with the key of the block and end before that of the next.
fn records<'b>(bytes: &'b [u8], first: &[u8], next: Option<&[u8]>) -> Option<Vec<(Vec<u8>, &'b [u8])>> {
    let (mut rest, mut records) = (bytes, Vec::<(Vec<u8>, &[u8])>::new());
    while !rest.is_empty() {
        let (shared, behind, length) =
            (take_length(&mut rest)?, take_length(&mut rest)?, take_length(&mut rest)?);
        let last = records.last().map_or(&[][..], |(key, _)| key);
        let mut key = last.get(..shared)?.to_vec();
        key.extend_from_slice(rest.get(..behind)?);
        let value = rest.get(behind..behind + length)?;
        rest = &rest[behind + length..];
        let is_next = match records.is_empty() {
            true => key == first,
            false => *last < *key,
        };
        if !is_next || key.len() > MAX_URL_BYTES || length > MAX_VALUE {
            return None;
        }
        records.push((key, value));
    }
    let is_before = records.last().is_none_or(|(key, _)| next.is_none_or(|next| **key < *next));
    is_before.then_some(records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::RunWriter;
    use proptest::prelude::*;
    use recrawl_types::UrlRules;
    use recrawl_vault::store::MemoryStore;
    use std::collections::BTreeMap;

    type Links = BTreeMap<Vec<u8>, Vec<u8>>;

    fn url(page: u32) -> Vec<u8> {
        let text = format!("http://h{}.test/p{}", page % 97, page / 97);
        UrlRules::default().canonicalize(&text).unwrap().key().to_vec()
    }

    fn written(store: &MemoryStore, links: &Links) {
        let mut run = RunWriter::new(store, 3, 1, 0, 7);
        links.iter().for_each(|(key, value)| run.push(key, value).unwrap());
        assert_eq!(run.finish().unwrap(), links.len() as u64);
    }

    fn within(store: &MemoryStore, bounds: (&[u8], Option<&[u8]>)) -> (Links, RefusedParts) {
        let run = ReceivedRun::open(store, 3, 1, 0).unwrap().unwrap();
        assert_eq!(run.round(), 7);
        let mut found = Links::new();
        let mut each = |key: &[u8], value: &[u8]| {
            found.insert(key.to_vec(), value.to_vec());
            Ok::<_, VaultError>(true)
        };
        let refused = run.links_within(store, bounds, &mut each).unwrap();
        (found, refused)
    }

    proptest! {
        /// Receivers whose ranges are cut anywhere have each link once, together.
        #[test]
        fn ranges_have_each_link_once(
            pages in prop::collection::btree_map(0u32..40_000, prop::collection::vec(any::<u8>(), 0..128), 0..3000),
            cuts in prop::collection::vec(0u32..40_000, 0..6),
        ) {
            let links: Links = pages.into_iter().map(|(page, value)| (url(page), value)).collect();
            let store = MemoryStore::new();
            written(&store, &links);
            let mut cuts: Vec<Vec<u8>> = cuts.into_iter().map(url).collect();
            cuts.sort();
            let (mut all, mut begin) = (Links::new(), Vec::new());
            for end in cuts.into_iter().map(Some).chain([None]) {
                let (found, refused) = within(&store, (&begin, end.as_deref()));
                prop_assert_eq!(refused, RefusedParts::default());
                for (key, value) in found {
                    prop_assert!(key >= begin && end.as_ref().is_none_or(|end| key < *end));
                    prop_assert_eq!(all.insert(key, value), None);
                }
                begin = end.unwrap_or_default();
            }
            prop_assert_eq!(all, links);
        }

        /// Whatever a part becomes, its reader takes only links that were written.
        #[test]
        fn damage_takes_a_block_and_no_more(at: u32, byte: u8, cut: bool) {
            let links: Links = (0..20_000).map(|page| (url(page), page.to_le_bytes().to_vec())).collect();
            let store = MemoryStore::new();
            written(&store, &links);
            let mut is_same = false;
            store.damage(&key::part(3, 1, 0, 0), |bytes| {
                let at = at as usize % bytes.len();
                is_same = !cut && bytes[at] == byte;
                if cut { bytes.truncate(at) } else { bytes[at] = byte }
            });
            let (found, refused) = within(&store, (b"", None));
            prop_assert!(found.iter().all(|(key, value)| links.get(key) == Some(value)));
            prop_assert_eq!(refused.blocks == 0, is_same);
            prop_assert!(cut || refused.blocks <= 1 && found.len() >= 5_000);
        }

        #[test]
        fn bytes_of_any_kind_are_records_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Some(records) = records(&bytes, b"", None) {
                prop_assert!(records.windows(2).all(|pair| pair[0].0 < pair[1].0));
            }
        }
    }

    #[test]
    fn a_part_that_is_gone_and_keys_of_no_url_are_counted() {
        let store = MemoryStore::new();
        let mut run = RunWriter::new(&store, 3, 1, 0, 7);
        [&b"not a url"[..], &url(500), &url(3)].into_iter().for_each(|key| run.push(key, b"v").unwrap());
        run.finish().unwrap();
        let (found, refused) = within(&store, (b"", None));
        assert_eq!((found.len(), refused), (2, RefusedParts { links: 1, ..RefusedParts::default() }));
        store.remove(&key::part(3, 1, 0, 0)).unwrap();
        assert_eq!(
            within(&store, (b"", None)),
            (Links::new(), RefusedParts { blocks: 1, ..RefusedParts::default() })
        );
        assert!(ReceivedRun::open(&store, 3, 1, 1).unwrap().is_none());
        // Another process has written that run.
        let again = RunWriter::new(&store, 3, 1, 0, 8).finish();
        assert!(matches!(again, Err(VaultError::Lost { .. })), "{again:?}");
    }
}

//! Links that leave a crawl, sorted by URL: those of a partition of a fleet to others.

use crate::batch::Batch;
use crate::sorted::SortedBatch;
use crate::touch;
use crate::{BatchError, BatchLimits};
use recrawl_repository::codec::LinkRef;
use recrawl_repository::storage::Storage;
use recrawl_types::DatedRound;
use std::sync::Arc;

/// Their spill files are beside those of the round's own batch.
const FIRST_RUN: u32 = 1 << 31;

/// Links that leave, gathered as a batch: sorted in memory, spilled beyond its limit.
#[derive(Debug)]
pub struct OutgoingLinks(Batch);

impl OutgoingLinks {
    /// None yet.
    pub fn new(storage: Arc<dyn Storage>, round: DatedRound, limits: BatchLimits) -> OutgoingLinks {
        OutgoingLinks(Batch::with_runs_from(storage, round, limits, FIRST_RUN))
    }

    /// Adds a link.
    ///
    /// # Errors
    /// If writing a run fails.
    pub fn add(&mut self, link: &LinkRef<'_>) -> Result<(), BatchError> {
        self.0.add_link(link)
    }

    /// Ends the batch.
    ///
    /// # Errors
    /// If a run cannot be opened.
    pub fn finish(self) -> Result<SortedLinks, BatchError> {
        self.0.finish().map(SortedLinks)
    }
}

/// The same in URL order, to be read once: the links to one URL are one record.
#[derive(Debug)]
pub struct SortedLinks(SortedBatch);

impl SortedLinks {
    /// Writes the next URL's key to `key` and a record of its links to `value`; false at the end.
    ///
    /// # Errors
    /// If a run cannot be read.
    pub fn next(&mut self, key: &mut Vec<u8>, value: &mut Vec<u8>) -> Result<bool, BatchError> {
        let Some(touch) = self.0.next_touch(key)? else { return Ok(false) };
        value.clear();
        touch.links.iter().for_each(|links| touch::put_links(value, &[], &[], links));
        Ok(true)
    }

    /// Removes what was spilled.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn remove(self) -> Result<(), BatchError> {
        self.0.remove()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::found::FoundLinks;
    use crate::touch::Links;
    use proptest::prelude::*;
    use recrawl_repository::storage::MemoryStorage;
    use recrawl_types::{CanonicalUrl, Cycle, Link, LogRecord, UrlRules, Visit};

    fn links() -> impl Strategy<Value = Vec<Link>> {
        let link = (0u32..40, 0u16..9, 0u8..3, any::<bool>(), 0u32..9, any::<bool>());
        let link = link.prop_map(|(page, depth, hops, listed, lastmod, counted)| {
            let url = format!("http://h{}.test/{page}", page % 3);
            let url = UrlRules::default().canonicalize(&url).unwrap();
            Link { hops, listed, lastmod, counted, ..Link::to(url, depth) }
        });
        prop::collection::vec(link, 0..200)
    }

    fn limits(memory_bytes: usize) -> BatchLimits {
        BatchLimits { memory_bytes }
    }

    /// All URLs of a sorted batch with their links, and its visits' number.
    fn content(mut batch: SortedBatch) -> Vec<(Vec<u8>, Option<Links>, usize)> {
        let (mut key, mut all) = (Vec::new(), Vec::new());
        while let Some(touch) = batch.next_touch(&mut key).unwrap() {
            all.push((key.clone(), touch.links, touch.visits.len()));
        }
        batch.remove().unwrap();
        all
    }

    proptest! {
        /// However many crawls found the links, the batch is that of the one that found all.
        #[test]
        fn links_that_come_in_are_as_links_found_here(
            links in links(), senders in 1usize..4, memory in prop_oneof![Just(0), Just(600), Just(1 << 20)],
        ) {
            let round = DatedRound::only_of(Cycle(3));
            let storage = Arc::new(MemoryStorage::new());
            let visit = || {
                let url = UrlRules::default().canonicalize("http://h1.test/1").unwrap();
                LogRecord::Visit(Box::new(Visit::new(url, recrawl_types::Outcome::NotModified)))
            };
            let mut own = Batch::new(storage.clone(), round, limits(1 << 20));
            links.iter().for_each(|link| own.add_link(&LinkRef::from(link)).unwrap());
            own.add(visit()).unwrap();
            let expected = content(own.finish().unwrap());

            let mut batch = Batch::new(storage.clone(), round, limits(memory));
            batch.add(visit()).unwrap();
            for sender in 0..senders {
                let mut outgoing = OutgoingLinks::new(storage.clone(), round, limits(memory));
                let of_sender = links.iter().skip(sender).step_by(senders);
                of_sender.for_each(|link| outgoing.add(&LinkRef::from(link)).unwrap());
                let mut sorted = outgoing.finish().unwrap();
                let (mut key, mut value) = (Vec::new(), Vec::new());
                while sorted.next(&mut key, &mut value).unwrap() {
                    batch.add_found(&key, FoundLinks::read(&value).unwrap()).unwrap();
                }
                sorted.remove().unwrap();
            }
            prop_assert_eq!(content(batch.finish().unwrap()), expected);
            prop_assert!(storage.image().is_empty(), "nothing is left of what was spilled");
        }

        #[test]
        fn bytes_of_any_kind_are_links_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(found) = FoundLinks::read(&bytes) {
                prop_assert!(found.parts().all(|links| !links.seed && links.seen > 0));
            }
        }
    }

    #[test]
    fn many_links_are_counted_and_seeds_refused() {
        let links = Links {
            seen: 200_000,
            counted: 150_000,
            ..Links::from_link(&LinkRef::from(&link()), false, Cycle(1))
        };
        let mut value = Vec::new();
        touch::put_links(&mut value, &[], &[], &links);
        let parts: Vec<Links> = FoundLinks::read(&value).unwrap().parts().collect();
        assert_eq!(parts.iter().map(|part| part.seen).sum::<u64>(), 200_000);
        assert_eq!(parts.iter().map(|part| part.counted).sum::<u32>(), 150_000);
        for wrong in [
            Links { seed: true, ..links },
            Links { seen: 0, counted: 0, ..links },
            Links { seen: 1 << 40, ..links },
            Links { counted: 200_001, ..links },
        ] {
            let mut value = Vec::new();
            touch::put_links(&mut value, &[], &[], &wrong);
            assert!(FoundLinks::read(&value).is_err(), "{wrong:?}");
        }
    }

    fn link() -> Link {
        Link::to(CanonicalUrl::from_key(b"test\0\0\x50\0/").unwrap(), 1)
    }
}

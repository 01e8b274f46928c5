//! Links that wait for the next merge, put together from several crawls: what waited in each, and what was on its way between them.

use crate::batch::Batch;
use crate::sorted::SortedBatch;
use crate::touch;
use crate::{BatchError, BatchLimits, FoundLinks};
use recrawl_repository::spill::SpillReader;
use recrawl_repository::storage::Storage;
use recrawl_types::DatedRound;
use std::sync::Arc;

/// Gathers them: sorted in memory, spilled beyond its limit.
#[derive(Debug)]
pub struct WaitingLinks(Batch);

impl WaitingLinks {
    /// None yet. `round` is the one that is about to be committed.
    pub fn new(storage: Arc<dyn Storage>, round: DatedRound, limits: BatchLimits) -> WaitingLinks {
        WaitingLinks(Batch::new(storage, round, limits))
    }

    /// Adds links that another crawl found.
    ///
    /// # Errors
    /// If writing a run fails.
    pub fn add_found(&mut self, key: &[u8], found: FoundLinks) -> Result<(), BatchError> {
        self.0.add_found(key, found)
    }

    /// Ends with the links that waited in crawls already.
    ///
    /// # Errors
    /// If they, or a run, cannot be read.
    pub fn finish(self, waiting: impl IntoIterator<Item = SpillReader>) -> Result<SortedWaiting, BatchError> {
        let sorted = waiting.into_iter().try_fold(self.0.finish()?, SortedBatch::with_waiting)?;
        Ok(SortedWaiting { sorted, key: Vec::new(), record: Vec::new() })
    }
}

/// The same in URL order, to be read once: the links to one URL are one record.
#[derive(Debug)]
pub struct SortedWaiting {
    sorted: SortedBatch,
    key: Vec<u8>,
    record: Vec<u8>,
}

impl SortedWaiting {
    /// The next record, as a generation keeps it; none at the end.
    ///
    /// # Errors
    /// If a run cannot be read.
    pub fn next_record(&mut self) -> Result<Option<&[u8]>, BatchError> {
        let Some(touch) = self.sorted.next_touch(&mut self.key)? else { return Ok(None) };
        self.record.clear();
        touch.links.iter().for_each(|links| touch::put_links(&mut self.record, &[], &self.key, links));
        Ok(Some(&self.record))
    }

    /// Removes what was spilled.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn remove(self) -> Result<(), BatchError> {
        self.sorted.remove()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::touch::Links;
    use recrawl_repository::codec::LinkRef;
    use recrawl_repository::storage::MemoryStorage;
    use recrawl_repository::{Generation, Repository};
    use recrawl_types::{CanonicalUrl, Cycle, Link, UrlRules};

    #[test]
    fn links_to_a_url_are_one_record_wherever_they_waited() {
        let url = |page: u32| UrlRules::default().canonicalize(&format!("http://h{page}.test/")).unwrap();
        let links = |url: &CanonicalUrl, depth| {
            Links::from_link(
                &LinkRef::from(&Link { counted: true, ..Link::to(url.clone(), depth) }),
                false,
                Cycle(3),
            )
        };
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let mut repository = Repository::open(storage.clone()).unwrap();
        let empty = Generation::default();
        let mut next = repository.begin(&empty, Cycle(1)).unwrap();
        for page in [1, 3] {
            let mut record = Vec::new();
            touch::put_links(&mut record, &[], url(page).key(), &links(&url(page), 7));
            next.wait(&record).unwrap();
        }
        repository.commit(next, b"{}").unwrap();
        let (mut found, mut value) = (
            WaitingLinks::new(storage, DatedRound::only_of(Cycle(2)), BatchLimits { memory_bytes: 0 }),
            Vec::new(),
        );
        touch::put_links(&mut value, &[], &[], &links(&url(2), 2));
        for page in [2, 3, 3] {
            found.add_found(url(page).key(), FoundLinks::read(&value).unwrap()).unwrap();
        }
        let mut sorted = found.finish(repository.current().waiting()).unwrap();
        let mut told = Vec::new();
        while let Some(record) = sorted.next_record().unwrap() {
            let mut key = Vec::new();
            let links = touch::take(record, b"", &mut key).unwrap().links.unwrap();
            told.push((CanonicalUrl::from_key(&key).unwrap(), links.seen, links.counted, links.depth));
        }
        sorted.remove().unwrap();
        assert_eq!(told, [(url(1), 1, 1, 7), (url(2), 1, 1, 2), (url(3), 3, 3, 2)]);
    }
}

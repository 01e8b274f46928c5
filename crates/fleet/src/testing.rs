//! Fleets for tests.

use crate::{ExchangePatience, FleetMap, PartitionRange};
use recrawl_types::UrlRules;

/// Nobody waits.
pub(crate) struct Nobody;

impl ExchangePatience for Nobody {
    fn wait(&self, _times: u64) -> bool {
        false
    }
}

/// The first map of a fleet that is cut at these sites: partitions 1, 2 and so on.
pub(crate) fn first_map(begins: &[&str]) -> FleetMap {
    let begins = std::iter::once(None).chain(begins.iter().map(|begin| Some((*begin).to_owned())));
    let range = |(id, begin)| PartitionRange { id, begin, parent: None };
    FleetMap::new(1, (1..).zip(begins).map(range).collect()).unwrap()
}

/// The key of a URL.
pub(crate) fn key_of(url: &str) -> Vec<u8> {
    UrlRules::default().canonicalize(url).unwrap().key().to_vec()
}

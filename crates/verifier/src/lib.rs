//! Uniqueness by sorted merge: the batch of a cycle and generation g become generation g+1.
//!
//! The program feeds a [`Batch`] with the cycle's log and calls [`merge()`]. Batch and generation
//! have the same order, that of [`CanonicalUrl`](recrawl_types::CanonicalUrl). So one sequential
//! pass over the known URLs tells which are new, as in VEUNI (Henrique et al., SPIRE 2011). A table
//! or filter of all known URLs would answer sooner. But it would need memory for every page ever
//! discovered, or a random disk read per link; here [`BatchLimits`] bounds the memory.
//!
//! The first round of a crawl: one page that was fetched, with a link to itself and one to a page that becomes known.
//!
//! ```
//! use recrawl_repository::Repository;
//! use recrawl_repository::storage::MemoryStorage;
//! use recrawl_types::{Change, Content, DatedRound, Link, LogRecord, Outcome, UrlRules, Visit};
//! use recrawl_verifier::{Batch, BatchLimits, MergeRules, merge};
//! use std::sync::Arc;
//!
//! let storage = Arc::new(MemoryStorage::new());
//! let mut repository = Repository::open(storage.clone())?;
//! let generation = repository.current();
//! let cycle = generation.cycle().next();
//! let mut writer = repository.begin(&generation, cycle)?;
//!
//! let urls = UrlRules::default();
//! let [home, news] = ["https://example.com/", "https://example.com/news"].map(|url| urls.canonicalize(url).unwrap());
//! let mut visit = Visit::new(home.clone(), Outcome::Fetched(Change::First));
//! visit.content = Some(Content::default());
//! visit.links = [&home, &news].map(|url| Link::to(url.clone(), 1)).into();
//! let mut batch = Batch::new(storage, DatedRound::only_of(cycle), BatchLimits::default());
//! batch.add(LogRecord::Visit(Box::new(visit)))?;
//!
//! let rules = MergeRules::unlimited(cycle, &|_, _, _| unreachable!("no visit waits for a decision"));
//! let merged = merge(&generation, batch.finish()?, &mut writer, &rules)?;
//! repository.commit(writer, b"{}")?;
//! assert_eq!((merged.pages, merged.visited, merged.links_new), (2, 1, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate knows no HTTP and no formulas. A [`Judge`] decides whether two contents differ.
//! `update` implements the table in docs/outcomes.md.

mod batch;
mod edit;
mod entry;
mod error;
mod found;
mod gathered;
mod host_cap;
mod lastmod;
mod matched;
mod merge;
mod outgoing;
mod pass;
mod report;
mod runs;
mod sort;
mod sorted;
mod touch;
mod touched;
mod update;
mod waiting;
mod workers;

pub use crate::batch::{Batch, BatchLimits};
pub use crate::error::{BatchError, MergeError};
pub use crate::found::FoundLinks;
pub use crate::merge::{
    Judge, MergeRules, OnComparison, OnFirstVisit, OnFound, OnProgress, OnTried, TrapSign, TrapSigns,
    TrapsOf, Tried, Waiting, merge,
};
pub use crate::outgoing::{OutgoingLinks, SortedLinks};
pub use crate::report::MergeReport;
pub use crate::sorted::SortedBatch;
pub use crate::touch::key_of_waiting;
pub use crate::waiting::{SortedWaiting, WaitingLinks};

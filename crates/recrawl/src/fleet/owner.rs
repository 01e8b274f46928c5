//! The owner of a partition, which answers reads of the API through the store.

use super::{NodeStatus, elsewhere, map_of, partition_in};
use crate::daemon::{DaemonResponse, ReadsApi};
use crate::process::random_tag;
use recrawl_archive::timestamp;
use recrawl_console::view::{FleetAnswer, FleetQuestion};
use recrawl_crawl::failure::Failure;
use recrawl_fleet::{ExchangePatience, FleetMap, MAX_ANSWER, QuestionEnd, ask};
use recrawl_types::{CanonicalUrl, Size, Span};
use recrawl_vault::{Store, store};
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Wait between two looks for an answer.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Time for one: an owner reads its questions each 5 s, and takes 12 s at most for an answer.
const WAIT: Duration = Duration::from_secs(20);

/// How long an answer is waited for, however slow the store is.
pub struct OwnerPatience {
    until: Instant,
    stop: CancellationToken,
}

impl OwnerPatience {
    /// From now on, until `stop` is cancelled.
    pub fn new(stop: CancellationToken) -> OwnerPatience {
        OwnerPatience { until: Instant::now() + WAIT, stop }
    }
}

impl ExchangePatience for OwnerPatience {
    fn wait(&self, _times: u64) -> bool {
        let is_over = self.stop.is_cancelled() || Instant::now() >= self.until;
        if !is_over {
            thread::sleep(LOOK_EVERY);
        }
        !is_over
    }
}

/// The partition in a data directory, by the map in force.
struct OwnPartition {
    store: Arc<dyn Store>,
    address: String,
    map: FleetMap,
    id: u32,
}

impl OwnPartition {
    /// None if the crawl is alone.
    fn find(data_dir: &Path) -> Result<Option<OwnPartition>, Failure> {
        let Some((address, id)) = partition_in(data_dir) else { return Ok(None) };
        let store = store::open(&address)?;
        let map = map_of(&*store, &address)?;
        Ok(Some(OwnPartition { store, address, map, id }))
    }
}

/// Tells which pages a data directory has: those of its partition, or all.
///
/// # Errors
/// When the store of its fleet does not answer, or the fleet has ended.
pub fn owned_pages(data_dir: &Path) -> Result<impl Fn(&CanonicalUrl) -> bool + use<>, Failure> {
    let own = OwnPartition::find(data_dir)?;
    Ok(move |url: &CanonicalUrl| own.as_ref().is_none_or(|own| own.map.owner_of(url.key()) == own.id))
}

/// The owner of another partition, for the page that that has.
pub struct PageOwner {
    store: Arc<dyn Store>,
    address: String,
    lease: u64,
    url: CanonicalUrl,
    partition: u32,
}

impl PageOwner {
    /// The owner of a page; none if it is of the partition in this directory, or the crawl is alone.
    ///
    /// # Errors
    /// When the store does not answer, or its fleet has ended.
    pub fn elsewhere(data_dir: &Path, url: &CanonicalUrl) -> Result<Option<PageOwner>, Failure> {
        let Some(OwnPartition { store, address, map, id }) = OwnPartition::find(data_dir)? else {
            return Ok(None);
        };
        let partition = map.owner_of(url.key());
        let owner = PageOwner { store, address, lease: map.lease(), url: url.clone(), partition };
        Ok((partition != id).then_some(owner))
    }

    /// The process that said last that it owns the partition.
    fn node(&self) -> Result<Option<NodeStatus>, Failure> {
        let nodes = NodeStatus::all(&*self.store, recrawl_fetcher::system_clock()())?;
        let owners = nodes.into_iter().filter(|node| node.partition == Some(self.partition));
        Ok(owners.max_by_key(|node| node.epoch))
    }

    /// That only the owner can do what is asked for, and who that is; or that the store does not answer.
    pub fn refused(&self) -> Failure {
        self.refused_for(&self.url)
    }

    /// The same, for what was asked.
    pub fn refused_for(&self, what: impl Display) -> Failure {
        match self.node() {
            Ok(owner) => {
                let owner = owner.map(|node| (node.name, node.console));
                Failure::Usage(elsewhere(what, self.partition, owner.as_ref()))
            }
            Err(failure) => failure,
        }
    }

    fn unanswered(&self) -> Result<Failure, Failure> {
        let now = recrawl_fetcher::system_clock()();
        Ok(Failure::Work(match self.node()? {
            Some(node) if now.saturating_sub(node.at) < self.lease => silent(self.partition, &node.name),
            node => unowned(self.partition, node.map(|node| node.at), &self.address),
        }))
    }
}

impl ReadsApi for PageOwner {
    fn get(&self, path: &str, accept: &str) -> Result<DaemonResponse, Failure> {
        let question =
            FleetQuestion { path: path.to_owned(), accept: accept.to_owned(), known: String::new() };
        let nonce = random_tag()?;
        // A signal ends the command itself.
        let patience = OwnerPatience::new(CancellationToken::new());
        match ask::<FleetAnswer>(&*self.store, self.partition, &nonce, &question, &patience)? {
            QuestionEnd::Answered(FleetAnswer { status, body, .. }) => {
                Ok(DaemonResponse { status, body: body.into_bytes() })
            }
            QuestionEnd::TooLong => {
                Err(Failure::Work(format!("{}; {}", too_long(self.partition), self.refused())))
            }
            QuestionEnd::Unanswered => Err(self.unanswered()?),
        }
    }

    fn name(&self) -> String {
        format!("partition {} of the fleet", self.partition)
    }
}

/// The owner of a partition has answered too much.
pub fn too_long(partition: u32) -> String {
    let most = Size(MAX_ANSWER as u64);
    format!("the answer of partition {partition} is longer than {most}, the most that goes through the store")
}

/// The owner of a partition, which seems to be alive, has not answered.
pub fn silent(partition: u32, owner: &str) -> String {
    format!(
        "{owner} owns partition {partition} of the fleet, and has not answered within {}; try again, or look at its log",
        Span(WAIT)
    )
}

/// A partition has no owner: since that time, in milliseconds since 1970, if it ever had one.
pub fn unowned(partition: u32, since: Option<u64>, address: &str) -> String {
    let since =
        since.map_or_else(|| "no owner yet".to_owned(), |at| format!("had no owner since {}", timestamp(at)));
    format!(
        "partition {partition} of the fleet has {since}; start another process, `recrawl serve --fleet {address}`, or try \
         again when one has taken it"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_ends_by_time_and_by_a_stop_not_by_looks() {
        let ends_in = |wait| OwnerPatience { until: Instant::now() + wait, stop: CancellationToken::new() };
        let patience = ends_in(Duration::from_hours(1));
        assert!(patience.wait(u64::MAX));
        patience.stop.cancel();
        assert!(!patience.wait(0));
        assert!(!ends_in(Duration::ZERO).wait(0));
        assert!(WAIT < recrawl_console::ANSWER_TIMEOUT);
    }
}

//! Looks at a target without bringing it up to date: does it take changes, and does it hold what its copy says?

use super::channel::Channel;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::parts::deliver::DeliverTarget;
use recrawl_crawl::settings::Settings;
use recrawl_delivery::protocol::TargetProtocol;
use recrawl_delivery::verify::{CopyComparison, Differences, ListedDocument};
use recrawl_repository::storage::Storage;
use recrawl_types::{CanonicalUrl, UrlRules};
use tokio::runtime::Builder;

fn named(target: &DeliverTarget) -> impl Fn(String) -> Failure {
    move |why| Failure::Work(format!("[[deliver]] {:?}: {why}", target.name))
}

/// Says whether a target would take documents. Nothing that is sent lasts. `now`: milliseconds since 1970.
///
/// # Errors
/// Why it would not.
pub fn probe(settings: &Settings, target: &DeliverTarget, now: u64) -> Result<String, Failure> {
    if matches!(target.place.protocol, TargetProtocol::Index) {
        return Ok("it is in the data directory".into());
    }
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Failure::work)?;
    let channel = Channel::new(target, &settings.fetch).map_err(named(target))?;
    runtime.block_on(channel.probe(now)).map_err(named(target))
}

/// Compares what a target holds of own pages with its copy: a fleet's partitions fill one target. With `repair`, the next delivery sends and deletes what differs.
///
/// # Errors
/// When the target cannot be asked, or the copy not be read or written.
pub fn verify(
    settings: &Settings,
    storage: &dyn Storage,
    target: &DeliverTarget,
    owns: &dyn Fn(&CanonicalUrl) -> bool,
    repair: bool,
) -> Result<Differences, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Failure::work)?;
    let channel = Channel::new(target, &settings.fetch).map_err(named(target))?;
    let mut comparison = CopyComparison::new(storage, &target.place.address).map_err(Failure::work)?;
    let mut take = |document: &ListedDocument| {
        if UrlRules::keep_all().canonicalize(&document.url).map_or(true, |url| owns(&url)) {
            comparison.take(document);
        }
    };
    runtime.block_on(channel.list(&mut take)).map_err(named(target))?;
    let differences = comparison.end();
    if repair {
        comparison.repair().map_err(Failure::work)?;
    }
    Ok(differences)
}

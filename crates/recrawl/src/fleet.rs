//! A process of a fleet: it takes a partition that nobody owns, shows that it is alive, and stops before another may take it.

mod beats;
mod node;
mod order;
mod owner;
mod partition_folder;
mod taking;
mod watch;

pub use beats::{Beats, BeatsEnd, OwnEpoch, OwnNode};
pub use node::{FleetNode, NODES, NodeIdentity, NodeStatus, OwnersTold, TakenPartition};
pub use order::NodeOrder;
pub use owner::{OwnerPatience, PageOwner, owned_pages, silent, too_long, unowned};
use partition_folder::given_to;
pub use partition_folder::{give, partition_in};
use taking::WhyFree;
pub use watch::FleetWatch;

use recrawl_crawl::failure::Failure;
use recrawl_fleet::{FORMAT, FleetFormat, FleetMap, newest_map, unknown_format};
use recrawl_types::{CanonicalUrl, Span, UrlRules};
use recrawl_vault::{Store, VaultError};
use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

/// The map in force.
///
/// # Errors
/// [`Failure::Usage`] if no fleet was begun here, or it has ended.
pub fn map_of(store: &dyn Store, address: &str) -> Result<FleetMap, Failure> {
    match last_map_of(store, address)? {
        map if map.is_end() => Err(Failure::Usage(ended(address))),
        map => Ok(map),
    }
}

/// Refuses requests that may last longer than what lies between the end of a lease, of so many milliseconds, and the next owner's
/// begin: two processes would ask a host.
///
/// # Errors
/// [`Failure::Usage`], saying what to set.
pub fn check_timeout(timeout: Duration, lease: u64) -> Result<(), Failure> {
    let most = Duration::from_millis(lease / 3);
    match timeout <= most {
        true => Ok(()),
        false => Err(Failure::Usage(format!(
            "fetch.timeout: {} is too long, a process of this fleet may take {} at most, a third of its lease",
            Span(timeout),
            Span(most)
        ))),
    }
}

/// The message that a fleet has ended.
pub fn ended(address: &str) -> String {
    format!(
        "{address}: this fleet has ended: `recrawl fleet leave` has put it together on one machine; start `recrawl serve` \
         there, and no process here"
    )
}

/// The map in force, also of a fleet that has ended.
///
/// # Errors
/// [`Failure::Usage`] if no fleet was begun here, or one of a newer format.
pub fn last_map_of(store: &dyn Store, address: &str) -> Result<FleetMap, Failure> {
    if let Some(refused) = refused_format(store, address)? {
        return Err(refused);
    }
    newest_map(store)?.ok_or_else(|| {
        Failure::Usage(format!(
            "{address}: no fleet was begun here; mount its disk, or run `recrawl fleet begin {address}`"
        ))
    })
}

/// Says so if this program does not know the format in force.
///
/// # Errors
/// When the store does not answer.
pub fn refused_format(store: &dyn Store, address: &str) -> Result<Option<Failure>, VaultError> {
    let refused = unknown_format(store, FORMAT)?.map(|FleetFormat { format, version }| {
        let version = if version.is_empty() { "the version of the other processes".into() } else { format!("version {version} or later") };
        Failure::Usage(format!(
            "{address}: this fleet has format {format}, and this program knows formats up to {FORMAT}; install {version}"
        ))
    });
    Ok(refused)
}

/// Refuses to crawl in the data directory of a partition, or of a crawl that became one, as if it were alone: its owner asks
/// the hosts.
///
/// # Errors
/// [`Failure::Usage`], saying how.
pub fn refuse_partition(data_dir: &Path) -> Result<(), Failure> {
    let refused = |what: String| Err(Failure::Usage(format!("{}: {what}", data_dir.display())));
    match (partition_in(data_dir), given_to(data_dir)) {
        (Some((address, _)), _) => {
            refused(format!("is a partition of a fleet; run `recrawl serve --fleet {address} --name NAME`"))
        }
        (None, Some(address)) => refused(format!(
            "the fleet {address} goes on with this crawl; remove its file `fleet` to crawl it beside that"
        )),
        (None, None) => Ok(()),
    }
}

/// Refuses a page that another partition has: only its owner can do this.
///
/// # Errors
/// [`Failure::Usage`], saying who that is; or when the store does not answer.
pub fn refuse_foreign(data_dir: &Path, url: &CanonicalUrl) -> Result<(), Failure> {
    PageOwner::elsewhere(data_dir, url)?.map_or(Ok(()), |owner| Err(owner.refused()))
}

/// Says that another partition has a host; none if none has, or the store does not tell.
pub fn foreign_host(data_dir: &Path, host: &str) -> Option<Failure> {
    let url = UrlRules::default().canonicalize(&format!("http://{host}/")).ok()?;
    let told = PageOwner::elsewhere(data_dir, &url).ok()??.refused_for(host);
    Some(told).filter(|told| matches!(told, Failure::Usage(_)))
}

/// Where a page or host is that another partition has. The owner is given with the address of its console.
pub fn elsewhere(what: impl Display, partition: u32, owner: Option<&(String, String)>) -> String {
    let owner = owner.map_or_else(
        || "which has no owner now".to_owned(),
        |(name, console)| format!("which {name} owns (console {console}): ask there"),
    );
    format!("{what}: partition {partition} of the fleet has this host, {owner}")
}

/// The address of a partition's vault.
pub fn vault_of(address: &str, partition: u32) -> String {
    format!(
        "{}/{}",
        address.trim_end_matches('/'),
        recrawl_fleet::partition_folder(partition).trim_end_matches('/')
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_fleet::{PartitionRange, write_map};
    use recrawl_vault::store;
    use std::fs;
    use std::path::PathBuf;

    /// A store beside a data directory that was given to its fleet: of two partitions, the second begins at a site.
    fn given(folder: &Path, site: &str) -> (PathBuf, PathBuf) {
        let (there, data) = (folder.join("store"), folder.join("data"));
        [&there, &data].into_iter().for_each(|folder| fs::create_dir(folder).unwrap());
        let address = format!("file://{}", there.display());
        let range = |id, begin| PartitionRange { id, begin, parent: None };
        let map = FleetMap::new(1, vec![range(1, None), range(2, Some(site.into()))]).unwrap();
        write_map(&*store::open(&address).unwrap(), &map).unwrap();
        give(&data, &address).unwrap();
        (there, data)
    }

    #[test]
    fn a_partition_owns_its_range_and_a_crawl_alone_all_pages() {
        let folder = tempfile::tempdir().unwrap();
        let (_, data) = given(folder.path(), "h.test");
        let owned = |name: &str| {
            let owns = owned_pages(&data.join(name)).unwrap();
            ["http://a.test/", "http://www.h.test/"]
                .map(|url| owns(&UrlRules::keep_all().canonicalize(url).unwrap()))
        };
        assert_eq!(
            ["partition-1", "partition-2", "alone"].map(owned),
            [[true, false], [false, true], [true; 2]]
        );
    }

    #[test]
    fn a_store_that_does_not_answer_says_nothing_of_a_host() {
        let folder = tempfile::tempdir().unwrap();
        let (there, data) = given(folder.path(), "m");
        let told = |host| foreign_host(&data.join("partition-1"), host).map(|told| told.to_string());
        let elsewhere = "www.org: partition 2 of the fleet has this host, which has no owner now";
        assert_eq!((told("www.org"), told("www.com")), (Some(elsewhere.into()), None));
        fs::remove_dir_all(&there).unwrap();
        assert_eq!(told("www.org"), None);
    }
}

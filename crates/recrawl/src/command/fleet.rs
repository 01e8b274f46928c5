//! `recrawl fleet`: begins a fleet, changes it, and shows who owns what.

mod drain;
mod leave;
mod merge;
mod move_partition;
mod own;
mod split;

use super::{counted, print, print_json, print_table, table};
use crate::cli::{Configuration, FleetBeginArgs, FleetCommand, FleetStatusArgs, Where};
use crate::fleet::{self, NodeOrder, NodeStatus, vault_of};
use crate::process;
use recrawl_archive::timestamp;
use recrawl_crawl::data_dir;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::settings::Settings;
use recrawl_crawl::vault::ship_stopped;
use recrawl_fleet::{
    FORMAT, FleetMap, HANDED_OVER, PartitionRange, RELEASED, agree_on_format, begin_partitions, counter,
    newest, newest_map, partition_store, release, write_map,
};
use recrawl_terminal::table::Column;
use recrawl_types::{CanonicalUrl, Size, Span, UrlRules};
use recrawl_vault::{Store, Vault, VaultContents, contents, store};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// Leases that are shorter would end at each pause of a store.
const LEAST_LEASE: u64 = 3_000;

pub fn run(command: &FleetCommand) -> Result<(), Failure> {
    match command {
        FleetCommand::Begin(args) => begin(args),
        FleetCommand::Split(args) => split::run(args),
        FleetCommand::Merge(args) => merge::run(args),
        FleetCommand::Leave(args) => leave::run(args),
        FleetCommand::Move(args) => move_partition::run(args),
        FleetCommand::Drain(args) => drain::run(args),
        FleetCommand::Status(args) => status(args),
    }
}

fn begin(args: &FleetBeginArgs) -> Result<(), Failure> {
    let address = &args.fleet;
    let lease = args.lease.0.as_millis() as u64;
    if lease < LEAST_LEASE {
        return Err(Failure::Usage(format!("--lease: at least {} s", LEAST_LEASE / 1000)));
    }
    args.cuts.iter().try_for_each(|cut| host("--cut", cut).map(drop))?;
    let begins = std::iter::once(None).chain(args.cuts.iter().cloned().map(Some));
    let ranges = (1..).zip(begins).map(|(id, begin)| PartitionRange { id, begin, parent: None }).collect();
    let map = FleetMap::new(1, ranges).map_err(|error| Failure::Usage(format!("--cut: {error}")))?;
    let store = store::open(address)?;
    Vault::try_store(&*store, &format!("begin-{}", process::random_tag()?))?;
    if let Some(refused) = fleet::refused_format(&*store, address)? {
        return Err(refused);
    }
    if newest_map(&*store)?.is_some() {
        return Err(Failure::Usage(format!(
            "{address}: a fleet is here already; see `recrawl fleet status {address}`"
        )));
    }
    let settings = args.at.settings()?;
    // The built-in one may be none of its processes'.
    if args.at.config.file().is_some() {
        fleet::check_timeout(settings.fetch.timeout, lease)?;
    }
    let has_crawl = data_dir::is_begun(&settings.data_dir);
    if !has_crawl && args.at.data_dir.is_some() {
        return Err(Failure::Usage(format!("{}: holds no crawl to begin with", settings.data_dir.display())));
    }
    if has_crawl && !args.cuts.is_empty() {
        let text = "--cut: a crawl that has pages begins as one partition; leave it out";
        return Err(Failure::Usage(text.into()));
    }
    agree_on_format(&*store, (FORMAT, env!("CARGO_PKG_VERSION")), [])?;
    begin_partitions(&*store, &map)?;
    if has_crawl {
        // The map makes it a fleet, so it comes last.
        let settings = settings.of_partition(vault_of(address, 1), 1)?;
        print(format!("ships {} to {}", settings.data_dir.display(), vault_of(address, 1)))?;
        ship_stopped(&settings, &process::random_tag()?, true)?;
        fleet::give(&settings.data_dir, address)?;
        // Nobody needs to wait for this process.
        release(&*store, 1, newest(&*store, 1)?)?;
    }
    write_map(&*store, &map.with_lease(lease))?;
    let partitions = counted(args.cuts.len() as u64 + 1, "partition");
    print(format!(
        "{address}: a fleet of {partitions}; start a process for each: recrawl serve --fleet {address} --name NAME"
    ))
}

/// Gives the settings of a partition of a map of so many, in any data directory.
fn settings_of<'a>(
    config: &'a Configuration,
    address: &'a str,
    partitions: usize,
) -> impl Fn(u32, &Path) -> Result<Settings, Failure> + 'a {
    move |id, folder| {
        let place = Where {
            config: config.clone(),
            data_dir: Some(folder.to_owned()),
            partition: Some((vault_of(address, id), partitions as u64)),
            fleet: None,
        };
        place.settings()
    }
}

/// Checks that a text is a host, and no pattern, URL or address with a port.
fn host<'t>(option: &str, text: &'t str) -> Result<&'t str, Failure> {
    let url = UrlRules::default().canonicalize(&format!("http://{text}/")).ok();
    match url.filter(|url| *url.host() == *text && !text.contains('/')) {
        Some(_) => Ok(text),
        None => {
            Err(Failure::Usage(format!("{option} {text:?}: is no host, such as example.com, in lower case")))
        }
    }
}

/// A partition as it is shown.
#[derive(Serialize)]
struct ShownPartition {
    partition: u32,
    /// The site with which it begins.
    begins: Option<String>,
    epoch: u64,
    /// The node that says that it is the owner.
    owner: Option<String>,
    state: &'static str,
    /// Seconds since the owner told of itself.
    seen: Option<u64>,
    /// When its vault was last added to, in milliseconds since 1970.
    shipped: Option<u64>,
    bytes: u64,
    /// Of the owner that told of itself last: its cycle, bytes that the vault has not, and runs that others have not taken.
    cycle: Option<u32>,
    unshipped: Option<u64>,
    untaken_runs: Option<u64>,
}

fn status(args: &FleetStatusArgs) -> Result<(), Failure> {
    let fleet = store::open(&args.fleet)?;
    let map = fleet::last_map_of(&*fleet, &args.fleet)?;
    let (nodes, now) = (all_nodes(&*fleet)?, recrawl_fetcher::system_clock()());
    let mut shown = Vec::new();
    let named = args.host.as_deref().map(|name| host("--host", name)).transpose()?;
    let of_host = named.map(|host| map.place_of_key(&CanonicalUrl::key_of_host(host)));
    let shown_ranges =
        map.ranges().iter().enumerate().filter(|(place, _)| of_host.is_none_or(|of| of == *place));
    for (_, range) in shown_ranges {
        let held = contents(&partition_store(&*fleet, range.id))?;
        let epoch = newest(&*fleet, range.id)?;
        let counter = counter(&*fleet, range.id, epoch)?;
        let owner = nodes.iter().find(|node| node.owns(range.id, epoch));
        let is_fresh = owner.is_some_and(|owner| now.saturating_sub(owner.at) < map.lease());
        let state = match (epoch, counter, is_fresh) {
            _ if map.is_end() => "left",
            (0, ..) => "never owned",
            (_, RELEASED | HANDED_OVER, _) => "free",
            (_, _, true) => "owned",
            _ => "silent",
        };
        shown.push(ShownPartition {
            partition: range.id,
            begins: range.begin.clone(),
            epoch,
            owner: owner.filter(|_| state != "free").map(|owner| owner.name.clone()),
            state,
            seen: owner.map(|owner| now.saturating_sub(owner.at) / 1000),
            shipped: held.as_ref().map(|held| held.at),
            bytes: held.as_ref().map_or(0, bytes_of),
            cycle: owner.map(|owner| owner.cycle),
            unshipped: owner.map(|owner| owner.unshipped),
            untaken_runs: owner.map(|owner| owner.untaken),
        });
    }
    let nodes: Vec<ShownNode<'_>> = nodes.iter().map(|node| ShownNode::new(node, now, map.lease())).collect();
    if args.json {
        return print_json(&serde_json::json!({
            "fleet": args.fleet, "map": map.number(), "ended": map.is_end(), "lease_ms": map.lease(),
            "partitions": shown, "nodes": nodes,
        }));
    }
    if map.is_end() {
        print(fleet::ended(&args.fleet))?;
    }
    let rows: Vec<[String; 8]> = shown.iter().map(row).collect();
    print_table(&COLUMNS, &rows)?;
    nodes.iter().filter_map(ShownNode::line).try_for_each(print)
}

/// A process as it is shown.
#[derive(Serialize)]
struct ShownNode<'n> {
    #[serde(flatten)]
    node: &'n NodeStatus,
    state: &'static str,
    /// Seconds since it told of itself.
    seen: u64,
}

impl ShownNode<'_> {
    fn new(node: &NodeStatus, now: u64, lease: u64) -> ShownNode<'_> {
        let age = now.saturating_sub(node.at);
        let state = match node.partition {
            _ if age >= lease => "silent",
            Some(_) => "owner",
            None if node.takes.is_some() => "takes",
            None => "stands by",
        };
        ShownNode { node, state, seen: age / 1000 }
    }

    /// Its line; none of an owner, which the table has.
    fn line(&self) -> Option<String> {
        let NodeStatus { name, partition, epoch, .. } = self.node;
        let seen = || Span(Duration::from_secs(self.seen)).rounded();
        match (self.state, partition) {
            ("owner", _) => None,
            ("silent", Some(id)) => {
                Some(format!("{name} is silent for {}: it owned partition {id} (epoch {epoch})", seen()))
            }
            ("takes", _) => {
                let partition = match self.node.takes {
                    Some(NodeOrder::Take { partition, .. }) => format!("partition {partition}"),
                    _ => "a partition".into(),
                };
                Some(format!("{name} takes {partition}"))
            }
            ("silent", None) => Some(format!("{name} is silent for {}: it owned nothing", seen())),
            (state, _) => Some(format!("{name} {state}")),
        }
    }
}

const COLUMNS: [Column; 8] = [
    table::number("partition"),
    table::word("begins at"),
    table::word("state"),
    table::word("owner"),
    table::word("seen"),
    table::number("epoch"),
    table::word("shipped"),
    table::number("holds"),
];

fn row(one: &ShownPartition) -> [String; 8] {
    [
        one.partition.to_string(),
        one.begins.clone().unwrap_or_else(|| "(first)".into()),
        one.state.to_owned(),
        one.owner.clone().unwrap_or_else(|| "-".into()),
        one.seen.map_or_else(|| "-".into(), |seconds| format!("{seconds} s ago")),
        one.epoch.to_string(),
        one.shipped.map_or_else(|| "-".into(), timestamp),
        Size(one.bytes).rounded().to_string(),
    ]
}

fn bytes_of(held: &VaultContents) -> u64 {
    held.files.values().map(|file| file.length()).sum()
}

fn all_nodes(store: &dyn Store) -> Result<Vec<NodeStatus>, Failure> {
    Ok(NodeStatus::all(store, recrawl_fetcher::system_clock()())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_that_owns_nothing_or_is_silent_has_a_line() {
        let node = |name: &str, at, partition| NodeStatus {
            name: name.into(),
            at,
            partition,
            epoch: partition.map_or(0, |_| 3),
            ..NodeStatus::default()
        };
        let lines = [
            node("a", 100_000, Some(1)),
            node("b", 65_000, Some(2)),
            node("c", 95_000, None),
            node("d", 10_000, None),
            NodeStatus { takes: Some(NodeOrder::Take { partition: 2, epoch: 3 }), ..node("e", 95_000, None) },
        ];
        let lines = lines.map(|node| ShownNode::new(&node, 100_000, 12_000).line());
        let told = [
            None,
            Some("b is silent for 35 s: it owned partition 2 (epoch 3)".to_owned()),
            Some("c stands by".into()),
            Some("d is silent for 1.5 min: it owned nothing".into()),
            Some("e takes partition 2".into()),
        ];
        assert_eq!(lines, told);
    }
}

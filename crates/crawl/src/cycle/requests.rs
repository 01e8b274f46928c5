//! Requests to the hosts of a round: its request log, added up for the commit.

use crate::crawl::Crawl;
use crate::failure::Failure;
use recrawl_repository::{GenerationWriter, RequestFile, StoredHost};
use recrawl_types::host::RobotsBody;
use recrawl_types::{CanonicalUrl, HostRequests, HostState, HostTable, Origin, RobotsInForce, Round};
use ring::digest::{SHA256, digest};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The log of a round's requests, if they are kept.
///
/// # Errors
/// When it cannot be opened.
pub fn open(crawl: &Crawl, round: Round) -> Result<Option<Arc<RequestFile>>, Failure> {
    let open = || RequestFile::open(&*crawl.storage, round).map(Arc::new).map_err(Failure::work);
    crawl.settings.config.storage.keep_hosts.then(open).transpose()
}

/// Requests to a host: a small entry for each host of the round.
#[derive(Default)]
struct RequestedHost {
    requests: HostRequests,
    origins: BTreeSet<Origin>,
}

/// Adds up the requests of a round by host, and keeps them with the next generation. A round without a log
/// keeps none.
///
/// # Errors
/// When the log or the tables cannot be read, or the disk takes no more.
pub fn keep(crawl: &Crawl, round: Round, next: &mut GenerationWriter<'_>) -> Result<(), Failure> {
    let mut log = RequestFile::read(&*crawl.storage, round)?;
    // By the home page of the host, since rows stand in the order of URLs.
    let mut hosts = BTreeMap::<CanonicalUrl, RequestedHost>::new();
    while let Some(request) = log.next_request()? {
        let home =
            Origin { scheme: recrawl_types::Scheme::Http, host: request.origin.host.clone(), port: 80 };
        let asked = hosts.entry(CanonicalUrl::home_of(&home)).or_default();
        asked.requests.count(&request);
        asked.origins.insert(request.origin);
        crawl.live.moved();
    }
    for (home, RequestedHost { requests, origins }) in hosts {
        let robots = |origin: &Origin| {
            let state = HostTable::load(&*crawl.tables, origin)?.unwrap_or_default();
            Ok((origin.scheme, origin.port, in_force(&state)))
        };
        let robots = origins.iter().map(robots).collect::<Result<Vec<_>, Failure>>()?;
        let host = StoredHost { host: home.host().into(), requests, robots };
        next.keep_host(&host).map_err(Failure::work)?;
    }
    Ok(())
}

/// The robots.txt of an origin, as last fetched.
pub fn in_force(state: &HostState) -> RobotsInForce {
    match state.robots.as_ref().map(|robots| &robots.body) {
        None => RobotsInForce::Unknown,
        Some(RobotsBody::AllowAll) => RobotsInForce::Absent,
        Some(RobotsBody::DisallowAll(_)) => RobotsInForce::Unreachable,
        Some(RobotsBody::Rules(file)) => {
            let digest = digest(&SHA256, file);
            RobotsInForce::File(digest.as_ref().try_into().expect("a SHA-256 has 32 bytes"))
        }
    }
}

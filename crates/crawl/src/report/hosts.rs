//! Requests to one host, cycle by cycle, from the kept rows of rounds.

use crate::failure::Failure;
use recrawl_repository::{StoredHost, StoredRounds};
use recrawl_types::{Cycle, HostRequests, RobotsInForce, Scheme};

/// Requests to a host in a cycle: its rounds added up.
#[derive(Clone, Debug, PartialEq)]
pub struct HostCycle {
    /// The cycle.
    pub cycle: Cycle,
    /// Rounds in which it was asked.
    pub rounds: u32,
    /// The requests.
    pub requests: HostRequests,
    /// The robots.txt of its origins, as in the last of these rounds.
    pub robots: Vec<(Scheme, u16, RobotsInForce)>,
}

/// The cycles in which a host was asked, newest first, at most `last` of them. None if no cycle keeps what
/// hosts were asked.
///
/// # Errors
/// When the rows cannot be read.
pub fn cycles_of(kept: &StoredRounds, host: &str, last: usize) -> Result<Option<Vec<HostCycle>>, Failure> {
    let rounds = kept.list_hosts()?;
    let mut cycles = Vec::<HostCycle>::new();
    for round in rounds.iter().rev() {
        let is_next = cycles.last().is_none_or(|of| of.cycle != round.cycle);
        if is_next && cycles.len() == last {
            break;
        }
        // Absent if a commit removed the file just now.
        let Some(mut rows) = kept.hosts(*round)? else { continue };
        let Some(StoredHost { requests, robots, .. }) = rows.find(host)? else { continue };
        match cycles.last_mut().filter(|of| of.cycle == round.cycle) {
            // Read backwards: these requests came before.
            Some(of) => {
                let later = std::mem::replace(&mut of.requests, requests);
                of.requests.add(&later);
                of.rounds += 1;
                let is_new = |(scheme, port, _): &(Scheme, u16, RobotsInForce)| {
                    of.robots.iter().all(|(other, of_port, _)| (other, of_port) != (scheme, port))
                };
                let more: Vec<_> = robots.into_iter().filter(is_new).collect();
                of.robots.extend(more);
                of.robots.sort_unstable_by_key(|(scheme, port, _)| (*scheme, *port));
            }
            None => cycles.push(HostCycle { cycle: round.cycle, rounds: 1, requests, robots }),
        }
    }
    Ok((!rounds.is_empty()).then_some(cycles))
}

/// A robots.txt in one word, or its SHA-256 in hexadecimal.
pub fn robots_text(robots: &RobotsInForce) -> String {
    match robots {
        RobotsInForce::Unknown => "unknown".into(),
        RobotsInForce::Absent => "absent".into(),
        RobotsInForce::Unreachable => "unreachable".into(),
        RobotsInForce::File(digest) => digest.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

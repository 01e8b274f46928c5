//! Kept files of several repositories put together. Each has a range of URLs that comes behind that of the one before, so the files
//! of a round are put one behind another.

use crate::file::error::{CommitError, ReadError, WriteError};
use crate::kept::entries::{EntryWriter, StoredEntries, StoredEntry};
use crate::kept::file::{StoredKind, round_in};
use crate::kept::hosts::StoredHost;
use crate::kept::visits::StoredVisit;
use crate::storage::Storage;
use recrawl_types::DatedRound;
use std::collections::BTreeSet;

/// Ends the name of a file until all are written: another one may still be read under the name.
const NEW: &str = ".joined";

/// A round after the joining, and the rounds that it is made of: each with the number of its repository, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedRound {
    /// The round.
    pub round: DatedRound,
    /// Its parts.
    pub parts: Vec<(usize, DatedRound)>,
}

/// Writes the kept files of these rounds to the first storage, in place of all that it has; the others stay as they are. Of use only
/// where nobody else reads or writes: what is stopped on the way is neither the old nor the new.
///
/// # Errors
/// When a file cannot be read or written.
pub fn join_kept(storages: &[&dyn Storage], rounds: &[JoinedRound]) -> Result<(), CommitError> {
    let Some(into) = storages.first() else { return Ok(()) };
    let mut made = BTreeSet::new();
    for JoinedRound { round, parts } in rounds {
        let of_parts: Vec<(&dyn Storage, DatedRound)> =
            parts.iter().map(|(at, round)| (storages[*at], *round)).collect();
        for kind in StoredKind::ALL {
            let name = kind.file(*round);
            let is_written = match kind {
                StoredKind::Visits => join::<StoredVisit>(*into, &name, *round, &of_parts)?,
                StoredKind::Hosts => join::<StoredHost>(*into, &name, *round, &of_parts)?,
            };
            if is_written {
                made.insert(name);
            }
        }
    }
    let folder = into.locate("");
    for old in
        into.list().map_err(ReadError::io(folder.clone()))?.iter().filter(|name| round_in(name).is_some())
    {
        into.remove(old).map_err(WriteError::during(into.locate(old), "remove"))?;
    }
    for name in made {
        let new = format!("{name}{NEW}");
        into.rename(&new, &name).map_err(WriteError::during(into.locate(&new), "rename"))?;
    }
    into.sync_dir().map_err(WriteError::during(folder, "sync"))?;
    Ok(())
}

fn join<T: StoredEntry>(
    into: &dyn Storage,
    name: &str,
    round: DatedRound,
    parts: &[(&dyn Storage, DatedRound)],
) -> Result<bool, CommitError> {
    let mut writer: Option<EntryWriter> = None;
    for (storage, of_part) in parts {
        let Some(mut entries) = StoredEntries::<T>::open(*storage, *of_part)? else { continue };
        if writer.is_none() {
            let name = format!("{name}{NEW}");
            writer = Some(EntryWriter::create_as(into, &name, T::KIND, round.round)?);
        }
        let writer = writer.as_mut().expect("just made");
        while let Some(entry) = entries.next_entry()? {
            writer.push(&entry)?;
        }
    }
    writer.as_mut().map(EntryWriter::finish).transpose()?;
    Ok(writer.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kept::rounds::StoredRounds;
    use crate::storage::MemoryStorage;
    use recrawl_types::{Cycle, HostRequests, Outcome, Round, Share, UrlRules};
    use std::sync::Arc;

    fn dated(round: u32, cycle: u32) -> DatedRound {
        DatedRound { round: Round(round), cycle: Cycle(cycle) }
    }

    fn write(storage: &dyn Storage, round: DatedRound, pages: &[u32]) {
        let mut visits = EntryWriter::create(storage, StoredKind::Visits, round).unwrap();
        let mut hosts = EntryWriter::create(storage, StoredKind::Hosts, round).unwrap();
        for page in pages {
            let url = UrlRules::default().canonicalize(&format!("http://h{page}.test/")).unwrap();
            let (share, outcome) = (Share::Score, Outcome::NotModified);
            let (confirmed, missed, learned) = (0, 0, None);
            let visit =
                StoredVisit { url, at: round.cycle.0.into(), share, outcome, confirmed, missed, learned };
            visits.push(&visit).unwrap();
            let (host, requests) = (format!("h{page}.test").into(), HostRequests::default());
            hosts.push(&StoredHost { host, requests, robots: Vec::new() }).unwrap();
        }
        visits.finish().unwrap();
        hosts.finish().unwrap();
    }

    #[test]
    fn files_of_a_round_are_one_and_old_ones_go() {
        let storages = [MemoryStorage::new(), MemoryStorage::new()];
        write(&storages[0], dated(6, 6), &[1, 2]);
        write(&storages[0], dated(7, 7), &[2]);
        write(&storages[1], dated(3, 6), &[5]);
        write(&storages[1], dated(4, 7), &[4, 5]);
        let joined = |round, cycle, parts: &[(usize, DatedRound)]| JoinedRound {
            round: dated(round, cycle),
            parts: parts.to_vec(),
        };
        // Round 6 gets the number of another one that is still to be read.
        let rounds = [
            joined(7, 6, &[(0, dated(6, 6)), (1, dated(3, 6))]),
            joined(8, 7, &[(0, dated(7, 7)), (1, dated(4, 7))]),
        ];
        let all: Vec<&dyn Storage> = storages.iter().map(|storage| storage as &dyn Storage).collect();
        join_kept(&all, &rounds).unwrap();
        let [into, other] = storages;
        assert_eq!(other.image().len(), 4, "the others stay as they are");
        let kept = StoredRounds::new(Arc::new(into), Round(8));
        assert_eq!(kept.list().unwrap(), [dated(7, 6), dated(8, 7)]);
        assert_eq!(kept.list_hosts().unwrap(), [dated(7, 6), dated(8, 7)]);
        let mut told = Vec::new();
        for round in kept.list().unwrap() {
            let mut visits = kept.visits(round).unwrap().unwrap();
            told.extend(
                std::iter::from_fn(|| visits.next_entry().unwrap())
                    .map(|visit| (visit.at, visit.url.to_string())),
            );
            let mut hosts = kept.hosts(round).unwrap().unwrap();
            assert_eq!(std::iter::from_fn(|| hosts.next_entry().unwrap()).count(), 3);
        }
        let pages: Vec<(u64, &str)> = told.iter().map(|(at, url)| (*at, &url[8..9])).collect();
        assert_eq!(pages, [(6, "1"), (6, "2"), (6, "5"), (7, "2"), (7, "4"), (7, "5")]);
    }
}

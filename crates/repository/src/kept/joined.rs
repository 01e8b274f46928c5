//! Kept files of several repositories put together. Each has a range of URLs that comes behind that of the one before, so the files
//! of a round are put one behind another.

use crate::file::error::{CommitError, ReadError, WriteError};
use crate::kept::file::{StoredKind, round_in};
use crate::kept::hosts::{StoredHostWriter, StoredHosts};
use crate::kept::visits::{StoredVisitWriter, StoredVisits};
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
                StoredKind::Visits => join_visits(*into, &name, *round, &of_parts)?,
                StoredKind::Hosts => join_hosts(*into, &name, *round, &of_parts)?,
            };
            if is_written {
                made.insert(name);
            }
        }
    }
    let folder = into.locate("");
    for old in into.list().map_err(ReadError::io(folder.clone()))?.iter().filter(|name| round_in(name).is_some()) {
        into.remove(old).map_err(WriteError::during(into.locate(old), "remove"))?;
    }
    for name in made {
        let new = format!("{name}{NEW}");
        into.rename(&new, &name).map_err(WriteError::during(into.locate(&new), "rename"))?;
    }
    into.sync_dir().map_err(WriteError::during(folder, "sync"))?;
    Ok(())
}

fn join_visits(
    into: &dyn Storage,
    name: &str,
    round: DatedRound,
    parts: &[(&dyn Storage, DatedRound)],
) -> Result<bool, CommitError> {
    let mut writer: Option<StoredVisitWriter> = None;
    for (storage, of_part) in parts {
        let Some(mut visits) = StoredVisits::open(*storage, *of_part)? else { continue };
        if writer.is_none() {
            writer = Some(StoredVisitWriter::create_as(into, &format!("{name}{NEW}"), round.round)?);
        }
        let writer = writer.as_mut().expect("just made");
        while let Some(visit) = visits.next_visit()? {
            writer.push(&visit)?;
        }
    }
    writer.as_mut().map(StoredVisitWriter::finish).transpose()?;
    Ok(writer.is_some())
}

fn join_hosts(
    into: &dyn Storage,
    name: &str,
    round: DatedRound,
    parts: &[(&dyn Storage, DatedRound)],
) -> Result<bool, CommitError> {
    let mut writer: Option<StoredHostWriter> = None;
    for (storage, of_part) in parts {
        let Some(mut hosts) = StoredHosts::open(*storage, *of_part)? else { continue };
        if writer.is_none() {
            writer = Some(StoredHostWriter::create_as(into, &format!("{name}{NEW}"), round.round)?);
        }
        let writer = writer.as_mut().expect("just made");
        while let Some(host) = hosts.next_host()? {
            writer.push(&host)?;
        }
    }
    writer.as_mut().map(StoredHostWriter::finish).transpose()?;
    Ok(writer.is_some())
}

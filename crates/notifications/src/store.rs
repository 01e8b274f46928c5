//! The file in which it stands how far each target was told.

use crate::delivery::Delivery;
use recrawl_repository::checked_file::{CheckedFile, NOTHING};
use recrawl_repository::storage::Storage;
use recrawl_repository::{ReadError, StoredPosition, StoredRounds, WriteError};
use recrawl_types::{CanonicalUrl, Round};
use std::collections::BTreeMap;

/// Bytes of the file that are read at most: 1,000 messages held for each of 100 targets take less.
const MAX_DELIVERIES_BYTES: u64 = 256 << 20;

/// The name of the file.
pub const NAME: &str = "notify.json";

const FILE: CheckedFile =
    CheckedFile { name: NAME, next: "notify.json.next", key: "targets", max_bytes: MAX_DELIVERIES_BYTES };

/// How far each target was told, by its name.
pub type Deliveries = BTreeMap<String, Delivery>;

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DeliveryFileError {
    /// It cannot be read.
    #[error("{0}; remove notify.json to deliver only what is found from now on")]
    Read(#[from] ReadError),
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Another version wrote it.
    #[error("notify.json: {0}; remove it to deliver only what is found from now on")]
    Content(#[from] serde_json::Error),
}

/// Reads the file; nothing where there is none.
///
/// # Errors
/// When it is damaged or cannot be read.
pub fn read(storage: &dyn Storage) -> Result<Deliveries, DeliveryFileError> {
    let text = FILE.read(storage)?;
    Ok(serde_json::from_str(text.as_deref().unwrap_or(NOTHING))?)
}

/// Replaces the file, durably.
///
/// # Errors
/// When the disk refuses.
pub fn write(storage: &dyn Storage, deliveries: &Deliveries) -> Result<(), DeliveryFileError> {
    let text = serde_json::to_string(deliveries)?;
    Ok(FILE.write(storage, &text)?)
}

/// The targets of these names, then those without a name here, which are removed from the file. One that is new is told
/// of rounds after `committed`. Without names and without a file, nothing is written.
///
/// # Errors
/// When the file is damaged, or cannot be read or written.
pub fn of_targets<'n>(
    storage: &dyn Storage,
    names: impl Iterator<Item = &'n str>,
    committed: Round,
) -> Result<(Deliveries, Deliveries), DeliveryFileError> {
    let mut before = read(storage)?;
    let mut now = Deliveries::new();
    for name in names {
        let mut delivery = before.get(name).cloned().unwrap_or_else(|| Delivery::from(committed.next()));
        // The repository was rolled back: what follows is new.
        if delivery.place.round > committed.next() {
            delivery.skip_to(committed);
        }
        now.insert(name.to_owned(), delivery);
    }
    if now != before {
        write(storage, &now)?;
    }
    before.retain(|name, _| !now.contains_key(name));
    Ok((now, before))
}

/// Removes pages that were taken down; gives the number of messages that told of them. With `only_count`, nothing is
/// written. The kept visits have none of these pages any more.
///
/// # Errors
/// When a file is damaged, or cannot be read or written.
pub fn remove(
    storage: &dyn Storage,
    kept: &StoredRounds,
    is_meant: &dyn Fn(&CanonicalUrl) -> bool,
    only_count: bool,
) -> Result<u64, DeliveryFileError> {
    let mut deliveries = read(storage)?;
    let mut removed = 0;
    let before = deliveries.clone();
    for delivery in deliveries.values_mut() {
        removed += delivery.remove(is_meant);
        let place = &mut delivery.place;
        if place.after.as_ref().is_some_and(is_meant) {
            place.after = page_before(place, kept)?;
        }
    }
    if deliveries != before && !only_count {
        write(storage, &deliveries)?;
    }
    Ok(removed)
}

/// The last page that is kept before this place; none if it is the first. Then the same visits follow it.
fn page_before(place: &StoredPosition, kept: &StoredRounds) -> Result<Option<CanonicalUrl>, ReadError> {
    let Some(round) = kept.list()?.into_iter().find(|kept| kept.round == place.round) else {
        return Ok(None);
    };
    let Some(mut visits) = kept.visits(round)? else { return Ok(None) };
    let mut last = None;
    while let Some(visit) = visits.next_entry()? {
        if Some(&visit.url) >= place.after.as_ref() {
            break;
        }
        last = Some(visit.url);
    }
    Ok(last)
}

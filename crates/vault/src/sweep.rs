//! Removing objects that a restore no longer needs.

use crate::contents::{Piece, StoredFile, damaged};
use crate::contents::{StoredStep, read_piece};
use crate::error::VaultError;
use crate::object::{ObjectKey, ObjectKind, RACES, read_framed};
use crate::store::{Listed, UNFINISHED};
use crate::vault::Vault;
use std::collections::{BTreeMap, BTreeSet};

/// Time that objects stay after they were named last.
const OLD_ENOUGH: u64 = 24 * 60 * 60 * 1000;

/// The objects that a sweep removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Objects.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Vault {
    /// Removes objects that nothing has named for a day: a process that restores has that long to read what it found.
    ///
    /// What a manifest names was named by the manifest before it, or is younger than that one, since no object is named
    /// again once it is not. So all that was needed within the last day is named by the manifest that was the newest
    /// a day ago, or is as young as it: S3 tells whole seconds. The sweep stays away from what says who may write: the vault's name, all
    /// epochs, and the newest number of each kind of an epoch, which a process that slept would else create once more.
    ///
    /// # Errors
    /// When the store does not answer, or an object of these manifests is damaged.
    pub fn sweep(&self, now: u64) -> Result<Swept, VaultError> {
        let Some(newest) = self.newest.filter(|_| !self.is_unsettled()) else { return Ok(Swept::default()) };
        let listed = self.store.list("")?;
        let manifests = listed.iter().filter(|object| is_old(object, now)).filter_map(|object| {
            let key = object.key.parse::<ObjectKey>().ok()?;
            (key.kind == ObjectKind::Manifest && (key.epoch, key.number) <= (newest.epoch, newest.number))
                .then_some((key, object.created))
        });
        let a_day_ago = manifests.max_by_key(|(key, _)| (key.epoch, key.number));
        let mut named = self.named()?;
        if let Some((key, _)) = a_day_ago
            && let Some(step) = read_framed::<StoredStep>(&*self.store, &key.to_string())?
        {
            let file = |change| {
                let crate::contents::FileChange { lists, pieces, .. } = change;
                StoredFile { lists, pieces }
            };
            self.name_all(step.files.into_values().map(file).collect::<Vec<_>>().iter(), &mut named)?;
        }
        let last = last_of_each(&listed);
        self.remove(&listed, |object, key| match (key, a_day_ago) {
            // Of a process that took the vault meanwhile.
            (Some(key), _) if key.epoch > self.epoch => false,
            (Some(_), None) => false,
            (Some(key), Some((oldest, since))) => {
                let is_step =
                    key.kind != ObjectKind::Data && (key.epoch, key.number) >= (oldest.epoch, oldest.number);
                let is_last = last.get(&(key.epoch, key.kind == ObjectKind::Data)) == Some(&key.number);
                !is_step && !is_last && !named.contains(&key) && object.created < since
            }
            (None, _) => is_left_over(object) && is_old(object, now),
        })
    }

    /// Removes, at once, all that the newest manifest and the logs behind it do not name: then the vault holds nothing
    /// that left the folder before that manifest.
    ///
    /// # Errors
    /// As of [`Vault::sweep`]; then ask again.
    pub fn purge(&self) -> Result<Swept, VaultError> {
        let is_own = |newest: &ObjectKey| newest.epoch == self.epoch && !self.is_unsettled();
        let Some(newest) = self.newest.filter(is_own) else {
            return Ok(Swept::default());
        };
        let named = self.named()?;
        let listed = self.store.list("")?;
        self.remove(&listed, |object, key| match key {
            // Of a process that took the vault meanwhile.
            Some(key) if key.epoch > self.epoch => false,
            Some(key) if key.kind == ObjectKind::Data => !named.contains(&key),
            Some(key) => (key.epoch, key.number) < (newest.epoch, newest.number),
            None => is_left_over(object),
        })
    }

    fn remove(
        &self,
        listed: &[Listed],
        is_to_go: impl Fn(&Listed, Option<ObjectKey>) -> bool,
    ) -> Result<Swept, VaultError> {
        let mut swept = Swept::default();
        for object in listed {
            if is_to_go(object, object.key.parse().ok()) {
                self.store.remove(&object.key)?;
                (swept.objects, swept.bytes) = (swept.objects + 1, swept.bytes + object.bytes);
            }
        }
        Ok(swept)
    }

    /// The objects that make up the files as they are now, and those that the next step may name.
    fn named(&self) -> Result<BTreeSet<ObjectKey>, VaultError> {
        let mut named: BTreeSet<ObjectKey> = self.uploads.objects().collect();
        self.name_all(self.files.values().map(|known| &known.file), &mut named)?;
        Ok(named)
    }

    fn name_all<'f>(
        &self,
        files: impl Iterator<Item = &'f StoredFile>,
        named: &mut BTreeSet<ObjectKey>,
    ) -> Result<(), VaultError> {
        for file in files {
            named.extend(file.pieces.iter().map(|piece| piece.object));
            for list in &file.lists {
                // Most lists of two manifests are the same.
                if named.insert(list.list.object) {
                    let bytes = read_piece(&*self.store, &list.list)?;
                    let pieces: Vec<Piece> = serde_json::from_slice(&bytes)
                        .map_err(|e| damaged(&*self.store, &list.list, format!("malformed: {e}")))?;
                    named.extend(pieces.iter().map(|piece| piece.object));
                }
            }
        }
        Ok(())
    }
}

/// Of a process that was killed within a race, or within a create.
fn is_left_over(object: &Listed) -> bool {
    object.key.starts_with(RACES) || object.key.starts_with(UNFINISHED)
}

fn is_old(object: &Listed, now: u64) -> bool {
    object.created.saturating_add(OLD_ENOUGH) <= now
}

/// The highest number of each epoch: of data, and of steps.
fn last_of_each(listed: &[Listed]) -> BTreeMap<(u64, bool), u64> {
    let mut last = BTreeMap::new();
    for key in listed.iter().filter_map(|object| object.key.parse::<ObjectKey>().ok()) {
        let known = last.entry((key.epoch, key.kind == ObjectKind::Data)).or_insert(0);
        *known = key.number.max(*known);
    }
    last
}

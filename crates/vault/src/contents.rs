//! The contents of a vault: the folder as the newest manifest and the logs behind it describe it.

use crate::error::VaultError;
use crate::object::{Digest, EPOCHS, MAX_STEP, ObjectKey, ObjectKind, number_in, read_framed};
use crate::seal::Seal;
use crate::store::{Store, StoreError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Looks for the newest manifest, in each of which a writer may have made a newer one.
const LOOKS: u32 = 16;

/// Bytes of a file in an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// The object.
    pub object: ObjectKey,
    /// Where they begin in it.
    pub at: u64,
    /// How many they are.
    pub length: u64,
    /// Their SHA-256.
    pub digest: Digest,
}

/// An object that lists pieces of a file: long files would make manifests long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PieceList {
    /// The list.
    pub list: Piece,
    /// Bytes of the file that its pieces have.
    pub covers: u64,
}

/// A file in the vault: pieces that follow each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredFile {
    pub(crate) lists: Vec<PieceList>,
    pub(crate) pieces: Vec<Piece>,
}

impl StoredFile {
    /// Its length.
    pub fn length(&self) -> u64 {
        let lengths = self.lists.iter().map(|list| list.covers).chain(self.pieces.iter().map(|p| p.length));
        // A sum that is too large is found where its lists are read.
        lengths.fold(0, u64::saturating_add)
    }

    /// Do objects of their own hold all of it? What steps hold is shipped again with the next manifest.
    pub(crate) fn is_settled(&self) -> bool {
        self.pieces.iter().all(|piece| piece.object.kind == ObjectKind::Data)
    }

    /// Its pieces, with those that lists have.
    ///
    /// # Errors
    /// When a list cannot be read, or is damaged.
    pub(crate) fn resolved(&self, store: &dyn Store) -> Result<Vec<Piece>, VaultError> {
        let mut all = Vec::new();
        for list in &self.lists {
            let bytes = read_piece(store, &list.list)?;
            let pieces: Vec<Piece> = serde_json::from_slice(&bytes)
                .map_err(|e| damaged(store, &list.list, format!("a list of pieces is malformed: {e}")))?;
            check(&pieces).map_err(|what| damaged(store, &list.list, what))?;
            if pieces.iter().map(|piece| piece.length).sum::<u64>() != list.covers {
                let what = format!("a list has pieces of other than {} bytes", list.covers);
                return Err(damaged(store, &list.list, what));
            }
            all.extend(pieces);
        }
        all.extend(&self.pieces);
        Ok(all)
    }
}

/// Whether pieces are such as a vault has: then no sum of theirs is too large, and none takes more memory than it may.
fn check(pieces: &[Piece]) -> Result<(), String> {
    let is_wrong = |piece: &&Piece| piece.at.saturating_add(piece.length) > piece.object.kind.most();
    match pieces.iter().find(is_wrong) {
        Some(Piece { object, at, length, .. }) => {
            Err(format!("it names {length} bytes at {at} of {object}, which no object of its kind has"))
        }
        None => Ok(()),
    }
}

/// Reads the bytes of a piece, checked.
///
/// # Errors
/// [`VaultError::Damaged`] if the object is gone, cut short or changed.
pub(crate) fn read_piece(store: &dyn Store, piece: &Piece) -> Result<Vec<u8>, VaultError> {
    match store.read(&piece.object.to_string(), piece.object.kind.most()) {
        Ok(object) => cut(store, piece, object),
        Err(StoreError::Absent(_)) => Err(damaged(store, piece, "the object is missing".into())),
        Err(error) => Err(error.into()),
    }
}

/// The bytes of a piece in its object, checked.
pub(crate) fn cut(store: &dyn Store, piece: &Piece, mut object: Vec<u8>) -> Result<Vec<u8>, VaultError> {
    let end = piece.at.saturating_add(piece.length);
    if (object.len() as u64) < end {
        let what = format!("the object ends at byte {}, before byte {end}", object.len());
        return Err(damaged(store, piece, what));
    }
    object.truncate(end as usize);
    object.drain(..piece.at as usize);
    match Digest::of_bytes(&object) == piece.digest {
        true => Ok(object),
        false => Err(damaged(store, piece, "its bytes differ from what was written".into())),
    }
}

pub(crate) fn damaged(store: &dyn Store, piece: &Piece, what: String) -> VaultError {
    VaultError::Damaged { object: store.locate(&piece.object.to_string()), offset: piece.at, what }
}

/// A step, as written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredStep {
    /// Made up by the process that took the epoch.
    pub nonce: String,
    /// When it was made, in milliseconds since 1970.
    pub at: u64,
    /// Files that are new, or have changed; of a manifest, all.
    pub files: BTreeMap<String, FileChange>,
    /// Files that are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
}

/// Of a file, what it keeps, and what follows.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileChange {
    /// Bytes from before that stay at its beginning: whole pieces.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub kept: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lists: Vec<PieceList>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pieces: Vec<Piece>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The files of a vault, and the steps that name them.
#[derive(Clone, Debug)]
pub struct VaultContents {
    /// The files by name.
    pub files: BTreeMap<String, StoredFile>,
    /// The newest manifest.
    pub manifest: ObjectKey,
    /// The number of the last step: the manifest's, or that of the last log behind it.
    pub last: u64,
    /// When that step was made, in milliseconds since 1970, by its writer's clock.
    pub at: u64,
    /// The nonce of the writer.
    pub nonce: String,
}

impl VaultContents {
    /// Steps that a restore reads.
    pub fn steps(&self) -> impl Iterator<Item = ObjectKey> + '_ {
        let log = |number| ObjectKey { kind: ObjectKind::Log, number, ..self.manifest };
        std::iter::once(self.manifest).chain((self.manifest.number + 1..=self.last).map(log))
    }

    /// The last step: whatever is shipped later comes behind it.
    pub fn newest(&self) -> ObjectKey {
        match self.last == self.manifest.number {
            true => self.manifest,
            false => ObjectKey { kind: ObjectKind::Log, number: self.last, ..self.manifest },
        }
    }

    fn apply(&mut self, store: &dyn Store, key: ObjectKey, step: StoredStep) -> Result<(), VaultError> {
        let wrong = |what| VaultError::Damaged { object: store.locate(&key.to_string()), offset: 0, what };
        for (name, change) in step.files {
            let file = self.files.entry(name).or_default();
            if !keep(file, change.kept) {
                let what = format!("it keeps {} bytes of a file that has no such part", change.kept);
                return Err(wrong(what));
            }
            let lists: Vec<Piece> = change.lists.iter().map(|list| list.list).collect();
            check(&lists).and_then(|()| check(&change.pieces)).map_err(wrong)?;
            file.lists.extend(change.lists);
            file.pieces.extend(change.pieces);
        }
        for name in &step.removed {
            self.files.remove(name);
        }
        (self.last, self.at, self.nonce) = (key.number, step.at, step.nonce);
        Ok(())
    }
}

/// Cuts a file to its first bytes; false if no piece ends there.
fn keep(file: &mut StoredFile, bytes: u64) -> bool {
    let (mut left, mut lists, mut pieces) = (bytes, 0, 0);
    while let Some(list) = file.lists.get(lists).filter(|list| list.covers <= left && left > 0) {
        (left, lists) = (left - list.covers, lists + 1);
    }
    while let Some(piece) = file.pieces.get(pieces).filter(|piece| piece.length <= left && left > 0) {
        (left, pieces) = (left - piece.length, pieces + 1);
    }
    if left > 0 || lists < file.lists.len() && pieces > 0 {
        return false;
    }
    file.lists.truncate(lists);
    file.pieces.truncate(pieces);
    true
}

/// The numbers of the objects in a folder, ascending.
///
/// # Errors
/// When the store does not answer.
pub fn numbers(store: &dyn Store, folder: &str) -> Result<Vec<u64>, VaultError> {
    let listed = store.list(folder)?;
    let number = |key: &str| key.strip_prefix(folder).and_then(number_in);
    let mut numbers: Vec<u64> = listed.iter().filter_map(|object| number(&object.key)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Reads what the vault holds: of the highest epoch that has a manifest, the newest one and the logs behind it. None if
/// nothing was ever shipped. An epoch without a manifest is of a process that has not come so far. Of a sealed epoch only
/// what its seal covers counts.
///
/// # Errors
/// When a step is damaged, or the store does not answer.
pub fn contents(store: &dyn Store) -> Result<Option<VaultContents>, VaultError> {
    for epoch in numbers(store, EPOCHS)?.into_iter().rev() {
        let folder = ObjectKey::folder(epoch, ObjectKind::Manifest);
        let end = Seal::read(store, epoch)?.map_or(u64::MAX, |seal| seal.steps);
        for look in 0.. {
            let number = numbers(store, &folder)?.into_iter().rev().find(|number| *number < end);
            let Some(number) = number else { break };
            let manifest = ObjectKey { epoch, kind: ObjectKind::Manifest, number };
            if let Some(contents) = since(store, manifest, end)? {
                return Ok(Some(contents));
            }
            if look == LOOKS {
                let what = "the store does not list the steps that it has, or lists what it does not have";
                return Err(VaultError::Away(format!("{}: {what}", store.locate(&folder))));
            }
        }
    }
    Ok(None)
}

/// The contents from a manifest on, of the steps before `end`; none if a newer manifest took its place meanwhile.
fn since(store: &dyn Store, manifest: ObjectKey, end: u64) -> Result<Option<VaultContents>, VaultError> {
    let files = BTreeMap::new();
    let mut contents = VaultContents { files, manifest, last: manifest.number, at: 0, nonce: String::new() };
    let Some(step) = read_framed::<StoredStep>(store, &manifest.to_string())? else { return Ok(None) };
    contents.apply(store, manifest, step)?;
    loop {
        let number = contents.last + 1;
        if number >= end {
            return Ok(Some(contents));
        }
        let key = ObjectKey { kind: ObjectKind::Log, number, ..manifest };
        let Some(step) = read_framed::<StoredStep>(store, &key.to_string())? else {
            // The logs end here, unless the sequence goes on with a manifest.
            let next = ObjectKey { kind: ObjectKind::Manifest, number, ..manifest };
            return match store.read(&next.to_string(), MAX_STEP) {
                Err(StoreError::Absent(_)) => Ok(Some(contents)),
                Err(error) => Err(error.into()),
                Ok(_) => Ok(None),
            };
        };
        contents.apply(store, key, step)?;
    }
}

//! Bytes that the store has and that no step names yet. A try that failed leaves them, and the next one goes on behind
//! them: else the first ship of a large folder over a line that fails now and then would never end.

use crate::contents::Piece;
use crate::error::VaultError;
use crate::object::{ObjectKey, ObjectKind, number_in};
use crate::store::Store;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Pieces of files, by name and by where they begin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uploads(BTreeMap<String, BTreeMap<u64, Upload>>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Upload {
    piece: Piece,
    /// That of the file. None after a restart, if it does not prove that the file has only grown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identity: Option<String>,
}

impl Uploads {
    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets identities that do not outlive the process: bytes of such files are compared before they are used.
    pub fn keep_identities(&mut self, of: impl Fn(&str) -> bool) {
        let files = self.0.iter_mut().filter(|(name, _)| !of(name));
        files.flat_map(|(_, uploads)| uploads.values_mut()).for_each(|upload| upload.identity = None);
    }

    /// The piece of a file that begins there, and whether its bytes must be compared first.
    pub(crate) fn at(&self, name: &str, identity: &str, offset: u64) -> Option<(Piece, bool)> {
        let upload = self.0.get(name)?.get(&offset)?;
        let is_same = upload.identity.as_ref().is_none_or(|known| known == identity);
        (is_same && upload.piece.length > 0).then_some((upload.piece, upload.identity.is_none()))
    }

    /// Adds a piece of a file.
    pub(crate) fn add(&mut self, name: &str, identity: &str, offset: u64, piece: Piece) {
        let upload = Upload { piece, identity: Some(identity.to_owned()) };
        self.0.entry(name.to_owned()).or_default().insert(offset, upload);
    }

    /// Forgets pieces of other files than these.
    pub(crate) fn keep(&mut self, names: &BTreeSet<&str>) {
        self.0.retain(|name, _| names.contains(name.as_str()));
    }

    /// Forgets the pieces of a file.
    pub(crate) fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// The objects.
    pub(crate) fn objects(&self) -> impl Iterator<Item = ObjectKey> + '_ {
        self.0.values().flat_map(BTreeMap::values).map(|upload| upload.piece.object)
    }

    /// Keeps what the store still has.
    ///
    /// # Errors
    /// When it does not answer.
    pub(crate) fn that_are_in(mut self, store: &dyn Store) -> Result<Uploads, VaultError> {
        let epochs: BTreeSet<u64> = self.objects().map(|object| object.epoch).collect();
        let mut there = BTreeMap::new();
        for epoch in epochs {
            let folder = ObjectKey::folder(epoch, ObjectKind::Data);
            let number = |key: &str| key.strip_prefix(&folder).and_then(number_in);
            let listed = store.list(&folder)?;
            there.extend(listed.iter().filter_map(|l| Some(((epoch, number(&l.key)?), l.bytes))));
        }
        let is_there = |_: &u64, Upload { piece, .. }: &mut Upload| {
            let key = (piece.object.epoch, piece.object.number);
            piece.object.kind == ObjectKind::Data && piece.at == 0 && there.get(&key) == Some(&piece.length)
        };
        self.0.values_mut().for_each(|uploads| uploads.retain(is_there));
        self.0.retain(|_, uploads| !uploads.is_empty());
        Ok(self)
    }
}

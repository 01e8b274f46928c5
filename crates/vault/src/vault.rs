//! The writer of a vault: takes an epoch, and ships what changed in a folder.

use crate::contents::{FileChange, Piece, PieceList, StoredFile, StoredStep, contents, numbers};
use crate::error::VaultError;
use crate::object::{
    Digest, EPOCHS, FIRST_LINE, MAX_DATA, MAX_STEP, ObjectKey, ObjectKind, create_or_find, framed,
    read_framed,
};
use crate::race::race;
use crate::seal::{EpochHead, epoch_key, take_epoch};
use crate::store::{Store, StoreError, VAULT};
use crate::uploads::Uploads;
use recrawl_repository::storage::ReadFile;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

/// Bytes of a file in one piece at most. A create holds them in memory.
const PIECE: u64 = MAX_DATA;
/// Files up to this length are a part of each manifest: an object for each would cost a request.
const SMALL: u64 = 64 << 10;
/// Pieces of a file that still grows, before an object lists them.
const LISTED: usize = 128;
/// The same, of a file that has stopped growing.
const LISTED_AT_REST: usize = 8;
/// Pieces in a list: so it is no longer than other objects of data.
const LIST: usize = 32 << 10;
/// Bytes that one call ships at most: between two of them a caller notes what the store has, and may capture anew.
const PORTION: u64 = 1 << 30;
/// Numbers that a create of data may find taken by creates of this process whose answers never came.
const TAKEN: u32 = 64;

/// Which crawl a vault is of.
#[derive(Debug, Serialize, Deserialize)]
struct VaultHead {
    id: String,
    at: u64,
}

/// A vault that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Founded {
    /// Made up when it was founded.
    pub id: String,
    /// The highest epoch; 0 before the first.
    pub epoch: u64,
    /// The nonce of the process that took it.
    pub nonce: String,
}

/// Looks for a vault; none where nothing was ever shipped.
///
/// # Errors
/// When it is damaged, or the store does not answer.
pub fn found(store: &dyn Store) -> Result<Option<Founded>, VaultError> {
    let Some(VaultHead { id, .. }) = read_framed(store, VAULT)? else { return Ok(None) };
    let Some(epoch) = numbers(store, EPOCHS)?.pop() else {
        return Ok(Some(Founded { id, epoch: 0, nonce: String::new() }));
    };
    let head: Option<EpochHead> = read_framed(store, &epoch_key(epoch))?;
    let nonce = head.map(|head| head.nonce).unwrap_or_default();
    Ok(Some(Founded { id, epoch, nonce }))
}

/// A file of the folder, as it was at one moment.
#[derive(Clone)]
pub struct CapturedFile {
    /// Its name.
    pub name: String,
    /// A text that no other file of that name, made before or after, has: with the same one, a file has only grown.
    pub identity: String,
    /// Its length then. What is behind it is not shipped.
    pub length: u64,
    /// Must its bytes have objects of their own also between manifests? For what outlives the next one.
    pub is_lasting: bool,
    /// Does it count as unshipped?
    pub counts: bool,
    /// The open file; none if the vault has all of it.
    pub source: Option<Arc<dyn ReadFile>>,
}

/// The part of the folder that a capture describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaptureExtent {
    /// Some files. Nothing is said of others.
    Some,
    /// The folder between two commits.
    Changes,
    /// The folder at a commit: it becomes a manifest.
    Commit,
}

/// The folder as it was at one moment. It must be one from which its user can go on.
#[derive(Clone)]
pub struct FolderCapture {
    /// Its files, with names that differ.
    pub files: Vec<CapturedFile>,
    /// The part of the folder that they are.
    pub extent: CaptureExtent,
}

/// The result of shipping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shipped {
    /// Bytes of files.
    pub bytes: u64,
    /// Is it a manifest?
    pub is_manifest: bool,
    /// False if there is more than is shipped at once: ship again.
    pub is_whole: bool,
}

/// Nothing has changed.
const NOTHING: Shipped = Shipped { bytes: 0, is_manifest: false, is_whole: true };
/// Nothing names it yet.
const NOT_YET: Shipped = Shipped { is_whole: false, ..NOTHING };

/// A file that the vault has.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownFile {
    pub file: StoredFile,
    /// None if it was shipped by an earlier process, and was not compared yet.
    pub identity: Option<String>,
}

/// A step whose create was not answered yet.
struct OpenStep {
    key: ObjectKey,
    object: Vec<u8>,
    drafted: BTreeMap<String, Drafted>,
    removed: Vec<String>,
    shipped: Shipped,
}

/// A file as a step changes it.
struct Drafted {
    known: KnownFile,
    /// Bytes that stay as they were.
    kept: u64,
}

/// A step in the making.
struct Draft {
    key: ObjectKey,
    inline: Vec<u8>,
    drafted: BTreeMap<String, Drafted>,
    bytes: u64,
    /// Of those, what has objects of its own now.
    uploaded: u64,
    is_whole: bool,
}

/// The writer of a vault.
pub struct Vault {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) epoch: u64,
    nonce: String,
    next_data: u64,
    next_step: u64,
    pub(crate) files: BTreeMap<String, KnownFile>,
    pub(crate) newest: Option<ObjectKey>,
    open: Option<OpenStep>,
    pub(crate) uploads: Uploads,
    /// See [`PORTION`].
    pub(crate) portion: u64,
    /// The last step when it took the epoch, and its time.
    began_behind: Option<(ObjectKey, u64)>,
}

/// Left on the disk by earlier processes of a folder.
#[derive(Clone, Debug, Default)]
pub struct Inherited {
    /// Identities of files that they shipped, and which have only grown since.
    pub identities: BTreeMap<String, String>,
    /// Pieces that no step names.
    pub uploads: Uploads,
}

/// Seals the epochs before this one, which was just taken.
pub type SealOlder<'s> = dyn Fn(u64) -> Result<(), VaultError> + 's;

impl Vault {
    /// Tries whether a store can hold a vault. `name` is one that no other try has.
    ///
    /// # Errors
    /// [`VaultError::Unfit`], [`VaultError::Refused`], or [`VaultError::Away`].
    pub fn try_store(store: &dyn Store, name: &str) -> Result<(), VaultError> {
        race(store, name)
    }

    /// Takes the epoch after `found`, founding the vault if there is none.
    ///
    /// # Errors
    /// [`VaultError::Lost`] if another process took it first.
    pub fn begin(
        store: Arc<dyn Store>,
        found: &Founded,
        nonce: &str,
        at: u64,
        before: &Inherited,
    ) -> Result<Vault, VaultError> {
        Vault::begin_sealed(store, found, nonce, at, before, &|_| Ok(()))
    }

    /// The same, and calls `seal` before it reads what of older epochs counts.
    ///
    /// # Errors
    /// As [`Vault::begin`], and those of `seal`.
    pub fn begin_sealed(
        store: Arc<dyn Store>,
        found: &Founded,
        nonce: &str,
        at: u64,
        before: &Inherited,
        seal: &SealOlder<'_>,
    ) -> Result<Vault, VaultError> {
        let epoch = found.epoch + 1;
        if found.epoch == 0 {
            let head = VaultHead { id: found.id.clone(), at };
            match create_or_find(&*store, VAULT, &framed(VAULT, &head, b"")) {
                // Founded before, by a process that did not come so far as to take an epoch.
                Err(StoreError::Exists(_))
                    if read_framed::<VaultHead>(&*store, VAULT)?.is_some_and(|head| head.id == found.id) => {}
                Err(StoreError::Exists(object)) => return Err(VaultError::Lost { object }),
                done => done?,
            }
        }
        take_epoch(&*store, epoch, nonce, at)?;
        seal(epoch)?;
        let contents = contents(&*store)?;
        let newest = contents.as_ref().map(|contents| contents.manifest);
        let began_behind = contents.as_ref().map(|contents| (contents.newest(), contents.at));
        let known = |(name, file): (String, StoredFile)| {
            let identity = before.identities.get(&name).cloned();
            (name, KnownFile { file, identity })
        };
        let files = contents.map(|contents| contents.files.into_iter().map(known).collect());
        let (files, nonce) = (files.unwrap_or_default(), nonce.to_owned());
        let uploads = before.uploads.clone().that_are_in(&*store)?;
        let (next_data, next_step, open, portion) = (0, 0, None, PORTION);
        Ok(Vault {
            store,
            epoch,
            nonce,
            next_data,
            next_step,
            files,
            newest,
            open,
            uploads,
            portion,
            began_behind,
        })
    }

    /// The epoch.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The last step when this process took the epoch, and when that was made, in milliseconds since 1970.
    pub fn began_behind(&self) -> Option<(ObjectKey, u64)> {
        self.began_behind
    }

    /// Is there a step whose create was not answered? Its objects are named by nothing else yet.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.open.is_some()
    }

    /// Identities of the files that the vault has in objects of their own.
    pub fn identities(&self) -> BTreeMap<String, String> {
        let settled = self.files.iter().filter(|(_, known)| known.file.is_settled());
        settled.filter_map(|(name, known)| Some((name.clone(), known.identity.clone()?))).collect()
    }

    /// Pieces that no step names.
    pub fn uploads(&self) -> &Uploads {
        &self.uploads
    }

    /// Ships what a capture has and the vault has not.
    ///
    /// The order of creates is the whole argument: first the bytes of files, then, in one create, the step that names
    /// them. A crash before that create leaves objects that nothing names, which a sweep removes. A crash after it
    /// leaves the step. If nobody knows whether it was created, the same bytes are created again before anything
    /// else, so a number never stands for two steps; and a create that arrives late meets the object that is there.
    /// Before the step the process looks for a later epoch: then it has lost the vault, and says so. Should another take
    /// the vault between that look and the create, the step lies in an epoch that nobody reads.
    ///
    /// # Errors
    /// After one that [passes](VaultError::is_passing), ship this or a later capture.
    pub fn ship(&mut self, capture: &FolderCapture, at: u64) -> Result<Shipped, VaultError> {
        self.settle()?;
        self.check_epoch()?;
        let is_first = self.next_step == 0;
        if is_first && capture.extent == CaptureExtent::Some {
            return Ok(NOTHING);
        }
        let captured: BTreeSet<&str> = capture.files.iter().map(|file| file.name.as_str()).collect();
        if capture.extent != CaptureExtent::Some {
            self.uploads.keep(&captured);
        }
        let kind = if is_first || capture.extent == CaptureExtent::Commit {
            ObjectKind::Manifest
        } else {
            ObjectKind::Log
        };
        let key = ObjectKey { epoch: self.epoch, kind, number: self.next_step };
        let mut draft = Draft {
            key,
            inline: Vec::new(),
            drafted: BTreeMap::new(),
            bytes: 0,
            uploaded: 0,
            is_whole: true,
        };
        for file in &capture.files {
            self.draft(file, &mut draft)?;
            if !draft.is_whole {
                return Ok(Shipped { bytes: draft.bytes, ..NOT_YET });
            }
        }
        let is_gone =
            |name: &&String| capture.extent != CaptureExtent::Some && !captured.contains(name.as_str());
        let removed: Vec<String> = self.files.keys().filter(is_gone).cloned().collect();
        if kind == ObjectKind::Log && draft.drafted.is_empty() && removed.is_empty() {
            return Ok(NOTHING);
        }
        if kind == ObjectKind::Manifest {
            self.list_pieces(&removed, &mut draft)?;
        }
        let Draft { key, inline, drafted, bytes, .. } = draft;
        let step = self.step(key, &drafted, &removed, at);
        let object = framed(&key.to_string(), &step, &inline);
        if object.len() as u64 > MAX_STEP {
            let what = format!(
                "{} files and {} bytes of them are too much for one step",
                step.files.len(),
                inline.len()
            );
            return Err(VaultError::Refused(format!("{}: {what}", self.store.locate(&key.to_string()))));
        }
        let shipped = Shipped { bytes, is_manifest: kind == ObjectKind::Manifest, is_whole: true };
        self.open = Some(OpenStep { key, object, drafted, removed, shipped });
        self.settle()?;
        Ok(shipped)
    }

    /// Finishes a step whose create was not answered.
    fn settle(&mut self) -> Result<(), VaultError> {
        let Some(OpenStep { key, object, shipped, .. }) = &self.open else { return Ok(()) };
        let name = key.to_string();
        match create_or_find(&*self.store, &name, object) {
            Err(StoreError::Exists(object)) => return Err(VaultError::Lost { object }),
            done => done?,
        }
        // A store that says "done" of what it has not kept is found out here, and not by a restore.
        if shipped.is_manifest && self.store.read(&name, MAX_STEP)? != *object {
            let what = "the store said that it was written, and does not have it".into();
            return Err(VaultError::Damaged { object: self.store.locate(&name), offset: 0, what });
        }
        let Some(OpenStep { key, drafted, removed, .. }) = self.open.take() else { return Ok(()) };
        for name in drafted.keys().chain(&removed) {
            self.uploads.remove(name);
        }
        self.files.extend(drafted.into_iter().map(|(name, drafted)| (name, drafted.known)));
        for name in &removed {
            self.files.remove(name);
        }
        if key.kind == ObjectKind::Manifest {
            // It names all that is worth naming.
            (self.newest, self.uploads) = (Some(key), Uploads::default());
        }
        self.next_step = key.number + 1;
        Ok(())
    }

    fn check_epoch(&self) -> Result<(), VaultError> {
        match self.store.read(&epoch_key(self.epoch + 1), MAX_STEP) {
            Err(StoreError::Absent(_)) => Ok(()),
            Ok(_) => Err(VaultError::Lost { object: self.store.locate(&epoch_key(self.epoch + 1)) }),
            Err(error) => Err(error.into()),
        }
    }

    /// Adds a file to a step, if it differs from what the vault has.
    fn draft(&mut self, file: &CapturedFile, draft: &mut Draft) -> Result<(), VaultError> {
        let is_manifest = draft.key.kind == ObjectKind::Manifest;
        let known = self.files.get(&file.name);
        let is_same = known.is_some_and(|known| known.identity.as_ref() == Some(&file.identity));
        let is_whole = known.is_some_and(|known| {
            known.file.length() == file.length && (!is_manifest || known.file.is_settled())
        });
        if is_same && is_whole {
            return Ok(());
        }
        let is_inline = is_manifest && !file.is_lasting && file.length <= SMALL;
        let mut stored = match known {
            _ if is_inline => StoredFile::default(),
            Some(known) if is_same => known.file.clone(),
            Some(known) if known.identity.is_none() => self.equal_part(&known.file, file)?,
            _ => StoredFile::default(),
        };
        let has_unlisted = stored.lists.iter().map(|list| list.covers).sum::<u64>() > file.length;
        if has_unlisted {
            stored = StoredFile { pieces: stored.resolved(&*self.store)?, lists: Vec::new() };
        }
        let mut end = stored.length() - stored.pieces.iter().map(|piece| piece.length).sum::<u64>();
        let stays = |piece: &&Piece| {
            end += piece.length;
            end <= file.length && (!is_manifest || piece.object.kind == ObjectKind::Data)
        };
        let whole = stored.pieces.iter().take_while(stays).count();
        stored.pieces.truncate(whole);
        let mut at = stored.length();
        // A reader of the steps before knows only the lists.
        let kept = if has_unlisted { 0 } else { at };
        while at < file.length {
            if let Some(piece) = self.uploaded(file, at)? {
                stored.pieces.push(piece);
                at += piece.length;
                continue;
            }
            if draft.uploaded >= self.portion {
                draft.is_whole = false;
                return Ok(());
            }
            let length = (file.length - at).min(PIECE);
            let bytes = read_source(file, at, length)?;
            let fits = draft.inline.len() as u64 + length <= PIECE;
            let piece = if is_inline || !is_manifest && !file.is_lasting && fits {
                let begins = (FIRST_LINE + draft.inline.len()) as u64;
                draft.inline.extend_from_slice(&bytes);
                Piece { object: draft.key, at: begins, length, digest: Digest::of_bytes(&bytes) }
            } else {
                let piece = self.create_data(&bytes)?;
                self.uploads.add(&file.name, &file.identity, at, piece);
                draft.uploaded += length;
                piece
            };
            stored.pieces.push(piece);
            (at, draft.bytes) = (at + length, draft.bytes + length);
        }
        let known = KnownFile { file: stored, identity: Some(file.identity.clone()) };
        draft.drafted.insert(file.name.clone(), Drafted { known, kept });
        Ok(())
    }

    /// The piece of a file from there on that the store has, if no step names it.
    fn uploaded(&mut self, file: &CapturedFile, at: u64) -> Result<Option<Piece>, VaultError> {
        let found = self.uploads.at(&file.name, &file.identity, at);
        let fits = |(piece, _): &(Piece, bool)| piece.length <= file.length.saturating_sub(at);
        let Some((piece, is_unproven)) = found.filter(fits) else { return Ok(None) };
        if is_unproven && Digest::of_bytes(&read_source(file, at, piece.length)?) != piece.digest {
            return Ok(None);
        }
        self.uploads.add(&file.name, &file.identity, at, piece);
        Ok(Some(piece))
    }

    /// The beginning of a file that an earlier process shipped, as far as its bytes are the same here.
    fn equal_part(&self, stored: &StoredFile, file: &CapturedFile) -> Result<StoredFile, VaultError> {
        let (mut pieces, mut at) = (Vec::new(), 0);
        for piece in stored.resolved(&*self.store)? {
            let is_here = piece.object.kind == ObjectKind::Data && at + piece.length <= file.length;
            if !is_here || Digest::of_bytes(&read_source(file, at, piece.length)?) != piece.digest {
                break;
            }
            at += piece.length;
            pieces.push(piece);
        }
        Ok(StoredFile { lists: Vec::new(), pieces })
    }

    /// Creates an object of bytes. A number that is taken by other bytes was taken by a create of this process whose
    /// answer never came: nothing names it.
    fn create_data(&mut self, bytes: &[u8]) -> Result<Piece, VaultError> {
        for _ in 0..TAKEN {
            let object = ObjectKey { epoch: self.epoch, kind: ObjectKind::Data, number: self.next_data };
            match create_or_find(&*self.store, &object.to_string(), bytes) {
                Err(StoreError::Exists(_)) => self.next_data += 1,
                done => {
                    done?;
                    self.next_data += 1;
                    let length = bytes.len() as u64;
                    return Ok(Piece { object, at: 0, length, digest: Digest::of_bytes(bytes) });
                }
            }
        }
        let object = ObjectKey { epoch: self.epoch, kind: ObjectKind::Data, number: self.next_data };
        Err(VaultError::Lost { object: self.store.locate(&object.to_string()) })
    }

    /// Moves pieces of long files into objects of their own.
    fn list_pieces(&mut self, removed: &[String], draft: &mut Draft) -> Result<(), VaultError> {
        let mut to_list = Vec::new();
        for (name, known) in &self.files {
            let is_long = known.file.pieces.len() > LISTED_AT_REST && known.file.is_settled();
            if is_long && !draft.drafted.contains_key(name) && !removed.contains(name) {
                to_list.push((name.clone(), known.clone()));
            }
        }
        for (name, drafted) in &draft.drafted {
            if drafted.known.file.pieces.len() > LISTED && drafted.known.file.is_settled() {
                to_list.push((name.clone(), drafted.known.clone()));
            }
        }
        for (name, mut known) in to_list {
            let pieces = std::mem::take(&mut known.file.pieces);
            for pieces in pieces.chunks(LIST) {
                let covers = pieces.iter().map(|piece| piece.length).sum();
                let list = self.create_data(&serde_json::to_vec(pieces).expect("pieces are JSON"))?;
                known.file.lists.push(PieceList { list, covers });
            }
            draft.drafted.insert(name, Drafted { known, kept: 0 });
        }
        Ok(())
    }

    fn step(
        &self,
        key: ObjectKey,
        drafted: &BTreeMap<String, Drafted>,
        removed: &[String],
        at: u64,
    ) -> StoredStep {
        let mut files = BTreeMap::new();
        for (name, Drafted { known, kept }) in drafted {
            files.insert(
                name.clone(),
                behind(&known.file, if key.kind == ObjectKind::Log { *kept } else { 0 }),
            );
        }
        let mut gone = removed.to_vec();
        if key.kind == ObjectKind::Manifest {
            gone.clear();
            for (name, known) in self.files.iter().filter(|(name, _)| !removed.contains(name)) {
                files.entry(name.clone()).or_insert_with(|| behind(&known.file, 0));
            }
        }
        StoredStep { nonce: self.nonce.clone(), at, files, removed: gone }
    }
}

/// Of a file, what is behind its first bytes.
fn behind(file: &StoredFile, kept: u64) -> FileChange {
    let mut left = kept;
    let mut is_kept = |length: u64| {
        let is_kept = left > 0;
        left = left.saturating_sub(length);
        is_kept
    };
    let lists = file.lists.iter().filter(|list| !is_kept(list.covers)).copied().collect();
    let pieces = file.pieces.iter().filter(|piece| !is_kept(piece.length)).copied().collect();
    FileChange { kept, lists, pieces }
}

fn read_source(file: &CapturedFile, at: u64, length: u64) -> Result<Vec<u8>, VaultError> {
    let mut bytes = vec![0; length as usize];
    let read = match &file.source {
        Some(source) => source.read_at(&mut bytes, at),
        None => Err(io::Error::other("it was not opened")),
    };
    read.map_err(VaultError::file(&file.name))?;
    Ok(bytes)
}

//! Names of objects, and the form of those that are not plain bytes of a file.

use crate::error::VaultError;
use crate::store::{Store, StoreError, UNFINISHED, VAULT};
use ring::digest::{Context, SHA256, digest};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The folder of the objects by which processes take epochs.
pub(crate) const EPOCHS: &str = "epoch/";
/// The folder of the seals of epochs.
pub(crate) const SEALS: &str = "seal/";
/// The folder of the objects that processes race for.
pub(crate) const RACES: &str = "race/";

/// Bytes of an object of data at most.
pub(crate) const MAX_DATA: u64 = 8 << 20;
/// Bytes of any other object at most: a manifest has a line of some 400 bytes for each file, and small files whole.
pub(crate) const MAX_STEP: u64 = 256 << 20;

/// Kinds of objects of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectKind {
    /// Bytes of one file.
    Data,
    /// A step that names all files.
    Manifest,
    /// A step that says what changed.
    Log,
}

/// The name of an object of an epoch. Manifests and logs have one sequence of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ObjectKey {
    /// The epoch of its writer.
    pub epoch: u64,
    /// Its kind.
    pub kind: ObjectKind,
    /// Its number.
    pub number: u64,
}

impl ObjectKind {
    const ALL: [(ObjectKind, &'static str); 3] =
        [(ObjectKind::Data, "data"), (ObjectKind::Manifest, "manifest"), (ObjectKind::Log, "log")];

    /// As in keys.
    pub fn name(self) -> &'static str {
        ObjectKind::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }
}

impl ObjectKind {
    /// Bytes of an object of that kind at most. Nothing longer is written, or read.
    pub(crate) fn most(self) -> u64 {
        if self == ObjectKind::Data { MAX_DATA } else { MAX_STEP }
    }
}

/// Is it the name of an object of a vault, and not of what somebody else put there?
pub fn is_of_vault(key: &str) -> bool {
    key == VAULT
        || [EPOCHS, SEALS].iter().any(|folder| key.strip_prefix(folder).is_some_and(is_number))
        || key.starts_with(RACES)
        || key.starts_with(UNFINISHED)
        || key.parse::<ObjectKey>().is_ok()
}

impl ObjectKey {
    /// The folder of all objects of a kind and an epoch.
    pub(crate) fn folder(epoch: u64, kind: ObjectKind) -> String {
        format!("{epoch:010}/{}/", kind.name())
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:010}/{}/{:010}", self.epoch, self.kind.name(), self.number)
    }
}

impl FromStr for ObjectKey {
    type Err = String;

    fn from_str(text: &str) -> Result<ObjectKey, String> {
        let wrong = || format!("{text:?} is no key of an object");
        let parts: Vec<&str> = text.split('/').collect();
        let [epoch, kind, number] = parts[..] else { return Err(wrong()) };
        let (kind, _) = ObjectKind::ALL.iter().find(|(_, name)| *name == kind).ok_or_else(wrong)?;
        let digits = |text: &str| number_in(text).ok_or_else(wrong);
        Ok(ObjectKey { epoch: digits(epoch)?, kind: *kind, number: digits(number)? })
    }
}

impl TryFrom<String> for ObjectKey {
    type Error = String;

    fn try_from(text: String) -> Result<ObjectKey, String> {
        text.parse()
    }
}

impl From<ObjectKey> for String {
    fn from(key: ObjectKey) -> String {
        key.to_string()
    }
}

fn is_number(text: &str) -> bool {
    number_in(text).is_some()
}

/// A number in a key.
pub(crate) fn number_in(text: &str) -> Option<u64> {
    (text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

/// SHA-256 of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of these bytes.
    pub fn of_bytes(bytes: &[u8]) -> Digest {
        Digest::take(digest(&SHA256, bytes).as_ref())
    }

    fn take(bytes: &[u8]) -> Digest {
        Digest(bytes.try_into().expect("SHA-256 has 32 bytes"))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = String;

    fn try_from(text: String) -> Result<Digest, String> {
        let wrong = || format!("{text:?} is no SHA-256");
        if text.len() != 64 || !text.is_ascii() {
            return Err(wrong());
        }
        let mut out = [0; 32];
        for (byte, at) in out.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| wrong())?;
        }
        Ok(Digest(out))
    }
}

/// First word of an object with a head, and the version of its form.
const MAGIC: &str = "recrawl-vault-1";

/// Length of the first line: the bytes of files begin behind it.
pub(crate) const FIRST_LINE: usize = MAGIC.len() + 1 + 64 + 1 + 10 + 1;

/// An object: a first line with the digest of its key and of all behind the line, then bytes of files, then a head as
/// JSON, which names them. So it can name bytes of itself.
pub fn framed(key: &str, head: &impl Serialize, bytes: &[u8]) -> Vec<u8> {
    let head = serde_json::to_vec(head).expect("numbers and texts are JSON");
    let mut object = vec![b' '; FIRST_LINE];
    object.reserve_exact(bytes.len() + head.len());
    object.extend_from_slice(bytes);
    object.extend_from_slice(&head);
    let line = format!("{MAGIC} {} {:010}\n", sealed(key, &object[FIRST_LINE..]), head.len());
    object[..FIRST_LINE].copy_from_slice(line.as_bytes());
    object
}

fn sealed(key: &str, rest: &[u8]) -> Digest {
    let mut context = Context::new(&SHA256);
    context.update(key.as_bytes());
    context.update(b"\n");
    context.update(rest);
    Digest::take(context.finish().as_ref())
}

/// The head of an object of that form.
///
/// # Errors
/// The text says why it is none.
pub(crate) fn unframed<T: DeserializeOwned>(key: &str, object: &[u8]) -> Result<T, String> {
    let foreign = || format!("it is no object of a vault that this program reads ({MAGIC})");
    let (first, rest) = object.split_at_checked(FIRST_LINE).ok_or_else(foreign)?;
    let first = std::str::from_utf8(first).map_err(|_| foreign())?;
    let parts: Vec<&str> = first.strip_suffix('\n').ok_or_else(foreign)?.split(' ').collect();
    let [MAGIC, digest, length] = parts[..] else { return Err(foreign()) };
    if sealed(key, rest).to_string() != digest {
        return Err("its digest does not match".into());
    }
    let length: usize = length.parse().map_err(|_| foreign())?;
    let head = rest.len().checked_sub(length).map(|at| &rest[at..]).ok_or("its head is cut short")?;
    serde_json::from_slice(head).map_err(|e| format!("its head is malformed: {e}"))
}

/// Reads an object with a head; none if there is none of that key.
///
/// # Errors
/// When it is damaged, or the store does not answer.
pub fn read_framed<T: DeserializeOwned>(store: &dyn Store, key: &str) -> Result<Option<T>, VaultError> {
    let object = match store.read(key, MAX_STEP) {
        Err(StoreError::Absent(_)) => return Ok(None),
        read => read?,
    };
    match unframed(key, &object) {
        Ok(head) => Ok(Some(head)),
        Err(what) => Err(VaultError::Damaged { object: store.locate(key), offset: 0, what }),
    }
}

/// Creates an object that nobody else should; that of another is an error. An answer that never came, or that says
/// "exists", is settled by reading.
///
/// # Errors
/// [`StoreError::Exists`] if another object is there. After [`StoreError::Failed`] the same bytes must be tried again.
pub fn create_or_find(store: &dyn Store, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
    let error = match store.create(key, bytes) {
        Ok(()) => return Ok(()),
        Err(error @ (StoreError::Refused(_) | StoreError::Absent(_))) => return Err(error),
        Err(error) => error,
    };
    // One that is longer is another's.
    match store.read(key, bytes.len() as u64) {
        Ok(found) if found == bytes => Ok(()),
        Ok(_) | Err(StoreError::TooLong { .. }) => Err(StoreError::Exists(store.locate(key))),
        // Some stores say "exists" of a create of another that they then refuse.
        Err(StoreError::Absent(object)) if matches!(error, StoreError::Exists(_)) => {
            Err(StoreError::Failed(format!("{object}: said to exist, and cannot be read")))
        }
        // Nobody knows whose it is until it was read.
        Err(unread) if matches!(error, StoreError::Exists(_)) => Err(StoreError::Failed(unread.to_string())),
        Err(_) => Err(error),
    }
}

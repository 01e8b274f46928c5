//! The tables as files: all rows when a process begins, then the rows that were written.
//!
//! `hosts.rows.base` has all rows; `hosts.rows.rounds` what was written up to the last commit, a part each round;
//! `hosts.rows.round` what was written since. When the rounds have become longer than the base, a new base is made. All three
//! only grow, so that the vault takes what is behind what it has.

use recrawl_repository::storage::ReadFile;
use recrawl_repository::{RowKey, SledTables};
use recrawl_vault::{CapturedFile, ShippedFile};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The names of such files begin with this.
pub(super) const PREFIX: &str = "hosts.rows.";
/// Bytes of rounds up to which no new base is made.
const FEW: u64 = 1 << 20;

/// The tables of a crawl, followed.
pub(super) struct FollowedRows {
    tables: Arc<SledTables>,
    nonce: String,
    data_dir: PathBuf,
    base: Option<Base>,
    rounds: Tail,
    round: Tail,
    since_commit: BTreeSet<RowKey>,
    /// Written, and not in a capture yet: an earlier one may have failed.
    pub(super) written: BTreeSet<RowKey>,
    made: u64,
}

struct Base {
    file: Arc<dyn ReadFile>,
    length: u64,
    identity: String,
}

/// A file in memory, of which the beginning is let go once the vault has it.
struct Tail {
    name: &'static str,
    identity: String,
    bytes: Arc<Mutex<UnshippedRows>>,
}

#[derive(Default)]
struct UnshippedRows {
    /// Where the bytes begin in the file.
    start: u64,
    bytes: Vec<u8>,
}

impl FollowedRows {
    /// Follows these tables from now on.
    pub fn follow(tables: Arc<SledTables>, nonce: &str, data_dir: &Path) -> FollowedRows {
        tables.note_written();
        let (nonce, data_dir) = (nonce.to_owned(), data_dir.to_owned());
        let (rounds, round) = (Tail::new("rounds", &nonce, 0), Tail::new("round", &nonce, 0));
        let (since_commit, written) = (BTreeSet::new(), BTreeSet::new());
        FollowedRows { tables, nonce, data_dir, base: None, rounds, round, since_commit, written, made: 0 }
    }

    /// The files, with all that was written up to now.
    pub fn capture(
        &mut self,
        is_commit: bool,
        known: &BTreeMap<String, ShippedFile>,
    ) -> io::Result<Vec<CapturedFile>> {
        self.rounds.let_go(known);
        self.round.let_go(known);
        self.written.append(&mut self.tables.take_written());
        let rows = self.tables.rows(&self.written)?;
        if is_commit {
            let earlier: BTreeSet<RowKey> = self.since_commit.difference(&self.written).cloned().collect();
            self.rounds.push(&self.tables.rows(&earlier)?);
            self.rounds.push(&rows);
            (self.since_commit, self.written) = (BTreeSet::new(), BTreeSet::new());
            self.made += 1;
            self.round = Tail::new("round", &self.nonce, self.made);
        } else {
            self.round.push(&rows);
            self.since_commit.append(&mut self.written);
        }
        let most = self.base.as_ref().map(|base| base.length.max(FEW));
        if is_commit && most.is_none_or(|most| self.rounds.length() > most) {
            self.base = Some(self.all()?);
            self.rounds = Tail::new("rounds", &self.nonce, self.made);
        }
        let base = self.base.as_ref().map(|base| CapturedFile {
            name: format!("{PREFIX}base"),
            identity: base.identity.clone(),
            length: base.length,
            is_lasting: true,
            counts: false,
            source: Some(base.file.clone()),
        });
        let tails = [&self.rounds, &self.round].into_iter().filter(|tail| tail.length() > 0);
        Ok(base.into_iter().chain(tails.map(Tail::captured)).collect())
    }

    /// All rows, in a file that has no name.
    fn all(&self) -> io::Result<Base> {
        let mut file = tempfile::tempfile_in(&self.data_dir)?;
        let mut length = 0;
        self.tables.all_rows(&mut |bytes| {
            length += bytes.len() as u64;
            file.write_all(bytes)
        })?;
        let identity = format!("{}-{}", self.nonce, self.made);
        Ok(Base { file: Arc::new(Unnamed(file)), length, identity })
    }
}

impl Tail {
    fn new(name: &'static str, nonce: &str, number: u64) -> Tail {
        Tail { name, identity: format!("{nonce}-{number}"), bytes: Arc::default() }
    }

    fn in_vault(&self) -> String {
        format!("{PREFIX}{}", self.name)
    }

    fn push(&self, rows: &[u8]) {
        self.bytes.lock().expect("no panic under the lock").bytes.extend_from_slice(rows);
    }

    fn length(&self) -> u64 {
        let kept = self.bytes.lock().expect("no panic under the lock");
        kept.start + kept.bytes.len() as u64
    }

    /// Lets go of what the vault has: it is never read again, since each part is an object of its own.
    fn let_go(&self, known: &BTreeMap<String, ShippedFile>) {
        let known = known.get(&self.in_vault()).filter(|known| known.identity == self.identity);
        let Some(known) = known.filter(|known| known.is_settled) else { return };
        let mut kept = self.bytes.lock().expect("no panic under the lock");
        let gone = known.length.saturating_sub(kept.start).min(kept.bytes.len() as u64);
        kept.bytes.drain(..gone as usize);
        kept.start += gone;
    }

    fn captured(&self) -> CapturedFile {
        CapturedFile {
            name: self.in_vault(),
            identity: self.identity.clone(),
            length: self.length(),
            is_lasting: true,
            counts: false,
            source: Some(Arc::new(TailFile(self.bytes.clone()))),
        }
    }
}

struct TailFile(Arc<Mutex<UnshippedRows>>);

impl ReadFile for TailFile {
    fn length(&self) -> io::Result<u64> {
        let kept = self.0.lock().expect("no panic under the lock");
        Ok(kept.start + kept.bytes.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let kept = self.0.lock().expect("no panic under the lock");
        let at = offset.checked_sub(kept.start).ok_or(ErrorKind::UnexpectedEof)? as usize;
        let bytes = kept.bytes.get(at..at + buffer.len()).ok_or(ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }

    fn identity(&self) -> io::Result<String> {
        Err(ErrorKind::Unsupported.into())
    }
}

struct Unnamed(File);

impl ReadFile for Unnamed {
    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }

    fn identity(&self) -> io::Result<String> {
        Err(ErrorKind::Unsupported.into())
    }
}

//! Known URLs as 8-byte fingerprints in one sorted file, which a merge reads and rewrites from
//! front to back.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

const BUFFER: usize = 1 << 20;

/// The file.
#[derive(Debug)]
pub struct KeyFile {
    path: PathBuf,
    next_path: PathBuf,
    /// The initial fingerprints, until the file is created.
    loading: Vec<u64>,
}

impl KeyFile {
    /// The file in this folder, not yet created.
    pub fn new(dir: &Path) -> KeyFile {
        KeyFile { path: dir.join("keys"), next_path: dir.join("keys.next"), loading: Vec::new() }
    }

    /// Adds an initial fingerprint, in any order.
    pub fn load(&mut self, key: u64) {
        self.loading.push(key);
    }

    /// Creates the file with the loaded fingerprints.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn create(&mut self) -> io::Result<()> {
        let mut keys = std::mem::take(&mut self.loading);
        keys.sort_unstable();
        let mut file = BufWriter::with_capacity(BUFFER, File::create(&self.path)?);
        keys.iter().try_for_each(|key| file.write_all(&key.to_le_bytes()))?;
        file.into_inner()?.sync_all()
    }

    /// Begins a merge.
    ///
    /// # Errors
    /// If a file cannot be opened.
    pub fn merge(&self) -> io::Result<KeyMerge<'_>> {
        let known = BufReader::with_capacity(BUFFER, File::open(&self.path)?);
        let out = BufWriter::with_capacity(BUFFER, File::create(&self.next_path)?);
        let mut merge = KeyMerge { file: self, known, out, next: None };
        merge.advance()?;
        Ok(merge)
    }
}

/// A running merge.
pub struct KeyMerge<'f> {
    file: &'f KeyFile,
    known: BufReader<File>,
    out: BufWriter<File>,
    /// The next known fingerprint.
    next: Option<u64>,
}

impl KeyMerge<'_> {
    fn advance(&mut self) -> io::Result<()> {
        let mut bytes = [0; 8];
        self.next = match self.known.read_exact(&mut bytes) {
            Ok(()) => Some(u64::from_le_bytes(bytes)),
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => None,
            Err(e) => return Err(e),
        };
        Ok(())
    }

    /// Merges ascending fingerprints, each with its position in order of arrival. Returns in order
    /// the positions of the new ones, the first position of each. No fingerprint may be less than
    /// one merged before.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn admit(&mut self, mut keys: Vec<(u64, u32)>) -> io::Result<Vec<u32>> {
        keys.sort_unstable();
        let (mut new, mut last) = (Vec::new(), None);
        for (key, place) in keys {
            if last == Some(key) {
                continue;
            }
            last = Some(key);
            while let Some(known) = self.next.filter(|&known| known < key) {
                self.out.write_all(&known.to_le_bytes())?;
                self.advance()?;
            }
            if self.next != Some(key) {
                self.out.write_all(&key.to_le_bytes())?;
                new.push(place);
            }
        }
        new.sort_unstable();
        Ok(new)
    }

    /// Writes the rest, and replaces the old file.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some(known) = self.next {
            self.out.write_all(&known.to_le_bytes())?;
        }
        io::copy(&mut self.known, &mut self.out)?;
        self.out.into_inner()?.sync_all()?;
        fs::rename(&self.file.next_path, &self.file.path)
    }
}

/// Concatenated texts, each with a length prefix.
pub fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(&(text.len() as u16).to_le_bytes());
    out.extend_from_slice(text);
}

/// Reads texts from front to back and passes on those at these positions.
///
/// # Errors
/// If the disk fails.
pub fn take_texts(file: &File, places: &[u32], mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut file = BufReader::with_capacity(BUFFER, file);
    let (mut text, mut at) = (Vec::new(), 0);
    for &place in places {
        while at <= place {
            let mut length = [0; 2];
            file.read_exact(&mut length)?;
            text.resize(usize::from(u16::from_le_bytes(length)), 0);
            file.read_exact(&mut text)?;
            at += 1;
        }
        take(&text);
    }
    Ok(())
}

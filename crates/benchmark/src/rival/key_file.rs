//! Known URLs as fingerprints of 8 bytes in one sorted file, which a merge reads and writes anew from front to back.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

const BUFFER: usize = 1 << 20;

/// The file.
#[derive(Debug)]
pub struct KeyFile {
    path: PathBuf,
    next_path: PathBuf,
    /// Those that it begins with, until it is created.
    loading: Vec<u64>,
}

impl KeyFile {
    /// The file in this folder; none yet.
    pub fn new(dir: &Path) -> KeyFile {
        KeyFile { path: dir.join("keys"), next_path: dir.join("keys.next"), loading: Vec::new() }
    }

    /// Adds one to begin with, in any order.
    pub fn load(&mut self, key: u64) {
        self.loading.push(key);
    }

    /// Writes it for the first time, with what was loaded.
    ///
    /// # Errors
    /// When the disk takes no more.
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
    /// When a file cannot be opened.
    pub fn merge(&self) -> io::Result<KeyMerge<'_>> {
        let known = BufReader::with_capacity(BUFFER, File::open(&self.path)?);
        let out = BufWriter::with_capacity(BUFFER, File::create(&self.next_path)?);
        let mut merge = KeyMerge { file: self, known, out, next: None };
        merge.advance()?;
        Ok(merge)
    }
}

/// A merge under way.
pub struct KeyMerge<'f> {
    file: &'f KeyFile,
    known: BufReader<File>,
    out: BufWriter<File>,
    /// The next known one.
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

    /// Merges fingerprints, each with its place in the order in which they came, and gives the places of the first
    /// ones of those that were not known, in order. No fingerprint may be less than one merged before.
    ///
    /// # Errors
    /// When the disk fails.
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

    /// Writes the rest; the new file takes the place of the old one.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some(known) = self.next {
            self.out.write_all(&known.to_le_bytes())?;
        }
        io::copy(&mut self.known, &mut self.out)?;
        self.out.into_inner()?.sync_all()?;
        fs::rename(&self.file.next_path, &self.file.path)
    }
}

/// Texts one behind the other, each with its length before it.
pub fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(&(text.len() as u16).to_le_bytes());
    out.extend_from_slice(text);
}

/// Reads texts from front to back and hands over those in these places.
///
/// # Errors
/// When the disk fails.
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

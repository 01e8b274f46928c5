//! The sieve of Mercator (Heydon & Najork 1999), in the form of BUbiNG (Boldi, Marino, Santini &
//! Vigna, WWW 2014): fingerprints in memory, texts in a file. When memory is full, or a cycle ends,
//! the fingerprints are sorted and merged with the sorted file of all.

use super::key_file::{KeyFile, put_text, take_texts};
use super::{Rival, fingerprint};
use crate::Failure;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

/// Maximum fingerprints in memory: 16 bytes each, with their positions.
const MAX_KEYS: usize = 32 << 20;
const WRITE_BUFFER: usize = 1 << 20;

/// The contender.
pub struct Sieve {
    known: KeyFile,
    keys: Vec<(u64, u32)>,
    texts: Vec<u8>,
    text_file: File,
    new: u64,
    /// Bytes of the texts of new URLs, which are only counted here.
    pub new_bytes: u64,
}

impl Sieve {
    /// A contender without known URLs, with files in this folder.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn new(dir: &Path) -> Result<Sieve, Failure> {
        let path = dir.join("texts");
        let text_file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        Ok(Sieve {
            known: KeyFile::new(dir),
            keys: Vec::new(),
            texts: Vec::new(),
            text_file,
            new: 0,
            new_bytes: 0,
        })
    }

    fn merge(&mut self) -> Result<(), Failure> {
        self.text_file.write_all(&self.texts)?;
        self.texts.clear();
        let mut merge = self.known.merge()?;
        let new = merge.admit(std::mem::take(&mut self.keys))?;
        merge.finish()?;
        self.new += new.len() as u64;
        self.text_file.seek(SeekFrom::Start(0))?;
        take_texts(&self.text_file, &new, |text| self.new_bytes += text.len() as u64)?;
        self.text_file.set_len(0)?;
        self.text_file.seek(SeekFrom::Start(0))?;
        Ok(())
    }
}

impl Rival for Sieve {
    fn load(&mut self, key: &[u8]) -> Result<(), Failure> {
        self.known.load(fingerprint(key));
        Ok(())
    }

    fn loaded(&mut self) -> Result<(), Failure> {
        Ok(self.known.create()?)
    }

    fn check(&mut self, key: &[u8]) -> Result<(), Failure> {
        self.keys.push((fingerprint(key), self.keys.len() as u32));
        put_text(&mut self.texts, key);
        if self.texts.len() >= WRITE_BUFFER {
            self.text_file.write_all(&self.texts)?;
            self.texts.clear();
        }
        if self.keys.len() == MAX_KEYS {
            self.merge()?;
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<u64, Failure> {
        self.merge()?;
        Ok(std::mem::take(&mut self.new))
    }

    fn is_point_by_point(&self) -> bool {
        false
    }
}

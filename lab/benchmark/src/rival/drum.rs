//! DRUM (Lee, Leonard, Wang & Loguinov, WWW 2008): fingerprints and texts in buckets on disk. When
//! one is full, or a cycle ends, all are merged in one pass over the sorted fingerprint file.

use super::key_file::{KeyFile, put_text, take_texts};
use super::{Rival, fingerprint};
use crate::Failure;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Number of buckets, by the first bits of the fingerprint.
const BUCKET_BITS: u32 = 6;
/// M: memory per bucket for texts; fingerprints take an eighth of it.
const WRITE_BUFFER: usize = 1 << 20;
/// Maximum fingerprints of a bucket, which are sorted in memory: 16 bytes each.
const MAX_BUCKET_KEYS: u32 = 32 << 20;

/// The contender.
pub struct Drum {
    keys: KeyFile,
    buckets: Vec<Bucket>,
    new: u64,
    /// Bytes of the texts of new URLs, which are only counted here.
    pub new_bytes: u64,
}

struct Bucket {
    keys: Vec<u8>,
    texts: Vec<u8>,
    key_file: File,
    text_file: File,
    count: u32,
}

impl Drum {
    /// A contender without known URLs, with files in this folder.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn new(dir: &Path) -> Result<Drum, Failure> {
        let bucket = |i: usize| -> Result<Bucket, Failure> {
            let file = |kind: &str| {
                let path = dir.join(format!("bucket-{i}.{kind}"));
                OpenOptions::new().read(true).write(true).create_new(true).open(path)
            };
            let (key_file, text_file) = (file("keys")?, file("texts")?);
            Ok(Bucket { keys: Vec::new(), texts: Vec::new(), key_file, text_file, count: 0 })
        };
        let buckets = (0..1 << BUCKET_BITS).map(bucket).collect::<Result<_, _>>()?;
        Ok(Drum { keys: KeyFile::new(dir), buckets, new: 0, new_bytes: 0 })
    }

    fn merge(&mut self) -> Result<(), Failure> {
        let mut merge = self.keys.merge()?;
        for bucket in &mut self.buckets {
            bucket.write_out()?;
            let new = merge.admit(bucket.take_keys()?)?;
            self.new += new.len() as u64;
            bucket.text_file.seek(SeekFrom::Start(0))?;
            take_texts(&bucket.text_file, &new, |text| self.new_bytes += text.len() as u64)?;
            bucket.empty()?;
        }
        Ok(merge.finish()?)
    }
}

impl Bucket {
    fn write_out(&mut self) -> Result<(), Failure> {
        self.key_file.write_all(&self.keys)?;
        self.text_file.write_all(&self.texts)?;
        self.keys.clear();
        self.texts.clear();
        Ok(())
    }

    fn take_keys(&mut self) -> Result<Vec<(u64, u32)>, Failure> {
        self.key_file.seek(SeekFrom::Start(0))?;
        let mut bytes = Vec::with_capacity(8 * self.count as usize);
        self.key_file.read_to_end(&mut bytes)?;
        let (keys, _) = bytes.as_chunks::<8>();
        Ok(keys.iter().map(|key| u64::from_le_bytes(*key)).zip(0..).collect())
    }

    fn empty(&mut self) -> Result<(), Failure> {
        for file in [&mut self.key_file, &mut self.text_file] {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
        }
        self.count = 0;
        Ok(())
    }
}

impl Rival for Drum {
    fn load(&mut self, key: &[u8]) -> Result<(), Failure> {
        self.keys.load(fingerprint(key));
        Ok(())
    }

    fn loaded(&mut self) -> Result<(), Failure> {
        Ok(self.keys.create()?)
    }

    fn check(&mut self, key: &[u8]) -> Result<(), Failure> {
        let print = fingerprint(key);
        let bucket = &mut self.buckets[(print >> (64 - BUCKET_BITS)) as usize];
        bucket.keys.extend_from_slice(&print.to_le_bytes());
        put_text(&mut bucket.texts, key);
        bucket.count += 1;
        if bucket.texts.len() >= WRITE_BUFFER {
            bucket.write_out()?;
        }
        if bucket.count == MAX_BUCKET_KEYS {
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

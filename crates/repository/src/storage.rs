//! The seam to the disk: the few operations that the repository asks for, and what each promises.
//!
//! A storage is one flat folder of named files. Files are written from front to back and never
//! patched, so the trait has no write at an offset. What is promised is promised against a power cut:
//! a back end that cannot keep a promise has to return an error instead.

mod faulty;
mod file;
mod memory;

pub use faulty::{FaultyStorage, StorageFault, Survivors};
pub use file::FileStorage;
pub(crate) use file::sync_parent;
pub use memory::MemoryStorage;

use std::any::Any;
use std::fmt::Debug;
use std::io;
use std::ops::Range;

/// A folder of files.
pub trait Storage: Send + Sync + Debug {
    /// Makes an empty file, in place of an old one of that name. Neither its name nor what is written
    /// to it is durable before [`WriteFile::sync`] *and* [`Storage::sync_dir`] have returned.
    fn create(&self, name: &str) -> io::Result<Box<dyn WriteFile>>;

    /// Opens an existing file to write behind its end.
    fn append(&self, name: &str) -> io::Result<Box<dyn WriteFile>>;

    /// Opens an existing file to read. What is open stays readable when the name is removed or taken
    /// by another file.
    fn open(&self, name: &str) -> io::Result<Box<dyn ReadFile>>;

    /// Gives a file another name, in place of an old file of that name. Atomic: at every moment, and
    /// after a power cut, the new name means the old file or the new one. Durable after
    /// [`Storage::sync_dir`].
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file. Durable after [`Storage::sync_dir`]; until then a power cut may bring it back.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// The names of all files, in no promised order. Folders and the lock are not among them.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Makes all creations, renames and removals so far durable.
    fn sync_dir(&self) -> io::Result<()>;

    /// Takes the folder for this process until the returned guard is dropped.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] while another holds it.
    fn lock(&self) -> io::Result<Box<dyn Any + Send + Sync>>;

    /// Bytes that can still be written to the folder's disk by this process's user.
    fn free(&self) -> io::Result<u64>;

    /// Where a file is, in words for a person.
    fn locate(&self, name: &str) -> String;
}

/// A file open for writing at its end.
pub trait WriteFile: Send {
    /// Writes all of `bytes`. After an error, any part of them may have been written.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Makes everything written so far durable. After an error nothing since the last success can be
    /// relied upon, and trying again proves nothing.
    fn sync(&mut self) -> io::Result<()>;

    /// Cuts the file to its first `length` bytes. Durable when it returns.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
}

/// A file open for reading.
pub trait ReadFile: Send + Sync {
    /// Its length in bytes, now.
    fn length(&self) -> io::Result<u64>;

    /// Fills all of `buffer` from `offset` on. Where the system gives fewer bytes than asked for, the back end asks
    /// again: there is no short read on this side.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] when the file ends before, whatever its length was said to be. After any
    /// error nobody knows what `buffer` holds.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// A text that no other file of this name, made before or after, has.
    fn identity(&self) -> io::Result<String>;

    /// Says that these bytes will be read soon. A hint: a back end may begin to fetch them, or do nothing.
    fn will_read(&self, _offset: u64, _length: u64) {}
}

/// Bytes copied at a time.
const CHUNK: u64 = 1 << 20;

/// Copies these bytes of a file to the end of another, in bounded memory.
///
/// # Errors
/// When the one cannot be read, or ends before, or the other takes no more.
pub fn copy(from: &dyn ReadFile, bytes: Range<u64>, to: &mut dyn WriteFile) -> io::Result<()> {
    let mut buffer = vec![0; (bytes.end.saturating_sub(bytes.start)).min(CHUNK) as usize];
    let mut at = bytes.start;
    while at < bytes.end {
        let part = &mut buffer[..(bytes.end - at).min(CHUNK) as usize];
        from.read_at(part, at)?;
        to.write(part)?;
        at += part.len() as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests;

//! Storage that fails as disks and machines do: for tests.
//!
//! The fault model. Every operation that changes something (create, append, write, truncate, rename,
//! remove, either sync) is a *point*, counted from 1.
//! - **Power cut** at a point ([`StorageFault::Stop`]): the operation is not done, or, for a write, half done;
//!   then every operation fails. [`FaultyStorage::after_power_cut`] gives what a disk could hold then:
//!   of each file what was synced, and of what was not any part, with any of its 512-byte sectors
//!   zeros (writes reach the platter in any order); of the names what `sync_dir` has seen, and of the
//!   creations, renames and removals since then any subset. A single rename is never half done, and
//!   synced bytes are never lost.
//! - **An I/O error** at a point ([`StorageFault::Fail`]): that one operation fails, a write half done; what
//!   follows works. What a failed sync of a file was to make durable is lost: it can be read until the power
//!   is cut, and no later sync brings it to the disk (the kernel has marked it as written).
//! - **A read error** at the n-th read ([`StorageFault::FailRead`]).
//! - **A short read** at the n-th read ([`StorageFault::ShortRead`]): the file ends before its length says, so that
//!   half of the buffer is filled.
//! - **A full disk** ([`StorageFault::Full`]): what fits is written, then the write fails; removing and
//!   cutting make space.
//! - **A read-only disk** ([`StorageFault::ReadOnly`]): every point fails.

use super::memory::{MemoryStorage, read_slice, take_lock};
use super::{ReadFile, Storage, WriteFile};
use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};

/// What goes wrong, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StorageFault {
    /// Nothing.
    #[default]
    None,
    /// The power fails at this point.
    Stop(u64),
    /// This point returns an error.
    Fail(u64),
    /// This read returns an error, counted from 1.
    FailRead(u64),
    /// This read finds the file's end before all is read, counted from 1.
    ShortRead(u64),
    /// The disk holds no more than this many bytes.
    Full(u64),
    /// Nothing can be changed.
    ReadOnly,
}

/// What of the unsynced state a power cut leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survivors {
    /// Nothing that was not synced.
    Synced,
    /// Everything, as after a killed process on a machine that runs on.
    All,
    /// A choice by this seed.
    Some(u64),
}

/// A folder in memory that fails by plan and knows what was synced.
#[derive(Debug, Default)]
pub struct FaultyStorage {
    disk: Arc<Mutex<FaultyDisk>>,
    locked: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct FaultyDisk {
    fault: StorageFault,
    points: u64,
    reads: u64,
    stopped: bool,
    inodes: Vec<Inode>,
    names: BTreeMap<String, usize>,
    synced_names: BTreeMap<String, usize>,
    unsynced: Vec<NameChange>,
}

#[derive(Debug, Default)]
struct Inode {
    bytes: Vec<u8>,
    synced: Vec<u8>,
    /// What failed syncs have lost.
    lost: Vec<Range<usize>>,
}

#[derive(Debug)]
struct NameChange {
    gone: Option<String>,
    made: Option<(String, usize)>,
}

impl FaultyDisk {
    /// Counts a point; an error when the fault strikes here. The flag says that it strikes just now.
    fn point(&mut self) -> Result<(), (bool, io::Error)> {
        self.points += 1;
        if self.stopped {
            return Err((false, io::Error::other("the power is off")));
        }
        match self.fault {
            StorageFault::Stop(n) if self.points == n => {
                self.stopped = true;
                Err((true, io::Error::other("the power failed")))
            }
            StorageFault::Fail(n) if self.points == n => Err((true, io::Error::other("input/output error"))),
            StorageFault::ReadOnly => Err((false, io::ErrorKind::ReadOnlyFilesystem.into())),
            _ => Ok(()),
        }
    }

    fn change(&mut self) -> io::Result<()> {
        self.point().map_err(|(_, e)| e)
    }

    fn find(&self, name: &str) -> io::Result<usize> {
        if self.stopped {
            return Err(io::Error::other("the power is off"));
        }
        self.names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn used(&self) -> u64 {
        self.names.values().map(|&i| self.inodes[i].bytes.len() as u64).sum()
    }

    fn write(&mut self, inode: usize, bytes: &[u8]) -> io::Result<()> {
        if let Err((strikes, e)) = self.point() {
            let half = if strikes { bytes.len() / 2 } else { 0 };
            self.inodes[inode].bytes.extend_from_slice(&bytes[..half]);
            return Err(e);
        }
        let room = match self.fault {
            StorageFault::Full(capacity) => capacity.saturating_sub(self.used()) as usize,
            _ => usize::MAX,
        };
        self.inodes[inode].bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if bytes.len() > room { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

impl FaultyStorage {
    /// An empty folder without a fault.
    pub fn new() -> FaultyStorage {
        FaultyStorage::default()
    }

    /// A folder with these files, all synced.
    pub fn with_files(files: BTreeMap<String, Vec<u8>>) -> FaultyStorage {
        let storage = FaultyStorage::default();
        let mut disk = storage.disk();
        for (i, (name, bytes)) in files.into_iter().enumerate() {
            disk.inodes.push(Inode { synced: bytes.clone(), bytes, lost: Vec::new() });
            disk.names.insert(name, i);
        }
        disk.synced_names = disk.names.clone();
        drop(disk);
        storage
    }

    /// Sets what goes wrong, and counts points and reads from 0 again.
    pub fn set_fault(&self, fault: StorageFault) {
        let mut disk = self.disk();
        disk.fault = fault;
        disk.points = 0;
        disk.reads = 0;
    }

    /// Points passed since the fault was set.
    pub fn points(&self) -> u64 {
        self.disk().points
    }

    /// All files, as a process sees them now.
    pub fn image(&self) -> BTreeMap<String, Vec<u8>> {
        let disk = self.disk();
        disk.names.iter().map(|(name, &i)| (name.clone(), disk.inodes[i].bytes.clone())).collect()
    }

    /// What the disk holds if the power fails now.
    pub fn after_power_cut(&self, survivors: Survivors) -> MemoryStorage {
        let disk = self.disk();
        let mut dice = Dice(match survivors {
            Survivors::Some(seed) => seed,
            _ => 0,
        });
        let mut names = disk.synced_names.clone();
        for change in &disk.unsynced {
            let kept = match survivors {
                Survivors::Synced => false,
                Survivors::All => true,
                Survivors::Some(_) => dice.roll(2) == 0,
            };
            if kept {
                if let Some(name) = &change.gone {
                    names.remove(name);
                }
                if let Some((name, inode)) = &change.made {
                    names.insert(name.clone(), *inode);
                }
            }
        }
        let files = names.into_iter().map(|(name, i)| {
            let inode = &disk.inodes[i];
            let bytes = match survivors {
                Survivors::Synced => inode.synced.clone(),
                Survivors::All => inode.bytes.clone(),
                Survivors::Some(_) => inode.survive(&mut dice),
            };
            (name, bytes)
        });
        MemoryStorage::with_files(files.collect())
    }

    fn disk(&self) -> MutexGuard<'_, FaultyDisk> {
        self.disk.lock().expect("no panic under the lock")
    }
}

impl Inode {
    /// The synced bytes and a part of the rest, some of its sectors never written.
    fn survive(&self, dice: &mut Dice) -> Vec<u8> {
        const SECTOR: usize = 512;
        let fixed = self.synced.len().min(self.bytes.len());
        let more = dice.roll(self.bytes.len() - fixed + 1);
        let mut bytes = self.platter();
        bytes.truncate(fixed + more);
        for sector in bytes[fixed..].chunks_mut(SECTOR) {
            if dice.roll(4) == 0 {
                sector.fill(0);
            }
        }
        bytes
    }

    /// The bytes as they come to the disk, without those that failed syncs have lost.
    fn platter(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        self.lost.iter().for_each(|lost| bytes[lost.clone()].fill(0));
        bytes
    }

    fn truncate(&mut self, length: usize) {
        self.bytes.truncate(length);
        self.lost.iter_mut().for_each(|lost| lost.end = lost.end.min(length));
        self.lost.retain(|lost| lost.start < lost.end);
        self.synced = self.platter();
    }

    fn sync(&mut self) {
        self.synced = self.platter();
    }

    fn fail_to_sync(&mut self) {
        self.lost.push(self.synced.len().min(self.bytes.len())..self.bytes.len());
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): enough to choose what a power cut leaves.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % sides as u64) as usize
    }
}

impl Storage for FaultyStorage {
    fn create(&self, name: &str) -> io::Result<Box<dyn WriteFile>> {
        let mut disk = self.disk();
        disk.change()?;
        disk.inodes.push(Inode::default());
        let inode = disk.inodes.len() - 1;
        disk.names.insert(name.to_owned(), inode);
        disk.unsynced.push(NameChange { gone: None, made: Some((name.to_owned(), inode)) });
        Ok(Box::new(FaultyFile { disk: self.disk.clone(), inode }))
    }

    fn append(&self, name: &str) -> io::Result<Box<dyn WriteFile>> {
        let mut disk = self.disk();
        disk.change()?;
        let inode = disk.find(name)?;
        Ok(Box::new(FaultyFile { disk: self.disk.clone(), inode }))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn ReadFile>> {
        let inode = self.disk().find(name)?;
        Ok(Box::new(FaultyFile { disk: self.disk.clone(), inode }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut disk = self.disk();
        disk.change()?;
        let inode = disk.find(from)?;
        disk.names.remove(from);
        disk.names.insert(to.to_owned(), inode);
        disk.unsynced.push(NameChange { gone: Some(from.to_owned()), made: Some((to.to_owned(), inode)) });
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut disk = self.disk();
        disk.change()?;
        disk.find(name)?;
        disk.names.remove(name);
        disk.unsynced.push(NameChange { gone: Some(name.to_owned()), made: None });
        Ok(())
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let disk = self.disk();
        if disk.stopped {
            return Err(io::Error::other("the power is off"));
        }
        Ok(disk.names.keys().cloned().collect())
    }

    fn sync_dir(&self) -> io::Result<()> {
        let mut disk = self.disk();
        disk.change()?;
        disk.synced_names = disk.names.clone();
        disk.unsynced.clear();
        Ok(())
    }

    fn lock(&self) -> io::Result<Box<dyn Any + Send + Sync>> {
        if self.disk().fault == StorageFault::ReadOnly {
            return Err(io::ErrorKind::ReadOnlyFilesystem.into());
        }
        take_lock(&self.locked)
    }

    fn free(&self) -> io::Result<u64> {
        let disk = self.disk();
        Ok(match disk.fault {
            StorageFault::Full(capacity) => capacity.saturating_sub(disk.used()),
            StorageFault::ReadOnly => 0,
            _ => u64::MAX,
        })
    }

    fn locate(&self, name: &str) -> String {
        format!("faulty:{name}")
    }
}

struct FaultyFile {
    disk: Arc<Mutex<FaultyDisk>>,
    inode: usize,
}

impl FaultyFile {
    fn disk(&self) -> MutexGuard<'_, FaultyDisk> {
        self.disk.lock().expect("no panic under the lock")
    }
}

impl WriteFile for FaultyFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.disk().write(self.inode, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut disk = self.disk();
        let point = disk.point();
        let inode = &mut disk.inodes[self.inode];
        match point {
            Ok(()) => inode.sync(),
            Err((strikes, _)) if strikes => inode.fail_to_sync(),
            Err(_) => {}
        }
        point.map_err(|(_, e)| e)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let mut disk = self.disk();
        disk.change()?;
        disk.inodes[self.inode].truncate(length as usize);
        Ok(())
    }
}

impl ReadFile for FaultyFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.disk().inodes[self.inode].bytes.len() as u64)
    }

    fn identity(&self) -> io::Result<String> {
        Ok(self.inode.to_string())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let mut disk = self.disk();
        disk.reads += 1;
        if disk.stopped || disk.fault == StorageFault::FailRead(disk.reads) {
            return Err(io::Error::other("input/output error"));
        }
        let bytes = &disk.inodes[self.inode].bytes;
        if disk.fault == StorageFault::ShortRead(disk.reads) {
            let half = buffer.len() / 2;
            read_slice(bytes, &mut buffer[..half], offset)?;
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        read_slice(bytes, buffer, offset)
    }
}

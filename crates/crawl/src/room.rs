//! The room that the archive takes: what a policy removes between rounds, and what is told of it before.
//!
//! Only committed records point to what is removed, and the archive is closed and durable. What cannot be removed is tried
//! again after the next round.

use crate::crawl::Crawl;
use crate::failure::Failure;
use crate::stored::{keep, kept};
use recrawl_archive::months::{Month, months};
use recrawl_archive::thin::{Dropped, Thinning, begin_of_month};
use recrawl_archive::{cap, tidy};
use recrawl_repository::storage::Storage;
use recrawl_repository::{Generation, SledTables};
use recrawl_types::{ArchivePosition, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Setting of the tables: the number of the last file that was thinned. Without it, all files are looked at again.
const THINNED: &str = "archive_thinned";

/// The time before which a version is older than `age`, in milliseconds since 1970: the begin of a month, since whole months
/// are thinned.
fn until(age: Span, now: u64) -> u64 {
    begin_of_month(now.saturating_sub(age.0.as_millis().try_into().unwrap_or(u64::MAX)))
}

/// The positions in some WARC files that pages' records name, and the rows of requisites.
fn named(
    generation: &Generation,
    tables: Option<&SledTables>,
    files: &BTreeSet<u32>,
    go_on: &dyn Fn() -> io::Result<()>,
) -> io::Result<BTreeSet<ArchivePosition>> {
    let (mut records, mut named) = (generation.records(), BTreeSet::new());
    while let Some((_, _, record)) = records.next_record()? {
        go_on()?;
        let position = record.visited.and_then(|visited| visited.content.archive);
        named.extend(position.filter(|position| files.contains(&position.file)));
    }
    let (mut rows, mut first) = (0_u64, None);
    let mut damaged = |error| {
        rows += 1;
        first.get_or_insert(error);
    };
    if let Some(tables) = tables {
        for row in tables.requisites(&mut damaged) {
            named.extend(Some(row?.1.archive).filter(|position| files.contains(&position.file)));
        }
    }
    if let Some(first) = first {
        // The capture that a row names is the last of its chain, which stays without being named.
        tracing::warn!(rows, "damaged rows of requisites; their last captures stay: {first}");
    }
    Ok(named)
}

impl Crawl {
    /// Makes room in the archive, as the configuration says.
    pub fn make_room(&self) {
        self.thin_archive();
        self.cap_archive();
    }

    /// Drops versions that are older than `storage.keep_versions`, but for the last of each month.
    fn thin_archive(&self) {
        let age = self.settings.config.storage.keep_versions;
        if age.0.is_zero() {
            return;
        }
        match self.thinned(age) {
            Ok(Dropped { records: 0, .. }) => {}
            Ok(dropped) => {
                let (Dropped { versions, records, .. }, bytes) = (dropped, dropped.freed());
                tracing::info!(
                    versions,
                    records,
                    bytes,
                    "dropped old versions from the archive (storage.keep_versions)"
                );
            }
            Err(_) if self.shutdown.requested() => {}
            Err(error) => {
                tracing::warn!("cannot drop old versions from the archive (storage.keep_versions): {error}");
            }
        }
    }

    fn thinned(&self, age: Span) -> Result<Dropped, Failure> {
        let (now, after) = ((self.clock)(), kept(&self.tables, THINNED)?.unwrap_or(0));
        self.thinning(|thinning| {
            // The rest goes behind further rounds.
            let Some(batch) = thinning.next(after, until(age, now))? else { return Ok(Dropped::default()) };
            let dropped = thinning.drop_from(&batch, now, false)?;
            // After the files: if this is lost, they are looked at again, and nothing is found.
            keep(&self.tables, THINNED, &batch.end())?;
            Ok(dropped)
        })
    }

    /// Runs this on the archive, without what an interruption left there.
    fn thinning<T>(&self, run: impl FnOnce(&Thinning<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
        let go_on = || {
            self.live.moved();
            let is_stopped = self.shutdown.requested();
            if is_stopped {
                Err(io::Error::new(io::ErrorKind::Interrupted, "the crawl stops"))
            } else {
                Ok(())
            }
        };
        let generation = self.repository.current();
        let named = |files: &BTreeSet<u32>| named(&generation, Some(&self.tables), files, &go_on);
        tidy(&*self.warc)?;
        run(&Thinning { storage: &*self.warc, named: &named, go_on: &go_on })
    }

    /// Removes the oldest WARC files beyond `storage.archive_max`.
    fn cap_archive(&self) {
        let max = self.settings.config.storage.archive_max.0;
        if max == 0 {
            return;
        }
        match cap::keep_within(&*self.warc, max) {
            Ok(removed) if removed.files == 0 => {}
            Ok(cap::Files { files, bytes }) => {
                tracing::info!(files, bytes, "removed the oldest WARC files (storage.archive_max)");
            }
            Err(error) => tracing::warn!("cannot remove WARC files beyond storage.archive_max: {error}"),
        }
    }
}

/// The room that an archive takes, and what would go.
#[derive(Debug)]
pub struct Room {
    /// By month, as `2026-11`.
    pub months: BTreeMap<String, Month>,
    /// Records that would go of those older than an age.
    pub would_go: Dropped,
}

impl Room {
    /// Reads the whole archive, and changes nothing.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(archive: &dyn Storage, generation: &Generation, age: Span, now: u64) -> io::Result<Room> {
        let go_on = || Ok(());
        let named = |files: &BTreeSet<u32>| named(generation, None, files, &go_on);
        let thinning = Thinning { storage: archive, named: &named, go_on: &go_on };
        let (mut after, mut would_go) = (0, Dropped::default());
        while let Some(batch) = thinning.next(after, until(age, now))? {
            would_go.add(thinning.drop_from(&batch, now, true)?);
            after = batch.end();
        }
        Ok(Room { months: months(archive, &go_on)?, would_go })
    }
}

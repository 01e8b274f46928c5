//! Partitions that nobody crawls, put together: two neighbours into a new one, or all into a folder that is one crawl.

use super::divide::{JOINED_INBOXES, PARENT_INBOX, ParentInbox, next_message};
use super::join::{JoinedFolders, join_folders};
use super::links::{self, NEXT_DECISION, NEXT_MESSAGE};
use super::range::{self, keep_range};
use crate::failure::Failure;
use crate::operator::control::joined::{chosen, keep_chosen};
use crate::operator::stopped::StoppedCrawl;
use crate::settings::{Settings, formula_file};
use crate::stored::{keep, kept};
use crate::vault::{lineage, restore, ship_stopped_in};
use recrawl_fleet::{
    FleetMap, MapJoining, PartitionEnd, RunMark, RunMarks, begin_partitions, has_decision, has_message,
    partition_folder, propose, put_joining_in_force, receive_behind, release, sweep_former,
};
use recrawl_vault::Store;
use recrawl_vault::store::StoreWithin;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Gives the settings of a partition in this data directory.
pub type SettingsOfPart<'s> = dyn Fn(u32, &Path) -> Result<Settings, Failure> + 's;

/// Partitions to put together. The caller owns all of them, and holds their leases.
pub struct PartitionJoining<'j> {
    /// The store of the fleet.
    pub fleet: Arc<dyn Store>,
    /// The map in force.
    pub before: &'j FleetMap,
    /// The map that puts them together.
    pub map: &'j FleetMap,
    /// An empty folder, of use only meanwhile.
    pub scratch: &'j Path,
    /// The settings of each.
    pub settings: &'j SettingsOfPart<'j>,
    /// Random letters.
    pub tag: &'j str,
    /// The time, in milliseconds since 1970.
    pub now: u64,
    /// Asked before the verdict: does the caller own all of them still?
    pub is_owner: &'j dyn Fn() -> Result<(), Failure>,
}

/// Puts two partitions together. The map says in which order, and why ([`recrawl_fleet::joined`]): before the verdict the old map is
/// in force, and after it the new one. Gives the pages of both.
///
/// Links on their way to either are in the new vault, as links that wait: so both parts are as far in all runs.
///
/// # Errors
/// When a round is in progress, another process has taken a partition, or something cannot be read or written. If the
/// verdict was not answered, nobody knows which map is in force until it is read.
pub fn merge(joining: &PartitionJoining<'_>) -> Result<u64, Failure> {
    let PartitionJoining { fleet, map, settings, tag, is_owner, .. } = joining;
    let Some(MapJoining { into: Some(into), .. }) = map.joining() else {
        return Err(Failure::Work("fleet: this map merges nothing".into()));
    };
    let (joined, folder, ends) = joining.folder()?;
    let (tables, generation) = (&joined.crawl.tables, joined.crawl.repository.current());
    links::begin_marks(tables, ends)?;
    keep(tables, JOINED_INBOXES, &joined.unread)?;
    keep(tables, NEXT_MESSAGE, &0u64)?;
    keep(tables, NEXT_DECISION, &joined.decided)?;
    range::note_whole(tables, map, *into, (generation.pages(), generation.cycle().0))?;
    tables.flush()?;
    let pages = generation.pages();
    drop((generation, joined));
    let vault = Arc::new(StoreWithin::new(fleet.clone(), partition_folder(*into)));
    ship_stopped_in(vault, &settings(*into, &folder)?, tag)?;
    release(&**fleet, *into, 1)?;
    is_owner()?;
    put_joining_in_force(&**fleet, map)?;
    // From here on it is done. What both had is removed at the next start of a process, if not now.
    if let Err(error) = sweep_former(&**fleet, map) {
        tracing::warn!("objects of the merged partitions stay in the store for now: {error}");
    }
    Ok(pages)
}

/// Puts all partitions together in a folder that is one crawl, and ends the fleet. Gives the folder, below the scratch one, and its
/// pages.
///
/// # Errors
/// As of [`merge`]; and when a partition has changes of operators that its owner has not made.
pub fn leave(joining: &PartitionJoining<'_>) -> Result<(PathBuf, u64), Failure> {
    let PartitionJoining { fleet, map, is_owner, .. } = joining;
    let (joined, folder, _) = joining.folder()?;
    let tables = &joined.crawl.tables;
    links::forget_marks(tables)?;
    for name in [JOINED_INBOXES, PARENT_INBOX, NEXT_MESSAGE, NEXT_DECISION, range::RANGE] {
        tables.remove_setting(name)?;
    }
    tables.flush()?;
    let pages = joined.crawl.repository.current().pages();
    drop(joined);
    for other in joining.parts().map(|part| joining.folder_of(part.id)).filter(|other| *other != folder) {
        fs::remove_dir_all(&other).map_err(Failure::work)?;
    }
    is_owner()?;
    put_joining_in_force(&**fleet, map)?;
    Ok((folder, pages))
}

/// Parts that were put together.
struct JoinedParts {
    crawl: StoppedCrawl,
    /// The messages that each has not read.
    unread: Vec<ParentInbox>,
    /// The number of the first decision that one of them has not made. Those behind it are made again, so that all end in their
    /// order.
    decided: u64,
}

impl PartitionJoining<'_> {
    fn parts(&self) -> impl Iterator<Item = &PartitionEnd> {
        self.map.joining().into_iter().flat_map(|joining| &joining.parts)
    }

    fn folder_of(&self, id: u32) -> PathBuf {
        self.scratch.join(format!("partition-{id}"))
    }

    /// Restores all parts, proposes the map, and puts them together. Gives the folder, and how far its links are in the runs of others.
    fn folder(&self) -> Result<(JoinedParts, PathBuf, RunMarks), Failure> {
        let (mut all, mut unread, mut decided) = (Vec::new(), Vec::new(), Vec::new());
        for PartitionEnd { id, .. } in self.parts() {
            let settings = self.restored(*id)?;
            let tables = StoppedCrawl::open(&settings)?.tables;
            let inbox = ParentInbox { partition: *id, next: next_message(&tables, *id)? };
            let next: u64 = kept(&tables, NEXT_DECISION)?.unwrap_or_default();
            if self.map.is_end() {
                self.refuse_unmade(inbox, next)?;
            }
            unread.push(inbox);
            decided.push((next, chosen(&tables)?));
            all.push(settings);
        }
        propose(&*self.fleet, self.map)?;
        if !self.map.is_end() {
            // For stores that are folders.
            begin_partitions(&*self.fleet, self.map)?;
        }
        let mut ends: RunMarks =
            self.parts().map(|part| (part.id, RunMark { epoch: part.epoch, number: 0 })).collect();
        let ids: Vec<u32> = self.parts().map(|part| part.id).collect();
        let mut pending = |at: usize, marks: RunMarks, each: &mut super::join::TakesLink<'_>| {
            let received = receive_behind(&*self.fleet, self.before, (ids[at], marks), &mut ends, each)?;
            for (sender, refused) in received.refused {
                let (links, blocks, runs) = (refused.links, refused.blocks, refused.runs);
                tracing::warn!(sender, links, blocks, runs, "refused links of a partition: damaged");
            }
            Ok(())
        };
        let JoinedFolders { base, crawl } = join_folders(&all, &mut pending, self.now)?;
        // Decisions that one part has not made are made again, and some go back by a step: so its formula is the one to begin with.
        let least = decided.into_iter().enumerate().min_by_key(|(at, (next, _))| (*next, *at != base));
        let (at, (decided, chosen)) = least.unwrap_or_default();
        if at != base {
            formula_file::take_over(&all[base].data_dir, &all[at].data_dir)?;
            keep_chosen(&crawl.tables, &chosen)?;
        }
        let folder = all.swap_remove(base).data_dir;
        Ok((JoinedParts { crawl, unread, decided }, folder, ends))
    }

    /// Refuses to end a fleet while a part has changes of operators to make: nobody would make them.
    fn refuse_unmade(
        &self,
        ParentInbox { partition, next }: ParentInbox,
        decision: u64,
    ) -> Result<(), Failure> {
        if has_message(&*self.fleet, partition, next)? || has_decision(&*self.fleet, decision)? {
            return Err(Failure::Work(format!(
                "fleet: partition {partition} has changes of operators to make; start a process for it, and leave when it \
                 has made them"
            )));
        }
        Ok(())
    }

    /// A copy of a part with its own range alone.
    fn restored(&self, id: u32) -> Result<Settings, Failure> {
        let folder = self.folder_of(id);
        let vault = Arc::new(StoreWithin::new(self.fleet.clone(), partition_folder(id)));
        restore::restore(&restore::open_in(vault, &format!("partition {id}"))?, &folder)?;
        if !folder.join("MANIFEST").exists() {
            return Err(Failure::Usage(format!("fleet: partition {id} has no pages yet; try again later")));
        }
        // What it becomes has a vault of its own, or none.
        fs::remove_file(folder.join(lineage::FILE)).map_err(Failure::work)?;
        let settings = (self.settings)(id, &folder)?;
        keep_range(&settings, self.before, id, self.now)?;
        Ok(settings)
    }
}

//! The version of each page that clients hold, and how often each page was served.

use super::AccessEntry;
use crate::web::Web;
use serde::Serialize;

const NOTHING: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct HoldingSlot {
    version: u32,
    cycle: u32,
    count: u32,
}

/// Key of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountKey {
    /// A page, by number.
    Page(u32),
    /// The index page of a host, counted from 0.
    Index(u32),
}

/// Complete responses to `GET` with status 200 or 304, by URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Count {
    /// The URL.
    pub url: String,
    /// The page; `None` for an index page.
    pub page_id: Option<u32>,
    /// Complete responses.
    pub count: u64,
}

/// Held and fresh pages of a set of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HeldFreshness {
    /// Pages of the set that exist at the clock.
    pub total: u32,
    /// Of these, held at any version.
    pub held: u32,
    /// Of these, held at the current version.
    pub fresh: u32,
}

impl HeldFreshness {
    fn count(&mut self, held: u32, now: u32) {
        self.total += 1;
        self.held += u32::from(held != NOTHING);
        self.fresh += u32::from(held == now);
    }

    /// Fresh pages of all that exist, 0 to 1; 1 where none does.
    pub fn share(&self) -> f64 {
        if self.total == 0 { 1.0 } else { f64::from(self.fresh) / f64::from(self.total) }
    }
}

/// The held version of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HeldPage {
    /// The page.
    pub page_id: u32,
    /// The version held; `None` when it was never served whole.
    pub held: Option<u32>,
    /// The cycle at which it was last served or confirmed.
    pub cycle: Option<u32>,
    /// The version now; `None` when the page does not exist at the clock.
    pub now: Option<u32>,
}

/// The held versions of all pages, and the sums.
#[derive(Clone, Debug)]
pub struct HeldVersions {
    /// The clock.
    pub cycle: u32,
    /// All pages that exist now.
    pub all: HeldFreshness,
    /// Those there from the first to the last cycle.
    pub fixed: HeldFreshness,
    /// Page by page.
    pub pages: Vec<HeldPage>,
}

/// Changes since pages were first held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HeldChanges {
    /// Those of which the client holds, or held, the version.
    pub seen: u64,
    /// Those that another change replaced before the client asked again.
    pub missed: u64,
    /// Pages that have changed since they were last served or confirmed.
    pub waiting: u64,
    /// Changes of these pages that another has already replaced.
    pub lost: u64,
}

/// The account of pages.
pub struct Holdings {
    pages: Vec<HoldingSlot>,
    indexes: Vec<u32>,
    /// Changes seen and missed, by host.
    changes: Vec<[u64; 2]>,
}

impl Holdings {
    /// Nothing held.
    pub fn new(web: &dyn Web) -> Holdings {
        let nothing = HoldingSlot { version: NOTHING, cycle: 0, count: 0 };
        Holdings {
            pages: vec![nothing; web.pages() as usize],
            indexes: vec![0; web.hosts() as usize],
            changes: vec![[0; 2]; web.hosts() as usize],
        }
    }

    /// Enters an exchange that has ended.
    pub fn settle(&mut self, access: &AccessEntry, web: &dyn Web) {
        if !access.complete || access.method != "GET" || !matches!(access.status, 200 | 304) {
            return;
        }
        let page = access.page_id.filter(|page| (*page as usize) < self.pages.len());
        if let Some(page) = page {
            let slot = &mut self.pages[page as usize];
            slot.count += 1;
            if let Some(version) = access.holds {
                let has_changed = slot.version != NOTHING && slot.version != version;
                if has_changed && let Some(host) = access.host_id {
                    let changes = web.changes(page, slot.cycle, access.cycle).len() as u64;
                    let [seen, missed] = &mut self.changes[host as usize];
                    *seen += u64::from(changes > 0);
                    *missed += changes.saturating_sub(1);
                }
                slot.version = version;
            }
            slot.cycle = access.cycle;
        } else if access.path == "/"
            && let Some(count) = access.host_id.and_then(|host| self.indexes.get_mut(host as usize))
        {
            *count += 1;
        }
    }

    /// Counts of all index pages and pages with responses.
    pub fn counts(&self) -> impl Iterator<Item = (CountKey, u64)> + '_ {
        let indexes =
            self.indexes.iter().enumerate().map(|(host, &count)| (CountKey::Index(host as u32), count));
        let pages =
            self.pages.iter().enumerate().map(|(page, slot)| (CountKey::Page(page as u32), slot.count));
        indexes.chain(pages).filter(|&(_, count)| count > 0).map(|(what, count)| (what, u64::from(count)))
    }

    /// Resets the counts; held versions stay.
    pub fn clear_counts(&mut self) {
        self.indexes.fill(0);
        self.changes.fill([0; 2]);
        for slot in &mut self.pages {
            slot.count = 0;
        }
    }

    /// The changes of held pages by host, up to the cycle.
    pub fn changes(&self, web: &dyn Web, cycle: u32) -> Vec<HeldChanges> {
        let account = |[seen, missed]: &[u64; 2]| HeldChanges {
            seen: *seen,
            missed: *missed,
            ..HeldChanges::default()
        };
        let mut hosts: Vec<HeldChanges> = self.changes.iter().map(account).collect();
        for (page, slot) in self.pages.iter().enumerate().filter(|(_, slot)| slot.version != NOTHING) {
            let page = page as u32;
            let changes = web.changes(page, slot.cycle, cycle).len() as u64;
            let host = &mut hosts[web.address(page).host as usize];
            host.waiting += u64::from(changes > 0);
            host.lost += changes.saturating_sub(1);
        }
        hosts
    }

    /// All pages against the truth at the cycle.
    pub fn held(&self, web: &dyn Web, cycle: u32) -> HeldVersions {
        let mut held = HeldVersions {
            cycle,
            all: HeldFreshness::default(),
            fixed: HeldFreshness::default(),
            pages: Vec::new(),
        };
        for (page, slot) in self.pages.iter().enumerate() {
            let page = page as u32;
            let now = web.version(page, cycle);
            if let Some(now) = now {
                held.all.count(slot.version, now);
                if web.is_fixed(page) {
                    held.fixed.count(slot.version, now);
                }
            }
            let is_held = slot.version != NOTHING;
            held.pages.push(HeldPage {
                page_id: page,
                held: is_held.then_some(slot.version),
                cycle: is_held.then_some(slot.cycle),
                now,
            });
        }
        held
    }
}

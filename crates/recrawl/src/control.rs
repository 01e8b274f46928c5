//! What operators decide while a crawl runs: pauses, blocks, seeds that wait, pages asked for, formulas chosen.
//!
//! It is kept in the tables before it is in force, so that a restart forgets nothing, and each part has a limit. What of
//! it concerns a running cycle is handed to the fetcher, or asked for each page.

mod blocks;
mod decided;

pub use blocks::Blocks;
pub use decided::{Chosen, Mark};
pub use recrawl_fetcher::control::{MAX_ASKED, MAX_HELD_HOSTS};

use crate::crawl::{keep, kept};
use crate::failure::Failure;
use decided::{Asked, Chosens, Decided, Seeds};
use recrawl_fetcher::Control as Steering;
use recrawl_repository::SledTables;
use recrawl_types::{CanonicalUrl, Outcome, Skip, Visit};
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

/// Patterns that are blocked at most.
pub const MAX_BLOCKS: usize = 10_000;
/// Seeds that wait at most.
pub const MAX_WAITING_SEEDS: usize = 100_000;
/// Formulas in the history.
pub const MAX_CHOSEN: usize = 100;
/// Pages asked for that are looked at before that is kept; a crash in between has them looked at again.
const ANSWERS_A_WRITE: usize = 100;

/// Names of settings kept in the tables.
const DECIDED: &str = "control";
const SEEDS: &str = "control_seeds";
const ASKED: &str = "control_asked";
const CHOSEN: &str = "control_formulas";

/// What operators decided, as it holds now.
pub struct Control {
    tables: Arc<SledTables>,
    steering: Arc<Steering>,
    state: Mutex<State>,
    /// Asked for each page, so without a look at the rest.
    blocks: RwLock<Arc<Blocks>>,
    /// How many pages are asked for: nearly always none, and then no visit is compared with them.
    asked: AtomicUsize,
}

struct State {
    decided: Decided,
    seeds: Seeds,
    asked: Asked,
    chosen: Chosens,
    /// Pages looked at since that was kept.
    answered: usize,
}

/// What came of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    /// It is in force.
    Done,
    /// It was before.
    Already,
    /// There is no room for it.
    Full,
}

impl Control {
    /// Takes up what is kept in the tables, and puts it in force.
    ///
    /// # Errors
    /// When the tables cannot be read, or hold something else.
    pub fn open(tables: Arc<SledTables>, steering: Arc<Steering>) -> Result<Control, Failure> {
        let decided: Decided = kept(&tables, DECIDED)?.unwrap_or_default();
        let state = State {
            seeds: kept(&tables, SEEDS)?.unwrap_or_default(),
            asked: kept(&tables, ASKED)?.unwrap_or_default(),
            chosen: kept(&tables, CHOSEN)?.unwrap_or_default(),
            answered: 0,
            decided,
        };
        steering.hold(state.decided.paused.is_some());
        for host in state.decided.paused_hosts.keys() {
            steering.hold_host(host, true);
        }
        let blocks = RwLock::new(Arc::new(Blocks::of(state.decided.blocks.keys())));
        let asked = AtomicUsize::new(state.asked.len());
        Ok(Control { tables, steering, state: Mutex::new(state), blocks, asked })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic under the lock")
    }

    fn write(&self, name: &str, value: &impl Serialize) -> Result<(), Failure> {
        keep(&self.tables, name, value)?;
        self.tables.flush().map_err(Failure::from)
    }

    /// Who paused the whole crawl, if it is paused.
    pub fn paused(&self) -> Option<Mark> {
        self.state().decided.paused.clone()
    }

    /// Pauses all, or ends the pause (`mark` none).
    ///
    /// # Errors
    /// When it cannot be kept; then nothing has changed.
    pub fn pause(&self, mark: Option<Mark>) -> Result<Did, Failure> {
        let mut state = self.state();
        if state.decided.paused.is_some() == mark.is_some() {
            return Ok(Did::Already);
        }
        let next = Decided { paused: mark, ..state.decided.clone() };
        self.write(DECIDED, &next)?;
        self.steering.hold(next.paused.is_some());
        state.decided = next;
        Ok(Did::Done)
    }

    /// Pauses a host, by its canonical name, or ends its pause.
    ///
    /// # Errors
    /// As [`Control::pause`].
    pub fn pause_host(&self, host: &str, mark: Option<Mark>) -> Result<Did, Failure> {
        let mut state = self.state();
        let mut next = state.decided.clone();
        let did = decided::set(&mut next.paused_hosts, host, mark, MAX_HELD_HOSTS);
        if did == Did::Done {
            self.write(DECIDED, &next)?;
            self.steering.hold_host(host, next.paused_hosts.contains_key(host));
            state.decided = next;
        }
        Ok(did)
    }

    /// Blocks a pattern as [`Blocks::pattern`] gives it, or ends that.
    ///
    /// # Errors
    /// As [`Control::pause`].
    pub fn block(&self, pattern: &str, mark: Option<Mark>) -> Result<Did, Failure> {
        let mut state = self.state();
        let mut next = state.decided.clone();
        let did = decided::set(&mut next.blocks, pattern, mark, MAX_BLOCKS);
        if did == Did::Done {
            self.write(DECIDED, &next)?;
            *self.blocks.write().expect("no panic under the lock") = Arc::new(Blocks::of(next.blocks.keys()));
            state.decided = next;
        }
        Ok(did)
    }

    /// The blocks that hold.
    pub fn blocks(&self) -> Arc<Blocks> {
        self.blocks.read().expect("no panic under the lock").clone()
    }

    /// Who paused this host, if it is paused by itself.
    pub fn paused_host(&self, host: &str) -> Option<Mark> {
        self.state().decided.paused_hosts.get(host).cloned()
    }

    /// Who blocked this pattern, if it is blocked.
    pub fn blocked(&self, pattern: &str) -> Option<Mark> {
        self.state().decided.blocks.get(pattern).cloned()
    }

    /// Paused hosts and blocked patterns, in order.
    pub fn lists(&self) -> [Vec<(String, Mark)>; 2] {
        let state = self.state();
        let list =
            |all: &decided::Marks| all.iter().map(|(what, mark)| (what.clone(), mark.clone())).collect();
        [list(&state.decided.paused_hosts), list(&state.decided.blocks)]
    }

    /// How many of each there are: paused hosts, blocks, seeds that wait, pages asked for.
    pub fn counts(&self) -> [u64; 4] {
        let state = self.state();
        let State { decided, seeds, asked, .. } = &*state;
        [decided.paused_hosts.len(), decided.blocks.len(), seeds.len(), asked.len()].map(|count| count as u64)
    }

    /// Adds seeds for the next cycle; how many were not among those that wait, or none where there is no room for all.
    ///
    /// # Errors
    /// As [`Control::pause`].
    pub fn add_seeds(&self, urls: &[CanonicalUrl]) -> Result<Option<usize>, Failure> {
        let mut state = self.state();
        let mut next = state.seeds.clone();
        next.extend(urls.iter().map(ToString::to_string));
        let added = next.len() - state.seeds.len();
        if next.len() > MAX_WAITING_SEEDS {
            return Ok(None);
        }
        if added > 0 {
            self.write(SEEDS, &next)?;
            state.seeds = next;
        }
        Ok(Some(added))
    }

    /// The seeds that wait, in the order of URLs, which is not the order of their texts.
    pub fn seeds(&self) -> Vec<CanonicalUrl> {
        let mut seeds: Vec<CanonicalUrl> = self.state().seeds.iter().filter_map(|url| parse(url)).collect();
        seeds.sort_unstable();
        seeds.dedup();
        seeds
    }

    /// These seeds are in a generation.
    ///
    /// # Errors
    /// As [`Control::pause`].
    pub fn forget_seeds(&self, urls: &[CanonicalUrl]) -> Result<(), Failure> {
        let mut state = self.state();
        let gone: BTreeSet<String> = urls.iter().map(ToString::to_string).collect();
        let next: Seeds = state.seeds.difference(&gone).cloned().collect();
        if next.len() < state.seeds.len() {
            self.write(SEEDS, &next)?;
            state.seeds = next;
        }
        Ok(())
    }

    /// Asks for a page.
    ///
    /// # Errors
    /// As [`Control::pause`].
    pub fn ask(&self, url: &CanonicalUrl, mark: Mark) -> Result<Did, Failure> {
        let mut state = self.state();
        let mut next = state.asked.clone();
        let did = decided::set(&mut next, &url.to_string(), Some(mark), MAX_ASKED);
        if did == Did::Done {
            self.write(ASKED, &next)?;
            self.asked.store(next.len(), Relaxed);
            state.asked = next;
        }
        Ok(did)
    }

    /// The pages that are asked for.
    pub fn asked(&self) -> Vec<CanonicalUrl> {
        self.state().asked.keys().filter_map(|url| parse(url)).collect()
    }

    /// A visit was recorded: if somebody asked for its page, that is answered, unless there was no time for it.
    pub fn recorded(&self, visit: &Visit) {
        if self.asked.load(Relaxed) == 0 || visit.outcome == Outcome::Skipped(Skip::Deadline) {
            return;
        }
        let mut state = self.state();
        if state.asked.remove(&visit.url.to_string()).is_some() {
            state.answered += 1;
            self.asked.store(state.asked.len(), Relaxed);
            if state.answered >= ANSWERS_A_WRITE {
                self.keep_answers_of(&mut state);
            }
        }
    }

    /// Keeps which pages asked for were looked at.
    pub fn keep_answers(&self) {
        self.keep_answers_of(&mut self.state());
    }

    fn keep_answers_of(&self, state: &mut State) {
        if state.answered == 0 {
            return;
        }
        match keep(&self.tables, ASKED, &state.asked) {
            Ok(()) => state.answered = 0,
            // The worst is that a page is looked at once more.
            Err(error) => {
                tracing::warn!(%error, "pages that were asked for and looked at may be looked at again")
            }
        }
    }

    /// The formulas that were chosen, newest last. The first is the one that was in force before.
    pub fn chosen(&self) -> Vec<Chosen> {
        self.state().chosen.clone()
    }

    /// Keeps another history of formulas; of a longer one than [`MAX_CHOSEN`] the newest.
    ///
    /// # Errors
    /// As [`Control::pause`].
    pub fn set_chosen(&self, mut chosen: Vec<Chosen>) -> Result<(), Failure> {
        let more = chosen.len().saturating_sub(MAX_CHOSEN);
        chosen.drain(..more);
        self.write(CHOSEN, &chosen)?;
        self.state().chosen = chosen;
        Ok(())
    }
}

/// What is kept is canonical already.
fn parse(url: &str) -> Option<CanonicalUrl> {
    recrawl_types::UrlRules::keep_all().canonicalize(url).ok()
}

#[cfg(test)]
mod tests;

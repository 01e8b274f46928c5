//! Decisions of operators while a crawl runs: pauses, blocks, seeds, page requests, formulas.
//!
//! A decision is stored before it takes effect, so that a restart forgets nothing. Each kind has a
//! limit. Pauses and blocks are in a file of their own ([`Decisions`]), the rest is in the tables.
//! Decisions that concern a running cycle are passed to the fetcher or checked for each page.
//!
//! Changes take turns and wait for the disk. Readers do not: the state is in memory, under a lock
//! that is never held while something is written.

mod decided;
pub(crate) mod joined;

use crate::admission::blocks::Blocks;
pub use crate::admission::decisions::Mark;
pub use decided::ChosenFormula;
pub use recrawl_fetcher::control::{MAX_ASKED, MAX_HELD_HOSTS};

use crate::admission::decisions::Decisions;
use crate::admission::pattern::Pattern;
use crate::failure::Failure;
use crate::stored::{keep, kept};
use decided::{Chosens, PageRequest, QueuedSeeds, RequestedPages};
use recrawl_fetcher::RunControl;
use recrawl_repository::SledTables;
use recrawl_repository::storage::Storage;
use recrawl_types::{CanonicalUrl, Cycle, Outcome, Skip, Visit};
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, RwLock};

/// Maximum number of blocked patterns.
pub const MAX_BLOCKS: usize = 10_000;
/// Maximum number of queued seeds.
pub const MAX_WAITING_SEEDS: usize = 100_000;
/// Maximum bytes of the URLs of queued seeds, and of requested pages: each set is rewritten at
/// every change.
pub const MAX_WAITING_BYTES: usize = 16 << 20;
/// Cycles that may skip a requested page for a temporary reason before the request is dropped.
pub const MAX_TRIES: u32 = 7;
/// Maximum number of formulas in the history.
pub const MAX_CHOSEN: usize = 100;
/// Number of answered page requests between two writes; a crash in between fetches these pages
/// again.
const ANSWERS_A_WRITE: usize = 100;

/// Names of settings in the tables.
const SEEDS: &str = "control_seeds";
const ASKED: &str = "control_asked";
const CHOSEN: &str = "control_formulas";
const LIFTED: &str = "control_lifted";

/// The current decisions.
pub struct Control {
    /// Holds the file of decisions.
    storage: Arc<dyn Storage>,
    tables: Arc<SledTables>,
    steering: Arc<RunControl>,
    /// Locked while the file or the tables are written, so that the last write wins.
    turn: Mutex<()>,
    state: Mutex<ControlState>,
    /// Checked for each page, so separate from the rest.
    blocks: RwLock<Arc<Blocks>>,
    /// Number of requested pages; if 0, visits are not compared with them.
    asked: AtomicUsize,
    /// Called after each decision that is stored.
    on_decided: OnceLock<OnDecided>,
}

/// See [`Control::on_decided`].
pub type OnDecided = Box<dyn Fn() + Send + Sync>;

/// Large parts are shared with callers that change them, and replaced as a whole.
struct ControlState {
    decided: Arc<Decisions>,
    seeds: Arc<QueuedSeeds>,
    asked: RequestedPages,
    chosen: Arc<Chosens>,
    /// Requests answered since the last write.
    answered: usize,
}

/// Outcome of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionResult {
    /// The decision is in force.
    Done,
    /// It was already in force.
    Already,
    /// The limit is reached.
    Full,
}

impl Control {
    /// Loads what is stored in the tables, and puts it into force together with `decided`. Changes
    /// of the latter are written to `storage`.
    ///
    /// # Errors
    /// When the tables cannot be read, or hold something else.
    pub fn open(
        decided: Decisions,
        storage: Arc<dyn Storage>,
        tables: Arc<SledTables>,
        steering: Arc<RunControl>,
    ) -> Result<Control, Failure> {
        steering.hold(decided.paused.is_some());
        for host in decided.paused_hosts.keys() {
            steering.hold_host(host, true);
        }
        let blocks = RwLock::new(Arc::new(Blocks::from_patterns(decided.blocks.keys())));
        let state = ControlState {
            decided: Arc::new(decided),
            seeds: Arc::new(kept::<QueuedSeeds>(&tables, SEEDS)?.unwrap_or_default()),
            asked: kept(&tables, ASKED)?.unwrap_or_default(),
            chosen: Arc::new(kept::<Chosens>(&tables, CHOSEN)?.unwrap_or_default()),
            answered: 0,
        };
        let asked = AtomicUsize::new(state.asked.len());
        Ok(Control {
            storage,
            tables,
            steering,
            turn: Mutex::default(),
            state: Mutex::new(state),
            blocks,
            asked,
            on_decided: OnceLock::new(),
        })
    }

    /// Has `told` called after each decision that is in force and stored. Once.
    pub fn on_decided(&self, told: OnDecided) {
        let _ = self.on_decided.set(told);
    }

    fn state(&self) -> MutexGuard<'_, ControlState> {
        self.state.lock().expect("no panic under the lock")
    }

    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().expect("no panic under the lock")
    }

    fn write(&self, name: &str, value: &impl Serialize) -> Result<(), Failure> {
        keep(&self.tables, name, value)?;
        self.tables.flush().map_err(Failure::from)
    }

    /// Pauses, blocks and takedowns.
    pub fn decided(&self) -> Arc<Decisions> {
        self.state().decided.clone()
    }

    /// Changes pauses and blocks, and puts the change into force once it is stored.
    fn decide(
        &self,
        change: impl FnOnce(&mut Decisions) -> Result<DecisionResult, Failure>,
        put_in_force: impl FnOnce(&Decisions),
    ) -> Result<DecisionResult, Failure> {
        let _turn = self.turn();
        let mut next = (*self.decided()).clone();
        let effect = change(&mut next)?;
        if effect == DecisionResult::Done {
            next.write(&*self.storage)?;
            put_in_force(&next);
            self.state().decided = Arc::new(next);
            if let Some(told) = self.on_decided.get() {
                told();
            }
        }
        Ok(effect)
    }

    /// Author and time of the pause of the whole crawl, if it is paused.
    pub fn paused(&self) -> Option<Mark> {
        self.decided().paused.clone()
    }

    /// Pauses the whole crawl, or resumes it (`mark` none).
    ///
    /// # Errors
    /// When the change cannot be stored; then nothing has changed.
    pub fn pause(&self, mark: Option<Mark>) -> Result<DecisionResult, Failure> {
        let pause = |next: &mut Decisions| {
            if next.paused.is_some() == mark.is_some() {
                return Ok(DecisionResult::Already);
            }
            next.paused = mark;
            Ok(DecisionResult::Done)
        };
        self.decide(pause, |next| self.steering.hold(next.paused.is_some()))
    }

    /// Pauses a host, by its canonical name, or resumes it.
    ///
    /// # Errors
    /// As [`Control::pause`].
    pub fn pause_host(&self, host: &str, mark: Option<Mark>) -> Result<DecisionResult, Failure> {
        self.decide(
            |next| Ok(decided::set(&mut next.paused_hosts, &host.to_owned(), mark, MAX_HELD_HOSTS)),
            |next| {
                self.steering.hold_host(host, next.paused_hosts.contains_key(host));
            },
        )
    }

    /// Blocks a pattern, or unblocks it.
    ///
    /// # Errors
    /// As [`Control::pause`].
    pub fn block(&self, pattern: &Pattern, mark: Option<Mark>) -> Result<DecisionResult, Failure> {
        self.decide(
            |next| {
                if mark.is_none() && next.blocks.contains_key(pattern) {
                    Control::note_lifted(&self.tables)?;
                }
                Ok(decided::set(&mut next.blocks, pattern, mark, MAX_BLOCKS))
            },
            |next| {
                let blocks = Arc::new(Blocks::from_patterns(next.blocks.keys()));
                *self.blocks.write().expect("no panic under the lock") = blocks;
            },
        )
    }

    /// How often a block or takedown was lifted. A block that is set and lifted within a cycle leaves refused pages, and no other
    /// trace.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn lifted(tables: &SledTables) -> Result<u64, Failure> {
        Ok(kept(tables, LIFTED)?.unwrap_or_default())
    }

    /// Notes that a block or takedown ends, before it does.
    ///
    /// # Errors
    /// When the tables cannot be read or written.
    pub fn note_lifted(tables: &SledTables) -> Result<(), Failure> {
        keep(tables, LIFTED, &(Control::lifted(tables)? + 1))
    }

    /// The blocks in force.
    pub fn blocks(&self) -> Arc<Blocks> {
        self.blocks.read().expect("no panic under the lock").clone()
    }

    /// Paused hosts and blocked patterns, in order.
    pub fn lists(&self) -> [Vec<(String, Mark)>; 2] {
        let decided = self.decided();
        let hosts = decided.paused_hosts.iter().map(|(host, mark)| (host.clone(), mark.clone()));
        let blocks = decided.blocks.iter().map(|(pattern, mark)| (pattern.to_string(), mark.clone()));
        [hosts.collect(), blocks.collect()]
    }

    /// The number of paused hosts, blocks, queued seeds and requested pages.
    pub fn counts(&self) -> [u64; 4] {
        let state = self.state();
        let ControlState { decided, seeds, asked, .. } = &*state;
        [decided.paused_hosts.len(), decided.blocks.len(), seeds.len(), asked.len()].map(|count| count as u64)
    }

    /// Queues seeds for the next round. Returns how many are new, or none if the limit is reached.
    ///
    /// # Errors
    /// As [`Control::pause`].
    pub fn add_seeds(&self, urls: &[CanonicalUrl]) -> Result<Option<usize>, Failure> {
        let _turn = self.turn();
        let before = self.state().seeds.clone();
        let mut next = (*before).clone();
        next.extend(urls.iter().map(ToString::to_string));
        let added = next.len() - before.len();
        if next.len() > MAX_WAITING_SEEDS || bytes(&next) > MAX_WAITING_BYTES {
            return Ok(None);
        }
        if added > 0 {
            self.write(SEEDS, &next)?;
            self.state().seeds = Arc::new(next);
        }
        Ok(Some(added))
    }

    /// Is any seed queued?
    pub fn has_seeds(&self) -> bool {
        !self.state().seeds.is_empty()
    }

    /// The queued seeds in URL order, which is not the order of their texts.
    pub fn seeds(&self) -> Vec<CanonicalUrl> {
        let texts = self.state().seeds.clone();
        let mut seeds: Vec<CanonicalUrl> = texts.iter().filter_map(|url| parse(url)).collect();
        seeds.sort_unstable();
        seeds.dedup();
        seeds
    }

    /// Removes seeds that are now in a generation.
    ///
    /// # Errors
    /// As [`Control::pause`].
    pub fn forget_seeds(&self, urls: &[CanonicalUrl]) -> Result<(), Failure> {
        let _turn = self.turn();
        let before = self.state().seeds.clone();
        let gone: BTreeSet<String> = urls.iter().map(ToString::to_string).collect();
        let next: QueuedSeeds = before.difference(&gone).cloned().collect();
        if next.len() < before.len() {
            self.write(SEEDS, &next)?;
            self.state().seeds = Arc::new(next);
        }
        Ok(())
    }

    /// The number of queued seeds in the tables of a stopped crawl.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn queued_seeds(tables: &SledTables) -> Result<u64, Failure> {
        Ok(kept::<QueuedSeeds>(tables, SEEDS)?.unwrap_or_default().len() as u64)
    }

    /// Removes the matching pages from the queued seeds and page requests in the tables of a
    /// stopped crawl, or only counts them.
    ///
    /// # Errors
    /// When the tables cannot be read or written.
    pub fn forget(
        tables: &SledTables,
        is_meant: &dyn Fn(&CanonicalUrl) -> bool,
        only_count: bool,
    ) -> Result<u64, Failure> {
        let mut seeds: QueuedSeeds = kept(tables, SEEDS)?.unwrap_or_default();
        let mut asked: RequestedPages = kept(tables, ASKED)?.unwrap_or_default();
        let before = seeds.len() + asked.len();
        let stays = |url: &str| parse(url).is_none_or(|url| !is_meant(&url));
        seeds.retain(|url| stays(url));
        asked.retain(|url, _| stays(url));
        let removed = before - seeds.len() - asked.len();
        if removed > 0 && !only_count {
            keep(tables, SEEDS, &seeds)?;
            keep(tables, ASKED, &asked)?;
        }
        Ok(removed as u64)
    }

    /// Requests a page.
    ///
    /// # Errors
    /// As [`Control::pause`].
    pub fn ask(&self, url: &CanonicalUrl, mark: Mark) -> Result<DecisionResult, Failure> {
        let _turn = self.turn();
        let (url, wish) =
            (url.to_string(), PageRequest { mark, tries: 0, tried_in: Cycle::default(), held_at: None });
        let mut next = self.state().asked.clone();
        if next.contains_key(&url) {
            return Ok(DecisionResult::Already);
        }
        if next.len() >= MAX_ASKED || bytes(next.keys()) + url.len() > MAX_WAITING_BYTES {
            return Ok(DecisionResult::Full);
        }
        next.insert(url.clone(), wish.clone());
        self.write(ASKED, &next)?;
        // Insert it alone: other requests were answered meanwhile.
        let mut state = self.state();
        state.asked.insert(url, wish);
        self.asked.store(state.asked.len(), Relaxed);
        Ok(DecisionResult::Done)
    }

    /// The requested pages.
    pub fn asked(&self) -> Vec<CanonicalUrl> {
        self.state().asked.keys().filter_map(|url| parse(url)).collect()
    }

    /// The first requested pages and queued seeds, at most so many.
    pub fn first_queued(&self, most: usize) -> Vec<CanonicalUrl> {
        let state = self.state();
        state.asked.keys().chain(&*state.seeds).take(most).filter_map(|url| parse(url)).collect()
    }

    /// Is any requested page one that no round has tried yet, on a host that is not paused?
    pub fn has_untried(&self) -> bool {
        let state = self.state();
        let is_held = |url: &str| parse(url).is_none_or(|url| self.steering.is_host_held(&url.host()));
        state.asked.iter().any(|(url, wish)| wish.tries == 0 && !is_held(url))
    }

    /// The requested pages whose host was in back-off when they were tried, and when that was, in milliseconds since
    /// 1970. Those of paused hosts wait for the end of the pause.
    pub fn held(&self) -> Vec<(CanonicalUrl, u64)> {
        if self.asked.load(Relaxed) == 0 {
            return Vec::new();
        }
        let state = self.state();
        let held = state.asked.iter().filter_map(|(url, wish)| Some((parse(url)?, wish.held_at?)));
        held.filter(|(url, _)| !self.steering.is_host_held(&url.host())).collect()
    }

    /// Called for each recorded visit: answers a request for its page. A page that missed the
    /// deadline is requested again in the next cycle. A page that was skipped for another temporary
    /// reason is requested in at most [`MAX_TRIES`] cycles.
    pub fn recorded(&self, visit: &Visit, cycle: Cycle) {
        if self.asked.load(Relaxed) == 0 || visit.outcome == Outcome::Skipped(Skip::Deadline) {
            return;
        }
        let has_passing_reason = matches!(
            visit.outcome,
            Outcome::Skipped(Skip::HostBackOff | Skip::ByteBudget | Skip::CrawlDelay)
        );
        let mut state = self.state();
        let url = visit.url.to_string();
        let Some(wish) = state.asked.get_mut(&url) else { return };
        wish.tries += u32::from(wish.tried_in != cycle);
        wish.tried_in = cycle;
        wish.held_at = (visit.outcome == Outcome::Skipped(Skip::HostBackOff)).then_some(visit.at);
        if !has_passing_reason || wish.tries >= MAX_TRIES {
            if has_passing_reason {
                let why = format!("the page was skipped in {MAX_TRIES} cycles");
                tracing::warn!(%url, "dropped a \"fetch now\" request: {why}");
            }
            state.asked.remove(&url);
            self.asked.store(state.asked.len(), Relaxed);
        }
        state.answered += 1;
        let is_much = state.answered >= ANSWERS_A_WRITE;
        drop(state);
        // Skip this while somebody changes something and may wait for the disk: more visits will
        // come.
        if is_much && let Ok(turn) = self.turn.try_lock() {
            self.keep_answers_in(turn);
        }
    }

    /// Stores which requests were answered.
    pub fn keep_answers(&self) {
        self.keep_answers_in(self.turn());
    }

    fn keep_answers_in(&self, _turn: MutexGuard<'_, ()>) {
        let mut state = self.state();
        if state.answered == 0 {
            return;
        }
        let (asked, answered) = (state.asked.clone(), state.answered);
        state.answered = 0;
        drop(state);
        if let Err(error) = keep(&self.tables, ASKED, &asked) {
            // At worst a page is fetched once more.
            let so = "these pages may be fetched again";
            tracing::warn!(%error, "cannot store answered \"fetch now\" requests; {so}");
            self.state().answered += answered;
        }
    }

    /// The chosen formulas, newest last. The first is the one in force before any choice.
    pub fn chosen(&self) -> Vec<ChosenFormula> {
        self.state().chosen.to_vec()
    }

    /// Replaces the history of formulas by the newest [`MAX_CHOSEN`] of these.
    ///
    /// # Errors
    /// As [`Control::pause`].
    pub fn set_chosen(&self, mut chosen: Vec<ChosenFormula>) -> Result<(), Failure> {
        let _turn = self.turn();
        let more = chosen.len().saturating_sub(MAX_CHOSEN);
        chosen.drain(..more);
        self.write(CHOSEN, &chosen)?;
        self.state().chosen = Arc::new(chosen);
        Ok(())
    }
}

fn bytes<'u>(urls: impl IntoIterator<Item = &'u String>) -> usize {
    urls.into_iter().map(String::len).sum()
}

/// Stored URLs are canonical already.
fn parse(url: &str) -> Option<CanonicalUrl> {
    recrawl_types::UrlRules::keep_all().canonicalize(url).ok()
}

#[cfg(test)]
mod tests;

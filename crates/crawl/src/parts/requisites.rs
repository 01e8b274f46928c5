//! Requisites of pages (`[[pages]] requisites`): style sheets, images, scripts, fonts and frames, archived with the page.
//!
//! They are requests of the round, under the rules of pages, like those of a rendered page. They are no pages: no schedule
//! has them, and no figure of pages counts them. The pages of a round share them: each is asked for once, and not while it is
//! fresh as HTTP caches see it. A page passes on when its requisites were handed to the recorder, so their records
//! come before its visit. Without them the page is archived all the same.

mod capture;
mod figures;
mod rows;

pub use capture::{RecordSink, RequisiteRecord};
pub use figures::{RequisiteCounts, RequisiteFigures};
pub use rows::{remove_unnamed, resume};

use crate::admission::blocks::Blocks;
use crate::admission::loading::LoadRules;
use crate::admission::scope::Scope;
use crate::config::{Config, Consent, RequisitesTable};
use crate::failure::Failure;
use crate::operator::control::Control;
use crate::page_rules::PageRules;
use crate::part::{InTables, Takedown};
use capture::{AnswerRecord, RequisiteReader, kind_of_loaded};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use recrawl_archive::ArchiveReader;
use recrawl_archive::cap::Bodies;
use recrawl_extractor::Requisite;
use recrawl_fetcher::{FetchResult, FetchedPage, PageLoad, RequestOptions, Response, WallClock};
use recrawl_repository::storage::Storage;
use recrawl_repository::{RequisiteChange, RequisiteRow, SledTables};
use recrawl_types::{CanonicalUrl, DatedRound, Failure as FetchFailure, Origin, Outcome, Skip, UrlRules};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout_at};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Requests of a page at a time. Their hosts keep their delays; this bounds the bodies in memory.
const AT_A_TIME: usize = 4;
/// Pages that may wait for requisites; then no more like them are requested.
const MAX_WAITING: usize = 64;
/// The same of one host: a slow host of requisites must not keep the pages of other hosts waiting.
const MAX_WAITING_PER_HOST: usize = 4;
/// Requisites of a round at most, whatever the configuration says: each takes some 200 bytes during a round.
const MAX_PER_ROUND: u32 = 10_000_000;
/// Bytes of the URLs that style sheets and frames of a round name. Further ones name none.
const MAX_NAMED: usize = 64 << 20;
/// Time that a page waits for its requisites: a slow host must not take all places.
const MAX_WAIT: Duration = Duration::from_secs(300);

/// Checks `[requisites]`.
///
/// # Errors
/// The key, and what is wrong with it.
pub fn check(config: &Config) -> Result<(), String> {
    let RequisitesTable { max_per_page, max_per_round, max_body, .. } = &config.requisites;
    if *max_per_page == 0 || *max_per_round == 0 || max_body.0 == 0 {
        return Err(
            "requisites.max_per_page, requisites.max_per_round and requisites.max_body must not be 0".into(),
        );
    }
    if *max_per_round > MAX_PER_ROUND {
        return Err(format!("requisites.max_per_round must be at most {MAX_PER_ROUND}"));
    }
    if config.pages.iter().any(|rule| rule.requisites) && !config.storage.archive {
        return Err("[[pages]] requisites = true needs storage.archive = true, where they are kept".into());
    }
    Ok(())
}

/// Removes the rows of requisites that a takedown means. Their records go with those of pages.
///
/// # Errors
/// When the table cannot be read or written.
pub fn forget(takedown: &Takedown<'_>, removed: &mut InTables) -> Result<(), Failure> {
    let is_meant = |url: &CanonicalUrl| takedown.meant.matches_requisite(url, takedown.rules);
    removed.requisites += takedown.tables.forget_requisites(&is_meant, takedown.only_count)?;
    Ok(())
}

/// The parts of a crawl that requisites need.
pub struct RequisiteInputs<'c> {
    /// Which pages have them.
    pub pages: PageRules,
    /// The limits.
    pub table: RequisitesTable,
    /// Directives that are obeyed.
    pub consent: Consent,
    /// How pages are read.
    pub reading: recrawl_extractor::ExtractOptions,
    /// How URLs are read.
    pub urls: UrlRules,
    /// The URLs that may be requested.
    pub scope: &'c Scope,
    /// The decisions of operators.
    pub control: &'c Control,
    /// Where their rows are.
    pub tables: &'c SledTables,
    /// Where their records are.
    pub archive: Arc<dyn Storage>,
    /// Bytes of an archived page that are read.
    pub max_document: usize,
    /// The time.
    pub clock: WallClock,
    /// The round.
    pub round: DatedRound,
}

/// Which pages wait for requisites, for the fetcher.
pub struct WaitingPages {
    pages: PageRules,
    /// By hash of the host.
    waiting: Mutex<HashMap<u64, usize>>,
}

impl WaitingPages {
    /// Must this page not be requested yet?
    pub fn waits(&self, url: &CanonicalUrl) -> bool {
        let waiting = self.waiting();
        let of_host = waiting.get(&host(url)).copied().unwrap_or_default();
        let is_full = of_host >= MAX_WAITING_PER_HOST || waiting.values().sum::<usize>() >= MAX_WAITING;
        is_full && self.pages.rule_for(url).is_some_and(|rule| rule.requisites)
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, usize>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The requisites that one names, once it was asked for.
type NamedRequisites = Arc<OnceCell<Arc<[Requisite]>>>;

/// The requisites of one round.
pub struct Requisites<'c> {
    scope: &'c Scope,
    control: &'c Control,
    tables: &'c SledTables,
    table: RequisitesTable,
    round: DatedRound,
    clock: WallClock,
    waiting: Arc<WaitingPages>,
    reader: Arc<RequisiteReader>,
    /// The bodies that were archived before.
    bodies: Bodies,
    /// By hash of the URL, and of whether it may be at an inside address: pages differ in that.
    known: Mutex<HashMap<u64, NamedRequisites>>,
    /// Bytes of the URLs in `known`.
    named: AtomicUsize,
    counts: Arc<RequisiteCounts>,
    sink: RecordSink,
}

/// A page that waits, and counts as such.
pub struct RequisiteWait(Arc<WaitingPages>, u64);

impl Drop for RequisiteWait {
    fn drop(&mut self) {
        let mut waiting = self.0.waiting();
        if let Some(pages) = waiting.get_mut(&self.1) {
            *pages -= 1;
        }
        waiting.retain(|_, pages| *pages > 0);
    }
}

fn host(url: &CanonicalUrl) -> u64 {
    xxh3_64(url.host().as_bytes())
}

impl<'c> Requisites<'c> {
    /// Of the next round; none if no rule asks for any.
    ///
    /// # Errors
    /// When the archive cannot be listed.
    pub fn of_round(
        inputs: RequisiteInputs<'c>,
        sink: RecordSink,
    ) -> Result<Option<Requisites<'c>>, Failure> {
        let RequisiteInputs {
            pages,
            table,
            consent,
            reading,
            urls,
            scope,
            control,
            tables,
            archive,
            max_document,
            clock,
            round,
        } = inputs;
        if !pages.need_requisites() {
            return Ok(None);
        }
        let bodies = Bodies::in_storage(&*archive)?;
        let archive = ArchiveReader::open(archive)?;
        let (max_fresh, max_named) = (table.max_fresh.0, table.max_per_page as usize);
        let (max_body, max_document) = (table.max_body.0, max_document as u64);
        let reader = RequisiteReader {
            archive,
            consent,
            reading,
            urls,
            max_body,
            max_document,
            max_fresh,
            max_named,
            round: round.round,
        };
        Ok(Some(Requisites {
            scope,
            control,
            tables,
            table,
            round,
            clock,
            waiting: Arc::new(WaitingPages { pages, waiting: Mutex::default() }),
            reader: Arc::new(reader),
            bodies,
            known: Mutex::default(),
            named: AtomicUsize::new(0),
            counts: Arc::default(),
            sink,
        }))
    }

    /// For the fetcher.
    pub fn waiting_pages(&self) -> Arc<WaitingPages> {
        self.waiting.clone()
    }

    /// For the report, also of what comes later.
    pub fn counts(&self) -> Arc<RequisiteCounts> {
        self.counts.clone()
    }

    /// Counts a page as waiting, if requisites of it are archived.
    pub fn begin(&self, page: &FetchedPage) -> Option<RequisiteWait> {
        let rule = self.waiting.pages.rule_for(&page.entry.url);
        rule.filter(|rule| rule.requisites && response_of(page).is_some())?;
        let host = host(&page.entry.url);
        *self.waiting.waiting().entry(host).or_default() += 1;
        Some(RequisiteWait(self.waiting.clone(), host))
    }

    /// Archives the requisites of a page, then passes it on. What a browser `loaded` for it is kept as it was answered; what
    /// it was refused is asked for.
    pub async fn load(
        &self,
        page: FetchedPage,
        waiting: RequisiteWait,
        load: PageLoad,
        (loaded, refused): (Vec<(CanonicalUrl, FetchResult)>, Vec<Requisite>),
    ) -> FetchedPage {
        let Some(response) = response_of(&page) else { return page };
        let url = &page.entry.url;
        let (reader, own, sent, at) = (self.reader.clone(), url.clone(), response.clone(), page.at);
        // A server that confirms a page sends no body: the archived one names its requisites.
        let is_same = matches!(page.result, FetchResult::NotModified(_));
        let last = page.entry.record.visited.as_ref().map(|visited| &visited.content);
        // The header of a 304 may forbid the archive from now on.
        let last = last.filter(|last| self.reader.admits(response, &last.consent, url, page.at));
        let last = last.and_then(|last| last.archive).filter(|position| self.bodies.has(*position));
        let found = tokio::task::spawn_blocking(move || match is_same {
            true => last.map(|position| reader.of_archived(&own, position)).unwrap_or_default(),
            false => reader.of_page(&own, &sent, at),
        });
        let found = found.await;
        let found = found.inspect_err(|e| tracing::error!(%url, "its requisites were not read: {e}"));
        let found = found.unwrap_or_default();
        self.counts.left_out.fetch_add(found.left_out as u64, Relaxed);
        let rules = LoadRules::new(url, response, self.scope);
        if found.is_archived {
            for (url, result) in loaded {
                self.keep(url, result, &rules).await;
            }
        }
        let blocks = self.control.blocks();
        let mut wanted = VecDeque::from(found.requisites);
        wanted.extend(refused.into_iter().filter(|_| found.is_archived));
        let (mut seen, mut asked) = (HashSet::new(), FuturesUnordered::new());
        let until = Instant::now() + MAX_WAIT;
        loop {
            while asked.len() < AT_A_TIME
                && let Some(next) = wanted.pop_front()
            {
                if seen.contains(&next.url) {
                    continue;
                }
                if seen.len() == self.table.max_per_page as usize {
                    self.counts.left_out.fetch_add(1, Relaxed);
                    continue;
                }
                seen.insert(next.url.clone());
                asked.push(self.one(next, url, &rules, &blocks, &load));
            }
            match timeout_at(until, asked.next()).await {
                Ok(Some(children)) => wanted.extend(children.iter().cloned()),
                Ok(None) => break,
                Err(_) => {
                    self.counts.left_out.fetch_add((asked.len() + wanted.len()) as u64, Relaxed);
                    break;
                }
            }
        }
        drop((asked, waiting));
        page
    }

    /// The place of a requisite in this round; none beyond its limit.
    fn cell(&self, url: &CanonicalUrl, is_public_only: bool) -> Option<NamedRequisites> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = known.len() >= self.table.max_per_round as usize;
        match known.entry(xxh3_64_with_seed(url.key(), is_public_only.into())) {
            Entry::Vacant(_) if is_full => {
                self.counts.left_out.fetch_add(1, Relaxed);
                None
            }
            entry => Some(entry.or_default().clone()),
        }
    }

    /// Is it not asked for? It was in this round, a browser would not ask again, or it failed not long ago.
    fn rests(&self, row: &RequisiteRow) -> bool {
        let is_fresh = row.round == self.round.round || row.fresh_until > (self.clock)();
        is_fresh && row.is_archived() || !row.is_due(self.round.cycle)
    }

    /// The row of a requisite; an empty one if there is none.
    fn row(&self, url: &CanonicalUrl) -> RequisiteRow {
        let row = self.tables.requisite(url).unwrap_or_else(|e| {
            tracing::error!(%url, "asked for as if it were new: {e}");
            None
        });
        let row = row.unwrap_or_default();
        match self.bodies.has(row.archive) {
            true => row,
            // A body whose file was removed is archived again.
            false => RequisiteRow { failures: row.failures, failed_in: row.failed_in, ..Default::default() },
        }
    }

    /// Archives what a browser loaded, unless this round has.
    async fn keep(&self, url: CanonicalUrl, result: FetchResult, rules: &LoadRules<'_>) {
        let requisite = Requisite { kind: kind_of_loaded(&result), url };
        let Some(cell) = self.cell(&requisite.url, rules.is_public_only(&requisite.url)) else { return };
        let recorded = || async {
            self.counts.count(&result);
            let row = self.row(&requisite.url);
            self.bounded(self.record(requisite, row, result).await)
        };
        cell.get_or_init(recorded).await;
    }

    /// Archives a requisite unless that was done; returns what it names in turn.
    async fn one(
        &self,
        requisite: Requisite,
        page: &CanonicalUrl,
        rules: &LoadRules<'_>,
        blocks: &Blocks,
        load: &PageLoad,
    ) -> Arc<[Requisite]> {
        if rules.refuse(&requisite.url, blocks) {
            self.counts.refused.fetch_add(1, Relaxed);
            return Arc::default();
        }
        let row = self.row(&requisite.url);
        let names_more = requisite.kind.names_more();
        // Most are fresh, and need no place.
        if !names_more && self.rests(&row) {
            return Arc::default();
        }
        let is_public_only = rules.is_public_only(&requisite.url);
        let Some(cell) = self.cell(&requisite.url, is_public_only) else { return Arc::default() };
        let manner = RequestOptions {
            is_anonymous: Origin::from_url(&requisite.url) != Origin::from_url(page),
            is_public_only,
            max_body: Some(self.table.max_body.0 as usize),
            ..RequestOptions::default()
        };
        let asked = || async { self.bounded(self.ask(requisite, row, manner, load).await) };
        cell.get_or_init(asked).await.clone()
    }

    /// These, while there is room for their URLs until the round ends.
    fn bounded(&self, named: Arc<[Requisite]>) -> Arc<[Requisite]> {
        let bytes: usize = named.iter().map(|requisite| requisite.url.key().len() + 64).sum();
        if self.named.fetch_add(bytes, Relaxed) + bytes <= MAX_NAMED {
            return named;
        }
        self.named.fetch_sub(bytes, Relaxed);
        self.counts.left_out.fetch_add(named.len() as u64, Relaxed);
        Arc::default()
    }

    async fn ask(
        &self,
        requisite: Requisite,
        row: RequisiteRow,
        manner: RequestOptions,
        load: &PageLoad,
    ) -> Arc<[Requisite]> {
        let url = &requisite.url;
        if self.rests(&row) {
            return self.named_by(requisite, row).await;
        }
        let validators = row.validators.clone();
        let asked = load.ask(url.clone(), RequestOptions { validators, ..manner }).await;
        let answer = match asked {
            Some(asked) => asked.answer().await,
            None => None,
        };
        let Some(result) = answer else {
            self.counts.left_out.fetch_add(1, Relaxed);
            return Arc::default();
        };
        self.counts.count(&result);
        if let FetchResult::NotModified(response) = &result
            && row.is_archived()
        {
            if !self.reader.admits(response, &Default::default(), url, (self.clock)()) {
                return self.withdraw(url, row).await;
            }
            let change = self.reader.renewed(row.clone(), response, (self.clock)());
            self.hand_on(RequisiteRecord { url: url.clone(), member: None, change }).await;
            return self.named_by(requisite, row).await;
        }
        self.record(requisite, row, result).await
    }

    /// Makes the record of an answer, and hands it on.
    async fn record(&self, requisite: Requisite, row: RequisiteRow, result: FetchResult) -> Arc<[Requisite]> {
        let has_failed = result_failed(&result);
        let (reader, at, url) = (self.reader.clone(), (self.clock)(), requisite.url.clone());
        let before = Some(row.clone()).filter(RequisiteRow::is_archived);
        let read = tokio::task::spawn_blocking(move || reader.answered(&requisite, before, result, at)).await;
        let answer = read.unwrap_or_else(|e| {
            tracing::error!("a requisite was not archived: {e}");
            AnswerRecord::Nothing
        });
        match answer {
            AnswerRecord::Record(record, named) => {
                self.counts.recorded(&record);
                self.hand_on(*record).await;
                return named;
            }
            AnswerRecord::Withdrawn => {
                self.counts.refused.fetch_add(1, Relaxed);
                return self.withdraw(&url, row).await;
            }
            AnswerRecord::Refused => _ = self.counts.refused.fetch_add(1, Relaxed),
            AnswerRecord::Nothing if has_failed => {}
            AnswerRecord::Nothing => return Arc::default(),
        }
        self.hand_on(RequisiteRecord { url, member: None, change: RequisiteChange::Failed(self.round) })
            .await;
        Arc::default()
    }

    /// Forgets the captures of a requisite that must not be archived any more: without its row nothing shows them.
    async fn withdraw(&self, url: &CanonicalUrl, row: RequisiteRow) -> Arc<[Requisite]> {
        if let Err(e) = self.tables.forget_requisite(url) {
            tracing::error!(%url, "its archived copies are still shown: {e}");
        }
        let RequisiteRow { failures, failed_in, .. } = row;
        let row = RequisiteRow { failures, failed_in, ..RequisiteRow::default() };
        let change = RequisiteChange::Replaced(row.failed(self.round.cycle));
        self.hand_on(RequisiteRecord { url: url.clone(), member: None, change }).await;
        Arc::default()
    }

    /// Hands a record to the recorder, for whom it waits.
    async fn hand_on(&self, record: RequisiteRecord) {
        let sink = self.sink.clone();
        let handed = tokio::task::spawn_blocking(move || sink(record)).await;
        handed.unwrap_or_else(|e| tracing::error!("a requisite was not recorded: {e}"));
    }

    /// The requisites that an archived one names.
    async fn named_by(&self, requisite: Requisite, row: RequisiteRow) -> Arc<[Requisite]> {
        let reader = self.reader.clone();
        let read = tokio::task::spawn_blocking(move || reader.named_by(&requisite, &row));
        read.await.unwrap_or_default()
    }
}

/// The response of a page that was sent or confirmed.
fn response_of(page: &FetchedPage) -> Option<&Response> {
    match &page.result {
        FetchResult::Page(response) | FetchResult::NotModified(response) => Some(response),
        FetchResult::Redirect { .. } | FetchResult::Nothing(_) => None,
    }
}

/// Did a server answer with an error, or not at all?
fn result_failed(result: &FetchResult) -> bool {
    match result {
        FetchResult::Nothing(outcome) => has_failed(*outcome),
        FetchResult::Page(response) => response.status >= 400,
        FetchResult::NotModified(_) | FetchResult::Redirect { .. } => false,
    }
}

/// Was a requisite left out for now by our own limits, and not by its server?
fn is_left_out(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Skipped(Skip::HostBackOff | Skip::ByteBudget | Skip::Deadline)
            | Outcome::RobotsUnreachable(_)
    )
}

/// Did its server answer with an error, or not at all?
fn has_failed(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::NotFound(_) | Outcome::Failed(_))
        && outcome != Outcome::Failed(FetchFailure::Render)
}

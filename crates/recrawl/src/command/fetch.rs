//! `recrawl fetch URL`: a page now, by the running daemon or by a short crawl of this command.

use super::control::tell;
use super::{print_json, print_labelled};
use crate::action::{failure, recrawl, seeds, waiting};
use crate::audit::{self, COMMAND_LINE};
use crate::cli::FetchArgs;
use crate::daemon::{Daemon, ReadsApi, encoded};
use crate::fleet;
use crate::process;
use crate::report::explain;
use recrawl_console::view::{Accepted, Change, Effect, WaitingPage};
use recrawl_crawl::clock::RoundToRun;
use recrawl_crawl::crawl::Crawl;
use recrawl_crawl::cycle::{self, RoundEnd};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::operator::control::Mark;
use recrawl_crawl::output::page_history::PageHistory;
use recrawl_crawl::round::RoundKind;
use recrawl_crawl::settings::Settings;
use recrawl_fetcher::system_clock;
use recrawl_terminal::logging;
use recrawl_types::{CanonicalUrl, Outcome, OutcomeEffect, PageRecord};
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;
use tracing::Level;

/// Interval of looks at a daemon that fetches the page.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Rounds that this command runs at most: one that was interrupted comes first.
const MAX_ROUNDS: u32 = 3;

pub fn run(args: &FetchArgs) -> Result<(), Failure> {
    let settings = args.on.at.settings()?;
    let url = open_read::named_page(&settings, &args.url)?;
    if args.wait {
        // Without a wait a daemon sends it on.
        fleet::refuse_foreign(&settings.data_dir, &url)?;
    }
    let fetched = match Daemon::in_charge(&settings.data_dir)? {
        Some(daemon) if args.wait => fetched_by(&daemon, &url)?,
        Some(daemon) => return tell(&ask(&daemon, &url)?, args.on.json),
        None => fetched_here(settings, &url)?,
    };
    let FetchedNow { came, why } = &fetched;
    match args.on.json {
        true => print_json(&json!({
            "url": url.to_string(), "outcome": came.name(), "detail": came.words(), "reason": why,
        }))?,
        false => print_labelled(format!("{url}: {}", came.words()))?,
    }
    fetched.checked(&url)
}

/// Counts of a page that tell one visit from the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct VisitCounts {
    visits: u64,
    changes: u64,
    failures: u64,
    not_found: u64,
}

impl VisitCounts {
    /// `page` is that of `recrawl explain --json`; null for an unknown one.
    fn of_document(page: &Value) -> VisitCounts {
        let count = |key: &str| page[key].as_u64().unwrap_or_default();
        // The first fetch is no comparison.
        let visits = count("n") + u64::from(page["n"].is_u64());
        VisitCounts {
            visits,
            changes: count("X"),
            failures: count("failures"),
            not_found: count("not_found"),
        }
    }

    fn of_record(record: &PageRecord) -> VisitCounts {
        let history = record.visited.as_ref().map(|visited| visited.history);
        VisitCounts {
            visits: history.map_or(0, |history| u64::from(history.visits) + 1),
            changes: history.map_or(0, |history| history.changes.into()),
            failures: record.known.failures.into(),
            not_found: record.known.not_found.into(),
        }
    }
}

/// The result of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    First,
    Changed,
    Unchanged,
    NotFound,
    Failed,
    /// No request for the page was made.
    Skipped,
}

/// The same, and why the page was not got, if that is kept.
struct FetchedNow {
    came: Came,
    why: Option<String>,
}

impl FetchedNow {
    /// Fails if the page was not got.
    ///
    /// # Errors
    /// Why.
    fn checked(&self, url: &CanonicalUrl) -> Result<(), Failure> {
        if self.came.is_fetched() {
            return Ok(());
        }
        let why = self.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        Err(Failure::Work(format!("{url} was not fetched{why}; see `recrawl explain {url}`")))
    }
}

impl Came {
    /// `outcome` is the name of that of a new visit, if it is kept: a page that was never fetched counts one failure a cycle.
    fn between(before: VisitCounts, after: VisitCounts, outcome: Option<&str>) -> Came {
        let is_failure =
            |of: &Outcome| matches!(of.effect(), OutcomeEffect::Absence | OutcomeEffect::Failure);
        let has_failed = |name| Outcome::all(404).iter().any(|of| of.name() == name && is_failure(of));
        match () {
            () if after.visits > before.visits && before.visits == 0 => Came::First,
            () if after.changes > before.changes => Came::Changed,
            () if after.visits > before.visits => Came::Unchanged,
            () if after.not_found > before.not_found => Came::NotFound,
            () if after.failures > before.failures || outcome.is_some_and(has_failed) => Came::Failed,
            () => Came::Skipped,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Came::First => "first",
            Came::Changed => "changed",
            Came::Unchanged => "unchanged",
            Came::NotFound => "not_found",
            Came::Failed => "failed",
            Came::Skipped => "skipped",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Came::First => "fetched for the first time",
            Came::Changed => "fetched, changed since the last visit",
            Came::Unchanged => "fetched, unchanged since the last visit",
            Came::NotFound => "the server has no such page",
            Came::Failed => "not fetched",
            Came::Skipped => "not requested",
        }
    }

    fn is_fetched(self) -> bool {
        matches!(self, Came::First | Came::Changed | Came::Unchanged)
    }
}

/// Asks a daemon for the page; an unknown one becomes a seed.
fn ask(daemon: &Daemon, url: &CanonicalUrl) -> Result<Accepted, Failure> {
    let url = url.to_string();
    match daemon.json(&document_at(&url))? {
        Some(_) => daemon.make(&Change::Recrawl { url }),
        None => daemon.make(&Change::AddSeeds { urls: vec![url] }),
    }
}

fn document_at(url: &str) -> String {
    format!("/api/v1/page?url={}", encoded(url))
}

/// The same, and waits until a round that had the page is committed. Says on standard error why it waits, each time that
/// this changes.
fn fetched_by(daemon: &Daemon, url: &CanonicalUrl) -> Result<FetchedNow, Failure> {
    let at = document_at(&url.to_string());
    let visits = || {
        let document = daemon.json(&at)?.unwrap_or_default();
        Ok::<_, Failure>((VisitCounts::of_document(&document["page"]), document["visits"].clone()))
    };
    let state = || Ok::<_, Failure>(daemon.json("/api/v1/status")?.unwrap_or_default());
    let (before, kept_before) = visits()?;
    ask(daemon, url)?;
    let mut told = None;
    loop {
        // In this order: an answer leaves the queue before its round is committed.
        let controls = daemon.json("/api/v1/controls")?.unwrap_or_default();
        let is_answered = controls["seeds_waiting"] == 0 && controls["recrawls_waiting"] == 0;
        let is_idle = state()?["cycle"].is_null();
        let (after, kept) = visits()?;
        let last = kept.as_array().filter(|_| kept != kept_before).and_then(|kept| kept.last());
        let why = last.and_then(|last| last["reason"].as_str().map(str::to_owned));
        if after != before || is_answered && is_idle {
            let outcome = last.and_then(|last| last["outcome"].as_str());
            return Ok(FetchedNow { came: Came::between(before, after, outcome), why });
        }
        let waits = why_waiting(&controls, url)?.or(why);
        if let Some(why) = waits.filter(|waits| told.as_ref() != Some(waits)) {
            let end = if told.is_none() { " (to wait no longer, press Ctrl-C: it stays queued)" } else { "" };
            logging::say(Level::INFO, &format!("{url} waits: {why}{end}"));
            told = Some(why);
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Why the page cannot be requested yet, by the document of `/api/v1/controls`.
fn why_waiting(controls: &Value, url: &CanonicalUrl) -> Result<Option<String>, Failure> {
    // A daemon of an earlier release says nothing of it.
    let Some(waiting) = controls.get("waiting") else { return Ok(None) };
    let pages: Vec<WaitingPage> = serde_json::from_value(waiting.clone()).map_err(Failure::work)?;
    let url = url.to_string();
    Ok(pages.iter().find(|page| page.url == url).map(waiting::words))
}

/// Runs rounds of the urgent pages until the page was visited.
fn fetched_here(settings: Settings, url: &CanonicalUrl) -> Result<FetchedNow, Failure> {
    let data_dir = settings.data_dir.clone();
    let begin_with = match recrawl_crawl::data_dir::is_begun(&data_dir) {
        true => Vec::new(),
        false => vec![url.clone()],
    };
    let text = [url.to_string()];
    // Before anything is created: a URL that may not be fetched must leave no data directory.
    seeds::admitted(&settings, &text).map_err(failure)?;
    let mut crawl =
        Crawl::open(settings, &begin_with, 0, process::of_crawl(process::stopped_by_signals()?)?)?;
    // Nothing is queued: this command would end long before the page's turn.
    let now = system_clock()();
    let decided = crawl.control.decided();
    if let Some(page) = waiting::reason(&decided, &crawl.settings, &crawl.tables, url, now, None)? {
        return Ok(FetchedNow { came: Came::Skipped, why: Some(waiting::words(&page)) });
    }
    let visits = |crawl: &Crawl| {
        let known = crawl.repository.current().get(url).map_err(Failure::work)?;
        Ok::<_, Failure>(known.map(|(_, record)| VisitCounts::of_record(&record)))
    };
    let kept = |crawl: &Crawl| PageHistory::read(&crawl.repository.kept(), url);
    let (known, kept_before) = (visits(&crawl)?, kept(&crawl)?);
    // As a change in the console: the log of changes tells who asked for the page.
    let change = Change::Recrawl { url: text[0].clone() };
    audit::logged(&data_dir, &change, || {
        let detail = queue(&crawl, url, known.is_some())?;
        Ok(((), Accepted { did: Effect::NextRound, detail }))
    })?;
    let before = known.unwrap_or_default();
    // This process ends behind its rounds, so no later one could take over their requests.
    crawl.may_leave_requests = false;
    for _ in 0..MAX_ROUNDS {
        let urgent = RoundToRun { kind: RoundKind::Urgent, begins_cycle: false };
        // A round in progress comes first. Without one, nothing but the page is due.
        let next = match (crawl.begun()?, crawl.so_far.started) {
            (None, Some(_)) => urgent,
            _ => crawl.next_round(false, true)?.unwrap_or(urgent),
        };
        let waiting = crawl.control.seeds();
        crawl.admit(&waiting)?;
        match cycle::round(&mut crawl, next, &waiting)? {
            RoundEnd::Interrupted => {
                return Err(Failure::Work("stopped; the next start resumes this round".into()));
            }
            RoundEnd::NothingDue => break,
            RoundEnd::Committed(_) => crawl.control.forget_seeds(&waiting)?,
        }
        if visits(&crawl)?.unwrap_or_default() != before {
            break;
        }
    }
    let kept = kept(&crawl)?;
    let last = kept.visits.last().filter(|_| kept != kept_before).map(|(_, visit)| visit.outcome);
    let after = visits(&crawl)?.unwrap_or_default();
    let came = Came::between(before, after, last.map(Outcome::name));
    Ok(FetchedNow { came, why: last.and_then(explain::reason) })
}

/// Queues the page for the next round of this process.
fn queue(crawl: &Crawl, url: &CanonicalUrl, is_known: bool) -> Result<String, Failure> {
    let generation = crawl.repository.current();
    if !is_known {
        let urls = [url.to_string()];
        let queued = seeds::queue(&crawl.control, &crawl.settings, &generation, &urls, "visited now");
        return Ok(queued.map_err(failure)?.0.detail);
    }
    let now = system_clock()();
    let text = url.to_string();
    recrawl::asked(&crawl.control, &crawl.settings, &generation, &crawl.tables, &text, now)
        .map_err(failure)?;
    crawl.control.ask(url, Mark { who: COMMAND_LINE.into(), at: now })?;
    Ok(format!("{url} is fetched now"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_of_a_visit_shows_in_its_counts() {
        let counts =
            |visits, changes, failures, not_found| VisitCounts { visits, changes, failures, not_found };
        let before = counts(3, 1, 2, 1);
        for (before, after, came) in [
            (counts(0, 0, 0, 0), counts(1, 0, 0, 0), Came::First),
            (before, counts(4, 2, 0, 0), Came::Changed),
            (before, counts(4, 1, 0, 0), Came::Unchanged),
            (before, counts(3, 1, 3, 2), Came::NotFound),
            (before, counts(3, 1, 3, 1), Came::Failed),
            (before, before, Came::Skipped),
        ] {
            assert_eq!(Came::between(before, after, None), came);
        }
        for (outcome, came) in
            [("refused_address", Came::Failed), ("not_found", Came::Failed), ("skipped", Came::Skipped)]
        {
            assert_eq!(Came::between(before, before, Some(outcome)), came, "{outcome}");
        }
        let page = json!({"n": 2, "X": 1, "failures": 0, "not_found": 0});
        assert_eq!(VisitCounts::of_document(&page), counts(3, 1, 0, 0));
        assert_eq!(VisitCounts::of_document(&json!({"n": null, "failures": 2})), counts(0, 0, 2, 0));
        assert_eq!(VisitCounts::of_document(&Value::Null), VisitCounts::default());
    }
}

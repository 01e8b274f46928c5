//! `recrawl crawl`: runs cycles, round by round.

mod nothing_due;

use super::{table, thousands};
use crate::action::seeds::KNOWN;
use crate::cli::{CrawlArgs, UntilArg};
use crate::fleet;
use crate::process;
use crate::process::open_files;
use crate::process::stdout::Printed;
use recrawl_archive::timestamp;
use recrawl_crawl::clock::RoundToRun;
use recrawl_crawl::crawl::Crawl;
use recrawl_crawl::cycle::plan::promised;
use recrawl_crawl::cycle::{self, RoundEnd};
use recrawl_crawl::data_dir;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::labels;
use recrawl_crawl::operator::control::Mark;
use recrawl_crawl::output::events::Events;
use recrawl_crawl::report::{RoundReport, Tally};
use recrawl_crawl::round::RoundKind;
use recrawl_crawl::settings::{Settings, formula_file};
use recrawl_terminal::{colour, logging};
use recrawl_types::{CanonicalUrl, PageStatus, Span};
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;
use tracing::Level;

pub fn run(args: &CrawlArgs) -> Result<(), Failure> {
    let mut settings = args.at.settings()?;
    fleet::refuse_partition(&settings.data_dir)?;
    process::start_log(&settings.config.log, "warn")?;
    // A formula that is given ranks, whatever policy the configuration names.
    if let Some(text) = &args.formula {
        let formula = formula_file::find(text).map_err(|e| Failure::Usage(format!("--formula: {e}")))?;
        settings.use_formula(formula);
        settings.files.push(text.into());
    }
    settings.use_contact(args.contact.as_deref())?;
    if args.until == Some(UntilArg::Filled) && !settings.config.cycle.fill {
        return Err(Failure::Usage("--until filled needs cycle.fill = true".into()));
    }
    if args.json && args.events.as_deref() == Some(Path::new("-")) {
        let text = "--json and --events - both print to standard output; give --events a file";
        return Err(Failure::Usage(text.into()));
    }
    settings.files.extend([&args.seeds.file, &args.events].into_iter().flatten().cloned());
    // Before the crawl opens a file: each connection will need a descriptor.
    open_files::make_room(&mut settings, 0)?;
    let seeds = args.seeds.read(&settings.rules)?;
    // The tables of an existing crawl may have seeds that were sent to the console.
    if seeds.is_empty() && !data_dir::is_begun(&settings.data_dir) {
        let text = "no seeds: name a URL, such as `recrawl crawl https://example.com`, pass --seeds FILE, or the --data-dir of an \
                    existing crawl";
        return Err(Failure::Usage(text.into()));
    }
    tell_where(args, &settings);
    let mut crawl =
        Crawl::open(settings, &seeds, args.random_seed, process::of_crawl(process::stopped_by_signals()?)?)?;
    promised::check(&crawl)?;
    // A pause is an operator's decision, which starting the command does not end.
    if let Some(Mark { who, at }) = crawl.control.paused() {
        let text = format!(
            "{who} paused this crawl at {}; resume it in the console of `recrawl serve`",
            timestamp(at)
        );
        return Err(Failure::Usage(text));
    }
    tell_known(args, &crawl, &seeds)?;
    let mut events =
        args.events.as_deref().map(|at| Events::open(at, &crawl, process::printer(&crawl))).transpose()?;
    let mut printed = Printed::new(crawl.shutdown.token().clone());
    let mut visits = RunVisits { seed: seeds.first(), ..RunVisits::default() };
    let is_until_filled = args.until == Some(UntilArg::Filled);
    let (mut rounds, mut cycles, mut is_in_cycle, mut told) = (0, 0, false, 0);
    let resumes_cycle = resumes_cycle(&crawl)?;
    // Did a round fetch anything since the last wait for a host?
    let mut has_moved = true;
    let mut has_news = is_until_filled && !seeds.is_empty();
    loop {
        // A signal may have come while the crawl was opened.
        if crawl.shutdown.requested() {
            if rounds == 0 {
                tracing::info!("stopped before a round began; pass the seeds again");
            }
            return Ok(());
        }
        let rhythm_at = crawl.keep_rhythm()?;
        let next = crawl.next_round(left_of_period(&crawl).is_zero(), has_news)?;
        if is_until_filled && next.is_none() {
            // A host may only have asked to wait a while.
            let Some(until) = crawl.stalled_until()?.filter(|_| has_moved) else {
                return visits.filled(&crawl, rounds);
            };
            has_moved = false;
            let left = Duration::from_millis(until.saturating_sub((crawl.clock)()));
            if crawl.shutdown.wait(left.min(left_of_period(&crawl))) {
                return Ok(());
            }
            crawl.stir();
            continue;
        }
        if is_in_cycle && next.is_none_or(|next| next.begins_cycle) {
            (cycles, is_in_cycle) = (cycles + 1, false);
            if args.cycles.is_some_and(|most| cycles >= most) {
                return visits.outcome(&crawl);
            }
        }
        if next.is_none() && cycles > 0 && args.cycles.is_none() {
            let stalled = [crawl.stalled_until()?, rhythm_at].into_iter().flatten().min();
            let stalled = stalled.map(|until| until.saturating_sub((crawl.clock)()));
            let left = left_of_period(&crawl);
            if told != cycles {
                told = cycles;
                tell_wait(args, &crawl, left);
            }
            if crawl.shutdown.wait(stalled.map_or(left, |stalled| left.min(Duration::from_millis(stalled)))) {
                return Ok(());
            }
            continue;
        }
        // The cycle that begins now takes the seeds that wait.
        let is_alone = rounds == 0 && !crawl.settings.config.cycle.fill;
        let next = next.filter(|next| !(is_alone && next.kind == RoundKind::Urgent));
        let next = next.unwrap_or(RoundToRun::OF_NEXT_CYCLE);
        let waiting = crawl.control.seeds();
        crawl.admit(&waiting)?;
        // After the last round of this process, nobody would take over its requests.
        crawl.may_leave_requests = args.rounds.is_none_or(|most| rounds + 1 < most);
        match cycle::round(&mut crawl, next, &[&seeds[..], &waiting].concat())? {
            RoundEnd::Interrupted => {
                tracing::info!("stopped; the next start resumes this round");
                return Ok(());
            }
            RoundEnd::NothingDue => {
                has_news = false;
                crawl.control.forget_seeds(&waiting)?;
            }
            RoundEnd::Committed(report) => {
                has_news = false;
                has_moved |= report.tally.fetched > 0;
                report.log();
                // After the commit, so that a crash loses none.
                crawl.control.forget_seeds(&waiting)?;
                events.as_mut().map_or(Ok(()), |events| events.follow(&crawl))?;
                if events.as_ref().is_none_or(|events| !events.are_printed()) {
                    visits.is_explained |= publish(&report, rounds, args.json, &crawl, &mut printed)?;
                }
                is_in_cycle |= report.kind == RoundKind::Revisit || resumes_cycle && cycles == 0;
                rounds += 1;
                visits.tally += &report.tally;
                if args.rounds.is_some_and(|most| rounds >= most) {
                    return visits.outcome(&crawl);
                }
            }
        }
    }
}

/// A run until the crawl is filled had no round.
const NOTHING_LEFT: &str = "nothing left to fill: each known page was tried; `recrawl crawl --cycles 1` visits the best \
                            again, and `recrawl add URL` adds pages";

/// Did an earlier process leave its cycle unfinished? Then the first cycle that this one ends is that. An urgent round
/// says nothing: it may come after the rest of a cycle.
fn resumes_cycle(crawl: &Crawl) -> Result<bool, Failure> {
    let is_begun = crawl.begun()?.is_some_and(|begun| begun.kind != RoundKind::Urgent);
    Ok(is_begun || crawl.so_far.has_rest())
}

/// Tells a person which files the crawl uses.
fn tell_where(args: &CrawlArgs, settings: &Settings) {
    if args.json || !std::io::stderr().is_terminal() {
        return;
    }
    if let Some(file) = args.at.config.found() {
        eprintln!("configuration: {}", file.display());
    }
    eprintln!("data directory: {}", settings.data_dir.display());
}

/// Tells a person which of the URLs that were named are no news.
fn tell_known(args: &CrawlArgs, crawl: &Crawl, seeds: &[CanonicalUrl]) -> Result<(), Failure> {
    // A file of seeds is given again as a habit.
    if args.seeds.file.is_some() || args.json {
        return Ok(());
    }
    let generation = crawl.repository.current();
    let mut known = Vec::new();
    for url in seeds {
        // Any other page is tried anyway.
        let page = generation
            .get(url)?
            .filter(|(_, page)| page.visited.is_some() && page.known.status != PageStatus::Gone);
        known.extend(page.map(|_| url.to_string()));
    }
    if !known.is_empty() {
        logging::say(Level::INFO, &format!("already visited: {}; {KNOWN}", labels::some_of(&known)));
    }
    Ok(())
}

/// Tells a person that nothing is left to do before the next cycle.
fn tell_wait(args: &CrawlArgs, crawl: &Crawl, left: Duration) {
    if !args.json && std::io::stderr().is_terminal() {
        let next = timestamp((crawl.clock)().saturating_add(left.as_millis() as u64));
        eprintln!(
            "this cycle is done, and the next one begins at {next}; Ctrl-C ends, --cycles 1 does not wait"
        );
    }
}

/// The visits of a run. It has failed if it fetched nothing: the configuration keeps the crawl from its hosts,
/// or a new crawl got none of its seeds.
#[derive(Default)]
struct RunVisits<'a> {
    seed: Option<&'a CanonicalUrl>,
    tally: Tally,
    /// Is it printed why a round fetched nothing?
    is_explained: bool,
}

impl RunVisits<'_> {
    /// The outcome of a run until nothing was left to fill.
    fn filled(&self, crawl: &Crawl, rounds: u32) -> Result<(), Failure> {
        self.outcome(crawl)?;
        if rounds == 0 {
            logging::say(Level::INFO, NOTHING_LEFT);
        }
        Ok(())
    }

    fn outcome(&self, crawl: &Crawl) -> Result<(), Failure> {
        let RunVisits { seed, tally, is_explained } = self;
        let visits = tally.fetched + tally.all_failed() + tally.all_skipped();
        let is_all_refused = tally.refused > 0 && tally.refused == visits;
        let has_nothing = crawl.repository.current().summary().visited == 0;
        if visits == 0
            && has_nothing
            && let Some(why) = nothing_due::why(crawl, *seed)?
        {
            return Err(Failure::Work(format!("nothing was fetched: {why}")));
        }
        if !is_all_refused && (visits == 0 || !has_nothing) {
            if let Some(failed) = crawl.live.errors().failed() {
                tracing::warn!("{failed}");
            }
            return Ok(());
        }
        Err(Failure::Work(if *is_explained {
            "nothing was fetched; the reasons are printed below the rounds".into()
        } else {
            crawl.live.errors().why_nothing()
        }))
    }
}

/// Time until `cycle.period` after the start of the current cycle is over: the length of a cycle does not
/// delay the next one. If the clock is set back, one period at most.
fn left_of_period(crawl: &Crawl) -> Duration {
    let period = crawl.settings.config.cycle.period.0;
    let Some(started) = crawl.so_far.started else { return Duration::ZERO };
    period.saturating_sub(crawl.since(started))
}

/// The columns of [`row`].
const HEADING: &str = "cycle  round    scheduled  fetched    new  changed  change rate  failed    skipped  \
                       new links      known  seconds";
/// The columns of [`narrow_row`], for a terminal that is too narrow for all.
const NARROW_HEADING: &str = "cycle  round    planned  fetched  changed   rate  failed      known      time";

/// Before a line about the round above.
const INDENT: &str = "       ";

fn row(report: &RoundReport) -> String {
    let tally = &report.tally;
    format!(
        "{:>5}  {:<7}  {:>9}  {:>7}  {:>5}  {:>7}  {:>11}  {:>6}  {:>9}  {:>9}  {:>9}  {:>7.1}",
        report.cycle,
        report.kind.name(),
        thousands(report.scheduled),
        thousands(tally.fetched),
        thousands(tally.first_visits),
        thousands(tally.changed),
        rate(report),
        thousands(tally.all_failed()),
        thousands(tally.all_skipped()),
        thousands(report.links_new),
        thousands(report.pages_known),
        report.seconds
    )
}

fn narrow_row(report: &RoundReport) -> String {
    let tally = &report.tally;
    format!(
        "{:>5}  {:<7}  {:>7}  {:>7}  {:>7}  {:>5}  {:>6}  {:>9}  {:>8}",
        report.cycle,
        report.kind.name(),
        report.scheduled,
        tally.fetched,
        tally.changed,
        rate(report),
        tally.all_failed(),
        thousands(report.pages_known),
        Span::seconds(report.seconds).rounded()
    )
}

fn rate(report: &RoundReport) -> String {
    report.change_rate.map_or("-".into(), |rate| format!("{rate:.3}"))
}

/// Has a row of this round no figure? The last part of a cycle may find nothing that is due.
fn did_nothing(report: &RoundReport) -> bool {
    report.scheduled == 0 && report.links_new == 0 && report.tally.conclusive == 0
}

/// Prints the report of a round as one JSON object or one aligned row. Returns whether a line below it says why
/// nothing was fetched: often in the first round, with a wrong configuration.
fn publish(
    report: &RoundReport,
    rows: u32,
    json: bool,
    crawl: &Crawl,
    printed: &mut Printed,
) -> Result<bool, Failure> {
    if json {
        printed.line(&String::from_utf8(report.to_json()).expect("JSON is UTF-8"))?;
        return Ok(false);
    }
    if rows > 0 && did_nothing(report) {
        return Ok(false);
    }
    let is_narrow = colour::width().is_some_and(|width| width < HEADING.len());
    if rows.is_multiple_of(20) {
        printed.line(if is_narrow { NARROW_HEADING } else { HEADING })?;
    }
    printed.line(&if is_narrow { narrow_row(report) } else { row(report) })?;
    let fetched_nothing = report.fetched_nothing();
    if fetched_nothing {
        let why = format!("{INDENT}{}", crawl.live.errors().why_nothing());
        let wrapped = table::wrapped(&why, INDENT.len(), colour::width());
        wrapped.lines().try_for_each(|line| printed.line(line))?;
    }
    Ok(fetched_nothing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_row_fits_80_columns_below_its_heading() {
        let report = serde_json::json!({
            "cycle": 1234, "scheduled": 500_000, "gone": 0, "links_new": 9, "links_pending": 0, "pages_known": 9_999_999,
            "pages_visited": 0, "never_tried": 0, "formula": "age", "started": 0, "seconds": 3_594.0,
            "stopped_by": "schedule", "fetched": 450_000, "changed": 123_456, "change_rate": 0.333, "failed": 12_345,
        });
        let report: RoundReport = serde_json::from_value(report).unwrap();
        let line = narrow_row(&report);
        assert_eq!((line.len(), row(&report).len()), (NARROW_HEADING.len(), HEADING.len()), "{line}");
        assert!(line.len() <= 80 && line.contains("450000") && line.ends_with("  59.9 min"), "{line}");
        let mut asked = RoundReport { scheduled: 0, links_new: 0, ..report.clone() };
        assert!(did_nothing(&asked) && !did_nothing(&report));
        // An urgent round fetches pages beyond its schedule.
        asked.tally.conclusive = 1;
        assert!(!did_nothing(&asked));
    }
}

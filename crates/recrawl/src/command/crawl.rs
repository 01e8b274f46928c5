//! `recrawl crawl`: runs cycles.

use super::{counted, thousands};
use crate::cli::CrawlArgs;
use crate::process;
use crate::process::logging;
use crate::process::open_files;
use crate::process::stdout::Printed;
use recrawl_archive::timestamp;
use recrawl_crawl::crawl::Crawl;
use recrawl_crawl::cycle::{self, Turn};
use recrawl_crawl::data_dir;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::labels;
use recrawl_crawl::operator::control::Mark;
use recrawl_crawl::operator::seeds;
use recrawl_crawl::output::events::Events;
use recrawl_crawl::report::{CycleReport, Tally};
use recrawl_crawl::settings::formula_file;
use recrawl_scheduler::policy::PolicyKind;
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

pub fn run(args: &CrawlArgs) -> Result<(), Failure> {
    let mut settings = args.at.settings()?;
    logging::start(&settings.config.log, "warn")?;
    if let Some(text) = &args.formula {
        settings.formula = formula_file::find(text).map_err(|e| Failure::Usage(format!("--formula: {e}")))?;
        settings.formula_is_given = true;
        settings.policy = PolicyKind::default();
        settings.files.push(text.into());
    }
    if let Some(contact) = args.contact.as_deref().map(str::trim).filter(|contact| !contact.is_empty()) {
        settings.config.crawler.contact = contact.to_owned();
        settings.fetch.contact = Some(contact.to_owned());
    }
    if args.json && args.events.as_deref() == Some(Path::new("-")) {
        let text = "--json and --events - both print to standard output; give --events a file";
        return Err(Failure::Usage(text.into()));
    }
    settings.files.extend([&args.seed_file, &args.events].into_iter().flatten().cloned());
    open_files::make_room(&mut settings, 0)?;
    let seeds = seeds::read(&args.seeds, args.seed_file.as_deref(), &settings.rules)?;
    // The tables of an existing crawl may have seeds that were sent to the console.
    if seeds.is_empty() && !data_dir::is_begun(&settings.data_dir) {
        let text = "no seeds: pass --seed URL or --seeds FILE, or the --data-dir of an existing crawl";
        return Err(Failure::Usage(text.into()));
    }
    if !args.json && std::io::stderr().is_terminal() {
        eprintln!("data directory: {}", settings.data_dir.display());
    }
    let mut crawl = Crawl::open(settings, &seeds, args.random_seed, process::of_crawl()?)?;
    if let Some(Mark { who, at }) = crawl.control.paused() {
        let text = format!(
            "{who} paused this crawl at {}; resume it in the console of `recrawl serve`",
            timestamp(at)
        );
        return Err(Failure::Usage(text));
    }
    let mut events =
        args.events.as_deref().map(|at| Events::open(at, &crawl, process::printer(&crawl))).transpose()?;
    let mut printed = Printed::new(crawl.shutdown.token().clone());
    let mut rows = 0;
    let mut refused = Refused::default();
    loop {
        // A signal may have come while the crawl was opened.
        if crawl.shutdown.requested() {
            tracing::info!("stopped before a cycle began; pass the seeds again");
            return Ok(());
        }
        let waiting = crawl.control.seeds();
        crawl.admit(&waiting)?;
        match cycle::turn(&mut crawl, &[&seeds[..], &waiting].concat())? {
            Turn::Interrupted => {
                tracing::info!("stopped; the next start resumes this cycle");
                return Ok(());
            }
            Turn::Committed(report) => {
                report.log();
                crawl.control.forget_seeds(&waiting)?;
                events.as_mut().map_or(Ok(()), |events| events.follow(&crawl))?;
                if events.as_ref().is_none_or(|events| !events.are_printed()) {
                    publish(&report, rows, args.json, &mut printed)?;
                }
                rows += 1;
                refused.add(&report.tally);
                if args.cycles.is_some_and(|cycles| rows >= cycles) {
                    return refused.outcome();
                }
                if crawl.shutdown.requested() {
                    return Ok(());
                }
                if args.cycles.is_none() && wait_for_next(&crawl, &report) {
                    return Ok(());
                }
            }
        }
    }
}

/// The visits of a run that the address guard refused. A run in which it refused all has failed: the
/// configuration keeps the crawl from its hosts.
#[derive(Default)]
struct Refused {
    visits: u64,
    refused: u64,
}

impl Refused {
    fn add(&mut self, tally: &Tally) {
        self.visits += tally.fetched + tally.all_failed() + tally.all_skipped();
        self.refused += tally.refused;
    }

    fn outcome(&self) -> Result<(), Failure> {
        if self.refused == 0 || self.refused < self.visits {
            return Ok(());
        }
        let visits = counted(self.refused, "visit");
        let why = labels::REFUSED_ADDRESS;
        Err(Failure::Work(format!("nothing was fetched: {visits} refused, and no other: {why}")))
    }
}

/// Waits until `cycle.period` after the start of the last cycle, so that the length of a cycle does
/// not delay the next one; true if a signal came. If the clock is set back, waits one period at
/// most.
fn wait_for_next(crawl: &Crawl, report: &CycleReport) -> bool {
    let period = crawl.settings.config.cycle.period.0;
    let gone_by = Duration::from_millis((crawl.clock)().saturating_sub(report.started));
    crawl.shutdown.wait(period.saturating_sub(gone_by))
}

/// Prints the report of a cycle as one JSON object or one aligned row.
fn publish(report: &CycleReport, rows: u32, json: bool, printed: &mut Printed) -> Result<(), Failure> {
    if json {
        return printed.line(&String::from_utf8(report.to_json()).expect("JSON is UTF-8"));
    }
    if rows.is_multiple_of(20) {
        printed.line(
            "cycle  scheduled  fetched    new  changed  change rate  failed    skipped  new links      known  seconds",
        )?;
    }
    let tally = &report.tally;
    let rate = report.change_rate.map_or("-".into(), |r| format!("{r:.3}"));
    printed.line(&format!(
        "{:>5}  {:>9}  {:>7}  {:>5}  {:>7}  {:>11}  {:>6}  {:>9}  {:>9}  {:>9}  {:>7.1}",
        report.cycle,
        thousands(report.scheduled),
        thousands(tally.fetched),
        thousands(tally.first_visits),
        thousands(tally.changed),
        rate,
        thousands(tally.all_failed()),
        thousands(tally.all_skipped()),
        thousands(report.links_new),
        thousands(report.pages_known),
        report.seconds
    ))?;
    if tally.fetched == 0 && report.scheduled > 0 { printed.line(&why_nothing(tally)) } else { Ok(()) }
}

/// Explains a cycle that fetched nothing: often the first one, with a wrong configuration.
fn why_nothing(tally: &Tally) -> String {
    let reasons = [
        (tally.refused, "at rejected addresses (see fetch.allow_addresses)"),
        (tally.robots_denied, "forbidden by robots.txt, or robots.txt could not be fetched"),
        (tally.skipped, "skipped (deadline, scope, host in back-off or opted out)"),
        (tally.not_found, "not found"),
        (tally.failed, "failed (DNS, connection, time-out, status; see RECRAWL_LOG=debug)"),
    ];
    let met = reasons.iter().filter(|(count, _)| *count > 0);
    let list: Vec<String> = met.map(|(count, reason)| format!("{} {reason}", thousands(*count))).collect();
    format!("       nothing was fetched: {}", list.join("; "))
}

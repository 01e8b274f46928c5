//! Crawls the recorded web within the budget, cycle by cycle, and compares each cycle with the
//! truth of the mock web. A further run continues after the last cycle of the repository.

pub mod error;
pub mod http;
pub mod mockweb;
mod oracle;
mod plan;
pub mod program;
pub mod report;
mod settings;
mod state;
mod summary;
mod table;

use crate::truth::TruthPage;
use clap::Args;
use error::CrawlError;
use mockweb::{MockWeb, Violations};
use oracle::Oracle;
use plan::CyclePhase;
use program::CrawlerProgram;
use state::{CycleEnd, XtaskState};
use std::fs;
use std::path::{Path, PathBuf};

/// `xtask crawl`
#[derive(Args)]
pub struct CrawlOptions {
    /// Folder of the repository and the state of earlier runs
    #[arg(long, default_value = "data/recorded-web")]
    data_dir: PathBuf,
    /// Data set folder to replay (default: the bundled recording)
    #[arg(long)]
    recording: Option<String>,
    /// Scored cycles to run; discovery and warm-up run first if necessary
    #[arg(long, default_value_t = 20)]
    cycles: u32,
    /// Budget of a scored cycle: a share of the known pages or a number of pages
    #[arg(long, default_value = "5%")]
    share: String,
    /// Score formula: a name, a file or an expression
    #[arg(long)]
    formula: Option<String>,
    /// Delete the earlier crawl and start over
    #[arg(long)]
    clean: bool,
}

/// Files below the data directory. `check-counters` reads the same names.
struct CrawlFiles {
    state: PathBuf,
    truth: PathBuf,
    log: PathBuf,
    configuration: PathBuf,
    crawl: PathBuf,
    program_log: PathBuf,
}

impl CrawlFiles {
    fn below(data_dir: &Path) -> CrawlFiles {
        let file = |name: &str| data_dir.join(name);
        CrawlFiles {
            state: file("state.json"),
            truth: file("truth.jsonl"),
            log: file("log.jsonl"),
            configuration: file("recrawl.toml"),
            crawl: file("crawl"),
            program_log: file("recrawl.log"),
        }
    }
}

/// Runs the job.
pub fn run(options: &CrawlOptions) -> Result<(), CrawlError> {
    let dir = &options.data_dir;
    if options.clean && dir.exists() {
        fs::remove_dir_all(dir).map_err(|e| CrawlError::file(dir, e))?;
    }
    fs::create_dir_all(dir).map_err(|e| CrawlError::file(dir, e))?;
    let files = CrawlFiles::below(dir);
    let mut state = match XtaskState::read(&files.state)? {
        Some(state) if state.recording == options.recording => state,
        Some(state) => return Err(CrawlError::OtherRecording(state.recording)),
        None => XtaskState {
            recording: options.recording.clone(),
            port: mockweb::free_port()?,
            turns: Vec::new(),
        },
    };
    // Before the web starts: URLs contain its port, so the next run needs the same one.
    state.write(&files.state)?;

    let replay: Vec<String> = ["replay".to_owned()].into_iter().chain(state.recording.clone()).collect();
    let web = MockWeb::start(&sibling("recrawl-mockweb")?, &replay, state.port, &files.log)?;
    let program = CrawlerProgram {
        executable: sibling("recrawl")?,
        data_dir: files.crawl.clone(),
        log: files.program_log.clone(),
    };
    let truth = web.truth()?;
    write(&files.truth, &truth)?;
    let pages = mockweb::pages(&truth)?;
    let before = state.turns.len();
    let mut oracle: Option<Oracle<'_>> = None;
    let mut oracle_rates: Vec<Option<f64>> =
        state.turns.iter().map(|turn| judge(&mut oracle, &pages, turn)).collect();
    let mut scored = 0;
    let mut counted = Violations::default();
    println!("{}", summary::opening(&state, pages.len(), web.last_clock, dir));
    println!("{}", table::header());
    while scored < options.cycles {
        let (phase, clock) = plan::next(&state.turns);
        if clock > web.last_clock {
            println!(
                "The recording ends at cycle {}. To start over, run `make crawl CLEAN=1`.",
                web.last_clock
            );
            break;
        }
        web.set_clock(clock)?;
        let configuration = match phase {
            CyclePhase::Discovery => settings::discovery(&web.seeds),
            _ => settings::recrawl(&web.seeds, &options.share, options.formula.as_deref()),
        };
        write(&files.configuration, &configuration)?;
        let seeds = if state.turns.is_empty() { &web.seeds[..] } else { &[] };
        let report = program.crawl(&files.configuration, seeds)?;
        if let Some(rowless) = summary::rowless(&state.turns, &report) {
            println!("{rowless}");
        }

        let total = web.violations()?;
        let violations = total.since(counted);
        // The web counts from its start, so each cycle takes the difference.
        counted = total;
        let turn = CycleEnd { phase, clock, report, freshness: web.freshness()?, violations };
        let oracle_rate = judge(&mut oracle, &pages, &turn);
        println!("{}", table::row(&turn, oracle_rate));
        oracle_rates.push(oracle_rate);
        scored += u32::from(phase == CyclePhase::Scored);
        state.turns.push(turn);
        state.write(&files.state)?;
    }
    println!("{}", summary::closing(&state.turns, before, &oracle_rates));
    let total = state.turns[before..].iter().fold(Violations::default(), |sum, t| sum.plus(t.violations));
    if total == Violations::default() { Ok(()) } else { Err(CrawlError::Violations(total)) }
}

/// The oracle's ChangeRate in a scored turn, with as many visits as the score had.
fn judge<'a>(oracle: &mut Option<Oracle<'a>>, pages: &'a [TruthPage], turn: &CycleEnd) -> Option<f64> {
    if turn.phase != CyclePhase::Scored {
        *oracle = Some(Oracle::new(pages, turn.clock));
        return None;
    }
    let visits = turn.report.score_visits;
    let met = oracle.as_mut()?.turn(turn.clock, visits);
    (visits > 0).then(|| met as f64 / visits as f64)
}

/// The path of a program that was built with this one.
///
/// # Errors
/// If it does not exist; the error says how to build it.
pub fn sibling(name: &str) -> Result<PathBuf, CrawlError> {
    let this = std::env::current_exe().map_err(|e| CrawlError::file(Path::new("xtask"), e))?;
    let file = this.with_file_name(name).with_extension(std::env::consts::EXE_EXTENSION);
    if file.is_file() {
        return Ok(file);
    }
    Err(CrawlError::file(&file, format!("not built yet; run `make crawl` or `cargo build --package {name}`")))
}

/// Writes a file.
///
/// # Errors
/// The path and the error of the system.
pub fn write(file: &Path, text: &str) -> Result<(), CrawlError> {
    fs::write(file, text).map_err(|e| CrawlError::file(file, e))
}

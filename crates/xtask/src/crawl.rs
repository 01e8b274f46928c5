//! The main job: crawl the recorded web within the budget, cycle by cycle, and judge each cycle by
//! what the mock web knows. Run again, it goes on from the cycle where the repository stands.

mod http;
mod mockweb;
mod oracle;
mod plan;
mod program;
mod report;
mod settings;
mod state;
mod table;

use clap::Args;
use mockweb::{MockWeb, Violations};
use oracle::Oracle;
use plan::Phase;
use program::Program;
use state::{State, Turn};
use std::fmt::{self, Display};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use table::{closing, mean, rate};

/// `xtask crawl`
#[derive(Args)]
pub struct Options {
    /// Where the repository, the port and the turns so far are kept
    #[arg(long, default_value = "data/recorded-web")]
    data_dir: PathBuf,
    /// A data set folder to replay in place of the bundled recording
    #[arg(long)]
    recording: Option<String>,
    /// Scored cycles to run, after discovery and warm-up if those are still due
    #[arg(long, default_value_t = 20)]
    cycles: u32,
    /// Budget of a scored cycle: a share of the known pages, or a number of pages
    #[arg(long, default_value = "5%")]
    share: String,
    /// What ranks the pages: a formula's name, its file, or an expression
    #[arg(long)]
    formula: Option<String>,
    /// Forget the crawl so far and start over
    #[arg(long)]
    clean: bool,
}

/// Why the crawl stopped short.
#[derive(Debug)]
pub enum CrawlError {
    /// A file or folder, and what is wrong with it.
    File(PathBuf, String),
    /// The mock web did not do as asked.
    MockWeb(String),
    /// The crawler failed.
    Program {
        /// Its exit status.
        status: String,
        /// Where it says why.
        log: PathBuf,
    },
    /// The crawler's report is none.
    Report(String),
    /// The data directory belongs to another recording.
    OtherRecording(Option<String>),
    /// The crawler did what it must not.
    Violations(Violations),
}

impl CrawlError {
    fn file(path: &Path, why: impl Display) -> CrawlError {
        CrawlError::File(path.into(), why.to_string())
    }
}

impl Display for CrawlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CrawlError::File(path, why) => write!(f, "{}: {why}", path.display()),
            CrawlError::MockWeb(why) => write!(f, "the mock web: {why}"),
            CrawlError::Program { status, log } => {
                let text = fs::read_to_string(log).unwrap_or_default();
                let last = text.lines().rfind(|l| !l.trim().is_empty()).unwrap_or("it said nothing");
                write!(f, "recrawl failed ({status}): {last}; all it said is in {}", log.display())
            }
            CrawlError::Report(why) => f.write_str(why),
            CrawlError::OtherRecording(held) => {
                let held = held.as_deref().unwrap_or("the bundled recording");
                write!(
                    f,
                    "this data directory holds a crawl of {held}: choose another, or start over with CLEAN=1"
                )
            }
            CrawlError::Violations(v) => write!(
                f,
                "the mock web counted {} requests against robots.txt and {} against politeness",
                v.robots, v.politeness
            ),
        }
    }
}

impl std::error::Error for CrawlError {}

/// Where things are below the data directory. `check-counters` reads the same names.
struct Files {
    state: PathBuf,
    truth: PathBuf,
    log: PathBuf,
    configuration: PathBuf,
    crawl: PathBuf,
    program_log: PathBuf,
}

impl Files {
    fn below(data_dir: &Path) -> Files {
        let file = |name: &str| data_dir.join(name);
        Files {
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
pub fn run(options: &Options) -> Result<(), CrawlError> {
    let dir = &options.data_dir;
    if options.clean && dir.exists() {
        fs::remove_dir_all(dir).map_err(|e| CrawlError::file(dir, e))?;
    }
    fs::create_dir_all(dir).map_err(|e| CrawlError::file(dir, e))?;
    let files = Files::below(dir);
    let mut state = match State::read(&files.state)? {
        Some(state) if state.recording == options.recording => state,
        Some(state) => return Err(CrawlError::OtherRecording(state.recording)),
        None => {
            State { recording: options.recording.clone(), port: mockweb::free_port()?, turns: Vec::new() }
        }
    };
    state.write(&files.state)?;

    let web = MockWeb::start(&sibling("recrawl-mockweb")?, state.recording.as_deref(), state.port)?;
    let program = Program {
        executable: sibling("recrawl")?,
        data_dir: files.crawl.clone(),
        log: files.program_log.clone(),
    };
    let info = web.info()?;
    let truth = web.truth()?;
    write(&files.truth, &truth)?;
    let pages = mockweb::pages(&truth)?;
    let before = state.turns.len();
    announce(&state, &pages, info.last_cycle, dir);

    let mut oracle: Option<Oracle<'_>> = None;
    for turn in &state.turns {
        judge(&mut oracle, &pages, turn);
    }
    let mut scored = 0;
    let mut counted = Violations::default();
    let mut logged = 0;
    println!("{}", table::header());
    while scored < options.cycles {
        let (phase, clock) = plan::next(&state.turns);
        if clock > info.last_cycle {
            println!("The recording ends with cycle {}; `make crawl CLEAN=1` starts over.", info.last_cycle);
            break;
        }
        web.set_clock(clock)?;
        let configuration = match phase {
            Phase::Discovery => settings::discovery(&web.seeds),
            _ => settings::recrawl(&web.seeds, &options.share, options.formula.as_deref()),
        };
        write(&files.configuration, &configuration)?;
        let seeds = if state.turns.is_empty() { &web.seeds[..] } else { &[] };
        let report = program.crawl(&files.configuration, seeds)?;

        let log = web.log()?;
        append(&files.log, &log[logged..])?;
        logged = log.len();
        let total = web.violations()?;
        let violations = total.since(counted);
        counted = total;
        let turn = Turn { phase, clock, report, freshness: web.freshness()?, violations };
        let oracle_rate = judge(&mut oracle, &pages, &turn);
        println!("{}", table::row(&turn, oracle_rate));
        scored += u32::from(phase == Phase::Scored);
        state.turns.push(turn);
        state.write(&files.state)?;
    }
    summarize(&state, before, &pages)
}

/// The oracle's ChangeRate in a scored turn, with as many visits as the score had.
fn judge<'a>(oracle: &mut Option<Oracle<'a>>, pages: &'a [crate::truth::Page], turn: &Turn) -> Option<f64> {
    if turn.phase != Phase::Scored {
        *oracle = Some(Oracle::new(pages, turn.clock));
        return None;
    }
    let visits = turn.report.score_visits;
    let met = oracle.as_mut()?.turn(turn.clock, visits);
    (visits > 0).then(|| met as f64 / visits as f64)
}

fn announce(state: &State, pages: &[crate::truth::Page], last_cycle: u32, dir: &Path) {
    let recording = state.recording.as_deref().unwrap_or("the bundled recording");
    println!(
        "{recording}: {} pages, cycles 0 to {last_cycle}, replayed on port {}; data in {}",
        pages.len(),
        state.port,
        dir.display()
    );
    if let Some(last) = state.turns.last() {
        println!("Going on after cycle {} (clock {}).", last.report.cycle, last.clock);
    }
}

/// The closing table: the turns of this run, and of all runs where there was more than one.
fn summarize(state: &State, before: usize, pages: &[crate::truth::Page]) -> Result<(), CrawlError> {
    let mut oracle = None;
    let rates: Vec<Option<f64>> = state.turns.iter().map(|t| judge(&mut oracle, pages, t)).collect();
    let mut spans = vec![("this run", before)];
    if before > 0 {
        spans.push(("all runs", 0));
    }
    for (name, from) in spans {
        let turns = &state.turns[from..];
        let scored = || turns.iter().filter(|t| t.phase == Phase::Scored);
        let count = scored().count();
        let violations = turns.iter().fold(Violations::default(), |sum, t| sum.plus(t.violations));
        println!();
        println!("{}", closing(&format!("Of {name}, over {count} scored cycles:"), ""));
        println!("{}", closing("  ChangeRate, mean", &rate(mean(scored().map(|t| t.report.change_rate)))));
        println!(
            "{}",
            closing("  ChangeRate of an oracle, mean", &rate(mean(rates[from..].iter().copied())))
        );
        println!(
            "{}",
            closing(
                "  fresh pages by the mock web's truth, mean",
                &rate(mean(scored().map(|t| t.freshness.share())))
            )
        );
        println!("{}", closing("  requests against robots.txt", &violations.robots.to_string()));
        println!("{}", closing("  requests against politeness", &violations.politeness.to_string()));
        if from == before && violations != Violations::default() {
            return Err(CrawlError::Violations(violations));
        }
    }
    Ok(())
}

/// A program that was built with this one.
fn sibling(name: &str) -> Result<PathBuf, CrawlError> {
    let this = std::env::current_exe().map_err(|e| CrawlError::file(Path::new("xtask"), e))?;
    let file = this.with_file_name(name).with_extension(std::env::consts::EXE_EXTENSION);
    if file.is_file() {
        return Ok(file);
    }
    Err(CrawlError::file(
        &file,
        format!("not built yet: `make crawl` builds it, and so does `cargo build --package {name}`"),
    ))
}

fn write(file: &Path, text: &str) -> Result<(), CrawlError> {
    fs::write(file, text).map_err(|e| CrawlError::file(file, e))
}

fn append(file: &Path, text: &str) -> Result<(), CrawlError> {
    let appended: io::Result<()> = fs::File::options()
        .create(true)
        .append(true)
        .open(file)
        .and_then(|mut f| f.write_all(text.as_bytes()));
    appended.map_err(|e| CrawlError::file(file, e))
}

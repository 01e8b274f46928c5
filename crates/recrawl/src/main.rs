//! recrawl: an incremental web crawler that learns what to revisit.
//!
//! The program: joins the other crates, and is the only crate that knows TOML, the command line,
//! JSON and WARC. Start reading at [`cycle`], which shows the crawl cycle on one screen.

mod access;
mod audit;
mod cli;
mod clock;
mod command;
mod config;
mod consent;
mod contact;
mod control;
mod crawl;
mod cycle;
mod cycle_cache;
mod data_dir;
mod decisions;
mod errors;
mod events;
mod failure;
mod files;
mod filters;
mod forbidding;
mod formula_file;
mod gather;
mod hints;
mod import;
mod inbox;
mod lastmods;
mod live;
mod logging;
mod named_host;
mod opt_out;
mod page;
mod page_history;
mod pipeline;
mod plan;
mod printed;
mod priors;
mod progress;
mod ranks;
mod reading;
mod readmission;
mod report;
mod scope;
mod secret;
mod seeds;
mod serve;
mod settings;
mod shutdown;
mod sign_of_life;
mod site_noise;
mod sorted_lines;
mod space;
mod takedown;
mod terminal;
mod traces;
mod traps;
mod trust;
mod units;
mod words;

use clap::Parser;
use std::process::ExitCode;
use std::time::SystemTime;

fn main() -> ExitCode {
    let cli = cli::Cli::parse(); // on wrong arguments clap prints an error and exits with 2
    let ended = clock::check(SystemTime::now()).and_then(|()| command::run(cli.command));
    if let Err(failure) = &ended {
        logging::say(tracing::Level::ERROR, &failure.to_string());
    }
    logging::settle();
    ended.map_or_else(|failure| ExitCode::from(failure.exit_code()), |()| ExitCode::SUCCESS)
}

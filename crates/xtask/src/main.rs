//! Tasks too complex for the Makefile: house rules, oldest compiler, licences, the crawl of the
//! recorded web, the crawl through all hazards, and the check of the crawler's counters. `cargo
//! xtask --help` lists them.

mod crawl;
mod hazards;
mod house;
mod metadata;
mod msrv;
mod notices;
mod process;
mod replay_check;
mod rust_tokens;
mod serve_load;
mod tidy;
mod truth;
mod workspace;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Tasks of the recrawl workspace.
#[derive(Parser)]
struct XtaskCli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Check the house rules of docs/internals/style.md
    Tidy {
        /// First lower the figures of house.toml
        #[arg(long)]
        fix: bool,
    },
    /// Print the measures of docs/internals/style.md as tables
    House(house::HouseOptions),
    /// Check that the rust-version of the root manifest suffices
    Msrv,
    /// Print the licences of all crates in the program
    Notices,
    /// Crawl the recorded web and compare every cycle with the truth
    Crawl(crawl::CrawlOptions),
    /// Crawl a web with all faults and check the crawl by the web's log
    Hazards(hazards::HazardOptions),
    /// Measure a daemon under load on its console
    ServeLoad(serve_load::LoadOptions),
    /// Compare the crawler's counters with a replay of the mock web's log
    ReplayCheck(replay_check::ReplayCheckOptions),
}

fn main() -> ExitCode {
    let outcome = match XtaskCli::parse().task {
        Task::Tidy { fix } => {
            tidy::run(&tidy::repository_root(), fix).map_err(|e| format!("cannot read the repository: {e}"))
        }
        Task::House(options) => house::run(&options, &tidy::repository_root())
            .map(|()| true)
            .map_err(|e| format!("cannot read the repository: {e}")),
        Task::Msrv => msrv::run(&tidy::repository_root()),
        Task::Notices => notices::run(&tidy::repository_root()).map(|()| true),
        Task::Crawl(options) => crawl::run(&options).map(|()| true).map_err(|e| e.to_string()),
        Task::Hazards(options) => hazards::run(&options).map_err(|e| e.to_string()),
        Task::ServeLoad(options) => serve_load::run(&options).map(|()| true).map_err(|e| e.to_string()),
        Task::ReplayCheck(options) => replay_check::run(&options).map_err(|e| e.to_string()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}

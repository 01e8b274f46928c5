//! The commands, one file each.

mod add;
mod backup;
mod changes;
mod config;
mod control;
mod crawl;
mod dataset;
mod deliver;
mod explain;
mod export;
mod fetch;
mod fleet;
mod focus;
mod forecast;
mod formula;
mod import;
mod improve;
mod learn;
mod mcp;
mod notify;
mod page;
mod peek;
mod promises;
mod reload;
mod report;
mod repository;
mod search;
mod show;
mod simulate;
mod status;
mod takedown;
mod vault;
mod watch;

pub use recrawl_crawl::labels::{counted, thousands};

use crate::cli::{Cli, Command, ServeArgs, Where};
use crate::process;
use clap::CommandFactory;
use recrawl_console::view::Refusal;
use recrawl_crawl::config::Log;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::settings::Settings;
use recrawl_repository::Repository;
use recrawl_terminal::{help, print, print_json, print_labelled, print_table, table, write_bytes};

/// Runs a command, the daemon by `serve`.
///
/// # Errors
/// A message for the user, on one line.
pub fn run(command: Command, serve: impl FnOnce(&ServeArgs) -> Result<(), Failure>) -> Result<(), Failure> {
    // A crawl starts its log later, when its configuration is read.
    if !matches!(command, Command::Crawl(_) | Command::Serve(_)) {
        process::start_log(&Log::default(), "warn")?;
    }
    match command {
        Command::Crawl(args) => crawl::run(&args),
        Command::Serve(args) => serve(&args),
        Command::Add(args) => add::run(&args),
        Command::Fetch(args) => fetch::run(&args),
        Command::Reload(args) => reload::run(&args),
        Command::Backup(args) => backup::back_up(&args),
        Command::Restore(args) => backup::restore(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Promises(args) => promises::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Changes(args) => changes::run(&args),
        Command::Search(args) => search::run(&args),
        Command::Mcp(at) => mcp::run(&at),
        Command::Show(args) => show::run(&args),
        Command::Page(command) => page::run(&command),
        Command::Notify(command) => notify::run(&command),
        Command::Deliver(command) => deliver::run(&command),
        Command::Formula(command) => formula::run(&command),
        Command::Dataset(command) => dataset::run(&command),
        Command::Focus(command) => focus::run(&command),
        Command::Vault(command) => vault::run(&command),
        Command::Fleet(command) => fleet::run(&command),
        Command::Repository(command) => repository::run(&command),
        Command::Simulate(args) => simulate::run(&args),
        Command::Learn(args) => learn::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Import(command) => import::run(&command),
        Command::Improve(command) => improve::run(&command),
        Command::WhatIf(args) => forecast::what_if(&args),
        Command::Savings(args) => forecast::savings(&args),
        Command::Pause(args) => control::pause(&args),
        Command::Resume(args) => control::resume(&args),
        Command::Block(args) => control::block(&args),
        Command::Unblock(args) => control::unblock(&args),
        Command::Takedown(args) => takedown::run(&args),
        Command::Config(command) => config::run(&command),
        Command::Completions { shell } => help::print_completions(Cli::command(), shell),
        Command::Man { out } => help::write_manual(Cli::command(), &out),
    }
}

/// The last commit of a crawl, beside a daemon or without one, and its settings with the takedowns.
fn last_commit(at: &Where) -> Result<(Settings, Repository), Failure> {
    let mut settings = at.settings_to_read()?;
    let repository = open_read::repository(&settings)?;
    let decided = open_read::decisions(&settings.data_dir, || open_read::tables(&settings.data_dir))?;
    settings.scope.refuse_taken_down(decided.taken_down);
    Ok((settings, repository))
}

/// A refusal as the failure of a command.
fn refused(refusal: Refusal) -> Failure {
    match refusal {
        Refusal::Invalid { .. } | Refusal::Conflict { .. } => Failure::Usage(refusal.to_string()),
        other => Failure::Work(other.to_string()),
    }
}

//! `recrawl-benchmark`: one stream of links through the verifier and its alternatives, under one
//! memory limit.
//!
//! Reproduces the figures of docs/internals/verifier.md. Each contender runs in a process of its
//! own, in a control group where the system permits one. All get the same cycles as visit logs, and
//! none sees the results of the others.

mod contest;
mod copy;
mod counted;
mod decode;
mod limit;
mod mix;
mod model;
mod ours;
mod outcome;
mod plot;
mod process;
mod rival;
mod size;
mod stream;
mod table;
mod web;

use clap::{Parser, Subcommand};
use contest::Contender;
use size::BenchmarkSize;
use std::path::PathBuf;
use std::process::ExitCode;

/// As in the program, whose memory is measured.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Any error that stops a run.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// One stream of links through the verifier and other ways to tell new URLs from known ones.
#[derive(Parser)]
struct BenchmarkArguments {
    #[command(subcommand)]
    command: BenchmarkCommand,
}

#[derive(Subcommand)]
enum BenchmarkCommand {
    /// Runs contenders one after the other, each in a process of its own
    Run {
        #[command(flatten)]
        size: BenchmarkSize,
        /// Contenders
        #[arg(long, value_enum, value_delimiter = ',', default_values_t = Contender::ALL)]
        contenders: Vec<Contender>,
        /// File to which each outcome is appended as a line of JSON
        #[arg(long)]
        record: Option<PathBuf>,
    },
    /// Runs one contender in this process after a line of input
    #[command(hide = true)]
    One {
        #[command(flatten)]
        size: BenchmarkSize,
        #[arg(long, value_enum)]
        contender: Contender,
    },
    /// Prints the table and draws the plots of a record
    Plot {
        /// The record
        record: PathBuf,
        /// Folder for verifier-checks.svg and verifier-bytes.svg
        #[arg(long)]
        out: PathBuf,
    },
}

fn main() -> ExitCode {
    let done = match BenchmarkArguments::parse().command {
        BenchmarkCommand::Run { size, contenders, record } => {
            contest::run(&size, &contenders, record.as_deref())
        }
        BenchmarkCommand::One { size, contender } => contest::run_one(&size, contender),
        BenchmarkCommand::Plot { record, out } => plot::draw(&record, &out),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("recrawl-benchmark: {e}");
            ExitCode::FAILURE
        }
    }
}

//! `recrawl-studies`: many seeded crawls without sockets, to see whether estimates hold and the loop decides well.
//!
//! A crawl runs the program's own cycle over its own files; the answers come from a web in memory, whose truth is
//! known. The figures of docs/improving.md come from here.

mod budgets;
mod course_web;
mod coverage;
mod focused;
mod one_budget;
mod one_step;
mod simulated;
mod world;
mod years;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Any error that stops a study.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Many seeded crawls without sockets.
#[derive(Parser)]
struct StudyArguments {
    #[command(subcommand)]
    study: Study,
}

#[derive(Subcommand)]
enum Study {
    /// How often intervals hold the truth, and how well missed changes are counted
    Coverage(coverage::CoverageSize),
    /// Is the one-step gain of a candidate what a twin crawl meets?
    OneStep(one_step::OneStepSize),
    /// Do forecasts for other budgets and savings hold?
    Budgets(budgets::BudgetSize),
    /// How soon focused crawls find relevant pages, and whether their recall is estimated well
    Focused(focused::FocusedSize),
    /// One budget for finding relevant pages and keeping them fresh: the share "auto" beside fixed ones
    OneBudget(one_budget::OneBudgetSize),
    /// What the loop does in years of crawling
    Years(Box<years::YearsSize>),
}

fn main() -> ExitCode {
    let outcome = match StudyArguments::parse().study {
        Study::Coverage(size) => coverage::run(&size),
        Study::OneStep(size) => one_step::run(&size),
        Study::Budgets(size) => budgets::run(&size),
        Study::Focused(size) => focused::run(&size),
        Study::OneBudget(size) => one_budget::run(&size),
        Study::Years(size) => years::run(&size),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("recrawl-studies: {why}");
            ExitCode::FAILURE
        }
    }
}

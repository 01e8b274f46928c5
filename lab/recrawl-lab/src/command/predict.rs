//! `recrawl-lab predict`: predicts the changes of recorded pages from related pages and measures how well.

use super::pool;
use crate::cli::PredictArgs;
use recrawl_contest::failure_of_data;
use recrawl_crawl::failure::Failure;
use recrawl_experts::report::{self, ExperimentOptions};
use recrawl_generator::read_experts;
use recrawl_simulation::DatasetError;
use recrawl_terminal::{print, print_json};

pub fn run(args: &PredictArgs) -> Result<(), Failure> {
    let mut data = recrawl_simulation::open(&args.data, None).map_err(failure_of_data)?;
    match recrawl_contents::add(&mut data, &args.data) {
        // Pages without texts are known by their change bits.
        Ok(()) | Err(DatasetError::NoContents { .. }) => {}
        Err(error) => return Err(failure_of_data(error)),
    }
    let planted = read_experts(&args.data).map_err(failure_of_data)?.unwrap_or_default();
    let options = ExperimentOptions {
        significance: args.change,
        alpha: args.alpha,
        pages: args.pages.map(|pages| pages as usize),
        settings: args.settings(),
        combinations: args.combinations(),
        relations: args.relations(data.contents.is_some()),
        days: args.days,
        experts: args.count as usize,
        every: args.every,
        refresh: args.refresh,
        delays: args.delays.into(),
        flips: args.flips,
        seed: args.random_seed,
        figures: args.figures,
        planted: planted.iter().map(|&(page, expert, _)| (page, expert)).collect(),
    };
    let report = pool(args.threads)?
        .install(|| report::run(&data, &options))
        .map_err(|error| Failure::Usage(format!("{}: {error}", args.data.display())))?;
    match args.json {
        true => print_json(&report),
        false => print(report::render(&report)),
    }
}

//! `recrawl predict`: predicts the changes of recorded pages from related pages and measures how well.

use super::{dataset, print, print_json};
use crate::cli::PredictArgs;
use recrawl_crawl::failure::Failure;
use recrawl_experts::report::{self, Options};
use recrawl_simulation::DatasetError;
use recrawl_simulation::generate::read_experts;

pub fn run(args: &PredictArgs) -> Result<(), Failure> {
    let mut data = recrawl_simulation::open(&args.data, None).map_err(dataset::failure)?;
    match data.read_contents(&args.data) {
        // Pages without texts are known by their change bits.
        Ok(()) | Err(DatasetError::NoContents { .. }) => {}
        Err(error) => return Err(dataset::failure(error)),
    }
    let planted = read_experts(&args.data).map_err(dataset::failure)?.unwrap_or_default();
    let options = Options {
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
    let threads = args.threads.map_or(0, |n| n as usize);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(Failure::work)?;
    let report = pool
        .install(|| report::run(&data, &options))
        .map_err(|error| Failure::Usage(format!("{}: {error}", args.data.display())))?;
    match args.json {
        true => print_json(&report),
        false => print(report::render(&report)),
    }
}

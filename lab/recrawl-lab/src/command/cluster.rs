//! `recrawl-lab cluster`: fits clusters of pages by features, shows them, and compares them with sites and groups.

mod model_file;
mod pages;
mod report;
mod show;

use crate::cli::{ClusterFitArgs, ClusterStudy};
use model_file::ModelFile;
use pages::ClusterData;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::labels::counted;
use recrawl_rivals::page_clusters::{PagesOfCycle, fit};
use recrawl_terminal::clock;
use recrawl_terminal::print;
use std::time::SystemTime;

pub fn run(command: &ClusterStudy) -> Result<(), Failure> {
    match command {
        ClusterStudy::Fit(args) => fit_and_write(args),
        ClusterStudy::Show { model, json } => show::run(&ModelFile::read(model)?, *json),
        ClusterStudy::Report(args) => report::run(args),
    }
}

/// Says so if there are fewer clusters than were asked for.
fn warn_of_fewer(wanted: Option<usize>, clusters: usize) {
    if let Some(wanted) = wanted.filter(|wanted| *wanted > clusters) {
        tracing::warn!(wanted, clusters, "fewer clusters: pages with equal features are never separated");
    }
}

fn fit_and_write(args: &ClusterFitArgs) -> Result<(), Failure> {
    ModelFile::check_target(&args.out, args.force)?;
    let ClusterData { data, options, .. } = ClusterData::read(&args.of, args.clusters)?;
    let cycle = pages::checked(&data, args.cycle.unwrap_or(data.truth.cycles()))?;
    let pages = PagesOfCycle::in_cycle(&data, cycle);
    let fitted = fit(&data, &pages, &options).map_err(|error| pages::failure(&data, cycle, error))?;
    let file = ModelFile {
        data: data.name.clone(),
        digest: data.digest(),
        digest_of_words: data.contents.as_ref().map(|contents| contents.digest_of_words()),
        cycle,
        date: clock::precise(SystemTime::now()).chars().take("2026-01-31".len()).collect(),
        random_seed: options.seed,
        closeness: fitted.closeness,
        model: fitted.model,
    };
    file.write(&args.out, args.force)?;
    let clusters = file.model.clusters();
    warn_of_fewer(options.clusters, clusters);
    print(format!(
        "{}: {} of {} in cycle {cycle}, {} features, mean closeness {:.3}",
        args.out.display(),
        counted(clusters as u64, "cluster"),
        counted(pages.pages.len() as u64, "page"),
        file.model.scaling().kept().count(),
        file.model.tau_per_page(),
    ))
}

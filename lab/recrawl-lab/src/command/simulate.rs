//! `recrawl-lab simulate`: policies of crawls, crawlers and papers, replayed and compared.

mod contents;

use crate::cli::ContestArgs;
use recrawl_contest::{ContestEntry, Contestants, SimulateArgs, simulate};
use recrawl_crawl::failure::Failure;
use recrawl_formula::Basis;
use recrawl_rivals::policy::{ClusterOptions, with_clusters, with_rivals};
use recrawl_simulation::judge::ContentJudge;
use recrawl_simulation::policy::{ReplayPolicy, ReplayPolicyKind};
use recrawl_simulation::{Dataset, ReplayMetric};

pub fn run(args: &ContestArgs) -> Result<(), Failure> {
    let clusters = args.clusters.options();
    let metrics = contents::metrics(&args.metrics)?;
    simulate(&args.simulate, &Rivals { args, clusters, metrics })
}

/// The policies of a crawl, and their rivals with these clusters.
struct Rivals<'a> {
    args: &'a ContestArgs,
    clusters: ClusterOptions,
    metrics: Vec<&'static ReplayMetric>,
}

impl Rivals<'_> {
    fn has_clusters(&self, entry: &ContestEntry) -> bool {
        with_clusters(entry.name(), &self.clusters).is_some()
    }
}

impl Contestants for Rivals<'_> {
    fn policies(&self) -> Vec<ReplayPolicyKind> {
        with_rivals()
    }

    fn policy<'a>(
        &self,
        entry: &ContestEntry,
        data: &'a Dataset,
        basis: Basis,
    ) -> Box<dyn ReplayPolicy + 'a> {
        let clusters = with_clusters(entry.name(), &self.clusters);
        clusters.unwrap_or_else(|| entry.policy(data, basis))
    }

    fn metrics(&self) -> &[&'static ReplayMetric] {
        &self.metrics
    }

    fn read(&self, entries: &[ContestEntry], data: &mut Dataset, args: &SimulateArgs) -> Result<(), Failure> {
        let option = self.args.clusters.given();
        if let Some(option) = option.filter(|_| !entries.iter().any(|entry| self.has_clusters(entry))) {
            return Err(Failure::Usage(format!(
                "{option}: no policy here has clusters; add --policy cls_sad"
            )));
        }
        contents::read_if_needed(data, &args.data, entries, &self.metrics)
    }

    fn check_budget(&self, k: u64) -> Result<(), Failure> {
        match self.clusters.clusters.filter(|wanted| *wanted as u64 > k) {
            None => Ok(()),
            Some(wanted) => Err(Failure::Usage(format!(
                "--clusters {wanted}: a cycle has {k} visits, and each cluster needs one; use fewer clusters or a \
                 greater --share"
            ))),
        }
    }

    fn judge(&self, data: &Dataset, seed: u64) -> Result<Option<Box<dyn ContentJudge>>, Failure> {
        Ok(contents::judge(data, &self.metrics, seed)?.map(|judge| Box::new(judge) as Box<dyn ContentJudge>))
    }
}

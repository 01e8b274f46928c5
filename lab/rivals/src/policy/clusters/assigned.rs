//! The clusters of the pages, by what visits met.

use super::ClusterOptions;
use crate::LinkGraph;
use crate::page_clusters::{page_content, popular_words};
use recrawl_clusters::bisection::{BisectionOptions, bisect};
use recrawl_clusters::features::{FeatureOptions, FeaturePage, FeatureSpace};
use recrawl_clusters::model::ClusterModel;
use recrawl_clusters::scaling::{Normalise, Scaling};
use recrawl_simulation::Observed;
use recrawl_types::{Cycle, PageStatus};

/// Pages to fit clusters to, at most: every n-th page is taken.
const SAMPLE: usize = 20_000;

/// A model, and the cluster of each page.
#[derive(Default)]
pub(super) struct Assigned {
    model: Option<(Cycle, ClusterModel)>,
    /// The cluster of each page, and the cosine to its centroid.
    of_pages: Vec<(u16, f64)>,
    /// Pages visited since they were assigned.
    is_stale: Vec<bool>,
    /// In-links and PageRank at the last fit, and at the one before.
    places: [Vec<(u64, f64)>; 2],
}

impl Assigned {
    /// The cycle of the last fit.
    pub fn fitted(&self) -> Option<Cycle> {
        self.model.as_ref().map(|(cycle, _)| *cycle)
    }

    /// Number of clusters.
    pub fn clusters(&self) -> usize {
        self.model.as_ref().map_or(0, |(_, model)| model.clusters())
    }

    /// The cluster of a page, 0 for those that were never visited.
    pub fn cluster(&self, page: usize) -> usize {
        self.of_pages.get(page).map_or(0, |(cluster, _)| *cluster as usize)
    }

    /// The cosine of a page to its centroid.
    pub fn closeness(&self, page: usize) -> f64 {
        self.of_pages.get(page).map_or(0.0, |(_, closeness)| *closeness)
    }

    /// A page was visited.
    pub fn note(&mut self, page: usize) {
        if let Some(is_stale) = self.is_stale.get_mut(page) {
            *is_stale = true;
        }
    }

    /// Fits a new model of at most `clusters` clusters. Without a visited page there is none.
    pub fn fit(&mut self, observed: &Observed, clusters: usize, options: &ClusterOptions) {
        let graph = LinkGraph::seen(observed);
        let links_in = graph.in_links().iter().map(|links| u64::from(*links));
        let places: Vec<(u64, f64)> = links_in.zip(graph.page_rank()).collect();
        let before = std::mem::replace(&mut self.places[0], places);
        self.places[1] = if before.is_empty() { self.places[0].clone() } else { before };
        self.is_stale = vec![true; observed.columns().len()];
        self.of_pages = vec![(0, 0.0); observed.columns().len()];
        let visited: Vec<usize> = (0..self.is_stale.len()).filter(|&page| is_live(observed, page)).collect();
        let step = visited.len().div_ceil(SAMPLE).max(1);
        let sample = || visited.iter().step_by(step);
        let pages: Vec<FeaturePage<'_>> = sample().map(|&page| self.page(observed, page)).collect();
        if pages.is_empty() {
            self.model = None;
            return;
        }
        let seeded = |clusters| BisectionOptions { seed: observed.seed(), ..BisectionOptions::new(clusters) };
        let by_words = FeatureOptions::default().bisection.clusters;
        let features = FeatureOptions {
            blocks: options.blocks.clone(),
            content_ranks: options.content_ranks,
            bisection: seeded(by_words),
            keywords: popular_words(sample().map(|&page| observed.title_words(page))),
            ..FeatureOptions::default()
        };
        let space = FeatureSpace::fit(&pages, &features).expect("contents have their words in order");
        let values = space.of_all(&pages).expect("counts and shares are finite");
        let scaling = Scaling::fit(&space.features(), &values, Normalise::ZScore).expect("values are finite");
        let rows = scaling.rows(&values).expect("values are finite");
        let clustering = bisect(&rows, &seeded(clusters)).expect("the number of clusters is in range");
        let model = ClusterModel::new(space, scaling, &clustering).expect("the parts are of one fit");
        self.model = Some((observed.cycle(), model));
    }

    /// Assigns the pages that were visited since.
    pub fn assign(&mut self, observed: &Observed) {
        let Some((_, model)) = &self.model else { return };
        for page in 0..self.is_stale.len() {
            if self.is_stale[page] && is_live(observed, page) {
                let values = model.space().values(&self.page(observed, page)).expect("values are finite");
                self.of_pages[page] = model.assign(&values).expect("values are finite");
                self.is_stale[page] = false;
            }
        }
    }

    /// A page as visits met it.
    fn page<'a>(&self, observed: &'a Observed, page: usize) -> FeaturePage<'a> {
        let columns = observed.columns();
        let (seen, visits) = (observed.seen(page), columns.visits[page]);
        let [now, before] = &self.places;
        FeaturePage {
            url: observed.url(page),
            content: page_content(seen.last, now[page]),
            before: seen.before.map(|document| page_content(Some(document), before[page])),
            change_frequency: f64::from(columns.changes[page]) / f64::from(visits.max(1)),
        }
    }
}

fn is_live(observed: &Observed, page: usize) -> bool {
    observed.columns().visited[page] && observed.columns().known[page].status != PageStatus::Gone
}

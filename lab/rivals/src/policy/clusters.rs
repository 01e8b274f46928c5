//! `cls_nad`, `cls_sad`, `cls_aad`, `cls_gad`, `cls_threshold`: samples of clusters by features.
//!
//! Algorithm 1 of Tan & Mitra (2010, §4). Of each cluster, pages are visited by their cosine to the centroid, nearest first,
//! until the t-interval of the mean of φ is narrow enough, or R/k pages. Then clusters are visited by that mean, highest
//! first, until R is spent. φ is the probability of a change, by the page's history with this visit.
//!
//! *Ours*: unless [`ClusterOptions`] say otherwise, there are at most R/10 clusters, so that samples leave visits to
//! choose, and a new model is fitted every 28 cycles. In between it assigns the pages that were visited.

mod assigned;
mod significance;

use assigned::Assigned;
use recrawl_clusters::change_rate::{ChangeHistory, RateSample, SampleRule, Weighting, download_probability};
use recrawl_clusters::features::{FeatureBlock, FeatureOptions};
use recrawl_simulation::Observed;
use recrawl_simulation::policy::{Make, PolicyVisit, ReplayPolicy, ReplayPolicyKind};
use recrawl_types::Cycle;
use significance::is_above;
use std::collections::BTreeSet;

/// φ by all cycles alike.
pub(super) const NAD: ReplayPolicyKind = ReplayPolicyKind {
    name: "cls_nad",
    help: "samples clusters of pages, then visits them by rate NAD (needs contents)",
    make: Make::WithContents(|_| default("cls_nad")),
};

/// φ by the cycle alone.
pub(super) const SAD: ReplayPolicyKind = ReplayPolicyKind {
    name: "cls_sad",
    help: "samples clusters of pages, then visits them by rate SAD (needs contents)",
    make: Make::WithContents(|_| default("cls_sad")),
};

/// φ by all cycles, recent ones more.
pub(super) const AAD: ReplayPolicyKind = ReplayPolicyKind {
    name: "cls_aad",
    help: "samples clusters of pages, then visits them by rate AAD (needs contents)",
    make: Make::WithContents(|_| default("cls_aad")),
};

/// φ by all cycles, each twice as much as the one before.
pub(super) const GAD: ReplayPolicyKind = ReplayPolicyKind {
    name: "cls_gad",
    help: "samples clusters of pages, then visits them by rate GAD (needs contents)",
    make: Make::WithContents(|_| default("cls_gad")),
};

/// The variant of the paper's abstract and §7: the clusters in which a significant number of samples had changed, whole.
/// *Ours*: significant is a one-sided binomial test at 80 % against the share of all samples. The other clusters follow by
/// their share.
pub(super) const THRESHOLD: ReplayPolicyKind = ReplayPolicyKind {
    name: "cls_threshold",
    help: "samples clusters of pages, then visits those with significantly many changes (needs contents)",
    make: Make::WithContents(|_| default("cls_threshold")),
};

/// How clusters are made, and which of their pages come first.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterOptions {
    /// The features of pages.
    pub blocks: BTreeSet<FeatureBlock>,
    /// Number of clusters, at least 1 and at most [`MAX_CLUSTERS`](recrawl_clusters::bisection::MAX_CLUSTERS). None: 100,
    /// the paper's, but at most a tenth of the visits of a cycle.
    pub clusters: Option<usize>,
    /// Number of content ranks: dimensions of a page's words. Those beyond [`MAX_RANKS`](ClusterOptions::MAX_RANKS) are 0.
    pub content_ranks: usize,
    /// Cycles from one fit of clusters to the next, at least 1.
    pub recluster: u32,
    /// Which pages of a cluster are sampled and visited first.
    pub first: FirstOfCluster,
}

/// Which pages of a cluster are sampled and visited first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FirstOfCluster {
    /// Those nearest to the centroid, as the paper has it. It does not say what keeps these from being visited in every
    /// cycle.
    #[default]
    Nearest,
    /// Those with the oldest last visit; of equal ones the nearest. *Ours*.
    LongestUnvisited,
}

impl ClusterOptions {
    /// Clusters of pages by words, from which content ranks are taken.
    pub const MAX_RANKS: usize = 50;
    /// The paper's number of clusters.
    const CLUSTERS: u64 = 100;
    /// Visits of a cycle for each cluster, at least, if their number is not given.
    const VISITS_A_CLUSTER: u64 = 10;
}

impl Default for ClusterOptions {
    /// All features but those of ranking, 10 content ranks, nearest pages first, as in the paper. New clusters every 28
    /// cycles: the paper's 1 is dear, and its cycles are weeks.
    fn default() -> ClusterOptions {
        let features = FeatureOptions::default();
        ClusterOptions {
            blocks: features.blocks.into_iter().filter(|block| *block != FeatureBlock::Ranking).collect(),
            clusters: None,
            content_ranks: features.content_ranks,
            recluster: 28,
            first: FirstOfCluster::Nearest,
        }
    }
}

/// The order of clusters after sampling.
#[derive(Clone, Copy)]
enum Order {
    /// By the mean of φ.
    Mean(Weighting),
    /// Significant ones first, then by the share that changed.
    Significant,
}

struct Clusters {
    name: &'static str,
    order: Order,
    options: ClusterOptions,
    assigned: Assigned,
    histories: Vec<ChangeHistory>,
    cycle: Option<Cycle>,
    /// The rest of each cluster, and its sample.
    sampled: Vec<Sampled>,
    /// The place of each page within its cluster, from -1 to 1; the highest is visited first.
    within: Vec<f64>,
    /// The sampled pages of the current choice; empty if it is of the rest.
    chosen: Vec<u32>,
}

/// A cluster in the current cycle.
#[derive(Default)]
struct Sampled {
    /// Pages to visit, the last one first.
    queue: Vec<u32>,
    /// The values of φ.
    sample: RateSample,
    asked: u64,
    changes: u64,
}

/// The policy of this name with the default clusters.
fn default(name: &str) -> Box<dyn ReplayPolicy> {
    with_options(name, &ClusterOptions::default()).expect("the name of one of these")
}

/// The policy of this name with these clusters, if it is one of these.
pub(super) fn with_options(name: &str, options: &ClusterOptions) -> Option<Box<dyn ReplayPolicy>> {
    let kinds = [
        ("cls_nad", Order::Mean(Weighting::NonAdaptive)),
        ("cls_sad", Order::Mean(Weighting::Shortsighted)),
        ("cls_aad", Order::Mean(Weighting::Arithmetic)),
        ("cls_gad", Order::Mean(Weighting::Geometric)),
        ("cls_threshold", Order::Significant),
    ];
    let (name, order) = kinds.into_iter().find(|(known, _)| *known == name)?;
    Some(Clusters::boxed(name, order, options))
}

impl Clusters {
    fn boxed(name: &'static str, order: Order, options: &ClusterOptions) -> Box<dyn ReplayPolicy> {
        Box::new(Clusters::new(name, order, options.clone()))
    }

    fn new(name: &'static str, order: Order, options: ClusterOptions) -> Clusters {
        Clusters {
            name,
            order,
            options,
            assigned: Assigned::default(),
            histories: Vec::new(),
            cycle: None,
            sampled: Vec::new(),
            within: Vec::new(),
            chosen: Vec::new(),
        }
    }

    /// Assigns all pages, with new clusters if it is time, and puts each cluster's competing pages in order.
    fn begin(&mut self, observed: &Observed) {
        let now = observed.cycle();
        let most = (observed.k() / ClusterOptions::VISITS_A_CLUSTER).clamp(1, ClusterOptions::CLUSTERS);
        let clusters = self.options.clusters.unwrap_or(most as usize);
        if self.assigned.fitted().is_none_or(|fitted| now.since(fitted) >= self.options.recluster) {
            self.assigned.fit(observed, clusters, &self.options);
        }
        self.assigned.assign(observed);
        self.sampled.clear();
        self.sampled.resize_with(self.assigned.clusters(), Sampled::default);
        let columns = observed.columns();
        for page in (0..columns.len()).filter(|&page| observed.competes(page)) {
            self.sampled[self.assigned.cluster(page)].queue.push(page as u32);
        }
        let closeness = |page: u32| self.assigned.closeness(page as usize);
        let age = |page: u32| match self.options.first {
            FirstOfCluster::Nearest => 0,
            FirstOfCluster::LongestUnvisited => now.0 - columns.last[page as usize],
        };
        self.within = (0..columns.len()).map(|page| closeness(page as u32)).collect();
        for cluster in &mut self.sampled {
            cluster.queue.sort_by(|&a, &b| {
                age(a).cmp(&age(b)).then(closeness(a).total_cmp(&closeness(b))).then(b.cmp(&a))
            });
            if self.options.first == FirstOfCluster::LongestUnvisited {
                let pages = cluster.queue.len() as f64;
                (0..).zip(&cluster.queue).for_each(|(place, page)| {
                    self.within[*page as usize] = f64::from(place) / pages;
                });
            }
        }
    }

    /// The next pages to sample, of all clusters whose samples do not suffice.
    fn next_of_samples(&mut self, observed: &Observed) -> Vec<u32> {
        let rule = SampleRule::default();
        let most = (observed.k() / self.sampled.len().max(1) as u64).max(1);
        let mut pages = Vec::new();
        for cluster in self.sampled.iter_mut().filter(|cluster| !rule.is_sufficient(&cluster.sample)) {
            let step = SampleRule::LEAST
                .saturating_sub(cluster.asked)
                .max(1)
                .min(most.saturating_sub(cluster.asked));
            let left = cluster.queue.len().saturating_sub(step as usize);
            cluster.asked += (cluster.queue.len() - left) as u64;
            pages.extend(cluster.queue.drain(left..));
        }
        pages
    }

    /// φ of a page by its history.
    fn phi(&self, page: usize) -> f64 {
        let weighting = match self.order {
            Order::Mean(weighting) => weighting,
            Order::Significant => Weighting::Shortsighted,
        };
        download_probability(self.histories[page].rate(weighting).unwrap_or_default())
    }

    /// The places of clusters; the highest is visited first.
    fn places(&self) -> Vec<u32> {
        let all = self
            .sampled
            .iter()
            .fold((0, 0), |all, cluster| (all.0 + cluster.changes, all.1 + cluster.sample.count()));
        let key = |cluster: &Sampled| match self.order {
            Order::Mean(_) => (false, cluster.sample.mean()),
            Order::Significant => {
                let visits = cluster.sample.count();
                (is_above(cluster.changes, visits, all), cluster.changes as f64 / visits.max(1) as f64)
            }
        };
        let mut order: Vec<(usize, (bool, f64))> = self.sampled.iter().map(key).enumerate().collect();
        // Equal ones by number, the lowest first.
        order.sort_by(|(a, x), (b, y)| x.0.cmp(&y.0).then(x.1.total_cmp(&y.1)).then(b.cmp(a)));
        let mut places = vec![0; order.len()];
        (0..).zip(order).for_each(|(place, (cluster, _))| places[cluster] = place);
        places
    }
}

impl ReplayPolicy for Clusters {
    fn name(&self) -> &str {
        self.name
    }

    fn reads_contents(&self) -> bool {
        true
    }

    fn reads_urls(&self) -> bool {
        true
    }

    fn wants(&mut self, observed: &Observed, left: u64) -> u64 {
        if self.cycle.replace(observed.cycle()) != Some(observed.cycle()) {
            self.begin(observed);
        }
        self.chosen = self.next_of_samples(observed);
        self.chosen.sort_unstable();
        if self.chosen.is_empty() { left } else { left.min(self.chosen.len() as u64) }
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        out.clear();
        let pages = 0..observed.columns().len();
        if !self.chosen.is_empty() {
            out.resize(pages.len(), 0.0);
            self.chosen.iter().for_each(|page| out[*page as usize] = 1.0);
            return;
        }
        let places = self.places();
        out.extend(pages.map(|page| match places.get(self.assigned.cluster(page)) {
            // Places within a cluster are less than 3 apart.
            Some(place) => f64::from(*place) * 3.0 + self.within[page],
            None => 0.0,
        }));
    }

    fn observe(&mut self, observed: &Observed, visits: &[PolicyVisit]) {
        self.histories.resize(observed.columns().len(), ChangeHistory::default());
        for visit in visits {
            let page = visit.page as usize;
            self.assigned.note(page);
            let Some(changed) = visit.changed else { continue };
            let known = observed.cycle().since(Cycle(observed.columns().first[page]));
            let history = &mut self.histories[page];
            history.skip(known.saturating_sub(history.cycles() + 1));
            history.record(changed);
            if self.chosen.binary_search(&visit.page).is_ok() {
                let phi = self.phi(page);
                let cluster = &mut self.sampled[self.assigned.cluster(page)];
                cluster.sample.add(phi);
                cluster.changes += u64::from(changed);
            }
        }
        self.chosen.clear();
    }
}

#[cfg(test)]
mod tests;

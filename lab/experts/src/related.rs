//! Related pages: those whose features may predict a page's change (Radinsky and Bennett 2013, section 6).

mod terms;
#[cfg(test)]
mod tests;

use crate::FixedPages;
use crate::draws::{Purpose, stream};
use crate::similarity::{Delays, cross_correlation, warping, warping_to};
use rand::seq::index;
use rayon::prelude::*;
use std::fmt;
use std::str::FromStr;
use terms::Dynamics;

/// A way to find related pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// Linked in either direction; all alike (section 6.1).
    Graph,
    /// Cosine of the bags of words (section 6.2).
    Content,
    /// Cross-correlation of the tf·idf series of common words (section 6.3).
    Correlation,
    /// The same with dynamic time warping, weight 1 / (1 + distance).
    Warping,
    /// Any pages: a control.
    Random,
}

/// The related pages of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct RelatedPages {
    /// The weight of the page as its own expert: its relation to itself.
    pub own: f64,
    /// Other pages with their weights above 0, best first.
    pub others: Vec<(u32, f64)>,
}

type Weighted = Vec<(u32, f64)>;

/// Terms of a page that the temporal relations compare: those of the greatest tf·idf.
pub const MAX_TERMS: usize = 256;

/// What related pages are searched with. It ends today: no later day is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RelatedSearch {
    /// The last day that is known.
    pub today: u32,
    /// Number of days up to today whose series are compared.
    pub days: u32,
    /// Maximum related pages.
    pub count: usize,
    /// Delays of the cross-correlation.
    pub delays: Delays,
    /// The seed of random experts.
    pub seed: u64,
}

impl Relation {
    /// Those of table 3 of the paper, in its order.
    pub const ALL: [Relation; 4] =
        [Relation::Graph, Relation::Content, Relation::Correlation, Relation::Warping];

    /// Whether it needs the texts of the pages. Without texts the temporal relations compare change bits.
    pub fn needs_texts(self) -> bool {
        matches!(self, Relation::Graph | Relation::Content)
    }
}

impl FromStr for Relation {
    type Err = String;

    fn from_str(text: &str) -> Result<Relation, String> {
        let named = Relation::ALL.into_iter().find(|relation| relation.to_string() == text);
        named.ok_or_else(|| "use graph, content, correlation or dtw".into())
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Relation::Graph => "graph",
            Relation::Content => "content",
            Relation::Correlation => "correlation",
            Relation::Warping => "dtw",
            Relation::Random => "random",
        })
    }
}

/// The related pages of each target. Candidates are the pages that changed in the days searched: another shows nothing
/// that a majority does not. A page without any relation to a candidate gets fewer than `count`, or none.
pub fn find(
    recording: &FixedPages,
    relation: Relation,
    targets: &[u32],
    search: RelatedSearch,
) -> Vec<RelatedPages> {
    let days = search.today + 1 - search.days..=search.today;
    let changed = |page: &u32| days.clone().any(|day| recording.pages[*page as usize].observed[day as usize]);
    let candidates: Vec<u32> = (0..recording.pages.len() as u32).filter(changed).collect();
    let others = |target: u32| candidates.iter().copied().filter(move |&page| page != target);
    let dynamics = || match recording.has_texts {
        true => Dynamics::of_words(recording, days.clone()),
        false => Dynamics::of_bits(recording, days.clone()),
    };
    let related = |own: f64, weighted: Weighted| RelatedPages { own, others: best(weighted, search.count) };
    match relation {
        Relation::Graph => {
            let edges = edges(recording, search.today);
            let linked = |&target: &u32| related(1.0, linked(&edges, target, &candidates));
            targets.iter().map(linked).collect()
        }
        Relation::Content => {
            let weigh =
                |&target: &u32| related(1.0, content(recording, target, others(target), search.today));
            targets.par_iter().map(weigh).collect()
        }
        Relation::Correlation => {
            let dynamics = dynamics();
            let weigh = |&target: &u32| {
                let own = correlation(&dynamics, target, [target].into_iter(), search.delays);
                // Without a term that varies nothing is related, and any weight does.
                let own = own.first().map_or(1.0, |&(_, weight)| weight);
                related(own, correlation(&dynamics, target, others(target), search.delays))
            };
            targets.par_iter().map(weigh).collect()
        }
        Relation::Warping => {
            let dynamics = dynamics();
            let weigh = |&target: &u32| related(1.0, by_warping(&dynamics, target, others(target)));
            targets.par_iter().map(weigh).collect()
        }
        Relation::Random => {
            targets.iter().map(|&target| related(1.0, random(target, &candidates, search))).collect()
        }
    }
}

/// The pages of the greatest weight; of equal ones, those that stand first.
fn best(mut weighted: Weighted, count: usize) -> Weighted {
    weighted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    weighted.truncate(count);
    weighted
}

/// The links between pages in both directions, each once, ascending.
fn edges(recording: &FixedPages, today: u32) -> Vec<(u32, u32)> {
    let mut edges = Vec::new();
    for (page, from) in recording.pages.iter().zip(0..) {
        edges.extend(page.text(today).links.iter().flat_map(|&to| [(from, to), (to, from)]));
    }
    edges.sort_unstable();
    edges.dedup();
    edges
}

fn linked(edges: &[(u32, u32)], target: u32, candidates: &[u32]) -> Weighted {
    let linked = edges[edges.partition_point(|edge| edge.0 < target)..].iter();
    let linked = linked.take_while(|edge| edge.0 == target).map(|edge| edge.1);
    linked
        .filter(|page| *page != target && candidates.binary_search(page).is_ok())
        .map(|page| (page, 1.0))
        .collect()
}

fn content(recording: &FixedPages, target: u32, others: impl Iterator<Item = u32>, today: u32) -> Weighted {
    let text = |page: u32| recording.pages[page as usize].text(today);
    let length = |page: u32| text(page).product(text(page)).sqrt();
    let own = length(target);
    let cosine = |page: u32| (page, text(target).product(text(page)) / (own * length(page)));
    // Of an empty text it is no number, and no relation either.
    others.map(cosine).filter(|&(_, weight)| weight > 0.0).collect()
}

fn random(target: u32, candidates: &[u32], search: RelatedSearch) -> Weighted {
    let others: Vec<u32> = candidates.iter().copied().filter(|&page| page != target).collect();
    let mut source = stream(search.seed, Purpose::Experts, u64::from(target), search.today);
    let drawn = index::sample(&mut source, others.len(), search.count.min(others.len()));
    drawn.into_iter().map(|place| (others[place], 1.0)).collect()
}

/// Σ over the target's terms of their weight and their greatest cross-correlation with the other page's.
fn correlation(
    dynamics: &Dynamics,
    target: u32,
    others: impl Iterator<Item = u32>,
    delays: Delays,
) -> Weighted {
    let terms: Vec<(u32, f64, &[f64])> = dynamics
        .terms(target)
        .filter_map(|(word, weight)| Some((word, weight, dynamics.standard(target, word)?)))
        .collect();
    let weigh = |other: u32| {
        let with = |&(word, weight, series): &(u32, f64, &[f64])| {
            Some(weight * cross_correlation(series, dynamics.standard(other, word)?, delays))
        };
        (other, terms.iter().filter_map(with).sum::<f64>())
    };
    others.map(weigh).filter(|&(_, weight)| weight > 0.0).collect()
}

/// 1 / (1 + D), of pages that have one of the target's terms. D is Σ over these terms of their weight and their warping
/// distance, divided by the days: undivided, the page itself with D = 0 would outvote all others together.
fn by_warping(dynamics: &Dynamics, target: u32, others: impl Iterator<Item = u32>) -> Weighted {
    let terms: Weighted = dynamics.terms(target).collect();
    let mut rows = Vec::new();
    let weigh = |other: u32| {
        let (mut distance, mut is_shared) = (0.0, false);
        for &(word, weight) in &terms {
            let [own, its] = [target, other].map(|page| dynamics.varying(page, word));
            let [level, its_level] = [target, other].map(|page| dynamics.level(page, word));
            is_shared |= its.is_some() || its_level > 0.0;
            distance += weight
                * match (own, its) {
                    (Some(own), Some(its)) => warping(own, its, &mut rows),
                    (Some(series), None) => warping_to(series, its_level),
                    (None, Some(series)) => warping_to(series, level),
                    (None, None) => dynamics.days() as f64 * (level - its_level).abs(),
                };
        }
        is_shared.then_some((other, 1.0 / (1.0 + distance / dynamics.days() as f64)))
    };
    others.filter_map(weigh).collect()
}

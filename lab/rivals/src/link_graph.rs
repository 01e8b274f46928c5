//! Links between pages as a graph: in-links, PageRank, pages near others.

use recrawl_simulation::{Contents, Observed};
use recrawl_types::PageStatus;
use std::collections::VecDeque;

/// The links of known pages to known pages, in compressed sparse rows: all targets of page 0, then those of page 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkGraph {
    /// Where the targets of each page begin, and the end of the last.
    starts: Vec<usize>,
    targets: Vec<u32>,
    in_links: Vec<u32>,
    known: Vec<bool>,
}

/// The probability that PageRank's surfer follows a link (Brin & Page 1998).
const DAMPING: f64 = 0.85;
/// Iterations of PageRank end when the ranks move less than this in all.
const TOLERANCE: f64 = 1e-12;
/// Iterations of PageRank at most: by then, the error is below 0.85^100 = 9e-8.
const ITERATIONS: u32 = 100;

impl LinkGraph {
    /// The graph of the pages for which `known` is true. `links` are a page's links, ascending and each once; those to
    /// unknown pages do not count.
    pub fn new<'a>(known: Vec<bool>, links: impl Fn(usize) -> &'a [u32]) -> LinkGraph {
        let (mut starts, mut targets) = (vec![0], Vec::new());
        let mut in_links = vec![0; known.len()];
        for page in 0..known.len() {
            if known[page] {
                targets.extend(links(page).iter().copied().filter(|&target| known[target as usize]));
            }
            let first = starts.last().copied().unwrap_or_default();
            targets[first..].iter().for_each(|&target| in_links[target as usize] += 1);
            starts.push(targets.len());
        }
        LinkGraph { starts, targets, in_links, known }
    }

    /// The visited pages that are not gone, with the links that the last visit of each met. There are no links unless
    /// the policy [reads contents](recrawl_simulation::policy::ReplayPolicy::reads_contents).
    pub fn seen(observed: &Observed) -> LinkGraph {
        let columns = observed.columns();
        let is_known = |page: usize| columns.visited[page] && columns.known[page].status != PageStatus::Gone;
        let known = (0..columns.len()).map(is_known).collect();
        LinkGraph::new(known, |page| observed.seen(page).last.map_or(&[], |document| &document.links))
    }

    /// The links of all contents in a cycle, between the pages for which `exists` is true.
    pub fn shown(contents: &Contents, cycle: u32, exists: Vec<bool>) -> LinkGraph {
        LinkGraph::new(exists, |page| contents.shown(page, cycle).map_or(&[], |document| &document.links))
    }

    /// The pages that a page links to, ascending.
    pub fn links(&self, page: usize) -> &[u32] {
        &self.targets[self.starts[page]..self.starts[page + 1]]
    }

    /// Number of pages that link to each page.
    pub fn in_links(&self) -> &[u32] {
        &self.in_links
    }

    /// The PageRank of each page; the sum is 1, and pages that are not known have 0. The ranks of pages without links
    /// are spread evenly. Ends when the ranks move by less than 1e-12 in all, or after 100 iterations.
    pub fn page_rank(&self) -> Vec<f64> {
        let count = self.known.iter().filter(|&&known| known).count() as f64;
        let mut ranks: Vec<f64> =
            self.known.iter().map(|&known| f64::from(u8::from(known)) / count).collect();
        let mut next = vec![0.0; ranks.len()];
        for _ in 0..ITERATIONS {
            next.fill(0.0);
            let mut without_links = 0.0;
            for (page, &rank) in ranks.iter().enumerate() {
                let links = self.links(page);
                if links.is_empty() {
                    without_links += rank;
                }
                let share = rank / links.len() as f64;
                links.iter().for_each(|&target| next[target as usize] += share);
            }
            let base = (1.0 - DAMPING + DAMPING * without_links) / count;
            let mut moved = 0.0;
            for (page, rank) in next.iter_mut().enumerate().filter(|(page, _)| self.known[*page]) {
                *rank = base + DAMPING * *rank;
                moved += (*rank - ranks[page]).abs();
            }
            std::mem::swap(&mut ranks, &mut next);
            if moved < TOLERANCE {
                break;
            }
        }
        ranks
    }

    /// The number of links on the shortest path from any of these pages to each page, if it is at most `most`.
    pub fn distances(&self, from: &[u32], most: u32) -> Vec<Option<u32>> {
        let mut distances = vec![None; self.known.len()];
        let mut queue = VecDeque::new();
        for &page in from {
            if distances[page as usize].replace(0).is_none() {
                queue.push_back((page, 0));
            }
        }
        while let Some((page, distance)) = queue.pop_front().filter(|&(_, distance)| distance < most) {
            for &target in self.links(page as usize) {
                if distances[target as usize].is_none() {
                    distances[target as usize] = Some(distance + 1);
                    queue.push_back((target, distance + 1));
                }
            }
        }
        distances
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Twelve pages with two groups that only link among themselves, a chain into them, and a page without links.
    const EDGES: [(u32, u32); 15] = [
        (0, 1),
        (0, 2),
        (1, 2),
        (2, 0),
        (2, 9),
        (3, 2),
        (4, 5),
        (5, 4),
        (5, 6),
        (7, 0),
        (7, 3),
        (7, 8),
        (8, 9),
        (9, 0),
        (9, 8),
    ];

    fn graph(pages: usize, edges: &[(u32, u32)], known: Vec<bool>) -> LinkGraph {
        let links: Vec<Vec<u32>> = (0..pages as u32)
            .map(|page| edges.iter().filter(|edge| edge.0 == page).map(|edge| edge.1).collect())
            .collect();
        LinkGraph::new(known, |page| &links[page])
    }

    /// By networkx 3.6.1: `pagerank(G, alpha=.85, tol=1e-15, max_iter=10000)` of these edges.
    #[test]
    fn ranks_are_those_of_networkx() {
        let graph = graph(12, &EDGES, vec![true; 12]);
        let expected = [
            0.191405815315,
            0.099196713528,
            0.202984468194,
            0.022906527257,
            0.039820226812,
            0.051696434809,
            0.039820226812,
            0.017849242018,
            0.105137416333,
            0.193484444884,
            0.017849242018,
            0.017849242018,
        ];
        for (page, (rank, expected)) in graph.page_rank().into_iter().zip(expected).enumerate() {
            assert!((rank - expected).abs() < 2e-12, "page {page}: {rank}, networkx {expected}");
        }
        assert_eq!(graph.in_links(), [3, 1, 3, 1, 1, 1, 1, 0, 2, 2, 0, 0]);
        assert_eq!(graph.links(7), [0, 3, 8]);
        let near = graph.distances(&[3, 4], 2);
        let expected =
            [Some(2), None, Some(1), Some(0), Some(0), Some(1), Some(2), None, None, Some(2), None, None];
        assert_eq!(near, expected);
        assert_eq!(graph.distances(&[3], 0).iter().flatten().count(), 1);
    }

    #[test]
    fn without_links_all_ranks_are_equal() {
        assert_eq!(
            graph(4, &[], vec![true, false, true, true]).page_rank(),
            [1.0 / 3.0, 0.0, 1.0 / 3.0, 1.0 / 3.0]
        );
        assert!(graph(0, &[], Vec::new()).page_rank().is_empty());
    }

    proptest! {
        /// Ranks solve their equation, sum to 1, and pages that are not known do not matter.
        #[test]
        fn ranks_are_a_fixed_point(
            mut edges in prop::collection::vec((0u32..20, 0u32..20), 0..80),
            known in prop::collection::vec(any::<bool>(), 20),
        ) {
            edges.retain(|edge| edge.0 != edge.1);
            edges.sort_unstable();
            edges.dedup();
            let whole = graph(20, &edges, known.clone());
            let places: Vec<u32> = (0..20).filter(|&page| known[page as usize]).collect();
            let place = |page: u32| places.iter().position(|&known| known == page).map(|place| place as u32);
            let kept: Vec<(u32, u32)> = edges.iter().filter_map(|&(a, b)| Some((place(a)?, place(b)?))).collect();
            let part = graph(places.len(), &kept, vec![true; places.len()]);
            let ranks = whole.page_rank();
            let of_part: Vec<f64> = places.iter().map(|&page| ranks[page as usize]).collect();
            prop_assert_eq!(part.page_rank(), of_part.clone());
            if places.is_empty() {
                return Ok(());
            }
            prop_assert!((ranks.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            let n = places.len();
            for page in 0..n {
                let into = |from: usize| match part.links(from) {
                    [] => of_part[from] / n as f64,
                    links if links.contains(&(page as u32)) => of_part[from] / links.len() as f64,
                    _ => 0.0,
                };
                let expected = 0.15 / n as f64 + 0.85 * (0..n).map(into).sum::<f64>();
                prop_assert!((of_part[page] - expected).abs() < 1e-6, "{} {}", of_part[page], expected);
            }
        }
    }
}

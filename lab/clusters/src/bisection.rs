//! Clusters by repeated bisection (Tan and Mitra 2010, section 3.4; Karypis and Han 2000).
//!
//! All rows are one cluster at first. Then one cluster after the other is bisected, always the one whose bisection
//! raises τ most. τ is the sum of the cosines of rows to the centroid of their cluster (equations 8 and 9). For unit
//! vectors it is Σ ‖Σ p‖, the lengths of the sums of the clusters.
//!
//! So the first k − 1 bisections are those of k clusters, for any k: one run gives all smaller numbers of clusters.

mod split;

use crate::centroids::Centroids;
use crate::rows::{Rows, dot};
use split::split;
use std::ops::Range;

/// Maximum number of clusters.
pub const MAX_CLUSTERS: usize = 4096;

/// How to find clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BisectionOptions {
    /// Number of clusters, at most [`MAX_CLUSTERS`].
    pub clusters: usize,
    /// Attempts to bisect a cluster, each from two rows by chance; the one with the greatest τ counts.
    pub starts: u32,
    /// Maximum passes over the rows of a cluster in an attempt. It ends before, once a pass moves no row.
    pub passes: u32,
    /// Seed of the starts and of the order of rows in a pass.
    pub seed: u64,
    /// Threads for the attempts, at least 1. The result does not depend on it.
    pub threads: usize,
}

impl BisectionOptions {
    /// 10 starts and 10 passes on one thread, with seed 1.
    pub fn new(clusters: usize) -> BisectionOptions {
        BisectionOptions { clusters, starts: 10, passes: 10, seed: 1, threads: 1 }
    }
}

/// Options or rows from which no clusters can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BisectionError {
    /// The number of clusters is out of range.
    #[error("{0} clusters: the number must be from 1 to {MAX_CLUSTERS}")]
    Clusters(usize),
    /// No attempt, pass or thread.
    #[error("starts, passes and threads must be at least 1")]
    NoEffort,
    /// Row numbers have 32 bits.
    #[error("{0} rows are too many; cluster a sample")]
    Rows(usize),
}

/// Clusters of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Clustering {
    /// The directions of the clusters. Their number may be below the number asked for: rows that are alike are never
    /// separated.
    pub centroids: Centroids,
    /// The cluster of each row.
    pub members: Vec<u32>,
    /// Σ of the cosines of the rows to their centroids.
    pub tau: f64,
}

/// A run of repeated bisection: all its numbers of clusters.
#[derive(Clone, Debug, PartialEq)]
pub struct Bisections {
    dims: usize,
    rows: usize,
    /// Rows other than zero. Those of a node are next to each other.
    order: Vec<u32>,
    /// The clusters that ever were and their halves. The first is that of all rows.
    nodes: Vec<BisectionNode>,
    /// The nodes that were bisected, in order.
    bisected: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq)]
struct BisectionNode {
    /// Its rows, as a range of `order`.
    rows: Range<usize>,
    sum: Vec<f64>,
    /// The length of `sum`.
    tau: f64,
    halves: Option<Halves>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Halves {
    /// The first of two nodes: the one that keeps the number of the cluster, and the one with a new number.
    first: usize,
    /// By how much τ rises.
    gain: f64,
}

/// Clusters rows by repeated bisection.
///
/// The centroids are numbered in order of creation. When a cluster is bisected, the half with more rows keeps its
/// number, in a tie the half with the first row. Zero rows change nothing and are counted as members of cluster 0. Without
/// rows there is no cluster; if all rows are zero, there is one, with a centroid of zero.
pub fn bisect(rows: &Rows, options: &BisectionOptions) -> Result<Clustering, BisectionError> {
    Ok(Bisections::run(rows, options)?.clustering(options.clusters))
}

impl Bisections {
    /// Bisects until there are `options.clusters` clusters, or no cluster has rows that differ.
    pub fn run(rows: &Rows, options: &BisectionOptions) -> Result<Bisections, BisectionError> {
        if options.clusters == 0 || options.clusters > MAX_CLUSTERS {
            return Err(BisectionError::Clusters(options.clusters));
        }
        if options.starts == 0 || options.passes == 0 || options.threads == 0 {
            return Err(BisectionError::NoEffort);
        }
        let count = u32::try_from(rows.len()).map_err(|_| BisectionError::Rows(rows.len()))?;
        let order: Vec<u32> = (0..count).filter(|row| !rows.row(*row as usize).is_zero()).collect();
        let all = BisectionNode { rows: 0..order.len(), sum: rows.sum(), tau: 0.0, halves: None };
        let all = BisectionNode { tau: dot(&all.sum, &all.sum).sqrt(), ..all };
        let dims = rows.dims();
        let mut run = Bisections { dims, rows: rows.len(), order, nodes: vec![all], bisected: Vec::new() };
        let mut clusters = vec![0];
        while clusters.len() < options.clusters {
            if clusters.len() == 1 {
                run.halve(0, rows, options);
            }
            let gain = |node: usize| run.nodes[node].halves.map(|halves| (halves.gain, halves.first));
            let halved = (0..clusters.len()).filter_map(|i| Some((i, gain(clusters[i])?)));
            let Some((number, (_, first))) = halved.reduce(|a, b| if b.1.0 > a.1.0 { b } else { a }) else {
                break;
            };
            run.bisected.push(clusters[number]);
            clusters[number] = first;
            clusters.push(first + 1);
            if clusters.len() < options.clusters {
                run.halve(first, rows, options);
                run.halve(first + 1, rows, options);
            }
        }
        Ok(run)
    }

    /// The greatest number of clusters reached.
    pub fn clusters(&self) -> usize {
        if self.rows == 0 { 0 } else { self.bisected.len() + 1 }
    }

    /// The clusters when there were `clusters` of them, or all if there never were as many.
    pub fn clustering(&self, clusters: usize) -> Clustering {
        let nodes = self.nodes_of(clusters);
        let mut members = vec![0; self.rows];
        let mut centroids = Centroids::new(self.dims);
        for (number, &node) in (0..).zip(&nodes) {
            let node = &self.nodes[node];
            self.order[node.rows.clone()].iter().for_each(|row| members[*row as usize] = number);
            centroids.push_direction(&node.sum);
        }
        let tau = nodes.iter().map(|node| self.nodes[*node].tau).sum();
        Clustering { centroids, members, tau }
    }

    /// The nodes that are the clusters when there are `clusters` of them, by number.
    pub(crate) fn nodes_of(&self, clusters: usize) -> Vec<usize> {
        let mut nodes = vec![0; usize::from(self.rows > 0)];
        for bisected in &self.bisected[..self.bisected.len().min(clusters.saturating_sub(1))] {
            let number = nodes.iter().position(|node| node == bisected).expect("only clusters are bisected");
            let first = self.nodes[*bisected].halves.expect("it was bisected").first;
            nodes[number] = first;
            nodes.push(first + 1);
        }
        nodes
    }

    /// The directions of all nodes.
    pub(crate) fn all_centroids(&self) -> Centroids {
        let mut centroids = Centroids::new(self.dims);
        self.nodes.iter().for_each(|node| centroids.push_direction(&node.sum));
        centroids
    }

    /// Halves a node, unless its rows are alike. Its rows are put in order: first half, second half, each rising.
    fn halve(&mut self, node: usize, rows: &Rows, options: &BisectionOptions) {
        let BisectionNode { rows: range, sum, tau, .. } = &self.nodes[node];
        let (range, tau) = (range.clone(), *tau);
        let Some(is_second) = split(rows, &self.order[range.clone()], sum, node, options) else { return };
        let members = self.order[range.clone()].iter().zip(is_second);
        let (second, first): (Vec<_>, Vec<_>) = members.partition(|(_, is_second)| *is_second);
        let middle = range.start + first.len();
        let members: Vec<u32> = first.iter().chain(&second).map(|(row, _)| **row).collect();
        self.order[range.clone()].copy_from_slice(&members);
        let halves = [range.start..middle, middle..range.end].map(|range| {
            let mut sum = vec![0.0; self.dims];
            let members = self.order[range.clone()].iter();
            members.for_each(|row| rows.row(*row as usize).add_to(&mut sum, 1.0));
            BisectionNode { rows: range, tau: dot(&sum, &sum).sqrt(), sum, halves: None }
        });
        let gain = halves[0].tau + halves[1].tau - tau;
        self.nodes[node].halves = Some(Halves { first: self.nodes.len(), gain });
        self.nodes.extend(halves);
    }
}

#[cfg(test)]
mod tests;

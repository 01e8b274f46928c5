//! Circles, floors and back arrows of a graph.

use std::collections::{BTreeMap, BTreeSet};

/// Arrows between nodes, each with its number of uses.
#[derive(Default)]
pub struct Graph {
    /// Number of nodes.
    pub nodes: usize,
    /// From, to: uses.
    pub arrows: BTreeMap<(usize, usize), usize>,
}

impl Graph {
    /// Strongly connected components of two nodes or more, the largest first.
    pub fn circles(&self) -> Vec<Vec<usize>> {
        let reached: Vec<BTreeSet<usize>> = (0..self.nodes).map(|node| self.reached(node)).collect();
        let mut circles = BTreeSet::new();
        for node in 0..self.nodes {
            let circle: Vec<usize> =
                reached[node].iter().copied().filter(|&other| reached[other].contains(&node)).collect();
            circles.extend((circle.len() > 1).then_some(circle));
        }
        let mut circles: Vec<_> = circles.into_iter().collect();
        circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
        circles
    }

    /// The nodes at the ends of arrows from `node`, and of arrows from those.
    fn reached(&self, node: usize) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        let mut open = vec![node];
        while let Some(from) = open.pop() {
            for (&(_, to), _) in self.arrows.range((from, 0)..(from + 1, 0)) {
                if reached.insert(to) {
                    open.push(to);
                }
            }
        }
        reached
    }

    /// Nodes on the longest path, when each circle counts as one node.
    pub fn floors(&self) -> usize {
        let mut of_node: Vec<usize> = (0..self.nodes).collect();
        for circle in self.circles() {
            circle.iter().for_each(|&node| of_node[node] = circle[0]);
        }
        let mut floor = vec![1; self.nodes];
        // No path is longer than the number of nodes.
        for _ in 0..self.nodes {
            for (from, to) in self.arrows.keys().map(|&(from, to)| (of_node[from], of_node[to])) {
                if from != to {
                    floor[from] = floor[from].max(floor[to] + 1);
                }
            }
        }
        floor.into_iter().max().unwrap_or(0)
    }

    /// Nodes with arrows both ways.
    pub fn pairs(&self) -> Vec<(usize, usize)> {
        let both = |&(a, b): &(usize, usize)| a < b && self.arrows.contains_key(&(b, a));
        self.arrows.keys().copied().filter(both).collect()
    }

    /// Arrows that run back up in a good order of the nodes; without them there is no circle. No
    /// move of one node gives fewer such arrows, nor as many with fewer uses.
    pub fn back_arrows(&self) -> Vec<(usize, usize)> {
        let mut found: Vec<_> = self.circles().iter().flat_map(|circle| self.cut(circle)).collect();
        found.sort_unstable();
        found
    }

    /// The back arrows of one circle.
    fn cut(&self, circle: &[usize]) -> Vec<(usize, usize)> {
        // One search may end an arrow above the best order; of many, hardly all do.
        let searches = (0..circle.len()).map(|first| {
            let mut order = [&circle[first..], &circle[..first]].concat();
            while let Some(better) = self.better(&order) {
                order = better;
            }
            let arrows = order
                .iter()
                .enumerate()
                .flat_map(|(at, &to)| order[at + 1..].iter().map(move |&from| (from, to)));
            arrows.filter(|arrow| self.arrows.contains_key(arrow)).collect::<Vec<_>>()
        });
        let uses = |arrows: &Vec<_>| arrows.iter().map(|arrow| self.arrows[arrow]).sum::<usize>();
        searches.min_by_key(|arrows| (arrows.len(), uses(arrows))).unwrap_or_default()
    }

    /// The order with one node moved to its best place, for the first node that gains by it.
    fn better(&self, order: &[usize]) -> Option<Vec<usize>> {
        for (from, &node) in order.iter().enumerate() {
            let mut others = order.to_vec();
            others.remove(from);
            // Cost of each place: arrows, then uses, that run back when the node stands there.
            let uses = |a, b| self.arrows.get(&(a, b)).map_or((0, 0), |&uses| (1, uses as i64));
            let mut costs = vec![(0, 0)];
            for &other in &others {
                let (arrows, sum) = *costs.last().expect("there is a first place");
                let (back, back_uses) = uses(node, other);
                let (forth, forth_uses) = uses(other, node);
                costs.push((arrows + back - forth, sum + back_uses - forth_uses));
            }
            let best = (0..costs.len()).min_by_key(|&place| costs[place]).expect("there is a place");
            if costs[best] < costs[from] {
                others.insert(best, node);
                return Some(others);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(nodes: usize, arrows: &[(usize, usize, usize)]) -> Graph {
        Graph { nodes, arrows: arrows.iter().map(|&(from, to, uses)| ((from, to), uses)).collect() }
    }

    #[test]
    fn a_circle_is_cut_where_it_is_used_least() {
        let circle = graph(5, &[(0, 1, 5), (1, 2, 1), (2, 0, 5), (2, 3, 1), (1, 3, 1), (3, 4, 1)]);
        assert_eq!(circle.circles(), [[0, 1, 2]]);
        assert_eq!(circle.back_arrows(), [(1, 2)]);
        assert_eq!(circle.floors(), 3);
        assert!(circle.pairs().is_empty());
    }

    #[test]
    fn few_arrows_go_before_few_uses() {
        // Both circles pass through 0 → 1.
        let circles = graph(4, &[(0, 1, 9), (1, 2, 1), (2, 0, 1), (1, 3, 1), (3, 0, 1)]);
        assert_eq!(circles.back_arrows(), [(0, 1)]);
        let pair = graph(3, &[(2, 1, 4), (1, 2, 3), (1, 0, 1)]);
        assert_eq!((pair.back_arrows(), pair.pairs()), (vec![(1, 2)], vec![(1, 2)]));
        assert_eq!(graph(3, &[(2, 1, 1), (1, 0, 1)]).floors(), 3);
    }
}

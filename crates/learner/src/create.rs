//! New trees: grow, full, and ramped half-and-half (Koza 1992).

use crate::tree::TreeLimits;
use crate::vocabulary::Vocabulary;
use rand_chacha::ChaCha8Rng;
use recrawl_formula::Expr;

/// Minimum depth of the ramp: a function with leaves.
pub const LEAST_DEPTH: usize = 2;
/// Attempts to draw a tree within the limits; after that the depth is reduced by one.
const TRIES: usize = 16;

/// A tree whose root is a function and whose branches end at random, at `depth` at the latest.
pub fn grow(vocabulary: &Vocabulary, depth: usize, limits: TreeLimits, rng: &mut ChaCha8Rng) -> Expr {
    within(limits, depth, |depth| call(vocabulary, depth, false, rng))
}

/// A tree whose branches all end at `depth`.
pub fn full(vocabulary: &Vocabulary, depth: usize, limits: TreeLimits, rng: &mut ChaCha8Rng) -> Expr {
    within(limits, depth, |depth| call(vocabulary, depth, true, rng))
}

/// Like [`grow`], but the root may be a leaf: the replacement of a subtree by mutation.
pub fn branch(vocabulary: &Vocabulary, depth: usize, rng: &mut ChaCha8Rng) -> Expr {
    node(vocabulary, depth, false, rng)
}

/// `count` trees, half full and half grown, of all depths from [`LEAST_DEPTH`] to `depth` in equal
/// parts.
pub fn ramped(
    vocabulary: &Vocabulary,
    count: usize,
    depth: usize,
    limits: TreeLimits,
    rng: &mut ChaCha8Rng,
) -> Vec<Expr> {
    (0..count)
        .map(|i| match i % 2 {
            0 => full(vocabulary, ramp(i / 2, depth), limits, rng),
            _ => grow(vocabulary, ramp(i / 2, depth), limits, rng),
        })
        .collect()
}

/// The depth of step `i` of a ramp that restarts after `depth`.
pub fn ramp(i: usize, depth: usize) -> usize {
    LEAST_DEPTH + i % (depth.max(LEAST_DEPTH) - LEAST_DEPTH + 1)
}

fn within(limits: TreeLimits, depth: usize, mut draw: impl FnMut(usize) -> Expr) -> Expr {
    let mut depth = depth.min(limits.depth);
    loop {
        for _ in 0..TRIES {
            let tree = draw(depth);
            // The smallest tree is within the limits of every valid preset.
            if limits.admit(&tree) || depth <= LEAST_DEPTH {
                return tree;
            }
        }
        depth -= 1;
    }
}

fn call(vocabulary: &Vocabulary, depth: usize, full: bool, rng: &mut ChaCha8Rng) -> Expr {
    let function = vocabulary.function(rng);
    let arguments = (0..function.arity).map(|_| node(vocabulary, depth - 1, full, rng)).collect();
    Expr::Call(function, arguments)
}

fn node(vocabulary: &Vocabulary, depth: usize, full: bool, rng: &mut ChaCha8Rng) -> Expr {
    if depth > 1 && (full || vocabulary.draws_function(rng)) {
        call(vocabulary, depth, full, rng)
    } else {
        vocabulary.leaf(rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use rand::SeedableRng;
    use std::collections::BTreeMap;

    const LIMITS: TreeLimits = TreeLimits { depth: 10, nodes: 512 };

    fn shortest(expr: &Expr) -> usize {
        1 + expr.arguments().iter().map(shortest).min().unwrap_or(0)
    }

    #[test]
    fn full_trees_end_at_one_depth_and_grown_ones_nowhere_beyond() {
        let (vocabulary, mut rng) = (testing::vocabulary(), ChaCha8Rng::seed_from_u64(1));
        for depth in 2..=6 {
            for _ in 0..50 {
                let tree = full(&vocabulary, depth, LIMITS, &mut rng);
                assert_eq!((tree.depth(), shortest(&tree)), (depth, depth), "{tree}");
                let tree = grow(&vocabulary, depth, LIMITS, &mut rng);
                assert!((2..=depth).contains(&tree.depth()), "{tree}");
            }
        }
    }

    #[test]
    fn a_ramp_has_all_depths_in_equal_parts() {
        let (vocabulary, mut rng) = (testing::vocabulary(), ChaCha8Rng::seed_from_u64(2));
        // Twice the nine depths from 2 to 10, ten times, within limits that full trees always meet.
        let limits = TreeLimits { depth: 10, nodes: 2000 };
        let trees = ramped(&vocabulary, 180, 10, TreeLimits { nodes: 2000, ..limits }, &mut rng);
        assert_eq!(trees.len(), 180);
        let mut depths = BTreeMap::new();
        trees.iter().step_by(2).for_each(|tree| *depths.entry(tree.depth()).or_insert(0) += 1);
        // Some of the deepest trees are too long to be written and were drawn with one depth less.
        for depth in 2..=7 {
            assert_eq!(depths[&depth], 10, "full trees of depth {depth}: {depths:?}");
        }
        assert!(trees.iter().all(|t| limits.admit(t)));
        assert!(trees.iter().skip(1).step_by(2).any(|t| t.depth() >= 5), "grown trees grow");
    }

    #[test]
    fn every_terminal_function_and_constant_comes_up() {
        let (vocabulary, mut rng) = (testing::vocabulary(), ChaCha8Rng::seed_from_u64(3));
        let trees = ramped(&vocabulary, 300, 6, LIMITS, &mut rng);
        let text: String = trees.iter().map(|t| format!("{t:?}")).collect();
        for name in
            vocabulary.terminals.iter().map(|t| t.name).chain(vocabulary.functions.iter().map(|f| f.name))
        {
            assert!(text.contains(&format!("name: \"{name}\"")), "{name}");
        }
        for constant in &vocabulary.constants {
            assert!(text.contains(&format!("Constant({constant:?})")), "{constant}");
        }
    }

    #[test]
    fn a_narrow_limit_is_kept() {
        let (vocabulary, mut rng) = (testing::vocabulary(), ChaCha8Rng::seed_from_u64(4));
        let limits = TreeLimits { depth: 5, nodes: 7 };
        for tree in ramped(&vocabulary, 100, 10, limits, &mut rng) {
            assert!(limits.admit(&tree), "{tree}");
        }
    }
}

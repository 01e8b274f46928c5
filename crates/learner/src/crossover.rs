//! Crossover: two parents exchange a subtree each (thesis section 3.3).

use crate::tree::{self, TreeLimits};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use recrawl_formula::Expr;

/// Attempts to breed offspring within the limits; after that the parents are copied.
const TRIES: usize = 10;

/// Swaps a random subtree of one parent with one of the other; every node is equally likely. Both
/// offspring are within the limits, or they are the parents.
pub fn crossover(first: &Expr, second: &Expr, limits: TreeLimits, rng: &mut ChaCha8Rng) -> [Expr; 2] {
    for _ in 0..TRIES {
        let [mut a, mut b] = [first.clone(), second.clone()];
        let (in_a, in_b) = (rng.random_range(0..a.nodes()), rng.random_range(0..b.nodes()));
        std::mem::swap(tree::at_mut(&mut a, in_a), tree::at_mut(&mut b, in_b));
        if limits.admit(&a) && limits.admit(&b) {
            return [a, b];
        }
    }
    [first.clone(), second.clone()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use proptest::prelude::*;
    use rand::SeedableRng;

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_added(
            a in testing::trees(6), b in testing::trees(6), seed in any::<u64>(), depth in 2usize..9,
        ) {
            let limits = TreeLimits { depth, nodes: 512 };
            let children = crossover(&a, &b, limits, &mut ChaCha8Rng::seed_from_u64(seed));
            let leaves = |e: &Expr| tree::places(e, |n| n.arguments().is_empty()).len();
            prop_assert_eq!(children[0].nodes() + children[1].nodes(), a.nodes() + b.nodes());
            prop_assert_eq!(leaves(&children[0]) + leaves(&children[1]), leaves(&a) + leaves(&b));
            let vocabulary = testing::vocabulary();
            for child in &children {
                prop_assert!(vocabulary.speaks(child));
            }
            prop_assert!(children.iter().all(|c| limits.admit(c)) || children == [a, b]);
        }
    }

    #[test]
    fn parents_that_cannot_be_crossed_go_on() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let (a, b) = (recrawl_formula::parse("t * X").unwrap(), recrawl_formula::parse("n + 1").unwrap());
        let children = crossover(&a, &b, TreeLimits { depth: 1, nodes: 9 }, &mut rng);
        assert_eq!(children, [a, b]);
    }
}

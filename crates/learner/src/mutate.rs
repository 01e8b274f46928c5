//! The mutations of both papers, and one of constants.

use crate::create;
use crate::tree::{self, TreeLimits};
use crate::vocabulary::Vocabulary;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use recrawl_formula::Expr;

/// Attempts before a tree is left unchanged.
const TRIES: usize = 10;

/// Shrink (thesis section 3.3): a random function node becomes a random leaf. A single leaf stays.
pub fn shrink(expr: &mut Expr, vocabulary: &Vocabulary, rng: &mut ChaCha8Rng) {
    if let Some(place) = tree::random_place(expr, rng, |e| !e.arguments().is_empty()) {
        *tree::at_mut(expr, place) = vocabulary.leaf(rng);
    }
}

/// Node replacement (thesis section 3.3): a random leaf becomes another leaf, or a random function
/// another function with the same arity. If there is no other, nothing happens.
pub fn replace_node(expr: &mut Expr, vocabulary: &Vocabulary, rng: &mut ChaCha8Rng) {
    let place = rng.random_range(0..expr.nodes());
    let node = tree::at_mut(expr, place);
    match node {
        Expr::Call(function, _) => {
            if let Some(other) = vocabulary.other_function(function, rng) {
                *function = other;
            }
        }
        leaf => {
            if let Some(other) = vocabulary.other_leaf(leaf, rng) {
                *leaf = other;
            }
        }
    }
}

/// Swap (journal section 4.1): exchanges two random subtrees, neither within the other. A tree
/// without such a pair within the limits stays.
pub fn swap(expr: &mut Expr, limits: TreeLimits, rng: &mut ChaCha8Rng) {
    for _ in 0..TRIES {
        let nodes = expr.nodes();
        let (a, b) = (rng.random_range(0..nodes), rng.random_range(0..nodes));
        let (left, right) = (a.min(b), a.max(b));
        let (first, second) = (tree::at(expr, left), tree::at(expr, right));
        // The indexes right after the left one are inside it.
        if right < left + first.nodes() || first == second {
            continue;
        }
        let (first, second) = (first.clone(), second.clone());
        let mut swapped = expr.clone();
        // The right one first: this does not shift earlier indexes.
        *tree::at_mut(&mut swapped, right) = first;
        *tree::at_mut(&mut swapped, left) = second;
        if limits.admit(&swapped) {
            *expr = swapped;
            return;
        }
    }
}

/// Replacement (journal section 4.1): a random subtree becomes a new one, grown to `depth` at most.
/// If none is within the limits, nothing happens.
pub fn replace_subtree(
    expr: &mut Expr,
    vocabulary: &Vocabulary,
    depth: usize,
    limits: TreeLimits,
    rng: &mut ChaCha8Rng,
) {
    for _ in 0..TRIES {
        let mut replaced = expr.clone();
        let place = rng.random_range(0..expr.nodes());
        *tree::at_mut(&mut replaced, place) = create::branch(vocabulary, depth, rng);
        if limits.admit(&replaced) {
            *expr = replaced;
            return;
        }
    }
}

/// Nudge (ours): multiplies a random constant by a random factor from ½ to 2 and rounds it to three
/// digits. The papers' constants are decades apart, and a prior needs values in between. A tree
/// without constants stays.
pub fn nudge(expr: &mut Expr, rng: &mut ChaCha8Rng) {
    if let Some(place) = tree::random_place(expr, rng, |e| matches!(e, Expr::Constant(_)))
        && let Expr::Constant(value) = tree::at_mut(expr, place)
    {
        let nudged: f64 =
            format!("{:.2e}", *value * rng.random_range(0.5..2.0)).parse().expect("a number as written");
        if nudged.is_finite() {
            *value = nudged;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use proptest::prelude::*;
    use rand::SeedableRng;
    use recrawl_formula::parse;

    fn leaves(expr: &Expr) -> Vec<String> {
        let mut leaves: Vec<String> = tree::places(expr, |n| n.arguments().is_empty())
            .into_iter()
            .map(|p| tree::at(expr, p).to_string())
            .collect();
        leaves.sort();
        leaves
    }

    proptest! {
        #[test]
        fn every_mutation_stays_within_limits_and_vocabulary(before in testing::trees(6), seed in any::<u64>()) {
            let (vocabulary, limits) = (testing::vocabulary(), TreeLimits { depth: 7, nodes: 100 });
            prop_assume!(limits.admit(&before));
            let rng = &mut ChaCha8Rng::seed_from_u64(seed);
            let mut shrunk = before.clone();
            shrink(&mut shrunk, &vocabulary, rng);
            prop_assert!(shrunk.nodes() < before.nodes() || before.nodes() == 1);
            let mut replaced = before.clone();
            replace_node(&mut replaced, &vocabulary, rng);
            prop_assert_eq!(replaced.nodes(), before.nodes());
            prop_assert_eq!(replaced.depth(), before.depth());
            prop_assert_ne!(&replaced, &before);
            let mut swapped = before.clone();
            swap(&mut swapped, limits, rng);
            prop_assert_eq!(leaves(&swapped), leaves(&before));
            let mut renewed = before.clone();
            replace_subtree(&mut renewed, &vocabulary, 4, limits, rng);
            let mut nudged = before.clone();
            nudge(&mut nudged, rng);
            prop_assert_eq!(nudged.nodes(), before.nodes());
            for after in [shrunk, replaced, swapped, renewed, nudged] {
                prop_assert!(limits.admit(&after) && vocabulary.speaks(&after), "{}", after);
            }
        }
    }

    #[test]
    fn subtrees_that_contain_each_other_are_not_swapped() {
        let rng = &mut ChaCha8Rng::seed_from_u64(6);
        let limits = TreeLimits { depth: 9, nodes: 99 };
        for text in ["t", "log(exp(t))", "t + t"] {
            let mut expr = parse(text).unwrap();
            swap(&mut expr, limits, rng);
            assert_eq!(expr.to_string(), text);
        }
        let mut expr = parse("t - X").unwrap();
        swap(&mut expr, limits, rng);
        assert_eq!(expr.to_string(), "X - t");
    }

    #[test]
    fn a_nudged_constant_stays_near_and_short() {
        let rng = &mut ChaCha8Rng::seed_from_u64(7);
        for _ in 0..100 {
            let mut expr = parse("t * 10").unwrap();
            nudge(&mut expr, rng);
            let Expr::Constant(value) = *tree::at(&expr, 2) else { panic!("{expr}") };
            assert!((5.0..=20.0).contains(&value) && value.to_string().len() <= 4, "{value}");
        }
        let mut zero = parse("0").unwrap();
        nudge(&mut zero, rng);
        assert_eq!(zero, Expr::Constant(0.0));
    }
}

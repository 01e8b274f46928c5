//! Selection of parents by tournaments, and the order of individuals.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use recrawl_formula::Expr;
use std::cmp::Ordering;

/// A tree with its fitness.
#[derive(Clone, Debug, PartialEq)]
pub struct Individual {
    /// The tree.
    pub expr: Expr,
    /// Its fitness on the training part; higher is better.
    pub fitness: f64,
}

impl Individual {
    /// Less is better: the higher fitness first and, with `parsimony`, of equal ones the smaller
    /// tree.
    pub fn order(&self, other: &Individual, parsimony: bool) -> Ordering {
        let size = || if parsimony { self.expr.nodes().cmp(&other.expr.nodes()) } else { Ordering::Equal };
        other.fitness.total_cmp(&self.fitness).then_with(size)
    }
}

/// Draws `size` individuals with replacement; the best wins, of equal ones the one drawn first.
pub fn tournament<'a>(
    population: &'a [Individual],
    size: usize,
    parsimony: bool,
    rng: &mut ChaCha8Rng,
) -> &'a Individual {
    let mut draw = || &population[rng.random_range(0..population.len())];
    let mut winner = draw();
    for _ in 1..size {
        let rival = draw();
        if rival.order(winner, parsimony) == Ordering::Less {
            winner = rival;
        }
    }
    winner
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use recrawl_formula::parse;

    fn individual(text: &str, fitness: f64) -> Individual {
        Individual { expr: parse(text).unwrap(), fitness }
    }

    #[test]
    fn a_tournament_of_two_prefers_the_better_as_often_as_it_should() {
        let population: Vec<_> = (0..10).map(|i| individual("t", f64::from(i))).collect();
        let rng = &mut ChaCha8Rng::seed_from_u64(8);
        let mut wins = [0; 10];
        for _ in 0..10_000 {
            wins[tournament(&population, 2, false, rng).fitness as usize] += 1;
        }
        // The i-th best of ten wins with probability (2i + 1) / 100.
        for (i, &won) in wins.iter().enumerate() {
            let expected = 100 * (2 * i as i64 + 1);
            assert!((i64::from(won) - expected).abs() < 40 + expected / 5, "{i}: {won} of {expected}");
        }
    }

    #[test]
    fn of_equals_the_smaller_wins_where_asked() {
        let (small, large) = (individual("t", 0.5), individual("t + 1", 0.5));
        assert_eq!(small.order(&large, true), Ordering::Less);
        assert_eq!(small.order(&large, false), Ordering::Equal);
        assert_eq!(large.order(&individual("t", 0.4), true), Ordering::Less);
    }
}

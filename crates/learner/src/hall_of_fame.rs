//! The best formulas of a run: those kept for validation, and the Pareto front of fitness and size.

use crate::memo;
use crate::select::Individual;
use recrawl_formula::{Protection, simplify};
use std::cmp::Ordering;

/// The N_b best individuals over all generations (B_t of algorithm 1 of the thesis), each formula
/// once.
#[derive(Clone, Debug, PartialEq)]
pub struct HallOfFame {
    most: usize,
    /// Best first; of equal ones the smaller, then the earlier.
    best: Vec<(String, Individual)>,
}

impl HallOfFame {
    /// Keeps at most `most` individuals.
    pub fn new(most: usize) -> HallOfFame {
        HallOfFame { most, best: Vec::new() }
    }

    /// Keeps the individual if it is among the best and its formula is not yet kept.
    pub fn offer(&mut self, individual: &Individual, protection: Protection) {
        let full = self.best.len() >= self.most;
        if full && self.best.last().is_none_or(|(_, last)| individual.order(last, true) != Ordering::Less) {
            return;
        }
        let key = memo::key(&individual.expr, protection);
        if let Some(there) = self.best.iter().position(|(known, _)| *known == key) {
            // Fewer nodes replace the same formula.
            if individual.order(&self.best[there].1, true) != Ordering::Less {
                return;
            }
            self.best.remove(there);
        }
        let place = self.best.partition_point(|(_, b)| b.order(individual, true) != Ordering::Greater);
        self.best.insert(place, (key, individual.clone()));
        self.best.truncate(self.most);
    }

    /// The kept individuals, best first.
    pub fn best(&self) -> impl Iterator<Item = &Individual> {
        self.best.iter().map(|(_, individual)| individual)
    }
}

/// The Pareto front, simplified: no other individual has at least the same fitness with fewer
/// nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Front {
    /// By size, and so by fitness, both ascending.
    points: Vec<Individual>,
}

impl Front {
    /// Adds the individual if it belongs to the front, and removes the points that it dominates.
    pub fn offer(&mut self, individual: &Individual, protection: Protection) {
        // Skip the simplification of dominated individuals, which are most.
        let least = self.points.partition_point(|p| p.fitness < individual.fitness);
        let expr = match self.points.get(least) {
            Some(point) if point.expr.nodes() == 1 => return,
            _ => simplify(&individual.expr, protection),
        };
        let nodes = expr.nodes();
        if self.points.iter().any(|p| p.expr.nodes() <= nodes && p.fitness >= individual.fitness) {
            return;
        }
        self.points.retain(|p| p.expr.nodes() < nodes || p.fitness > individual.fitness);
        let place = self.points.partition_point(|p| p.expr.nodes() < nodes);
        self.points.insert(place, Individual { expr, fitness: individual.fitness });
    }

    /// The points, smallest first.
    pub fn points(&self) -> &[Individual] {
        &self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use recrawl_formula::{Expr, parse};

    const PROTECTION: Protection = Protection::Program;

    fn individual(text: &str, fitness: f64) -> Individual {
        Individual { expr: parse(text).unwrap(), fitness }
    }

    #[test]
    fn each_formula_is_kept_once_in_its_smallest_form() {
        let mut kept = HallOfFame::new(3);
        for (text, fitness) in
            [("t * X * 1", 0.5), ("X * t", 0.5), ("n", 0.1), ("t", 0.3), ("t + 1 - n", 0.3), ("X", 0.2)]
        {
            kept.offer(&individual(text, fitness), PROTECTION);
        }
        let texts: Vec<String> = kept.best().map(|i| i.expr.to_string()).collect();
        assert_eq!(texts, ["X * t", "t", "t + 1 - n"]);
    }

    /// An expression with this odd number of nodes.
    fn sized(nodes: usize) -> Expr {
        (1..nodes.div_ceil(2))
            .fold(parse("t").unwrap(), |expr, _| Expr::named("div", vec![expr, parse("X").unwrap()]))
    }

    proptest! {
        #[test]
        fn the_front_is_what_nothing_dominates(points in prop::collection::vec((1usize..15, 0u8..9), 0..40)) {
            let mut front = Front::default();
            let all: Vec<Individual> = points.iter()
                .map(|&(nodes, fitness)| Individual { expr: sized(nodes), fitness: f64::from(fitness) }).collect();
            all.iter().for_each(|i| front.offer(i, PROTECTION));
            let mut expected: Vec<(usize, f64)> = all.iter().map(|i| (i.expr.nodes(), i.fitness)).collect();
            let everything = expected.clone();
            expected.retain(|a| !everything.iter().any(|b| b != a && b.0 <= a.0 && b.1 >= a.1));
            expected.sort_by(|a, b| a.partial_cmp(b).unwrap());
            expected.dedup();
            let found: Vec<(usize, f64)> = front.points().iter().map(|p| (p.expr.nodes(), p.fitness)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}

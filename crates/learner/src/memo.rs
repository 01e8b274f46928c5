//! A cache of fitness values: most formulas of a population occurred before.

use crate::evaluate::Evaluate;
use crate::fitness::mean;
use crate::tree;
use crate::work::Work;
use recrawl_formula::{Expr, Protection, simplify};
use std::collections::HashMap;

/// The text of an expression's simplified form, with sums and products in one order. Expressions
/// with the same text have the same score on every page, bit for bit (NaN for NaN), and so the same
/// schedules.
pub fn key(expr: &Expr, protection: Protection) -> String {
    tree::in_order(&simplify(expr, protection)).to_string()
}

/// Evaluates each formula only once.
pub struct Memo<'a> {
    evaluator: &'a dyn Evaluate,
    protection: Protection,
    known: HashMap<String, f64>,
    work: Work,
}

impl<'a> Memo<'a> {
    /// Maximum cached formulas; later ones are evaluated each time.
    pub const MOST: usize = 1 << 20;

    /// An empty cache.
    pub fn new(evaluator: &'a dyn Evaluate, protection: Protection) -> Memo<'a> {
        Memo { evaluator, protection, known: HashMap::new(), work: Work::default() }
    }

    /// The fitness of each expression: the mean over the cycles.
    pub fn fitness(&mut self, exprs: &[Expr]) -> Vec<f64> {
        let keys: Vec<String> = exprs.iter().map(|e| key(e, self.protection)).collect();
        let mut batch: HashMap<&str, usize> = HashMap::new();
        let mut new = Vec::new();
        for (expr, key) in exprs.iter().zip(&keys).filter(|(_, key)| !self.known.contains_key(*key)) {
            batch.entry(key).or_insert_with(|| {
                new.push(expr.clone());
                new.len() - 1
            });
        }
        let values: Vec<f64> = self.evaluator.evaluate(&new).iter().map(|cycles| mean(cycles)).collect();
        debug_assert!(values.iter().all(|v| v.is_finite()), "fitness is finite");
        let fitness = keys.iter().map(|key| match batch.get(key.as_str()) {
            Some(&place) => values[place],
            None => self.known[key],
        });
        let fitness: Vec<f64> = fitness.collect();
        self.work.asked += exprs.len() as u64;
        self.work.replayed += new.len() as u64;
        let room = Self::MOST - self.known.len();
        let learned: Vec<(String, f64)> =
            batch.into_iter().take(room).map(|(key, place)| (key.to_owned(), values[place])).collect();
        self.known.extend(learned);
        fitness
    }

    /// Counters of requested and evaluated formulas.
    pub fn work(&self) -> Work {
        self.work
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_formula::parse;
    use std::sync::Mutex;

    /// The number of nodes as fitness; records its calls.
    struct Nodes(Mutex<Vec<String>>);

    impl Evaluate for Nodes {
        fn evaluate(&self, exprs: &[Expr]) -> Vec<Vec<f64>> {
            self.0.lock().unwrap().extend(exprs.iter().map(Expr::to_string));
            exprs.iter().map(|e| vec![e.nodes() as f64, 0.0]).collect()
        }

        fn work(&self) -> Work {
            Work::default()
        }
    }

    #[test]
    fn each_formula_is_evaluated_once() {
        let nodes = Nodes(Mutex::new(Vec::new()));
        let mut memo = Memo::new(&nodes, Protection::Program);
        let exprs: Vec<Expr> =
            ["t * X", "X * t", "t * X * 1", "t / X"].iter().map(|t| parse(t).unwrap()).collect();
        assert_eq!(memo.fitness(&exprs), [1.5, 1.5, 1.5, 1.5]);
        assert_eq!(memo.fitness(&exprs[1..]), [1.5; 3]);
        assert_eq!(*nodes.0.lock().unwrap(), ["t * X", "t / X"]);
        assert_eq!((memo.work().asked, memo.work().replayed), (7, 2));
    }
}

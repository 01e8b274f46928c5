//! One run: a population, generation by generation (algorithm 1 of the thesis, lines 1 to 8).

use crate::hall_of_fame::{Front, HallOfFame};
use crate::memo::Memo;
use crate::preset::Preset;
use crate::select::{Individual, tournament};
use crate::vocabulary::Vocabulary;
use crate::{create, crossover, mutate};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use recrawl_formula::Expr;
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::HashSet;

/// Attempts to breed a child that the generation does not have yet.
const TRIES: usize = 8;

/// A run between two generations. It is the complete state: each generation has its own random
/// stream.
#[derive(Clone, Debug, PartialEq)]
pub struct EvolutionRun {
    /// The random seed.
    pub seed: u64,
    /// The next generation to evaluate, from 0.
    pub generation: u32,
    /// Its trees; empty after the last generation.
    pub population: Vec<Expr>,
    /// The best individuals so far.
    pub kept: HallOfFame,
    /// The Pareto front so far.
    pub front: Front,
    /// Figures of the generations so far.
    pub history: Vec<EvolvedGeneration>,
}

/// The figures of one generation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EvolvedGeneration {
    /// The best fitness on the training part.
    pub best: f64,
    /// The mean fitness.
    pub mean: f64,
    /// The mean number of nodes.
    pub nodes: f64,
}

impl EvolutionRun {
    /// Creates the first generation: the start trees, then ramped half-and-half.
    pub fn new(preset: &Preset, vocabulary: &Vocabulary, start: &[Expr], seed: u64) -> EvolutionRun {
        let size = preset.population.size;
        let rng = &mut stream(seed, 0);
        let mut population: Vec<Expr> = start.iter().take(size).cloned().collect();
        let rest = size - population.len();
        population.extend(create::ramped(vocabulary, rest, preset.tree.depth_created, preset.limits(), rng));
        let kept = HallOfFame::new(preset.selection.kept);
        EvolutionRun { seed, generation: 0, population, kept, front: Front::default(), history: Vec::new() }
    }

    /// Whether the last generation has been evaluated.
    pub fn is_done(&self) -> bool {
        self.population.is_empty()
    }

    /// Ends it before its last generation.
    pub fn end(&mut self) {
        self.population.clear();
    }

    /// Evaluates the generation and breeds the next.
    pub fn step(&mut self, preset: &Preset, vocabulary: &Vocabulary, memo: &mut Memo<'_>) {
        let exprs = std::mem::take(&mut self.population);
        let fitness = memo.fitness(&exprs);
        let population: Vec<Individual> =
            exprs.into_iter().zip(fitness).map(|(expr, fitness)| Individual { expr, fitness }).collect();
        for individual in &population {
            self.kept.offer(individual, preset.protection);
            self.front.offer(individual, preset.protection);
        }
        self.history.push(figures(&population));
        self.generation += 1;
        if self.generation < preset.population.generations {
            let rng = &mut stream(self.seed, self.generation);
            self.population = Breeder { preset, vocabulary, parents: &population }.next_generation(rng);
        }
    }
}

/// The random stream for breeding a generation.
fn stream(seed: u64, generation: u32) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(generation.into());
    rng
}

fn figures(population: &[Individual]) -> EvolvedGeneration {
    let mean =
        |value: fn(&Individual) -> f64| population.iter().map(value).sum::<f64>() / population.len() as f64;
    EvolvedGeneration {
        best: population.iter().map(|i| i.fitness).fold(f64::NEG_INFINITY, f64::max),
        mean: mean(|i| i.fitness),
        nodes: mean(|i| i.expr.nodes() as f64),
    }
}

struct Breeder<'a> {
    preset: &'a Preset,
    vocabulary: &'a Vocabulary,
    parents: &'a [Individual],
}

impl Breeder<'_> {
    fn next_generation(&self, rng: &mut ChaCha8Rng) -> Vec<Expr> {
        let size = self.preset.population.size;
        let mut next = self.elite();
        let mut there: HashSet<String> = next.iter().map(Expr::to_string).collect();
        let (mut tries, mut created) = (0, 0);
        while next.len() < size {
            for mut child in self.breed(&mut created, rng) {
                self.mutate(&mut child, rng);
                if self.preset.breeding.unique && !there.insert(child.to_string()) && tries < TRIES {
                    tries += 1;
                    continue;
                }
                tries = 0;
                next.push(child);
            }
        }
        next.truncate(size);
        next
    }

    /// The best individuals, which survive unchanged; with `unique`, no tree twice.
    fn elite(&self) -> Vec<Expr> {
        let mut order: Vec<usize> = (0..self.parents.len()).collect();
        let parsimony = self.preset.breeding.parsimony;
        order.sort_by(|&a, &b| match self.parents[a].order(&self.parents[b], parsimony) {
            Ordering::Equal => a.cmp(&b),
            order => order,
        });
        let mut elite: Vec<Expr> = Vec::new();
        for expr in order.into_iter().map(|i| &self.parents[i].expr) {
            if elite.len() == self.preset.breeding.elite {
                break;
            }
            if !self.preset.breeding.unique || !elite.contains(expr) {
                elite.push(expr.clone());
            }
        }
        elite
    }

    /// The children of one event: new, crossover or reproduction, with probabilities proportional
    /// to their rates.
    fn breed(&self, created: &mut usize, rng: &mut ChaCha8Rng) -> Vec<Expr> {
        let (rates, tree) = (&self.preset.breeding, &self.preset.tree);
        let dice = rng.random_range(0.0..rates.new + rates.crossover + rates.reproduction);
        if dice < rates.new {
            let depth = create::ramp(*created, tree.depth_created);
            *created += 1;
            vec![create::grow(self.vocabulary, depth, self.preset.limits(), rng)]
        } else if dice < rates.new + rates.crossover {
            let [first, second] = [self.winner(rng), self.winner(rng)];
            let children = crossover::crossover(first, second, self.preset.limits_of_crossover(), rng);
            children.into_iter().take(rates.offspring).collect()
        } else {
            vec![self.winner(rng).clone()]
        }
    }

    fn winner(&self, rng: &mut ChaCha8Rng) -> &Expr {
        let rates = &self.preset.breeding;
        &tournament(self.parents, rates.tournament, rates.parsimony, rng).expr
    }

    fn mutate(&self, child: &mut Expr, rng: &mut ChaCha8Rng) {
        let (rates, limits) = (&self.preset.mutation, self.preset.limits());
        if rng.random_bool(rates.node_replacement) {
            mutate::replace_node(child, self.vocabulary, rng);
        }
        if rng.random_bool(rates.shrink) {
            mutate::shrink(child, self.vocabulary, rng);
        }
        if rng.random_bool(rates.swap) {
            mutate::swap(child, limits, rng);
        }
        if rng.random_bool(rates.replacement) {
            mutate::replace_subtree(child, self.vocabulary, self.preset.tree.depth_replacement, limits, rng);
        }
        if rng.random_bool(rates.nudge) {
            mutate::nudge(child, rng);
        }
        debug_assert!(limits.admit(child), "{child}");
    }
}

#[cfg(test)]
mod tests;

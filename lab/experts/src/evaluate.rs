//! Measures methods on a sliding window: accuracy of a page over its windows, then over pages.

mod target;
#[cfg(test)]
mod tests;

use crate::features::PageFeatures;
use crate::related::{self, RelatedPages, RelatedSearch};
use crate::series::{self, Window};
use crate::similarity::Delays;
use crate::{FixedPages, PredictionMethod, Relation};
use rayon::prelude::*;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use target::PredictedPage;

/// What is predicted, and from what.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentSettings {
    /// Number of examples of a window: n of the paper, there 50.
    pub days: u32,
    /// Number of days from which the first prediction is made: at least `days`. Equal values make windows of different
    /// lengths predict the same days.
    pub first_days: u32,
    /// Predictions are made from every `every`-th day.
    pub every: u32,
    /// Days between two searches for related pages and C. Each search reads the window of its first day.
    pub refresh: u32,
    /// Maximum related pages: k of the paper, there 20.
    pub experts: usize,
    /// Machines of bagging and boosting.
    pub members: usize,
    /// Delays of the cross-correlation.
    pub delays: Delays,
    /// The seed of coins, samples and random experts.
    pub seed: u64,
    /// The methods.
    pub methods: Vec<PredictionMethod>,
    /// Pairs of a page and one that is known to run ahead of it, ascending; empty for recorded data.
    pub planted: Vec<(u32, u32)>,
}

/// How well the methods did.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodOutcome {
    /// For each method the accuracy of each target.
    pub accuracies: Vec<Vec<f64>>,
    /// Number of windows of each target.
    pub windows: usize,
    /// Windows whose examples are of one class; all methods then predict that class.
    pub one_class: u64,
    /// Share of the predicted steps that are changes.
    pub changes: f64,
    /// What each relation of the methods found.
    pub related: Vec<RelationPages>,
    /// Machines that did not reach their tolerance, of all trained for a vote.
    pub unconverged: u64,
    /// Machines trained for a vote of an expert or of the union.
    pub machines: u64,
}

/// The related pages that a relation found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RelationPages {
    /// The relation.
    pub relation: Relation,
    /// Mean number of related pages of a target.
    pub pages: f64,
    /// Share of the planted pages that are among them; none if none are planted for the targets.
    pub recall: Option<f64>,
}

/// Counts of trainings, of all threads.
#[derive(Default)]
struct Trainings {
    all: AtomicU64,
    unconverged: AtomicU64,
}

/// Right predictions of a target: for each method, and the numbers of windows of one class and of changes.
#[derive(Clone, Default)]
struct PredictionTally {
    right: Vec<u32>,
    one_class: u32,
    changes: u32,
}

/// Measures the methods on the targets, which ascend. The result does not depend on the number of threads.
///
/// # Errors
/// If there is no target, no day to predict, or a relation needs texts and the recording has none.
pub fn evaluate(
    recording: &FixedPages,
    targets: &[u32],
    settings: &ExperimentSettings,
) -> Result<MethodOutcome, String> {
    let todays: Vec<u32> = series::todays(recording.last, settings.first_days, settings.every).collect();
    if targets.is_empty() {
        return Err("no page is left to predict; use a lower --alpha or another --change".into());
    }
    if todays.is_empty() {
        let needed = settings.first_days + Window::LEAD + 1;
        return Err(format!(
            "{} days after the first: at least {needed} are needed for a window; use fewer training days",
            recording.last
        ));
    }
    let mut relations: Vec<Relation> = Vec::new();
    for relation in settings.methods.iter().filter_map(|method| method.relation()) {
        if !relations.contains(&relation) {
            relations.push(relation);
        }
    }
    if let Some(relation) = relations.iter().find(|relation| relation.needs_texts() && !recording.has_texts) {
        return Err(format!("related pages by {relation} need the texts of the pages"));
    }
    let features: Vec<OnceLock<PageFeatures>> = recording.pages.iter().map(|_| OnceLock::new()).collect();
    let trainings = Trainings::default();
    let mut tallies =
        vec![
            PredictionTally { right: vec![0; settings.methods.len()], ..PredictionTally::default() };
            targets.len()
        ];
    let mut found = vec![(0, 0); relations.len()];
    let mut planted = 0;
    let mut blocks = 0;
    for block in todays.chunk_by(|a, b| {
        let number = |today: &u32| (today - todays[0]) / settings.refresh;
        number(a) == number(b)
    }) {
        blocks += 1;
        let search = RelatedSearch {
            today: block[0],
            days: settings.days,
            count: settings.experts,
            delays: settings.delays,
            seed: settings.seed,
        };
        let related: Vec<Vec<RelatedPages>> =
            relations.iter().map(|&relation| related::find(recording, relation, targets, search)).collect();
        for ((pages, recalled), related) in found.iter_mut().zip(&related) {
            for (&target, related) in targets.iter().zip(related) {
                *pages += related.others.len();
                let is_planted =
                    |other: &&(u32, f64)| settings.planted.binary_search(&(target, other.0)).is_ok();
                *recalled += related.others.iter().filter(is_planted).count();
            }
        }
        planted += settings.planted.iter().filter(|pair| targets.binary_search(&pair.0).is_ok()).count();
        tallies.par_iter_mut().enumerate().for_each(|(place, tally)| {
            let of_target =
                relations.iter().zip(&related).map(|(&relation, of)| (relation, &of[place])).collect();
            let mut target = PredictedPage::new(
                recording,
                settings,
                &features,
                &trainings,
                targets[place],
                of_target,
                block,
            );
            block.iter().for_each(|&today| target.predict(today, tally));
        });
    }
    let windows = todays.len();
    let sum = |of: fn(&PredictionTally) -> u32| tallies.iter().map(|tally| u64::from(of(tally))).sum::<u64>();
    let accuracy = |method: usize| {
        tallies.iter().map(|tally| f64::from(tally.right[method]) / windows as f64).collect::<Vec<f64>>()
    };
    let found = relations.iter().zip(found).map(|(&relation, (pages, recalled))| RelationPages {
        relation,
        pages: pages as f64 / (targets.len() * blocks) as f64,
        recall: (planted > 0).then(|| recalled as f64 / planted as f64),
    });
    Ok(MethodOutcome {
        accuracies: (0..settings.methods.len()).map(accuracy).collect(),
        windows,
        one_class: sum(|tally| tally.one_class),
        changes: sum(|tally| tally.changes) as f64 / (windows * targets.len()) as f64,
        related: found.collect(),
        unconverged: trainings.unconverged.load(Ordering::Relaxed),
        machines: trainings.all.load(Ordering::Relaxed),
    })
}

//! The predictions of one page.

use super::{ExperimentSettings, PredictionTally, Trainings};
use crate::draws::{Purpose, stream};
use crate::ensemble::{self, Sampling};
use crate::features::{PageFeatures, PairFeatures};
use crate::related::RelatedPages;
use crate::series::Window;
use crate::svm::{self, Gram, Machine};
use crate::{FixedPages, PredictionMethod, Relation};
use rand::RngExt;
use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

/// A page that is predicted over a block of days, with the related pages found before the block.
pub struct PredictedPage<'a> {
    recording: &'a FixedPages,
    settings: &'a ExperimentSettings,
    features: &'a [OnceLock<PageFeatures>],
    trainings: &'a Trainings,
    page: u32,
    related: Vec<(Relation, &'a RelatedPages)>,
    /// The features of the page with each related page.
    pairs: HashMap<u32, PairFeatures>,
    /// C of the machines, chosen on the block's first window.
    costs: HashMap<TrainedOn, f64>,
}

/// What a machine is trained on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum TrainedOn {
    Page(u32),
    Union(Relation),
}

/// What the methods share of a window.
struct WindowRound<'a> {
    window: Window,
    classes: &'a [bool],
    grams: HashMap<u32, Gram>,
    kernels: HashMap<Relation, (Gram, f64)>,
    votes: HashMap<u32, bool>,
}

impl<'a> PredictedPage<'a> {
    pub fn new(
        recording: &'a FixedPages,
        settings: &'a ExperimentSettings,
        features: &'a [OnceLock<PageFeatures>],
        trainings: &'a Trainings,
        page: u32,
        related: Vec<(Relation, &'a RelatedPages)>,
        block: &[u32],
    ) -> PredictedPage<'a> {
        let days = block[0] - settings.days..=block[block.len() - 1];
        let mut pairs = HashMap::new();
        for &(other, _) in related.iter().flat_map(|(_, related)| &related.others) {
            pairs.entry(other).or_insert_with(|| PairFeatures::compute(recording, page, other, days.clone()));
        }
        PredictedPage {
            recording,
            settings,
            features,
            trainings,
            page,
            related,
            pairs,
            costs: HashMap::new(),
        }
    }

    /// Predicts the step after today by each method, and counts what is right.
    pub fn predict(&mut self, today: u32, tally: &mut PredictionTally) {
        let recorded = &self.recording.pages[self.page as usize];
        let window = Window { today, days: self.settings.days };
        let classes = window.classes(&recorded.observed);
        let is_change = recorded.changed[today as usize + 1];
        tally.changes += u32::from(is_change);
        let changes = classes.iter().filter(|&&class| class).count();
        let is_one_class = changes == 0 || changes == classes.len();
        tally.one_class += u32::from(is_one_class);
        let mut round = WindowRound {
            window,
            classes,
            grams: HashMap::new(),
            kernels: HashMap::new(),
            votes: HashMap::new(),
        };
        let settings = self.settings;
        for (&method, right) in settings.methods.iter().zip(&mut tally.right) {
            // A window of one class leaves nothing to learn.
            let predicted = if is_one_class { classes[0] } else { self.by(method, changes, &mut round) };
            *right += u32::from(predicted == is_change);
        }
    }

    fn by(&mut self, method: PredictionMethod, changes: usize, round: &mut WindowRound<'_>) -> bool {
        let today = round.window.today;
        let examples = round.classes.len();
        match method {
            PredictionMethod::Coin => {
                // A stream for each page and day: the threads may come in any order.
                let mut source = stream(self.settings.seed, Purpose::Coins, u64::from(self.page), today);
                source.random::<f64>() < changes as f64 / examples as f64
            }
            PredictionMethod::Majority => match (2 * changes).cmp(&examples) {
                std::cmp::Ordering::Equal => round.classes[examples - 1],
                order => order.is_gt(),
            },
            PredictionMethod::Last => round.classes[examples - 1],
            PredictionMethod::Single => self.vote(self.page, round),
            PredictionMethod::Experts(relation, count) => {
                let own = self.vote(self.page, round);
                let related = self.related_by(relation);
                let others: Vec<(bool, f64)> = related
                    .others
                    .iter()
                    .take(count)
                    .map(|&(page, weight)| (self.vote(page, round), weight))
                    .collect();
                ensemble::vote([(own, related.own)].into_iter().chain(others), own)
            }
            PredictionMethod::Union(relation) => {
                let classes = round.classes;
                let (kernel, cost) = self.union(relation, round);
                self.decide(kernel, classes, *cost)
            }
            PredictionMethod::Bagging(relation) | PredictionMethod::Boosting(relation) => {
                let sampling = Sampling {
                    seed: self.settings.seed,
                    page: self.page,
                    today,
                    members: self.settings.members,
                };
                let classes = round.classes;
                let (kernel, cost) = self.union(relation, round);
                match method {
                    PredictionMethod::Bagging(_) => ensemble::bagging(kernel, classes, *cost, sampling),
                    _ => ensemble::boosting(kernel, classes, *cost, sampling),
                }
            }
        }
    }

    fn related_by(&self, relation: Relation) -> &'a RelatedPages {
        let found = self.related.iter().find(|(of, _)| *of == relation);
        found.expect("related pages are found for the relation of each method").1
    }

    /// What the expert of a page predicts: its features, the target's classes.
    fn vote(&mut self, page: u32, round: &mut WindowRound<'_>) -> bool {
        if let Some(&vote) = round.votes.get(&page) {
            return vote;
        }
        let kernel = self.gram(page, round).polynomial();
        let cost =
            *self.costs.entry(TrainedOn::Page(page)).or_insert_with(|| svm::tuned(&kernel, round.classes));
        let vote = self.decide(&kernel, round.classes, cost);
        round.votes.insert(page, vote);
        vote
    }

    fn decide(&self, kernel: &Gram, classes: &[bool], cost: f64) -> bool {
        let machine = Machine::train(kernel, classes, &vec![cost; classes.len()]);
        self.trainings.all.fetch_add(1, Ordering::Relaxed);
        self.trainings.unconverged.fetch_add(u64::from(!machine.converged), Ordering::Relaxed);
        machine.decide(kernel.row(kernel.examples)) > 0.0
    }

    /// The features of a page as an expert: its own, and those of the pair unless it is the target itself.
    fn gram<'r>(&self, page: u32, round: &'r mut WindowRound<'_>) -> &'r Gram {
        let window = round.window;
        round.grams.entry(page).or_insert_with(|| {
            let features = self.features[page as usize].get_or_init(|| {
                PageFeatures::compute(&self.recording.pages[page as usize], self.settings.days)
            });
            let mut gram = features.gram(window);
            if let Some(pair) = self.pairs.get(&page) {
                pair.add(&mut gram, window);
            }
            gram
        })
    }

    /// The kernel of the features of the target and all its related pages, and C.
    fn union<'r>(&mut self, relation: Relation, round: &'r mut WindowRound<'_>) -> &'r (Gram, f64) {
        if !round.kernels.contains_key(&relation) {
            let mut sum = self.gram(self.page, round).clone();
            for &(page, _) in &self.related_by(relation).others {
                sum.add(self.gram(page, round));
            }
            let kernel = sum.polynomial();
            let classes = round.classes;
            let cost =
                *self.costs.entry(TrainedOn::Union(relation)).or_insert_with(|| svm::tuned(&kernel, classes));
            round.kernels.insert(relation, (kernel, cost));
        }
        &round.kernels[&relation]
    }
}

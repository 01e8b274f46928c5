//! An experiment from a data set to its tables.

mod text;

pub use text::render;

use crate::crawl;
use crate::evaluate::{ExperimentSettings, MethodOutcome, RelationPages, evaluate};
use crate::series::{self, Alpha};
use crate::significance::Significance;
use crate::similarity::Delays;
use crate::{FixedPages, PagesLeft, PredictionMethod, Relation};
use recrawl_formula::math::student;
use recrawl_simulation::Dataset;
use serde::Serialize;

/// A setting of the paper: what a prediction may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// The page's changes.
    OneD,
    /// The page's features.
    TwoD,
    /// The features of the page and of related pages.
    ThreeD,
}

/// How the features of related pages are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combination {
    /// One machine a page, weighted votes.
    Experts,
    /// One machine on all features.
    Union,
    /// Machines on samples.
    Bagging,
    /// AdaBoost.
    Boosting,
}

/// What an experiment does.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentOptions {
    /// Which changes count.
    pub significance: Significance,
    /// Which pages are predicted.
    pub alpha: Alpha,
    /// Maximum pages to predict, drawn by the seed.
    pub pages: Option<usize>,
    /// The settings.
    pub settings: Vec<Setting>,
    /// The combinations of related pages.
    pub combinations: Vec<Combination>,
    /// The relations. All are used by experts; the other combinations use the cross-correlation or, without it, the
    /// first.
    pub relations: Vec<Relation>,
    /// Training days.
    pub days: u32,
    /// Maximum related pages.
    pub experts: usize,
    /// Predict from every such day.
    pub every: u32,
    /// Days between searches of related pages.
    pub refresh: u32,
    /// Delays of the cross-correlation.
    pub delays: Delays,
    /// Probability that an observed change bit is flipped.
    pub flips: f64,
    /// The seed of all draws.
    pub seed: u64,
    /// Whether accuracies by training days and number of experts, and freshness of crawls, are measured too.
    pub figures: bool,
    /// Planted relations of generated data: pairs of a page and its expert, by their place in the data set.
    pub planted: Vec<(u32, u32)>,
}

/// The results of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExperimentReport {
    /// The data set.
    pub data: String,
    /// Which changes count.
    pub change: String,
    /// Whether the pages have texts.
    pub texts: bool,
    /// Pages left by the filters.
    pub pages: PagesLeft,
    /// The least share of steps at which a kept page's change bit differs from the one before.
    pub alpha: f64,
    /// Pages that have it.
    pub kept: usize,
    /// Pages that are predicted, after thinning.
    pub predicted: usize,
    /// Training days.
    pub days: u32,
    /// Maximum related pages.
    pub experts: usize,
    /// Machines of bagging and boosting.
    pub members: usize,
    /// Predictions are made from every such day.
    pub every: u32,
    /// Days between searches of related pages.
    pub refresh: u32,
    /// Least and greatest delay of the cross-correlation in days.
    pub delays: (u32, u32),
    /// Probability that an observed change bit was flipped.
    pub flips: f64,
    /// The seed.
    pub random_seed: u64,
    /// Windows of a page.
    pub windows: usize,
    /// Share of the predicted steps that are changes.
    pub changes: f64,
    /// Share of the windows whose examples are of one class.
    pub one_class: f64,
    /// Mean number of related pages that each relation finds.
    pub related: Vec<RelationShare>,
    /// The URLs or names of the predicted pages.
    pub targets: Vec<String>,
    /// The methods.
    pub methods: Vec<MethodReport>,
    /// Machines trained for votes, and those of them that did not reach their tolerance.
    pub machines: (u64, u64),
    /// Accuracies by training days (figure 6 of the paper).
    pub by_days: Vec<Point>,
    /// Accuracies by number of experts (figure 7).
    pub by_experts: Vec<Point>,
    /// Freshness of crawls by the last day of each ten (figure 8).
    pub freshness: Vec<Point>,
}

/// How many pages a relation finds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RelationShare {
    /// Its name.
    pub relation: String,
    /// Mean over pages and searches.
    pub pages: f64,
    /// Share of the planted pages among them; none in recorded data.
    pub recall: Option<f64>,
}

/// The results of a method.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MethodReport {
    /// Its name.
    pub name: String,
    /// Accuracy of a page over its windows, then over pages.
    pub accuracy: f64,
    /// Two-sided p of a paired t-test over pages against the first method of experts; none for itself, or without it.
    pub p_against_experts: Option<f64>,
    /// The same against the majority.
    pub p_against_majority: Option<f64>,
    /// The accuracy of each of the targets.
    pub pages: Vec<f64>,
}

/// A point of a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Training days, experts, or days of a crawl.
    pub at: u32,
    /// Names of methods and their accuracies or freshness, from 0 to 1.
    pub accuracies: Vec<(String, f64)>,
}

impl RelationShare {
    fn from_found(found: &RelationPages) -> RelationShare {
        RelationShare { relation: found.relation.to_string(), pages: found.pages, recall: found.recall }
    }
}

/// Training days of figure 6.
const DAYS: [u32; 5] = [10, 20, 30, 40, 50];
/// Share of the pages that a crawl visits a day (section 8.3).
const CRAWLED: f64 = 0.1;
/// Numbers of experts of figure 7.
const COUNTS: [usize; 7] = [1, 2, 5, 10, 20, 35, 50];

/// Two-sided p of a paired t-test; 1 if the means are equal, 0 if all pairs differ by the same. None for fewer than two
/// pairs.
pub fn paired_p(a: &[f64], b: &[f64]) -> Option<f64> {
    let count = a.len() as f64;
    if count < 2.0 {
        return None;
    }
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let mean = differences.iter().sum::<f64>() / count;
    let variance = differences.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / (count - 1.0);
    Some(match mean == 0.0 {
        true => 1.0,
        false => student::p_value(mean * mean * count / variance, count - 1.0),
    })
}

/// Runs an experiment.
///
/// # Errors
/// If the data lack what it needs, or nothing is left to predict.
pub fn run(data: &Dataset, options: &ExperimentOptions) -> Result<ExperimentReport, String> {
    let (mut recording, pages) = FixedPages::from_dataset(data, options.significance)?;
    let (kept, alpha) = series::kept(&recording, options.alpha);
    let targets = series::thinned(&kept, options.pages, options.seed);
    // After the pages were chosen: with and without flips, the same ones are predicted.
    if options.flips > 0.0 {
        recording.flip(options.flips, options.seed);
    }
    let mut settings = options.settings();
    settings.planted = recording.places(&options.planted);
    let outcome = evaluate(&recording, &targets, &settings)?;
    let (mut by_days, mut by_experts, mut freshness) = (Vec::new(), Vec::new(), Vec::new());
    if options.figures {
        by_days = options.by_days(&recording, &targets)?;
        by_experts = options.by_experts(&recording, &targets)?;
        freshness = options.freshness(&recording, &targets)?;
    }
    let delays = match options.delays {
        Delays::Printed => (1, options.days - 1),
        Delays::Quarter => (0, options.days / 4),
    };
    Ok(ExperimentReport {
        data: data.name.clone(),
        change: options.significance.to_string(),
        texts: recording.has_texts,
        pages,
        alpha,
        kept: kept.len(),
        predicted: targets.len(),
        days: options.days,
        experts: options.experts,
        members: settings.members,
        every: options.every,
        refresh: options.refresh,
        delays,
        flips: options.flips,
        random_seed: options.seed,
        windows: outcome.windows,
        changes: outcome.changes,
        one_class: outcome.one_class as f64 / (outcome.windows * targets.len()) as f64,
        related: outcome.related.iter().map(RelationShare::from_found).collect(),
        targets: targets.iter().map(|&page| recording.pages[page as usize].name.to_string()).collect(),
        methods: methods(&settings.methods, &outcome),
        machines: (outcome.machines, outcome.unconverged),
        by_days,
        by_experts,
        freshness,
    })
}

fn methods(methods: &[PredictionMethod], outcome: &MethodOutcome) -> Vec<MethodReport> {
    let place = |is: fn(&PredictionMethod) -> bool| methods.iter().position(is);
    let experts = place(
        |method| matches!(method, PredictionMethod::Experts(relation, _) if *relation != Relation::Random),
    );
    let majority = place(|method| *method == PredictionMethod::Majority);
    let against = |place: usize, other: Option<usize>| {
        other
            .filter(|&other| other != place)
            .and_then(|other| paired_p(&outcome.accuracies[place], &outcome.accuracies[other]))
    };
    let report = |(place, method): (usize, &PredictionMethod)| MethodReport {
        name: method.to_string(),
        accuracy: mean(&outcome.accuracies[place]),
        p_against_experts: against(place, experts),
        p_against_majority: against(place, majority),
        pages: outcome.accuracies[place].clone(),
    };
    methods.iter().enumerate().map(report).collect()
}

fn mean(accuracies: &[f64]) -> f64 {
    accuracies.iter().sum::<f64>() / accuracies.len() as f64
}

impl ExperimentOptions {
    /// The relation that the union and the samples use.
    fn chief(&self) -> Option<Relation> {
        let is_chief = |relation: &&Relation| **relation == Relation::Correlation;
        self.relations.iter().find(is_chief).or(self.relations.first()).copied()
    }

    /// All methods, controls last.
    fn methods(&self) -> Vec<PredictionMethod> {
        let mut methods = Vec::new();
        if self.settings.contains(&Setting::OneD) {
            methods.push(PredictionMethod::Coin);
        }
        if self.settings.contains(&Setting::TwoD) {
            methods.push(PredictionMethod::Single);
        }
        if let Some(chief) = self.chief().filter(|_| self.settings.contains(&Setting::ThreeD)) {
            for combination in &self.combinations {
                match combination {
                    Combination::Experts => {
                        methods.push(PredictionMethod::Experts(chief, self.experts));
                        let others = self.relations.iter().filter(|relation| **relation != chief);
                        methods.extend(
                            others.map(|&relation| PredictionMethod::Experts(relation, self.experts)),
                        );
                    }
                    Combination::Union => methods.push(PredictionMethod::Union(chief)),
                    Combination::Bagging => methods.push(PredictionMethod::Bagging(chief)),
                    Combination::Boosting => methods.push(PredictionMethod::Boosting(chief)),
                }
            }
            methods.push(PredictionMethod::Experts(Relation::Random, self.experts));
        }
        methods.extend([PredictionMethod::Majority, PredictionMethod::Last]);
        methods
    }

    fn settings(&self) -> ExperimentSettings {
        ExperimentSettings {
            days: self.days,
            first_days: self.days,
            every: self.every,
            refresh: self.refresh,
            experts: self.experts,
            // As many as the experts are, with the page itself; made odd.
            members: (self.experts + 1) | 1,
            delays: self.delays,
            seed: self.seed,
            methods: self.methods(),
            planted: Vec::new(),
        }
    }

    /// The methods of the chosen settings that a figure compares.
    fn compared(&self) -> Vec<PredictionMethod> {
        let experts = self.chief().map(|relation| PredictionMethod::Experts(relation, self.experts));
        let of_setting = [Some(PredictionMethod::Coin), Some(PredictionMethod::Single), experts];
        let all = [Setting::OneD, Setting::TwoD, Setting::ThreeD].into_iter().zip(of_setting);
        all.filter(|(setting, _)| self.settings.contains(setting)).filter_map(|(_, method)| method).collect()
    }

    /// Figure 6: fewer training days, with the same days predicted.
    fn by_days(&self, recording: &FixedPages, targets: &[u32]) -> Result<Vec<Point>, String> {
        let mut methods = self.compared();
        methods.push(PredictionMethod::Majority);
        let longest = self.days;
        let point = |&days: &u32| {
            let settings =
                ExperimentSettings { days, first_days: longest, methods: methods.clone(), ..self.settings() };
            let outcome = evaluate(recording, targets, &settings)?;
            Ok(Point { at: days, accuracies: named(&methods, &outcome) })
        };
        DAYS.iter().filter(|&&days| days <= longest).map(point).collect()
    }

    /// Figure 8: crawls that learn from their own visits.
    fn freshness(&self, recording: &FixedPages, targets: &[u32]) -> Result<Vec<Point>, String> {
        let mut points: Vec<Point> = Vec::new();
        for method in self.compared() {
            let by_ten = crawl::freshness(recording, targets, &self.settings(), method, CRAWLED)?;
            for (place, fresh) in by_ten.into_iter().enumerate() {
                if place == points.len() {
                    points.push(Point { at: 10 * (place as u32 + 1), accuracies: Vec::new() });
                }
                points[place].accuracies.push((method.to_string(), fresh));
            }
        }
        Ok(points)
    }

    /// Figure 7: other numbers of experts.
    fn by_experts(&self, recording: &FixedPages, targets: &[u32]) -> Result<Vec<Point>, String> {
        let is_3d = self.settings.contains(&Setting::ThreeD);
        let Some(relation) = self.chief().filter(|_| is_3d) else { return Ok(Vec::new()) };
        let methods: Vec<PredictionMethod> =
            COUNTS.iter().map(|&count| PredictionMethod::Experts(relation, count)).collect();
        let settings = ExperimentSettings {
            experts: COUNTS[COUNTS.len() - 1],
            methods: methods.clone(),
            ..self.settings()
        };
        let outcome = evaluate(recording, targets, &settings)?;
        let points = named(&methods, &outcome).into_iter().zip(COUNTS);
        Ok(points.map(|(accuracy, count)| Point { at: count as u32, accuracies: vec![accuracy] }).collect())
    }
}

fn named(methods: &[PredictionMethod], outcome: &MethodOutcome) -> Vec<(String, f64)> {
    methods.iter().zip(&outcome.accuracies).map(|(method, of)| (method.to_string(), mean(of))).collect()
}

#[cfg(test)]
mod tests;

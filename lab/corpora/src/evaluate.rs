//! How well classifiers tell relevant pages: F1 (Assis 2008, equations 4.1 to 4.3) and calibration, on sites that a
//! trained classifier has not seen.

use crate::corpus::Corpus;
use crate::linear::{self, fold};
use recrawl_focus::classifier::linear::LinearModel;
use recrawl_focus::classifier::{Classifier, PageWords, terms::Terms};
use recrawl_focus::words::Words;
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Classes of equal width by which calibration is judged.
const BINS: usize = 10;
/// Irrelevant pages that a training may see for each relevant one.
pub const NEGATIVES: usize = 50;

/// Precision, recall and F1 at a threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct AtThreshold {
    /// Scores from here on count as relevant.
    pub threshold: f64,
    /// Share of the pages chosen that are relevant.
    pub precision: f64,
    /// Share of the relevant pages that are chosen.
    pub recall: f64,
    /// Harmonic mean of the two.
    pub f1: f64,
}

/// Scores with labels; pages without a label do not count.
pub fn labelled(scores: &[f64], labels: &[Option<bool>]) -> Vec<(f64, bool)> {
    scores.iter().zip(labels).filter_map(|(&score, label)| Some((score, (*label)?))).collect()
}

/// The figures at one threshold.
pub fn at(threshold: f64, scored: &[(f64, bool)]) -> AtThreshold {
    let chosen = scored.iter().filter(|(score, _)| *score >= threshold).count() as f64;
    let right = scored.iter().filter(|(score, is)| *is && *score >= threshold).count() as f64;
    let relevant = scored.iter().filter(|(_, is)| *is).count() as f64;
    let share = |part: f64, whole: f64| if whole == 0.0 { 0.0 } else { part / whole };
    let (precision, recall) = (share(right, chosen), share(right, relevant));
    let f1 = share(2.0 * precision * recall, precision + recall);
    AtThreshold { threshold, precision, recall, f1 }
}

/// The threshold with the greatest F1 of those in steps of 0.01; the lowest of equally good ones. The thesis
/// reports this (Figures 4.1 and 4.2): the threshold has seen the labels.
pub fn best(scored: &[(f64, bool)]) -> AtThreshold {
    let mut best = AtThreshold::default();
    for step in 1..100 {
        let now = at(f64::from(step) / 100.0, scored);
        if now.f1 > best.f1 {
            best = now;
        }
    }
    best
}

/// Expected calibration error: the mean over pages of how far the mean probability of a page's class is from the share
/// of relevant pages in it.
pub fn calibration_error(scored: &[(f64, bool)]) -> f64 {
    let mut bins = [(0.0, 0.0); BINS];
    for &(probability, is_relevant) in scored {
        let bin = &mut bins[((probability * BINS as f64) as usize).min(BINS - 1)];
        *bin = (bin.0 + probability, bin.1 + f64::from(u8::from(is_relevant)));
    }
    bins.iter().map(|(expected, found)| (expected - found).abs()).sum::<f64>() / scored.len().max(1) as f64
}

/// How classifiers do on a topic.
#[derive(Clone, Debug, Serialize)]
pub struct Evaluation {
    /// Name of the classifier.
    pub classifier: &'static str,
    /// At the best threshold.
    pub best: AtThreshold,
    /// At 0.5; only of probabilities.
    pub at_half: Option<AtThreshold>,
    /// Only of probabilities.
    pub calibration_error: Option<f64>,
}

/// How much of the corpus a training may see.
#[derive(Clone, Copy, Debug)]
pub struct Training {
    /// Folds of sites: each page is judged by a model that was trained without its fold.
    pub folds: usize,
    /// Relevant pages of a training.
    pub positives: usize,
    /// Seed by which pages are drawn.
    pub random_seed: u64,
}

/// Pages for a training, in order: a uniform sample of those for which `is_in` holds, with at most `positives` relevant
/// ones, and at most 50 others for each of them.
pub fn sample<'a>(
    corpus: &'a Corpus,
    readings: &'a [PageWords],
    labels: &[Option<bool>],
    training: &Training,
    is_in: impl Fn(&str) -> bool,
) -> Vec<linear::LabelledPage<'a>> {
    let mut drawn: Vec<(u64, u32, bool)> = vec![];
    for (page, label) in (0_u32..).zip(labels) {
        let site = &corpus.sites[corpus.pages[page as usize].site as usize].name;
        if let Some(is_relevant) = label.filter(|_| is_in(site)) {
            drawn.push((xxh3_64_with_seed(&page.to_le_bytes(), training.random_seed), page, is_relevant));
        }
    }
    drawn.sort_unstable();
    let (mut relevant, mut others) = (0, 0);
    let all = drawn.iter().filter(|(.., is_relevant)| *is_relevant).count().min(training.positives);
    let mut pages: Vec<linear::LabelledPage> = vec![];
    for (_, page, is_relevant) in drawn {
        let (count, most) = if is_relevant { (&mut relevant, all) } else { (&mut others, all * NEGATIVES) };
        if *count < most {
            *count += 1;
            let page = page as usize;
            let site = &corpus.sites[corpus.pages[page].site as usize].name;
            pages.push(linear::LabelledPage { page: &readings[page], site, is_relevant });
        }
    }
    pages
}

/// Judges the linear classifier and both term scores on all pages: the two sets, and one set of all terms (Table 4.4).
pub fn evaluate(
    corpus: &Corpus,
    readings: &[PageWords],
    labels: &[Option<bool>],
    terms: &Terms,
    training: &Training,
    words: &mut Words,
) -> Vec<Evaluation> {
    let scores = |classifier: &dyn Classifier| -> Vec<f64> {
        readings.iter().map(|reading| classifier.assess(reading).relevance).collect()
    };
    let one_set = Terms::new(terms.topic().as_one_set(), words);
    let folds: Vec<LinearModel> = (0..training.folds)
        .map(|held| {
            let is_in = |site: &str| fold(site, training.folds) != held;
            linear::train(&sample(corpus, readings, labels, training, is_in))
        })
        .collect();
    let held_back = |page: usize| {
        let site = &corpus.sites[corpus.pages[page].site as usize].name;
        folds[fold(site, training.folds)].probability(&readings[page])
    };
    let linear: Vec<f64> = (0..readings.len()).map(held_back).collect();
    let of = |classifier, scores: &[f64], is_probability: bool| {
        let scored = labelled(scores, labels);
        Evaluation {
            classifier,
            best: best(&scored),
            at_half: is_probability.then(|| at(0.5, &scored)),
            calibration_error: is_probability.then(|| calibration_error(&scored)),
        }
    };
    vec![
        of("terms", &scores(terms), false),
        of("terms, one set", &scores(&one_set), false),
        of("linear", &linear, true),
    ]
}

#[cfg(test)]
mod tests;

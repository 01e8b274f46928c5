//! Replays: orders of crawls over a corpus, and how soon they find what is relevant.

use crate::learned::{self, LabelledWeb, LearnedSettings};
use crate::linear::fold;
use crate::link::LinkModel;
use crate::rules::CorpusRules;
use crate::web::Web;
use rayon::prelude::*;
use recrawl_focus::policy::{FocusPolicy, FocusRule};
use serde::Serialize;

/// Points of a curve: shares of pages visited, from 0 in steps of 5 %.
pub const POINTS: usize = 21;
/// The share of relevant pages by whose visit an order is judged.
pub const MOST: f64 = 0.9;

/// How soon an order finds the relevant pages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayOutcome {
    /// Pages visited that count.
    pub pages: usize,
    /// Relevant ones among them.
    pub relevant: usize,
    /// Share of the visits until 90 % of the relevant pages are found; none without any.
    pub until_most: Option<f64>,
    /// Mean share of relevant pages found, over all shares of visits: 0.5 in a random order, 1 is best.
    pub area: Option<f64>,
    /// Share of relevant pages found after 0, 5, … 100 % of the visits.
    pub curve: Vec<f64>,
}

impl ReplayOutcome {
    /// Judges an order of visits by labels. Pages without a label do not count.
    pub fn judged(order: &[u32], labels: &[Option<bool>]) -> ReplayOutcome {
        let counted: Vec<bool> = order.iter().filter_map(|&page| labels[page as usize]).collect();
        let (pages, relevant) = (counted.len(), counted.iter().filter(|&&is| is).count());
        let mut found = Vec::with_capacity(pages + 1);
        found.push(0);
        for &is_relevant in &counted {
            found.push(found[found.len() - 1] + usize::from(is_relevant));
        }
        let share = |count: usize, of: usize| count as f64 / of.max(1) as f64;
        let most = (MOST * relevant as f64).ceil() as usize;
        let until = found.iter().position(|&count| count >= most);
        let at = |point: usize| share(found[point * pages / (POINTS - 1)], relevant);
        let sum: f64 = found[1..].iter().map(|&count| share(count, relevant)).sum();
        ReplayOutcome {
            pages,
            relevant,
            until_most: until.filter(|_| relevant > 0).map(|visits| share(visits, pages)),
            area: (relevant > 0).then(|| sum / pages as f64),
            curve: (0..POINTS).map(at).collect(),
        }
    }
}

/// A topic on a corpus: which pages score, and which are relevant.
pub struct Case<'a> {
    /// Name in reports.
    pub name: String,
    /// The corpus as the topic sees it.
    pub web: Web<'a>,
    /// Whether each page is relevant, if it counts.
    pub labels: Vec<Option<bool>>,
}

/// How cases are replayed.
#[derive(Clone, Copy, Debug)]
pub struct CorpusReplayOptions {
    /// Choices that the thesis leaves open.
    pub rules: CorpusRules,
    /// The learned order.
    pub learned: LearnedSettings,
    /// Random seeds, from 0.
    pub seeds: u64,
    /// Folds of sites: the learned order ranks a link by weights that were fitted without its site.
    pub folds: usize,
}

/// Outcomes of a policy in one case.
#[derive(Clone, Debug, Serialize)]
pub struct Replayed {
    /// Name of the case.
    pub case: String,
    /// Name of the policy.
    pub policy: &'static str,
    /// Mean over seeds of the share of visits until 90 % of the relevant pages are found.
    pub until_most: Option<f64>,
    /// Mean over seeds of the area under the curve.
    pub area: Option<f64>,
    /// By random seed.
    pub outcomes: Vec<ReplayOutcome>,
}

/// Replays each policy on each case. Weights of the learned order come from other sites, and from other cases if
/// there are several: neither the site nor the topic is known to them.
pub fn replay(
    cases: &[Case],
    policies: &[&'static FocusPolicy],
    options: &CorpusReplayOptions,
) -> Vec<Replayed> {
    let of_case = |place: usize| -> Vec<Replayed> {
        let learned = policies.iter().any(|policy| policy.rule == FocusRule::Learned);
        let models = if learned { models(cases, place, options) } else { vec![] };
        policies.iter().map(|policy| replayed(&cases[place], policy, &models, options)).collect()
    };
    (0..cases.len()).into_par_iter().map(of_case).collect::<Vec<_>>().concat()
}

/// The weights for each fold of sites of a case.
pub fn models(cases: &[Case], place: usize, options: &CorpusReplayOptions) -> Vec<LinkModel> {
    let is_other = |other: usize| other != place || cases.len() == 1;
    let webs: Vec<LabelledWeb> = (0..cases.len())
        .filter(|&other| is_other(other))
        .map(|other| LabelledWeb { web: &cases[other].web, labels: &cases[other].labels })
        .collect();
    let sites = &cases[place].web.corpus.sites;
    let without = |held: usize| {
        let is_in = |site: u32| fold(&sites[site as usize].name, options.folds) != held;
        learned::fit(&webs, is_in, &options.rules, &options.learned, FIT_SEED)
    };
    (0..options.folds).into_par_iter().map(without).collect()
}

/// Random seed of the crawls that weights are fitted on.
const FIT_SEED: u64 = 1 << 32;

fn replayed(
    case: &Case,
    policy: &'static FocusPolicy,
    models: &[LinkModel],
    options: &CorpusReplayOptions,
) -> Replayed {
    let Case { name, web, labels } = case;
    let seeds = web.corpus.homes();
    let model_of_site: Vec<usize> =
        web.corpus.sites.iter().map(|site| fold(&site.name, options.folds)).collect();
    let outcome = |random_seed: u64| {
        let order = match policy.rule {
            FocusRule::Learned => learned::crawl(
                web,
                &model_of_site,
                models,
                &options.rules,
                &options.learned,
                &seeds,
                random_seed,
            ),
            rule => crate::crawl::crawl(web, rule, &options.rules, &seeds, random_seed),
        };
        ReplayOutcome::judged(&order, labels)
    };
    let outcomes: Vec<ReplayOutcome> = (0..options.seeds).into_par_iter().map(outcome).collect();
    let mean = |of: fn(&ReplayOutcome) -> Option<f64>| {
        let values: Option<Vec<f64>> = outcomes.iter().map(of).collect();
        values.map(|values| values.iter().sum::<f64>() / values.len().max(1) as f64)
    };
    Replayed {
        case: name.clone(),
        policy: policy.name,
        until_most: mean(|outcome| outcome.until_most),
        area: mean(|outcome| outcome.area),
        outcomes,
    }
}

#[cfg(test)]
mod tests;

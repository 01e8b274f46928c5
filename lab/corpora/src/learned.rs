//! The learned order: crawls by the expected relevance of links, and fits the weights on other sites.

use crate::crawl::{FoundPages, drawn, followed};
use crate::link::{LINK_FEATURES, LinkModel, LinkParent, VERDICT_FEATURES, Yields, verdict_features};
use crate::regression::{self, Example};
use crate::rules::CorpusRules;
use crate::web::Web;
use recrawl_focus::logistic::{Weights, logistic};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Step of an update by default.
pub const RATE: f64 = 0.001;

/// Least visits between two rankings in crawls that weights are fitted on.
const FIT_ROUND: usize = 50;

/// How a learned crawl goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LearnedSettings {
    /// Visits between two rankings of all links.
    pub round: usize,
    /// Share of each round that is drawn uniformly from the frontier.
    pub explore: f64,
    /// Step of an update by a tried link; 0 keeps the weights.
    pub rate: f64,
    /// Greatest weight 1 / propensity of a tried link.
    pub max_weight: f64,
    /// Rounds by which weights are fitted.
    pub fits: u32,
}

impl Default for LearnedSettings {
    fn default() -> LearnedSettings {
        LearnedSettings { round: 20, explore: 0.02, rate: RATE, max_weight: 20.0, fits: 2 }
    }
}

/// A page in the frontier, as ranked.
struct RankedEntry {
    page: u32,
    logit: f64,
    tie: u64,
    features: [f64; LINK_FEATURES],
}

/// A visit, in the order of visits.
pub(crate) struct Tried {
    pub(crate) page: u32,
    pub(crate) features: [f64; LINK_FEATURES],
}

/// Crawls from the seeds until no page is left; returns the pages in the order of visits. Each site has its model, since
/// none may judge a site that it was fitted on.
pub fn crawl(
    web: &Web,
    model_of_site: &[usize],
    models: &[LinkModel],
    rules: &CorpusRules,
    settings: &LearnedSettings,
    seeds: &[u32],
    random_seed: u64,
) -> Vec<u32> {
    let mut crawl = LearnedCrawl::new(web, model_of_site, models, rules, settings, random_seed);
    crawl.run(seeds, |_| {})
}

struct LearnedCrawl<'a> {
    web: &'a Web<'a>,
    model_of_site: &'a [usize],
    models: Vec<LinkModel>,
    rules: &'a CorpusRules,
    settings: &'a LearnedSettings,
    random_seed: u64,
    found: FoundPages,
    frontier: Vec<u32>,
    /// By page: probability of relevance once visited, and irrelevant pages in a row up to it.
    relevance: Vec<f64>,
    tunnel: Vec<u32>,
    /// By page: links to it, as page and place among its links.
    links: Vec<Vec<(u32, u32)>>,
    yields: Yields,
}

impl<'a> LearnedCrawl<'a> {
    fn new(
        web: &'a Web<'a>,
        model_of_site: &'a [usize],
        models: &[LinkModel],
        rules: &'a CorpusRules,
        settings: &'a LearnedSettings,
        random_seed: u64,
    ) -> LearnedCrawl<'a> {
        let pages = web.corpus.pages.len();
        LearnedCrawl {
            web,
            model_of_site,
            models: models.to_vec(),
            rules,
            settings,
            random_seed,
            found: FoundPages::new(pages),
            frontier: vec![],
            relevance: vec![0.0; pages],
            tunnel: vec![0; pages],
            links: vec![vec![]; pages],
            yields: Yields::default(),
        }
    }

    fn site(&self, page: u32) -> u32 {
        self.web.corpus.pages[page as usize].site
    }

    fn model(&self, page: u32) -> &LinkModel {
        &self.models[self.model_of_site[self.site(page) as usize]]
    }

    fn run(&mut self, seeds: &[u32], mut tried: impl FnMut(Tried)) -> Vec<u32> {
        let mut first: Vec<u32> = seeds.iter().copied().filter(|&seed| self.found.seed(seed)).collect();
        first.sort_by_key(|&seed| drawn(seed, self.random_seed));
        let mut order = first.clone();
        first.into_iter().for_each(|seed| self.visit(seed));
        let mut round = 0;
        while !self.frontier.is_empty() {
            round += 1;
            for (page, features, propensity) in self.chosen(round) {
                tried(Tried { page, features });
                self.visit(page);
                self.update(page, &features, propensity);
                order.push(page);
            }
        }
        order
    }

    /// The pages of the next round, removed from the frontier, with their features and propensities.
    fn chosen(&mut self, round: u64) -> Vec<(u32, [f64; LINK_FEATURES], f64)> {
        let mut ranked: Vec<RankedEntry> = self.frontier.iter().map(|&page| self.ranked(page)).collect();
        ranked.sort_unstable_by(|a, b| b.logit.total_cmp(&a.logit).then(a.tie.cmp(&b.tie)));
        let count = self.settings.round.min(ranked.len());
        // Explored visits of this round: the share on average.
        let wanted = self.settings.explore * count as f64;
        let coin = drawn(round as u32, self.random_seed ^ 0x5eed) as f64 / u64::MAX as f64;
        let explored = (wanted.floor() + f64::from(u8::from(coin < wanted.fract()))) as usize;
        let rest = ranked.split_off(count - explored);
        let chance = if rest.is_empty() { 1.0 } else { wanted / rest.len() as f64 };
        let mut chosen: Vec<_> = ranked.into_iter().map(|r| (r.page, r.features, 1.0)).collect();
        let mut draw: Vec<(u64, &RankedEntry)> = rest
            .iter()
            .map(|r| (xxh3_64_with_seed(&r.page.to_le_bytes(), self.random_seed ^ (round << 20)), r))
            .collect();
        draw.sort_unstable_by_key(|(hash, r)| (*hash, r.page));
        chosen.extend(draw.iter().take(explored).map(|(_, r)| (r.page, r.features, chance.min(1.0))));
        chosen.iter().for_each(|(page, ..)| self.found.is_visited[*page as usize] = true);
        let is_visited = &self.found.is_visited;
        self.frontier.retain(|&page| !is_visited[page as usize]);
        chosen
    }

    /// A page by the best of its links.
    fn ranked(&self, page: u32) -> RankedEntry {
        let (site, model) = (self.site(page), self.model(page));
        let mut best = ([0.0; LINK_FEATURES], f64::NEG_INFINITY);
        for &(parent, at) in &self.links[page as usize] {
            let known = LinkParent {
                verdict: self.web.assessments[parent as usize],
                relevance: self.relevance[parent as usize],
                depth: self.found.depth[parent as usize].unwrap_or(0),
                tunnel: self.tunnel[parent as usize],
            };
            let evidence = &self.web.evidence[parent as usize][at as usize];
            let features = self.yields.features(&known, evidence, site);
            let logit = model.link.logit(&features);
            if logit > best.1 {
                best = (features, logit);
            }
        }
        RankedEntry { page, logit: best.1, tie: drawn(page, self.random_seed), features: best.0 }
    }

    fn visit(&mut self, page: u32) {
        self.found.is_visited[page as usize] = true;
        let verdict = self.web.assessments[page as usize];
        let relevance = self.model(page).relevance(&verdict);
        self.relevance[page as usize] = relevance;
        let before =
            self.found.parents[page as usize].iter().map(|&parent| self.tunnel[parent as usize]).min();
        let is_relevant = relevance >= 0.5;
        self.tunnel[page as usize] = if is_relevant { 0 } else { before.unwrap_or(0) + 1 };
        let links = self.links[page as usize].iter();
        let evidence = links.map(|&(parent, at)| &self.web.evidence[parent as usize][at as usize]);
        let site = self.site(page);
        self.yields.visited(site, evidence, relevance, &verdict);
        for (at, to) in followed(self.web, page, self.rules) {
            let Some(is_new) = self.found.link(page, to, self.rules) else { continue };
            self.links[to as usize].push((page, at as u32));
            if is_new {
                self.frontier.push(to);
            }
        }
    }

    /// Moves the weights of the page's model towards what its visit showed.
    fn update(&mut self, page: u32, features: &[f64; LINK_FEATURES], propensity: f64) {
        let target = self.relevance[page as usize];
        let LearnedSettings { rate, max_weight, .. } = *self.settings;
        let place = self.model_of_site[self.site(page) as usize];
        let model = &mut self.models[place];
        let weight = (1.0 / propensity).min(max_weight);
        let error = target - logistic(model.link.logit(features));
        for (weights, feature) in model.link.0.iter_mut().zip(features) {
            *weights += rate * weight * error * feature;
        }
    }
}

/// A web with its labels: what weights are fitted on.
pub struct LabelledWeb<'a> {
    /// The web.
    pub web: &'a Web<'a>,
    /// Whether each page is relevant, if it counts.
    pub labels: &'a [Option<bool>],
}

/// Fits weights on the sites for which `of_site` holds. First a random crawl of each web shows features and labels of
/// its links; then crawls by the weights so far, since their links differ from those of a random crawl.
pub fn fit(
    webs: &[LabelledWeb],
    of_site: impl Fn(u32) -> bool,
    rules: &CorpusRules,
    settings: &LearnedSettings,
    random_seed: u64,
) -> LinkModel {
    let mut verdicts: Vec<Example<VERDICT_FEATURES>> = vec![];
    for LabelledWeb { web, labels } in webs {
        for (page, label) in labels.iter().enumerate() {
            if let Some(is_relevant) = label.filter(|_| of_site(web.corpus.pages[page].site)) {
                verdicts.push(example(verdict_features(&web.assessments[page]), is_relevant));
            }
        }
    }
    let mut model = LinkModel { verdict: regression::fit(&verdicts), link: Weights([0.0; LINK_FEATURES]) };
    let still =
        LearnedSettings { rate: 0.0, explore: 0.0, round: settings.round.max(FIT_ROUND), ..*settings };
    let mut examples: Vec<Example<LINK_FEATURES>> = vec![];
    for round in 0..settings.fits {
        for LabelledWeb { web, labels } in webs {
            let homes = web.corpus.homes();
            let seeds: Vec<u32> =
                (0..).zip(homes).filter(|(site, _)| of_site(*site)).map(|(_, home)| home).collect();
            let one_model = vec![0; web.corpus.sites.len()];
            let models = [model];
            let mut crawl =
                LearnedCrawl::new(web, &one_model, &models, rules, &still, random_seed + u64::from(round));
            crawl.run(&seeds, |tried| {
                let counts = of_site(web.corpus.pages[tried.page as usize].site);
                if let Some(is_relevant) = labels[tried.page as usize].filter(|_| counts) {
                    examples.push(example(tried.features, is_relevant));
                }
            });
        }
        model.link = regression::fit(&examples);
    }
    model
}

fn example<const N: usize>(features: [f64; N], is_positive: bool) -> Example<N> {
    Example { features, target: f64::from(u8::from(is_positive)), weight: 1.0 }
}

#[cfg(test)]
mod tests;

//! FCrawl (Assis 2008, Algorithm 2) over a corpus in memory, with its queuing policies and plain orders to compare.

use crate::frontier::ScoredFrontier;
use crate::rules::{CorpusRules, Parents, Ties};
use crate::web::Web;
use recrawl_focus::policy::{FocusRule, When};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Pages found so far: how far from a seed, and through which pages.
pub(crate) struct FoundPages {
    /// By page: links from a seed; none if it was not found.
    pub(crate) depth: Vec<Option<u32>>,
    /// By page: parents in the order in which they were visited.
    pub(crate) parents: Vec<Vec<u32>>,
    pub(crate) is_seed: Vec<bool>,
    pub(crate) is_visited: Vec<bool>,
    /// Number of pages found.
    pub(crate) count: u64,
}

/// The links of a page that are followed: each target once, the first ones.
pub(crate) fn followed<'a>(
    web: &'a Web<'_>,
    page: u32,
    rules: &CorpusRules,
) -> impl Iterator<Item = (usize, u32)> + 'a {
    let links = &web.corpus.links[page as usize];
    let is_first =
        move |&(at, to): &(usize, u32)| to != page && links[..at].iter().all(|before| before.to != to);
    links.iter().enumerate().map(|(at, link)| (at, link.to)).filter(is_first).take(rules.max_links)
}

impl FoundPages {
    pub(crate) fn new(pages: usize) -> FoundPages {
        FoundPages {
            depth: vec![None; pages],
            parents: vec![vec![]; pages],
            is_seed: vec![false; pages],
            is_visited: vec![false; pages],
            count: 0,
        }
    }

    /// Notes a seed; false if it is known.
    pub(crate) fn seed(&mut self, page: u32) -> bool {
        let page = page as usize;
        let is_new = self.depth[page].replace(0).is_none();
        self.is_seed[page] = true;
        self.count += u64::from(is_new);
        is_new
    }

    /// Notes a link. Returns whether its target is new, or nothing for one that is visited or too deep.
    pub(crate) fn link(&mut self, parent: u32, to: u32, rules: &CorpusRules) -> Option<bool> {
        let depth = self.depth[parent as usize].unwrap_or(0) + 1;
        let to = to as usize;
        if self.is_visited[to] || self.depth[to].is_none() && depth > rules.max_depth {
            return None;
        }
        self.parents[to].push(parent);
        let is_new = self.depth[to].is_none();
        self.count += u64::from(is_new);
        self.depth[to] = Some(self.depth[to].map_or(depth, |known| known.min(depth)));
        Some(is_new)
    }
}

/// Order of equally scored pages, and of all in a random crawl: the same for one seed on every machine.
pub(crate) fn drawn(page: u32, seed: u64) -> u64 {
    xxh3_64_with_seed(&page.to_le_bytes(), seed)
}

/// Crawls a web from its seeds until no page is left. Returns the pages in the order of visits.
///
/// A page's score is the relevance that the web's classifier gave it. Seeds have score 1, other pages 0 until a visit
/// changes that.
///
/// # Panics
/// If the rule is [`FocusRule::Learned`], which needs [weights](crate::learned).
pub fn crawl(web: &Web, rule: FocusRule, rules: &CorpusRules, seeds: &[u32], random_seed: u64) -> Vec<u32> {
    assert!(rule != FocusRule::Learned, "a learned order has a crawl of its own");
    let pages = web.corpus.pages.len();
    let mut crawl = CorpusCrawl {
        web,
        rule,
        rules,
        random_seed,
        found: FoundPages::new(pages),
        frontier: ScoredFrontier::new(pages),
    };
    for &seed in seeds {
        if crawl.found.seed(seed) {
            let tie = crawl.tie(seed);
            crawl.frontier.insert(seed, 1.0, tie);
        }
    }
    let mut order = vec![];
    while let Some(page) = crawl.frontier.pop() {
        crawl.visit(page);
        order.push(page);
    }
    order
}

struct CorpusCrawl<'a> {
    web: &'a Web<'a>,
    rule: FocusRule,
    rules: &'a CorpusRules,
    random_seed: u64,
    found: FoundPages,
    frontier: ScoredFrontier,
}

impl CorpusCrawl<'_> {
    /// Which of equal scores comes first, for a page that was just found.
    fn tie(&self, page: u32) -> u64 {
        match self.rules.ties {
            Ties::Fifo => self.found.count,
            Ties::Hash => drawn(page, self.random_seed),
        }
    }

    fn visit(&mut self, page: u32) {
        self.found.is_visited[page as usize] = true;
        let score = self.web.assessments[page as usize].relevance;
        let (children, siblings) = match self.rule {
            FocusRule::Scores { children, siblings } => {
                (self.holds(children, score), self.holds(siblings, score))
            }
            _ => (false, false),
        };
        if siblings && !self.found.is_seed[page as usize] {
            self.change_siblings(page, score);
        }
        for (at, to) in followed(self.web, page, self.rules) {
            let Some(is_new) = self.found.link(page, to, self.rules) else { continue };
            if is_new {
                let tie = self.tie(to);
                self.frontier.insert(to, self.first_score(to), tie);
            }
            if self.rule == FocusRule::Anchor {
                self.raise(to, self.by_anchor(page, at));
            } else if children {
                self.change(to, score);
            }
        }
    }

    fn holds(&self, when: When, score: f64) -> bool {
        match when {
            When::Never => false,
            When::Always => true,
            When::AboveThreshold => score >= self.rules.change_threshold,
        }
    }

    /// ChangeScores (Algorithm 2, step 11).
    fn change_siblings(&mut self, page: u32, score: f64) {
        let known = &self.found.parents[page as usize];
        let parents = match self.rules.parents {
            Parents::All => known.clone(),
            Parents::First => known.iter().copied().take(1).collect(),
        };
        for parent in parents {
            for (_, sibling) in followed(self.web, parent, self.rules) {
                self.change(sibling, score);
            }
        }
    }

    /// Changes the score of a page that waits and is no seed.
    fn change(&mut self, page: u32, score: f64) {
        match self.rules.lower_overwrites {
            _ if self.found.is_seed[page as usize] => {}
            true => self.frontier.change(page, score),
            false => self.raise(page, score),
        }
    }

    fn raise(&mut self, page: u32, score: f64) {
        if self.frontier.score(page).is_some_and(|before| before < score) {
            self.frontier.change(page, score);
        }
    }

    /// Score of a page that was just found.
    fn first_score(&self, page: u32) -> f64 {
        match self.rule {
            FocusRule::Breadth => -f64::from(self.found.depth[page as usize].unwrap_or(0)),
            FocusRule::Random => drawn(page, self.random_seed) as f64 / u64::MAX as f64,
            _ => 0.0,
        }
    }

    fn by_anchor(&self, parent: u32, link: usize) -> f64 {
        let has_genre = self.web.evidence[parent as usize][link].genre > 0.0;
        0.5 * f64::from(u8::from(has_genre)) + 0.5 * self.web.assessments[parent as usize].content
    }
}

#[cfg(test)]
mod tests;

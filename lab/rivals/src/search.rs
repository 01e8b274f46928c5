//! How good a search engine over the local copies would be (Tan & Mitra 2010, §5), and what changes it would find
//! important: metrics that need the contents of pages.
//!
//! The local copy of a page is the content of its last visit. All else is judged by the contents that pages show.

mod queries;
mod ranking;

use crate::LinkGraph;
use ranking::Engine;
use recrawl_simulation::ContentFigures;
use recrawl_simulation::judge::{ContentJudge, ReplayJudge};
use recrawl_simulation::{Contents, Dataset, Observed, RulesError};
use std::sync::Arc;

/// Results of a query that count.
const RESULTS: usize = 10;

/// All that these figures need of a history, computed once for all replays.
#[derive(Clone, Debug)]
pub struct SearchJudge {
    contents: Arc<Contents>,
    /// The different words of all queries, each a place in this list.
    queries: Vec<Vec<u32>>,
    /// Number of different words in the queries.
    words: usize,
    /// For each document the query words that it has, ascending, with 1 + ln(count).
    found: Vec<Box<[(u32, f64)]>>,
    /// For each cycle and query the number of pages that have all its words.
    relevant: Vec<Vec<u32>>,
    /// For each cycle the weights of the pages, by place in `weights`.
    weights_of: Vec<usize>,
    weights: Vec<Vec<f64>>,
}

impl SearchJudge {
    /// For replays of `data`, with queries drawn by the seed.
    ///
    /// # Errors
    /// If the contents were not read.
    pub fn new(data: &Dataset, seed: u64) -> Result<SearchJudge, RulesError> {
        let none = || RulesError::NoContents { what: "a metric of contents".into() };
        let contents = data.contents.clone().ok_or_else(none)?;
        let (words, queries) = queries::draw(&contents, seed);
        let found = contents.documents().iter().map(|document| ranking::found(document, &words)).collect();
        let mut judge = SearchJudge {
            contents,
            words: words.len(),
            queries,
            found,
            relevant: Vec::new(),
            weights_of: Vec::new(),
            weights: Vec::new(),
        };
        let mut graph = None;
        for cycle in 0..=data.truth.cycles() {
            let exists: Vec<bool> =
                data.pages.iter().map(|page| exists(page.first, page.last, cycle)).collect();
            let count = |query: &Vec<u32>| {
                let pages =
                    (0..exists.len()).filter(|&page| exists[page] && judge.is_relevant(query, page, cycle));
                pages.count() as u32
            };
            let relevant = judge.queries.iter().map(count).collect();
            judge.relevant.push(relevant);
            let pages = exists.iter().filter(|&&exists| exists).count() as f64;
            let shown = LinkGraph::shown(&judge.contents, cycle, exists);
            if graph.as_ref() != Some(&shown) {
                judge.weights.push(shown.page_rank().into_iter().map(|rank| rank * pages).collect());
                graph = Some(shown);
            }
            judge.weights_of.push(judge.weights.len() - 1);
        }
        Ok(judge)
    }

    /// Number of queries; at most 100. 0 if no title has two words that at most half of the titles have: then the
    /// figures of the first ten results are 0.
    pub fn queries(&self) -> usize {
        self.queries.len()
    }

    /// Whether the content that a page shows has all words of a query.
    fn is_relevant(&self, query: &[u32], page: usize, cycle: u32) -> bool {
        let Some(number) = self.contents.number(page, cycle) else { return false };
        let found = &self.found[number as usize];
        query.iter().all(|word| found.binary_search_by_key(word, |&(word, _)| word).is_ok())
    }
}

/// Whether a page with this first and last cycle exists.
fn exists(first: u32, last: u32, cycle: u32) -> bool {
    first <= cycle && cycle <= last
}

/// Judges the cycles of one replay.
#[derive(Clone, Debug)]
struct SearchJudging<'a> {
    judge: &'a SearchJudge,
    data: &'a Dataset,
    engine: Engine<'a>,
}

impl ContentJudge for SearchJudge {
    fn replay<'a>(&'a self, data: &'a Dataset) -> Box<dyn ReplayJudge + 'a> {
        Box::new(SearchJudging { judge: self, data, engine: Engine::new(self, data.pages.len()) })
    }
}

impl ReplayJudge for SearchJudging<'_> {
    fn figures(&mut self, observed: &Observed, changed: &[u32]) -> ContentFigures {
        let (now, columns) = (observed.cycle().0, observed.columns());
        let of_page = |page: usize| {
            let known = &self.data.pages[page];
            let is_here = columns.visited[page] && exists(known.first, known.last, now);
            is_here.then(|| self.judge.contents.number(page, columns.last[page])).flatten()
        };
        self.engine.update(of_page);
        let is_fresh = |page: u32| !self.data.truth.differs(page as usize, columns.last[page as usize], now);
        let weights = &self.judge.weights[self.judge.weights_of[now as usize]];
        let mut figures = ContentFigures {
            weight_found: changed.iter().map(|&page| weights[page as usize]).sum(),
            ..ContentFigures::default()
        };
        let (mut with_results, mut with_relevant) = (0u32, 0u32);
        for (number, query) in self.judge.queries.iter().enumerate() {
            let results = self.engine.first_results(query);
            let relevant: Vec<bool> =
                results.iter().map(|&page| self.judge.is_relevant(query, page as usize, now)).collect();
            if !results.is_empty() {
                with_results += 1;
                figures.freshness_at_10 += freshness(results.iter().map(|&page| is_fresh(page)));
            }
            let precision = precision(&relevant);
            figures.mp_at_10 += precision;
            let all = self.judge.relevant[now as usize][number];
            if all > 0 {
                with_relevant += 1;
                figures.ap_at_10 += precision / f64::from(all.min(RESULTS as u32));
            }
        }
        figures.freshness_at_10 /= f64::from(with_results.max(1));
        figures.mp_at_10 /= self.judge.queries.len().max(1) as f64;
        figures.ap_at_10 /= f64::from(with_relevant.max(1));
        figures
    }
}

/// Eq. 16: the share of fresh results, each weighted by rank^(−3/2) (eq. 15); 1 if all are fresh.
fn freshness(fresh: impl Iterator<Item = bool>) -> f64 {
    let (mut sum, mut all) = (0.0, 0.0);
    for (rank, is_fresh) in (1u32..).zip(fresh) {
        let rank = f64::from(rank);
        let weight = 1.0 / (rank * rank.sqrt());
        all += weight;
        sum += if is_fresh { weight } else { 0.0 };
    }
    sum / all
}

/// Eq. 17 and 18: Σ over the ranks of relevant results of the share of relevant results up to there.
fn precision(relevant: &[bool]) -> f64 {
    let (mut sum, mut before) = (0.0, 0u32);
    for (rank, _) in (1u32..).zip(relevant).filter(|(_, is_relevant)| **is_relevant) {
        before += 1;
        sum += f64::from(before) / f64::from(rank);
    }
    sum
}

#[cfg(test)]
mod tests;

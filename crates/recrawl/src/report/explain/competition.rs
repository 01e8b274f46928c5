//! The page's rank among all pages, and among those of its host, in the next cycle.

use recrawl_crawl::cycle::inputs::FormulaInputs;
use recrawl_crawl::cycle::ranks::Ranks;
use recrawl_crawl::failure::Failure;
use recrawl_formula::Formula;
use recrawl_repository::Generation;
use recrawl_scheduler::{HostPlaces, HostPlacesCounter, PlanRequest, Policy, Rank, RankCounter};
use recrawl_types::StateColumns;
use std::ops::Range;

/// Blocks that stand for all pages, where nobody ranked them: at some thousand blocks, 3 % of the pages.
const SAMPLED: usize = 256;
/// Blocks before and after that of a page which tell the rates of its site and its sections.
const AROUND: usize = 2;

/// Parts of a generation that are read to explain a page. A generation of few blocks is read whole.
pub struct Sample {
    /// Blocks at equal distances, among them that of the page.
    pub even: Generation,
    /// The same, and those around the page.
    pub around: Generation,
}

impl Sample {
    /// For the page with this ordinal. `whole` are the pages of a host all of which are read.
    pub fn new(generation: &Generation, ordinal: u64, whole: Option<&Range<u64>>) -> Sample {
        let (step, of_page) = (generation.blocks().div_ceil(SAMPLED), generation.block_of(ordinal));
        let is_even = |at: usize| at % step == of_page % step;
        let whole = whole.map(|pages| generation.block_of(pages.start)..=generation.block_of(pages.end - 1));
        let is_near =
            |at: usize| at.abs_diff(of_page) <= AROUND || whole.as_ref().is_some_and(|all| all.contains(&at));
        Sample { even: generation.only(is_even), around: generation.only(|at| is_even(at) || is_near(at)) }
    }
}

/// All pages, and how to rank them.
pub struct Competition<'g> {
    pub request: &'g PlanRequest,
    pub generation: &'g Generation,
    /// Those that a page is compared with where there are no ranks.
    pub sample: &'g Generation,
    pub formula: &'g Formula,
    /// What the formula reads beside the records.
    pub inputs: &'g FormulaInputs,
}

impl Competition<'_> {
    fn policy(&self) -> Box<dyn Policy> {
        self.request.policy(self.formula)
    }

    /// The score of a page that was visited. Reads the block of its state.
    pub fn score(&self, ordinal: u64) -> Result<Option<f64>, Failure> {
        let page = self.inputs.page(self.generation, ordinal).map_err(Failure::work)?;
        Ok((!page.is_empty()).then(|| self.score_of(&page, ordinal)))
    }

    /// The score of the page in a block of one.
    pub fn score_of(&self, page: &StateColumns, ordinal: u64) -> f64 {
        let mut scores = Vec::new();
        self.policy().score(page, ordinal, &mut scores);
        scores[0]
    }

    /// The rank of a page that competes by this score. Without ranks, it reads the state of the sample.
    pub fn rank(&self, ordinal: u64, score: f64, ranks: Option<&Ranks>) -> Result<Rank, Failure> {
        if let Some(ranks) = ranks {
            return Ok(ranks.rank(ordinal, score));
        }
        let policy = self.policy();
        let mut counter = RankCounter::new(self.request, ordinal, score);
        self.sample.scan(self.inputs.need_keys(), |first, columns| -> Result<(), Failure> {
            self.inputs.fill(first, columns);
            counter.scan(&*policy, first, columns);
            Ok(())
        })?;
        Ok(counter.rank(self.generation.pages()))
    }

    /// The place of a page on its host. Reads the state of the host's pages.
    pub fn places(&self, mut counter: HostPlacesCounter, host: &Range<u64>) -> Result<HostPlaces, Failure> {
        let policy = self.policy();
        let mut states = self.generation.states_from(host.start).with_keys(self.inputs.need_keys());
        while let Some((first, columns)) = states.next_block().map_err(Failure::work)? {
            if first >= host.end {
                break;
            }
            self.inputs.fill(first, columns);
            counter.scan(&*policy, first, columns);
        }
        Ok(counter.places())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_crawl::config::Config;
    use recrawl_crawl::cycle::plan;
    use recrawl_crawl::page_rules::PageRules;
    use recrawl_crawl::settings::Settings;
    use recrawl_repository::storage::MemoryStorage;
    use recrawl_repository::{BLOCK_PAGES, Repository};
    use recrawl_types::{Content, Cycle, History, PageRecord, UrlRules, Visited};
    use std::sync::Arc;

    /// Pages of more blocks than are sampled, whose sites differ and are of one block to six.
    fn many() -> Repository {
        let mut repository = Repository::open(Arc::new(MemoryStorage::new())).unwrap();
        let empty = Generation::default();
        let mut writer = repository.begin(&empty, Cycle(40)).unwrap();
        for page in 0..3 * (SAMPLED * BLOCK_PAGES) as u64 / 2 {
            let site = page / 3_000;
            let url = format!("https://site-{site:04}.test/{:06}/{page:07}", page / 100);
            let url = UrlRules::keep_all().canonicalize(&url).unwrap();
            let mut history = History::first_fetch(Cycle(1));
            for visit in 1..5 {
                let lot = page.wrapping_mul(visit).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                history.record(Cycle(visit as u32 * 7 + lot as u32 % 7), lot % 97 < site * 37 % 97);
            }
            let visited = Some(Visited { history, content: Content::default() });
            let record = PageRecord { visited, ..PageRecord::discovered(Cycle(1), 1) };
            writer.push(url.key(), &record).unwrap();
        }
        repository.commit(writer, b"").unwrap();
        repository
    }

    #[test]
    fn a_rank_by_a_sample_is_that_of_all_pages_within_its_error() {
        let (repository, settings) = (many(), Settings::check(Config::default()).unwrap());
        let (generation, formula) = (repository.current(), Formula::from_expression("u_fresh_site").unwrap());
        let (cycle, pages) = (generation.cycle().next(), generation.pages());
        let request = plan::request(&settings, cycle, pages, 1);
        let inputs = |part: &Generation| {
            FormulaInputs::read(&formula, cycle, part, None, &PageRules::default(), &|_| {}).unwrap()
        };
        let rank = |sample: &Generation, inputs: &FormulaInputs, ordinal, score: Option<f64>| {
            let (request, formula, generation) = (&request, &formula, &*generation);
            let among = Competition { request, generation, sample, formula, inputs };
            let score = score.unwrap_or_else(|| among.score(ordinal).unwrap().unwrap());
            (among.rank(ordinal, score, None).unwrap(), score)
        };
        let all = inputs(&generation);
        for ordinal in (0..pages).step_by(pages as usize / 3) {
            let sample = Sample::new(&generation, ordinal, None);
            assert!(sample.even.blocks() <= SAMPLED && sample.around.blocks() <= SAMPLED + 2 * AROUND);
            let part = inputs(&sample.around);
            let (exact, _) = rank(&generation, &all, ordinal, None);
            let (told, score) = rank(&sample.even, &part, ordinal, None);
            assert_eq!((exact.error, told.error > 0), (0, true));
            assert!(told.error < pages / 10, "{told:?} of {pages}");
            // By the rates of the sample, and with those of all pages.
            let with_score = rank(&generation, &all, ordinal, Some(score)).0;
            for exact in [exact, with_score] {
                assert!(exact.rank.abs_diff(told.rank) <= told.error, "{exact:?} is told as {told:?}");
            }
        }
        let whole = Sample::new(&generation, 5, Some(&(0..pages)));
        assert_eq!(
            (whole.around.blocks(), whole.even.blocks() < generation.blocks()),
            (generation.blocks(), true)
        );
    }
}

//! Ranks of pages in the next cycle, by all blocks of a generation or by a sample of them; kept until the next commit.

use crate::cycle::inputs::FormulaInputs;
use crate::failure::Failure;
use crate::parts::focus::survey;
use crate::settings::Settings;
use recrawl_formula::Formula;
use recrawl_repository::{Generation, SledTables};
use recrawl_scheduler::{PlanRequest, Rank, Ranking};
use recrawl_types::Round;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Blocks that stand for all: of ten million pages, 3 %. A generation of no more blocks is read whole.
const SAMPLED: usize = 256;
/// Blocks before and after that of a page that tell the rates of its site and its sections.
const AROUND: usize = 2;

/// The ranks of pages of a generation. Memory: at most 8 MB, and 16 bytes per site if the formula uses rates.
#[derive(Debug)]
pub struct Ranks {
    generation: Round,
    request: PlanRequest,
    formula: Formula,
    /// Of the formula beside the records, for the blocks that were read.
    pub inputs: FormulaInputs,
    ranking: Ranking,
    pages: u64,
    /// Every so many-th block was read.
    step: usize,
}

/// The last ranks that were gathered.
#[derive(Debug, Default)]
pub struct StoredRanks(Mutex<Option<Arc<Ranks>>>);

impl StoredRanks {
    /// The ranks given by this request and formula. Blocks while another caller gathers them.
    ///
    /// # Errors
    /// When the generation cannot be read.
    pub fn get_or_gather(
        &self,
        request: &PlanRequest,
        formula: &Formula,
        generation: &Generation,
        tables: &SledTables,
        settings: &Settings,
    ) -> Result<Arc<Ranks>, Failure> {
        let mut kept = self.0.lock().expect("no panic under the lock");
        if let Some(ranks) = &*kept
            && ranks.generation == generation.number()
            && ranks.request == *request
            && ranks.formula == *formula
        {
            return Ok(ranks.clone());
        }
        // Free the old ranks first.
        *kept = None;
        let ranks = Arc::new(Ranks::gather(request, formula, generation, Some(tables), settings)?);
        *kept = Some(ranks.clone());
        Ok(ranks)
    }
}

impl Ranks {
    /// Reads the state of the sampled blocks.
    ///
    /// # Errors
    /// When the generation or the tables cannot be read.
    pub fn gather(
        request: &PlanRequest,
        formula: &Formula,
        generation: &Generation,
        tables: Option<&SledTables>,
        settings: &Settings,
    ) -> Result<Ranks, Failure> {
        let step = generation.blocks().div_ceil(SAMPLED).max(1);
        let sample = generation.only(|at| at % step == 0);
        let focus = survey::of_formula(formula, settings.focus.as_ref(), generation, tables)?;
        let inputs = FormulaInputs::read(formula, request.cycle, &sample, tables, &settings.pages, &|_| {})?;
        let inputs = inputs.with_focus(focus);
        let policy = request.policy(formula);
        let mut ranking = Ranking::new(request);
        sample.scan(inputs.need_keys(), |first, columns| -> Result<(), Failure> {
            inputs.fill(first, columns);
            ranking.scan(&*policy, first, columns);
            Ok(())
        })?;
        let (request, formula, number) = (request.clone(), formula.clone(), generation.number());
        Ok(Ranks { generation: number, request, formula, inputs, ranking, pages: generation.pages(), step })
    }

    /// The rank of a page of this generation that competes by this score.
    pub fn rank(&self, ordinal: u64, score: f64) -> Rank {
        self.ranking.rank(ordinal, score, self.pages)
    }

    /// Are these estimates, by a sample?
    pub fn are_estimates(&self) -> bool {
        self.step > 1
    }

    /// Inputs for a page by its blocks and those that were read, and for all pages of its host if hosts have a limit; none where
    /// all blocks were read.
    ///
    /// # Errors
    /// When the generation or the tables cannot be read.
    pub fn inputs_near(
        &self,
        generation: &Generation,
        ordinal: u64,
        host: &Range<u64>,
        tables: Option<&SledTables>,
        settings: &Settings,
    ) -> Result<Option<FormulaInputs>, Failure> {
        if !self.are_estimates() {
            return Ok(None);
        }
        let of_page = generation.block_of(ordinal);
        let blocks = |_| generation.block_of(host.start)..=generation.block_of(host.end - 1);
        let of_host = self.request.max_per_host.map(blocks);
        let part = generation.only(|at| {
            at % self.step == 0
                || at.abs_diff(of_page) <= AROUND
                || of_host.as_ref().is_some_and(|host| host.contains(&at))
        });
        let (formula, cycle) = (&self.formula, self.request.cycle);
        let read = FormulaInputs::read(formula, cycle, &part, tables, &settings.pages, &|_| {})?;
        Ok(Some(read.with_focus(self.inputs.focus.clone())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::cycle::plan;
    use recrawl_repository::storage::MemoryStorage;
    use recrawl_repository::{BLOCK_PAGES, Repository};
    use recrawl_types::{Content, Cycle, History, PageRecord, UrlRules, Visited};

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
        let policy = request.policy(&formula);
        let score = |inputs: &FormulaInputs, ordinal| {
            let mut scores = Vec::new();
            policy.score(&inputs.page(&generation, ordinal).unwrap(), ordinal, &mut scores);
            scores[0]
        };
        let all = FormulaInputs::read(&formula, cycle, &generation, None, &settings.pages, &|_| {}).unwrap();
        let mut exact = Ranking::new(&request);
        generation
            .scan(false, |first, columns| -> Result<(), Failure> {
                all.fill(first, columns);
                exact.scan(&*policy, first, columns);
                Ok(())
            })
            .unwrap();
        let ranks = Ranks::gather(&request, &formula, &generation, None, &settings).unwrap();
        assert!(ranks.are_estimates());
        for ordinal in (0..pages).step_by(pages as usize / 20) {
            let near = ranks.inputs_near(&generation, ordinal, &(0..0), None, &settings).unwrap().unwrap();
            let score_told = score(&near, ordinal);
            let told = ranks.rank(ordinal, score_told);
            assert!((1..pages / 10).contains(&told.error), "{told:?} of {pages}");
            // By the rates near the page, and by those of all pages.
            for score in [score_told, score(&all, ordinal)] {
                let exact = exact.rank(ordinal, score, pages);
                assert_eq!(exact.error, 0);
                assert!(exact.rank.abs_diff(told.rank) <= told.error, "{exact:?} is told as {told:?}");
            }
        }
        // Of a host with a limit, all pages are compared.
        let request = PlanRequest { max_per_host: Some(1), ..request };
        let ranks = Ranks::gather(&request, &formula, &generation, None, &settings).unwrap();
        let near = ranks.inputs_near(&generation, 5, &(0..pages), None, &settings).unwrap().unwrap();
        assert_eq!(near.rates(pages / 2), all.rates(pages / 2));
    }
}

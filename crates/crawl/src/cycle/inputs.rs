//! Inputs of a formula beside the records of pages: the change rates of sites and sections, siblings, signals,
//! the model of the next change, and importance.

use crate::cycle::signals::PageSignals;
use crate::failure::Failure;
use crate::page_rules::PageRules;
use crate::page_rules::importance::ImportanceRuns;
use crate::parts::focus::survey::FocusSurvey;
use crate::parts::next_change;
use crate::record_inputs::RecordInputs;
use crate::report::SiblingVisits;
use crate::site_rates::SitePriors;
use recrawl_formula::siblings;
use recrawl_formula::{Formula, SiteRates};
use recrawl_repository::{Generation, ReadError, SledTables};
use recrawl_types::{Cycle, NEXT_CHANGE_WEIGHTS, Reads, StateColumns};
use std::sync::Arc;

/// The inputs of a formula for all pages of a generation. The default has none.
#[derive(Debug, Default)]
pub struct FormulaInputs {
    records: RecordInputs,
    signals: Option<PageSignals>,
    /// For the relevance of pages.
    pub(super) focus: Option<Arc<FocusSurvey>>,
    next_change: [f64; NEXT_CHANGE_WEIGHTS],
    importance: Option<ImportanceRuns>,
}

impl FormulaInputs {
    /// Does the formula read signals, the model of the next change, or relevance, which need the tables?
    pub fn need_tables(formula: &Formula) -> bool {
        let reads = formula.compile().reads();
        reads.needs_signals() || reads.contains(Reads::NEXT_CHANGE) || reads.contains(Reads::RELEVANCE)
    }

    /// The same, with the relevance that a survey of the generation shows.
    #[must_use]
    pub fn with_focus(self, focus: Option<Arc<FocusSurvey>>) -> FormulaInputs {
        FormulaInputs { focus, ..self }
    }

    /// Are the keys of a block needed to fill it?
    pub fn need_keys(&self) -> bool {
        self.records.need_keys()
    }

    /// Does the formula read siblings? Then all rounds of a cycle but the last one visit a sample of them.
    pub fn samples_siblings(&self) -> bool {
        self.records.samples_siblings()
    }

    /// Reads what the formula uses as of `cycle`, and nothing else. Without tables no page has signals, and
    /// the model has learned nothing. `passed` is called with the pages of each block.
    ///
    /// # Errors
    /// When the generation or the tables cannot be read.
    pub fn read(
        formula: &Formula,
        cycle: Cycle,
        generation: &Generation,
        tables: Option<&SledTables>,
        rules: &PageRules,
        passed: &dyn Fn(usize),
    ) -> Result<FormulaInputs, Failure> {
        FormulaInputs::read_for(formula.compile().reads(), cycle, generation, tables, rules, passed)
    }

    /// The same for all that some formulas use.
    ///
    /// # Errors
    /// As of [`FormulaInputs::read`].
    pub fn read_for(
        reads: Reads,
        cycle: Cycle,
        generation: &Generation,
        tables: Option<&SledTables>,
        rules: &PageRules,
        passed: &dyn Fn(usize),
    ) -> Result<FormulaInputs, Failure> {
        let records = RecordInputs::read(reads, cycle, generation, passed)?;
        let mut inputs = FormulaInputs { records, ..FormulaInputs::default() };
        if let Some(tables) = tables.filter(|_| reads.needs_signals()) {
            inputs.signals = Some(PageSignals::read(tables, generation)?);
        }
        if let Some(tables) = tables.filter(|_| reads.contains(Reads::NEXT_CHANGE)) {
            inputs.next_change = next_change::weights(tables)?;
        }
        if reads.contains(Reads::IMPORTANCE) && rules.weighing().is_some() {
            inputs.importance = Some(ImportanceRuns::read(rules, generation)?);
        }
        Ok(inputs)
    }

    /// Fills the columns of a block whose first page has the ordinal `first`. Gives the groups of siblings in it that
    /// burst, if the formula reads siblings.
    pub fn fill(&self, first: u64, columns: &mut StateColumns) -> Vec<siblings::Group> {
        columns.next_change = self.next_change;
        if let Some(survey) = &self.focus {
            survey.filler(false).fill(first, columns);
        }
        if let Some(signals) = &self.signals {
            signals.fill(first, columns);
        }
        if let Some(runs) = &self.importance {
            runs.fill(first, columns);
        }
        self.records.fill(first, columns)
    }

    /// The rate of all pages together, in changes a cycle, if the formula uses rates.
    pub fn global_rate(&self) -> Option<f64> {
        self.records.priors.as_ref().map(SitePriors::global)
    }

    /// The rates of the page's site, if the formula uses them.
    pub fn rates(&self, ordinal: u64) -> Option<SiteRates> {
        self.records.priors.as_ref().map(|priors| priors.rates(ordinal))
    }

    /// Evidence of the siblings of a visited page, and a block of the page without them: with the rate of its
    /// site, and no burst. None if the formula reads no siblings, or the page has none.
    ///
    /// # Errors
    /// When the block cannot be read.
    pub fn siblings(&self, generation: &Generation, ordinal: u64) -> Result<Option<Siblings>, ReadError> {
        let Some(cycle) = self.records.siblings else { return Ok(None) };
        let mut states = generation.states_from(ordinal).with_keys(true).without_read_ahead();
        let Some((first, columns)) = states.next_block()? else { return Ok(None) };
        self.fill(first, columns);
        let row = (ordinal - first) as usize;
        let Some(group) = siblings::of_page(columns, cycle, row) else { return Ok(None) };
        let mut alone = columns.page(row);
        let (rate, burst) = (alone.sibling_rate[0], alone.burst[0]);
        (alone.sibling_rate[0], alone.burst[0]) = (alone.site_rate[0], 1.0);
        Ok(Some(Siblings { visits: SiblingVisits::new(&group, &columns.keys), rate, burst, alone }))
    }

    /// A block of one page with all that the formula reads. Reads the state of its block.
    ///
    /// # Errors
    /// When the block cannot be read.
    pub fn page(&self, generation: &Generation, ordinal: u64) -> Result<StateColumns, ReadError> {
        let mut states = generation.states_from(ordinal).with_keys(self.need_keys()).without_read_ahead();
        let Some((first, columns)) = states.next_block()? else { return Ok(StateColumns::default()) };
        self.fill(first, columns);
        Ok(columns.page((ordinal - first) as usize))
    }
}

/// Evidence of siblings about a page.
#[derive(Debug)]
pub struct Siblings {
    /// Their last visits since the page's own.
    pub visits: SiblingVisits,
    /// Changes per cycle, of the group and the site.
    pub rate: f64,
    /// The burst, as a factor.
    pub burst: f64,
    /// The page as if it had none.
    pub alone: StateColumns,
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_repository::Repository;
    use recrawl_repository::storage::MemoryStorage;
    use recrawl_types::{Content, History, PageRecord, UrlRules, Visited};
    use std::sync::Arc;

    /// Siblings show the same in a plan, in an explanation, and in a simulation of the records of a block.
    #[test]
    fn siblings_of_a_block_are_those_of_its_records() {
        let rules = UrlRules::keep_all();
        let mut urls: Vec<_> =
            (0..300).map(|i| rules.canonicalize(&format!("http://a.test/{}/{i}", i % 40)).unwrap()).collect();
        urls.sort();
        let mut repository = Repository::open(Arc::new(MemoryStorage::new())).unwrap();
        let empty = recrawl_repository::Generation::default();
        let mut writer = repository.begin(&empty, Cycle(1)).unwrap();
        let mut expected = StateColumns::default();
        for (i, url) in (0..).zip(&urls) {
            let mut record = PageRecord::discovered(Cycle(1), 1);
            if i % 7 > 0 {
                let mut history = History::first_fetch(Cycle(1));
                history.record(Cycle(2 + i % 5), i % 3 == 0);
                record.visited = Some(Visited { history, content: Content::default() });
            }
            expected.push(record.known, record.visited.as_ref().map(|visited| &visited.history));
            writer.push(url.key(), &record).unwrap();
        }
        repository.commit(writer, b"").unwrap();
        let (generation, cycle) = (repository.current(), Cycle(9));
        let read = |text: &str| {
            let formula = Formula::from_expression(text).unwrap();
            FormulaInputs::read(&formula, cycle, &generation, None, &PageRules::default(), &|_| {}).unwrap()
        };
        let inputs = read("u_fresh_sib");
        inputs.records.priors.as_ref().unwrap().fill(0, &mut expected);
        siblings::fill(&mut expected, cycle, urls.iter().map(|url| url.key()).zip(0..));
        assert!(
            expected.siblings.iter().max().unwrap() > &30 && expected.burst.iter().any(|burst| *burst > 1.5)
        );
        let mut rows = 0;
        generation
            .scan(inputs.need_keys(), |first, columns| -> Result<(), ReadError> {
                inputs.fill(first, columns);
                rows += columns.len();
                assert_eq!((&columns.siblings, &columns.burst), (&expected.siblings, &expected.burst));
                assert_eq!(columns.sibling_rate, expected.sibling_rate);
                Ok(())
            })
            .unwrap();
        assert_eq!(rows, 300, "in one block");
        let row = expected.burst.iter().position(|burst| *burst > 1.5).unwrap();
        let shown = inputs.siblings(&generation, row as u64).unwrap().unwrap();
        assert_eq!((shown.rate, shown.burst), (expected.sibling_rate[row], expected.burst[row]));
        assert_eq!((shown.alone.sibling_rate[0], shown.alone.burst[0]), (expected.site_rate[row], 1.0));
        assert!(shown.visits.folder.starts_with("http://a.test/") && shown.visits.pages > 1, "{shown:?}");
        let alone = expected.siblings.iter().position(|group| *group == StateColumns::ALONE).unwrap();
        assert!(inputs.siblings(&generation, alone as u64).unwrap().is_none());
        assert!(read("t").siblings(&generation, row as u64).unwrap().is_none());
        let page = inputs.page(&generation, 77).unwrap();
        assert_eq!(
            (page.len(), page.burst[0], page.sibling_rate[0]),
            (1, expected.burst[77], expected.sibling_rate[77])
        );
        assert!(!read("u_fresh_site").need_keys(), "a formula that reads no siblings reads no keys");
    }
}

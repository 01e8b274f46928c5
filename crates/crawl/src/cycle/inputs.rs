//! What a formula reads beside the records of pages: the change rates of sites, siblings, and signals.

use crate::cycle::priors::SitePriors;
use crate::cycle::signals::PageSignals;
use crate::failure::Failure;
use recrawl_clusters::siblings;
use recrawl_formula::{Formula, SiteRates};
use recrawl_repository::{Generation, OriginRun, ReadError, SledTables};
use recrawl_types::{Cycle, StateColumns};

/// The inputs of a formula for all pages of a generation. The default has none.
#[derive(Debug, Default)]
pub struct FormulaInputs {
    priors: Option<SitePriors>,
    /// The cycle as of which siblings are read.
    siblings: Option<Cycle>,
    signals: Option<PageSignals>,
}

impl FormulaInputs {
    /// Passes over all pages before the one that scores them.
    pub fn passes(formula: &Formula) -> u64 {
        u64::from(formula.compile().reads().needs_priors())
    }

    /// Does the formula read signals, which are in the tables?
    pub fn need_tables(formula: &Formula) -> bool {
        formula.compile().reads().needs_signals()
    }

    /// Are the keys of a block needed to fill it?
    pub fn need_keys(&self) -> bool {
        self.siblings.is_some()
    }

    /// Reads what the formula uses as of `cycle`, and nothing else. Without tables no page has signals. `passed` is
    /// called with the pages of each block.
    ///
    /// # Errors
    /// When the generation or the tables cannot be read.
    pub fn read(
        formula: &Formula,
        cycle: Cycle,
        generation: &Generation,
        origins: &[OriginRun],
        tables: Option<&SledTables>,
        passed: &dyn Fn(usize),
    ) -> Result<FormulaInputs, Failure> {
        let tables = tables.filter(|_| FormulaInputs::need_tables(formula));
        let signals = tables.map(|tables| PageSignals::read(tables, generation, origins)).transpose()?;
        let priors = SitePriors::wanted_by(formula, generation, origins, passed)?;
        let siblings = Some(cycle).filter(|_| formula.compile().reads().needs_siblings());
        Ok(FormulaInputs { priors, siblings, signals })
    }

    /// Fills the columns of a block whose first page has the ordinal `first`.
    pub fn fill(&self, first: u64, columns: &mut StateColumns) {
        if let Some(priors) = &self.priors {
            priors.fill(first, columns);
        }
        if let Some(signals) = &self.signals {
            signals.fill(first, columns);
        }
        if let Some(cycle) = self.siblings {
            // Groups end at the ends of blocks, so that a block is filled by itself.
            let keys = std::mem::take(&mut columns.keys);
            siblings::fill(columns, cycle, keys.iter().zip(0..));
            columns.keys = keys;
        }
    }

    /// The rates of the page's site, if the formula uses them.
    pub fn rates(&self, ordinal: u64) -> Option<SiteRates> {
        self.priors.as_ref().map(|priors| priors.of(ordinal))
    }

    /// A block of one page with all that the formula reads. Reads the state of its block.
    ///
    /// # Errors
    /// When the block cannot be read.
    pub fn page(&self, generation: &Generation, ordinal: u64) -> Result<StateColumns, ReadError> {
        let mut states = generation.states_from(ordinal).with_keys(self.need_keys());
        let Some((first, columns)) = states.next_block()? else { return Ok(StateColumns::default()) };
        self.fill(first, columns);
        Ok(columns.page((ordinal - first) as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_repository::Repository;
    use recrawl_repository::storage::MemoryStorage;
    use recrawl_types::{Content, History, PageRecord, UrlRules, Visited};
    use std::sync::Arc;

    /// What siblings show is the same in a plan, in an explanation, and in a simulation of the records of a block.
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
        let origins = generation.origins().unwrap();
        let read = |text: &str| {
            let formula = Formula::from_expression(text).unwrap();
            FormulaInputs::read(&formula, cycle, &generation, &origins, None, &|_| {}).unwrap()
        };
        let inputs = read("u_fresh_sib");
        inputs.priors.as_ref().unwrap().fill(0, &mut expected);
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
        let page = inputs.page(&generation, 77).unwrap();
        assert_eq!(
            (page.len(), page.burst[0], page.sibling_rate[0]),
            (1, expected.burst[77], expected.sibling_rate[77])
        );
        assert!(!read("u_fresh_site").need_keys(), "a formula that reads no siblings reads no keys");
    }
}

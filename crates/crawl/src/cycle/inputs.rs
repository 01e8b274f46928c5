//! What a formula reads beside the records of pages: the change rates of sites, and signals.

use crate::cycle::priors::SitePriors;
use crate::cycle::signals::PageSignals;
use crate::failure::Failure;
use recrawl_formula::{Formula, SiteRates};
use recrawl_repository::{Generation, OriginRun, SledTables};
use recrawl_types::{History, Known, StateColumns};

/// The inputs of a formula for all pages of a generation. The default has none.
#[derive(Debug, Default)]
pub struct FormulaInputs {
    priors: Option<SitePriors>,
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

    /// Reads what the formula uses, and nothing else. Without tables no page has signals. `passed` is
    /// called with the pages of each block.
    ///
    /// # Errors
    /// When the generation or the tables cannot be read.
    pub fn read(
        formula: &Formula,
        generation: &Generation,
        origins: &[OriginRun],
        tables: Option<&SledTables>,
        passed: &dyn Fn(usize),
    ) -> Result<FormulaInputs, Failure> {
        let tables = tables.filter(|_| FormulaInputs::need_tables(formula));
        let signals = tables.map(|tables| PageSignals::read(tables, generation, origins)).transpose()?;
        Ok(FormulaInputs { priors: SitePriors::wanted_by(formula, generation, origins, passed)?, signals })
    }

    /// Fills the columns of a block whose first page has the ordinal `first`.
    pub fn fill(&self, first: u64, columns: &mut StateColumns) {
        if let Some(priors) = &self.priors {
            priors.fill(first, columns);
        }
        if let Some(signals) = &self.signals {
            signals.fill(first, columns);
        }
    }

    /// The rates of the page's site, if the formula uses them.
    pub fn rates(&self, ordinal: u64) -> Option<SiteRates> {
        self.priors.as_ref().map(|priors| priors.of(ordinal))
    }

    /// A block of one page with all that the formula reads.
    pub fn block(&self, ordinal: u64, known: &Known, history: &History) -> StateColumns {
        let mut columns = StateColumns::default();
        columns.push(*known, Some(history));
        if let Some(rates) = self.rates(ordinal) {
            (columns.global_rate, columns.site_rate) = (rates.global, vec![rates.site]);
        }
        if let Some(signals) = &self.signals {
            signals.fill(ordinal, &mut columns);
        }
        columns
    }
}

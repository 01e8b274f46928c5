//! Inputs of a formula that follow from the records of a generation alone: the change rates of sites, and siblings.

use crate::failure::Failure;
use crate::site_rates::SitePriors;
use recrawl_formula::siblings;
use recrawl_repository::Generation;
use recrawl_types::{Cycle, Reads, StateColumns};

/// These inputs for all pages of a generation. The default has none.
#[derive(Debug, Default)]
pub struct RecordInputs {
    /// The rates of sites; none unless they are read.
    pub priors: Option<SitePriors>,
    /// The cycle as of which siblings are read; none unless they are.
    pub siblings: Option<Cycle>,
}

impl RecordInputs {
    /// Reads what is among `reads`, as of `cycle`. `passed` is called with the pages of each block.
    ///
    /// # Errors
    /// When the generation cannot be read.
    pub fn read(
        reads: Reads,
        cycle: Cycle,
        generation: &Generation,
        passed: &dyn Fn(usize),
    ) -> Result<RecordInputs, Failure> {
        let priors = reads.needs_priors().then(|| SitePriors::read(generation, passed)).transpose()?;
        Ok(RecordInputs { priors, siblings: Some(cycle).filter(|_| reads.needs_siblings()) })
    }

    /// Are the keys of a block needed to fill it?
    pub fn need_keys(&self) -> bool {
        self.siblings.is_some()
    }

    /// Fills the columns of a block whose first page has the ordinal `first`. Gives the groups of siblings in it that
    /// burst, if siblings are read.
    pub fn fill(&self, first: u64, columns: &mut StateColumns) -> Vec<siblings::Group> {
        if let Some(priors) = &self.priors {
            priors.fill(first, columns);
        }
        let Some(cycle) = self.siblings else { return Vec::new() };
        // Groups end at the ends of blocks, so that a block is filled by itself.
        let keys = std::mem::take(&mut columns.keys);
        let bursting = siblings::fill(columns, cycle, keys.iter().zip(0..));
        columns.keys = keys;
        bursting
    }
}

//! Inputs of a formula that follow from the records of a generation alone: the change rates of sites and sections, and
//! siblings.

use crate::failure::Failure;
use crate::site_rates::SitePriors;
use recrawl_formula::sections::{SectionFinder, Sections};
use recrawl_formula::{Evidence, siblings};
use recrawl_repository::Generation;
use recrawl_types::{Cycle, Reads, StateColumns};

/// These inputs for all pages of a generation. The default has none.
#[derive(Debug, Default)]
pub struct RecordInputs {
    /// The rates of sites; none unless they are read.
    pub priors: Option<SitePriors>,
    /// The rates of sections; none unless they are read.
    pub sections: Option<Sections>,
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
        let siblings = Some(cycle).filter(|_| reads.needs_siblings());
        if !reads.needs_sections() {
            let priors = reads.needs_priors().then(|| SitePriors::read(generation, passed)).transpose()?;
            return Ok(RecordInputs { priors, sections: None, siblings });
        }
        let mut finder = SectionFinder::default();
        let priors = SitePriors::read_with_keys(generation, passed, |columns| {
            for (row, key) in columns.keys.iter().enumerate() {
                finder.push(key, Evidence::of_row(columns, row));
            }
        })?;
        Ok(RecordInputs { priors: Some(priors), sections: Some(finder.finish()), siblings })
    }

    /// Are the keys of a block needed to fill it?
    pub fn need_keys(&self) -> bool {
        self.samples_siblings()
    }

    /// Are siblings read?
    pub fn samples_siblings(&self) -> bool {
        self.siblings.is_some()
    }

    /// Fills the columns of a block whose first page has the ordinal `first`. Gives the groups of siblings in it that
    /// burst, if siblings are read.
    pub fn fill(&self, first: u64, columns: &mut StateColumns) -> Vec<siblings::Group> {
        if let Some(priors) = &self.priors {
            priors.fill(first, columns);
        }
        if let Some(sections) = &self.sections {
            let visited = (0..columns.len()).filter(|&row| columns.visited[row]).collect::<Vec<_>>();
            sections.fill(columns, visited.into_iter().map(|row| (first + row as u64, row)));
        }
        let Some(cycle) = self.siblings else { return Vec::new() };
        // Groups end at the ends of blocks, so that a block is filled by itself.
        let keys = std::mem::take(&mut columns.keys);
        let bursting = siblings::fill(columns, cycle, keys.iter().zip(0..));
        columns.keys = keys;
        bursting
    }
}

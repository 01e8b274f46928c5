//! Inputs of a formula that follow from the records of a generation alone: the change rates of sites and sections,
//! siblings, and the ranks of pages by links.

use crate::failure::Failure;
use crate::site_rates::SitePriors;
use recrawl_formula::in_links::{InLinkCounts, InLinkRanks};
use recrawl_formula::sections::{SectionFinder, Sections};
use recrawl_formula::{RateEvidence, siblings};
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
    /// Ranks by links; none unless they are read.
    pub in_links: Option<InLinkRanks>,
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
        if !reads.needs_first_pass() {
            return Ok(RecordInputs { siblings, ..RecordInputs::default() });
        }
        let mut finder = reads.needs_sections().then(SectionFinder::default);
        let mut counts = reads.contains(Reads::IN_LINKS).then(InLinkCounts::default);
        let priors = SitePriors::read_beside(generation, finder.is_some(), passed, |first, columns| {
            if let Some(finder) = &mut finder {
                for (row, key) in columns.keys.iter().enumerate() {
                    finder.push(first + row as u64, key, RateEvidence::of_row(columns, row));
                }
            }
            if let Some(counts) = &mut counts {
                let visited = columns.known.iter().zip(&columns.visited).filter(|(_, visited)| **visited);
                visited.for_each(|(known, _)| counts.add(known.in_links));
            }
        })?;
        Ok(RecordInputs {
            priors: Some(priors).filter(|_| reads.needs_priors()),
            sections: finder.map(SectionFinder::finish),
            siblings,
            in_links: counts.map(|counts| counts.ranks()),
        })
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
        if let Some(ranks) = &self.in_links {
            columns.in_links_rank.clear();
            columns.in_links_rank.extend(columns.known.iter().map(|known| ranks.rank(known.in_links)));
        }
        let Some(cycle) = self.siblings else { return Vec::new() };
        // Groups end at the ends of blocks, so that a block is filled by itself.
        let keys = std::mem::take(&mut columns.keys);
        let bursting = siblings::fill(columns, cycle, keys.iter().zip(0..));
        columns.keys = keys;
        bursting
    }
}

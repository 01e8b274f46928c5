//! Divides pages and cycles into training, validation and test.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use recrawl_simulation::Dataset;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

/// How pages and cycles are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// All cycles. Half of the folds other than the test train and half validate (thesis section
    /// 4.3: 2/5, 2/5, 1/5). If their number is odd, training has one more.
    Thesis,
    /// Thirds of the time: all folds but two train in the first, one validates in the second, and
    /// the last is the test in the third (journal section 5.2).
    Journal,
}

/// The unit that folds never divide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FoldBy {
    /// A page, as in the papers: pages of one site may be in both training and test.
    Page,
    /// A site: the formula must hold for sites that learning has not seen.
    Site,
}

/// The division of a data set's pages.
#[derive(Clone, Debug)]
pub struct Folds<'a> {
    data: &'a Dataset,
    protocol: Protocol,
    /// The pages of each fold, ascending.
    groups: Vec<Vec<u32>>,
}

/// The three parts of one fold. No page is in two of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// Evolves the population.
    pub train: Dataset,
    /// Selects among the best formulas.
    pub validation: Dataset,
    /// Measures the selected formula.
    pub test: Dataset,
}

/// The folds are shuffled with this seed, independent of the seeds of the runs, so that all runs
/// are compared on the same folds.
const SEED: u64 = 0;

impl<'a> Folds<'a> {
    /// Divides the pages that exist from the first cycle to the last into `count` folds. By page,
    /// their sizes differ by at most one. By site, pages and changes are spread as evenly as the
    /// sites allow.
    ///
    /// # Errors
    /// If there are too few pages, sites or cycles (each part has a warm-up of `warmup` cycles), or
    /// nothing ever changes.
    pub fn new(
        data: &'a Dataset,
        protocol: Protocol,
        by: FoldBy,
        count: usize,
        warmup: u32,
    ) -> Result<Folds<'a>, FoldsError> {
        if count < 3 {
            return Err(FoldsError::FewFolds { count });
        }
        let pages = data.fixed();
        if pages.len() < count {
            return Err(FoldsError::FewPages { fixed: pages.len(), all: data.pages.len(), count });
        }
        let cycles = data.truth.cycles() + 1;
        for (what, range) in
            [("training", 0), ("validation", 1), ("test", 2)].map(|(w, i)| (w, part_of(protocol, cycles, i)))
        {
            // Cycle 0, the warm-up, and at least one evaluated cycle.
            if range.len() as u32 <= warmup + 1 {
                return Err(FoldsError::FewCycles { what, cycles: range.len() as u32, warmup });
            }
        }
        let changes = data.truth.changes();
        if pages.iter().all(|&p| changes[p as usize] == 0) {
            return Err(FoldsError::NothingChanges);
        }
        let rng = &mut ChaCha8Rng::seed_from_u64(SEED);
        let mut groups = match by {
            FoldBy::Page => by_page(pages, count, rng),
            FoldBy::Site => by_site(data, &pages, &changes, count, rng)?,
        };
        groups.iter_mut().for_each(|pages| pages.sort_unstable());
        Ok(Folds { data, protocol, groups })
    }

    /// The divided data.
    pub fn data(&self) -> &'a Dataset {
        self.data
    }

    /// Number of folds.
    pub fn count(&self) -> usize {
        self.groups.len()
    }

    /// Number of pages in all folds together.
    pub fn pages(&self) -> usize {
        self.groups.iter().map(Vec::len).sum()
    }

    /// The parts whose test is fold `i`; training begins with the fold after it.
    ///
    /// # Panics
    /// If there is no such fold.
    pub fn fold(&self, i: usize) -> Fold {
        let others: Vec<usize> = (1..self.count()).map(|step| (i + step) % self.count()).collect();
        let training = match self.protocol {
            Protocol::Thesis => others.len().div_ceil(2),
            Protocol::Journal => others.len() - 1,
        };
        let part = |groups: &[usize], third| {
            let mut pages: Vec<u32> = groups.iter().flat_map(|&g| self.groups[g].iter().copied()).collect();
            pages.sort_unstable();
            self.data.part(&pages, part_of(self.protocol, self.data.truth.cycles() + 1, third))
        };
        Fold {
            train: part(&others[..training], 0),
            validation: part(&others[training..], 1),
            test: part(&[i], 2),
        }
    }
}

/// The cycles of training (0), validation (1) and test (2).
fn part_of(protocol: Protocol, cycles: u32, part: u32) -> Range<u32> {
    match protocol {
        Protocol::Thesis => 0..cycles,
        Protocol::Journal => cycles * part / 3..cycles * (part + 1) / 3,
    }
}

/// Fisher–Yates; written out, since the order of a library may change with its version.
fn shuffle<T>(items: &mut [T], rng: &mut ChaCha8Rng) {
    for i in (1..items.len()).rev() {
        items.swap(i, rng.random_range(0..i + 1));
    }
}

fn by_page(mut pages: Vec<u32>, count: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<u32>> {
    shuffle(&mut pages, rng);
    let mut groups = vec![Vec::new(); count];
    pages.into_iter().enumerate().for_each(|(i, page)| groups[i % count].push(page));
    groups
}

/// Assigns large and busy sites first, each to the fold where the sum of squares of the shares of
/// pages and changes over the folds grows least. Without this, a site that outweighs others would
/// make one fold a different web.
fn by_site(
    data: &Dataset,
    pages: &[u32],
    changes: &[u32],
    count: usize,
    rng: &mut ChaCha8Rng,
) -> Result<Vec<Vec<u32>>, FoldsError> {
    let mut sites: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    pages.iter().for_each(|&page| sites.entry(data.pages[page as usize].group).or_default().push(page));
    if sites.len() < count {
        return Err(FoldsError::FewSites { sites: sites.len(), count });
    }
    let weight = |pages: &[u32]| -> [u128; 2] {
        [pages.len() as u128, pages.iter().map(|&page| u128::from(changes[page as usize])).sum()]
    };
    let all = weight(pages);
    let mut sites: Vec<([u128; 2], Vec<u32>)> =
        sites.into_values().map(|pages| (weight(&pages), pages)).collect();
    shuffle(&mut sites, rng);
    sites.sort_by_key(|([pages, changes], _)| std::cmp::Reverse(pages * all[1] + changes * all[0]));
    let mut folds = vec![([0, 0], Vec::new()); count];
    for (of_site, pages) in sites {
        let growth = |of_fold: &[u128; 2]| {
            of_fold[0] * of_site[0] * all[1] * all[1] + of_fold[1] * of_site[1] * all[0] * all[0]
        };
        let (sum, fold) = folds.iter_mut().min_by_key(|(sum, _)| growth(sum)).expect("at least one fold");
        sum.iter_mut().zip(of_site).for_each(|(sum, more)| *sum += more);
        fold.extend(pages);
    }
    Ok(folds.into_iter().map(|(_, pages)| pages).collect())
}

/// Why a data set cannot be divided.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FoldsError {
    /// Fewer than one fold for each of the three parts.
    #[error("{count} folds: use at least 3, one each for training, validation and test")]
    FewFolds {
        /// Requested folds.
        count: usize,
    },
    /// Fewer pages than folds.
    #[error(
        "{fixed} of {all} pages exist from the first cycle to the last, too few for {count} folds; use fewer \
         --folds, a later --first, or an earlier --last"
    )]
    FewPages {
        /// Pages that exist from the first cycle to the last.
        fixed: usize,
        /// All pages.
        all: usize,
        /// Folds.
        count: usize,
    },
    /// Fewer sites than folds.
    #[error("{sites} sites are too few for {count} folds; use fewer --folds, or --fold-by page")]
    FewSites {
        /// Sites with such pages.
        sites: usize,
        /// Folds.
        count: usize,
    },
    /// No cycle is left after the warm-up.
    #[error(
        "{what} has {cycles} cycles, but the first observation and a warm-up of {warmup} leave none; \
         use a shorter --warmup, or --protocol thesis"
    )]
    FewCycles {
        /// Name of the part.
        what: &'static str,
        /// Its cycles, including the first observation.
        cycles: u32,
        /// Cycles of warm-up.
        warmup: u32,
    },
    /// No page ever changes.
    #[error("nothing to learn from: no page that exists from the first cycle to the last ever changes")]
    NothingChanges,
}

#[cfg(test)]
mod tests;

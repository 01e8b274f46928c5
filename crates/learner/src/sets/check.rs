//! Which data sets can be learned from together, and which of their pages.

use recrawl_simulation::{Dataset, RecordedPage};
use std::collections::HashSet;

/// Checks that the sets differ, and have cycles of the same length.
///
/// # Errors
/// The first pair of sets of which this is not true.
pub fn check(sets: &[Dataset]) -> Result<(), SetsError> {
    if sets.len() < 2 {
        return Ok(());
    }
    let digests: Vec<String> = sets.iter().map(Dataset::digest).collect();
    let pairs = (0..sets.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
    for (a, b) in pairs {
        let [first, second] = [a, b].map(|at| sets[at].name.clone());
        if digests[a] == digests[b] {
            return Err(SetsError::Same { first, second });
        }
        if first == second {
            return Err(SetsError::Name { name: first });
        }
        let days = [a, b].map(|at| sets[at].days_of_a_cycle());
        if days[0] != days[1] {
            let [day, other] = days.map(length);
            return Err(SetsError::Cycles { first, day, second, other });
        }
    }
    Ok(())
}

/// Leaves every URL to the first of the sets that has it: else a training page of one set would be a test page of
/// another. Returns the sets, and for each the number of pages left out.
pub fn without_shared_pages(sets: Vec<Dataset>) -> (Vec<Dataset>, Vec<usize>) {
    if sets.len() < 2 {
        return (sets, vec![0]);
    }
    let mut earlier: HashSet<Box<str>> = HashSet::new();
    let one = |set: Dataset| {
        let is_new = |page: &RecordedPage| !page.url.contains("://") || !earlier.contains(&page.url);
        let pages: Vec<u32> =
            (0..).zip(&set.pages).filter(|(_, page)| is_new(page)).map(|(at, _)| at).collect();
        let left_out = set.pages.len() - pages.len();
        let cycles = 0..set.truth.cycles() + 1;
        let set = if left_out == 0 { set } else { set.part(&pages, cycles) };
        earlier.extend(set.pages.iter().map(|page| page.url.clone()));
        (set, left_out)
    };
    sets.into_iter().map(one).unzip()
}

fn length(days: Option<i64>) -> String {
    match days {
        None => "of unknown length (it has no dates)".to_owned(),
        Some(0) => "shorter than a day".to_owned(),
        Some(1) => "of a day".to_owned(),
        Some(days) => format!("of {days} days"),
    }
}

/// Why data sets cannot be learned from together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetsError {
    /// Two have the same content.
    #[error("{first} and {second} are the same data; give each data set once")]
    Same {
        /// One.
        first: String,
        /// The other.
        second: String,
    },
    /// Two have the same name, which the report calls them by.
    #[error("two data sets have the name {name}; rename the file or folder of one")]
    Name {
        /// The name.
        name: String,
    },
    /// Cycles of one are longer than those of the other.
    #[error(
        "cycles of {first} are {day}, those of {second} {other}; a formula counts time in cycles, so learn from sets with \
         equal cycles"
    )]
    Cycles {
        /// One.
        first: String,
        /// Its cycles.
        day: String,
        /// The other.
        second: String,
        /// Its cycles.
        other: String,
    },
}

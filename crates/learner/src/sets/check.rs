//! Which data sets can be learned from together.

use recrawl_simulation::Dataset;
use std::collections::HashMap;

/// Checks that the sets differ, share no page, and have cycles of the same length.
///
/// # Errors
/// The first pair of sets of which this is not true.
pub fn check(sets: &[Dataset]) -> Result<(), SetsError> {
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
    // By URL the set that has it.
    let mut holders: HashMap<&str, usize> = HashMap::new();
    for (b, set) in sets.iter().enumerate() {
        let urls = set.pages.iter().map(|page| &*page.url).filter(|url| url.contains("://"));
        let shared: Vec<usize> =
            urls.clone().filter_map(|url| holders.get(url).copied()).filter(|a| *a != b).collect();
        if let Some(&a) = shared.first() {
            let pages = shared.iter().filter(|other| **other == a).count();
            return Err(SetsError::SharedPages {
                first: sets[a].name.clone(),
                second: set.name.clone(),
                pages,
            });
        }
        holders.extend(urls.map(|url| (url, b)));
    }
    Ok(())
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
    /// Pages are in both.
    #[error(
        "{first} and {second} share {pages} pages: those of a training part of one would be in a test part of the other; \
         leave one of them out"
    )]
    SharedPages {
        /// One.
        first: String,
        /// The other.
        second: String,
        /// How many.
        pages: usize,
    },
}

//! The meaning of noise for one page: whether a floor judges it, and what to say of it.
//!
//! A person who says what part of a page counts, or asks for its changes, gets every difference. A page whose price
//! changes at each visit looks like one with a clock, and only a person knows which it is.

use crate::page_rules::PageRules;
use crate::parts::noise::site::floor_of;
use crate::parts::notify::NotifyTarget;
use recrawl_change::{ChangeRules, LastComparisons};
use recrawl_repository::SledTables;
use recrawl_types::{CanonicalUrl, Site, Visited};
use serde_json::{Value, json};
use std::io;

/// Advice about parts of a page that always differ.
const LEAVE_OUT: &str =
    "if only noise differs, such as a clock, leave it out: [[pages]] ignore or ignore_text";

/// The rules by which differences of pages are judged.
#[derive(Clone, Copy)]
pub struct NoiseRules<'r> {
    /// The comparison of two texts.
    pub change: &'r ChangeRules,
    /// The part of a page that counts.
    pub pages: &'r PageRules,
    /// The targets that are notified of changes.
    pub notify: &'r [NotifyTarget],
}

impl NoiseRules<'_> {
    /// Why each difference of a page counts, whatever the noise floor of its site; none if the floor judges it.
    pub fn why_exact(&self, url: &CanonicalUrl) -> Option<String> {
        let rule = self.pages.rule_for(url).filter(|rule| rule.part().is_some());
        let target = || self.notify.iter().find(|target| target.asks_for_changes_of(url));
        rule.map(|rule| format!("[[pages]] match {:?} says what counts", rule.matches))
            .or_else(|| target().map(|target| format!("[[notify]] {:?} asks for its changes", target.name)))
    }
}

/// How the noise floor of its site treats a page.
#[derive(Debug)]
pub struct PageNoise {
    floor: Option<u32>,
    last: LastComparisons,
    exact: Option<String>,
}

impl PageNoise {
    /// Of a page that was visited; none if no floor judges it or did lately.
    ///
    /// # Errors
    /// When the floor cannot be read.
    pub fn read(
        rules: NoiseRules<'_>,
        tables: &SledTables,
        url: &CanonicalUrl,
        visited: &Visited,
    ) -> io::Result<Option<PageNoise>> {
        let (floor, last) =
            (floor_of(tables, &Site::from_url(url))?.floor(), LastComparisons::from_visited(visited));
        let is_any = floor.is_some() || last.within_noise > 0;
        Ok(is_any.then(|| PageNoise { floor, last, exact: rules.why_exact(url) }))
    }

    /// For people.
    pub fn words(&self) -> String {
        let LastComparisons { seen, within_noise, .. } = self.last;
        let floor = match self.floor {
            Some(bits) => format!("the site has a noise floor of {bits} bits"),
            None => "the site has no noise floor".into(),
        };
        let swallowed = match within_noise {
            0 => String::new(),
            n => format!("; {n} of the last {seen} comparisons found a difference that is no change"),
        };
        let judged = match (&self.exact, self.last.are_quiet()) {
            (Some(why), _) => format!("each difference of this page counts: {why}"),
            (None, true) => "it does not judge this page, which was mostly unchanged".into(),
            (None, false) => {
                "to count each difference, say what part counts ([[pages]]) or ask for the changes ([[notify]])".into()
            }
        };
        format!("{floor}{swallowed}; {judged}")
    }

    /// For programs.
    pub fn json(&self) -> Value {
        json!({
            "floor": self.floor, "comparisons": self.last.seen, "within_noise": self.last.within_noise,
            "judged": self.exact.is_none() && !self.last.are_quiet(), "exact": self.exact,
        })
    }
}

/// Advice to somebody who is notified of a page at nearly every visit, or of one that a floor judged until lately.
pub fn hint(visited: &Visited) -> Option<String> {
    let last = LastComparisons::from_visited(visited);
    let LastComparisons { seen, different, within_noise } = last;
    let swallowed = match within_noise {
        0 => String::new(),
        n => format!(", {n} of them within the noise floor of the site or without text, and not told"),
    };
    (last.are_noisy() || within_noise > 1).then(|| {
        format!("the text differed at {different} of the last {seen} comparisons{swallowed}; {LEAVE_OUT}")
    })
}

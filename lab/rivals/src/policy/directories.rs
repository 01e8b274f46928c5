//! `db`: directories of changed samples.

use super::sample::{PolicySample, of_all};
use recrawl_simulation::Observed;
use recrawl_simulation::policy::{Make, PolicyVisit, ReplayPolicy, ReplayPolicyKind};
use recrawl_types::UrlRules;
use std::collections::{HashMap, HashSet};

/// The baseline DB of Tan & Mitra (2010, §6.3.5; Tan et al. 2007): samples pages at random, then visits all pages in
/// the directories of those that had changed. *Ours*: it samples as much as `sls`, and the rest is random.
pub(super) const KIND: ReplayPolicyKind = ReplayPolicyKind {
    name: "db",
    help: "samples pages, then visits the directories of those that changed",
    make: Make::Honest(|_| Box::new(Directories::default())),
};

#[derive(Default)]
struct Directories {
    sample: PolicySample,
    /// The directory of each page.
    of_pages: Vec<u32>,
}

impl ReplayPolicy for Directories {
    fn name(&self) -> &str {
        KIND.name
    }

    fn reads_urls(&self) -> bool {
        true
    }

    fn wants(&mut self, observed: &Observed, left: u64) -> u64 {
        self.sample.wants(observed, left, of_all)
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        if self.of_pages.is_empty() {
            let (rules, mut known) = (UrlRules::keep_all(), HashMap::new());
            let number = |page: usize| {
                let next = known.len() as u32;
                *known.entry(directory(&rules, observed.url(page))).or_insert(next)
            };
            self.of_pages = (0..observed.columns().len()).map(number).collect();
        }
        self.sample.score(out, |sample| {
            let changed: HashSet<u32> =
                sample.changed().into_iter().map(|page| self.of_pages[page as usize]).collect();
            self.of_pages.iter().map(|directory| u32::from(changed.contains(directory))).collect()
        });
    }

    fn observe(&mut self, observed: &Observed, visits: &[PolicyVisit]) {
        self.sample.observe(observed, visits);
    }
}

/// The URL up to the last slash of its path. Of a page without a URL, the same of its name.
fn directory(rules: &UrlRules, url: &str) -> String {
    let text = rules.canonicalize(url).map_or_else(|_| url.to_owned(), |url| url.as_text());
    let path = text.split(['?', '#']).next().unwrap_or_default();
    let end = path.rfind('/').map_or(0, |slash| slash + 1);
    path[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_ends_at_the_last_slash_of_the_path() {
        for (url, expected) in [
            ("https://A.test/x/y.html?z=/a/b", "https://a.test/x/"),
            ("https://a.test", "https://a.test/"),
            ("https://a.test/x/", "https://a.test/x/"),
            ("owner/name", "owner/"),
            ("name", ""),
        ] {
            assert_eq!(directory(&UrlRules::keep_all(), url), expected);
        }
    }
}

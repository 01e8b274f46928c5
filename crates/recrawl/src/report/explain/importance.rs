//! The importance of a page.

use recrawl_crawl::settings::Settings;
use recrawl_formula::Formula;
use recrawl_types::{CanonicalUrl, Importance};

/// As how many pages a page counts.
pub struct ShownImportance {
    pub value: Importance,
    /// The rule that says so.
    matches: String,
    /// Why that does not count in the schedule, if it does not.
    idle: Option<String>,
}

impl ShownImportance {
    pub fn configured(settings: &Settings, url: &CanonicalUrl, formula: &Formula) -> ShownImportance {
        let rule = settings.pages.rule_for(url);
        let (value, matches) = rule.map(|rule| (rule.importance, rule.matches.clone())).unwrap_or_default();
        ShownImportance { value, matches, idle: settings.importance_is_idle(formula) }
    }

    /// A line, if it is not 1.
    pub fn line(&self) -> Option<String> {
        let idle = self.idle.as_ref().map(|why| format!("; {why}")).unwrap_or_default();
        let line = || format!("importance  {}, by [[pages]] {:?}{idle}", self.value, self.matches);
        (self.value != Importance::ONE).then(line)
    }

    /// A clause, if it counts in the schedule and is not 1.
    pub fn clause(&self) -> String {
        let counts = self.value != Importance::ONE && self.idle.is_none();
        if counts { format!("; it counts as {} pages", self.value) } else { String::new() }
    }
}

//! The known pages of a host that robots.txt or the scope excludes, counted per rule.

use crate::crawl::seed_sites;
use crate::failure::Failure;
use crate::settings::Settings;
use recrawl_fetcher::robots::Rules;
use recrawl_repository::{Generation, OriginRun, SledTables};
use recrawl_types::HostState;
use recrawl_types::host::RobotsBody;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Known pages of a host that are checked: the first in URL order.
const MAX_LOOKED_AT: u64 = 10_000;
/// Rules shown: those that refuse most pages.
const RULES: usize = 10;

/// The pages that one rule refuses.
pub struct Refused {
    /// The rule as written in robots.txt, or a description of the scope's rule.
    rule: String,
    pages: u64,
    /// The first refused page.
    example: String,
}

/// The refusals of a host.
pub struct Refusals {
    by_rule: Vec<Refused>,
    looked_at: u64,
    known: u64,
}

impl Refusals {
    /// Applies the rules in force to the known pages of an origin (`run`) in the last generation.
    ///
    /// # Errors
    /// When pages or tables cannot be read.
    pub fn of(
        settings: &Settings,
        tables: &SledTables,
        generation: &Generation,
        run: Option<&OriginRun>,
        state: &HostState,
    ) -> Result<Refusals, Failure> {
        let mut scope = settings.scope.clone();
        if settings.config.scope.hosts.is_empty() {
            scope.admit_sites(seed_sites(tables, &[])?);
        }
        let robots = state.robots.as_ref().and_then(|robots| match &robots.body {
            RobotsBody::Rules(file) => Some(Rules::parse(file, settings.fetch.product_token())),
            RobotsBody::AllowAll | RobotsBody::DisallowAll(_) => None,
        });
        let (pages, known) =
            run.map_or((0..0, 0), |run| (run.first..run.first + run.pages.min(MAX_LOOKED_AT), run.pages));
        let looked_at = pages.end - pages.start;
        let mut by_rule = BTreeMap::<String, Refused>::new();
        let mut gather = generation.gather(pages);
        while let Some((_, url, _)) = gather.next_page().map_err(Failure::work)? {
            let by_robots = || robots.as_ref()?.forbids(url.path_and_query());
            let by_robots = by_robots().map(|line| format!("robots.txt: {line}"));
            let rule = by_robots.or_else(|| scope.refuse(&url).map(|refusal| refusal.to_string()));
            if let Some(rule) = rule {
                let new = || Refused { rule: rule.clone(), pages: 0, example: url.to_string() };
                by_rule.entry(rule.clone()).or_insert_with(new).pages += 1;
            }
        }
        let mut by_rule: Vec<Refused> = by_rule.into_values().collect();
        by_rule.sort_by(|a, b| b.pages.cmp(&a.pages).then_with(|| a.rule.cmp(&b.rule)));
        Ok(Refusals { by_rule, looked_at, known })
    }

    /// As a JSON array.
    pub fn json(&self) -> Value {
        let rule = |refused: &Refused| json!({"rule": refused.rule, "pages": refused.pages, "example": refused.example});
        self.by_rule.iter().map(rule).collect()
    }

    /// As printed lines.
    pub fn lines(&self) -> Vec<String> {
        let shown = self.by_rule.iter().take(RULES);
        let line = |r: &Refused| format!("{} known pages by {}, for example {}", r.pages, r.rule, r.example);
        let mut lines: Vec<String> = shown.map(line).collect();
        if self.by_rule.len() > RULES {
            lines.push(format!("… and by {} more rules", self.by_rule.len() - RULES));
        }
        if self.looked_at < self.known {
            lines.push(format!("(checked the first {} of {} known pages)", self.looked_at, self.known));
        }
        lines
    }
}

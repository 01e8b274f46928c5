//! The known pages of a host to which a gate is closed, counted per gate.

use recrawl_crawl::failure::Failure;
use recrawl_crawl::forbidding::{Forbidding, OfOrigin};
use recrawl_crawl::labels::counted;
use recrawl_repository::{Generation, OriginRun};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Rules shown: those that refuse most pages.
const RULES: usize = 10;

/// The pages that one rule refuses.
pub struct RefusedPages {
    /// The closed gate, in words.
    rule: String,
    pages: u64,
    /// The first refused page.
    example: String,
}

/// The refusals of a host.
pub struct Refusals {
    by_rule: Vec<RefusedPages>,
    looked_at: u64,
    known: u64,
}

impl Refusals {
    /// Applies the rules in force to the known pages of an origin (`run`) in the last generation.
    ///
    /// # Errors
    /// When pages cannot be read.
    pub fn for_origin(
        forbidding: &Forbidding<'_>,
        generation: &Generation,
        run: Option<&OriginRun>,
        of: &OfOrigin,
    ) -> Result<Refusals, Failure> {
        let (first, known) = run.map_or((0, 0), |run| (run.first, run.pages));
        let looked_at = known.min(of.most_looked_at);
        let pages = first..first + looked_at;
        let mut by_rule = BTreeMap::<String, RefusedPages>::new();
        let mut gather = generation.gather(pages);
        while let Some((_, url, record)) = gather.next_page().map_err(Failure::work)? {
            if let Some(gate) = forbidding.gates(of, &url, record.visited.is_some()).first() {
                let rule = gate.to_string();
                let new = || RefusedPages { rule: rule.clone(), pages: 0, example: url.to_string() };
                by_rule.entry(rule.clone()).or_insert_with(new).pages += 1;
            }
        }
        let mut by_rule: Vec<RefusedPages> = by_rule.into_values().collect();
        by_rule.sort_by(|a, b| b.pages.cmp(&a.pages).then_with(|| a.rule.cmp(&b.rule)));
        Ok(Refusals { by_rule, looked_at, known })
    }

    /// As a JSON array.
    pub fn json(&self) -> Value {
        let rule = |refused: &RefusedPages| json!({"rule": refused.rule, "pages": refused.pages, "example": refused.example});
        self.by_rule.iter().map(rule).collect()
    }

    /// As printed lines.
    pub fn lines(&self) -> Vec<String> {
        let shown = self.by_rule.iter().take(RULES);
        let line = |r: &RefusedPages| {
            format!("{}: {}, for example {}", counted(r.pages, "known page"), r.rule, r.example)
        };
        let mut lines: Vec<String> = shown.map(line).collect();
        if self.by_rule.len() > RULES {
            let more = (self.by_rule.len() - RULES) as u64;
            lines.push(format!("… and by {}", counted(more, "more rule")));
        }
        if self.looked_at < self.known {
            lines.push(format!(
                "(checked the first {} of {})",
                self.looked_at,
                counted(self.known, "known page")
            ));
        }
        lines
    }
}

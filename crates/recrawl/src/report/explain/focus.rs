//! What a focused crawl says of a page: how relevant it is, or what its links let expect and why.

use recrawl_crawl::failure::Failure;
use recrawl_crawl::parts::focus::survey;
use recrawl_crawl::settings::Settings;
use recrawl_focus::live::yields::Yield;
use recrawl_focus::live::{PLANNED, UntriedUrl, planned_features};
use recrawl_focus::logistic::logistic;
use recrawl_repository::{Generation, SledTables};
use recrawl_types::{PageRecord, Verdict};
use serde_json::{Value, json};

/// The relevance of a page.
pub struct ShownByFocus {
    threshold: f64,
    order: &'static str,
    verdict: Option<Verdict>,
    is_relevant: bool,
    untried: Option<Untried>,
}

/// A URL that was never fetched.
struct Untried {
    candidate: UntriedUrl,
    /// Log odds in the crawl's order.
    odds: f64,
    /// Each feature with its value and weight, if the order weighs features.
    parts: Vec<(&'static str, f64, f64)>,
    closed: Option<&'static str>,
}

impl ShownByFocus {
    /// Of a known page; none unless the crawl is focused.
    ///
    /// # Errors
    /// When the pages or the tables cannot be read.
    pub fn for_page(
        ordinal: u64,
        record: &PageRecord,
        settings: &Settings,
        generation: &Generation,
        tables: Option<&SledTables>,
    ) -> Result<Option<ShownByFocus>, Failure> {
        let Some(rules) = &settings.focus else { return Ok(None) };
        let mut shown = ShownByFocus {
            threshold: rules.config.threshold.0,
            order: rules.order.name(),
            verdict: record.known.verdict,
            is_relevant: record.known.verdict.is_some_and(|verdict| rules.is_relevant(verdict.relevance())),
            untried: None,
        };
        if record.visited.is_none()
            && let Some(survey) = survey::of_reader(settings.focus.as_ref(), generation, tables)?
        {
            let site = Some(survey.site_of(ordinal));
            let candidate = survey.candidate(&record.known, site);
            let weights = survey.model().planned.0;
            let features = planned_features(&candidate);
            let parts = PLANNED.into_iter().zip(features).zip(weights);
            shown.untried = Some(Untried {
                odds: rules.order.planned(survey.model(), &candidate),
                parts: match rules.order.is_of_thesis() {
                    true => Vec::new(),
                    false => parts.map(|((name, feature), weight)| (name, feature, weight)).collect(),
                },
                closed: survey.closed(&record.known, site),
                candidate,
            });
        }
        Ok(Some(shown))
    }

    /// Lines of the text.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(verdict) = self.verdict {
            let (relevance, threshold) = (verdict.relevance(), self.threshold);
            let is = if self.is_relevant { "relevant" } else { "not relevant" };
            let [genre, content, url] = parts(verdict);
            lines.push(format!("relevance   {relevance:.4}, {is} (focus.threshold {threshold})"));
            lines.push(format!("            genre {genre:.3}, content {content:.3}, URL {url:.3}"));
        }
        if let Some(Untried { candidate, odds, parts, closed }) = &self.untried {
            let UntriedUrl { tunnel, group, site, all, .. } = candidate;
            lines.push(format!("expected    {:.4} by order {:?}", logistic(*odds), self.order));
            for (name, feature, weight) in parts {
                lines.push(format!(
                    "            {name}: {feature:.3} x {weight:.3} = {:.3}",
                    feature * weight
                ));
            }
            let told = |yielded: &Yield| format!("{:.1} of {}", yielded.sum(), yielded.visits);
            let (group, site, all) = (told(group), told(site), told(all));
            lines.push(format!("            relevant beside it {group}, in its site {site}, in all {all}"));
            lines.push(format!("            irrelevant pages in a row before it: {tunnel}"));
            lines.extend(closed.map(|why| format!("            visited only if explored: {why}")));
        }
        lines
    }

    /// The document.
    pub fn json(&self) -> Value {
        let told = |yielded: &Yield| json!({ "relevant": yielded.sum(), "visits": yielded.visits });
        let untried = self.untried.as_ref().map(|untried| {
            let Untried { candidate: UntriedUrl { tunnel, group, site, all, .. }, odds, parts, closed } =
                untried;
            let features: Vec<Value> = parts
                .iter()
                .map(|(name, feature, weight)| json!({ "feature": name, "value": feature, "weight": weight }))
                .collect();
            json!({
                "expected": logistic(*odds), "log_odds": odds, "features": features, "tunnel": tunnel,
                "group": told(group), "site": told(site), "crawl": told(all), "closed": closed,
            })
        });
        let verdict = self.verdict.map(|verdict| {
            let [genre, content, url] = parts(verdict);
            json!({ "relevance": verdict.relevance(), "genre": genre, "content": content, "url": url })
        });
        json!({ "order": self.order, "threshold": self.threshold, "verdict": verdict, "untried": untried })
    }
}

fn parts(verdict: Verdict) -> [f64; 3] {
    [verdict.genre, verdict.content, verdict.url].map(|byte| f64::from(byte) / 255.0)
}

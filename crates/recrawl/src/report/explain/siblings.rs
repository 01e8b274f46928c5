//! What the siblings of a page show, and what that does to its rank.

use super::competition::Competition;
use crate::report::counted;
use recrawl_crawl::cycle::inputs::Siblings;
use recrawl_crawl::failure::Failure;
use recrawl_scheduler::Rank;
use serde_json::{Value, json};

/// The siblings of a page, and the page without them.
pub struct ShownBySiblings {
    siblings: Siblings,
    /// Its score as if it had none.
    score: f64,
    /// Its rank with that score, if it competes.
    rank: Option<Rank>,
}

impl ShownBySiblings {
    /// Of a visited page. `competing` is its score, if it competes by it.
    ///
    /// # Errors
    /// When the pages cannot be read.
    pub fn for_page(
        ordinal: u64,
        competing: Option<f64>,
        among: &Competition<'_>,
    ) -> Result<Option<ShownBySiblings>, Failure> {
        let shown = among.inputs.siblings(among.generation, ordinal).map_err(Failure::work)?;
        let Some(siblings) = shown else { return Ok(None) };
        let score = among.score_of(&siblings.alone, ordinal);
        let rank = competing.map(|_| among.ranks.rank(ordinal, score));
        // The page itself, with its siblings, is no competitor.
        let is_ahead = competing.is_some_and(|with| with > score);
        let without_itself = |rank: Rank| Rank { rank: (rank.rank - u64::from(is_ahead)).max(1), ..rank };
        Ok(Some(ShownBySiblings { siblings, score, rank: rank.map(without_itself) }))
    }

    /// Lines of the text.
    pub fn lines(&self) -> Vec<String> {
        let Siblings { visits, rate, burst, .. } = &self.siblings;
        let met = match visits.visits {
            0 => "none of them was visited after this page".into(),
            visited => format!(
                "{visited} visited after this page: {} changed, {:.1} expected; burst {burst:.2}",
                visits.changes, visits.expected
            ),
        };
        let rank = self.rank.map_or(String::new(), |rank| format!(", rank {rank}"));
        vec![
            format!(
                "siblings    {} in {}, {rate:.4} changes per cycle",
                counted(visits.pages, "page"),
                visits.folder
            ),
            format!("            {met}"),
            format!("            without them: score {:.4}{rank}", self.score),
        ]
    }

    /// The document.
    pub fn json(&self) -> Value {
        let Siblings { visits, rate, burst, .. } = &self.siblings;
        json!({
            "folder": visits.folder, "pages": visits.pages, "rate": rate, "burst": burst,
            "visits": visits.visits, "changes": visits.changes, "expected": visits.expected,
            "score_without": self.score, "rank_without": self.rank.map(|rank| rank.rank),
        })
    }
}

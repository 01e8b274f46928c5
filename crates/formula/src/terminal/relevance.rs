//! `relevance`: how relevant the page is, in a focused crawl.

use super::Terminal;
use recrawl_types::Reads;

pub(super) static TERMINAL: Terminal = Terminal {
    name: "relevance",
    help: "relevance of the page, or what its links let expect, 0 to 1; 1 unless the crawl is focused",
    reads: |_| Reads::RELEVANCE,
    load: |tile, out| {
        let relevance = &tile.columns.relevance;
        if relevance.is_empty() {
            return out.fill(1.0);
        }
        tile.map(relevance, out, |relevance| relevance);
    },
};

#[cfg(test)]
mod tests {
    use crate::Formula;
    use recrawl_types::{Cycle, History, Known, StateColumns};

    #[test]
    fn relevance_weighs_a_formula_and_is_1_without_a_focus() {
        let formula = Formula::from_expression("relevance * t").unwrap().compile();
        let mut columns = StateColumns::default();
        (0..2).for_each(|_| columns.push(Known::default(), Some(&History::first_fetch(Cycle(1)))));
        let score = |columns: &StateColumns| {
            let mut scores = Vec::new();
            formula.evaluate(columns, Cycle(5), &mut scores);
            scores
        };
        assert_eq!(score(&columns), [4.0, 4.0]);
        columns.relevance = vec![0.25, 1.0];
        assert_eq!(score(&columns), [1.0, 4.0]);
    }
}

//! The table of cycles.

use super::state::CycleEnd;

/// Title and width of each column. The first is left-aligned, the others are right-aligned.
const COLUMNS: &[(&str, usize)] = &[
    ("phase", 9),
    ("cycle", 5),
    ("clock", 5),
    ("scheduled", 9),
    ("fetched", 7),
    ("new", 6),
    ("changed", 7),
    ("failed", 6),
    ("ChangeRate", 10),
    ("oracle's", 8),
    ("fresh", 6),
    ("seconds", 7),
];

/// The header line.
pub fn header() -> String {
    align(COLUMNS.iter().map(|(title, _)| (*title).to_owned()))
}

/// The row of a turn. `oracle` is the oracle's ChangeRate; none outside scored cycles.
pub fn row(turn: &CycleEnd, oracle: Option<f64>) -> String {
    let r = &turn.report;
    let cells = [
        turn.phase.name().to_owned(),
        r.cycle.to_string(),
        turn.clock.to_string(),
        r.scheduled.to_string(),
        r.fetched.to_string(),
        r.first_visits.to_string(),
        r.changed.to_string(),
        r.failed.to_string(),
        rate(oracle.and(r.change_rate)),
        rate(oracle),
        rate(turn.freshness.share()),
        format!("{:.1}", r.seconds),
    ];
    align(cells)
}

/// Three digits, or a dash without a value.
pub fn rate(rate: Option<f64>) -> String {
    rate.map_or("–".to_owned(), |r| format!("{r:.3}"))
}

fn align(cells: impl IntoIterator<Item = String>) -> String {
    let aligned = cells.into_iter().zip(COLUMNS).enumerate().map(|(i, (cell, (_, width)))| match i {
        0 => format!("{cell:<width$}"),
        _ => format!("{cell:>width$}"),
    });
    aligned.collect::<Vec<_>>().join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawl::plan::CyclePhase;
    use crate::crawl::state::tests::turn;

    #[test]
    fn rows_stand_below_their_titles() {
        let mut turn = turn(CyclePhase::Scored, 17);
        turn.report.change_rate = Some(0.25);
        let (header, row) = (header(), row(&turn, Some(0.5)));
        assert_eq!(header.chars().count(), row.chars().count());
        let end = header.find("ChangeRate").expect("a title") + "ChangeRate".len();
        assert_eq!(&row[end - 5..end], "0.250");
        assert!(row.contains("0.500"), "{row}");
    }

    #[test]
    fn a_rate_is_shown_in_scored_cycles_alone() {
        let mut turn = turn(CyclePhase::Warmup, 1);
        turn.report.change_rate = Some(0.25);
        assert!(!row(&turn, None).contains("0.250"));
        assert_eq!(rate(None), "–");
    }
}

//! The texts before and after the table.

use super::mockweb::Violations;
use super::plan::CyclePhase;
use super::report::Report;
use super::state::{CycleEnd, XtaskState};
use super::table::rate;
use std::path::Path;

/// What is about to be crawled, and where an earlier run continues.
pub fn opening(state: &XtaskState, pages: usize, last_clock: u32, dir: &Path) -> String {
    let recording = state.recording.as_deref().unwrap_or("the bundled recording");
    let (port, dir) = (state.port, dir.display());
    let mut text = format!(
        "{recording}: {pages} pages, cycles 0 to {last_clock}, replayed on port {port}; data in {dir}"
    );
    if let Some(last) = state.turns.last() {
        text += &format!("\nContinuing after cycle {}, clock {}.", last.report.cycle, last.clock);
    }
    text
}

/// A note on a cycle without a row: the crawler committed it, but this program was stopped before
/// it got the report. The next cycle then ran at the same clock.
pub fn rowless(turns: &[CycleEnd], next: &Report) -> Option<String> {
    let expected = turns.last().map_or(1, |t| t.report.cycle + 1);
    let is_missing = next.cycle > expected;
    is_missing.then(|| {
        format!("(cycle {expected} has no row: its report was lost; it had the same clock as the next one)")
    })
}

/// The closing table: the turns of this run (from number `before` on), and all turns if there were
/// earlier ones. `oracle_rates` has the oracle's ChangeRate of each turn.
pub fn closing(turns: &[CycleEnd], before: usize, oracle_rates: &[Option<f64>]) -> String {
    let mut columns = vec![column("this run", &turns[before..], &oracle_rates[before..])];
    if before > 0 {
        columns.push(column("all runs", turns, oracle_rates));
    }
    let titles = [
        "",
        "scored cycles",
        "ChangeRate, mean",
        "ChangeRate of an oracle, mean",
        "fresh pages by the mock web's truth, mean",
        "requests against robots.txt",
        "hosts with concurrent requests",
    ];
    let line = |(i, title): (usize, &&str)| {
        let cells: String = columns.iter().map(|column| format!("{:>12}", column[i])).collect();
        format!("\n{title:<42}{cells}")
    };
    titles.iter().enumerate().map(line).collect()
}

fn column(title: &str, turns: &[CycleEnd], oracle_rates: &[Option<f64>]) -> [String; 7] {
    let scored = || turns.iter().filter(|t| t.phase == CyclePhase::Scored);
    let violations = turns.iter().fold(Violations::default(), |sum, t| sum.plus(t.violations));
    [
        title.to_owned(),
        scored().count().to_string(),
        rate(mean(scored().map(|t| t.report.change_rate))),
        rate(mean(oracle_rates.iter().copied())),
        rate(mean(scored().map(|t| t.freshness.share()))),
        violations.robots.to_string(),
        violations.politeness.to_string(),
    ]
}

/// The mean of the rates that exist.
fn mean(rates: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let (count, sum) = rates.flatten().fold((0u32, 0.0), |(n, sum), r| (n + 1, sum + r));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawl::mockweb::MeasuredFreshness;
    use crate::crawl::state::tests::turn;

    #[test]
    fn the_closing_table_has_a_column_for_this_run_and_one_for_all() {
        let mut turns =
            vec![turn(CyclePhase::Warmup, 2), turn(CyclePhase::Scored, 3), turn(CyclePhase::Scored, 4)];
        turns[0].violations.robots = 1;
        for (turn, (found, fresh)) in turns[1..].iter_mut().zip([(0.25, 8), (0.75, 6)]) {
            turn.report.change_rate = Some(found);
            turn.freshness = MeasuredFreshness { total: 10, fresh };
        }
        let oracle = [None, Some(0.5), Some(1.0)];
        let lines = |before| -> Vec<Vec<String>> {
            let text = closing(&turns, before, &oracle);
            text.lines()
                .skip(1)
                .map(|l| l[42.min(l.len())..].split_whitespace().map(str::to_owned).collect())
                .collect()
        };
        let all = ["2", "0.500", "0.750", "0.700", "1", "0"];
        assert_eq!(lines(0)[1..], all.map(|figure| vec![figure.to_owned()]));
        let last = ["1", "0.750", "1.000", "0.600", "0", "0"];
        let both: Vec<Vec<String>> =
            last.iter().zip(all).map(|(l, a)| vec![(*l).to_owned(), a.to_owned()]).collect();
        assert_eq!(lines(2)[1..], both);
    }

    #[test]
    fn the_mean_leaves_out_what_is_not_there() {
        assert_eq!(mean([Some(0.5), None, Some(0.0)].into_iter()), Some(0.25));
        assert_eq!(mean([None].into_iter()), None);
    }

    #[test]
    fn a_crawl_says_from_where_it_goes_on() {
        let mut state = XtaskState { recording: Some("r".into()), port: 8418, turns: Vec::new() };
        let text = opening(&state, 7, 99, Path::new("data"));
        assert_eq!(text, "r: 7 pages, cycles 0 to 99, replayed on port 8418; data in data");
        state.turns.push(turn(CyclePhase::Scored, 12));
        assert_eq!(rowless(&state.turns, &turn(CyclePhase::Scored, 13).report), None);
        let note = rowless(&state.turns, &turn(CyclePhase::Scored, 14).report).expect("cycle 14 is missing");
        assert!(note.contains("cycle 14 "), "{note}");
        assert!(
            opening(&state, 7, 99, Path::new("data")).ends_with("\nContinuing after cycle 13, clock 12.")
        );
    }
}

//! Outcomes as text tables.

use crate::model;
use crate::outcome::{ContenderOutcome, PLAN, median};
use std::fmt::Write;

const MIB: f64 = (1 << 20) as f64;

/// The stages of one contender, cycle by cycle, and its other figures.
pub fn stages(outcome: &ContenderOutcome) -> String {
    let mut text = String::new();
    let mut put = |line: std::fmt::Arguments<'_>| writeln!(text, "{line}").expect("a string takes all");
    put(format_args!(
        "\n{}: {} pages, prepared in {:.1} s, {} on disk at the end, {}",
        outcome.contender,
        outcome.pages,
        outcome.prepared,
        mebibytes(outcome.stored as f64),
        limit(outcome)
    ));
    for (number, cycle) in (1..).zip(&outcome.cycles) {
        let stages: Vec<String> =
            cycle.stages.iter().map(|(name, seconds)| format!("{name} {seconds:.3} s")).collect();
        put(format_args!(
            "  cycle {number}: {} checks, {} new, {} waiting; {}; {:.2} s of processor; {:.0} B read, {:.0} B written a check{}",
            cycle.checks,
            cycle.new,
            cycle.waiting,
            stages.join(", "),
            cycle.processor,
            cycle.read as f64 / cycle.checks as f64,
            cycle.written as f64 / cycle.checks as f64,
            if cycle.is_cut { "; cut: its time was over" } else { "" }
        ));
        if !cycle.kinds.is_empty() {
            let kinds: Vec<String> = cycle
                .kinds
                .iter()
                .filter(|(_, bytes)| bytes.0 + bytes.1 > 0)
                .map(|(kind, bytes)| {
                    format!("{kind} {:.1} + {:.1}", bytes.0 as f64 / MIB, bytes.1 as f64 / MIB)
                })
                .collect();
            put(format_args!("    MiB read + written: {}", kinds.join(", ")));
            let part = |pages: u64| pages as f64 / outcome.pages as f64 * 100.0;
            put(format_args!(
                "    % of the pages in blocks that are named: {:.1}; that change: {:.1}; that grow: {:.1}; with a visit: {:.1}",
                part(cycle.named.opened),
                part(cycle.named.changed),
                part(cycle.named.grown),
                part(cycle.named.visited)
            ));
        }
    }
    if !outcome.kinds.is_empty() {
        let kinds: Vec<String> =
            outcome.kinds.iter().map(|(kind, bytes)| format!("{kind} {bytes:.2}")).collect();
        put(format_args!("  stored bytes for each known page at the beginning: {}", kinds.join(", ")));
    }
    if !outcome.copies.is_empty() {
        let step = outcome.median(|cycle| cycle.step_seconds());
        let copy = median(outcome.copies.clone());
        put(format_args!(
            "  the whole step (with {PLAN}) {step:.2} s, copy and fsync of the same files {copy:.2} s (medians): {:.2} times",
            step / copy
        ));
    }
    for (links, rate) in &outcome.decoded {
        put(format_args!(
            "  decoded and compared, files cached, one thread, {links}: {:.1} million pages a second of processor",
            rate / 1e6
        ));
    }
    text
}

/// All contenders, with the predictions of the cost model.
pub fn comparison(outcomes: &[ContenderOutcome]) -> String {
    let mut text = format!(
        "{:<13} {:>11} {:>12} {:>11} {:>9} {:>9} {:>10} {:>10} {:>9}  memory\n",
        "contender", "pages", "checks/s", "/cpu-s", "B read", "B written", "predicted", "predicted", "peak"
    );
    for outcome in outcomes {
        let (read, written) = outcome.bytes_a_check();
        let (read_predicted, written_predicted) = match model::predict(outcome) {
            Some(cost) => (format!("{:.0}", cost.read), format!("{:.0}", cost.written)),
            None => ("-".to_owned(), "-".to_owned()),
        };
        writeln!(
            text,
            "{:<13} {:>11} {:>12.0} {:>11.0} {:>9.0} {:>9.0} {:>10} {:>10} {:>9}  {}",
            outcome.contender,
            outcome.pages,
            outcome.checks_a_second(),
            outcome.checks_a_processor_second(),
            read,
            written,
            read_predicted,
            written_predicted,
            outcome.peak.map_or("-".to_owned(), |peak| mebibytes(peak as f64)),
            limit(outcome)
        )
        .expect("a string takes all");
    }
    text
}

fn limit(outcome: &ContenderOutcome) -> String {
    let mut text = match outcome.memory_limit {
        Some(bytes) => format!("limited to {}", mebibytes(bytes as f64)),
        None => "page cache not limited".to_owned(),
    };
    if !outcome.is_peak_of_cycles {
        text.push_str(", peak with preparation");
    }
    if outcome.cycles.iter().any(|cycle| cycle.is_cut) {
        text.push_str(", cycles cut");
    }
    text
}

fn mebibytes(bytes: f64) -> String {
    format!("{:.0} MiB", bytes / MIB)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::CycleOutcome;

    #[test]
    fn what_was_not_limited_or_was_cut_is_said() {
        let cycle = CycleOutcome { checks: 10, is_cut: true, ..CycleOutcome::default() };
        let outcome =
            ContenderOutcome { contender: "sled".into(), cycles: vec![cycle], ..ContenderOutcome::default() };
        let text = comparison(std::slice::from_ref(&outcome));
        assert!(text.contains("page cache not limited, peak with preparation, cycles cut"), "{text}");
        assert!(stages(&outcome).contains("its time was over"));
    }

    #[test]
    fn a_step_is_compared_with_its_copy() {
        let stages = vec![("merge".to_owned(), 2.0), (PLAN.to_owned(), 1.0)];
        let cycle = CycleOutcome { checks: 10, stages, ..CycleOutcome::default() };
        let outcome =
            ContenderOutcome { cycles: vec![cycle], copies: vec![2.0], ..ContenderOutcome::default() };
        assert!(super::stages(&outcome).contains("1.50 times"));
    }
}

//! The plots of checks per second and bytes per check over known pages.

use crate::Failure;
use crate::outcome::ContenderOutcome;
use crate::{model, table};
use recrawl_simulation::plot::{Panel, Plot};
use std::fs;
use std::path::Path;

/// Prints the table of a record, and draws checks per second and bytes per check.
///
/// # Errors
/// If the record cannot be read or a drawing cannot be written.
pub fn draw(record: &Path, out: &Path) -> Result<(), Failure> {
    let text = fs::read_to_string(record).map_err(|e| format!("{}: {e}", record.display()))?;
    let mut outcomes: Vec<ContenderOutcome> =
        text.lines().map(serde_json::from_str).collect::<Result<_, _>>().map_err(|e| {
            format!("{}: {e}: it has to be what `recrawl-benchmark run --record` wrote", record.display())
        })?;
    outcomes.sort_by_key(|outcome| outcome.pages);
    print!("{}", table::comparison(&outcomes));
    let mut names: Vec<String> = Vec::new();
    for outcome in &outcomes {
        if !names.contains(&outcome.contender) {
            names.push(outcome.contender.clone());
        }
    }
    let curves = |of: fn(&ContenderOutcome) -> Option<f64>| curves(&names, &outcomes, of);
    let draw = |file: &str, title: &str, panel: Panel| {
        let (title, across, names) = (title.to_owned(), "known pages".to_owned(), names.clone());
        let plot = Plot { title, across, panels: vec![panel], names, is_logarithmic: true };
        fs::write(out.join(file), plot.svg())
    };
    let speed = curves(|outcome| Some(outcome.checks_a_second()));
    let speed = Panel { label: "checks/s".into(), curves: speed, predicted: Vec::new() };
    draw("verifier-checks.svg", "URL checks a second", speed)?;
    let bytes = Panel {
        label: "bytes".into(),
        curves: curves(|outcome| Some(outcome.bytes_a_check()).map(|(read, written)| read + written)),
        predicted: curves(|outcome| model::predict(outcome).map(|cost| cost.read + cost.written)),
    };
    let title = "Bytes read and written for a URL check (dashed: predicted)";
    draw("verifier-bytes.svg", title, bytes)?;
    Ok(())
}

/// A curve over known pages for each contender.
fn curves(
    names: &[String],
    outcomes: &[ContenderOutcome],
    of: fn(&ContenderOutcome) -> Option<f64>,
) -> Vec<Vec<(f64, f64)>> {
    // A logarithmic axis has no 0.
    let point = |outcome: &ContenderOutcome| Some((outcome.pages as f64, of(outcome).filter(|v| *v > 0.0)?));
    let curve = |name: &String| outcomes.iter().filter(|o| o.contender == *name).filter_map(point).collect();
    names.iter().map(curve).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::CycleOutcome;

    fn outcome(contender: &str, pages: u64, seconds: f64) -> ContenderOutcome {
        let stages = vec![("check".to_owned(), seconds)];
        let cycle = CycleOutcome {
            checks: 1000,
            log: 3000,
            logged: 1000,
            read: 5000,
            stages,
            ..CycleOutcome::default()
        };
        ContenderOutcome {
            contender: contender.into(),
            pages,
            cycles: vec![cycle],
            ..ContenderOutcome::default()
        }
    }

    #[test]
    fn each_contender_has_a_curve_and_a_point_for_each_size() {
        let dir = tempfile::tempdir().unwrap();
        let record = dir.path().join("record");
        let outcomes = [
            outcome("ours", 1_000_000, 0.1),
            outcome("sled", 1_000_000, 2.0),
            outcome("ours", 10_000_000, 0.2),
        ];
        let lines: Vec<String> = outcomes.iter().map(|o| serde_json::to_string(o).unwrap()).collect();
        fs::write(&record, lines.join("\n")).unwrap();
        draw(&record, dir.path()).unwrap();
        let checks = fs::read_to_string(dir.path().join("verifier-checks.svg")).unwrap();
        assert_eq!(checks.matches("<circle").count(), 3);
        assert_eq!(
            checks.matches(">ours</text>").count() + checks.matches(">sled</text>").count(),
            2,
            "{checks}"
        );
        let bytes = fs::read_to_string(dir.path().join("verifier-bytes.svg")).unwrap();
        assert!(bytes.contains(r#"stroke-dasharray="3 4""#), "the model's curves");
    }

    #[test]
    fn a_record_of_something_else_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let record = dir.path().join("record");
        fs::write(&record, "checks/s\n").unwrap();
        let error = draw(&record, dir.path()).unwrap_err().to_string();
        assert!(error.contains("--record"), "{error}");
    }
}

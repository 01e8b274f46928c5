//! The report of one cycle, as `recrawl crawl --json` prints it: the fields that the table needs.

use serde::{Deserialize, Serialize};

/// One cycle in figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The cycle's number.
    pub cycle: u32,
    /// Pages in the schedule.
    pub scheduled: u64,
    /// Pages fetched or not modified.
    pub fetched: u64,
    /// First visits.
    pub first_visits: u64,
    /// Warm-up visits.
    pub warmup_visits: u64,
    /// Visits that found a change.
    pub changed: u64,
    /// Failed fetches.
    pub failed: u64,
    /// Known URLs that were never visited.
    pub never_tried: u64,
    /// Comparable visits selected by score.
    pub score_visits: u64,
    /// Those that found a change.
    pub score_changed: u64,
    /// ChangeRate; none without such visits.
    pub change_rate: Option<f64>,
    /// How long the cycle took.
    pub seconds: f64,
}

impl Report {
    /// Reads the last line of the program's output.
    ///
    /// # Errors
    /// What is missing, and the line.
    pub fn from_output(output: &str) -> Result<Report, String> {
        let line = output.lines().rfind(|l| !l.trim().is_empty());
        let line = line.ok_or("recrawl printed no report")?;
        serde_json::from_str(line).map_err(|e| format!("cannot read recrawl's report: {e}: {line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_is_the_last_line() {
        let line = r#"{"cycle":4,"scheduled":30,"fetched":29,"first_visits":1,"warmup_visits":0,"changed":7,"failed":1,"never_tried":0,
            "score_visits":25,"score_changed":5,"change_rate":0.2,"seconds":0.5,"bytes":7}"#;
        let report =
            Report::from_output(&format!("{{}}\n{}\n\n", line.replace('\n', " "))).expect("a report");
        assert_eq!((report.cycle, report.change_rate), (4, Some(0.2)));
        let error = Report::from_output("{\"cycle\":4}\n").expect_err("fields are missing");
        assert!(error.contains("scheduled"), "{error}");
        assert!(Report::from_output("\n").is_err());
    }
}

//! The true history of each page of the recorded web, from the mock web.

use serde::Deserialize;

/// One recorded page.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct TruthPage {
    /// Its URL on the mock web.
    pub url: String,
    /// The first clock at which it exists.
    pub first: u32,
    /// The last clock at which it exists; none if it stays.
    pub last: Option<u32>,
    /// (clock, version): the version from this clock on; version 0 before the first.
    pub changes: Vec<(u32, u32)>,
}

impl TruthPage {
    /// The version at `clock`; none while the page does not exist.
    pub fn version_at(&self, clock: u32) -> Option<u32> {
        if clock < self.first || self.last.is_some_and(|last| clock > last) {
            return None;
        }
        let next = self.changes.partition_point(|&(from, _)| from <= clock);
        Some(next.checked_sub(1).map_or(0, |i| self.changes[i].1))
    }
}

/// Parses JSON lines, one `T` per line.
///
/// # Errors
/// The number of the first invalid line, and why.
pub fn json_lines<T: for<'a> Deserialize<'a>>(text: &str) -> Result<Vec<T>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(i, line)| serde_json::from_str(line).map_err(|e| format!("line {}: {e}", i + 1))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_in_force() {
        let page =
            TruthPage { url: "u".into(), first: 2, last: Some(9), changes: vec![(4, 1), (6, 2), (7, 1)] };
        let versions: Vec<Option<u32>> = (0..=10).map(|clock| page.version_at(clock)).collect();
        let expected =
            [None, None, Some(0), Some(0), Some(1), Some(1), Some(2), Some(1), Some(1), Some(1), None];
        assert_eq!(versions, expected);
    }

    #[test]
    fn a_bad_line_is_named() {
        let good = r#"{"url":"u","page_id":3,"fixed":true,"first":0,"last":9,"version":0,"changes":[[4,1]]}"#;
        let pages: Vec<TruthPage> = json_lines(&format!("{good}\n\n{good}\n")).expect("both lines are pages");
        assert_eq!(pages.len(), 2);
        assert_eq!(pages[1].changes, [(4, 1)]);
        let error = json_lines::<TruthPage>(&format!("{good}\n{{}}\n")).expect_err("the second is none");
        assert!(error.starts_with("line 2: "), "{error}");
    }
}

//! Changes of the rows of requisites.
//!
//! A round may ask for a requisite twice: for pages that may load it from an inside address, and for others. Both requests
//! begin with the same row, and their answers come in any order. So an answer changes no more than it says, and a capture of
//! the round stays.

use crate::failure::Failure;
use crate::stored::{keep, kept};
use recrawl_repository::{RequisiteRow, SledTables};
use recrawl_types::{CanonicalUrl, Cycle, DatedRound, Known};
use std::io::{self, ErrorKind};

/// Setting of the tables: the cycle in which rows were removed last.
const REMOVED_IN: &str = "requisites_removed_in";
/// Cycles after its last failure in which a page that names a requisite asks for it again. Then nothing needs the row.
const MAX_UNNAMED: u32 = 2 * Known::MAX_BACK_OFF;

/// A change of a row.
pub enum RowChange {
    /// There is a capture, or none may be shown any more.
    Replaced(RequisiteRow),
    /// The server confirmed the capture in this row.
    Confirmed(RequisiteRow),
    /// It failed or was refused in this round.
    Failed(DatedRound),
}

impl RowChange {
    /// Stores it. The record that a row names must be durable.
    ///
    /// # Errors
    /// When the table cannot be read or written.
    pub fn store(&self, tables: &SledTables, url: &CanonicalUrl) -> io::Result<()> {
        if let RowChange::Replaced(row) = self {
            return tables.keep_requisite(url, row);
        }
        let before = match tables.requisite(url) {
            // The request has told of the damage.
            Err(e) if e.kind() == ErrorKind::InvalidData => RequisiteRow::default(),
            row => row?.unwrap_or_default(),
        };
        match self {
            RowChange::Confirmed(row) if before.archive == row.archive => tables.keep_requisite(url, row),
            RowChange::Failed(round) if !before.is_archived() || before.round != round.round => {
                tables.keep_requisite(url, &before.failed(round.cycle))
            }
            _ => Ok(()),
        }
    }
}

/// Removes the rows of requisites that were never archived and that no page names any more, every 32 cycles.
///
/// # Errors
/// When the tables cannot be read or written.
pub fn remove_unnamed(tables: &SledTables, cycle: Cycle) -> Result<u64, Failure> {
    if cycle.since(Cycle(kept(tables, REMOVED_IN)?.unwrap_or(0))) < Known::MAX_BACK_OFF {
        return Ok(0);
    }
    let (mut removed, mut skipped) = (0, |_| {});
    for row in tables.requisites(&mut skipped) {
        let (url, row) = row?;
        if !row.is_archived() && cycle.since(row.failed_in) > MAX_UNNAMED {
            tables.forget_requisite(&url)?;
            removed += 1;
        }
    }
    // After the rows: if this is lost, they are looked at again.
    keep(tables, REMOVED_IN, &cycle.0)?;
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::{ArchivePosition, Round, UrlRules};

    fn url(text: &str) -> CanonicalUrl {
        UrlRules::keep_all().canonicalize(text).unwrap()
    }

    fn row(file: u32, round: u32) -> RequisiteRow {
        let archive = ArchivePosition { file, offset: 7 };
        RequisiteRow { archive, round: Round(round), ..RequisiteRow::default() }
    }

    fn round(number: u32) -> DatedRound {
        DatedRound { round: Round(number), cycle: Cycle(number) }
    }

    #[test]
    fn an_answer_without_a_capture_leaves_that_of_its_round() {
        let (tables, url) = (SledTables::temporary().unwrap(), url("http://a.test/x.css"));
        let store = |change: RowChange| {
            change.store(&tables, &url).unwrap();
            tables.requisite(&url).unwrap()
        };
        let (before, captured) = (row(1, 1), row(2, 2));
        store(RowChange::Replaced(before.clone()));
        // Three requests of the second round began with that row.
        assert_eq!(store(RowChange::Replaced(captured.clone())), Some(captured.clone()));
        assert_eq!(store(RowChange::Failed(round(2))), Some(captured.clone()));
        let confirmed = RequisiteRow { round: Round(2), ..before };
        assert_eq!(store(RowChange::Confirmed(confirmed.clone())), Some(captured.clone()));

        // In the third it fails: that changes nothing else.
        let failed = RequisiteRow { failures: 1, failed_in: Cycle(3), ..captured.clone() };
        assert_eq!(store(RowChange::Failed(round(3))), Some(failed));
        let renewed = RequisiteRow { round: Round(4), fresh_until: 9, ..captured };
        assert_eq!(store(RowChange::Confirmed(renewed.clone())), Some(renewed.clone()));

        // What must not be shown any more is not brought back.
        tables.forget_requisite(&url).unwrap();
        assert_eq!(store(RowChange::Confirmed(renewed)), None);
        let failed = RequisiteRow { failures: 1, failed_in: Cycle(4), ..RequisiteRow::default() };
        assert_eq!(store(RowChange::Failed(round(4))), Some(failed));
    }

    #[test]
    fn rows_of_failures_go_once_no_page_names_them() {
        let tables = SledTables::temporary().unwrap();
        let [gone, archived, asked] =
            ["gone", "archived", "asked"].map(|name| url(&format!("http://a.test/{name}")));
        RowChange::Replaced(row(1, 1)).store(&tables, &archived).unwrap();
        for (url, cycle) in [(&gone, 10), (&archived, 10), (&asked, 74)] {
            RowChange::Failed(round(cycle)).store(&tables, url).unwrap();
        }
        // In cycle 74 a page might still name it for the last time; then rows are removed every 32 cycles.
        for (cycle, removed) in [(74, 0), (75, 0), (105, 0), (106, 1), (138, 0)] {
            assert_eq!(remove_unnamed(&tables, Cycle(cycle)).unwrap(), removed, "{cycle}");
        }
        let left: Vec<CanonicalUrl> =
            tables.requisites(&mut |e| panic!("{e}")).map(|row| row.unwrap().0).collect();
        assert_eq!(left, [archived, asked]);
    }
}

//! Changes of the rows of requisites.
//!
//! A round may ask for a requisite twice: for pages that may load it from an inside address, and for others. Both requests
//! begin with the same row, and their answers come in any order. So an answer changes no more than it says, and a capture of
//! the round stays.

use recrawl_repository::{RequisiteRow, SledTables};
use recrawl_types::{CanonicalUrl, DatedRound};
use std::io::{self, ErrorKind};

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

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::{ArchivePosition, Cycle, Round, UrlRules};

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
}

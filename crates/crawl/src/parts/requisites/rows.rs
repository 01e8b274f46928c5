//! The rows of requisites: after a kill, and when no page names them any more.

use crate::failure::Failure;
use crate::stored::{keep, kept};
use recrawl_archive::ArchiveEnd;
use recrawl_repository::storage::Storage;
use recrawl_repository::{RequisiteChange, RequisiteFile, SledTables};
use recrawl_types::{Cycle, Known, Round};

/// Setting of the tables: the cycle in which rows were removed last.
const REMOVED_IN: &str = "requisites_removed_in";
/// Cycles after its last failure in which a page that names a requisite asks for it again. Then nothing needs the row.
const MAX_UNNAMED: u32 = 2 * Known::MAX_BACK_OFF;

/// Stores the changes that a killed run of a round wrote down, before it goes on: of those whose records are in the archive.
///
/// # Errors
/// When the log or the tables cannot be read or written.
pub fn resume(
    storage: &dyn Storage,
    tables: &SledTables,
    round: Round,
    sound: ArchiveEnd,
) -> Result<(), Failure> {
    let mut log = RequisiteFile::read(storage, round).map_err(Failure::work)?;
    while let Some((url, change)) = log.next_change()? {
        let is_lost = match &change {
            RequisiteChange::Replaced(row) => !sound.is_behind(row.archive),
            RequisiteChange::Confirmed(_) | RequisiteChange::Failed(_) => false,
        };
        if !is_lost {
            change.store(tables, &url)?;
        }
    }
    Ok(())
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
    use recrawl_repository::RequisiteRow;
    use recrawl_types::{ArchivePosition, CanonicalUrl, DatedRound, UrlRules};

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
        let store = |change: RequisiteChange| {
            change.store(&tables, &url).unwrap();
            tables.requisite(&url).unwrap()
        };
        let (before, captured) = (row(1, 1), row(2, 2));
        store(RequisiteChange::Replaced(before.clone()));
        // Three requests of the second round began with that row.
        assert_eq!(store(RequisiteChange::Replaced(captured.clone())), Some(captured.clone()));
        assert_eq!(store(RequisiteChange::Failed(round(2))), Some(captured.clone()));
        let confirmed = RequisiteRow { round: Round(2), ..before };
        assert_eq!(store(RequisiteChange::Confirmed(confirmed.clone())), Some(captured.clone()));

        // In the third it fails: that changes nothing else.
        let failed = RequisiteRow { failures: 1, failed_in: Cycle(3), ..captured.clone() };
        assert_eq!(store(RequisiteChange::Failed(round(3))), Some(failed));
        let renewed = RequisiteRow { round: Round(4), fresh_until: 9, ..captured };
        assert_eq!(store(RequisiteChange::Confirmed(renewed.clone())), Some(renewed.clone()));

        // What must not be shown any more is not brought back.
        tables.forget_requisite(&url).unwrap();
        assert_eq!(store(RequisiteChange::Confirmed(renewed)), None);
        let failed = RequisiteRow { failures: 1, failed_in: Cycle(4), ..RequisiteRow::default() };
        assert_eq!(store(RequisiteChange::Failed(round(4))), Some(failed));
    }

    #[test]
    fn rows_of_failures_go_once_no_page_names_them() {
        let tables = SledTables::temporary().unwrap();
        let [gone, archived, asked] =
            ["gone", "archived", "asked"].map(|name| url(&format!("http://a.test/{name}")));
        RequisiteChange::Replaced(row(1, 1)).store(&tables, &archived).unwrap();
        for (url, cycle) in [(&gone, 10), (&archived, 10), (&asked, 74)] {
            RequisiteChange::Failed(round(cycle)).store(&tables, url).unwrap();
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

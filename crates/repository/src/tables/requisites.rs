//! Requisites of archived pages: the last capture of each, and when it was asked for.
//!
//! A row names a record that was durable before the row was written. The record leads to the capture before it, as that of
//! a page does.

use super::pings::url_of_key;
use super::{SledTables, failed, opened};
use crate::file::bytes::{Malformed, Put, Take};
use recrawl_types::{ArchivePosition, CanonicalUrl, Cycle, DatedRound, Known, Round, Validators};
use std::io::{self, ErrorKind};

/// The state of a requisite.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequisiteRow {
    /// The record of the last body, or of the last redirect.
    pub archive: ArchivePosition,
    /// When that was fetched, in milliseconds since 1970.
    pub archived_at: u64,
    /// Hash of the body.
    pub payload: u64,
    /// For the next request.
    pub validators: Validators,
    /// The last round that asked for it.
    pub round: Round,
    /// Until when a browser would not ask again, in milliseconds since 1970.
    pub fresh_until: u64,
    /// Failures in a row since then.
    pub failures: u8,
    /// The cycle of the last of them.
    pub failed_in: Cycle,
}

impl RequisiteRow {
    /// Was it ever archived? Otherwise the row tells of failures alone.
    pub fn is_archived(&self) -> bool {
        self.archive.file > 0
    }

    /// The row after one more failure.
    #[must_use]
    pub fn failed(self, cycle: Cycle) -> RequisiteRow {
        RequisiteRow { failures: self.failures.saturating_add(1), failed_in: cycle, ..self }
    }

    /// Does a failure of this round count? One a cycle does, and none beside a capture.
    fn may_fail_in(&self, round: DatedRound) -> bool {
        let has_failed = self.failures > 0 && self.failed_in == round.cycle;
        !has_failed && (!self.is_archived() || self.round != round.round)
    }

    /// May it be asked for? One that failed waits as long as a page would.
    pub fn is_due(&self, cycle: Cycle) -> bool {
        Known { failures: self.failures, last_attempt: self.failed_in, ..Known::default() }.is_due(cycle)
    }
}

/// A change of the row of a requisite.
///
/// A round may ask for a requisite twice: for pages that may load it from an inside address, and for others. Both requests
/// begin with the same row, and their answers come in any order. So an answer changes no more than it says, and a capture of
/// the round stays. To store a change again changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequisiteChange {
    /// There is a capture, or none may be shown any more.
    Replaced(RequisiteRow),
    /// The server confirmed the capture in this row.
    Confirmed(RequisiteRow),
    /// It failed or was refused in this round.
    Failed(DatedRound),
}

impl RequisiteChange {
    /// Stores it. The record that a row names must be durable.
    ///
    /// # Errors
    /// When the table cannot be read or written.
    pub fn store(&self, tables: &SledTables, url: &CanonicalUrl) -> io::Result<()> {
        if let RequisiteChange::Replaced(row) = self {
            return tables.keep_requisite(url, row);
        }
        let before = match tables.requisite(url) {
            // The request has told of the damage.
            Err(e) if e.kind() == ErrorKind::InvalidData => RequisiteRow::default(),
            row => row?.unwrap_or_default(),
        };
        match self {
            RequisiteChange::Confirmed(row) if before.archive == row.archive => {
                tables.keep_requisite(url, row)
            }
            RequisiteChange::Failed(round) if before.may_fail_in(*round) => {
                tables.keep_requisite(url, &before.failed(round.cycle))
            }
            _ => Ok(()),
        }
    }
}

impl SledTables {
    /// The row of a requisite, if one was archived.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn requisite(&self, url: &CanonicalUrl) -> io::Result<Option<RequisiteRow>> {
        let value = self.load(&self.requisites, url.as_text().as_bytes())?;
        value.map(|value| take_row(&value).map_err(|m| self.damaged(m))).transpose()
    }

    /// Stores the row of a requisite. Its record must be durable.
    ///
    /// # Errors
    /// When the table cannot be written.
    pub fn keep_requisite(&self, url: &CanonicalUrl, row: &RequisiteRow) -> io::Result<()> {
        self.store(&self.requisites, url.as_text().as_bytes(), &put_row(row))
    }

    /// Removes the row of a requisite.
    ///
    /// # Errors
    /// When the table cannot be written.
    pub fn forget_requisite(&self, url: &CanonicalUrl) -> io::Result<()> {
        self.remove_row(&self.requisites, url.as_text().as_bytes()).map(drop)
    }

    /// Removes the rows of the requisites that are meant, or only counts them.
    ///
    /// # Errors
    /// When the table cannot be read or written.
    pub fn forget_requisites(
        &self,
        is_meant: &dyn Fn(&CanonicalUrl) -> bool,
        only_count: bool,
    ) -> io::Result<u64> {
        let of_url = |key: &[u8]| url_of_key(key).map(|url| is_meant(&url)).map_err(|m| self.damaged(m));
        self.forget_in(&self.requisites, &of_url, only_count)
    }

    /// Each requisite with its row, in the order of their URLs. `damaged` is told of a row that is damaged by itself.
    ///
    /// # Errors
    /// Where the table cannot be read. Nothing comes behind that.
    pub fn requisites<'t>(
        &'t self,
        damaged: &'t mut dyn FnMut(io::Error),
    ) -> impl Iterator<Item = io::Result<(CanonicalUrl, RequisiteRow)>> + 't {
        let mut is_read = false;
        let rows = self.requisites.iter().map_while(move |row| {
            let row = (!is_read).then_some(row)?;
            is_read = row.is_err();
            Some(row.map_err(|e| failed(&self.path, e)))
        });
        rows.filter_map(move |row| {
            let row = row.map(|(key, value)| {
                let row = opened(&value).and_then(|value| take_row(&value));
                url_of_key(&key).and_then(|url| Ok((url, row?)))
            });
            match row {
                Ok(Err(malformed)) => {
                    damaged(self.damaged(malformed));
                    None
                }
                Ok(Ok(row)) => Some(Ok(row)),
                Err(e) => Some(Err(e)),
            }
        })
    }
}

const REPLACED: u8 = 0;
const CONFIRMED: u8 = 1;
const FAILED: u8 = 2;

/// A change with its URL, for a log.
pub(crate) fn put_change(out: &mut Vec<u8>, url: &CanonicalUrl, change: &RequisiteChange) {
    out.put_bytes(url.as_text().as_bytes());
    match change {
        RequisiteChange::Replaced(row) | RequisiteChange::Confirmed(row) => {
            out.put_u8(if matches!(change, RequisiteChange::Replaced(_)) { REPLACED } else { CONFIRMED });
            out.extend(put_row(row));
        }
        RequisiteChange::Failed(DatedRound { round, cycle }) => {
            out.put_u8(FAILED);
            [round.0, cycle.0].into_iter().for_each(|number| out.put_varint(number.into()));
        }
    }
}

pub(crate) fn take_change(bytes: &[u8]) -> Result<(CanonicalUrl, RequisiteChange), Malformed> {
    let mut take = Take(bytes);
    let url = url_of_key(take.bytes()?)?;
    let change = match take.u8()? {
        REPLACED => RequisiteChange::Replaced(take_row(take.0)?),
        CONFIRMED => RequisiteChange::Confirmed(take_row(take.0)?),
        FAILED => {
            let round = DatedRound { round: Round(take.narrow()?), cycle: Cycle(take.narrow()?) };
            take.end()?;
            RequisiteChange::Failed(round)
        }
        _ => return Err(Malformed("a change of a requisite is of no kind")),
    };
    Ok((url, change))
}

fn put_row(row: &RequisiteRow) -> Vec<u8> {
    let RequisiteRow { archive, archived_at, payload, validators, round, fresh_until, failures, failed_in } =
        row;
    let mut out = Vec::new();
    out.put_varint(archive.file.into());
    out.put_varint(archive.offset);
    out.put_varint(*archived_at);
    out.put_u64(*payload);
    for validator in [&validators.etag, &validators.last_modified] {
        out.put_bytes(validator.as_deref().unwrap_or_default().as_bytes());
    }
    out.put_varint(round.0.into());
    out.put_varint(*fresh_until);
    out.push(*failures);
    out.put_varint(failed_in.0.into());
    out
}

pub(super) fn take_row(bytes: &[u8]) -> Result<RequisiteRow, Malformed> {
    let mut take = Take(bytes);
    let number = |take: &mut Take<'_>| {
        u32::try_from(take.varint()?).map_err(|_| Malformed("a number of a requisite is too large"))
    };
    let archive = ArchivePosition { file: number(&mut take)?, offset: take.varint()? };
    let (archived_at, payload) = (take.varint()?, take.u64()?);
    let mut validator = || {
        let text = std::str::from_utf8(take.bytes()?).map_err(|_| Malformed("a validator is not text"))?;
        Ok((!text.is_empty()).then(|| text.into()))
    };
    let validators = Validators { etag: validator()?, last_modified: validator()? };
    let round = Round(number(&mut take)?);
    let fresh_until = take.varint()?;
    // Rows of an earlier version end here.
    let (failures, failed_in) = match take.0 {
        [] => Default::default(),
        _ => (take.u8()?, Cycle(number(&mut take)?)),
    };
    let row =
        RequisiteRow { archive, archived_at, payload, validators, round, fresh_until, failures, failed_in };
    take.end()?;
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::UrlRules;

    #[test]
    fn rows_come_back_and_those_that_are_meant_go() {
        let tables = SledTables::temporary().unwrap();
        let url = |text: &str| UrlRules::keep_all().canonicalize(text).unwrap();
        let (style, image) = (url("http://a.test/x.css?v=1"), url("http://b.test/y.png"));
        let row = RequisiteRow {
            archive: ArchivePosition { file: 7, offset: 1 << 40 },
            archived_at: 1_700_000_000_000,
            payload: u64::MAX,
            validators: Validators::new(Some("\"x\""), None),
            round: Round(9),
            fresh_until: 5,
            failures: 3,
            failed_in: Cycle(300),
        };
        assert!(!row.is_due(Cycle(303)) && row.is_due(Cycle(304)), "after 2^(3-1) cycles");
        assert_eq!(row.clone().failed(Cycle(304)).failures, 4);
        assert_eq!(tables.requisite(&style).unwrap(), None);
        tables.keep_requisite(&style, &row).unwrap();
        tables.keep_requisite(&image, &RequisiteRow::default()).unwrap();
        assert_eq!(tables.requisite(&style).unwrap(), Some(row.clone()));
        assert_eq!(tables.requisite(&image).unwrap(), Some(RequisiteRow::default()));
        let is_meant = |url: &CanonicalUrl| &*url.host() == "a.test";
        for (only_count, left) in [(true, 2), (false, 1)] {
            assert_eq!(tables.forget_requisites(&is_meant, only_count).unwrap(), 1);
            assert_eq!(tables.requisites(&mut |e| panic!("{e}")).count(), left);
        }
        assert_eq!(tables.requisite(&style).unwrap(), None);
        // A copy elsewhere learns of it.
        tables.note_written();
        tables.forget_requisite(&image).unwrap();
        assert_eq!(tables.take_written().len(), 1);
        let whole = put_row(&row);
        let earlier = whole.len() - 3;
        let is_cut = |end: &usize| *end != earlier;
        assert!(
            (0..whole.len()).filter(is_cut).all(|end| take_row(&whole[..end]).is_err()),
            "a cut row is damage"
        );
        assert_eq!(
            take_row(&whole[..earlier]).unwrap(),
            RequisiteRow { failures: 0, failed_in: Cycle(0), ..row }
        );
    }
}

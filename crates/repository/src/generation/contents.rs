//! The contents of a block's visited pages: fixed-width columns, then validators and consent. Those that stay as they are need not
//! be unpacked.

use crate::file::bytes::{Malformed, Take};
use crate::generation::codec::{content_kind, put_extras, take_extras};
use crate::generation::column::{put_column, take_into};
use recrawl_types::{ArchivePosition, Content, Fingerprint};

/// Kind, SimHash, lower and upper half of the digest, body digest, WARC file, offset in it.
const COLUMNS: usize = 7;

/// Contents as they lie on disk, checked.
#[derive(Default)]
pub(crate) struct StoredContents {
    columns: [Vec<u64>; COLUMNS],
    extras: Vec<u8>,
    /// Where the extras of each page end.
    ends: Vec<usize>,
}

/// A content to be packed.
#[derive(Clone, Copy)]
pub(crate) enum Packable<'c> {
    /// As it lies on disk, in that row.
    Kept(&'c StoredContents, usize),
    Given(&'c Content),
}

impl StoredContents {
    /// Takes the contents of `rows` visited pages.
    pub fn take(payload: &[u8], rows: usize) -> Result<StoredContents, Malformed> {
        let mut take = Take(payload);
        let mut contents = StoredContents::default();
        for column in &mut contents.columns {
            take_into(&mut take, rows, column)?;
        }
        let [kinds, .., files, _] = &contents.columns;
        kinds.iter().try_for_each(|&kind| content_kind(byte(kind)?).map(|_| ()))?;
        if files.iter().any(|&file| file > u32::MAX.into()) {
            return Err(Malformed("a column holds a value out of range"));
        }
        contents.extras.extend_from_slice(take.0);
        contents.ends.reserve(rows);
        for _ in 0..rows {
            take_extras(&mut take)?;
            contents.ends.push(contents.extras.len() - take.0.len());
        }
        take.end()?;
        Ok(contents)
    }

    /// The content in a row.
    pub fn get(&self, row: usize) -> Content {
        let [kind, simhash, low, high, payload, file, offset] =
            [0, 1, 2, 3, 4, 5, 6].map(|column| self.columns[column][row]);
        let checked = "the contents were checked";
        let extras = take_extras(&mut Take(self.extras(row))).expect(checked);
        Content {
            kind: byte(kind).and_then(content_kind).expect(checked),
            fingerprint: Fingerprint { simhash, digest: u128::from(high) << 64 | u128::from(low) },
            rule: extras.rule,
            within_noise: extras.within_noise,
            payload,
            validators: extras.validators(),
            archive: (file > 0).then_some(ArchivePosition { file: file as u32, offset }),
            archived_at: extras.archived_at,
            archived: extras.archived,
            merged_links: extras.merged_links(),
            consent: extras.consent,
        }
    }

    fn extras(&self, row: usize) -> &[u8] {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.extras[start..self.ends[row]]
    }
}

fn byte(cell: u64) -> Result<u8, Malformed> {
    u8::try_from(cell).map_err(|_| Malformed("a column holds a value out of range"))
}

impl Packable<'_> {
    fn cell(&self, column: usize) -> u64 {
        let content = match self {
            Packable::Kept(contents, row) => return contents.columns[column][*row],
            Packable::Given(content) => content,
        };
        // WARC files are numbered from 1: 0 says that there is none.
        let archive = content.archive.unwrap_or(ArchivePosition { file: 0, offset: 0 });
        match column {
            0 => content.kind as u64,
            1 => content.fingerprint.simhash,
            2 => content.fingerprint.digest as u64,
            3 => (content.fingerprint.digest >> 64) as u64,
            4 => content.payload,
            5 => archive.file.into(),
            _ => archive.offset,
        }
    }
}

/// Appends contents, a row each.
pub(crate) fn put_contents(out: &mut Vec<u8>, rows: &[Packable<'_>]) {
    (0..COLUMNS).for_each(|column| put_column(out, rows.iter().map(|row| row.cell(column))));
    for row in rows {
        match row {
            Packable::Kept(contents, row) => out.extend_from_slice(contents.extras(*row)),
            Packable::Given(content) => put_extras(out, content),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::content;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn contents_come_back_and_those_that_are_kept_are_packed_as_those_that_are_given(
            pages in vec((content(), any::<bool>()), 0..30),
        ) {
            let given: Vec<Packable> = pages.iter().map(|(content, _)| Packable::Given(content)).collect();
            let mut bytes = Vec::new();
            put_contents(&mut bytes, &given);
            let contents = StoredContents::take(&bytes, pages.len()).unwrap();
            let mut mixed = given;
            for (row, (content, is_kept)) in pages.iter().enumerate() {
                prop_assert_eq!(&contents.get(row), content);
                if *is_kept {
                    mixed[row] = Packable::Kept(&contents, row);
                }
            }
            let mut again = Vec::new();
            put_contents(&mut again, &mixed);
            prop_assert_eq!(again, bytes);
        }
    }
}

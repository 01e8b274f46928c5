//! A block: up to [`MAX_BLOCK_PAGES`] consecutive pages, as four frames: keys, known, history, content.

use crate::file::bytes::{Malformed, Take};
use crate::file::format::{open_frame, put_frame};
use crate::generation::codec::status;
use crate::generation::column::{
    Columns, RecordField, put_column, put_flags, take_column, take_column_over_zeros, take_flags, take_into,
};
use crate::generation::index::FramedFile;
use crate::generation::version_1;
use recrawl_types::{
    Expectation, History, Known, PageStatus, StateColumns, Verdict, history_fields, known_fields,
};
use std::num::NonZeroU16;

/// Pages in a block when it is new. Its keys are some 20 kB packed: large enough that an index entry for each
/// block of a hundred million pages fits in memory, small enough that one look-up is cheap.
pub const BLOCK_PAGES: usize = 1024;
/// A block that grows beyond this many pages is cut into blocks of [`BLOCK_PAGES`] or nearly so.
pub const MAX_BLOCK_PAGES: usize = 2 * BLOCK_PAGES;

/// Functions for the rows of the table in `recrawl_types::fields`.
macro_rules! known_columns {
    ($($(#[$doc:meta])* $name:ident: $type:ty, since $since:literal;)*) => {
        /// The known part of a block: flags of visited pages, then the columns of [`Known`].
        pub(crate) fn put_block_known(out: &mut Vec<u8>, visited: &[bool], known: &[Known]) {
            put_flags(out, visited);
            put_column(out, known.iter().map(|k| k.status as u8));
            $(RecordField::put_columns(out, known, |k| &k.$name);)*
            // Where no sitemap gave a date and the crawl is not focused, the block is as it was before there were any.
            let is_focused = is_focused(known);
            if is_focused || known.iter().any(|k| k.lastmod > 0) {
                put_column(out, known.iter().map(|k| k.lastmod));
                put_flags(out, &known.iter().map(|k| k.is_announced).collect::<Vec<_>>());
            }
            if is_focused {
                put_focus(out, known);
            }
        }

        fn take_known_columns(take: &mut Take<'_>, version: u32, known: &mut [Known]) -> Result<(), Malformed> {
            $(if version >= $since {
                RecordField::take_columns(take, known, |k| &mut k.$name)?;
            })*
            Ok(())
        }

        const WHOLE_KNOWN: u32 = latest(&[$($since),*]);
    };
}

known_fields!(known_columns);

/// Has one of these pages what only a focused crawl stores?
pub(crate) fn is_focused(known: &[Known]) -> bool {
    known.iter().any(|known| known.expectation.is_some() || known.verdict.is_some())
}

/// The columns of a focused crawl: what links let expect of each page, and how relevant each page with a verdict is. Code 0
/// stands for none.
fn put_focus(out: &mut Vec<u8>, known: &[Known]) {
    let code = |code: Option<NonZeroU16>| code.map_or(0, NonZeroU16::get);
    put_column(out, known.iter().map(|k| code(k.expectation.map(Expectation::code))));
    let expected = || known.iter().filter_map(|k| k.expectation);
    put_column(out, expected().map(|expectation| expectation.tunnel));
    put_column(out, expected().map(|expectation| expectation.group));
    put_column(out, known.iter().map(|k| code(k.verdict.map(Verdict::code))));
    let verdicts = || known.iter().filter_map(|k| k.verdict);
    put_column(out, verdicts().map(|verdict| verdict.genre));
    put_column(out, verdicts().map(|verdict| verdict.content));
    put_column(out, verdicts().map(|verdict| verdict.url));
}

/// Takes what [`put_focus`] wrote.
fn take_focus(take: &mut Take<'_>, rows: usize, known: &mut [Known]) -> Result<(), Malformed> {
    let (mut codes, mut tunnels, mut groups) = (Vec::<u16>::new(), Vec::<u8>::new(), Vec::<u32>::new());
    take_into(take, rows, &mut codes)?;
    let there = codes.iter().filter(|code| **code > 0).count();
    take_into(take, there, &mut tunnels)?;
    take_into(take, there, &mut groups)?;
    let mut rest = tunnels.into_iter().zip(groups);
    for (known, code) in known.iter_mut().zip(codes) {
        let code = NonZeroU16::new(code).and_then(|code| Some((code, rest.next()?)));
        known.expectation = code.map(|(code, (tunnel, group))| Expectation::of_code(code, tunnel, group));
    }
    let (mut codes, mut bytes) = (Vec::<u16>::new(), [const { Vec::<u8>::new() }; 3]);
    take_into(take, rows, &mut codes)?;
    let there = codes.iter().filter(|code| **code > 0).count();
    bytes.iter_mut().try_for_each(|column| take_into(take, there, column))?;
    let mut next = 0;
    for (known, code) in known.iter_mut().zip(codes) {
        known.verdict = NonZeroU16::new(code).map(|code| {
            let [genre, content, url] = [0, 1, 2].map(|column| bytes[column][next]);
            next += 1;
            Verdict::of_code(code, genre, content, url)
        });
    }
    Ok(())
}

/// Appends the known part, as `version` has it, to `columns`.
pub(crate) fn take_block_known(
    payload: &[u8],
    version: u32,
    rows: usize,
    columns: &mut StateColumns,
) -> Result<(), Malformed> {
    let mut take = Take(payload);
    let start = columns.known.len();
    take_flags(&mut take, rows, &mut columns.visited)?;
    columns.known.resize(start + rows, Known::default());
    let known = &mut columns.known[start..];
    let mut statuses_are_sound = true;
    take_column(&mut take, rows, |row, v: u8| match status(v) {
        Ok(status) => known[row].status = status,
        Err(_) => statuses_are_sound = false,
    })?;
    take_known_columns(&mut take, version, known)?;
    if !take.0.is_empty() {
        take_column_over_zeros(&mut take, rows, |row, v| known[row].lastmod = v)?;
        let mut announced = Vec::new();
        take_flags(&mut take, rows, &mut announced)?;
        known.iter_mut().zip(announced).for_each(|(known, is)| known.is_announced = is);
    }
    if !take.0.is_empty() {
        take_focus(&mut take, rows, known)?;
    }
    take.end()?;
    if statuses_are_sound { Ok(()) } else { Err(Malformed("unknown page status")) }
}

macro_rules! history_columns {
    ($($(#[$doc:meta])* $name:ident: $type:ty, since $since:literal [$($reads:tt)*];)*) => {
        /// The histories of a block's visited pages, as columns.
        pub(crate) fn put_block_history(out: &mut Vec<u8>, histories: &[&History]) {
            $(RecordField::put_columns(out, histories, |h| &h.$name);)*
        }

        fn take_history_columns(
            take: &mut Take<'_>,
            version: u32,
            places: &[usize],
            columns: &mut StateColumns,
        ) -> Result<(), Malformed> {
            let rows = columns.visited.len();
            $(
                Columns::resize(&mut columns.$name, rows);
                if version >= $since {
                    columns.$name.take(take, places)?;
                }
            )*
            Ok(())
        }

        const WHOLE_HISTORY: u32 = latest(&[$($since),*]);
    };
}

history_fields!(history_columns);

const fn latest(versions: &[u32]) -> u32 {
    let (mut latest, mut i) = (0, 0);
    while i < versions.len() {
        if versions[i] > latest {
            latest = versions[i];
        }
        i += 1;
    }
    latest
}

/// Fills the history columns of `columns`, zeros for pages never visited. The known part must have been
/// taken; `places` is a buffer. What version 1 does not have is worked out.
pub(crate) fn take_block_history(
    payload: &[u8],
    version: u32,
    places: &mut Vec<usize>,
    columns: &mut StateColumns,
) -> Result<(), Malformed> {
    places.clear();
    places.extend((0..columns.visited.len()).filter(|&row| columns.visited[row]));
    let mut take = Take(payload);
    take_history_columns(&mut take, version, places, columns)?;
    if version == 1 {
        version_1::complete_rows(columns, places);
    }
    take.end()
}

/// Takes the histories of `rows` visited pages; `columns` and `places` are buffers.
pub(crate) fn take_histories(
    payload: &[u8],
    version: u32,
    rows: usize,
    places: &mut Vec<usize>,
    columns: &mut StateColumns,
) -> Result<Vec<History>, Malformed> {
    columns.clear();
    columns.visited.resize(rows, true);
    take_block_history(payload, version, places, columns)?;
    Ok((0..rows).filter_map(|row| columns.history(row)).collect())
}

/// Does a version have all fields of this part?
pub(crate) fn is_whole(part: FramedFile, version: u32) -> bool {
    match part {
        FramedFile::Known => version >= WHOLE_KNOWN,
        FramedFile::History => version >= WHOLE_HISTORY,
        FramedFile::Keys | FramedFile::Content => true,
    }
}

/// The frame of a part of `rows` pages that is not whole in `version`, in today's form.
pub(crate) fn renew(frame: &[u8], part: FramedFile, version: u32, rows: usize) -> Result<Vec<u8>, Malformed> {
    let (mut scratch, mut columns) = (Vec::new(), StateColumns::default());
    let old = open_frame(frame, part.kind(), &mut scratch)?;
    let (mut payload, mut renewed) = (Vec::new(), Vec::new());
    if part == FramedFile::Known {
        take_block_known(old, version, rows, &mut columns)?;
        put_block_known(&mut payload, &columns.visited, &columns.known);
    } else {
        let histories = take_histories(old, version, rows, &mut Vec::new(), &mut columns)?;
        put_block_history(&mut payload, &histories.iter().collect::<Vec<_>>());
    }
    put_frame(&mut renewed, part.kind(), &payload);
    Ok(renewed)
}

/// Is the page gone?
pub(crate) fn is_gone(known: &Known) -> bool {
    known.status == PageStatus::Gone
}

//! A block: up to [`MAX_BLOCK_PAGES`] consecutive pages, as four frames: keys, known, history, content.

use crate::bytes::{Malformed, Take};
use crate::codec::{content_kind, put_extras, put_key, status, take_extras};
use crate::column::{put_column, put_flags, take_column, take_column_over_zeros, take_flags, take_into};
use crate::version_1;
use recrawl_types::decay::HALF_LIVES;
use recrawl_types::{
    ArchivePosition, Content, ContentKind, Cycle, Fingerprint, History, Known, StateColumns, Status,
};

/// Pages in a block when it is new. Its keys are some 20 kB packed: large enough that an index entry for each
/// block of a hundred million pages fits in memory, small enough that one look-up is cheap.
pub const BLOCK_PAGES: usize = 1024;
/// A block that grows beyond this many pages is cut into blocks of [`BLOCK_PAGES`] or nearly so.
pub const MAX_BLOCK_PAGES: usize = 2 * BLOCK_PAGES;

/// Appends a key to a block's keys; `last` is the key before it in the block, empty for the first.
pub(crate) fn put_block_key(out: &mut Vec<u8>, last: &[u8], key: &[u8]) {
    put_key(out, last, key);
}

/// The known part of a block: flags of visited pages, then the columns of [`Known`].
pub(crate) fn put_block_known(out: &mut Vec<u8>, visited: &[bool], known: &[Known]) {
    put_flags(out, visited);
    put_column(out, known.iter().map(|k| k.status as u8));
    put_column(out, known.iter().map(|k| k.depth));
    put_column(out, known.iter().map(|k| k.hops));
    put_column(out, known.iter().map(|k| k.in_links));
    put_column(out, known.iter().map(|k| k.discovered));
    put_column(out, known.iter().map(|k| k.last_attempt));
    put_column(out, known.iter().map(|k| k.failures));
    put_column(out, known.iter().map(|k| k.not_found));
    put_column(out, known.iter().map(|k| k.not_found_cycle));
    put_column(out, known.iter().map(|k| k.not_found_at));
    // Where no sitemap gave a date, the block is as it was before there were any.
    if known.iter().any(|k| k.lastmod > 0) {
        put_column(out, known.iter().map(|k| k.lastmod));
        put_flags(out, &known.iter().map(|k| k.is_announced).collect::<Vec<_>>());
    }
}

/// Appends the known part to `columns`.
pub(crate) fn take_block_known(
    payload: &[u8],
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
    take_column_over_zeros(&mut take, rows, |row, v| known[row].depth = v)?;
    take_column_over_zeros(&mut take, rows, |row, v| known[row].hops = v)?;
    take_column_over_zeros(&mut take, rows, |row, v| known[row].in_links = v)?;
    take_column_over_zeros(&mut take, rows, |row, v| known[row].discovered = v)?;
    take_column_over_zeros(&mut take, rows, |row, v| known[row].last_attempt = v)?;
    take_column_over_zeros(&mut take, rows, |row, v| known[row].failures = v)?;
    take_column_over_zeros(&mut take, rows, |row, v| known[row].not_found = v)?;
    take_column_over_zeros(&mut take, rows, |row, v| known[row].not_found_cycle = v)?;
    take_column_over_zeros(&mut take, rows, |row, v| known[row].not_found_at = v)?;
    if !take.0.is_empty() {
        take_column_over_zeros(&mut take, rows, |row, v| known[row].lastmod = v)?;
        let mut announced = Vec::new();
        take_flags(&mut take, rows, &mut announced)?;
        known.iter_mut().zip(announced).for_each(|(known, is)| known.is_announced = is);
    }
    take.end()?;
    if statuses_are_sound { Ok(()) } else { Err(Malformed("unknown page status")) }
}

/// The histories of a block's visited pages, as columns.
pub(crate) fn put_block_history(out: &mut Vec<u8>, histories: &[&History]) {
    put_column(out, histories.iter().map(|h| h.visits));
    put_column(out, histories.iter().map(|h| h.changes));
    put_column(out, histories.iter().map(|h| h.first));
    put_column(out, histories.iter().map(|h| h.last));
    put_column(out, histories.iter().map(|h| h.last_change));
    put_column(out, histories.iter().map(|h| h.ramp_visits));
    put_column(out, histories.iter().map(|h| h.ramp_cycles));
    put_column(out, histories.iter().map(|h| h.geometric_visits));
    put_column(out, histories.iter().map(|h| h.geometric_cycles));
    put_column(out, histories.iter().map(|h| h.changed_cycles));
    put_column(out, histories.iter().map(|h| h.streak));
    for half_life in 0..HALF_LIVES.len() {
        put_column(out, histories.iter().map(|h| h.decayed[half_life]));
    }
    for weekday in 0..7 {
        put_column(out, histories.iter().map(|h| h.weekdays[weekday]));
    }
}

/// Appends a block's history columns to those of `columns`, zeros for pages never visited. The known
/// part must have been taken, its block beginning at row `start`; `places` is a buffer. What `version`
/// does not have is worked out.
pub(crate) fn take_block_history(
    payload: &[u8],
    version: u32,
    start: usize,
    places: &mut Vec<usize>,
    columns: &mut StateColumns,
) -> Result<(), Malformed> {
    places.clear();
    places.extend((start..columns.visited.len()).filter(|&row| columns.visited[row]));
    let (rows, end) = (places.len(), columns.visited.len());
    let mut take = Take(payload);
    macro_rules! column {
        ($name:ident $([$i:expr])?, $zero:expr, $of:expr) => {
            columns.$name$([$i])?.resize(end, $zero);
            let column = &mut columns.$name$([$i])?;
            take_column_over_zeros(&mut take, rows, |row, v| column[places[row]] = $of(v))?;
        };
    }
    let number = |v: u32| v;
    let cycle = |v: Cycle| v.0;
    column!(visits, 0, number);
    column!(changes, 0, number);
    column!(first, 0, cycle);
    column!(last, 0, cycle);
    column!(last_change, 0, cycle);
    column!(ramp_visits, 0, |v: u64| v);
    column!(ramp_cycles, 0, |v: u64| v);
    column!(geometric_visits, 0.0, |v: f64| v);
    column!(geometric_cycles, 0.0, |v: f64| v);
    if version == 1 {
        version_1::complete_rows(columns, places, end);
        return take.end();
    }
    column!(changed_cycles, 0, number);
    column!(streak, 0, number);
    for half_life in 0..HALF_LIVES.len() {
        column!(decayed[half_life], 0.0, |v: f32| v);
    }
    for weekday in 0..7 {
        column!(weekdays[weekday], 0, |v: u16| v);
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
    take_block_history(payload, version, 0, places, columns)?;
    Ok((0..rows).filter_map(|row| columns.history(row)).collect())
}

/// The contents of a block's visited pages: fixed-width columns, then validators and consent.
pub(crate) fn put_block_content(out: &mut Vec<u8>, contents: &[&Content]) {
    let position = |c: &Content| c.archive.unwrap_or(ArchivePosition { file: 0, offset: 0 });
    put_column(out, contents.iter().map(|c| c.kind as u8));
    put_column(out, contents.iter().map(|c| c.fingerprint.simhash));
    put_column(out, contents.iter().map(|c| c.fingerprint.digest as u64));
    put_column(out, contents.iter().map(|c| (c.fingerprint.digest >> 64) as u64));
    put_column(out, contents.iter().map(|c| c.payload));
    // WARC files are numbered from 1: 0 says that there is none.
    put_column(out, contents.iter().map(|c| position(c).file));
    put_column(out, contents.iter().map(|c| position(c).offset));
    for content in contents {
        put_extras(out, content);
    }
}

/// Takes the contents of `rows` visited pages.
pub(crate) fn take_block_content(payload: &[u8], rows: usize) -> Result<Vec<Content>, Malformed> {
    let mut take = Take(payload);
    let mut kinds: Vec<u8> = Vec::new();
    let mut words: [Vec<u64>; 4] = Default::default();
    let (mut files, mut offsets): (Vec<u32>, Vec<u64>) = Default::default();
    take_into(&mut take, rows, &mut kinds)?;
    for column in &mut words {
        take_into(&mut take, rows, column)?;
    }
    take_into(&mut take, rows, &mut files)?;
    take_into(&mut take, rows, &mut offsets)?;
    let [simhash, low, high, payloads] = words;
    let mut contents = Vec::with_capacity(rows);
    for row in 0..rows {
        let kind: ContentKind = content_kind(kinds[row])?;
        let digest = u128::from(high[row]) << 64 | u128::from(low[row]);
        let (validators, consent) = take_extras(&mut take)?;
        contents.push(Content {
            kind,
            fingerprint: Fingerprint { simhash: simhash[row], digest },
            payload: payloads[row],
            validators,
            archive: (files[row] > 0).then(|| ArchivePosition { file: files[row], offset: offsets[row] }),
            consent,
        });
    }
    take.end()?;
    Ok(contents)
}

/// Is the page gone?
pub(crate) fn is_gone(known: &Known) -> bool {
    known.status == Status::Gone
}

//! Verifies every byte of the archive: each gzip member decodes, each record has the stated length
//! and digest, and each page's position leads to a record of that page.
//!
//! Memory: 24 bytes per page whose body is archived.

use super::answer::holds;
use super::cap::{Bodies, forget};
use super::files::{WarcFiles, is_thinned, name_now};
use super::moved::{MovedIndex, MovedRecord};
use super::overwrite::Reason;
use super::records::{FoundRecord, Records, is_damage};
use recrawl_repository::storage::Storage;
use recrawl_repository::{Damage, Generation};
use recrawl_types::{CanonicalUrl, PageRecord};
use std::collections::BTreeMap;
use std::io;
use xxhash_rust::xxh3::xxh3_64;

/// Maximum number of pages per file that are listed with a wrong position.
const NAMED: usize = 10;

/// Result of the verification.
#[derive(Debug, Default)]
pub struct Verified {
    /// Number of complete records.
    pub records: u64,
    /// All damage found.
    pub damage: Vec<Damage>,
    /// Findings that are no damage: incomplete ends left by an interrupted write, to which no page
    /// refers.
    pub notes: Vec<String>,
}

/// The position in a page's record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct NamedRecord {
    offset: u64,
    /// Hash of the page's URL.
    hash: u64,
    ordinal: u64,
}

/// Which files may be missing without damage.
#[derive(Clone, Copy, Debug, Default)]
pub struct MayBeGone {
    /// The oldest: `storage.archive_max` is set, which removes them.
    pub oldest: bool,
    /// All: there is no folder for them, as in a copy of the last commit alone.
    pub all: bool,
}

/// Verifies all WARC files, and the positions of the generation's pages.
///
/// # Errors
/// When a file or a page cannot be read for another reason than damage.
pub fn verify(
    storage: &dyn Storage,
    generation: &Generation,
    may_be_gone: MayBeGone,
) -> io::Result<Verified> {
    let mut verified = Verified::default();
    let mut named = positions(generation);
    let files = WarcFiles::in_storage(storage)?;
    for (number, name) in files.iter() {
        let positions = named.remove(&number).unwrap_or_default();
        verify_file(storage, name, positions, generation, &mut verified)?;
    }
    // Without a cap, a crawl that goes on from a copy without an archive has no older files either.
    let (older, lost): (BTreeMap<_, _>, BTreeMap<_, _>) = named
        .into_iter()
        .partition(|(number, _)| files.is_before_all(*number) || may_be_gone.all && files.newest() == 0);
    if !older.is_empty() && !may_be_gone.oldest {
        let pages: usize = older.values().map(Vec::len).sum();
        verified.notes.push(format!(
            "{}: the bodies of {pages} pages were in {} older WARC files, which are not here, though storage.archive_max \
             is off",
            storage.locate(""),
            older.len()
        ));
    }
    for (number, positions) in lost {
        let url = url_of(generation, positions[0])?;
        verified.damage.push(Damage {
            file: storage.locate(&format!("recrawl-*-{number:06}-*.warc.gz")),
            offset: 0,
            what: format!("missing, with the bodies of {} pages, such as {url}", positions.len()),
        });
    }
    Ok(verified)
}

/// The page with this position.
fn url_of(generation: &Generation, position: NamedRecord) -> io::Result<String> {
    let page = generation.gather([position.ordinal].into_iter()).next_page()?;
    Ok(page.map_or_else(String::new, |(_, url, _)| url.to_string()))
}

/// The positions of all pages, by file and in order. The repository itself reports pages that
/// cannot be read.
fn positions(generation: &Generation) -> BTreeMap<u32, Vec<NamedRecord>> {
    let mut named = BTreeMap::<u32, Vec<NamedRecord>>::new();
    let mut records = generation.records();
    while let Ok(Some((ordinal, key, record))) = records.next_record() {
        let archived = record.visited.and_then(|visited| visited.content.archive);
        if let (Some(position), Ok(url)) = (archived, CanonicalUrl::from_key(key)) {
            let hash = xxh3_64(url.as_text().as_bytes());
            named.entry(position.file).or_default().push(NamedRecord {
                offset: position.offset,
                hash,
                ordinal,
            });
        }
    }
    named.values_mut().for_each(|positions| positions.sort_unstable());
    named
}

fn verify_file(
    storage: &dyn Storage,
    name: &str,
    positions: Vec<NamedRecord>,
    generation: &Generation,
    verified: &mut Verified,
) -> io::Result<()> {
    // A running crawl may remove the oldest file.
    let Some(name) = name_now(storage, name)? else { return Ok(()) };
    let name = &*name;
    let damage = |offset, what: String| Damage { file: storage.locate(name), offset, what };
    let mut records = Records::open_at(storage, name, 0)?.checked();
    let length = records.length();
    let (positions, mut astray) = match is_thinned(name) {
        true => moved(storage, name, positions)?,
        false => (positions, Vec::new()),
    };
    let mut waiting = positions.into_iter().peekable();
    loop {
        let offset = records.offset();
        let problem = match records.next_record() {
            Ok(None) => break,
            Ok(Some(found)) if !found.is_torn => {
                // Positions come in the order of the file, so one pass meets them all.
                while let Some(position) = waiting.next_if(|position| position.offset <= offset) {
                    if position.offset < offset || !leads_to(&found, position.hash) {
                        astray.push(position);
                    }
                }
                verified.records += 1;
                verified.damage.extend(found.problem.map(|what| damage(offset, what.into())));
                continue;
            }
            Ok(Some(_)) => "incomplete record".to_owned(),
            Err(e) if is_damage(&e) => e.to_string(),
            Err(e) => return Err(e),
        };
        // The next record that can be read ends the damage: it hides nothing behind it.
        let next = records.next_sound(offset + 1)?;
        let is_named = waiting.peek().is_some_and(|position| position.offset < next.unwrap_or(u64::MAX));
        let left = next.unwrap_or(length) - offset;
        match next {
            None if !is_named && is_torn_end(storage, name, offset, &problem)? => {
                verified.notes.push(format!(
                    "{}: the last {left} bytes are an incomplete record of an interrupted write; \
                     no page refers to it",
                    storage.locate(name)
                ))
            }
            _ => verified.damage.push(damage(offset, format!("{problem}; {left} bytes are unreadable"))),
        }
        if next.is_none() {
            break;
        }
    }
    astray.extend(waiting);
    // One lost file may hold the bodies of most pages: naming some is enough.
    let more = astray.len().saturating_sub(NAMED);
    for position in astray.iter().take(NAMED) {
        let url = url_of(generation, *position)?;
        verified.damage.push(damage(position.offset, format!("missing record with the body of {url}")));
    }
    if more > 0 {
        let what = format!("and {more} more pages with missing bodies");
        verified.damage.push(damage(astray[NAMED].offset, what));
    }
    Ok(())
}

/// The positions as they are now in a thinned file, and those whose records were dropped.
fn moved(
    storage: &dyn Storage,
    name: &str,
    positions: Vec<NamedRecord>,
) -> io::Result<(Vec<NamedRecord>, Vec<NamedRecord>)> {
    let (index, mut present, mut astray) = (MovedIndex::open(storage, name)?, Vec::new(), Vec::new());
    for position in positions {
        match index.find(position.offset)? {
            Some(MovedRecord::Kept(offset)) => present.push(NamedRecord { offset, ..position }),
            _ => astray.push(position),
        }
    }
    Ok((present, astray))
}

/// Is this what an interrupted write leaves at the end of a file: half a record, or only zeros?
fn is_torn_end(storage: &dyn Storage, name: &str, offset: u64, problem: &str) -> io::Result<bool> {
    if problem == "incomplete record" {
        return Ok(true);
    }
    let file = storage.open(name)?;
    let (mut at, length, mut buffer) = (offset, file.length()?, vec![0; 64 << 10]);
    while at < length {
        let part = &mut buffer[..(length - at).min(64 << 10) as usize];
        file.read_at(part, at)?;
        if part.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        at += part.len() as u64;
    }
    Ok(true)
}

/// Is this the body of the page, or the record that replaced it at a takedown?
fn leads_to(found: &FoundRecord, hash: u64) -> bool {
    match found.kind() {
        Some("response") => found.field("WARC-Target-URI").is_some_and(|url| xxh3_64(url.as_bytes()) == hash),
        _ => Reason::find(found) == Some(Reason::TakenDown),
    }
}

/// Removes the position of an unreadable body from a page's record, so that it is archived again.
/// Returns whether there was one. A body whose file was removed is left alone.
pub fn forget_unreadable(
    storage: &dyn Storage,
    bodies: &Bodies,
    url: &CanonicalUrl,
    record: &mut PageRecord,
) -> bool {
    let content = record.visited.as_mut().map(|visited| &mut visited.content);
    let Some((content, position)) = content.and_then(|c| c.archive.map(|position| (c, position))) else {
        return false;
    };
    let Some(name) = bodies.name(position.file) else { return false };
    if holds(storage, name, position.offset, &url.as_text()) {
        return false;
    }
    forget(content);
    true
}

#[cfg(test)]
mod tests;

//! Every byte of the archive checked: each gzip member decodes, each record is as long as it says
//! and has the body of its digest, and each page's position leads to a record of that page.
//!
//! Memory: 24 bytes a page whose body is archived.

use super::answer::holds;
use super::cap::{Bodies, forget};
use super::records::{Found, Records};
use super::recovery::is_damage;
use super::{file_name, numbers};
use recrawl_repository::storage::Storage;
use recrawl_repository::{Damage, Generation};
use recrawl_types::{CanonicalUrl, PageRecord};
use std::collections::BTreeMap;
use std::io;
use xxhash_rust::xxh3::xxh3_64;

/// Pages of a file whose positions lead elsewhere that are named.
const NAMED: usize = 10;

/// What was found.
#[derive(Debug, Default)]
pub struct Verified {
    /// Records that are whole.
    pub records: u64,
    /// What is not as it was written.
    pub damage: Vec<Damage>,
    /// What is no damage: torn ends that a stop has left, and that no page's record leads to.
    pub notes: Vec<String>,
}

/// A page's position in a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Named {
    offset: u64,
    /// Of its URL.
    hash: u64,
    ordinal: u64,
}

/// Checks all WARC files, and the positions of the generation's pages.
///
/// # Errors
/// When a file or a page cannot be read for another reason than damage.
pub fn verify(storage: &dyn Storage, generation: &Generation) -> io::Result<Verified> {
    let mut verified = Verified::default();
    let mut named = positions(generation);
    for number in numbers(storage)? {
        let positions = named.remove(&number).unwrap_or_default();
        verify_file(storage, number, positions, generation, &mut verified)?;
    }
    Ok(verified)
}

/// The pages' positions, by file and in order. What cannot be read of the pages is told by the
/// repository.
fn positions(generation: &Generation) -> BTreeMap<u32, Vec<Named>> {
    let mut named = BTreeMap::<u32, Vec<Named>>::new();
    let mut records = generation.records();
    while let Ok(Some((ordinal, key, record))) = records.next_record() {
        let archived = record.visited.and_then(|visited| visited.content.archive);
        if let (Some(position), Ok(url)) = (archived, CanonicalUrl::from_key(key)) {
            let hash = xxh3_64(url.as_text().as_bytes());
            named.entry(position.file).or_default().push(Named { offset: position.offset, hash, ordinal });
        }
    }
    named.values_mut().for_each(|positions| positions.sort_unstable());
    named
}

fn verify_file(
    storage: &dyn Storage,
    number: u32,
    positions: Vec<Named>,
    generation: &Generation,
    verified: &mut Verified,
) -> io::Result<()> {
    let name = file_name(number);
    let damage = |offset, what: String| Damage { file: storage.locate(&name), offset, what };
    let mut records = match Records::of(storage, &name, 0) {
        // A running crawl may remove the oldest.
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        records => records?.checked(),
    };
    let length = records.length();
    let mut waiting = positions.into_iter().peekable();
    let mut astray = Vec::new();
    loop {
        let offset = records.offset();
        let problem = match records.next_record() {
            Ok(None) => break,
            Ok(Some(found)) if !found.is_torn => {
                while let Some(position) = waiting.next_if(|position| position.offset <= offset) {
                    if position.offset < offset || !leads_to(&found, position.hash) {
                        astray.push(position);
                    }
                }
                verified.records += 1;
                verified.damage.extend(found.problem.map(|what| damage(offset, what.into())));
                continue;
            }
            Ok(Some(_)) => "the record is torn".to_owned(),
            Err(e) if is_damage(&e) => e.to_string(),
            Err(e) => return Err(e),
        };
        let next = records.next_sound(offset + 1)?;
        let is_named = waiting.peek().is_some_and(|position| position.offset < next.unwrap_or(u64::MAX));
        let left = next.unwrap_or(length) - offset;
        match next {
            None if !is_named && is_torn_end(storage, &name, offset, &problem)? => {
                verified.notes.push(format!(
                    "{}: its last {left} bytes are a record that a stop has torn; no page leads to it",
                    storage.locate(&name)
                ))
            }
            _ => verified.damage.push(damage(offset, format!("{problem}; {left} bytes cannot be read"))),
        }
        if next.is_none() {
            break;
        }
    }
    astray.extend(waiting);
    let more = astray.len().saturating_sub(NAMED);
    for position in astray.iter().take(NAMED) {
        let url = generation.gather([position.ordinal].into_iter()).next_page()?;
        let url = url.map_or_else(String::new, |(_, url, _)| url.to_string());
        verified.damage.push(damage(
            position.offset,
            format!("no whole record of {url} is there, whose body it should have"),
        ));
    }
    if more > 0 {
        let what = format!("and {more} pages more whose bodies are not where they should be");
        verified.damage.push(damage(astray[NAMED].offset, what));
    }
    Ok(())
}

/// What a stop leaves at the end of a file: half a record, or nothing but zeros.
fn is_torn_end(storage: &dyn Storage, name: &str, offset: u64, problem: &str) -> io::Result<bool> {
    if problem == "the record is torn" {
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

/// Is it the body of the page? One that was taken down says so itself.
fn leads_to(found: &Found, hash: u64) -> bool {
    match found.kind() {
        Some("response") => found.field("WARC-Target-URI").is_some_and(|url| xxh3_64(url.as_bytes()) == hash),
        kind => kind == Some("metadata"),
    }
}

/// Takes out of a page's record the position of a body that cannot be read, so that it is archived
/// again; was there one? A body whose file was removed stays as it is.
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
    let is_there = bodies.has(position) || bodies.has_lost(position);
    if !is_there || holds(storage, position, &url.as_text()) {
        return false;
    }
    forget(content);
    true
}

#[cfg(test)]
mod tests;

//! Records, visits, links and schedule entries as bytes: what the cycle's own files hold.
//!
//! Keys are written as what they share with a key nearby, then the rest: a page's links share most of
//! their bytes with the page.

mod packed_links;
mod reason;

pub use crate::tables::{put_host, take_host};
pub use packed_links::{LinkRef, PackedLinks};
pub(crate) use reason::{put_reason, take_reason};

use crate::file::bytes::{Malformed, Put, Take};
use crate::generation::column::RecordField;
use crate::generation::version_1;
use recrawl_types::{
    ArchivePosition, ArchivedBody, Canonical, CanonicalUrl, Consent, Content, ContentDifference, ContentKind,
    Expectation, Fingerprint, History, Known, LeftOut, Link, LogRecord, Outcome, PageRecord, PageStatus,
    ScheduleEntry, Skip, Skipped, ValidatorSign, Validators, Verdict, Visit, Visited, history_fields,
    known_fields, shared_beginning,
};
use std::num::NonZeroU16;

/// Appends a number in as few bytes as it needs (LEB128).
pub fn put_number(out: &mut Vec<u8>, value: u64) {
    out.put_varint(value);
}

/// Takes a number that [`put_number`] wrote from the front of `bytes`.
///
/// # Errors
/// When none stands there, or it does not fit the type asked for.
pub fn take_number<T: TryFrom<u64>>(bytes: &mut &[u8]) -> Result<T, Malformed> {
    let mut take = Take(bytes);
    let value = take.narrow()?;
    *bytes = take.0;
    Ok(value)
}

/// Appends `key` as the bytes it shares with `near`, then the rest.
pub(crate) fn put_key(out: &mut Vec<u8>, near: &[u8], key: &[u8]) {
    let shared = shared_beginning(near, key);
    out.put_varint(shared as u64);
    out.put_bytes(&key[shared..]);
}

/// Takes a key that [`put_key`] wrote, in place of the key in `near`.
pub(crate) fn take_key(take: &mut Take<'_>, near: &mut Vec<u8>) -> Result<(), Malformed> {
    let shared: usize = take.narrow()?;
    let rest = take.bytes()?;
    if shared > near.len() {
        return Err(Malformed("a key shares more bytes than the last one has"));
    }
    near.truncate(shared);
    near.extend_from_slice(rest);
    Ok(())
}

fn url(key: &[u8]) -> Result<CanonicalUrl, Malformed> {
    CanonicalUrl::from_key(key).map_err(|_| Malformed("a key is not a URL"))
}

pub(crate) fn take_url(take: &mut Take<'_>, near: &mut Vec<u8>) -> Result<CanonicalUrl, Malformed> {
    take_key(take, near)?;
    url(near)
}

pub(crate) fn status(byte: u8) -> Result<PageStatus, Malformed> {
    match byte {
        0 => Ok(PageStatus::Live),
        1 => Ok(PageStatus::Gone),
        2 => Ok(PageStatus::Refused),
        3 => Ok(PageStatus::AddressRefused),
        _ => Err(Malformed("unknown page status")),
    }
}

pub(crate) fn content_kind(byte: u8) -> Result<ContentKind, Malformed> {
    match byte {
        0 => Ok(ContentKind::Text),
        1 => Ok(ContentKind::Opaque),
        2 => Ok(ContentKind::Redirect),
        3 => Ok(ContentKind::Hints),
        _ => Err(Malformed("unknown kind of content")),
    }
}

/// Statuses beside which there is room for those two flags.
const IS_REFUSED: u8 = 8;
const IS_ADDRESS_REFUSED: u8 = 9;
/// Beside a page's status: an expectation follows; a verdict follows.
const HAS_EXPECTATION: u8 = 16;
const HAS_VERDICT: u8 = 32;
/// Beside a page's status: a lastmod follows; it moved since the last visit.
const HAS_LASTMOD: u8 = 2;
const IS_ANNOUNCED: u8 = 4;

/// Appends what links let expect, in seven bytes.
pub fn put_expectation(out: &mut Vec<u8>, expectation: Expectation) {
    out.extend_from_slice(&expectation.code().get().to_le_bytes());
    out.put_u8(expectation.tunnel);
    out.put_u32(expectation.group);
}

fn take_expectation(take: &mut Take<'_>) -> Result<Expectation, Malformed> {
    let code = NonZeroU16::new(u16::from_le_bytes(take.array()?));
    let code = code.ok_or(Malformed("an expectation of nothing"))?;
    Ok(Expectation::of_code(code, take.u8()?, take.u32()?))
}

/// Takes what [`put_expectation`] wrote from the front of `bytes`.
///
/// # Errors
/// When none stands there.
pub fn take_expectation_of(bytes: &mut &[u8]) -> Result<Expectation, Malformed> {
    let mut take = Take(bytes);
    let expectation = take_expectation(&mut take)?;
    *bytes = take.0;
    Ok(expectation)
}

fn put_verdict(out: &mut Vec<u8>, verdict: Verdict) {
    out.extend_from_slice(&verdict.code().get().to_le_bytes());
    [verdict.genre, verdict.content, verdict.url].into_iter().for_each(|byte| out.put_u8(byte));
}

fn take_verdict(take: &mut Take<'_>) -> Result<Verdict, Malformed> {
    let code = NonZeroU16::new(u16::from_le_bytes(take.array()?));
    let code = code.ok_or(Malformed("a verdict without relevance"))?;
    Ok(Verdict::of_code(code, take.u8()?, take.u8()?, take.u8()?))
}

/// Functions for the rows of the table in `recrawl_types::fields`.
macro_rules! known {
    ($($(#[$doc:meta])* $name:ident: $type:ty, since $since:literal;)*) => {
        fn put_known(out: &mut Vec<u8>, known: &Known) {
            let has_lastmod = if known.lastmod > 0 { HAS_LASTMOD } else { 0 };
            let is_announced = if known.is_announced { IS_ANNOUNCED } else { 0 };
            let status = match known.status {
                PageStatus::Refused => IS_REFUSED,
                PageStatus::AddressRefused => IS_ADDRESS_REFUSED,
                status => status as u8,
            };
            let has_expectation = known.expectation.map_or(0, |_| HAS_EXPECTATION);
            let has_verdict = known.verdict.map_or(0, |_| HAS_VERDICT);
            out.put_u8(status | has_lastmod | is_announced | has_expectation | has_verdict);
            $(known.$name.put(out);)*
            if known.lastmod > 0 {
                out.put_varint(known.lastmod.into());
            }
            known.expectation.into_iter().for_each(|expectation| put_expectation(out, expectation));
            known.verdict.into_iter().for_each(|verdict| put_verdict(out, verdict));
        }

        fn take_known(take: &mut Take<'_>, version: u32) -> Result<Known, Malformed> {
            let flags = take.u8()?;
            Ok(Known {
                status: match flags & !(HAS_LASTMOD | IS_ANNOUNCED | HAS_EXPECTATION | HAS_VERDICT) {
                    IS_REFUSED => PageStatus::Refused,
                    IS_ADDRESS_REFUSED => PageStatus::AddressRefused,
                    byte => status(byte)?,
                },
                $($name: if version >= $since { RecordField::take(take)? } else { Default::default() },)*
                lastmod: if flags & HAS_LASTMOD == 0 { 0 } else { take.narrow()? },
                is_announced: flags & IS_ANNOUNCED != 0,
                expectation: if flags & HAS_EXPECTATION == 0 { None } else { Some(take_expectation(take)?) },
                verdict: if flags & HAS_VERDICT == 0 { None } else { Some(take_verdict(take)?) },
            })
        }
    };
}

known_fields!(known);

macro_rules! history {
    ($($(#[$doc:meta])* $name:ident: $type:ty, since $since:literal [$($reads:tt)*];)*) => {
        fn put_history(out: &mut Vec<u8>, history: &History) {
            $(history.$name.put(out);)*
        }

        fn take_history(take: &mut Take<'_>, version: u32) -> Result<History, Malformed> {
            let mut history = History {
                $($name: if version >= $since { RecordField::take(take)? } else { Default::default() },)*
            };
            if version == 1 {
                version_1::complete(&mut history);
            }
            Ok(history)
        }
    };
}

history_fields!(history);

const HAS_ARCHIVE: u8 = 4;

const HAS_ETAG: u8 = 1;
const HAS_LAST_MODIFIED: u8 = 2;
const HAS_DIRECTIVES: u8 = 4;
const HAS_UNAVAILABLE_AFTER: u8 = 8;
/// Two bits: what is claimed of the canonical address.
const CANONICAL: u8 = 0x30;
const CANONICAL_ITSELF: u8 = 0x10;
const CANONICAL_CONTRADICTORY: u8 = 0x20;
const CANONICAL_OTHER: u8 = 0x30;
/// The rule that selected the text follows, since version 8.
const HAS_RULE: u8 = 0x40;
/// A byte follows that says what more there is, since version 9.
const HAS_MORE: u8 = 0x80;

/// Of the second byte: the time of the archived body follows.
const HAS_ARCHIVED_AT: u8 = 1;
/// The comparisons within noise follow.
const HAS_WITHIN_NOISE: u8 = 2;
/// The digests of merged links follow, since version 11.
const HAS_MERGED_LINKS: u8 = 4;
/// Two bits: the archived body is of an earlier visit, or withheld, since version 11.
const ARCHIVED_EARLIER: u8 = 8;
const ARCHIVED_WITHHELD: u8 = 16;

const NOINDEX: u8 = 1;
const NOFOLLOW: u8 = 2;
const NOARCHIVE: u8 = 4;

/// What [`put_extras`] writes; ETag and Last-Modified stay where they are.
pub(crate) struct Extras<'b> {
    etag: Option<&'b str>,
    last_modified: Option<&'b str>,
    pub consent: Consent,
    pub rule: u32,
    pub archived_at: u64,
    pub archived: ArchivedBody,
    pub within_noise: u8,
    /// Digests, four bytes each.
    merged_links: &'b [u8],
}

impl Extras<'_> {
    pub fn validators(&self) -> Validators {
        Validators { etag: self.etag.map(Box::from), last_modified: self.last_modified.map(Box::from) }
    }

    pub fn merged_links(&self) -> Box<[u32]> {
        self.merged_links.as_chunks().0.iter().map(|digest| u32::from_le_bytes(*digest)).collect()
    }
}

/// Appends what of a content few pages have, validators, consent, rule and the time of its
/// archived body, behind a byte that says what there is.
/// Version 2 knew the validators alone.
pub(crate) fn put_extras(out: &mut Vec<u8>, content: &Content) {
    let Content { validators, consent, rule, archived_at, archived, within_noise, merged_links, .. } =
        content;
    let Validators { etag, last_modified } = validators;
    let has = |there: bool, bit| if there { bit } else { 0 };
    let directives =
        has(consent.noindex, NOINDEX) | has(consent.nofollow, NOFOLLOW) | has(consent.noarchive, NOARCHIVE);
    // The first byte has one bit left for all that later versions add.
    let more = has(*archived_at != 0, HAS_ARCHIVED_AT)
        | has(*within_noise != 0, HAS_WITHIN_NOISE)
        | has(!merged_links.is_empty(), HAS_MERGED_LINKS)
        | has(*archived == ArchivedBody::Earlier, ARCHIVED_EARLIER)
        | has(*archived == ArchivedBody::Withheld, ARCHIVED_WITHHELD);
    let canonical = match consent.canonical {
        Canonical::Unclaimed => 0,
        Canonical::Itself => CANONICAL_ITSELF,
        Canonical::Contradictory => CANONICAL_CONTRADICTORY,
        Canonical::Other(_) => CANONICAL_OTHER,
    };
    out.put_u8(
        has(etag.is_some(), HAS_ETAG)
            | has(last_modified.is_some(), HAS_LAST_MODIFIED)
            | has(directives != 0, HAS_DIRECTIVES)
            | has(consent.unavailable_after.is_some(), HAS_UNAVAILABLE_AFTER)
            | has(*rule != 0, HAS_RULE)
            | has(more != 0, HAS_MORE)
            | canonical,
    );
    for text in [etag, last_modified].into_iter().flatten() {
        out.put_bytes(text.as_bytes());
    }
    if directives != 0 {
        out.put_u8(directives);
    }
    if let Some(after) = consent.unavailable_after {
        out.put_varint(after);
    }
    if let Canonical::Other(url) = &consent.canonical {
        out.put_bytes(url.key());
    }
    if *rule != 0 {
        out.put_u32(*rule);
    }
    if more != 0 {
        out.put_u8(more);
    }
    if *archived_at != 0 {
        out.put_varint(*archived_at);
    }
    if *within_noise != 0 {
        out.put_u8(*within_noise);
    }
    if !merged_links.is_empty() {
        out.put_varint(4 * merged_links.len() as u64);
        merged_links.iter().for_each(|digest| out.put_u32(*digest));
    }
}

/// Takes what [`put_extras`] wrote.
pub(crate) fn take_extras<'b>(take: &mut Take<'b>) -> Result<Extras<'b>, Malformed> {
    let has = take.u8()?;
    let mut text = |bit| -> Result<Option<&'b str>, Malformed> {
        if has & bit == 0 {
            return Ok(None);
        }
        let text = std::str::from_utf8(take.bytes()?).map_err(|_| Malformed("a validator is not text"))?;
        Ok(Some(text))
    };
    let (etag, last_modified) = (text(HAS_ETAG)?, text(HAS_LAST_MODIFIED)?);
    let directives = if has & HAS_DIRECTIVES == 0 { 0 } else { take.u8()? };
    let is_dated = has & HAS_UNAVAILABLE_AFTER != 0;
    let consent = Consent {
        noindex: directives & NOINDEX != 0,
        nofollow: directives & NOFOLLOW != 0,
        noarchive: directives & NOARCHIVE != 0,
        unavailable_after: if is_dated { Some(take.varint()?) } else { None },
        canonical: match has & CANONICAL {
            CANONICAL_ITSELF => Canonical::Itself,
            CANONICAL_CONTRADICTORY => Canonical::Contradictory,
            CANONICAL_OTHER => Canonical::Other(url(take.bytes()?)?),
            _ => Canonical::Unclaimed,
        },
    };
    let rule = if has & HAS_RULE == 0 { 0 } else { take.u32()? };
    let more = if has & HAS_MORE == 0 { 0 } else { take.u8()? };
    let archived_at = if more & HAS_ARCHIVED_AT == 0 { 0 } else { take.varint()? };
    let within_noise = if more & HAS_WITHIN_NOISE == 0 { 0 } else { take.u8()? };
    let merged_links: &[u8] = if more & HAS_MERGED_LINKS == 0 { &[] } else { take.bytes()? };
    if !merged_links.len().is_multiple_of(4) {
        return Err(Malformed("a digest of links is cut short"));
    }
    let archived = match () {
        () if more & ARCHIVED_WITHHELD != 0 => ArchivedBody::Withheld,
        () if more & ARCHIVED_EARLIER != 0 => ArchivedBody::Earlier,
        () => ArchivedBody::Last,
    };
    Ok(Extras { etag, last_modified, consent, rule, archived_at, archived, within_noise, merged_links })
}

fn put_content(out: &mut Vec<u8>, content: &Content) {
    out.put_u8(content.kind as u8);
    out.put_u8(if content.archive.is_some() { HAS_ARCHIVE } else { 0 });
    out.put_u64(content.fingerprint.simhash);
    out.extend_from_slice(&content.fingerprint.digest.to_le_bytes());
    out.put_u64(content.payload);
    if let Some(position) = content.archive {
        out.put_varint(position.file.into());
        out.put_varint(position.offset);
    }
    put_extras(out, content);
}

fn take_content(take: &mut Take<'_>) -> Result<Content, Malformed> {
    let kind = content_kind(take.u8()?)?;
    let has_archive = take.u8()? == HAS_ARCHIVE;
    let simhash = take.u64()?;
    let (low, high) = (take.u64()?, take.u64()?);
    let payload = take.u64()?;
    let archive = match has_archive {
        true => Some(ArchivePosition { file: take.narrow()?, offset: take.varint()? }),
        false => None,
    };
    let digest = u128::from(high) << 64 | u128::from(low);
    let extras = take_extras(take)?;
    let fingerprint = Fingerprint { simhash, digest };
    Ok(Content {
        kind,
        fingerprint,
        rule: extras.rule,
        within_noise: extras.within_noise,
        payload,
        validators: extras.validators(),
        archive,
        archived_at: extras.archived_at,
        archived: extras.archived,
        merged_links: extras.merged_links(),
        consent: extras.consent,
    })
}

fn put_record(out: &mut Vec<u8>, record: &PageRecord) {
    put_known(out, &record.known);
    out.put_u8(u8::from(record.visited.is_some()));
    if let Some(visited) = &record.visited {
        put_history(out, &visited.history);
        put_content(out, &visited.content);
    }
}

fn take_record(take: &mut Take<'_>, version: u32) -> Result<PageRecord, Malformed> {
    let known = take_known(take, version)?;
    let visited = match take.u8()? {
        0 => None,
        1 => Some(Visited { history: take_history(take, version)?, content: take_content(take)? }),
        _ => return Err(Malformed("invalid visited flag")),
    };
    Ok(PageRecord { known, visited })
}

/// Appends an entry whose key is written against `near`.
pub(crate) fn put_entry(out: &mut Vec<u8>, near: &[u8], entry: &ScheduleEntry) {
    put_key(out, near, entry.url.key());
    put_reason(out, entry.share, entry.standing);
    put_record(out, &entry.record);
}

/// Takes an entry of a file of this format version; `near` becomes its key.
pub(crate) fn take_entry(
    take: &mut Take<'_>,
    near: &mut Vec<u8>,
    version: u32,
) -> Result<ScheduleEntry, Malformed> {
    let url = take_url(take, near)?;
    let (share, standing) = take_reason(take)?;
    Ok(ScheduleEntry { url, share, record: take_record(take, version)?, standing })
}

pub(crate) fn put_outcome(out: &mut Vec<u8>, outcome: Outcome) {
    let (tag, detail) = outcome.code();
    out.put_u8(tag);
    out.put_varint(detail);
}

pub(crate) fn outcome(tag: u8, detail: u64) -> Result<Outcome, Malformed> {
    Outcome::of_code(tag, detail).ok_or(Malformed("unknown outcome"))
}

/// In the byte of a link's flags: an expectation follows.
const LINK_HAS_EXPECTATION: u8 = 4;
/// In the same byte: a sitemap or feed lists it.
const LINK_LISTED: u8 = 8;

fn take_link_expectation(take: &mut Take<'_>, flags: u8) -> Result<Option<Expectation>, Malformed> {
    if flags & LINK_HAS_EXPECTATION == 0 { Ok(None) } else { take_expectation(take).map(Some) }
}

fn put_link_near(out: &mut Vec<u8>, near: &[u8], link: &Link) {
    put_key(out, near, link.url.key());
    out.put_varint(link.depth.into());
    out.put_u8(link.hops);
    let has_lastmod = if link.lastmod > 0 { HAS_LASTMOD } else { 0 };
    let has_expectation = link.expectation.map_or(0, |_| LINK_HAS_EXPECTATION);
    let listed = if link.listed { LINK_LISTED } else { 0 };
    out.put_u8(u8::from(link.counted) | has_lastmod | has_expectation | listed);
    if link.lastmod > 0 {
        out.put_varint(link.lastmod.into());
    }
    link.expectation.into_iter().for_each(|expectation| put_expectation(out, expectation));
}

fn take_link_near(take: &mut Take<'_>, near: &mut Vec<u8>) -> Result<Link, Malformed> {
    let url = take_url(take, near)?;
    let (depth, hops, flags) = (take.narrow()?, take.u8()?, take.u8()?);
    let lastmod = if flags & HAS_LASTMOD == 0 { 0 } else { take.narrow()? };
    let expectation = take_link_expectation(take, flags)?;
    let (counted, listed) = (flags & 1 == 1, flags & LINK_LISTED > 0);
    Ok(Link { url, depth, hops, counted, listed, lastmod, expectation })
}

fn put_links(out: &mut Vec<u8>, page: &[u8], links: &[Link]) {
    out.put_varint(links.len() as u64);
    let mut near = page;
    for link in links {
        put_link_near(out, near, link);
        near = link.url.key();
    }
}

fn take_links(take: &mut Take<'_>, page: &[u8]) -> Result<Vec<Link>, Malformed> {
    let count: usize = take.narrow()?;
    // A damaged count must not reserve memory for what is not there: a link has five bytes at least.
    let mut links = Vec::with_capacity(count.min(take.0.len() / 5));
    let mut near = page.to_vec();
    for _ in 0..count {
        links.push(take_link_near(take, &mut near)?);
    }
    Ok(links)
}

/// In the byte that tells how contents differ: a verdict follows.
const VISIT_HAS_VERDICT: u8 = 128;

const HAS_CONTENT: u8 = 1;
/// In the same byte: links were left out, and how many follows.
const HAS_LEFT_OUT: u8 = 128;
/// In the same byte: links repeat what was merged, and how many follows, since version 11.
const HAS_REPEATED: u8 = 64;

/// In the byte that tells whether there is content, above that bit: what the visit told of validators, from 1;
/// version 2 knew nothing of it and wrote 0.
fn take_sign(byte: u8) -> Result<Option<ValidatorSign>, Malformed> {
    Ok(Some(match (byte & !(HAS_LEFT_OUT | HAS_REPEATED)) >> 1 {
        0 => return Ok(None),
        1 => ValidatorSign::Confirmed,
        2 => ValidatorSign::Shown,
        3 => ValidatorSign::Vain,
        4 => ValidatorSign::Hidden,
        _ => return Err(Malformed("unknown validator sign")),
    }))
}

/// Appends a visit.
pub fn put_visit(out: &mut Vec<u8>, visit: &Visit) {
    put_key(out, &[], visit.url.key());
    out.put_varint(visit.index.map_or(0, |i| i + 1));
    put_reason(out, visit.share, visit.standing);
    if visit.standing.is_some() {
        out.put_varint(visit.took.into());
    }
    out.put_varint(visit.at);
    put_outcome(out, visit.outcome);
    out.put_varint(visit.bytes);
    let has_verdict = visit.verdict.map_or(0, |_| VISIT_HAS_VERDICT);
    out.put_u8(visit.difference.map_or(0, |d| 1 + u8::from(d.same_digest)) | has_verdict);
    if let Some(difference) = visit.difference {
        out.put_u8(difference.distance);
        out.put_varint(difference.cycles.into());
    }
    visit.verdict.into_iter().for_each(|verdict| put_verdict(out, verdict));
    let sign = visit.sign.map_or(0, |sign| 1 + sign as u8);
    let LeftOut { filtered, trapped, repeated } = visit.left_out;
    let has_content = if visit.content.is_some() { HAS_CONTENT } else { 0 };
    let has_left_out = if (filtered, trapped) == (0, 0) { 0 } else { HAS_LEFT_OUT };
    let has_repeated = if repeated == 0 { 0 } else { HAS_REPEATED };
    out.put_u8(sign << 1 | has_content | has_left_out | has_repeated);
    if has_left_out > 0 {
        out.put_varint(filtered.into());
        out.put_varint(trapped.into());
    }
    if has_repeated > 0 {
        out.put_varint(repeated.into());
    }
    if let Some(content) = &visit.content {
        put_content(out, content);
    }
    put_links(out, visit.url.key(), &visit.links);
}

/// Reads a visit that is all of `bytes`.
///
/// # Errors
/// When the bytes are not what [`put_visit`] wrote.
pub fn take_visit(bytes: &[u8]) -> Result<Visit, Malformed> {
    let mut take = Take(bytes);
    let mut visit = take_visit_alone(&mut take)?;
    visit.links = take_links(&mut take, visit.url.key())?;
    take.end()?;
    Ok(visit)
}

/// Takes a visit up to its links.
fn take_visit_alone(take: &mut Take<'_>) -> Result<Visit, Malformed> {
    let url = take_url(take, &mut Vec::new())?;
    let index = take.varint()?.checked_sub(1);
    let (share, standing) = take_reason(take)?;
    let took = if standing.is_some() { take.narrow()? } else { 0 };
    let at = take.varint()?;
    let outcome = outcome(take.u8()?, take.varint()?)?;
    let bytes = take.varint()?;
    let compared = take.u8()?;
    let difference = match compared & !VISIT_HAS_VERDICT {
        0 => None,
        same => {
            Some(ContentDifference { same_digest: same == 2, distance: take.u8()?, cycles: take.narrow()? })
        }
    };
    let verdict = if compared & VISIT_HAS_VERDICT == 0 { None } else { Some(take_verdict(take)?) };
    let flags = take.u8()?;
    let sign = take_sign(flags)?;
    let (filtered, trapped) = match flags & HAS_LEFT_OUT {
        0 => (0, 0),
        _ => (take.narrow()?, take.narrow()?),
    };
    let repeated = if flags & HAS_REPEATED == 0 { 0 } else { take.narrow()? };
    let content = match flags & HAS_CONTENT {
        0 => None,
        _ => Some(take_content(take)?),
    };
    let links = Vec::new();
    Ok(Visit {
        url,
        index,
        share,
        standing,
        at,
        took,
        outcome,
        content,
        difference,
        links,
        bytes,
        sign,
        left_out: LeftOut { filtered, trapped, repeated },
        verdict,
    })
}

/// Appends a link.
pub fn put_link(out: &mut Vec<u8>, link: &Link) {
    put_link_near(out, &[], link);
}

/// Reads a link that is all of `bytes`.
///
/// # Errors
/// When the bytes are not what [`put_link`] wrote.
pub fn take_link(bytes: &[u8]) -> Result<Link, Malformed> {
    let mut take = Take(bytes);
    let link = take_link_near(&mut take, &mut Vec::new())?;
    take.end()?;
    Ok(link)
}

const VISIT: u8 = 0;
const SEEDS: u8 = 1;
const SKIPPED: u8 = 2;

/// Appends a record of the visit log.
pub(crate) fn put_log_record(out: &mut Vec<u8>, record: &LogRecord) {
    match record {
        LogRecord::Visit(visit) => {
            out.put_u8(VISIT);
            put_visit(out, visit);
        }
        LogRecord::Seeds(links) => {
            out.put_u8(SEEDS);
            put_links(out, &[], links);
        }
        LogRecord::Skipped(Skipped { pages, why, at }) => {
            out.put_u8(SKIPPED);
            let (_, why) = Outcome::Skipped(*why).code();
            [pages.start, pages.end - pages.start, *at, why]
                .into_iter()
                .for_each(|number| out.put_varint(number));
        }
    }
}

/// Takes what follows the kind of a record of skipped pages.
fn take_skipped(take: &mut Take<'_>) -> Result<LogRecord, Malformed> {
    let (start, count, at) = (take.varint()?, take.varint()?, take.varint()?);
    let (tag, _) = Outcome::Skipped(Skip::Deadline).code();
    let Outcome::Skipped(why) = outcome(tag, take.varint()?)? else {
        return Err(Malformed("pages are skipped for no reason"));
    };
    let end =
        start.checked_add(count).filter(|end| *end > start).ok_or(Malformed("a range without pages"))?;
    Ok(LogRecord::Skipped(Skipped { pages: start..end, why, at }))
}

/// Reads a record of the visit log.
///
/// # Errors
/// That it is malformed.
pub fn take_log_record(bytes: &[u8]) -> Result<LogRecord, Malformed> {
    let mut take = Take(bytes);
    match take.u8()? {
        VISIT => take_visit(take.0).map(Box::new).map(LogRecord::Visit),
        SEEDS => {
            let links = take_links(&mut take, &[])?;
            take.end()?;
            Ok(LogRecord::Seeds(links))
        }
        SKIPPED => {
            let skipped = take_skipped(&mut take)?;
            take.end()?;
            Ok(skipped)
        }
        _ => Err(Malformed("unknown kind of record")),
    }
}

/// [`take_log_record`], with the links put to `links` and not into the record.
pub(crate) fn take_log_record_apart(bytes: &[u8], links: &mut PackedLinks) -> Result<LogRecord, Malformed> {
    let mut take = Take(bytes);
    let record = match take.u8()? {
        VISIT => {
            let visit = take_visit_alone(&mut take)?;
            links.take(&mut take, visit.url.key())?;
            LogRecord::Visit(Box::new(visit))
        }
        SEEDS => {
            links.take(&mut take, &[])?;
            LogRecord::Seeds(Vec::new())
        }
        SKIPPED => take_skipped(&mut take)?,
        _ => return Err(Malformed("unknown kind of record")),
    };
    take.end()?;
    Ok(record)
}

#[cfg(test)]
mod tests;

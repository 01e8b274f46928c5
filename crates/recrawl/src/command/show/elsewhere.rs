//! A page that another partition of the fleet has: what its owner tells of it.

use super::{MAX_SHOWN_DIFF, print, print_json};
use crate::cli::ShowArgs;
use crate::daemon::{ReadsApi, encoded};
use crate::fleet::PageOwner;
use crate::texts::{ArchivedText, unified};
use recrawl_archive::timestamp;
use recrawl_crawl::failure::Failure;
use recrawl_types::ArchivePosition;
use serde_json::Value;

/// Versions of one answer.
const PART: usize = 100;

/// As `recrawl show` of an own page, but for what goes through no API.
///
/// # Errors
/// Those, or that the owner does not answer.
pub fn show(args: &ShowArgs, owner: &PageOwner) -> Result<(), Failure> {
    if args.html || args.markdown {
        return Err(owner.refused());
    }
    if args.list {
        return list(args, owner);
    }
    let which = match args.until {
        Some(time) => format!("&at={}", time.end()),
        // The newest one.
        None if args.version == 1 => String::new(),
        None => place_of(&numbered(&args.url, owner, args.version as usize)?),
    };
    let version = version(&args.url, owner, &which)?;
    if args.json {
        return print_json(&version);
    }
    if args.headers {
        return print(word(&version["headers"]).trim_end());
    }
    let newer = text(&version)?;
    if !args.diff {
        return print(newer.text);
    }
    let older = &version["difference"]["older"];
    if older.is_null() {
        return Err(Failure::Work(word(&version["difference"]["why"]).to_owned()));
    }
    let older = text(&self::version(&args.url, owner, &place_of(older))?)?;
    if older.text == newer.text {
        tracing::warn!("the texts of this version and the one before are the same");
        return Ok(());
    }
    print(unified(&older, &newer, MAX_SHOWN_DIFF).text.trim_end())
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

/// A version, as a query names it.
fn place_of(version: &Value) -> String {
    format!("&warc_file={}&warc_offset={}", version["warc_file"], version["warc_offset"])
}

fn version(url: &str, owner: &PageOwner, which: &str) -> Result<Value, Failure> {
    owner.found(&format!("/api/v1/version?url={}{which}", encoded(url)))
}

fn text(document: &Value) -> Result<ArchivedText, Failure> {
    if let Some(why) = document["no_text"]["why"].as_str() {
        return Err(Failure::Work(format!("{}: {why}; use --headers", word(&document["url"]))));
    }
    if document["text_is_cut"] == true {
        tracing::warn!("the text is longer than the owner of its partition sends, and shown in part");
    }
    let version = &document["version"];
    let at = ArchivePosition {
        file: number(&version["warc_file"]) as u32,
        offset: number(&version["warc_offset"]),
    };
    Ok(ArchivedText { time: number(&version["time"]), at, text: word(&document["text"]).to_owned() })
}

/// All versions, or as many as are asked for: the document of the API, without an end of its own.
fn versions(url: &str, owner: &PageOwner, most: usize) -> Result<Value, Failure> {
    let path = format!("/api/v1/versions?url={}&limit={}", encoded(url), most.min(PART));
    let mut whole = owner.found(&path)?;
    while let Some(cursor) = whole["next"].as_str()
        && whole["versions"].as_array().is_some_and(|versions| versions.len() < most)
    {
        let mut part = owner.found(&format!("{path}&cursor={}", encoded(cursor)))?;
        if let (Some(all), Some(more)) = (whole["versions"].as_array_mut(), part["versions"].as_array_mut()) {
            all.append(more);
        }
        (whole["next"], whole["missing"]) = (part["next"].take(), part["missing"].take());
    }
    Ok(whole)
}

/// The version of a number, as the list has it.
fn numbered(url: &str, owner: &PageOwner, number: usize) -> Result<Value, Failure> {
    let list = versions(url, owner, number)?;
    let version = &list["versions"][number - 1];
    if !version.is_null() {
        return Ok(version.clone());
    }
    let why = list["missing"]["why"]
        .as_str()
        .map_or_else(|| format!("there is no version {number}"), str::to_owned);
    Err(Failure::Work(format!("{}: {why}", word(&list["url"]))))
}

/// A line for each version.
fn list(args: &ShowArgs, owner: &PageOwner) -> Result<(), Failure> {
    let list = versions(&args.url, owner, usize::MAX)?;
    if args.json {
        return print_json(&list);
    }
    for version in list["versions"].as_array().into_iter().flatten() {
        let time = timestamp(number(&version["time"]) * 1000);
        let kind = version["content_type"].as_str().unwrap_or("?");
        let is_same = if version["words_changed"] == false { "  same text as before" } else { "" };
        print(format!(
            "{:>4}  {time}  {}  {} bytes  {kind}  WARC file {} {}{is_same}",
            number(&version["number"]),
            version["status"],
            version["bytes"],
            version["warc_file"],
            version["warc_offset"],
        ))?;
    }
    match list["missing"]["why"].as_str() {
        Some(why) => print(format!("      {why}")),
        None => Ok(()),
    }
}

//! Recorded pages: real changes, and how far they move the SimHash.

use crate::{DISTANCES, Prints, Spread, percent};
use flate2::read::GzDecoder;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd, html};
use recrawl_extractor::{BodyFields, Extracted, extract};
use recrawl_types::UrlRules;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// A recorded set.
pub struct Set {
    /// Name of the folder.
    pub name: String,
    /// Its pages.
    pub pages: Vec<Page>,
    /// The last cycle of any page.
    pub last: u32,
    /// For first versions: letters of Markdown text, and letters that the extractor found after
    /// rendering.
    letters: [u64; 2],
    /// Pages of which the extractor found less than nine tenths.
    cut: u64,
}

/// A recorded page.
pub struct Page {
    /// Site or section.
    pub group: String,
    /// First and last cycle.
    pub first: u32,
    pub last: u32,
    /// (cycle, version): the version from this cycle on.
    pub changes: Vec<(u32, usize)>,
    /// Fingerprints of the rendered versions.
    pub versions: Vec<Prints>,
}

impl Page {
    /// The version at a cycle.
    pub fn at(&self, cycle: u32) -> &Prints {
        let version = self.changes.iter().take_while(|c| c.0 <= cycle).last().map_or(0, |c| c.1);
        &self.versions[version]
    }
}

/// Reads a set and renders every version of every page.
pub fn load(folder: &Path) -> io::Result<Set> {
    let bad =
        |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {what}", folder.display()));
    let mut table = String::new();
    GzDecoder::new(File::open(folder.join("pages.tsv.gz"))?).read_to_string(&mut table)?;
    let mut pages = Vec::new();
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [_, _, _, group, _, first, last, changes] = fields[..] else { return Err(bad(line)) };
        let number = |text: &str| text.parse::<u32>().map_err(|_| bad(line));
        let change = |pair: &str| {
            let (cycle, version) = pair.split_once(':').ok_or_else(|| bad(line))?;
            Ok((number(cycle)?, number(version)? as usize))
        };
        pages.push(Page {
            group: group.to_owned(),
            first: number(first)?,
            last: number(last)?,
            changes: changes.split_whitespace().map(change).collect::<io::Result<_>>()?,
            versions: Vec::new(),
        });
    }
    let name = folder.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let last = pages.iter().map(|p| p.last).max().unwrap_or(0);
    let mut set = Set { name, pages, last, letters: [0; 2], cut: 0 };
    let content = zstd::Decoder::new(File::open(folder.join("content.jsonl.zst"))?)?;
    for line in BufReader::new(content).lines() {
        let record: serde_json::Value = serde_json::from_str(&line?)?;
        let page = record["page_id"].as_u64().and_then(|id| set.pages.get_mut(id as usize));
        let (Some(page), Some(markdown)) = (page, record["text"].as_str()) else {
            return Err(bad("a content without a page"));
        };
        let text = rendered(markdown);
        if page.versions.is_empty() {
            let (whole, found) = (letters_of_markdown(markdown), letters(&text));
            set.letters[0] += whole;
            set.letters[1] += found;
            set.cut += u64::from(found * 10 < whole * 9);
        }
        page.versions.push(Prints::from_text(&text));
    }
    Ok(set)
}

/// The visible text of a Markdown document, through HTML.
fn rendered(markdown: &str) -> String {
    let mut page = String::from("<!DOCTYPE html><html><head><title>t</title></head><body>");
    html::push_html(&mut page, Parser::new_ext(markdown, Options::all()));
    let rules = UrlRules::default();
    let url = rules.canonicalize("https://example.com/").expect("a sound URL");
    let fields = BodyFields { content_type: Some("text/html; charset=utf-8"), ..BodyFields::default() };
    match extract(page.as_bytes(), &fields, &url, &rules, &recrawl_extractor::ExtractOptions::default()) {
        Extracted::Page(page) => page.text,
        Extracted::Listing(..) | Extracted::Opaque(..) => unreachable!("HTML is a page"),
    }
}

/// Letters of a Markdown document, without its raw HTML and image names.
fn letters_of_markdown(markdown: &str) -> u64 {
    let (mut count, mut images) = (0, 0);
    for event in Parser::new_ext(markdown, Options::all()) {
        match event {
            Event::Start(Tag::Image { .. }) => images += 1,
            Event::End(TagEnd::Image) => images -= 1,
            Event::Text(piece) | Event::Code(piece) if images == 0 => count += letters(&piece),
            _ => {}
        }
    }
    count
}

/// Characters other than white space.
fn letters(text: &str) -> u64 {
    text.chars().filter(|c| !c.is_whitespace()).count() as u64
}

/// Table: missed changes at each distance.
pub fn print_tables(sets: &[Set]) {
    println!("## Real changes: percentage missed\n");
    let spreads: Vec<(u64, u64, [Spread; 2])> = sets.iter().map(spreads).collect();
    print!("| distance |");
    for set in sets {
        print!(" {0}, words | {0}, 3 words |", set.name);
    }
    println!("\n|--:|{}", "--:|".repeat(2 * sets.len()));
    for distance in DISTANCES {
        print!("| {distance} |");
        for (_, _, [words, shingles]) in &spreads {
            print!(" {:.1} | {:.1} |", words.within(distance), shingles.within(distance));
        }
        println!();
    }
    println!("\n| set | changes | invisible | visible | letters of Markdown | found | pages under 9/10 |");
    println!("|---|--:|--:|--:|--:|--:|--:|");
    for (set, (changes, invisible, _)) in sets.iter().zip(&spreads) {
        let found = percent(set.letters[1], set.letters[0]);
        let visible = changes - invisible;
        println!(
            "| {} | {changes} | {invisible} | {visible} | {} | {found:.2} % | {} of {} |",
            set.name,
            set.letters[0],
            set.cut,
            set.pages.len()
        );
    }
    println!();
}

/// Changes between consecutive versions: their number, the number of invisible ones, and how far
/// the visible ones move the SimHash over words and shingles.
fn spreads(set: &Set) -> (u64, u64, [Spread; 2]) {
    let (mut changes, mut invisible, mut spreads) = (0, 0, <[Spread; 2]>::default());
    for page in &set.pages {
        let mut before = 0;
        for &(_, version) in &page.changes {
            let (old, new) = (&page.versions[before], &page.versions[version]);
            before = version;
            changes += 1;
            if old.equal(new) {
                invisible += 1;
                continue;
            }
            for (spread, distance) in spreads.iter_mut().zip(old.distances(new)) {
                spread.add(distance);
            }
        }
    }
    (changes, invisible, spreads)
}

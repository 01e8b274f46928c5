//! The folder of two tables: `cycles.tsv`, and `pages.tsv.gz` with the changes of each page.

use super::lines::{LineReader, shown};
use super::{DatasetError, DatasetFormat, FormatStart, calendar};
use crate::{Dataset, RecordedPage, histories::PageHistories};
use flate2::{Compression, write::GzEncoder};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The table of cycles.
pub const CYCLES: &str = "cycles.tsv";
/// The table of pages.
pub const PAGES: &str = "pages.tsv.gz";
/// The contents of the pages, only in some data sets.
pub const CONTENTS: &str = "content.jsonl.zst";

const CYCLE_COLUMNS: [&str; 2] = ["cycle", "date"];
const PAGE_COLUMNS: [&str; 8] =
    ["page_id", "url", "path", "group", "title", "first_cycle", "last_cycle", "changes"];

/// One more column, only in data sets with signals.
const SIGNALS: &str = "signals";

/// A folder.
pub const FORMAT: DatasetFormat = DatasetFormat {
    name: "native",
    help: "folder with cycles.tsv and pages.tsv.gz: addresses, sites, dates, returning contents",
    timed: false,
    recognises: |start| matches!(start, FormatStart::Folder),
    read,
    write: Some(write),
};

fn read(folder: &Path, _: u64) -> Result<Dataset, DatasetError> {
    let dates = read_cycles(&folder.join(CYCLES))?;
    let last = dates.len() as u32 - 1;
    let mut lines = LineReader::open(&folder.join(PAGES))?;
    let has_signals = header(&mut lines, &PAGE_COLUMNS, SIGNALS)?;
    let mut histories = PageHistories::default();
    let (mut changes, mut signals, mut id) = (Vec::new(), Vec::new(), 0);
    while let Some(line) = lines.next_line()? {
        let (line, listed) =
            if has_signals { line.rsplit_once('\t').unwrap_or((line, "")) } else { (line, "") };
        let pushed = read_page(line, id, last, &mut changes).and_then(|row| {
            read_signals(listed, row.first, row.last, &mut signals)?;
            let page = histories.page(row.name, Some(row.group), row.first, row.last);
            histories.push(page, &changes)?;
            histories.signal(&signals)
        });
        pushed.map_err(|what| lines.wrong(what))?;
        id += 1;
    }
    let known = dates.iter().any(|date| !date.is_empty());
    super::finish(histories, folder, if known { dates } else { Vec::new() }, last)
}

/// Texts of a page that matter only with its contents.
pub struct PageTexts<'a> {
    /// The name of the page in the data set: its URL or, if unknown, its path.
    pub name: &'a str,
    /// Its name in the source.
    pub path: &'a str,
    /// Its title; may be empty.
    pub title: &'a str,
}

/// Passes the texts of each page of a folder to `each`, in order.
pub fn read_texts(
    folder: &Path,
    mut each: impl FnMut(PageTexts) -> Result<(), String>,
) -> Result<(), DatasetError> {
    let mut lines = LineReader::open(&folder.join(PAGES))?;
    let has_signals = header(&mut lines, &PAGE_COLUMNS, SIGNALS)?;
    while let Some(line) = lines.next_line()? {
        let line = line.rsplit_once('\t').filter(|_| has_signals).map_or(line, |(line, _)| line);
        let read = columns(line).and_then(|[_, url, path, _, title, ..]: [&str; 8]| {
            each(PageTexts { name: if url.is_empty() { path } else { url }, path, title })
        });
        read.map_err(|what| lines.wrong(what))?;
    }
    Ok(())
}

/// The date of each cycle; empty if unknown.
fn read_cycles(path: &Path) -> Result<Vec<String>, DatasetError> {
    let mut lines = LineReader::open(path)?;
    header(&mut lines, &CYCLE_COLUMNS, "")?;
    let mut dates: Vec<String> = Vec::new();
    while let Some(line) = lines.next_line()? {
        let read = read_cycle(line, &dates).map(str::to_owned);
        dates.push(read.map_err(|what| lines.wrong(what))?);
    }
    if dates.is_empty() {
        return Err(DatasetError::whole(path, "no cycles; cycle 0 is the first observation"));
    }
    Ok(dates)
}

fn read_cycle<'a>(line: &'a str, dates: &[String]) -> Result<&'a str, String> {
    let [cycle, date] = columns(line)?;
    if number(cycle, CYCLE_COLUMNS[0])? as usize != dates.len() {
        return Err(format!("cycle {cycle}: expected {}; cycles count up from 0", dates.len()));
    }
    if dates.len() > Dataset::MAX_CYCLES as usize {
        return Err(format!("more than {} cycles after the first", Dataset::MAX_CYCLES));
    }
    if !date.is_empty() && calendar::parse_date(date).is_none() {
        return Err(format!("date {}: expected YYYY-MM-DD, or no dates at all", shown(date)));
    }
    match dates.last() {
        Some(before) if before.is_empty() != date.is_empty() => {
            Err("some cycles have no date; give all cycles a date, or none".into())
        }
        // Several cycles may be in one day.
        Some(before) if before.as_str() > date => {
            Err(format!("{date} after {before}: dates must not decrease"))
        }
        _ => Ok(date),
    }
}

struct NativeRow<'a> {
    name: &'a str,
    group: &'a str,
    first: u32,
    last: u32,
}

fn read_page<'a>(
    line: &'a str,
    id: u64,
    end: u32,
    changes: &mut Vec<(u32, u16)>,
) -> Result<NativeRow<'a>, String> {
    let [page, url, path, group, _, first, last, listed] = columns(line)?;
    if page.parse() != Ok(id) {
        return Err(format!("page_id {}: expected {id}; pages count up from 0", shown(page)));
    }
    let (first, last) = (number(first, PAGE_COLUMNS[5])?, number(last, PAGE_COLUMNS[6])?);
    if first > last {
        return Err(format!("first_cycle {first} is after last_cycle {last}"));
    }
    if last > end {
        return Err(format!("last_cycle {last}: {CYCLES} ends at cycle {end}"));
    }
    changes.clear();
    let (mut before, mut version, mut known) = (first, 0, 0);
    for pair in listed.split(' ').filter(|_| !listed.is_empty()) {
        let wrong = || format!("change {}: expected cycle:version pairs separated by one space", shown(pair));
        let (cycle, next) = pair.split_once(':').ok_or_else(wrong)?;
        let (cycle, next) = (digits(cycle).ok_or_else(wrong)?, digits(next).ok_or_else(wrong)?);
        if cycle <= first || cycle > last {
            return Err(format!(
                "change {pair}: must be after first_cycle {first} and up to last_cycle {last}"
            ));
        }
        if cycle <= before {
            return Err(format!("change {pair} after one in cycle {before}: cycles must increase"));
        }
        if next == version {
            return Err(format!("change {pair}: content {next} follows itself"));
        }
        if next > known + 1 {
            return Err(format!("change {pair}: new content must have the next number, {}", known + 1));
        }
        // A content needs a cycle, and cycles are few, so numbers fit.
        changes.push((cycle, next as u16));
        (before, version, known) = (cycle, next, known.max(next));
    }
    Ok(NativeRow { name: if url.is_empty() { path } else { url }, group, first, last })
}

/// The cycles of a page's signals.
fn read_signals(listed: &str, first: u32, last: u32, signals: &mut Vec<u32>) -> Result<(), String> {
    signals.clear();
    for text in listed.split(' ').filter(|_| !listed.is_empty()) {
        let cycle = number(text, SIGNALS)?;
        if cycle <= first || cycle > last {
            return Err(format!(
                "signal {cycle}: must be after first_cycle {first} and up to last_cycle {last}"
            ));
        }
        if signals.last().is_some_and(|&before| cycle <= before) {
            return Err(format!("signal {cycle}: cycles must increase"));
        }
        signals.push(cycle);
    }
    Ok(())
}

fn write(data: &Dataset, folder: &Path) -> Result<Vec<String>, DatasetError> {
    let texts = data.pages.iter().map(|page| &*page.url).chain(data.groups.iter().map(String::as_str));
    if let Some(text) = texts.into_iter().find(|text| text.contains(char::is_control)) {
        let what = format!("{}: contains a control character, such as a tab", shown(text));
        return Err(DatasetError::whole(folder, what));
    }
    std::fs::create_dir(folder).map_err(DatasetError::io(folder))?;
    let (cycles, pages) = (folder.join(CYCLES), folder.join(PAGES));
    write_cycles(data, &cycles).map_err(DatasetError::io(&cycles))?;
    write_pages(data, &pages).map_err(DatasetError::io(&pages))?;
    Ok(Vec::new())
}

fn write_cycles(data: &Dataset, path: &Path) -> io::Result<()> {
    let mut file = BufWriter::new(File::create_new(path)?);
    writeln!(file, "{}", CYCLE_COLUMNS.join("\t"))?;
    for cycle in 0..=data.truth.cycles() {
        writeln!(file, "{cycle}\t{}", data.dates.get(cycle as usize).map_or("", String::as_str))?;
    }
    file.flush()
}

fn write_pages(data: &Dataset, path: &Path) -> io::Result<()> {
    let packed = GzEncoder::new(File::create_new(path)?, Compression::default());
    let mut file = BufWriter::with_capacity(1 << 16, packed);
    let signals = data.signals.by_page(data.pages.len());
    let signal_column = if signals.is_empty() { String::new() } else { format!("\t{SIGNALS}") };
    writeln!(file, "{}{signal_column}", PAGE_COLUMNS.join("\t"))?;
    let mut row = String::new();
    data.truth.try_each_page(|id, changes| {
        let RecordedPage { url: name, group, first, last, .. } = &data.pages[id];
        // A name that is not a URL is the page's name in its source.
        let url = if name.contains("://") { name } else { "" };
        row.clear();
        for (place, (cycle, version)) in changes.iter().enumerate() {
            let space = if place > 0 { " " } else { "" };
            let _ = write!(row, "{space}{cycle}:{version}"); // a String takes everything
        }
        if let Some(signals) = signals.get(id) {
            for (place, cycle) in signals.iter().enumerate() {
                let before = if place > 0 { ' ' } else { '\t' };
                let _ = write!(row, "{before}{cycle}");
            }
            if signals.is_empty() {
                row.push('\t');
            }
        }
        writeln!(file, "{id}\t{url}\t{name}\t{}\t\t{first}\t{last}\t{row}", data.groups[*group as usize])
    })?;
    file.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?;
    Ok(())
}

/// Checks the first line, which names the columns; returns whether `more` follow the last of them.
fn header(lines: &mut LineReader, columns: &[&str], more: &str) -> Result<bool, DatasetError> {
    let expected = columns.join("\t");
    let found = lines.next_line()?.map(|line| {
        let rest = line.strip_prefix(expected.as_str());
        let has_more = rest.is_some_and(|rest| !more.is_empty() && rest.strip_prefix('\t') == Some(more));
        (has_more, rest == Some(""), shown(line))
    });
    match found {
        Some((true, ..)) => Ok(true),
        Some((_, true, _)) => Ok(false),
        Some((.., line)) => {
            Err(lines.wrong(format!("{line}: the first line must name the columns {}", columns.join(", "))))
        }
        None => Err(lines.wrong("the file is empty")),
    }
}

fn columns<const N: usize>(line: &str) -> Result<[&str; N], String> {
    let mut found = line.split('\t');
    let columns = std::array::from_fn(|_| found.next());
    let count = line.split('\t').count();
    if count != N {
        return Err(format!("{count} columns, but {N} are expected, separated by one tab"));
    }
    Ok(columns.map(Option::unwrap_or_default))
}

fn number(text: &str, column: &str) -> Result<u32, String> {
    digits(text).ok_or_else(|| format!("{column} {}: expected a cycle number", shown(text)))
}

/// Digits only: `parse` alone would accept a sign.
fn digits(text: &str) -> Option<u32> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests;

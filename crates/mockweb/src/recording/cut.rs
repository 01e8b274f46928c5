//! Extracts a small recording from large ones, with pages that change often and rarely.

use super::align::{AlignedPage, Alignment};
use super::table::Table;
use super::{RecordingError, RecordingSource, texts};
use crate::seed::mix_text;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Configuration of an extract.
#[derive(Clone, Debug)]
pub struct CutConfig {
    /// Recordings to extract from; each gives the same number of pages.
    pub sources: Vec<RecordingSource>,
    /// Total number of pages.
    pub pages: u32,
    /// Random seed of the selection.
    pub seed: u64,
    /// Maximum text size of a page in bytes; larger pages are skipped.
    pub max_text_bytes: usize,
    /// Output folder; created if it does not exist.
    pub out: PathBuf,
}

/// Result of an extract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CutReport {
    /// Number of pages.
    pub pages: u32,
    /// Pages that exist from the first to the last cycle.
    pub fixed: u32,
    /// Cycles, including the first observation.
    pub cycles: u32,
    /// Changes of all pages.
    pub changes: u64,
    /// Bytes of the three files together.
    pub bytes: u64,
}

/// Extracts a recording and writes it.
///
/// # Errors
/// [`RecordingError`] names file and line.
pub fn cut(config: &CutConfig) -> Result<CutReport, RecordingError> {
    let tables = config.sources.iter().map(Table::read).collect::<Result<Vec<_>, _>>()?;
    let mut aligned = Alignment::new(&tables)?;
    // A pass for the lengths alone: a page is chosen by its longest text before any text is kept in memory.
    let mut longest = vec![0; aligned.pages.len()];
    texts::for_each(&config.sources, &tables, &aligned, |page, _, text| {
        let longest = &mut longest[page as usize];
        *longest = text.len().max(*longest);
        Ok(())
    })?;
    let mut chosen = choose(&aligned.pages, config, |page| longest[page] <= config.max_text_bytes);
    chosen.sort_unstable();
    aligned.pages = chosen.into_iter().map(|page| aligned.pages[page].clone()).collect();
    if aligned.pages.is_empty() {
        return Err(RecordingError::NoPage);
    }

    // Now only the texts of chosen pages are in memory.
    let mut contents: Vec<BTreeMap<u32, String>> = vec![BTreeMap::new(); aligned.pages.len()];
    texts::for_each(&config.sources, &tables, &aligned, |page, version, text| {
        contents[page as usize].insert(version, text.to_string());
        Ok(())
    })?;
    let named = |path: &Path| {
        let path = path.to_path_buf();
        move |cause: io::Error| RecordingError::Io { path: path.clone(), cause }
    };
    fs::create_dir_all(&config.out).map_err(named(&config.out))?;
    let mut bytes = 0;
    type Writer<'a> = &'a dyn Fn(File) -> io::Result<()>;
    let writers: [(&str, Writer<'_>); 3] = [
        ("cycles.tsv", &|file| write_cycles(&aligned, file)),
        ("pages.tsv.gz", &|file| write_pages(&aligned, file)),
        ("content.jsonl.zst", &|file| write_content(&aligned, &contents, file)),
    ];
    for (name, write) in writers {
        let path = config.out.join(name);
        File::create(&path).and_then(write).map_err(named(&path))?;
        bytes += fs::metadata(&path).map_err(named(&path))?.len();
    }
    let last = aligned.dates.len() as u32 - 1;
    Ok(CutReport {
        pages: aligned.pages.len() as u32,
        fixed: aligned.pages.iter().filter(|p| p.page.first == 0 && p.page.last == last).count() as u32,
        cycles: aligned.dates.len() as u32,
        changes: aligned.pages.iter().map(|p| p.page.changes.len() as u64).sum(),
        bytes,
    })
}

/// Selects the same number of pages from each source and, within a source, from each class of
/// change rate, as far as the class has enough. Pages are chosen by hash.
fn choose(pages: &[AlignedPage], config: &CutConfig, fits: impl Fn(usize) -> bool) -> Vec<usize> {
    let class = |page: &AlignedPage| match page.page.changes.len() {
        0 => 0,
        1..=2 => 1,
        3..=9 => 2,
        _ => 3,
    };
    let mut chosen = Vec::new();
    for source in 0..config.sources.len() {
        let mut classes: [Vec<(u64, usize)>; 4] = Default::default();
        for (at, page) in pages.iter().enumerate().filter(|(at, p)| p.source == source && fits(*at)) {
            classes[class(page)].push((mix_text(config.seed, &page.page.path), at));
        }
        classes.sort_by_key(Vec::len);
        // Later sources make up for earlier ones that are too small.
        let sources_left = config.sources.len() - source;
        let mut wanted = (config.pages as usize - chosen.len()) / sources_left;
        for (rank, mut class) in classes.into_iter().enumerate() {
            let share = (wanted / (4 - rank)).min(class.len());
            class.sort_unstable();
            chosen.extend(class.into_iter().take(share).map(|(_, at)| at));
            wanted -= share;
        }
    }
    chosen
}

fn write_cycles(aligned: &Alignment, mut file: File) -> io::Result<()> {
    writeln!(file, "cycle\tdate")?;
    for (cycle, date) in aligned.dates.iter().enumerate() {
        writeln!(file, "{cycle}\t{date}")?;
    }
    Ok(())
}

fn write_pages(aligned: &Alignment, file: File) -> io::Result<()> {
    let mut out = flate2::GzBuilder::new().mtime(0).write(file, flate2::Compression::best());
    writeln!(out, "page_id\turl\tpath\tgroup\ttitle\tfirst_cycle\tlast_cycle\tchanges")?;
    for (id, AlignedPage { page, .. }) in aligned.pages.iter().enumerate() {
        let changes: Vec<String> =
            page.changes.iter().map(|(at, version)| format!("{at}:{version}")).collect();
        writeln!(
            out,
            "{id}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
            page.url,
            page.path,
            page.group,
            page.title,
            page.first,
            page.last,
            changes.join(" ")
        )?;
    }
    out.finish()?;
    Ok(())
}

#[derive(Serialize)]
struct NewLine<'a> {
    page_id: usize,
    cycle: u32,
    version: u32,
    text: &'a str,
}

fn write_content(aligned: &Alignment, contents: &[BTreeMap<u32, String>], file: File) -> io::Result<()> {
    let mut out = zstd::stream::write::Encoder::new(file, 19)?;
    out.window_log(24)?;
    out.long_distance_matching(true)?;
    for (page_id, versions) in contents.iter().enumerate() {
        let page = &aligned.pages[page_id].page;
        for (&version, text) in versions {
            let seen = page.changes.iter().find(|change| change.1 == version);
            let cycle = if version == 0 { page.first } else { seen.map_or(page.first, |change| change.0) };
            serde_json::to_writer(&mut out, &NewLine { page_id, cycle, version, text })?;
            out.write_all(b"\n")?;
        }
    }
    out.finish()?;
    Ok(())
}

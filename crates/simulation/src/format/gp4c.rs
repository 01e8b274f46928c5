//! The bit strings of the GP4C authors' program: one line per page, one character per cycle, `1`
//! for a change.
//!
//! Character i, counted from 0, is cycle i + 1 in both programs: cycle 0 is the download that the
//! first character compares with. So a warm-up of 2 reads the same two characters in both programs.

use super::lines::LineReader;
use super::{DatasetError, DatasetFormat, FormatStart};
use crate::{Dataset, histories::PageHistories};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

pub const FORMAT: DatasetFormat = DatasetFormat {
    name: "gp4c",
    help: "bit strings of the GP4C authors' program: one line per page, one character per cycle",
    timed: false,
    recognises: |start| matches!(start, FormatStart::Line(line) if is_bits(line)),
    read,
    write: Some(write),
};

fn is_bits(line: &str) -> bool {
    !line.is_empty() && line.bytes().all(|b| b == b'0' || b == b'1')
}

fn read(path: &Path, _: u64) -> Result<Dataset, DatasetError> {
    let mut lines = LineReader::open(path)?;
    let mut histories = PageHistories::default();
    let (mut cycles, mut id, mut changes) = (None, 0u32, Vec::new());
    while let Some(line) = lines.next_line()? {
        id += 1;
        let pushed = read_page(line, &mut cycles, &mut changes).and_then(|last| {
            // The source names a page by its line number.
            let page = histories.page(id.to_string(), None, 0, last);
            histories.push(page, &changes)
        });
        pushed.map_err(|what| lines.wrong(what))?;
    }
    super::finish(histories, path, Vec::new(), cycles.unwrap_or_default())
}

/// A page's changes; the first line sets the number of cycles.
fn read_page(line: &str, cycles: &mut Option<u32>, changes: &mut Vec<(u32, u16)>) -> Result<u32, String> {
    if line.len() > Dataset::MAX_CYCLES as usize {
        return Err(format!("{} characters: the maximum is {} cycles", line.len(), Dataset::MAX_CYCLES));
    }
    changes.clear();
    for (cycle, c) in (1..).zip(line.chars()) {
        match c {
            '0' => {}
            '1' => changes.push((cycle, changes.len() as u16 + 1)),
            other => return Err(format!("character {cycle} is {other:?}: expected 0 or 1")),
        }
    }
    let found = line.len() as u32;
    match *cycles.get_or_insert(found) {
        _ if found == 0 => Err("an empty line; every page has one character per cycle".into()),
        first if first != found => {
            Err(format!("{found} characters, but the first line has {first}; all pages have the same cycles"))
        }
        _ => Ok(found),
    }
}

fn write(data: &Dataset, path: &Path) -> Result<Vec<String>, DatasetError> {
    let last = data.truth.cycles();
    if last == 0 {
        return Err(DatasetError::whole(path, "no cycle after cycle 0: nothing to write"));
    }
    if let Some(page) = data.pages.iter().position(|page| (page.first, page.last) != (0, last)) {
        let what = "does not exist in all cycles, which bit strings cannot express; convert the fixed set";
        return Err(DatasetError::whole(path, format!("page {page} {what}")));
    }
    let back = write_lines(data, path).map_err(DatasetError::io(path))?;
    let lost = [
        (true, "addresses and sites".to_owned()),
        (!data.dates.is_empty(), "dates".to_owned()),
        (
            back > 0,
            format!("that {back} changes return to an earlier content (they become changes to a new one)"),
        ),
        (!data.signals.is_empty(), "signals".to_owned()),
    ];
    Ok(lost.into_iter().filter(|(is_lost, _)| *is_lost).map(|(_, what)| what).collect())
}

/// Returns the number of changes that return to an earlier content.
fn write_lines(data: &Dataset, path: &Path) -> io::Result<u64> {
    let mut file = BufWriter::with_capacity(1 << 16, File::create_new(path)?);
    let (mut line, mut back) = (Vec::new(), 0);
    data.truth.try_each_page(|_, changes| {
        line.clear();
        line.resize(data.truth.cycles() as usize, b'0');
        line.push(b'\n');
        let mut known = 0;
        for &(cycle, version) in changes {
            line[cycle as usize - 1] = b'1';
            back += u64::from(version <= known);
            known = known.max(version);
        }
        file.write_all(&line)
    })?;
    file.flush()?;
    Ok(back)
}

#[cfg(test)]
mod tests {
    use crate::RecordedPage;
    use crate::{Truth, open};

    fn file(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bits.txt");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[test]
    fn the_first_character_is_what_cycle_1_saw() {
        let (_folder, path) = file("100\n000\r\n011");
        let data = open(&path, None).unwrap();
        assert_eq!(data.truth, Truth::from_words(3, vec![0b0010, 0, 0b1100]));
        assert_eq!(data.truth.changed_in(1), [0]);
        assert_eq!(
            data.pages[2],
            RecordedPage { url: "3".into(), site: 2, group: 2, last: 3, ..RecordedPage::default() }
        );
        assert_eq!((data.name.as_str(), data.sites.len(), data.dates.len()), ("bits.txt", 3, 0));
    }

    #[test]
    fn more_cycles_than_a_word_holds_are_read() {
        let (_folder, path) = file(&format!("{}1\n{}\n", "0".repeat(99), "0".repeat(100)));
        let data = open(&path, Some("gp4c")).unwrap();
        assert!(
            data.truth.cycles() == 100 && data.truth.differs(0, 99, 100) && !data.truth.differs(0, 0, 99)
        );
    }

    #[test]
    fn a_bad_line_is_named() {
        let long = "1".repeat(20_001);
        for (text, wants) in [
            ("010\n01\n", ":2: 2 characters, but the first line has 3"),
            ("010\n\n", ":2: an empty line"),
            ("010\n012\n", ":2: character 3 is '2'"),
            ("01 0\n", ":1: character 3 is ' '"),
            (&long, ":1: 20001 characters"),
            ("", ": no pages"),
        ] {
            let (_folder, path) = file(text);
            let message = open(&path, Some("gp4c")).unwrap_err().to_string();
            assert!(message.contains(&format!("bits.txt{wants}")), "{message}");
        }
    }
}

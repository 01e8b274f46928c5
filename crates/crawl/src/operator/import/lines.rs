//! Reads lines of a file or of standard input, plain or gzip, in bounded memory.

use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// Maximum bytes of a line; a longer one is reported as bad.
pub const MAX_LINE: usize = 64 << 10;

/// The lines of a text file, plain or in gzip. They end with a line feed, a carriage return, or both.
pub struct TextLines {
    reader: Box<dyn BufRead>,
    line: Vec<u8>,
    /// Did the last line end with a carriage return? A line feed behind it belongs to it.
    is_behind_return: bool,
    number: u64,
}

impl TextLines {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(path: &Path) -> io::Result<TextLines> {
        let reader: Box<dyn BufRead> = match path == Path::new("-") {
            true => Box::new(BufReader::with_capacity(1 << 16, io::stdin())),
            false => Box::new(BufReader::with_capacity(1 << 16, File::open(path)?)),
        };
        TextLines::over(reader)
    }

    fn over(mut reader: Box<dyn BufRead>) -> io::Result<TextLines> {
        let is_gzip = reader.fill_buf()?.starts_with(&[0x1f, 0x8b]);
        let reader = match is_gzip {
            true => Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(reader))),
            false => reader,
        };
        Ok(TextLines { reader, line: Vec::new(), is_behind_return: false, number: 0 })
    }

    /// The next line without its end, or what is wrong with it, with its number from 1. None after
    /// the last.
    ///
    /// # Errors
    /// When reading fails, or the compressed data is damaged.
    pub fn next_line(&mut self) -> io::Result<Option<(u64, Result<&str, &'static str>)>> {
        self.line.clear();
        let (mut is_begun, mut is_long) = (false, false);
        loop {
            let held = self.reader.fill_buf()?;
            if std::mem::take(&mut self.is_behind_return) && held.first() == Some(&b'\n') {
                self.reader.consume(1);
                continue;
            }
            if held.is_empty() {
                break;
            }
            is_begun = true;
            let end = held.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = &held[..end.unwrap_or(held.len())];
            is_long |= self.line.len() + part.len() > MAX_LINE;
            if !is_long {
                self.line.extend_from_slice(part);
            }
            self.is_behind_return = end.is_some_and(|at| held[at] == b'\r');
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                break;
            }
        }
        if !is_begun {
            return Ok(None);
        }
        self.number += 1;
        let line = match is_long {
            true => Err("line longer than 64 KiB"),
            false => std::str::from_utf8(&self.line).map_err(|_| "not UTF-8"),
        };
        Ok(Some((self.number, line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn read(bytes: &[u8]) -> Vec<(u64, Result<String, &'static str>)> {
        let mut lines = TextLines::over(Box::new(BufReader::new(io::Cursor::new(bytes.to_vec())))).unwrap();
        let mut all = Vec::new();
        while let Some((number, line)) = lines.next_line().unwrap() {
            all.push((number, line.map(String::from)));
        }
        all
    }

    #[test]
    fn bad_lines_are_told_by_number_and_those_behind_them_are_read() {
        let mut bytes = b"a\r\n\xff\n".to_vec();
        bytes.extend(vec![b'x'; MAX_LINE]);
        bytes.push(b'\n');
        bytes.extend(vec![b'x'; 3 * MAX_LINE]);
        bytes.extend(b"\n\nlast");
        let expected = |lines: Vec<(u64, Result<String, &'static str>)>| {
            assert_eq!(lines[0], (1, Ok("a".into())));
            assert_eq!(lines[1], (2, Err("not UTF-8")));
            assert_eq!(lines[2].1.as_ref().map(String::len), Ok(MAX_LINE));
            assert_eq!(lines[3], (4, Err("line longer than 64 KiB")));
            assert_eq!(lines[4..], [(5, Ok(String::new())), (6, Ok("last".into()))]);
        };
        expected(read(&bytes));
        let mut packed = Vec::new();
        for part in bytes.chunks(1000) {
            let mut member = GzEncoder::new(Vec::new(), Compression::fast());
            member.write_all(part).unwrap();
            packed.extend(member.finish().unwrap());
        }
        expected(read(&packed));
        assert_eq!(read(b""), []);
    }

    #[test]
    fn a_carriage_return_ends_a_line_alone_or_with_a_line_feed() {
        let lines = |held: usize, bytes: &[u8]| {
            let reader = BufReader::with_capacity(held, io::Cursor::new(bytes.to_vec()));
            let mut lines = TextLines::over(Box::new(reader)).unwrap();
            let mut all = Vec::new();
            while let Some((number, line)) = lines.next_line().unwrap() {
                all.push(format!("{number}{}", line.unwrap()));
            }
            all.join(" ")
        };
        for held in 1..9 {
            assert_eq!(lines(held, b"a\rbc\r"), "1a 2bc");
            assert_eq!(lines(held, b"a\r\nb\n\r\nc\r\r\nd"), "1a 2b 3 4c 5 6d");
        }
    }
}

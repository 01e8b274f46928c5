//! CDX, an index of web archives: one capture per line, with fields separated by spaces and named
//! by the first line.

use super::captures::{Capture, Captures};
use super::lines::{LineReader, shown};
use super::{DatasetError, DatasetFormat, FormatStart, calendar};
use crate::Dataset;
use std::path::Path;

pub const FORMAT: DatasetFormat = DatasetFormat {
    name: "cdx",
    help: "index of a web archive: one capture per line with 6 to 11 fields",
    timed: true,
    recognises: |start| matches!(start, FormatStart::Line(line) if is_cdx(line)),
    read,
    write: None,
};

/// Start of a header line, which names the fields.
const HEADER: &str = " CDX ";

/// The default without a header: the first fields of all usual layouts.
const USUAL: &str = "N b a m s k";

pub(super) fn is_cdx(line: &str) -> bool {
    let fields: Vec<&str> = line.split(' ').collect();
    line.starts_with(HEADER)
        || fields.len() >= USUAL.split(' ').count()
            && calendar::parse_time(fields[1]).is_some()
            && !fields[2].starts_with('{')
}

/// The positions of the fields that matter here.
pub(super) struct CdxLayout {
    /// Number of fields per line.
    count: usize,
    /// Positions of key, time, URL, media type, status, digest.
    places: [usize; 6],
}

fn read(path: &Path, seconds: u64) -> Result<Dataset, DatasetError> {
    let mut lines = LineReader::open(path)?;
    let mut captures = Captures::default();
    let mut layout = None;
    while let Some(line) = lines.next_line()? {
        let read = read_line(&mut layout, line, |capture| captures.push(capture));
        read.map_err(|what| lines.wrong(what))?;
    }
    captures.finish(path, seconds)
}

/// Passes the capture of a line to `take`; a header has none.
pub(super) fn read_line<T>(
    layout: &mut Option<CdxLayout>,
    line: &str,
    take: impl FnOnce(&Capture<'_>) -> Result<T, String>,
) -> Result<Option<T>, String> {
    let Some(letters) = line.strip_prefix(HEADER) else {
        let taken = match layout {
            Some(layout) => take(&layout.capture(line)?)?,
            // A bad line says nothing about the layout of the others.
            None => {
                let usual = CdxLayout::usual(line);
                let taken = take(&usual.capture(line)?)?;
                *layout = Some(usual);
                taken
            }
        };
        return Ok(Some(taken));
    };
    let named = CdxLayout::named(letters)?;
    // Concatenated files repeat their header.
    if layout.as_ref().is_some_and(|layout| layout.places != named.places) {
        return Err("the fields differ from here on; read the parts separately".to_owned());
    }
    layout.get_or_insert(named);
    Ok(None)
}

impl CdxLayout {
    fn named(letters: &str) -> Result<CdxLayout, String> {
        let letters: Vec<&str> = letters.trim_end().split(' ').collect();
        let mut places = [0; 6];
        for (place, wanted) in places.iter_mut().zip(USUAL.split(' ')) {
            let found = letters.iter().position(|letter| *letter == wanted);
            *place = found.ok_or_else(|| {
                format!("no field {wanted}; the fields N b a m s k (key, time, address, media type, status, digest) are required")
            })?;
        }
        Ok(CdxLayout { count: letters.len(), places })
    }

    fn usual(line: &str) -> CdxLayout {
        CdxLayout { count: line.split(' ').count().max(6), places: [0, 1, 2, 3, 4, 5] }
    }

    fn capture<'a>(&self, line: &'a str) -> Result<Capture<'a>, String> {
        let fields: Vec<&str> = line.split(' ').collect();
        if fields.len() != self.count {
            return Err(format!("{} fields, but {} are expected: {}", fields.len(), self.count, shown(line)));
        }
        let [key, time, url, mime, status, digest] = self.places.map(|place| fields[place]);
        Ok(Capture { key, time, url, mime, status, digest })
    }
}

#[cfg(test)]
mod tests;

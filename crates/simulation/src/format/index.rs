//! Reads the index of a web archive, CDX or CDXJ, line by line.

use super::captures::Capture;
use super::{cdx, cdxj};

/// Reads the lines of one index; the first valid line tells the format.
#[derive(Default)]
pub struct IndexLines {
    is_cdxj: Option<bool>,
    layout: Option<cdx::CdxLayout>,
}

impl IndexLines {
    /// Passes the capture of a line to `take`; headers and metadata lines have none.
    ///
    /// # Errors
    /// What is wrong with the line, or the error of `take`. Later lines can still be read.
    pub fn read<T>(
        &mut self,
        line: &str,
        take: impl FnOnce(&Capture<'_>) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        let is_cdxj = match self.is_cdxj {
            Some(known) => known,
            None if cdxj::is_cdxj(line) => true,
            None if cdx::is_cdx(line) => false,
            None => return Err("not an index line; expected CDX (6 to 11 fields) or CDXJ".into()),
        };
        let read = match is_cdxj {
            true => cdxj::read_line(line, take),
            false => cdx::read_line(&mut self.layout, line, take),
        };
        if read.is_ok() {
            self.is_cdxj = Some(is_cdxj);
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Vec<Result<Option<String>, String>> {
        let mut index = IndexLines::default();
        let told = |c: &Capture<'_>| Ok(format!("{} {} {}", c.seconds()?, c.url, c.shows_a_page()));
        lines.iter().map(|line| index.read(line, told)).collect()
    }

    #[test]
    fn either_format_is_read_and_a_bad_line_spoils_no_other() {
        let cdx = read(&[
            " CDX N b a m s k r M S V g",
            "example,a)/ 20200101000000 http://a.example/ text/html 200 AAAA - - 1 2 f.warc.gz",
            "example,a)/ 20200101000000 http://a.example/ text/html 200",
            "example,a)/ 20200230000000 http://a.example/ text/html 200 AAAA - - 1 2 f.warc.gz",
            "example,a)/ 20200102000000 http://a.example/ text/html 404 - - - 1 2 f.warc.gz",
        ]);
        assert_eq!(cdx[0], Ok(None));
        assert_eq!(cdx[1], Ok(Some("1577836800 http://a.example/ true".into())));
        assert!(cdx[2].as_ref().unwrap_err().contains("5 fields"));
        assert!(cdx[3].as_ref().unwrap_err().contains("20200230000000"));
        assert_eq!(cdx[4], Ok(Some("1577923200 http://a.example/ false".into())));
        let cdxj = read(&[
            "rubbish",
            "example,a)/ 20200101000000 {\"url\": \"http://a.example/\", \"status\": \"200\"}",
            "!meta {}",
            "example,a)/ 20200101000000 {",
        ]);
        assert!(cdxj[0].as_ref().unwrap_err().contains("CDXJ"));
        assert_eq!(cdxj[1], Ok(Some("1577836800 http://a.example/ true".into())));
        assert_eq!(cdxj[2], Ok(None));
        assert!(cdxj[3].is_err());
    }
}

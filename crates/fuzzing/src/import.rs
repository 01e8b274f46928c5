//! What is imported from others: a line that says `list` or `index`, and the lines of such a file.

use crate::{FuzzTarget, first_line};
use recrawl_extractor::dated_line;
use recrawl_simulation::format::{Capture, IndexLines};

/// Readers of lists and of archives' indexes as a target.
pub const TARGET: FuzzTarget = FuzzTarget { name: "import", check };

/// Asserts that an address is a part of its line and the same in quotation marks, and that a bad line of an index changes
/// nothing for the others.
pub fn check(data: &[u8]) {
    let (kind, file) = first_line(data);
    let lines: Vec<&str> = file.split(|b| *b == b'\n').filter_map(|l| std::str::from_utf8(l).ok()).collect();
    match kind {
        b"index" => is_as_good_without_bad_lines(&lines),
        _ => lines.into_iter().for_each(an_address_is_what_the_line_says),
    }
}

fn an_address_is_what_the_line_says(line: &str) {
    match dated_line(line) {
        Ok(Some(read)) => {
            assert!(line.contains(read.address), "{line:?}");
            assert_eq!(read.address, read.address.trim());
            if !read.address.contains('"') {
                let quoted = format!("\"{}\"", read.address);
                let again = dated_line(&quoted).expect("nothing stands for a date").expect("an address");
                assert_eq!((again.address, again.lastmod), (read.address, 0), "{line:?}");
            }
        }
        Ok(None) => {}
        Err(what) => assert!(what.contains("is not a date") && what.len() < 1000),
    }
}

fn is_as_good_without_bad_lines(lines: &[&str]) {
    let read = |lines: &[&str]| {
        let mut index = IndexLines::default();
        let told = |c: &Capture<'_>| Ok((c.seconds()?, c.url.to_owned(), c.shows_a_page()));
        lines.iter().map(|line| index.read(line, told)).collect::<Vec<_>>()
    };
    let found = read(lines);
    let is_good =
        |result: &Result<_, String>| result.as_ref().map_err(|what| assert!(!what.is_empty())).is_ok();
    let good: Vec<&str> =
        lines.iter().zip(&found).filter(|(_, found)| is_good(found)).map(|(l, _)| *l).collect();
    let found: Vec<_> = found.into_iter().filter_map(Result::ok).collect();
    let again: Vec<_> = read(&good).into_iter().map(|result| result.expect("it was good before")).collect();
    assert_eq!(found, again);
}

use super::*;
use crate::format::ReadOptions;
use crate::{RecordedPage, Truth, open};
use proptest::prelude::*;

const HEADER: &str = " CDX N b a m s k r M S V g\n";

fn read(text: &str, cycle_seconds: Option<u64>) -> Result<Dataset, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.cdx");
    std::fs::write(&path, text).unwrap();
    let read = ReadOptions { cycle_seconds, ..ReadOptions::default() }.open(&path);
    read.map_err(|e| {
        e.to_string().split_once("index.cdx").map(|(_, rest)| rest.to_owned()).unwrap_or(e.to_string())
    })
}

/// A line of 11 fields.
fn line(page: &str, time: &str, mime: &str, status: &str, digest: &str) -> String {
    format!(
        "com,example)/{page} {time} http://www.example.com/{page} {mime} {status} {digest} - - 900 1234 a.warc.gz\n"
    )
}

fn html(page: &str, time: &str, digest: &str) -> String {
    line(page, time, "text/html", "200", digest)
}

#[test]
fn captures_become_histories_with_gaps() {
    let text = [
        HEADER.to_owned(),
        html("a", "20260101120000", "AAAA"),
        html("a", "20260103000000", "BBBB"),
        // The last capture of a cycle counts.
        html("a", "20260105080000", "CCCC"),
        html("a", "20260105090000", "AAAA"),
        // A revisit repeats the earlier content.
        line("a", "20260106000000", "warc/revisit", "-", "AAAA"),
        html("b", "20260102235959", "AAAA"),
        line("b", "20260103235959", "text/html", "404", "DDDD"),
        line("b", "20260103235959", "text/html", "301", "EEEE"),
        html("b", "20260104000000", "AAAA"),
        line("c", "20260104000000", "text/html", "503", "DDDD"),
    ]
    .concat();
    let data = read(&text, None).unwrap();
    assert_eq!(data.sites, ["example.com"]);
    assert_eq!(data.dates.len(), 6);
    assert_eq!((data.dates[0].as_str(), data.dates[5].as_str()), ("2026-01-01", "2026-01-06"));
    let page =
        |url: &str, first, last| RecordedPage { url: url.into(), first, last, ..RecordedPage::default() };
    assert_eq!(data.pages, [page("http://www.example.com/a", 0, 5), page("http://www.example.com/b", 1, 3)]);
    let changes: [&[(u32, u16)]; 2] = [&[(2, 1), (4, 0)], &[]];
    assert_eq!(data.truth, Truth::from_changes(5, changes.into_iter()));
    // Without the header the usual order of fields applies.
    assert_eq!(read(text.strip_prefix(HEADER).unwrap(), None).unwrap(), data);
}

#[test]
fn the_length_of_a_cycle_can_be_chosen() {
    let text = [
        html("a", "20260101120000", "A"),
        html("a", "20260101130000", "B"),
        html("a", "20260103000000", "A"),
    ]
    .concat();
    let hours = read(&text, Some(3600)).unwrap();
    assert_eq!(
        (hours.truth.cycles(), hours.truth.changed_in(1), hours.dates[35].as_str()),
        (36, [0].as_slice(), "2026-01-02")
    );
    let weeks = read(&text, Some(7 * 86_400)).unwrap();
    assert_eq!((weeks.truth.cycles(), weeks.truth.changes()), (0, vec![0]));
    let seconds = read(&text, Some(1)).unwrap_err();
    assert!(seconds.contains("129600 cycles: the maximum is 20000"), "{seconds}");
    assert!(read(&text, Some(0)).unwrap_err().contains("does not support this cycle length"));
}

#[test]
fn fields_stand_where_the_first_line_says() {
    let text = " CDX b a k s m N\n20260101000000 http://x.example/ A 200 text/html example,x)/\n";
    let data = read(text, None).unwrap();
    assert_eq!((&*data.pages[0].url, data.sites[0].as_str()), ("http://x.example/", "x.example"));
    let short = "example,x)/ 20260101000000 http://x.example/ text/html 200 A 999\n";
    assert_eq!(read(short, None).unwrap().pages, data.pages);
}

#[test]
fn a_bad_line_is_named() {
    let good = html("a", "20260101120000", "A");
    for (text, wants) in [
        (format!("{HEADER}{good}x y z\n"), ":3: 3 fields, but 11 are expected"),
        (format!("{HEADER}{good}\n"), ":3: 1 fields"),
        (format!("{good}{}", html("a", "20261301120000", "A")), ":2: time \"20261301120000\""),
        (format!("{good}{}", html("a", "2026", "A")), ":2: time \"2026\""),
        (format!("{good}{}", html("a", "20260101120000", "-")), ":2: a capture without a digest"),
        (" CDX N b a m s\n".into(), ":1: no field k"),
        (format!("{HEADER}{good} CDX b N a m s k r M S V g\n"), ":3: the fields differ"),
        (HEADER.into(), ": no capture of a page"),
        (line("a", "20260101120000", "text/html", "404", "A"), ": no capture of a page"),
    ] {
        let message = read(&text, None).unwrap_err();
        assert!(message.starts_with(wants), "{text}: {message}");
    }
}

proptest! {
    #[test]
    fn neither_order_nor_repetition_of_lines_matters(
        captures in prop::collection::vec((0u8..4, 1u8..9, 0u8..24, 0u8..3), 1..30), shift in 0usize..30,
    ) {
        let mut lines: Vec<String> = captures.iter()
            .map(|(page, day, hour, digest)| html(&page.to_string(), &format!("202601{day:02}{hour:02}0000"), &digest.to_string()))
            .collect();
        let first = read(&lines.concat(), None).unwrap();
        let shift = shift % lines.len();
        lines.rotate_left(shift);
        lines.extend_from_within(..shift);
        prop_assert_eq!(read(&lines.concat(), None).unwrap(), first.clone());
        prop_assert!(first.pages.iter().all(|page| page.first <= page.last && page.last <= first.truth.cycles()));
    }
}

#[test]
fn compressed_members_one_after_another_are_one_file() {
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;
    let member = |text: String| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.cdx.gz");
    let members =
        [member(html("a", "20260101000000", "A")), member(html("a", "20260102000000", "B"))].concat();
    std::fs::write(&path, members).unwrap();
    assert_eq!(open(&path, None).unwrap().truth.changes(), [1]);
}

use super::*;
use crate::{Truth, open};
use flate2::{Compression, write::GzEncoder};
use std::io::Write;
use tempfile::TempDir;

const CYCLES_TSV: &str = "cycle\tdate\n0\t2026-01-30\n1\t2026-01-31\n2\t2026-02-03\n3\t2026-02-03\n";
const HEADER: &str = "page_id\turl\tpath\tgroup\ttitle\tfirst_cycle\tlast_cycle\tchanges\n";

fn packed(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn folder(cycles: &str, pages: &[u8]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(CYCLES), cycles).unwrap();
    std::fs::write(folder.path().join(PAGES), pages).unwrap();
    folder
}

/// The error message, from the file name on.
fn refused(cycles: &str, pages: &[u8]) -> String {
    let folder = folder(cycles, pages);
    let message = open(folder.path(), None).expect_err("not a data set").to_string();
    message.strip_prefix(&format!("{}/", folder.path().display())).unwrap_or(&message).to_owned()
}

#[test]
fn every_column_is_read() {
    let rows = "0\thttps://a.example/\tone\tA\tFirst\t0\t3\t1:1 2:0 3:2\n1\t\ttwo\t\t\t1\t2\t2:1\r\n\
                2\t\tthree\tA\t\t0\t3\t\n3\t\tfour\t\t\t0\t3\t";
    let folder = folder(CYCLES_TSV, &packed(format!("{HEADER}{rows}").as_bytes()));
    let data = open(folder.path(), Some("native")).unwrap();
    assert_eq!(data.name, folder.path().file_name().unwrap().to_str().unwrap());
    assert_eq!(data.dates, ["2026-01-30", "2026-01-31", "2026-02-03", "2026-02-03"]);
    let page = |url: &str, site, group, first, last| RecordedPage {
        url: url.into(),
        site,
        group,
        first,
        last,
        ..RecordedPage::default()
    };
    let pages = [
        page("https://a.example/", 0, 0, 0, 3),
        page("two", 1, 1, 1, 2),
        page("three", 2, 0, 0, 3),
        page("four", 3, 2, 0, 3),
    ];
    assert_eq!(data.pages, pages);
    assert_eq!(data.sites, ["a.example", "", "A", ""]);
    assert_eq!(data.groups, ["A", "", ""]);
    let changes: [&[(u32, u16)]; 4] = [&[(1, 1), (2, 0), (3, 2)], &[(2, 1)], &[], &[]];
    assert_eq!(data.truth, Truth::from_changes(3, changes.into_iter()));
    assert_eq!(data.fixed(), [0, 2, 3]);
}

#[test]
fn a_bad_row_is_named_by_file_and_line_and_says_what_is_expected() {
    for (row, wants) in [
        ("1\t\tp\t\t\t0\t3\t", "page_id \"1\": expected 0"),
        ("x\t\tp\t\t\t0\t3\t", "page_id \"x\": expected 0"),
        ("0\tp\t\t\t0\t3\t", "7 columns, but 8 are expected"),
        ("0\t\tp\t\t\t0\t3\t\t", "9 columns"),
        ("", "1 columns"),
        ("0\t\tp\t\t\t-1\t3\t", "first_cycle \"-1\""),
        ("0\t\tp\t\t\t+1\t3\t", "first_cycle \"+1\""),
        ("0\t\tp\t\t\t0\t\t", "last_cycle \"\""),
        ("0\t\tp\t\t\t0\t99999999999\t", "last_cycle \"99999999999\""),
        ("0\t\tp\t\t\t3\t2\t", "first_cycle 3 is after last_cycle 2"),
        ("0\t\tp\t\t\t0\t4\t", "last_cycle 4: cycles.tsv ends at cycle 3"),
        ("0\t\tp\t\t\t0\t3\t1", "change \"1\": expected cycle:version"),
        ("0\t\tp\t\t\t0\t3\t1:1  2:2", "change \"\""),
        ("0\t\tp\t\t\t0\t3\t1:-1", "change \"1:-1\""),
        ("0\t\tp\t\t\t0\t3\t:", "change \":\""),
        ("0\t\tp\t\t\t1\t3\t1:1", "change 1:1: must be after first_cycle 1"),
        ("0\t\tp\t\t\t0\t2\t3:1", "up to last_cycle 2"),
        ("0\t\tp\t\t\t0\t3\t2:1 2:2", "change 2:2 after one in cycle 2"),
        ("0\t\tp\t\t\t0\t3\t2:1 1:2", "change 1:2 after one in cycle 2"),
        ("0\t\tp\t\t\t0\t3\t1:0", "content 0 follows itself"),
        ("0\t\tp\t\t\t0\t3\t1:1 2:1", "content 1 follows itself"),
        ("0\t\tp\t\t\t0\t3\t1:2", "must have the next number, 1"),
        ("0\t\tp\t\t\t0\t3\t1:1 2:0 3:4000000000", "must have the next number, 2"),
    ] {
        let message = refused(CYCLES_TSV, &packed(format!("{HEADER}{row}\n").as_bytes()));
        assert!(message.starts_with("pages.tsv.gz:2: ") && message.contains(wants), "{row:?}: {message}");
    }
}

#[test]
fn bad_cycles_are_named_by_line() {
    for (rows, line, wants) in [
        ("1\t2026-01-01\n", 2, "cycle 1: expected 0"),
        ("0\t2026-01-01\n2\t2026-01-02\n", 3, "cycle 2: expected 1"),
        ("0\t2026-02-30\n", 2, "YYYY-MM-DD"),
        ("0\t2026-01-02\n1\t2026-01-01\n", 3, "2026-01-01 after 2026-01-02"),
        ("0\t2026-01-02\n1\t\n", 3, "give all cycles a date"),
        ("0\n", 2, "1 columns, but 2"),
    ] {
        let message = refused(&format!("cycle\tdate\n{rows}"), &packed(HEADER.as_bytes()));
        assert!(message.starts_with(&format!("cycles.tsv:{line}: ")) && message.contains(wants), "{message}");
    }
    let many: String = (0..=20_001).map(|cycle| format!("{cycle}\t\n")).collect();
    let message = refused(&format!("cycle\tdate\n{many}"), &packed(HEADER.as_bytes()));
    assert!(message.starts_with("cycles.tsv:20003: more than 20000 cycles"), "{message}");
    assert!(refused("cycle\tdate\n", &[]).starts_with("cycles.tsv: no cycles"));
    assert!(
        refused("cycle,date\n", &[]).starts_with("cycles.tsv:1: \"cycle,date\": the first line must name")
    );
}

#[test]
fn a_file_that_is_damaged_as_a_whole_says_how() {
    assert!(refused(CYCLES_TSV, &[]).starts_with("pages.tsv.gz: the file is empty"));
    assert!(refused(CYCLES_TSV, &packed(HEADER.as_bytes())).ends_with(": no pages"));
    assert!(refused(CYCLES_TSV, &packed(b"page_id\turl\n")).starts_with("pages.tsv.gz:1: "));
    let rows: String = (0..2000).map(|p| format!("{p}\thttps://{p}.example/\t{p}\t\t\t0\t3\t\n")).collect();
    let whole = packed(format!("{HEADER}{rows}").as_bytes());
    let cut = refused(CYCLES_TSV, &whole[..whole.len() / 2]);
    assert!(cut.starts_with("pages.tsv.gz: after line ") && cut.contains("cut off"), "{cut}");
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 40].fill(0xff);
    let message = refused(CYCLES_TSV, &damaged);
    assert!(message.starts_with("pages.tsv.gz:"), "{message}");
    let not_utf8 = refused(CYCLES_TSV, &packed(&[HEADER.as_bytes(), b"0\t\xff\n"].concat()));
    assert_eq!(not_utf8, "pages.tsv.gz:2: byte 3 of the line is not UTF-8");
    let long =
        refused(CYCLES_TSV, &packed(&[HEADER.as_bytes(), &vec![b'0'; crate::format::MAX_LINE + 1]].concat()));
    assert!(long.starts_with("pages.tsv.gz:2: the line is longer than 1 MiB"), "{long}");
}

#[test]
fn what_is_missing_or_unknown_says_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let message = open(folder.path(), None).unwrap_err().to_string();
    assert!(message.contains("pages.tsv.gz and cycles.tsv"), "{message}");
    let none = open(&folder.path().join("none"), None).unwrap_err();
    assert!(none.is_usage() && none.to_string().contains("none"), "{none}");
    let unknown = open(folder.path(), Some("parquet")).unwrap_err();
    assert!(unknown.is_usage() && unknown.to_string().contains("native"), "{unknown}");
    let file = folder.path().join("poem.txt");
    std::fs::write(&file, "Tyger Tyger, burning bright\n").unwrap();
    assert!(open(&file, None).unwrap_err().to_string().contains("--format"));
    std::fs::write(&file, "").unwrap();
    assert!(open(&file, None).unwrap_err().to_string().contains("the file is empty"));
}

#[test]
fn signals_are_one_more_column_and_come_back() {
    let header = HEADER.replace('\n', "\tsignals\n");
    let rows = "0\t\tone\tA\t\t0\t3\t1:1\t1 3\n1\t\ttwo\tA\t\t1\t3\t\t\n";
    let first = folder(CYCLES_TSV, &packed(format!("{header}{rows}").as_bytes()));
    let data = open(first.path(), None).unwrap();
    assert_eq!(data.signals.by_page(2), [vec![1, 3], vec![]]);
    let second = first.path().join("again");
    assert!(crate::format::create(&data, &second, "native").unwrap().is_empty());
    let again = open(&second, None).unwrap();
    assert_eq!((again.signals, again.truth), (data.signals.clone(), data.truth.clone()));
    // Without signals the files have no such column.
    let plain = crate::Dataset { signals: crate::Signals::default(), ..data.clone() };
    let third = first.path().join("plain");
    crate::format::create(&plain, &third, "native").unwrap();
    let mut text = String::new();
    let file = std::fs::File::open(third.join(PAGES)).unwrap();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(file), &mut text).unwrap();
    assert!(text.starts_with(HEADER) && !text.contains("signals"), "{text}");
    assert_ne!(plain.digest(), data.digest());
    for (signals, wants) in [
        ("0", "signal 0: must be after first_cycle 0"),
        ("4", "signal 4: must be after first_cycle 0 and up to last_cycle 3"),
        ("2 2", "signal 2: cycles must increase"),
        ("2  3", "signals \"\": expected a cycle number"),
        ("x", "signals \"x\""),
    ] {
        let row = format!("{header}0\t\tone\tA\t\t0\t3\t1:1\t{signals}\n");
        let message = refused(CYCLES_TSV, &packed(row.as_bytes()));
        assert!(message.contains(wants), "{wants}: {message}");
    }
    let message = refused(CYCLES_TSV, &packed(format!("{header}0\t\tone\tA\t\t0\t3\t").as_bytes()));
    assert!(message.contains("7 columns"), "{message}");
}

use super::*;
use recrawl_simulation::{ReplayDocument, open};
use std::fs;
use std::ops::Range;
use tempfile::TempDir;

const PAGES: &str = "page_id\turl\tpath\tgroup\ttitle\tfirst_cycle\tlast_cycle\tchanges
0\thttps://a.test/x\t/p0\ta\tOne page, one\t0\t4\t1:1 3:0
1\thttps://a.test/y\t/p1\ta\t\t1\t4\t2:1 3:2
2\t\t/p2\ta\tThree\t0\t3\t
";

const LINES: [&str; 5] = [
    r#"{"page_id": 0, "cycle": 0, "version": 0, "text": "one [two](/p1) one\u0021"}"#,
    r#"{"page_id": 0, "cycle": 1, "version": 1, "text": "[](y) ![](z) [](/p2) [](x)"}"#,
    r#"{"page_id": 1, "cycle": 1, "version": 0, "text": "first"}"#,
    r#"{"page_id": 1, "cycle": 3, "version": 2, "text": "third [](https://a.test/x)"}"#,
    "",
];

/// A folder with the pages, and contents as given.
fn folder(contents: Option<&[u8]>) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("cycles.tsv"), "cycle\tdate\n0\t\n1\t\n2\t\n3\t\n4\t\n").unwrap();
    fs::write(folder.path().join("pages.tsv.gz"), PAGES).unwrap();
    if let Some(bytes) = contents {
        fs::write(folder.path().join("content.jsonl.zst"), bytes).unwrap();
    }
    folder
}

fn packed(lines: &[&str]) -> Vec<u8> {
    zstd::encode_all(lines.join("\n").as_bytes(), 3).unwrap()
}

fn read(folder: &TempDir) -> Result<Dataset, String> {
    let mut data = open(folder.path(), None).unwrap();
    assert_eq!(data.contents, None, "unless asked for");
    add(&mut data, folder.path()).map_err(|e| e.to_string())?;
    Ok(data)
}

/// The words that a page shows, by cycle.
fn shown(data: &Dataset, page: usize, cycles: Range<u32>) -> Vec<String> {
    let contents = data.contents.as_ref().unwrap();
    let text = |document: &ReplayDocument| {
        let word = |&(word, count): &(u32, u32)| format!("{}{count}", contents.words()[word as usize]);
        document.words.iter().map(word).collect::<Vec<_>>().join(" ")
    };
    cycles.map(|cycle| contents.shown(page, cycle).map_or("none".into(), text)).collect()
}

#[test]
fn a_page_shows_the_version_in_force() {
    let folder = folder(Some(&packed(&LINES)));
    let data = read(&folder).unwrap();
    let contents = data.contents.as_deref().unwrap();
    assert_eq!(shown(&data, 0, 0..6), ["one2 two1", "", "", "one2 two1", "one2 two1", "one2 two1"]);
    assert_eq!(
        shown(&data, 1, 0..5),
        ["none", "first1", "none", "third1", "third1"],
        "version 1 has no text"
    );
    assert_eq!(shown(&data, 2, 0..1), ["none"]);
    let first = contents.shown(0, 0).unwrap();
    assert_eq!((&*first.links, first.links_out, first.bytes, first.word_count()), (&[1][..], 1, 19, 3));
    assert_eq!((first.count(first.words[0].0), first.count(u32::MAX)), (2, 0));
    let second = contents.shown(0, 1).unwrap();
    assert_eq!((&*second.links, second.links_out, second.images), (&[1, 2][..], 2, 1), "not itself");
    assert_eq!(contents.shown(1, 3).unwrap().links[..], [0]);
    let title: Vec<&str> =
        contents.title_words(0).iter().map(|&word| &*contents.words()[word as usize]).collect();
    assert_eq!((title, contents.title_words(1).len()), (vec!["one", "page"], 0));
    assert_eq!((contents.documents().len(), contents.pages()), (4, 3));
    assert!(contents.bytes() > 0 && data.bytes() > contents.bytes());
}

#[test]
fn a_part_shows_the_same() {
    let folder = folder(Some(&packed(&LINES)));
    let whole = read(&folder).unwrap();
    for start in 0..4 {
        for pages in [&[1, 0][..], &[2, 1, 0], &[0]] {
            let part = whole.part(pages, start..5);
            for (row, &page) in pages.iter().enumerate() {
                assert_eq!(
                    shown(&part, row, 0..5 - start),
                    shown(&whole, page as usize, start..5),
                    "{pages:?} {start}"
                );
            }
        }
    }
    let part = whole.part(&[2, 1, 0], 1..5);
    let contents = part.contents.as_deref().unwrap();
    assert_eq!(contents.shown(2, 0).unwrap().links[..], [0, 1]);
    assert_eq!(contents.shown(1, 2).unwrap().links[..], [2]);
    assert_eq!(contents.title_words(2), whole.contents.as_deref().unwrap().title_words(0));
    let alone = whole.part(&[0], 1..2);
    let contents = alone.contents.as_deref().unwrap();
    assert_eq!((contents.documents().len(), contents.shown(0, 0).unwrap().links.len()), (1, 0));
    assert_eq!(contents.shown(0, 0).unwrap().links_out, 2, "as the text has them");
}

#[test]
fn invalid_contents_are_refused() {
    let whole = packed(&LINES);
    let mut torn = whole.clone();
    torn[20] ^= 0xff;
    for (bytes, says) in [(&whole[..whole.len() - 9], "cut off"), (&torn[..], "fetch the file again")] {
        let error = read(&folder(Some(bytes))).unwrap_err();
        assert!(error.contains("content.jsonl.zst") && error.contains(says), "{error}");
    }
    let error = read(&folder(None)).unwrap_err();
    assert!(error.contains("no contents") && error.contains("content.jsonl.zst"), "{error}");
    for (line, says) in [
        ("{", "not an object with page_id"),
        (r#"{"page_id": 0, "cycle": 1, "version": 1}"#, "missing field `text`"),
        (r#"{"page_id": 3, "cycle": 0, "version": 0, "text": ""}"#, "pages 0 to 2"),
        (r#"{"page_id": 0, "cycle": 0, "version": 0, "text": ""}"#, "order by page and version"),
        (r#"{"page_id": 0, "cycle": 4, "version": 2, "text": ""}"#, "last version is 1"),
        (r#"{"page_id": 0, "cycle": 2, "version": 1, "text": ""}"#, "first shown in cycle 1"),
        (r#"{"page_id": 1, "cycle": 0, "version": 0, "text": ""}"#, "first shown in cycle 1"),
        ("\u{1}", "not an object"),
    ] {
        let error = read(&folder(Some(&packed(&[LINES[0], line])))).unwrap_err();
        assert!(error.contains("content.jsonl.zst:2: ") && error.contains(says), "{line}: {error}");
    }
    let long = zstd::encode_all(&vec![b' '; MAX_TEXT_LINE + 1][..], 3).unwrap();
    assert!(read(&folder(Some(&long))).unwrap_err().contains("longer than 32 MiB"));
    // A frame with a window of 256 MiB and one raw block of two bytes, the last (RFC 8878 §3.1.1).
    let wide = [0x28, 0xb5, 0x2f, 0xfd, 0, 18 << 3, 17, 0, 0, b'{', b'}'];
    assert!(read(&folder(Some(&wide))).unwrap_err().contains("too much memory"));
    let folder = folder(Some(&whole));
    let mut part = open(folder.path(), None).unwrap().part(&[1, 0], 0..5);
    assert!(add(&mut part, folder.path()).unwrap_err().to_string().contains("before a part is taken"));
    let mut part = open(folder.path(), None).unwrap().part(&[0, 1, 2, 2], 0..5);
    assert!(add(&mut part, folder.path()).unwrap_err().to_string().contains("fewer pages"));
}

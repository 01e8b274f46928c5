//! Reading, joining and cutting small handwritten recordings.

use super::*;
use std::fs;
use std::io::Write;
use std::path::Path;

/// Writes a recording: dates, and for each page `path, first, last, changes`. The text of version v
/// of page p is "PATH vV" and some padding that versions share.
fn write(folder: &Path, dates: &[&str], pages: &[(&str, u32, u32, &str)]) -> RecordingSource {
    fs::create_dir_all(folder).unwrap();
    let mut cycles = String::from("cycle\tdate\n");
    for (cycle, date) in dates.iter().enumerate() {
        cycles.push_str(&format!("{cycle}\t{date}\n"));
    }
    fs::write(folder.join("cycles.tsv"), cycles).unwrap();
    let mut table = String::from("page_id\turl\tpath\tgroup\ttitle\tfirst_cycle\tlast_cycle\tchanges\n");
    let mut content = String::new();
    for (id, (path, first, last, changes)) in pages.iter().enumerate() {
        table.push_str(&format!("{id}\thttp://x/{path}\t{path}\tg\t\t{first}\t{last}\t{changes}\n"));
        let versions = changes.split_whitespace().map(|c| c.split_once(':').unwrap().1.parse().unwrap());
        for version in 0..=versions.max().unwrap_or(0) {
            let line = serde_json::json!({
                "page_id": id, "cycle": 0, "version": version, "text": text(path, version),
            });
            content.push_str(&format!("{line}\n"));
        }
    }
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(table.as_bytes()).unwrap();
    fs::write(folder.join("pages.tsv.gz"), gz.finish().unwrap()).unwrap();
    let packed = zstd::encode_all(content.as_bytes(), 3).unwrap();
    fs::write(folder.join("content.jsonl.zst"), packed).unwrap();
    RecordingSource::Folder(folder.to_path_buf())
}

fn text(path: &str, version: u32) -> String {
    format!("{path} v{version} {}", "filling ".repeat(200 + version as usize))
}

const DATES: [&str; 5] = ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-05", "2026-01-06"];

fn show(recording: &Recording, page: usize, cycle: u32) -> Option<String> {
    let version = recording.pages[page].version(cycle)?;
    Some(recording.texts.as_ref().unwrap().text(page as u32, version))
}

#[test]
fn one_recording_is_read_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let changes: Vec<String> = (1..40).map(|cycle| format!("{cycle}:{cycle}")).collect();
    let dates: Vec<String> =
        (0..40).map(|day| format!("2026-{:02}-{:02}", 1 + day / 28, 1 + day % 28)).collect();
    let dates: Vec<&str> = dates.iter().map(String::as_str).collect();
    let source = write(
        folder.path(),
        &dates,
        &[("a", 0, 39, "2:1 5:0 9:2"), ("b", 3, 8, ""), ("c", 0, 39, &changes.join(" "))],
    );
    let recording = Recording::load(&[source]).unwrap();
    assert_eq!(recording.dates, dates);
    let versions: Vec<Option<u32>> = (0..11).map(|cycle| recording.pages[0].version(cycle)).collect();
    assert_eq!(versions, [0, 0, 1, 1, 1, 0, 0, 0, 0, 2, 2].map(Some));
    assert_eq!(show(&recording, 1, 2), None);
    assert_eq!(show(&recording, 1, 9), None);
    // More versions than between two key texts.
    for cycle in 0..40 {
        assert_eq!(show(&recording, 2, cycle), Some(text("c", cycle)));
    }
    assert!(recording.texts.unwrap().memory_bytes() < 6_000);
}

#[test]
fn joined_recordings_show_what_each_showed_at_the_shared_dates() {
    let folder = tempfile::tempdir().unwrap();
    let one = write(
        &folder.path().join("one"),
        &DATES,
        &[("a", 0, 4, "1:1 2:2 3:0"), ("b", 1, 1, ""), ("c", 2, 4, "4:1")],
    );
    let other = write(
        &folder.path().join("other"),
        &["2025-12-31", "2026-01-01", "2026-01-03", "2026-01-06"],
        &[("d", 0, 3, "1:1 2:2 3:1")],
    );
    let recording = Recording::load(&[one.clone(), other]).unwrap();
    assert_eq!(recording.dates, ["2026-01-01", "2026-01-03", "2026-01-06"]);
    // Page b existed only on a day that is not shared.
    assert_eq!(recording.pages.iter().map(|page| page.path.as_str()).collect::<Vec<_>>(), ["a", "c", "d"]);
    assert_eq!(recording.pages[0].changes, [(1, 1), (2, 0)]);
    assert_eq!((recording.pages[1].first, recording.pages[1].changes.clone()), (1, vec![(2, 1)]));
    assert_eq!(recording.pages[2].changes, [(1, 1), (2, 0)]);
    let shown = |page| (0..3).map(|cycle| show(&recording, page, cycle)).collect::<Vec<_>>();
    assert_eq!(shown(0), [Some(text("a", 0)), Some(text("a", 2)), Some(text("a", 0))]);
    assert_eq!(shown(1), [None, Some(text("c", 0)), Some(text("c", 1))]);
    assert_eq!(shown(2), [Some(text("d", 1)), Some(text("d", 2)), Some(text("d", 1))]);

    assert!(
        matches!(Recording::load(&[one.clone(), one]), Err(RecordingError::SamePath(path)) if path == "a")
    );
    assert!(matches!(Recording::load(&[]), Err(RecordingError::NoPage)));
}

#[test]
fn a_cut_is_a_recording_that_shows_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let config = CutConfig {
        sources: vec![RecordingSource::Bundled],
        pages: 80,
        seed: 5,
        max_text_bytes: 20_000,
        out: folder.path().join("cut"),
    };
    let report = cut(&config).unwrap();
    let whole = Recording::load(&[RecordingSource::Bundled]).unwrap();
    let small = Recording::load(&[RecordingSource::Folder(config.out.clone())]).unwrap();
    assert_eq!((report.pages, small.pages.len(), report.cycles), (80, 80, 77));
    assert_eq!(report.changes, small.pages.iter().map(|page| page.changes.len() as u64).sum::<u64>());
    assert_eq!(small.dates, whole.dates);
    let mut quiet = 0;
    for (id, page) in small.pages.iter().enumerate() {
        let old = whole.pages.iter().position(|old| old.path == page.path).unwrap();
        assert_eq!(whole.pages[old], *page);
        quiet += u32::from(page.changes.is_empty());
        for cycle in (0..77).step_by(19) {
            assert_eq!(show(&small, id, cycle), show(&whole, old, cycle));
        }
        let texts = small.texts.as_ref().unwrap();
        assert!((0..page.versions()).all(|version| texts.text(id as u32, version).len() <= 20_000));
    }
    assert!((15..60).contains(&quiet), "{quiet} quiet pages of 80");
    let before = fs::read(config.out.join("content.jsonl.zst")).unwrap();
    cut(&config).unwrap();
    assert_eq!(fs::read(config.out.join("content.jsonl.zst")).unwrap(), before, "same seed, same cut");
}

#[test]
fn a_broken_recording_is_named_by_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |pages: &[(&str, u32, u32, &str)]| {
        let source = write(folder.path(), &DATES, pages);
        Recording::load(&[source]).err().expect("it is broken").to_string()
    };
    for (pages, why) in [
        (&[("a", 0, 4, ""), ("b", 3, 2, "")][..], "pages.tsv.gz line 3: present from cycle 3 to 2"),
        (&[("a", 0, 5, "")][..], "pages.tsv.gz line 2: present from cycle 0 to 5, with 5 cycles"),
        (&[("a", 0, 4, "1:2")][..], "change 1:2 does not follow 0:0"),
        (&[("a", 0, 4, "2:1 1:2")][..], "change 1:2 does not follow 2:1"),
        (&[("a", 0, 4, ""), ("a", 0, 4, "")][..], "both recordings have a page \"a\""),
    ] {
        let found = refused(pages);
        assert!(found.contains(why), "{found}");
    }
    let source = write(folder.path(), &["2026-01-01", "2026-13-01"], &[]);
    let found = Recording::load(&[source]).err().unwrap().to_string();
    assert!(found.contains("cycles.tsv line 3: \"2026-13-01\" is not a date"), "{found}");

    let source = write(folder.path(), &DATES, &[("a", 0, 4, "1:1")]);
    let first = serde_json::json!({"page_id": 0, "cycle": 0, "version": 0, "text": "x"});
    for (content, why) in [
        (format!("{first}\n"), "no text for version 1 of \"a\""),
        (format!("{first}\n{first}\n"), "line 2: contents are not ordered"),
        (
            "{\"page_id\": 7, \"version\": 0, \"text\": \"\"}\n".into(),
            "line 1: page_id 7 is not in pages.tsv.gz",
        ),
        ("nonsense\n".into(), "line 1: expected"),
    ] {
        let packed = zstd::encode_all(content.as_bytes(), 3).unwrap();
        fs::write(folder.path().join("content.jsonl.zst"), packed).unwrap();
        let found = Recording::load(std::slice::from_ref(&source)).err().unwrap().to_string();
        assert!(found.contains("content.jsonl.zst") && found.contains(why), "{found}");
    }
}

#[test]
fn days_are_counted_from_1970() {
    for (date, days) in
        [("1970-01-01", 0), ("2000-02-29", 11_016), ("2001-01-01", 11_323), ("2026-08-21", 20_686)]
    {
        assert_eq!(seconds_of_date(date), Some(days * 86_400), "{date}");
    }
    for wrong in ["", "2026", "2026-1-01", "2026-00-01", "2026-01-32", "1969-12-31", "26-01-01"] {
        assert_eq!(seconds_of_date(wrong), None, "{wrong}");
    }
}

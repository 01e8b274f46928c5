//! An index as a whole: pages in, answers out.

use super::*;
use crate::folder::IndexFolder;
use crate::merging::MergeRule;
use crate::schema::{FIELDS, fields};
use crate::writer::open;
use std::cell::Cell;
use std::fs;
use std::path::Path;
use tantivy::Index;
use tantivy::index::{SegmentId, SegmentMeta};
use tantivy::merge_policy::MergePolicy;
use tempfile::TempDir;

fn page<'p>(url: &'p str, title: &'p str, text: &'p str) -> IndexedPage<'p> {
    let host = url.split('/').nth(2).unwrap();
    IndexedPage {
        id: url,
        url,
        host,
        title: Some(title),
        headings: "",
        language: Some("en"),
        text,
        fetched_at: 100,
    }
}

fn index(pages: &[IndexedPage<'_>]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = IndexWriter::create(folder.path()).unwrap();
    pages.iter().for_each(|page| writer.put(page).unwrap());
    writer.commit().unwrap();
    folder
}

fn urls(folder: &Path, query: TextQuery) -> Vec<String> {
    search(folder, &query, 10).unwrap().hits.into_iter().map(|hit| hit.url).collect()
}

fn found(folder: &TempDir, query: &str) -> Vec<String> {
    urls(folder.path(), TextQuery::parse(query).unwrap())
}

#[test]
fn pages_with_all_words_are_found_and_those_with_it_in_the_title_first() {
    let folder = index(&[
        page("https://a.example/1", "Other", "A gardener plants a tree. The tree grows slowly; what a tree."),
        page("https://a.example/2", "Planting trees", "How it is done."),
        page("https://a.example/3", "Houses", "Nothing of that kind."),
    ]);
    assert_eq!(found(&folder, "tree"), ["https://a.example/2", "https://a.example/1"]);
    assert_eq!(found(&folder, "planted TREE"), ["https://a.example/2", "https://a.example/1"]);
    assert_eq!(found(&folder, "trees -gardener"), ["https://a.example/2"]);
    assert_eq!(found(&folder, "\"tree grows\""), ["https://a.example/1"]);
    assert_eq!(found(&folder, "\"grows tree\""), [""; 0]);
    // Title and text are not neighbours.
    assert_eq!(found(&folder, "\"houses nothing\""), [""; 0]);
    let some = search(folder.path(), &TextQuery::parse("gardener houses").unwrap(), 1).unwrap();
    assert_eq!((some.total, some.hits.len(), some.is_partial), (2, 1, true));
    let all = search(folder.path(), &TextQuery::parse("nothing houses").unwrap(), 10).unwrap();
    assert_eq!((all.total, all.is_partial), (1, false));
    let Hit { title, fetched_at, language, .. } = all.hits.into_iter().next().unwrap();
    assert_eq!((title.as_deref(), fetched_at, language.name()), (Some("Houses"), 100, "English"));
}

#[test]
fn a_word_is_stemmed_in_the_language_of_its_page() {
    let with = |url, language, text| IndexedPage { language, ..page(url, "", text) };
    let folder = index(&[
        with("https://a.example/en", Some("en-GB"), "running horses"),
        with("https://a.example/de", Some("de"), "die Häuser der Stadt"),
        with("https://a.example/ja", Some("ja"), "全文検索エンジン"),
        with(
            "https://a.example/fr",
            None,
            "Les journaux que nous lisons parlent souvent des élections nationales.",
        ),
    ]);
    assert_eq!(found(&folder, "horse runs"), ["https://a.example/en"]);
    assert_eq!(found(&folder, "Haus"), ["https://a.example/de"]);
    assert_eq!(found(&folder, "\"haus der\""), ["https://a.example/de"]);
    assert_eq!(found(&folder, "検索"), ["https://a.example/ja"]);
    assert_eq!(found(&folder, "journal election"), ["https://a.example/fr"]);
}

#[test]
fn accents_particles_and_endings_do_not_count() {
    let with = |url, language, text| IndexedPage { language, ..page(url, "", text) };
    let folder = index(&[
        with("https://a.example/es", Some("es"), "Toda la información sobre educación y política"),
        with("https://a.example/pl", Some("pl"), "Łódź i zażółć"),
        with("https://a.example/ko", Some("ko"), "대한민국의 수도는 서울입니다, iPhone은 2023년에"),
        with("https://a.example/ja", Some("ja"), "あの黒い猫が鳴く。犬"),
        with("https://a.example/tr", Some("tr"), "Yarın Ankara'da 👟"),
    ]);
    for (query, page) in [
        ("informacion", "es"),
        ("información", "es"),
        ("informaciones", "es"),
        ("\"informacion sobre educacion\"", "es"),
        ("\"información sobre educación\"", "es"),
        ("lodz", "pl"),
        ("ŁÓDŹ zazolc", "pl"),
        ("서울", "ko"),
        ("대한민국", "ko"),
        ("수", "ko"),
        ("iphone", "ko"),
        ("2023년", "ko"),
        ("猫", "ja"),
        ("犬", "ja"),
        ("ankara", "tr"),
        ("\"yarın Ankara\"", "tr"),
        ("👟", "tr"),
    ] {
        assert_eq!(found(&folder, query), [format!("https://a.example/{page}")], "{query}");
    }
    for query in ["부산", "狗", "👠", "\"educacion sobre informacion\"", "\"ankara yarın\""] {
        assert_eq!(found(&folder, query), [""; 0], "{query}");
    }
}

#[test]
fn a_host_a_domain_and_a_time_narrow_an_answer() {
    let old = IndexedPage { fetched_at: 50, ..page("https://docs.example.com/old", "Word", "") };
    let folder = index(&[
        old,
        page("https://docs.example.com/", "Word", ""),
        page("https://example.com/", "Word", ""),
    ]);
    let of = |host: &str, since| {
        let mut found =
            urls(folder.path(), TextQuery::parse("word").unwrap().of_host(Some(host)).since(since));
        found.sort();
        found
    };
    assert_eq!(of("DOCS.example.com", 0), ["https://docs.example.com/", "https://docs.example.com/old"]);
    assert_eq!(of("docs.example.com", 51), ["https://docs.example.com/"]);
    assert_eq!(of("*.example.com", 100), ["https://docs.example.com/", "https://example.com/"]);
    assert_eq!(of("*.docs.example.com", 100), ["https://docs.example.com/"]);
    assert_eq!((of("ample.com", 0), of("*.com", 101)), (vec![], vec![]));
}

/// All bytes of the folder, and the terms of all dictionaries, in which a term's letters may lie apart.
fn bytes_and_terms(folder: &Path) -> (Vec<u8>, Vec<Vec<u8>>) {
    let files = fs::read_dir(folder).unwrap().map(|file| fs::read(file.unwrap().path()).unwrap());
    let bytes = files.collect::<Vec<_>>().concat();
    let mut terms = Vec::new();
    let reader = open(IndexFolder::to_read(folder).unwrap()).unwrap().reader().unwrap();
    for segment in reader.searcher().segment_readers() {
        for field in [FIELDS.id, FIELDS.host, FIELDS.title, FIELDS.headings, FIELDS.text] {
            let index = segment.inverted_index(field).unwrap();
            let mut stream = index.terms().stream().unwrap();
            while let Some((term, _)) = stream.next() {
                terms.push(term.to_vec());
            }
        }
    }
    (bytes, terms)
}

#[test]
fn no_byte_of_a_removed_page_stays() {
    let secret = IndexedPage {
        headings: "vermilion",
        ..page("https://secret.example/zanzibar", "Xylophon quartz", "unspeakable things")
    };
    let pages: Vec<(String, String)> =
        (0..50).map(|n| (format!("https://a.example/{n}"), format!("ordinary word{n}"))).collect();
    let mut all: Vec<IndexedPage<'_>> = pages.iter().map(|(url, text)| page(url, "A page", text)).collect();
    all.insert(20, secret);
    let folder = index(&all);
    let has = |needle: &str| {
        let (bytes, terms) = bytes_and_terms(folder.path());
        let is_in = |bytes: &[u8]| bytes.windows(needle.len()).any(|window| window == needle.as_bytes());
        (is_in(&bytes), terms.iter().any(|term| is_in(term)))
    };
    // What is looked for would be found.
    assert_eq!((has("zanzibar"), has("Xylophon quartz").0), ((true, true), true));
    assert!(has("vermilion").1);
    assert_eq!((has("xylophon").1, has("unspeak").1, has("secret.example").1), (true, true, true));
    let gone = |url: &str| url.starts_with("https://secret.example/").then(|| url.to_owned());
    let (writer, removed) = IndexWriter::open(folder.path()).unwrap().remove(&gone).unwrap();
    assert_eq!(removed, 1);
    writer.settle(&|| false);
    for needle in ["zanzibar", "vermilion", "Xylophon", "xylophon", "quartz", "unspeak", "secret.example"] {
        assert_eq!(has(needle), (false, false), "{needle}");
    }
    assert_eq!(search(folder.path(), &TextQuery::parse("ordinary").unwrap(), 100).unwrap().total, 50);
    check(folder.path(), &|| false).unwrap();
    let (_, removed) = IndexWriter::open(folder.path()).unwrap().remove(&gone).unwrap();
    assert_eq!(removed, 0);
}

#[test]
fn no_byte_stays_of_a_page_that_left_the_index_before_it_was_removed() {
    let pages: Vec<String> = (0..50).map(|n| format!("https://a.example/{n}")).collect();
    let mut pages: Vec<IndexedPage<'_>> = pages.iter().map(|url| page(url, "A page", "ordinary")).collect();
    pages.push(page("https://b.example/", "B", "unspeakable"));
    let folder = index(&pages);
    let mut writer = IndexWriter::open(folder.path()).unwrap();
    writer.delete("https://b.example/");
    writer.commit().unwrap();
    writer.settle(&|| false);
    let has =
        || bytes_and_terms(folder.path()).1.iter().any(|term| term.windows(7).any(|part| part == b"unspeak"));
    assert!(has(), "else this shows nothing");
    let gone = |url: &str| url.starts_with("https://b.example/").then(|| url.to_owned());
    let (writer, removed) = IndexWriter::open(folder.path()).unwrap().remove(&gone).unwrap();
    writer.settle(&|| false);
    assert_eq!((removed, has()), (0, false));
}

#[test]
fn a_page_has_one_document_and_no_commit_shows_nothing() {
    let folder = index(&[page("https://a.example/", "First", "words")]);
    let mut writer = IndexWriter::open(folder.path()).unwrap();
    writer.put(&page("https://a.example/", "Second", "words")).unwrap();
    writer.put(&page("https://a.example/", "Third", "words")).unwrap();
    assert_eq!(found(&folder, "first"), ["https://a.example/"]);
    assert_eq!(IndexWriter::open(folder.path()).err(), Some(SearchError::Busy));
    writer.commit().unwrap();
    let all = search(folder.path(), &TextQuery::parse("words").unwrap(), 10).unwrap();
    assert_eq!((all.total, all.hits[0].title.as_deref()), (1, Some("Third")));
    // Dropped without a commit.
    writer.delete("https://a.example/");
    drop(writer);
    assert_eq!(found(&folder, "third"), ["https://a.example/"]);
}

/// Each file of an index, cut and with other bytes in its middle.
#[test]
fn damage_is_told_and_nothing_panics() {
    let pages: Vec<String> = (0..200).map(|n| format!("https://a.example/{n}")).collect();
    let pages: Vec<IndexedPage<'_>> =
        pages.iter().map(|url| page(url, "A page", "some words of it")).collect();
    let folder = index(&pages);
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
    let segment_files =
        names.iter().filter(|path| path.extension().is_some_and(|end| end != "json" && end != "lock"));
    let mut tried = 0;
    for path in segment_files {
        let bytes = fs::read(path).unwrap();
        let mut damaged = bytes.clone();
        damaged[bytes.len() / 2..].iter_mut().take(8).for_each(|byte| *byte ^= 0x55);
        for damaged in [&damaged[..], &bytes[..bytes.len() / 2], b""] {
            fs::write(path, damaged).unwrap();
            assert!(matches!(check(folder.path(), &|| false), Err(SearchError::Damaged(_))), "{path:?}");
            // Some answer, or an error.
            let _ = search(folder.path(), &TextQuery::parse("words").unwrap(), 10);
            tried += 1;
        }
        fs::remove_file(path).unwrap();
        assert!(matches!(check(folder.path(), &|| false), Err(SearchError::Damaged(_))), "{path:?}");
        fs::write(path, bytes).unwrap();
        check(folder.path(), &|| false).unwrap();
    }
    assert!(tried > 3);
    fs::remove_file(folder.path().join(".managed.json")).unwrap();
    assert!(
        matches!(check(folder.path(), &|| false), Err(SearchError::Damaged(_))),
        "nothing would be checked"
    );
    fs::write(folder.path().join("meta.json"), "{").unwrap();
    assert!(matches!(check(folder.path(), &|| false), Err(SearchError::Damaged(_))));
    fs::remove_file(folder.path().join("meta.json")).unwrap();
    assert_eq!(check(folder.path(), &|| false), Err(SearchError::Absent));
    IndexWriter::create(folder.path()).unwrap();
    check(folder.path(), &|| false).unwrap();
    assert_eq!(check(&folder.path().join("none"), &|| false), Err(SearchError::Absent));
}

#[test]
fn an_index_with_the_words_of_another_tokenizer_is_another_version() {
    let folder = tempfile::tempdir().unwrap();
    let written = IndexFolder::to_write(folder.path()).unwrap();
    Index::open_or_create(written, fields("recrawl_stems").schema).unwrap();
    let version = SearchError::Damaged("it is of another version of recrawl".into());
    assert_eq!(check(folder.path(), &|| false), Err(version));
}

#[test]
fn the_end_breaks_off_a_check_and_a_purge() {
    let folder = index(&[page("https://a.example/", "A page", "words")]);
    let asked = Cell::new(0);
    let ends_at = |most| asked.replace(asked.get() + 1) >= most;
    assert_eq!(check(folder.path(), &|| ends_at(2)), Err(SearchError::Ended));
    assert_eq!(asked.get(), 3);
    let mut writer = IndexWriter::open(folder.path()).unwrap();
    writer.delete("https://a.example/");
    assert_eq!(writer.purge(&|| true).err(), Some(SearchError::Ended));
}

/// As in a data directory that nobody may write.
#[test]
fn a_reader_writes_nothing() {
    let folder = index(&[page("https://a.example/", "A page", "words")]);
    let lock = folder.path().join(".tantivy-meta.lock");
    fs::remove_file(&lock).unwrap();
    assert_eq!(found(&folder, "words"), ["https://a.example/"]);
    assert!(!lock.exists());
}

/// How a bad sector looks from here: a file that can be opened and not be read.
#[test]
fn a_file_that_cannot_be_read_is_an_error() {
    let folder = index(&[page("https://a.example/", "A page", "words")]);
    let segment_file = fs::read_dir(folder.path())
        .unwrap()
        .map(|file| file.unwrap().path())
        .find(|path| path.extension().is_some_and(|end| end == "idx"))
        .unwrap();
    fs::remove_file(&segment_file).unwrap();
    fs::create_dir(&segment_file).unwrap();
    assert!(check(folder.path(), &|| false).is_err());
    assert!(search(folder.path(), &TextQuery::parse("words").unwrap(), 10).is_err());
    let error = std::io::Error::from_raw_os_error(5);
    assert!(matches!(SearchError::from(error), SearchError::Damaged(_)));
}

#[test]
fn a_large_segment_is_written_anew_when_a_fifth_of_it_is_deleted() {
    let index = Index::create_in_ram(FIELDS.schema.clone());
    let segment = |pages: u32, deleted: u32| -> SegmentMeta {
        let segment = index.new_segment_meta(SegmentId::generate_random(), pages);
        if deleted > 0 { segment.with_delete_meta(deleted, 1) } else { segment }
    };
    let chosen = |segments: &[SegmentMeta]| -> Vec<usize> {
        let merges = MergeRule::new(1000).compute_merge_candidates(segments);
        let place = |id: &SegmentId| segments.iter().position(|segment| segment.id() == *id).unwrap();
        merges.iter().flat_map(|merge| merge.0.iter().map(place)).collect()
    };
    assert_eq!(chosen(&[segment(5000, 1000), segment(2000, 0), segment(900, 100)]), [0; 0]);
    // The one with most, alone.
    assert_eq!(chosen(&[segment(5000, 1001), segment(3000, 900), segment(2000, 0)]), [1]);
    assert_eq!(chosen(&[segment(5000, 1001), segment(900, 300)]), [1, 0]);
}

#[test]
fn a_word_in_a_heading_counts_more_than_one_in_the_text_and_less_than_one_in_the_title() {
    let with = |url, headings| IndexedPage { headings, ..page(url, "A page", "gates and walls") };
    let folder = index(&[
        with("https://a.example/text", "Something else"),
        with("https://a.example/heading", "Something else\nThe Gate"),
        page("https://a.example/title", "Gate", "gates and walls"),
    ]);
    let urls = ["https://a.example/title", "https://a.example/heading", "https://a.example/text"];
    assert_eq!(found(&folder, "gates"), urls);
}

#[test]
fn a_newer_text_is_a_little_better_and_the_newest_come_first_if_they_are_asked_for() {
    const DAY: u64 = 86_400;
    let of = |url, text, day| IndexedPage { fetched_at: day * DAY, ..page(url, "A page", text) };
    let folder = index(&[
        of("https://a.example/old", "gates and walls", 100),
        of("https://a.example/new", "gates and walls", 700),
        of("https://a.example/newest", "a text with gates, and many other words that nobody looks for", 800),
    ]);
    let first = |query| found(&folder, query)[0].clone();
    assert_eq!(first("gates walls"), "https://a.example/new");
    assert_eq!(first("gate"), "https://a.example/new");
    let newest = urls(folder.path(), TextQuery::parse("gate").unwrap().newest_first(true));
    assert_eq!(newest, ["https://a.example/newest", "https://a.example/new", "https://a.example/old"]);
}

use super::*;

const SITES: &str = "site_id\tsite\turl\ttopics\tlanguage\n0\tone/a\thttps://a.example/\tdatabases systems\ten\n1\ttwo/b\thttps://b.example/\t\t\n";
const PAGES: &str = "page_id\tsite_id\turl\ttitle\tgenre\tchars\n\
    0\t0\thttps://a.example/\tHome\thome\t500\n\
    1\t0\thttps://a.example/syllabus/\tSyllabus\tsyllabus\t300\n\
    2\t0\thttps://a.example/old/syllabus/\tOld\tsyllabus\t299\n\
    3\t0\thttps://a.example/syllabus/grades/\tGrades\tsyllabus-part\t900\n\
    4\t1\thttps://b.example\tHome\tsyllabus\t500\n";
const LINKS: &str = "from\tto\tkind\tanchor\n0\t1\tbody\tthe syllabus\n0\t2\tlist\tOld\n0\t3\tnav\t\n";
const TEXTS: &str = "{\"page_id\": 1, \"text\": \"Grading\\nand exams\"}\n";

fn corpus() -> Corpus {
    let mut corpus = Corpus::default();
    read_sites(SITES.as_bytes(), &mut corpus).unwrap();
    read_pages(PAGES.as_bytes(), &mut corpus).unwrap();
    read_links(LINKS.as_bytes(), &mut corpus).unwrap();
    read_texts(TEXTS.as_bytes(), &mut corpus).unwrap();
    corpus
}

#[test]
fn the_parts_of_a_corpus_are_read() {
    let corpus = corpus();
    assert_eq!((corpus.homes(), corpus.pages.len()), (vec![0, 4], 5));
    assert_eq!(corpus.pages[1].text, "Grading\nand exams");
    assert_eq!(corpus.links[0][0], CorpusLink { to: 1, kind: LinkKind::Body, anchor: "the syllabus".into() });
    assert_eq!((corpus.language(1), corpus.language(4)), (Some("en"), None));
    assert_eq!((corpus.has_topic("systems"), corpus.has_topic("")), (true, false));
    assert_eq!(corpus.genres()["syllabus"], 3);
}

#[test]
fn stubs_and_parts_of_syllabi_count_only_if_other_genres_are_looked_for() {
    let corpus = corpus();
    let labels = corpus.labels("syllabus", "databases");
    assert_eq!(labels, [Some(false), Some(true), None, None, Some(false)]);
    assert_eq!(corpus.labels("home", "systems"), [true, false, false, false, false].map(Some));
}

#[test]
fn paths_and_assumed_anchors_are_hidden() {
    let mut corpus = corpus();
    corpus.hide_urls();
    let urls: Vec<&str> = corpus.pages.iter().map(|page| page.url.as_str()).collect();
    assert_eq!(urls[..2], ["https://a.example/0", "https://a.example/1"]);
    assert_eq!(urls[4], "https://b.example/4");
    corpus.hide_list_anchors();
    let anchors: Vec<&str> = corpus.links[0].iter().map(|link| link.anchor.as_str()).collect();
    assert_eq!(anchors, ["the syllabus", "", ""]);
}

#[test]
fn a_bad_line_is_named() {
    let told = |error: Result<(), CorpusError>| error.unwrap_err().to_string();
    let empty = || Corpus::default();
    assert_eq!(
        told(read_sites("site_id\tsite\n".as_bytes(), &mut empty())),
        "line 1: no column `topics` (the first line names the columns)"
    );
    let two = SITES.replace("1\ttwo", "7\ttwo");
    assert!(told(read_sites(two.as_bytes(), &mut empty())).starts_with("line 3: site_id 7 instead of 1"));
    assert!(told(read_pages(PAGES.as_bytes(), &mut empty())).contains("unknown site 0"));
    let mut no_page = empty();
    read_sites(SITES.as_bytes(), &mut no_page).unwrap();
    let first = PAGES.split_inclusive('\n').take(2).collect::<String>();
    assert!(told(read_pages(first.as_bytes(), &mut no_page)).contains("two/b has no page"));
    for (links, problem) in [
        ("from\tto\tkind\tanchor\n0\t9\tbody\t\n", "page 9"),
        ("from\tto\tkind\tanchor\n0\t1\tframe\t\n", "body, nav or list"),
        ("from\tto\tkind\tanchor\n0\t1\n", "too few"),
        ("from\tto\tkind\tanchor\nx\t1\tbody\t\n", "\"x\" is no number"),
    ] {
        let error = told(read_links(links.as_bytes(), &mut corpus()));
        assert!(error.starts_with("line 2: ") && error.contains(problem), "{error}");
    }
    assert!(told(read_texts("{}\n".as_bytes(), &mut corpus())).contains("page_id"));
}

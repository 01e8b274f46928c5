use super::*;
use crate::words::{Language, Words};

const FILE: &str =
    "genre = [\n  \"syllabus\",\n  \"tentative  schedule\",\n]\ncontent = [\"data structures\"]\n";

fn told(file: &str) -> String {
    Topic::from_toml(file).unwrap_err().to_string()
}

#[test]
fn a_file_gives_sets_weights_and_how_to_combine_them() {
    let topic = Topic::from_toml(FILE).unwrap();
    assert_eq!(topic.terms(TermSet::Genre), ["syllabus", "tentative schedule"]);
    assert!(topic.terms(TermSet::Url).is_empty());
    assert_eq!((topic.weights, topic.combine, topic.url_terms), Default::default());
    let more = format!(
        "{FILE}url = [\"db\"]\ncombine = \"minimum\"\nurl_terms = \"text\"\nweights = {{ genre = 4, content = 6.0 }}\n"
    );
    let topic = Topic::from_toml(&more).unwrap();
    assert_eq!((topic.combine, topic.url_terms), (Combine::Minimum, UrlTerms::Text));
    assert_eq!(topic.weights, Weights { genre: 4.0, content: 6.0, combined: 7.0, url: 3.0 });
    assert_eq!(Topic::from_toml(&topic.to_toml()).unwrap(), topic);
}

#[test]
fn bad_files_are_refused_with_line_and_remedy() {
    for (file, error) in [
        ("genre = [\"a\"]\nconten = [\"b\"]\n".to_owned(), "line 2: unknown field `conten`, expected"),
        (format!("{FILE}combine = \"men\"\n"), "(did you mean `mean`?)"),
        ("genre = [\"a\"]\n".into(), "missing field `content`"),
        ("genre = [\"a\"]\ncontent = [1]\n".into(), "line 2: invalid type: integer"),
        ("genre = [\"a\"\n\ncontent".into(), "line 3: "),
        ("genre = [\"a\"]\ncontent = []\n".into(), "line 2: `content` has no terms (list at least one"),
        (
            FILE.replace("syllabus", "alpha beta gamma delta"),
            "line 2: term \"alpha beta gamma delta\" of `genre` has 4 words",
        ),
        (FILE.replace("syllabus", "数据库管理"), "has 4 words"),
        (FILE.replace("syllabus", "--"), "has no word (use letters or digits)"),
        (
            FILE.replace("syllabus", "Tentative Schedule"),
            "line 3: term \"tentative schedule\" of `genre` is on line 2 already",
        ),
        (FILE.replace("syllabus", &"x".repeat(129)), "has 129 bytes (use at most 128)"),
        (format!("{FILE}\n[weights]\nurl = -1\n"), "line 7: weight `url` is -1"),
        (format!("{FILE}weights = {{ genre = nan }}"), "weight `genre` is NaN"),
        (format!("{FILE}weights = {{ genre = 0, content = 0 }}"), "weights `genre` and `content` are both 0"),
        (format!("{FILE}{}", "#".repeat(MAX_FILE_BYTES)), "longer than 64 KiB"),
    ] {
        let found = told(&file);
        assert!(found.contains(error) && !found.contains('\n'), "{found}\ninstead of {error}");
    }
    let many: Vec<String> = (0..=MAX_TERMS).map(|n| format!("\"t{n}\"")).collect();
    let found = told(&format!("content = [\"a\"]\ngenre = [{}]", many.join(",")));
    assert!(found.starts_with("line 2: `genre` has 501 terms, at most 500"), "{found}");
}

#[test]
fn stopwords_do_not_count_in_a_term() {
    let topic = Topic::from_toml(&FILE.replace("syllabus", "algorithms and data structures")).unwrap();
    let mut words = Words::new();
    let english = Language::of_tag("en");
    let mut text = vec![];
    words.hashes("algorithms for the data structures", english, 100, usize::MAX, &mut text);
    assert_eq!(Matcher::new(&topic, english, &mut words).count(&text).in_set(TermSet::Genre), [1, 0]);
    // Without a stemmer no stopword is known; the term has four words then, and is in no text.
    let plain = Matcher::new(&topic, Language::OTHER, &mut words);
    assert_eq!((plain.size(TermSet::Genre), plain.places(TermSet::Genre)), (1, &[None, Some(0)][..]));
}

#[test]
fn terms_with_the_same_stems_are_one() {
    let file = "genre = [\"exercise\", \"lab\", \"Exercises\"]\ncontent = [\"lab\"]\n";
    let topic = Topic::from_toml(file).unwrap();
    let mut words = Words::new();
    let english = Matcher::new(&topic, Language::of_tag("en"), &mut words);
    assert_eq!(english.places(TermSet::Genre), [Some(0), Some(1), Some(0)]);
    assert_eq!(Matcher::new(&topic, Language::OTHER, &mut words).size(TermSet::Genre), 3);
}

#[test]
fn a_phrase_counts_beside_its_words_and_overlapping_phrases() {
    let file = "genre = [\"a1 b2\", \"b2\", \"b2 c3\", \"a1 b2 c3\", \"c3 a1 b2\"]\ncontent = [\"a1\"]\n";
    let topic = Topic::from_toml(file).unwrap();
    let mut words = Words::new();
    let matcher = Matcher::new(&topic, Language::OTHER, &mut words);
    let mut text = vec![];
    words.hashes("a1 b2 c3 a1 b2", Language::OTHER, 100, usize::MAX, &mut text);
    let counts = matcher.count(&text);
    assert_eq!(
        (counts.in_set(TermSet::Genre), counts.in_set(TermSet::Content)),
        (&[2, 2, 1, 1, 1][..], &[2][..])
    );
}

#[test]
fn the_final_score_is_that_of_algorithm_2() {
    let mut topic = Topic::from_toml(FILE).unwrap();
    assert_eq!(topic.final_score(0.2, 0.6, None), 0.4);
    assert!((topic.final_score(0.2, 0.6, Some(1.0)) - (0.7 * 0.4 + 0.3)).abs() < 1e-15);
    topic.weights = Weights { genre: 4.0, content: 6.0, ..topic.weights };
    assert!((topic.final_score(0.5, 1.0, None) - 0.8).abs() < 1e-15);
    topic.combine = Combine::Product;
    assert!((topic.final_score(0.25, 1.0, None) - libm::pow(0.25, 0.4)).abs() < 1e-15);
    assert_eq!(topic.final_score(0.0, 1.0, None), 0.0);
    topic.combine = Combine::Minimum;
    assert_eq!(topic.final_score(0.25, 1.0, None), 0.25);
}

#[test]
fn the_digest_tells_what_scores_depend_on() {
    let digest = |file: &str| Topic::from_toml(file).unwrap().digest();
    assert_eq!(digest(FILE), digest(&format!("# a comment\n{}", FILE.replace("  ", " "))));
    for other in [
        FILE.replace("syllabus", "syllabi"),
        FILE.replace("\"tentative  schedule\",", "\"tentative\", \"schedule\","),
        format!("{FILE}combine = \"product\""),
        format!("{FILE}weights = {{ genre = 4 }}"),
        format!("{FILE}url_terms = \"text\""),
    ] {
        assert_ne!(digest(FILE), digest(&other), "{other}");
    }
}

#[test]
fn one_set_holds_all_terms_once() {
    let file = "genre = [\"lab\", \"exam\"]\ncontent = [\"sql\", \"lab\"]\n";
    let one = Topic::from_toml(file).unwrap().as_one_set();
    assert_eq!(one.terms(TermSet::Genre), ["lab", "exam", "sql"]);
    assert_eq!(one.terms(TermSet::Content), one.terms(TermSet::Genre));
}

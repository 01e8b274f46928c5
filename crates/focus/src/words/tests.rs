use super::*;
use proptest::prelude::*;

fn stems(text: &str, language: &str) -> Vec<String> {
    let words = Words::new().pairs(text, Language::of_tag(language), MAX_TEXT);
    words.into_iter().map(|(_, stem)| stem).collect()
}

#[test]
fn words_lose_capitals_endings_accents_and_stopwords() {
    assert_eq!(stems("The Data Structures, and their ALGORITHMS.", "en"), ["data", "structur", "algorithm"]);
    assert_eq!(stems("As Disciplinas de Computação", "pt-BR"), ["disciplin", "comput"]);
    assert_eq!(stems("entity-relationship", "en"), ["entiti", "relationship"]);
    // Without a stemmer nothing is cut off, and no word is a stopword; accents go all the same.
    assert_eq!(stems("The Žluťoučký kůň", "cs"), ["the", "zlutoucky", "kun"]);
    // The accent goes after the stemmer, which needs it.
    assert_eq!(stems("élève", "fr"), stems("élèves", "fr"));
}

#[test]
fn a_word_is_the_same_however_it_is_encoded() {
    assert_eq!(stems("Donau\u{ad}dampf\u{ad}schiff", "cs"), ["donaudampfschiff"]);
    assert_eq!(stems("zero\u{2060}width", "cs"), ["zerowidth"]);
    assert_eq!(stems("ＡＢＣ１２３ ﬁnance", "cs"), ["abc123", "finance"]);
    assert_eq!(stems("ﾊﾝｶｸ", "ja"), stems("ハンカク", "ja"));
    assert_eq!(stems("e\u{301}le\u{300}ves", "fr"), stems("élèves", "fr"));
}

/// The Greek stemmer of rust-stemmers 1.2 panics at it.
#[test]
fn a_word_that_no_stemmer_can_take_stays_as_it_is() {
    assert_eq!(stems("ισαισα δρόμος", "el")[0], "ισαισα");
}

proptest! {
    #[test]
    fn any_word_has_a_stem_in_any_language(word in "[α-ωά-ώ]{1,12}|[a-zäöüß]{1,12}|\\PC{1,12}", language in "el|en|de|ru|ar|fi|tr|ta") {
        prop_assert!(stems(&word, &language).iter().all(|stem| !stem.is_empty()));
    }
}

#[test]
fn scripts_without_spaces_give_pairs_of_characters() {
    assert_eq!(stems("数据库 SQL", "zh"), ["数据", "据库", "sql"]);
    assert_eq!(stems("データ", "ja"), ["デー", "ータ"]);
    assert_eq!(stems("字", "zh"), ["字"]);
    let thai = stems("ภาษาไทย", "th");
    assert!(thai.len() >= 4 && thai.iter().all(|pair| pair.chars().count() == 2), "{thai:?}");
    // Words with vowel signs stay whole.
    assert_eq!(stems("हिन्दी भाषा", "hi").len(), 2);
}

#[test]
fn narrow_kana_with_sound_marks_give_the_pairs_of_wide_ones() {
    for (narrow, wide) in [("ﾄﾞﾗｺﾞﾝ", "ドラゴン"), ("ﾊﾟﾝ", "パン"), ("か\u{3099}く", "がく"), ("ﾞ", "\u{3099}")]
    {
        assert_eq!(stems(narrow, "ja"), stems(wide, "ja"), "{narrow}");
    }
}

#[test]
fn elided_words_and_points_of_vowels_do_not_count() {
    assert_eq!(stems("L'assurance d’emploi qu'Anne", "fr"), stems("assurance emploi Anne", "fr"));
    assert_eq!(stems("dell'acqua un'altra", "it"), stems("acqua altra", "it"));
    assert_eq!(stems("don't o'clock O'Brien", "en"), ["o'clock", "o'brien"]);
    assert_eq!(stems("שָׁלוֹם", "he"), stems("שלום", "he"));
    assert_eq!(stems("مُحَمَّد", "und"), stems("محمد", "und"));
    let mut at = Vec::new();
    each_word("à l'eau", |start, word| {
        at.push((start, word.to_owned()));
        true
    });
    assert_eq!(at, [(0, "à".to_owned()), (5, "eau".to_owned())]);
}

#[test]
fn the_language_is_the_one_named_or_guessed() {
    let name = |tag: &str| Language::of_tag(tag).name();
    assert_eq!(
        [name("en-GB"), name("nb"), name("PT_br"), name("xx"), name("")].join(" "),
        "English Norwegian Portuguese other other"
    );
    let portuguese = "Esta disciplina apresenta os conceitos fundamentais de bancos de dados, com ênfase no modelo \
                      relacional e nas linguagens de consulta que os alunos usarão durante o semestre.";
    assert_eq!(Language::of_page(None, portuguese).name(), "Portuguese");
    assert_eq!(Language::of_page(Some(" "), portuguese).name(), "Portuguese");
    assert_eq!(Language::of_page(Some("de"), portuguese).name(), "German");
    assert_eq!(Language::guess("ok").name(), "other");
    assert_eq!(Language::all().count(), Language::COUNT);
}

#[test]
fn every_language_with_a_stemmer_has_stopwords() {
    for language in Language::all().filter(|language| *language != Language::OTHER) {
        assert!(language.stopwords().len() > 20, "{}: {}", language.name(), language.stopwords().len());
    }
}

#[test]
fn a_url_is_read_by_its_letters() {
    let mut words = vec![];
    Words::new().of_url(
        "https://cs.example.edu/db/01_Syllabus.html?hw=3",
        Language::of_tag("en"),
        &mut words,
    );
    let mut expected = vec![];
    let text = "cs example edu db syllabus html hw";
    Words::new().hashes(text, Language::of_tag("en"), MAX_TEXT, usize::MAX, &mut expected);
    assert_eq!(words, expected);
}

#[test]
fn hostile_texts_are_bounded() {
    let (mut words, mut out) = (Words::new(), vec![]);
    let english = Language::of_tag("en");
    words.hashes(&"a1 ".repeat(400_000), english, MAX_TEXT, usize::MAX, &mut out);
    assert_eq!(out.len(), MAX_TEXT / 3, "one word for every three of the bytes read");
    out.clear();
    words.hashes(&"syllabus ".repeat(10_000), english, MAX_TEXT, MAX_ANCHOR_WORDS, &mut out);
    assert_eq!(out.len(), MAX_ANCHOR_WORDS);
    let long = words.pairs(&"é".repeat(1 << 20), Language::OTHER, MAX_TEXT);
    assert!(long.len() == 1 && long[0].0.len() <= MAX_WORD, "{}", long.len());
    let broken = String::from_utf8_lossy(b"sylla\xff\xfebus \xc3 lab");
    assert_eq!(words.pairs(&broken, english, MAX_TEXT).last().map(|(word, _)| word.as_str()), Some("lab"));
}

/// Greetings and sentences in forty languages.
const TONGUES: [&str; 40] = [
    "Goeiemôre wêreld",
    "Përshëndetje botë",
    "ሰላም ለዓለም",
    "مرحبا بالعالم",
    "Բարեւ աշխարհ",
    "Salam dünya",
    "Kaixo mundua",
    "Прывітанне свет",
    "ওহে বিশ্ব",
    "Здравей свят",
    "မင်္ဂလာပါ ကမ္ဘာ",
    "Hola món",
    "你好世界",
    "Bok svijete",
    "Ahoj světe",
    "Hej verden",
    "Hallo wereld",
    "Hello world",
    "Tere maailm",
    "Hei maailma",
    "Bonjour le monde",
    "გამარჯობა მსოფლიო",
    "Hallo Welt",
    "Γειά σου Κόσμε",
    "હેલો વિશ્વ",
    "שלום עולם",
    "नमस्ते दुनिया",
    "Helló világ",
    "Halló heimur",
    "Halo dunia",
    "Ciao mondo",
    "こんにちは世界",
    "ಹಲೋ ವಿಶ್ವ",
    "សួស្តីពិភពលោក",
    "안녕 세계",
    "ສະບາຍດີຊາວໂລກ",
    "Sveika pasaule",
    "สวัสดีชาวโลก",
    "Merhaba dünya",
    "Xin chào thế giới",
];

#[test]
fn forty_languages_are_read_by_every_stemmer() {
    let mut words = Words::new();
    for language in Language::all() {
        for text in TONGUES {
            let read = words.pairs(text, language, MAX_TEXT);
            assert!(!read.is_empty() || language != Language::OTHER, "{text}");
            let mut hashes = vec![];
            words.hashes(text, language, MAX_TEXT, usize::MAX, &mut hashes);
            assert_eq!(hashes.len(), read.len(), "{text} in {}", language.name());
        }
    }
}

proptest! {
    /// What was read before changes nothing, though stems are kept.
    #[test]
    fn the_order_of_texts_does_not_matter(texts in prop::collection::vec("\\PC{0,60}", 1..6)) {
        let mut kept = Words::new();
        for text in &texts {
            for language in [Language::OTHER, Language::of_tag("en"), Language::of_tag("tr")] {
                let (mut warm, mut cold) = (vec![], vec![]);
                kept.hashes(text, language, MAX_TEXT, usize::MAX, &mut warm);
                Words::new().hashes(text, language, MAX_TEXT, usize::MAX, &mut cold);
                prop_assert_eq!(&warm, &cold);
            }
        }
    }
}

//! F1 of term scores on a labelled corpus: `cargo run --release -p recrawl-focus --example term_tables CORPUS TERMS...`.
//!
//! For each term file (`GENRE-TOPIC.toml`), with URLs hidden and shown: F1 at the best threshold for each combination, for one
//! set, with idf 1 and counted; and F1 over thresholds. Then for generated terms: the sites are halved, terms come from
//! examples of one half and are judged on the other, in turns. The corpus is a folder with its four files, unpacked.

use recrawl_corpora::Corpus;
use recrawl_corpora::corpus::PARTS;
use recrawl_corpora::evaluate::{at, best, labelled};
use recrawl_corpora::generate::{Example, Generated, Proposed, by_contrast, by_frequency};
use recrawl_corpora::web::readings;
use recrawl_focus::classifier::terms::Terms;
use recrawl_focus::words::MAX_TEXT;
use recrawl_focus::{Classifier, Language, PageWords, Topic, Words};
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

/// Terms of each set (Algorithm 3 in §4.2).
const TERMS: usize = 40;
/// Most examples of a genre, and of what is relevant (Table 5.3: 25 to 36, 13 to 35).
const EXAMPLES: [usize; 2] = [36, 35];
/// Pages of other genres.
const BACKGROUND: usize = 300;

struct Wanted {
    name: String,
    genre: String,
    topic: Topic,
    labels: Vec<Option<bool>>,
}

fn main() {
    let mut args = std::env::args().skip(1);
    let folder = args.next().expect("CORPUS TERMS...");
    let open = |name: &str| BufReader::new(File::open(Path::new(&folder).join(name)).expect("a corpus"));
    let mut corpus = Corpus::default();
    for (name, read) in PARTS {
        read(Box::new(open(name)), &mut corpus).expect(name);
    }
    let wanted = args.map(|path| {
        let name = Path::new(&path).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        let (genre, subject) = name.split_once('-').expect("GENRE-TOPIC.toml");
        let labels = corpus.labels(genre, subject);
        let topic = Topic::from_toml(&fs::read_to_string(&path).expect("a term file")).expect("a term file");
        Wanted { genre: genre.into(), topic, labels, name: name.clone() }
    });
    let wanted: Vec<Wanted> = wanted.collect();
    let mut words = Words::new();
    for hidden in [true, false] {
        let pages = readings(&corpus, hidden, &mut words);
        println!("== URLs {}", if hidden { "hidden" } else { "shown" });
        println!("topic idf mean product minimum one_set");
        wanted.iter().for_each(|wanted| combinations(wanted, &pages, &mut words));
        println!("topic F1 of the mean at thresholds 0.05, 0.10, ... 0.95");
        for wanted in &wanted {
            let scored = scored(&Terms::new(wanted.topic.clone(), &mut words), &pages, &wanted.labels);
            let sweep = (1..20).map(|step| format!("{:.3}", at(f64::from(step) / 20.0, &scored).f1));
            println!("{} {}", wanted.name, sweep.collect::<Vec<_>>().join(" "));
        }
    }
    println!(
        "== Generated terms, URLs hidden: F1 on the other half of the sites; percent of the terms 100 75 50 25"
    );
    let pages = readings(&corpus, true, &mut words);
    for wanted in &wanted {
        for part in [1, 2, 4] {
            let limits = EXAMPLES.map(|most| most / part);
            let [frequency, contrast] = [false, true]
                .map(|contrasted| generated(wanted, &corpus, &pages, limits, contrasted, &mut words));
            println!("{} examples {limits:?} frequency {frequency} contrast {contrast}", wanted.name);
        }
    }
}

/// The topic with another rule that joins genre and content.
fn combined(topic: &Topic, combine: &str) -> Topic {
    let text = topic.to_toml();
    let lines = text.lines().map(|line| match line.starts_with("combine = ") {
        true => format!("combine = {combine:?}\n"),
        false => format!("{line}\n"),
    });
    Topic::from_toml(&lines.collect::<String>()).expect("a sound topic")
}

fn scored(terms: &Terms, pages: &[PageWords], labels: &[Option<bool>]) -> Vec<(f64, bool)> {
    let scores: Vec<f64> = pages.iter().map(|page| terms.assess(page).relevance).collect();
    labelled(&scores, labels)
}

fn combinations(wanted: &Wanted, pages: &[PageWords], words: &mut Words) {
    let kinds: Vec<Topic> = ["mean", "product", "minimum"]
        .iter()
        .map(|combine| combined(&wanted.topic, combine))
        .chain([wanted.topic.as_one_set()])
        .collect();
    for counted in [false, true] {
        let f1 = kinds.iter().map(|topic| {
            let mut terms = Terms::new(topic.clone(), words);
            if counted {
                terms = terms.weighted(pages);
            }
            let best = best(&scored(&terms, pages, &wanted.labels));
            format!("{:.3}@{:.2}", best.f1, best.threshold)
        });
        let idf = if counted { "counted" } else { "1" };
        println!("{} {idf} {}", wanted.name, f1.collect::<Vec<_>>().join(" "));
    }
}

/// F1 with all proposed terms, and with the first parts of them; pooled over both halves of the sites.
fn generated(
    wanted: &Wanted,
    corpus: &Corpus,
    pages: &[PageWords],
    limits: [usize; 2],
    contrasted: bool,
    words: &mut Words,
) -> String {
    let mut scored_by_part = vec![vec![]; 4];
    for half in 0..2 {
        let is_example = |page: &usize| corpus.pages[*page].site % 2 == half;
        let all = || (0..corpus.pages.len()).filter(is_example);
        let mut read = |page: usize| -> Example {
            let of = &corpus.pages[page];
            let language = Language::of_page(corpus.language(page as u32), &of.text);
            words.pairs(&format!("{}\n{}", of.title, of.text), language, MAX_TEXT)
        };
        let mut examples = |of: &dyn Fn(&usize) -> bool, most: usize| -> Vec<Example> {
            let chosen: Vec<usize> = all().filter(of).collect();
            // Spread over the sites.
            let step = chosen.len().div_ceil(most).max(1);
            chosen.into_iter().step_by(step).map(&mut read).collect()
        };
        let of_genre = |page: &usize| corpus.pages[*page].genre == wanted.genre;
        let genre = examples(&of_genre, limits[0]);
        let relevant = examples(&|page| wanted.labels[*page] == Some(true), limits[1]);
        let background = examples(&|page| !of_genre(page), BACKGROUND);
        let counts = (TERMS, TERMS);
        let found = match contrasted {
            true => by_contrast(&genre, &relevant, &background, counts),
            false => by_frequency(&genre, &relevant, counts),
        };
        let labels: Vec<Option<bool>> =
            (0..pages.len()).map(|page| if is_example(&page) { None } else { wanted.labels[page] }).collect();
        for (part, scores) in [100, 75, 50, 25].into_iter().zip(&mut scored_by_part) {
            if let Some(topic) = topic(&found, part) {
                scores.extend(scored(&Terms::new(topic, words), pages, &labels));
            }
        }
    }
    let f1 = scored_by_part.iter().map(|scores| format!("{:.3}", best(scores).f1));
    f1.collect::<Vec<_>>().join(" ")
}

/// A part of the proposed terms, in percent, best first; none if a set is empty.
fn topic(found: &Generated, part: usize) -> Option<Topic> {
    let list = |terms: &[Proposed]| {
        let first = terms.iter().take(terms.len() * part / 100);
        first.map(|term| format!("{:?}", term.term)).collect::<Vec<_>>().join(", ")
    };
    Topic::from_toml(&format!("genre = [{}]\ncontent = [{}]\n", list(&found.genre), list(&found.content)))
        .ok()
}

//! Time to score a page and to rank a link: `cargo run --release -p recrawl-corpora --example score_speed`.
//!
//! Pages of 10 kB are drawn from 5,000 words, of which some are terms. All runs are on one core.

use recrawl_corpora::link::{LINK_FEATURES, LinkParent, Yields};
use recrawl_focus::classifier::terms::Terms;
use recrawl_focus::evidence::LinkEvidence;
use recrawl_focus::logistic::Weights;
use recrawl_focus::words::MAX_TEXT;
use recrawl_focus::{Classifier, Language, PageText, PageWords, Topic, Words};
use std::hint::black_box;
use std::time::{Duration, Instant};

const PAGES: usize = 200;
const SIZE: usize = 10_000;
const LINKS: usize = 100_000;

fn main() {
    let file = include_str!("../../../config/focus/recipe-vegetarian.toml");
    let topic = Topic::from_toml(file).expect("a sound file");
    let pages = pages(&topic);
    let mut words = Words::new();
    let terms = Terms::new(topic, &mut words);
    for (name, language) in [("language named", Some("en")), ("language guessed", None)] {
        let seconds = best_of(|| {
            for text in &pages {
                let page = PageText { url: Some("https://example.com/a/b"), language, title: "A page", text };
                black_box(terms.assess(&PageWords::read(&page, MAX_TEXT, &mut words)));
            }
        });
        println!("{name:18} {:8.0} pages of 10 kB a second", PAGES as f64 / seconds.as_secs_f64());
    }
    links(&terms, &mut words);
}

/// Links with anchors of three words, in a thousand groups on a hundred sites.
fn links(terms: &Terms, words: &mut Words) {
    let english = Language::of_tag("en");
    let shown: Vec<(String, String)> = (0..LINKS)
        .map(|number| {
            let first = ["recipe", "menu", "home"][number % 3];
            let url = format!("https://example.com/g{}/p{number}", number % 1000);
            (format!("{first} w{} w{}", number % 977, number % 89), url)
        })
        .collect();
    let mut evidence: Vec<LinkEvidence> = vec![];
    let seconds = best_of(|| {
        evidence.clear();
        evidence.extend(shown.iter().enumerate().map(|(number, (anchor, url))| {
            LinkEvidence::from_link((number % 1000) as u32, anchor, Some(url), false, english, terms, words)
        }));
    });
    println!("{:18} {:8.0} ns a link", "link read", seconds.as_secs_f64() * 1e9 / LINKS as f64);
    let mut yields = Yields::default();
    for (number, link) in evidence.iter().enumerate().step_by(7) {
        let verdict = Default::default();
        yields.visited((number % 100) as u32, [link], (number % 5) as f64 / 5.0, &verdict);
    }
    let weights = Weights([0.1; LINK_FEATURES]);
    let seconds = best_of(|| {
        for (number, link) in evidence.iter().enumerate() {
            let features = yields.features(&LinkParent::default(), link, (number % 100) as u32);
            black_box(weights.logit(&features));
        }
    });
    println!("{:18} {:8.0} ns a link", "link ranked", seconds.as_secs_f64() * 1e9 / LINKS as f64);
}

/// Texts of 10 kB; one word in twenty is of a term.
fn pages(topic: &Topic) -> Vec<String> {
    let vocabulary: Vec<String> = (0..5000).map(|n| word(n * 7919 + 13)).collect();
    let terms = topic.terms(recrawl_focus::TermSet::Genre);
    let mut state = 1_u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % below
    };
    let mut page = |_| {
        let mut text = String::new();
        while text.len() < SIZE {
            let is_term = draw(20) == 0;
            text.push_str(if is_term { &terms[draw(terms.len())] } else { &vocabulary[draw(5000)] });
            text.push(if draw(12) == 0 { '\n' } else { ' ' });
        }
        text
    };
    (0..PAGES).map(&mut page).collect()
}

/// A word of three to nine letters with an English ending.
fn word(mut number: usize) -> String {
    let mut word = String::new();
    for _ in 0..3 + number % 7 {
        word.push(char::from(b'a' + (number % 26) as u8));
        number = number * 31 + 7;
    }
    word + ["", "s", "ing", "ed", "ation"][number % 5]
}

/// The best of 20 runs: other work on the machine only adds time.
fn best_of(mut work: impl FnMut()) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..20 {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed());
    }
    best
}

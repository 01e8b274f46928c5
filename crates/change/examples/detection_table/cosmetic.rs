//! Procedural pages with cosmetic noise: the effect of a clock, a counter, an advertisement or a
//! session token on the SimHash, and the real changes that remain visible.

use crate::{DISTANCES, Prints, Spread, percent};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use recrawl_change::detector::{ChosenDetector, ContentComparison};
use recrawl_change::{NoiseFloor, NoiseTally};
use recrawl_types::Share;

/// Lengths of pages in words: a short note, an article, a page of 10 kB.
const LENGTHS: [usize; 3] = [150, 500, 1_500];
/// Words in a sentence.
const SENTENCE: usize = 14;

/// Parts that change at every response although the page does not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Noise {
    None,
    Clock,
    Counter,
    Token,
    Advertisement,
    All,
}

const NOISES: [(Noise, &str); 5] = [
    (Noise::Clock, "clock"),
    (Noise::Counter, "visit counter"),
    (Noise::Token, "session token"),
    (Noise::Advertisement, "advertisement"),
    (Noise::All, "all four"),
];

impl Noise {
    fn has(self, part: Noise) -> bool {
        self == part || self == Noise::All
    }

    /// The noisy parts of one response.
    fn write(self, rng: &mut impl Rng, visits: &mut u32) -> String {
        let mut text = String::new();
        if self.has(Noise::Clock) {
            let (h, m, s) = (rng.random_range(0..24), rng.random_range(0..60), rng.random_range(0..60));
            text.push_str(&format!("\nIt is now {h:02}:{m:02}:{s:02} here."));
        }
        if self.has(Noise::Counter) {
            *visits += rng.random_range(1..50);
            text.push_str(&format!("\nThis page was seen {visits} times."));
        }
        if self.has(Noise::Token) {
            text.push_str(&format!("\nSession {:016x} is open.", rng.random::<u64>()));
        }
        if self.has(Noise::Advertisement) {
            // One of 20 advertisements of ten words each.
            let mut words = ChaCha8Rng::seed_from_u64(rng.random_range(0..20));
            text.push_str(&format!("\nAdvertisement: {}", sentence(&mut words, 10)));
        }
        text
    }
}

fn sentence(rng: &mut impl Rng, words: usize) -> String {
    // Frequent words are frequent, as in a real text: rank is log-uniform.
    let word = |_| format!("w{}", 20_000f64.powf(rng.random::<f64>()) as u32);
    (0..words).map(word).collect::<Vec<_>>().join(" ") + "."
}

/// A page: its sentences and the counters of its server.
struct Page {
    sentences: Vec<String>,
    visits: u32,
}

impl Page {
    fn new(rng: &mut impl Rng, words: usize) -> Page {
        Page { sentences: (0..words / SENTENCE).map(|_| sentence(rng, SENTENCE)).collect(), visits: 0 }
    }

    fn response(&mut self, noise: Noise, rng: &mut impl Rng) -> Prints {
        let noise = noise.write(rng, &mut self.visits);
        Prints::from_text(&(self.sentences.join(" ") + &noise))
    }

    /// Replaces a sentence or, every other time, adds one.
    fn change(&mut self, rng: &mut impl Rng) {
        let at = rng.random_range(0..self.sentences.len());
        let new = sentence(rng, SENTENCE);
        if rng.random() { self.sentences[at] = new } else { self.sentences.insert(at, new) }
    }
}

pub fn print_tables() {
    distances();
    learning();
}

/// Tables: false and missed changes at each distance for pages with all four kinds of noise, and
/// how far each kind alone moves the SimHash.
fn distances() {
    println!("## Cosmetic noise: percentage of false and missed changes\n");
    print!("| distance |");
    for length in LENGTHS {
        for features in ["words", "3 words"] {
            print!(" {length} words, {features}: false | missed |");
        }
    }
    println!("\n|--:|{}", "--:|".repeat(4 * LENGTHS.len()));
    let columns: Vec<[[Spread; 2]; 2]> = LENGTHS
        .iter()
        .map(|length| [spread(*length, Noise::All, false), spread(*length, Noise::All, true)])
        .collect();
    for distance in DISTANCES {
        print!("| {distance} |");
        for [noise, change] in &columns {
            for features in 0..2 {
                let unfelt = 100.0 - noise[features].within(distance);
                print!(" {unfelt:.1} | {:.1} |", change[features].within(distance));
            }
        }
        println!();
    }
    println!("\n| moved by | length in words | words: median | 95 % | 3 words: median | 95 % |");
    println!("|---|--:|--:|--:|--:|--:|");
    for length in LENGTHS {
        let rows = NOISES.iter().map(|(noise, name)| (*name, spread(length, *noise, false)));
        let change = ("only a real change", spread(length, Noise::None, true));
        for (name, spreads) in rows.chain([change]) {
            let quantile = |features: usize, share: f64| {
                let spread: &Spread = &spreads[features];
                DISTANCES
                    .into_iter()
                    .find(|d| spread.within(*d) >= share)
                    .map_or("> 16".into(), |d| d.to_string())
            };
            println!(
                "| {name} | {length} | {} | {} | {} | {} |",
                quantile(0, 50.0),
                quantile(0, 95.0),
                quantile(1, 50.0),
                quantile(1, 95.0)
            );
        }
    }
    println!();
}

/// Distances of 1,000 pairs of responses, with or without a real change in between.
fn spread(length: usize, noise: Noise, changes: bool) -> [Spread; 2] {
    let mut rng = ChaCha8Rng::seed_from_u64(length as u64);
    let mut spreads = <[Spread; 2]>::default();
    for _ in 0..1_000 {
        let mut page = Page::new(&mut rng, length);
        let before = page.response(noise, &mut rng);
        if changes {
            page.change(&mut rng);
        }
        let after = page.response(noise, &mut rng);
        for (spread, distance) in spreads.iter_mut().zip(before.distances(&after)) {
            spread.add(distance);
        }
    }
    spreads
}

/// Table: whole sites over many cycles, under each detector.
fn learning() {
    println!("## Sites over 40 cycles: percentage of false and missed changes\n");
    println!(
        "Thirty pages per site, each visited in each cycle; 1 page in 10 changes per cycle. Counted from cycle 4 on.\n"
    );
    print!("| site |");
    let detectors: [(&str, &str, u32, usize); 5] = [
        ("digest", "digest", 0, 1),
        ("simhash, 3 words, 3", "simhash", 3, 1),
        ("simhash, words, 3", "simhash", 3, 0),
        ("adaptive, words", "adaptive", 0, 0),
        ("adaptive, 3 words", "adaptive", 0, 1),
    ];
    for (name, ..) in detectors {
        print!(" {name}: false | missed |");
    }
    println!("\n|---|{}", "--:|".repeat(2 * detectors.len()));
    let clean = [(Noise::None, "no noise")];
    for (noise, name) in clean.iter().chain(&NOISES) {
        for length in LENGTHS {
            print!("| {name}, {length} words |");
            for (_, detector, max_distance, features) in detectors {
                let (false_changes, missed) = site(*noise, length, detector, max_distance, features);
                print!(" {false_changes:.1} | {missed:.1} |");
            }
            println!();
        }
    }
    println!();
}

fn site(noise: Noise, length: usize, detector: &str, max_distance: u32, features: usize) -> (f64, f64) {
    let detector: ChosenDetector = detector.parse().expect("a detector of the list");
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut pages: Vec<Page> = (0..30).map(|_| Page::new(&mut rng, length)).collect();
    let mut seen: Vec<Prints> = pages.iter_mut().map(|p| p.response(noise, &mut rng)).collect();
    let mut floor = NoiseFloor::default();
    let (mut still, mut reported, mut changed, mut missed) = (0, 0, 0, 0);
    for cycle in 1..=40 {
        let mut tally = NoiseTally::default();
        for (page, seen) in pages.iter_mut().zip(&mut seen) {
            let changes = rng.random_ratio(1, 10);
            if changes {
                page.change(&mut rng);
            }
            let now = page.response(noise, &mut rng);
            let (digest_equal, distance) = (now.equal(seen), now.distances(seen)[features]);
            let comparison = ContentComparison { digest_equal, distance, max_distance, floor: floor.floor() };
            let says = detector.changed(&comparison);
            let share = if cycle <= 2 { Share::Warmup } else { Share::Score };
            tally.observe(share, 1, digest_equal, distance);
            *seen = now;
            if cycle > 3 {
                still += u64::from(!changes);
                reported += u64::from(!changes && says);
                changed += u64::from(changes);
                missed += u64::from(changes && !says);
            }
        }
        floor.fold(&tally);
    }
    (percent(reported, still), percent(missed, changed))
}

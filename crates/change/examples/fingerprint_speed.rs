//! Time of a fingerprint, compared with the `simhash` crate for the same bits:
//! `cargo run --release -p recrawl-change --example fingerprint_speed`

use recrawl_change::{Features, fingerprint};
use std::hint::black_box;
use std::time::{Duration, Instant};

fn main() {
    let text = text(10_000);
    let words: Vec<&str> = text.split_whitespace().collect();
    println!("text of {} bytes, {} words", text.len(), words.len());
    let ours = |features| best_of(|| black_box(fingerprint(black_box(&text), features)).simhash);
    println!("words:    {:6.1} µs, including digest", ours(Features::Words));
    println!("          {:6.1} µs with the crate", best_of(|| simhash::simhash(black_box(&text))));
    println!("shingles: {:6.1} µs, including digest", ours(Features::Shingles));
    let by_the_crate = || {
        let words: Vec<&str> = black_box(&text).split_whitespace().collect();
        let shingles: Vec<String> = words.windows(3).map(|w| w.join(" ")).collect();
        simhash::simhash_stream(shingles.iter().map(String::as_str))
    };
    println!("          {:6.1} µs with the crate", best_of(by_the_crate));
    assert_eq!(by_the_crate(), fingerprint(&text, Features::Shingles).simhash);
}

/// Words of 1 to 11 letters, 5.3 on average, as in English.
fn text(size: usize) -> String {
    let mut state = 1u32;
    let mut next = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 16
    };
    let mut text = String::new();
    while text.len() < size {
        let length = 1 + next() % 6 + next() % 6;
        text.extend((0..length).map(|_| char::from(b'a' + (next() % 26) as u8)));
        text.push(if next() % 12 == 0 { '\n' } else { ' ' });
    }
    text
}

/// Microseconds: the mean of the best of 20 rounds of 20 ms.
fn best_of(mut work: impl FnMut() -> u64) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..20 {
        let start = Instant::now();
        let mut runs = 0;
        while start.elapsed() < Duration::from_millis(20) {
            black_box(work());
            runs += 1;
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e6 / f64::from(runs));
    }
    best
}

//! The measurements for docs/change-detection.md, as Markdown tables on standard output: `cargo run
//! --release -p recrawl-change --example detection_table -- DATA/cloud-docs DATA/terms …`
//!
//! Each argument is the folder of a recorded set with contents. Without arguments, only the tables
//! of procedural noise are printed.

mod cosmetic;
mod recorded;
mod replay;

use recrawl_change::{Features, fingerprint};
use recrawl_types::Fingerprint;

/// Distances that the tables cover.
pub const DISTANCES: std::ops::RangeInclusive<u32> = 0..=16;

/// The fingerprints of one text by both features, with the same digest.
#[derive(Clone, Copy)]
pub struct Prints {
    /// Over words.
    pub words: Fingerprint,
    /// Over three consecutive words.
    pub shingles: Fingerprint,
}

impl Prints {
    /// The fingerprints of a visible text.
    pub fn from_text(text: &str) -> Prints {
        Prints { words: fingerprint(text, Features::Words), shingles: fingerprint(text, Features::Shingles) }
    }

    /// Distances to another text, by words and by shingles.
    pub fn distances(&self, other: &Prints) -> [u32; 2] {
        let between = |a: Fingerprint, b: Fingerprint| simhash::hamming_distance(a.simhash, b.simhash);
        [between(self.words, other.words), between(self.shingles, other.shingles)]
    }

    /// Whether the texts are equal.
    pub fn equal(&self, other: &Prints) -> bool {
        self.words.digest == other.words.digest
    }
}

/// Counts by distance; the last cell counts all larger distances.
#[derive(Clone, Default)]
pub struct Spread(Vec<u64>);

impl Spread {
    /// Counts one.
    pub fn add(&mut self, distance: u32) {
        let cells = *DISTANCES.end() as usize + 2;
        self.0.resize(cells, 0);
        self.0[(distance as usize).min(cells - 1)] += 1;
    }

    /// Total count.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Percentage at `distance` or nearer.
    pub fn within(&self, distance: u32) -> f64 {
        let near: u64 = self.0.iter().take(distance as usize + 1).sum();
        percent(near, self.total())
    }
}

/// `part` of `whole` in percent; 0 if `whole` is 0.
pub fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

fn main() -> std::io::Result<()> {
    let mut sets = Vec::new();
    for folder in std::env::args().skip(1) {
        sets.push(recorded::load(folder.as_ref())?);
    }
    if !sets.is_empty() {
        recorded::print_tables(&sets);
        replay::print_table(&sets);
    }
    cosmetic::print_tables();
    Ok(())
}

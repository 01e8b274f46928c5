//! Queries, drawn from the titles of pages.

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use recrawl_simulation::Contents;
use std::collections::{BTreeSet, HashMap};

/// Number of queries.
const QUERIES: usize = 100;
/// Draws without a new query after which fewer queries do.
const TRIES: usize = 1_000;

/// Different pairs and triples of words of one title, without words that over half of the titles have. Returns the words
/// of all queries ascending, and each query as places among these.
pub fn draw(contents: &Contents, seed: u64) -> (Vec<u32>, Vec<Vec<u32>>) {
    let mut titles_with: HashMap<u32, usize> = HashMap::new();
    let titles = || (0..contents.pages()).map(|page| contents.title_words(page));
    titles().flatten().for_each(|&word| *titles_with.entry(word).or_default() += 1);
    let is_rare = |word: &&u32| 2 * titles_with[*word] <= contents.pages();
    let mut known: Vec<Vec<u32>> =
        titles().map(|title| title.iter().filter(is_rare).copied().collect()).collect();
    known.retain(|words| words.len() > 1);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    // Apart from the streams of scores and ties.
    rng.set_stream(u64::MAX);
    let (mut drawn, mut queries, mut tries) = (BTreeSet::new(), Vec::new(), 0);
    while queries.len() < QUERIES && tries < TRIES {
        let Some(title) = known.choose(&mut rng) else { break };
        let length = rng.random_range(2..=3).min(title.len());
        let mut query: Vec<u32> = title.sample(&mut rng, length).copied().collect();
        query.sort_unstable();
        tries += 1;
        if drawn.insert(query.clone()) {
            queries.push(query);
            tries = 0;
        }
    }
    let words: BTreeSet<u32> = queries.iter().flatten().copied().collect();
    let words: Vec<u32> = words.into_iter().collect();
    for word in queries.iter_mut().flatten() {
        *word = words.partition_point(|known| known < word) as u32;
    }
    (words, queries)
}

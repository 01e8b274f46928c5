//! A small recorded web for tests.

use crate::recording::{ExpertPage, FixedPages, PageBag};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A recording of pages in threes: page 3i changes at random, page 3i + 1 on the same days, page 3i + 2 one day later.
/// All change the count of the word of their three; other words of a page do not move. Pages link to the next one.
pub fn threes(count: u32, last: u32, seed: u64) -> FixedPages {
    let mut source = ChaCha8Rng::seed_from_u64(seed);
    let mut pages: Vec<ExpertPage> = Vec::new();
    for page in 0..count {
        let mut changed: Vec<bool> = (0..=last).map(|day| day > 0 && source.random_bool(0.45)).collect();
        let delay = [0, 0, 1][page as usize % 3];
        if page % 3 > 0 {
            let leader = &pages[page as usize / 3 * 3].changed;
            changed = (0..=last as usize).map(|day| day > delay && leader[day - delay]).collect();
        }
        let links: Box<[u32]> = [(page + 1) % count].into();
        let mut texts = Vec::new();
        let mut shown = Vec::new();
        let mut moves = 0;
        for &change in &changed {
            moves += u32::from(change);
            if change || texts.is_empty() {
                let word = 100 + page / 3;
                let words =
                    vec![(page % 4, 3), (word, 2 + 20 * (moves % 2)), (500 + (page * 7 + 1) % count, 4)];
                texts.push(PageBag::new(words.into(), links.clone()));
            }
            shown.push(texts.len() as u32 - 1);
        }
        let observed = changed.clone();
        pages.push(ExpertPage {
            place: page,
            name: format!("page {page}").into(),
            changed,
            observed,
            texts,
            shown,
        });
    }
    FixedPages { pages, last, has_texts: true }
}

/// The same recording without texts.
pub fn bits_of(mut recording: FixedPages) -> FixedPages {
    for page in &mut recording.pages {
        (page.texts, page.shown) = (Vec::new(), Vec::new());
    }
    FixedPages { has_texts: false, ..recording }
}

/// Other contents and bits from a day on. The recorded changes stay: they are what predictions are compared with.
pub fn other_future(mut recording: FixedPages, from: u32) -> FixedPages {
    let count = recording.pages.len() as u32;
    for (place, page) in recording.pages.iter_mut().enumerate() {
        let place = place as u32;
        for day in from..=recording.last {
            page.observed[day as usize] ^= (day + place).is_multiple_of(2);
            let words = vec![(place % 5, 40), (100 + day % 7, 9), (700 + place, 3)];
            page.shown[day as usize] = page.texts.len() as u32;
            page.texts.push(PageBag::new(words.into(), [(place + 3) % count].into()));
        }
    }
    recording
}

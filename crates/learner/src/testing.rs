//! Test helpers: a small vocabulary, random trees, a small data set.

use crate::create;
use crate::tree::TreeLimits;
use crate::vocabulary::Vocabulary;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use recrawl_formula::terminal::TerminalSet;
use recrawl_formula::{Expr, Function, Terminal};
use recrawl_simulation::{Dataset, RecordedPage, Truth};

/// The basic terminals, some constants and the functions of the papers.
pub fn vocabulary() -> Vocabulary {
    let functions = ["add", "sub", "mul", "div", "log", "pow", "exp"];
    Vocabulary {
        terminals: ["n", "X", "t"].map(|name| Terminal::named(name).unwrap()).to_vec(),
        constants: vec![0.001, 0.5, 1.0, 10.0],
        functions: functions.map(|name| Function::named(name).unwrap()).to_vec(),
    }
}

/// New trees up to this depth.
pub fn trees(depth: usize) -> impl Strategy<Value = Expr> {
    trees_with(vocabulary(), depth)
}

/// The same with these terminals.
pub fn trees_of(terminals: TerminalSet, depth: usize) -> impl Strategy<Value = Expr> {
    trees_with(Vocabulary { terminals: terminals.terminals().to_vec(), ..vocabulary() }, depth)
}

fn trees_with(vocabulary: Vocabulary, depth: usize) -> impl Strategy<Value = Expr> {
    any::<u64>().prop_map(move |seed| {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let depth = rng.random_range(2..depth + 1);
        let limits = TreeLimits { depth, nodes: 512 };
        match rng.random_range(0..3) {
            0 => create::full(&vocabulary, depth, limits, rng),
            1 => create::grow(&vocabulary, depth, limits, rng),
            _ => create::branch(&vocabulary, depth, rng),
        }
    })
}

/// Pages with different change rates, from once in two cycles to never. `cycles` includes the first
/// observation and is at most 64.
pub fn data(pages: usize, cycles: u32, sites: u32) -> Dataset {
    let rng = &mut ChaCha8Rng::seed_from_u64(99);
    let last = cycles - 1;
    let page = |i: usize| RecordedPage {
        url: format!("page {i}").into(),
        site: i as u32 % sites,
        group: i as u32 % sites,
        last,
        ..RecordedPage::default()
    };
    let word = |i: usize| {
        let rate = [0.5, 0.2, 0.1, 0.05, 0.01, 0.0][i / 2 % 6];
        (1..=last).filter(|_| rng.random_bool(rate)).fold(0u64, |word, cycle| word | 1 << cycle)
    };
    Dataset {
        name: "rates".into(),
        dates: Vec::new(),
        pages: (0..pages).map(page).collect(),
        sites: (0..sites).map(|s| format!("site {s}")).collect(),
        groups: (0..sites).map(|s| format!("group {s}")).collect(),
        truth: Truth::from_words(last, (0..pages).map(word).collect()),
        signals: Default::default(),
        contents: None,
        beginning: None,
    }
}

/// Folders of `pages` pages each, with URLs, on three hosts. A folder changes as a whole now and then, and a page now
/// and then by itself. `cycles` is as for [`data`].
pub fn folders(folders: usize, pages: usize, cycles: u32, seed: u64) -> Dataset {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let last = cycles - 1;
    let mut together = Vec::new();
    for _ in 0..folders {
        together
            .push((1..=last).filter(|_| rng.random_bool(0.08)).fold(0u64, |word, cycle| word | 1 << cycle));
    }
    let word = |i: usize| {
        let alone = (1..=last).filter(|_| rng.random_bool(0.04)).fold(0u64, |word, cycle| word | 1 << cycle);
        alone | together[i / pages]
    };
    let words: Vec<u64> = (0..folders * pages).map(word).collect();
    let page = |i: usize| {
        let host = (i / pages % 3) as u32;
        let url = format!("https://host{host}.test/folder{}/page{i}", i / pages).into();
        RecordedPage { url, site: host, group: (i / pages) as u32, last, ..RecordedPage::default() }
    };
    Dataset {
        name: "folders".into(),
        dates: Vec::new(),
        pages: (0..folders * pages).map(page).collect(),
        sites: (0..3).map(|host| format!("host{host}.test")).collect(),
        groups: (0..folders).map(|folder| format!("folder {folder}")).collect(),
        truth: Truth::from_words(last, words),
        signals: Default::default(),
        contents: None,
        beginning: None,
    }
}

//! Test helpers: a small vocabulary, random trees, a small data set.

use crate::create;
use crate::tree::Limits;
use crate::vocabulary::Vocabulary;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
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
    any::<u64>().prop_map(move |seed| {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let depth = rng.random_range(2..depth + 1);
        let limits = Limits { depth, nodes: 512 };
        match rng.random_range(0..3) {
            0 => create::full(&vocabulary(), depth, limits, rng),
            1 => create::grow(&vocabulary(), depth, limits, rng),
            _ => create::branch(&vocabulary(), depth, rng),
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
        first: 0,
        last,
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
    }
}

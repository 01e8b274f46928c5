//! Formulas. Input: an expression, or a formula file.

use crate::FuzzTarget;
use recrawl_formula::{Basis, Expr, Formula, ParseError, Program, Protection, parse, simplify};
use recrawl_types::{Cycle, History, Known, StateColumns};

/// Parser, printer, simplifier and compiler of formulas as a target.
pub const TARGET: FuzzTarget = FuzzTarget { name: "formula", check };

/// The cycle that is planned.
const NOW: Cycle = Cycle(40);

/// Asserts that an expression that parses comes back from its printed form, within the limits, and that the
/// simplified one is no larger and scores the same, to the last bit, under every protection and basis.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match parse(&text) {
        Ok(expr) => holds(&expr),
        Err(error) => points_into(&error, &text),
    }
    if let Ok(formula) = Formula::from_toml(&text) {
        // A name or an expression that is too long to be written is refused, and nothing else.
        if let Ok(written) = formula.to_toml() {
            let again = Formula::from_toml(&written).expect("what was written can be read");
            // As text, since a provenance may hold NaN, which is equal to nothing.
            assert_eq!(again.to_toml().expect("and written again"), written);
            assert_eq!(again.expr, formula.expr);
        }
    }
}

/// The place of an error can be shown.
fn points_into(error: &ParseError, text: &str) {
    assert!(!error.to_string().is_empty() && error.caret(text).lines().count() == 2, "{text:?}");
}

fn holds(expr: &Expr) {
    assert!(expr.nodes() <= Expr::MAX_NODES && expr.depth() <= Expr::MAX_DEPTH);
    let printed = expr.to_string();
    match parse(&printed) {
        Ok(again) => assert_eq!(&again, expr, "{printed}"),
        // Spaces and digits may make a text longer than it was.
        Err(_) => assert!(printed.len() > Expr::MAX_BYTES, "{printed} cannot be read back"),
    }
    let pages = pages();
    for protection in Protection::ALL {
        let simple = simplify(expr, protection);
        assert!(
            simple.nodes() <= expr.nodes() && simple.depth() <= expr.depth(),
            "{printed} became {simple}"
        );
        assert_eq!(simplify(&simple, protection).to_string(), simple.to_string(), "{printed} is not done");
        for basis in Basis::ALL {
            let mut scores = [Vec::new(), Vec::new()];
            for (expr, scores) in [expr, &simple].into_iter().zip(&mut scores) {
                Program::compile(expr, protection, basis).evaluate(&pages, NOW, scores);
            }
            let [plain, simplified] = scores;
            let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
            let equal = plain.iter().zip(&simplified).all(|(a, b)| same(*a, *b));
            assert!(equal, "{printed} and {simple}, {protection}, {basis}: {plain:?} and {simplified:?}");
        }
    }
}

/// Pages of all sorts: never visited, seen once, often, changed always, never, of late.
fn pages() -> StateColumns {
    let mut pages = StateColumns { global_rate: 0.05, ..StateColumns::default() };
    let mut push = |history: Option<&History>, rate: f64| {
        pages.push(Known::default(), history);
        pages.site_rate.push(rate);
        pages.section_rate.push(rate);
        pages.sibling_rate.push(rate);
        pages.burst.push(1.0 + rate);
    };
    push(None, 0.1);
    for (first, gap, changes) in
        [(1, 1, 0b0), (1, 1, u64::MAX), (3, 2, 0b1010), (5, 7, 0b1), (39, 1, 0), (1, 3, 0b1100_1111)]
    {
        let mut history = History::first_fetch(Cycle(first));
        push(Some(&history), 1e-6);
        for step in 1..=(NOW.0 - first) / gap {
            history.record(Cycle(first + step * gap), changes >> (step % 64) & 1 == 1);
        }
        push(Some(&history), 0.5 / f64::from(gap));
    }
    pages
}

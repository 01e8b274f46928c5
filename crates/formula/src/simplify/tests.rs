use super::*;
use crate::testing::{self, NOW};
use crate::{Basis, Program, SiteRates, parse};
use proptest::prelude::*;
use recrawl_types::History;

fn simple(text: &str) -> String {
    simplify(&parse(text).unwrap(), Protection::Program).to_string()
}

#[test]
fn what_can_go_goes() {
    for (text, shorter) in [
        ("t * (2 + 3)", "t * 5"),
        ("1 * t / 1", "t"),
        ("t + 0", "t"),
        ("0 + exp(-X)", "exp(-X)"),
        ("t - 0", "t"),
        ("- -t", "t"),
        ("t + -n", "t - n"),
        ("t - -n", "t + n"),
        ("t + pow(n, 0) + pow(1, X)", "t + 1 + 1"),
        ("X / 0", "X / 0"),
        ("1 / 0", "1000000"),
        ("log(0.5) + t", "t"),
    ] {
        assert_eq!(simple(text), shorter, "{text}");
    }
}

#[test]
fn what_would_change_a_value_stays() {
    for text in
        ["t * 0", "t - t", "t / t", "0 - t", "t * -n + 0", "exp(710) * t", "pow(-1, 0.5)", "pow(t, 1)"]
    {
        assert_eq!(simple(text), text);
    }
}

#[test]
fn constants_fold_as_the_protection_says() {
    let expr = parse("t + 1 / 0").unwrap();
    assert_eq!(simplify(&expr, Protection::Journal).to_string(), "t");
    assert_eq!(simplify(&expr, Protection::Thesis).to_string(), "t + 1000000");
}

#[test]
fn the_sign_of_a_nan_does_not_show() {
    // The first NaN passes through a product, the second does not, and their bits may differ.
    let expr = parse("log(-97) * 1 / 0").unwrap();
    let simple = simplify(&expr, Protection::Thesis);
    assert_eq!(simple.to_string(), "log(-97) / 0");
    let history = History::default();
    let of = |expr| value(expr, Protection::Thesis, Basis::Visits, &history);
    assert_eq!((of(&expr), of(&simple)), (1e6, 1e6));
}

fn value(expr: &Expr, protection: Protection, basis: Basis, history: &History) -> f64 {
    let columns = testing::block_of(history, SiteRates { global: 0.03, site: 0.2 });
    let mut out = Vec::new();
    Program::compile(expr, protection, basis).evaluate(&columns, NOW, &mut out);
    out[0]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Simplifying changes no score, bit for bit, makes nothing larger, and is idempotent.
    #[test]
    fn simplifying_changes_no_value(
        expr in testing::expressions(),
        protection in testing::protections(),
        basis in testing::bases(),
        histories in prop::collection::vec(testing::histories(), 1..4),
    ) {
        let simple = simplify(&expr, protection);
        prop_assert!(simple.nodes() <= expr.nodes() && simple.depth() <= expr.depth());
        prop_assert_eq!(simplify(&simple, protection).to_string(), simple.to_string());
        for h in &histories {
            let (before, after) = (value(&expr, protection, basis, h), value(&simple, protection, basis, h));
            prop_assert!(testing::same(before, after), "{} = {}, {} = {}", expr, before, simple, after);
        }
    }
}

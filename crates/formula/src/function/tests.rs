use super::*;
use crate::testing;
use std::collections::HashSet;

#[test]
fn every_function_of_the_folder_is_in_the_list() {
    let listed: Vec<String> = ALL.iter().map(|f| f.name.to_owned()).collect();
    testing::assert_lists_folder(&listed, "src/function", "rs");
}

#[test]
fn every_function_is_found_by_the_way_it_is_written() {
    let mut seen = HashSet::new();
    for function in ALL {
        assert!(seen.insert(format!("{:?}", (function.syntax, function.name))));
        assert_eq!(Function::named(function.name), Some(*function));
        let found = match function.syntax {
            Syntax::Infix { symbol, .. } => Function::infix(symbol).map(|(f, _)| f),
            Syntax::Prefix { symbol } => Function::prefix(symbol),
            Syntax::Call => Function::called(function.name),
        };
        assert_eq!(found, Some(*function));
        for protection in Protection::ALL {
            let unary = matches!((function.kernel)(protection), Kernel::Unary(_));
            assert_eq!(unary, function.arity == 1, "{}", function.name);
        }
    }
    assert!(Function::called("add").is_none(), "an operator is not called");
}

/// The table of protections, line by line.
#[test]
fn division_and_logarithm_are_protected_as_named() {
    use Protection::{Journal, Program, Thesis};
    let div = |p, x, y| Function::named("div").unwrap().apply(p, &[x, y]);
    for (p, x, y, expected) in [
        (Program, 3.0, 0.0, 1e6),
        (Program, -3.0, 0.0, 1e6),
        (Program, -3.0, 1e-7, -1e6),
        (Program, 3.0, -1e-7, -1e6),
        (Program, 3.0, 1e-6, 3e6),
        (Program, 0.0, 0.0, 1e6),
        (Thesis, 3.0, 0.0, 1e6),
        (Thesis, -3.0, 0.0, -1e6),
        (Thesis, -3.0, -1e-7, 1e6),
        (Thesis, 3.0, -1e-7, -1e6),
        (Journal, 3.0, 0.0, 0.0),
        (Journal, 3.0, -0.0, 0.0),
        (Journal, 3.0, 1e-7, 3.0 / 1e-7),
    ] {
        assert_eq!(div(p, x, y), expected, "{p}: {x} / {y}");
    }
    for p in Protection::ALL {
        assert_eq!(div(p, 1.0, 4.0), 0.25);
        assert!(div(p, f64::NAN, 2.0).is_nan() && div(p, 2.0, f64::NAN).is_nan());
    }
    let log = |p, x| Function::named("log").unwrap().apply(p, &[x]);
    for (p, x, expected) in [
        (Program, 0.0, 0.0),
        (Program, 0.5, 0.0),
        (Program, -1.0, 0.0),
        (Program, -3.0, 3f64.ln()),
        (Thesis, 0.0, 0.0),
        (Thesis, 0.5, 0.5f64.ln()),
        (Journal, 0.0, 0.0),
        (Journal, -3.0, 0.0),
        (Journal, 0.5, 0.5f64.ln()),
    ] {
        assert_eq!(log(p, x), expected, "{p}: log {x}");
    }
    assert!(log(Thesis, -3.0).is_nan());
    assert!(Protection::ALL.iter().all(|&p| log(p, f64::NAN).is_nan()));
}

#[test]
fn exp_and_pow_are_plain() {
    for p in Protection::ALL {
        let exp = Function::named("exp").unwrap();
        let pow = Function::named("pow").unwrap();
        assert_eq!(exp.apply(p, &[1000.0]), f64::INFINITY);
        assert!(pow.apply(p, &[-1.0, 0.5]).is_nan());
        assert_eq!(pow.apply(p, &[0.0, -1.0]), f64::INFINITY);
        assert_eq!(pow.apply(p, &[2.0, 10.0]), 1024.0);
    }
}

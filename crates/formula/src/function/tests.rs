use super::*;
use crate::testing::{self, same};
use proptest::prelude::*;
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
            FunctionSyntax::Infix { symbol, .. } => Function::infix(symbol).map(|(f, _)| f),
            FunctionSyntax::Prefix { symbol } => Function::prefix(symbol),
            FunctionSyntax::Call => Function::called(function.name),
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
        (Program, -3.0, crate::math::ln(3.0)),
        (Thesis, 0.0, 0.0),
        (Thesis, 0.5, crate::math::ln(0.5)),
        (Journal, 0.0, 0.0),
        (Journal, -3.0, 0.0),
        (Journal, 0.5, crate::math::ln(0.5)),
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

#[test]
fn the_lesser_the_greater_and_the_root() {
    for p in Protection::ALL {
        let of = |name: &str, arguments: &[f64]| Function::named(name).unwrap().apply(p, arguments);
        for (x, y) in [(1.0, 2.0), (2.0, 1.0), (f64::NEG_INFINITY, 0.0), (3.0, f64::INFINITY)] {
            assert_eq!((of("min", &[x, y]), of("max", &[x, y])), (x.min(y), x.max(y)));
        }
        for name in ["min", "max"] {
            assert!(of(name, &[f64::NAN, 1.0]).is_nan() && of(name, &[1.0, f64::NAN]).is_nan());
            assert!(same(of(name, &[0.0, -0.0]), -0.0) && same(of(name, &[-0.0, 0.0]), 0.0));
        }
        assert_eq!(of("sqrt", &[6.25]), 2.5);
        assert!(of("sqrt", &[-1.0]).is_nan() && same(of("sqrt", &[-0.0]), -0.0));
    }
}

#[test]
fn sets_are_that_of_the_papers_and_everything() {
    let basic: Vec<_> = FunctionSet::Basic.functions().iter().map(|f| f.name).collect();
    assert_eq!(basic, ["add", "sub", "mul", "div", "log", "exp", "pow"]);
    assert_eq!(FunctionSet::Extended.functions(), ALL);
    for set in FunctionSet::ALL {
        assert_eq!(FunctionSet::named(set.name()), Some(set));
        assert_eq!(toml::Value::try_from(set).unwrap().as_str(), Some(set.name()));
    }
    assert_eq!(FunctionSet::named("all"), None);
}

proptest! {
    /// Over many rows, with any vector instructions, a function gives the same as for one row
    /// alone. A constant argument equals a column of it.
    #[test]
    fn rows_are_computed_alike_side_by_side_and_alone(
        pairs in prop::collection::vec((testing::numbers(), testing::numbers()), 1..80),
        protection in testing::protections(),
    ) {
        let (x, y): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let mut out = vec![0.0; x.len()];
        for function in ALL {
            let one = |x: f64, y: f64| function.apply(protection, &[x, y][..function.arity]);
            match (function.kernel)(protection) {
                Kernel::Unary(run) => {
                    run(&mut out, &x);
                    for (i, &value) in out.iter().enumerate() {
                        prop_assert!(same(value, one(x[i], 0.0)), "{} of {}", function.name, x[i]);
                    }
                }
                Kernel::Binary(run) => for constant in [None, Some(0), Some(1)] {
                    let operand = |side: usize, column| match constant {
                        Some(c) if c == side => Operand::Constant(column),
                        _ => Operand::Column(if side == 0 { &x } else { &y }),
                    };
                    run(&mut out, operand(0, x[0]), operand(1, y[0]));
                    for (i, &value) in out.iter().enumerate() {
                        let x = if constant == Some(0) { x[0] } else { x[i] };
                        let y = if constant == Some(1) { y[0] } else { y[i] };
                        prop_assert!(same(value, one(x, y)), "{} of {} and {}", function.name, x, y);
                    }
                },
            }
        }
    }
}

use super::*;
use crate::testing;
use proptest::prelude::*;

fn problem(text: &str) -> (usize, String) {
    let error = parse(text).expect_err(text);
    (error.column, error.problem.to_string())
}

#[test]
fn operators_group_to_the_left_and_products_bind_tighter() {
    for (text, same) in [
        ("1 + 2 * X - n", "(1 + (2 * X)) - n"),
        ("t - n - X", "(t - n) - X"),
        ("t / n * X", "(t / n) * X"),
        ("-t * X", "(-t) * X"),
        ("t * -X", "t * (-X)"),
        ("- - t", "-(-t)"),
        ("  pow( t ,\n2 )*log(n)\t", "pow(t, 2) * log(n)"),
        ("t--2", "t - (-2)"),
    ] {
        assert_eq!(parse(text).unwrap(), parse(same).unwrap(), "{text}");
    }
    assert_ne!(parse("t - (n - X)").unwrap(), parse("t - n - X").unwrap());
}

#[test]
fn numbers_are_read_as_written() {
    for (text, value) in [
        ("0.001", 0.001),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("2.5E-2", 0.025),
        ("-7", -7.0),
        ("1e-400", 0.0),
    ] {
        assert_eq!(parse(text), Ok(Expr::Constant(value)), "{text}");
    }
}

#[test]
fn a_minus_before_a_number_is_its_sign_and_elsewhere_negation() {
    assert_eq!(parse("-2").unwrap(), Expr::Constant(-2.0));
    assert_eq!(parse("-(2)").unwrap(), Expr::named("neg", vec![Expr::Constant(2.0)]));
    assert_eq!(Expr::named("neg", vec![Expr::Constant(2.0)]).to_string(), "-(2)");
    assert_eq!(Expr::named("neg", vec![Expr::Constant(-2.0)]).to_string(), "--2");
}

#[test]
fn text_has_no_more_parentheses_than_it_needs() {
    for text in [
        "t * (X + 0.1) / (n + 1)",
        "t - (n - X) - 1",
        "-(t + n) * -X",
        "pow(t, 0.5) / log(n * n)",
        "1 - exp(-nad * t)",
        "1e300 * 1e-7 + 0.00001",
    ] {
        assert_eq!(parse(text).unwrap().to_string(), text);
    }
}

#[test]
fn errors_say_what_and_where() {
    for (text, column, says) in [
        ("", 1, "a value should stand here, not the end"),
        ("t +", 4, "a value should stand here, not the end"),
        ("t + * n", 5, "a value should stand here, not '*'"),
        ("t n", 3, "expected an operator or the end, found 'n'"),
        ("(t + n", 7, "expected an operator or ')', found the end"),
        ("t)", 2, "expected an operator or the end, found ')'"),
        ("log(t", 6, "expected an operator, ',' or ')', found the end"),
        ("log(t n)", 7, "expected an operator, ',' or ')', found 'n'"),
        ("log(t, n)", 6, "log takes one argument"),
        ("pow(t)", 6, "pow takes 2 arguments"),
        ("pow(t, 2, 3)", 9, "pow takes 2 arguments"),
        ("log()", 5, "a value should stand here, not ')'"),
        ("t * nadd", 5, "unknown name 'nadd'; did you mean 'nad'?"),
        ("x * t", 1, "unknown name 'x'; did you mean 'X'?"),
        ("LOG(t)", 1, "unknown name 'LOG'; did you mean 'log'?"),
        ("log", 1, "log is a function: write log(...)"),
        ("log * 2", 1, "log is a function: write log(...)"),
        ("t (n + 1)", 1, "t is a value, not a function; is a '*' missing?"),
        ("t(2)", 1, "t is a value, not a function; is a '*' missing?"),
        ("2x", 1, "'2x' is not a number"),
        ("1.2.3", 4, "expected an operator or the end, found the number 0.3"),
        ("1e999", 1, "the number 1e999 is too large"),
        ("t × n", 3, "expected an operator or the end, found '×'"),
        ("t^2", 2, "expected an operator or the end, found '^'"),
    ] {
        assert_eq!(problem(text), (column, says.to_owned()), "{text}");
    }
    let (_, says) = problem("pagerank * t");
    assert!(says.starts_with("unknown name 'pagerank'; known are n, X, t, cg,"), "{says}");
    assert!(says.ends_with("sqrt()"), "{says}");
}

#[test]
fn the_caret_points_at_the_character() {
    let text = "n +\té + t";
    let error = parse(text).unwrap_err();
    assert_eq!((error.at, error.column), (4, 5));
    assert_eq!(error.caret(text), "n + é + t\n    ^");
}

#[test]
fn limits_hold_at_their_edge() {
    // A sum of k terms has depth k, 2k − 1 nodes when grouped to the left.
    let sum = |k: usize| vec!["t"; k].join("+");
    assert_eq!(parse(&sum(Expr::MAX_DEPTH)).unwrap().depth(), Expr::MAX_DEPTH);
    assert_eq!(problem(&sum(Expr::MAX_DEPTH + 1)).1, ParseProblem::TooDeep.to_string());

    // A balanced sum of 256 terms has 511 nodes; a sign makes 512, another one too many.
    fn balanced(levels: u32) -> String {
        if levels == 0 { "t".into() } else { format!("({0}+{0})", balanced(levels - 1)) }
    }
    let full = format!("-{}", balanced(8));
    assert_eq!(parse(&full).unwrap().nodes(), Expr::MAX_NODES);
    assert_eq!(problem(&format!("-{full}")).1, ParseProblem::TooManyNodes.to_string());

    let padded = format!("{:<width$}", "t", width = Expr::MAX_BYTES);
    assert!(parse(&padded).is_ok());
    assert_eq!(problem(&format!("{padded} ")).1, ParseProblem::TooLong.to_string());

    // Parentheses are not in the tree, but the stack is bounded all the same.
    let nested = |k: usize| format!("{}t{}", "(".repeat(k), ")".repeat(k));
    assert_eq!(parse(&nested(MAX_NESTING)).unwrap().nodes(), 1);
    assert_eq!(problem(&nested(MAX_NESTING + 1)).1, ParseProblem::TooDeep.to_string());
    assert_eq!(problem(&"-".repeat(Expr::MAX_BYTES)).1, ParseProblem::TooDeep.to_string());
}

proptest! {
    /// Printed text parses to the same tree, with every bit of a constant.
    #[test]
    fn parsing_undoes_printing(expr in testing::expressions()) {
        let text = expr.to_string();
        let read = parse(&text).map_err(|e| TestCaseError::fail(format!("{text}: {e}")))?;
        prop_assert_eq!(&read, &expr, "{}", text);
        prop_assert_eq!(read.to_string(), text, "−0 and 0 are equal but not the same");
    }

    /// The parser panics for no text, and errors lie within the text.
    #[test]
    fn any_text_is_an_expression_or_an_error(text in "[ntXpgeo0-9.+*/(), é\\-]{0,40}") {
        match parse(&text) {
            Ok(expr) => prop_assert_eq!(parse(&expr.to_string()).unwrap(), expr),
            Err(error) => {
                prop_assert!(error.at <= text.len() && text.is_char_boundary(error.at));
                prop_assert!(error.caret(&text).ends_with('^'));
            }
        }
    }
}

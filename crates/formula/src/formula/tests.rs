use super::*;
use crate::testing;
use proptest::prelude::*;
use std::path::Path;

const FILE: &str = r#"
name = "learned-7"
description = "from the third fold"
expression = "pow(t, 0.5) * aad / X"
terminals = ["t", "aad", "X"]
protection = "journal"
estimators = "cycles"

[provenance]
data = "cloud-docs"
data_digest = "sha1:0a1b"
protocol = "journal"
fitness = "ndcg_log2"
random_seed = 111
train = 0.71
validation = 0.7
test = 0.69
date = "2025-01-31"
program_version = "0.1.0"
"#;

#[test]
fn a_formula_file_is_read_and_written_whole() {
    let formula = Formula::from_toml(FILE).unwrap();
    assert_eq!(formula.expr.to_string(), "pow(t, 0.5) * aad / X");
    assert_eq!((formula.protection, formula.basis), (Protection::Journal, Basis::Cycles));
    assert_eq!((formula.provenance.random_seed, formula.provenance.test), (Some(111), Some(0.69)));
    assert_eq!(Formula::from_toml(&formula.to_toml().unwrap()).unwrap(), formula);
}

#[test]
fn name_and_expression_are_enough() {
    let formula = Formula::from_toml("name = \"mine\"\nexpression = \"t\"").unwrap();
    assert_eq!((formula.protection, formula.basis), (Protection::Program, Basis::Visits));
    assert_eq!(formula.provenance, Provenance::default());
}

#[test]
fn a_file_with_something_wrong_is_refused_with_the_reason() {
    for (wrong, says) in [
        (FILE.replace("description", "descripton"), "unknown field `descripton`"),
        (FILE.replace("fitness", "fitnes"), "unknown field `fitnes`"),
        (FILE.replace("journal\"\nestimators", "none\"\nestimators"), "unknown variant `none`"),
        (FILE.replace("\"t\", \"aad\"", "\"t\", \"gad\""), "but the expression uses [X, t, aad]"),
        (FILE.replace("\"t\", \"aad\", \"X\"", "\"t\", \"t\", \"X\""), "but the expression uses [X, t, aad]"),
        (
            FILE.replace("aad / X", "aad / Z"),
            "expression 'pow(t, 0.5) * aad / Z', column 21: unknown name 'Z'",
        ),
        (FILE.replace("learned-7", ""), "name \"\""),
        (FILE.replace("learned-7", "a\\nb"), "no control characters"),
        (FILE.replace("expression", "# expression"), "missing field `expression`"),
        ("name = ".to_owned(), "TOML parse error at line 1"),
    ] {
        let error = Formula::from_toml(&wrong).expect_err(says).to_string();
        assert!(error.contains(says), "{error}\nshould say: {says}");
    }
}

#[test]
fn what_cannot_be_read_back_is_not_written() {
    let endless = Formula { name: "endless".into(), ..Formula::new(Expr::Constant(f64::INFINITY)) };
    assert!(matches!(endless.to_toml(), Err(FormulaError::Unprintable(_))));
    let mut deep = Expr::named("t", vec![]);
    for _ in 0..Expr::MAX_DEPTH {
        deep = Expr::named("exp", vec![deep]);
    }
    assert!(matches!(Formula::new(deep).to_toml(), Err(FormulaError::Unprintable(_))));
}

#[test]
fn files_are_saved_whole_and_errors_name_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let formula = Formula::from_expression("t * X").unwrap();
    formula.save(&path).unwrap();
    assert_eq!(Formula::load(&path).unwrap(), formula);
    formula.save(&path).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");

    let missing = Formula::load(&folder.path().join("none.toml")).unwrap_err().to_string();
    assert!(missing.contains("none.toml") && missing.starts_with("cannot read"), "{missing}");
    std::fs::write(&path, "name = 1").unwrap();
    let wrong = Formula::load(&path).unwrap_err().to_string();
    assert!(wrong.contains("mine.toml") && wrong.contains("invalid type"), "{wrong}");
    std::fs::write(&path, "#".repeat(70_000)).unwrap();
    let long = Formula::load(&path).unwrap_err().to_string();
    assert!(long.contains("at most 64 KiB"), "{long}");
    let nowhere = formula.save(Path::new("/nonexistent/folder/f.toml")).unwrap_err().to_string();
    assert!(nowhere.starts_with("cannot write formula file /nonexistent/folder/f.toml"), "{nowhere}");
}

proptest! {
    /// Any expression survives its file, and compiling simplifies it without changing a score.
    #[test]
    fn any_formula_survives_its_file(
        expr in testing::expressions(),
        protection in testing::protections(),
        basis in testing::bases(),
    ) {
        let formula = Formula { name: "any".into(), protection, basis, ..Formula::new(expr) };
        prop_assert_eq!(&Formula::from_toml(&formula.to_toml().unwrap()).unwrap(), &formula);
        prop_assert!(formula.compile().cost() <= formula.expr.nodes());
    }
}

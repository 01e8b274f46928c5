//! docs/formulas.md lists every terminal and function.

use recrawl_formula::function::Syntax;
use recrawl_formula::{
    Basis, Expr, Formula, Function, Priors, Protection, builtin, estimator, function, terminal,
};

const PAGE: &str = include_str!("../../../docs/formulas.md");

/// The table for the page; the test fails and prints it if the page differs.
fn assert_listed(head: &str, rows: impl Iterator<Item = Vec<String>>) {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | ").replace("||", "\\|\\|"));
    let columns = head.split(" | ").count();
    let mut table = format!("| {head} |\n|{}\n", "---|".repeat(columns));
    rows.for_each(|cells| table += &line(&cells));
    assert!(PAGE.contains(&format!("\n{table}\n")), "docs/formulas.md should have this table:\n{table}");
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

#[test]
fn terminals_are_listed() {
    let mut list = String::new();
    for t in terminal::ALL {
        let set = terminal::Set::ALL.into_iter().find(|set| set.terminals().contains(t));
        list +=
            &format!("- `{}` ({}): {}\n", t.name, set.map_or("none".into(), |set| set.to_string()), t.help);
    }
    assert!(PAGE.contains(&format!("\n\n{list}\n")), "docs/formulas.md should have this list:\n{list}");
}

#[test]
fn the_formula_file_on_the_page_is_one() {
    let (_, rest) = PAGE.split_once("```toml\n").expect("the page has an example");
    let (file, _) = rest.split_once("```").expect("the example ends");
    let formula = Formula::from_toml(file).expect("it can be read");
    assert!(formula.check().warnings().is_empty() && formula.name == "mine");
    let expression = Formula::from_expression(&formula.expr.to_string()).expect("it is one");
    let defaults = (expression.protection, expression.basis);
    assert_eq!((formula.protection, formula.basis), defaults, "the page calls them defaults");
    let keys = file.lines().filter_map(|line| line.split_once(" = ")).filter(|(key, _)| *key != "source");
    assert!(keys.clone().count() == 6 && keys.clone().all(|(key, _)| PAGE.contains(&format!("- `{key}`: "))));
}

fn written(function: &Function) -> String {
    match function.syntax {
        Syntax::Infix { symbol, .. } => format!("x {symbol} y"),
        Syntax::Prefix { symbol } => format!("{symbol}x"),
        Syntax::Call if function.arity == 1 => format!("{}(x)", function.name),
        Syntax::Call => format!("{}(x, y)", function.name),
    }
}

#[test]
fn functions_are_listed() {
    assert_listed(
        "function | from set | what",
        function::ALL.iter().map(|f| {
            let mut sets = function::Set::ALL.into_iter();
            let set = sets.find(|set| set.functions().contains(f)).expect("in the last of them");
            vec![code(&written(f)), set.to_string(), f.help.into()]
        }),
    );
}

#[test]
fn protections_are_listed_with_what_they_yield() {
    let of = |name: &str, p: Protection, arguments: &[f64]| {
        Function::named(name).expect("a function").apply(p, arguments).to_string()
    };
    assert_listed(
        "protection | 3 / 0 | -3 / 0 | 3 / -1e-7 | log(0) | log(0.5) | log(-3)",
        Protection::ALL.into_iter().map(|p| {
            let quotients = [[3.0, 0.0], [-3.0, 0.0], [3.0, -1e-7]].map(|xy| of("div", p, &xy));
            let logarithms = [0.0, 0.5, -3.0].map(|x| of("log", p, &[x]));
            [vec![code(p.name())], quotients.into(), logarithms.into()].concat()
        }),
    );
}

#[test]
fn estimators_are_listed_in_both_bases() {
    let [visits, cycles] = Basis::ALL.map(Basis::name);
    assert_listed(
        &format!("estimator | `{visits}` | `{cycles}`"),
        estimator::ALL.iter().map(|e| vec![code(e.name), e.visits.into(), e.cycles.into()]),
    );
}

#[test]
fn formulas_that_come_with_the_program_are_listed() {
    let mut list = String::new();
    for b in builtin::ALL {
        let f = b.formula();
        let (expression, source) = (f.expr.to_string(), f.provenance.source.expect("it has one"));
        let expression = if expression == f.name { String::new() } else { format!(" = `{expression}`") };
        list += &format!("- `{}`{expression}: {source}\n", f.name);
    }
    assert!(PAGE.contains(&format!("\n\n{list}\n")), "docs/formulas.md should have this list:\n{list}");
}

#[test]
fn numbers_in_the_text_are_those_of_the_code() {
    assert_eq!((Expr::MAX_BYTES, Expr::MAX_NODES, Expr::MAX_DEPTH), (4096, 512, 64));
    assert!(PAGE.contains("at most 4,096 bytes, 512 nodes and depth 64"));
    assert!(PAGE.contains(&format!("with the shape a = {}", Priors::SHAPE)));
    assert_eq!(Protection::NEAR_ZERO, 1e-6);
    assert!(PAGE.contains("nearer to 0 than 10⁻⁶"));
}

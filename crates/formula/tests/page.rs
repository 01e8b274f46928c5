//! docs/formulas.md lists every terminal and function; the example of docs/looking-again.md is computed.

use recrawl_formula::function::FunctionSyntax;
use recrawl_formula::{
    Basis, Expr, Formula, Function, Priors, Protection, builtin, estimator, function, terminal,
};

use recrawl_types::{Cycle, History, Known, StateColumns};

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
        let set = terminal::TerminalSet::ALL.into_iter().find(|set| set.terminals().contains(t));
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
        FunctionSyntax::Infix { symbol, .. } => format!("x {symbol} y"),
        FunctionSyntax::Prefix { symbol } => format!("{symbol}x"),
        FunctionSyntax::Call if function.arity == 1 => format!("{}(x)", function.name),
        FunctionSyntax::Call => format!("{}(x, y)", function.name),
    }
}

#[test]
fn functions_are_listed() {
    assert_listed(
        "function | from set | what",
        function::ALL.iter().map(|f| {
            let mut sets = function::FunctionSet::ALL.into_iter();
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

#[test]
fn the_example_of_looking_again_has_the_figures_of_the_balanced_formula() {
    const EXAMPLE: &str = include_str!("../../../docs/looking-again.md");
    let chance = Formula::from_expression("p_next_section").expect("a terminal").compile();
    let balanced = builtin::resolve("balanced").expect("a built-in formula").compile();
    let mut rows = String::new();
    for (words, every, changed) in
        [("30 visits, 30 changes", 1, 30), ("6 visits, 2 changes", 5, 2), ("3 visits, no change", 10, 0)]
    {
        let mut history = History::first_fetch(Cycle(1));
        (1..=30 / every).for_each(|visit| history.record(Cycle(1 + visit * every), visit <= changed));
        let rate = || vec![0.02];
        let mut page = StateColumns {
            global_rate: 0.02,
            site_rate: rate(),
            section_rate: rate(),
            sibling_rate: rate(),
            burst: vec![1.0],
            ..StateColumns::default()
        };
        page.push(Known::default(), Some(&history));
        let score = |program: &recrawl_formula::Program, days: u32| {
            let mut score = Vec::new();
            program.evaluate(&page, Cycle(31 + days), &mut score);
            score[0]
        };
        let chances = [1, 2, 8, 30].map(|days| format!("{:.0} %", 100.0 * score(&chance, days)));
        let wait = (1..1_000).find(|days| score(&balanced, *days) >= 1.0 / 3.0).expect("no page starves");
        rows += &format!("| {words} | {} | {wait} days |\n", chances.join(" | "));
    }
    assert!(EXAMPLE.contains(&rows), "docs/looking-again.md should have these rows:\n{rows}");
}

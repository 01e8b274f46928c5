//! The measures as Markdown.

use super::House;
use super::plan::{CrateGraph, Rooms};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A folder inside a crate has a row of its own if it has at least this number of rooms.
const LARGE: usize = 20;
/// Crates through which every page of a round goes.
const ROUND: [&str; 6] = ["archive", "crawl", "fetcher", "repository", "scheduler", "verifier"];

/// The crates and their large folders, each with its plan, path and rooms.
fn folders<'a>(house: &'a House) -> Vec<(&'a CrateGraph<'a>, String, Rooms)> {
    let mut found = Vec::new();
    for (name, plan) in &house.plans {
        let parents = plan.files.iter().flat_map(|f| (1..f.module.len()).map(|n| &f.module[..n]));
        let parents: BTreeSet<&[String]> = parents.chain([&[][..]]).collect();
        for folder in parents {
            let rooms = plan.rooms(folder);
            if folder.is_empty() || rooms.names.len() >= LARGE {
                found.push((plan, [&[(*name).to_owned()], folder].concat().join("/"), rooms));
            }
        }
    }
    found
}

/// The table of rooms and arrows.
pub fn inside(house: &House) -> String {
    let mut text = String::from(
        "| inside | files | rooms | floors | arrows | run back up | pairs of rooms | largest circle of files (with parents) |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for (plan, path, rooms) in folders(house) {
        let largest = |circles: Vec<Vec<usize>>| circles.first().map_or(0, Vec::len);
        let (files, circle) = if path.contains('/') {
            ("–".into(), "–".into())
        } else {
            let circle = format!("{} ({})", largest(plan.circles()), largest(plan.uses.circles()));
            (plan.files.len().to_string(), circle)
        };
        let (graph, count) = (&rooms.graph, rooms.names.len());
        let (floors, arrows) = (graph.floors(), graph.arrows.len());
        let (back, pairs) = (graph.back_arrows().len(), graph.pairs().len());
        let row =
            format!("| `{path}` | {files} | {count} | {floors} | {arrows} | {back} | {pairs} | {circle} |\n");
        text.push_str(&row);
    }
    text
}

/// The table of measures, and the lines of each crate that `recrawl` links.
pub fn figures(house: &House) -> String {
    let lines = house.lines();
    let linked: Vec<&str> = lines.keys().copied().collect();
    let all: Vec<&str> = house.plans.keys().copied().collect();
    let plans = || linked.iter().map(|name| &house.plans[name]);
    let sum = |names: &[&str], of: &dyn Fn(&str) -> usize| names.iter().map(|name| of(name)).sum::<usize>();
    let circles: Vec<usize> = plans().flat_map(CrateGraph::circles).map(|circle| circle.len()).collect();
    let back = plans().map(|plan| plan.rooms(&[]).graph.back_arrows().len()).sum::<usize>();
    let long: Vec<usize> = ROUND.iter().flat_map(|n| house.long_functions(n)).map(|(_, n)| n).collect();
    let all_long = sum(&all, &|name| house.long_functions(name).len());
    let public = |name: &str| house.files(name).map(|f| f.public_items).sum::<usize>();
    let openings = sum(&all, &|name| house.doc_openings(name).len());
    let types = house.types();
    let rows = [
        (
            "product lines that `recrawl` links; other lines of these crates",
            format!("{}; {}", sum(&linked, &|name| lines[name].0), sum(&linked, &|name| lines[name].1)),
        ),
        (
            "back arrows; circles of files, of more than two files, inside these crates",
            format!("{back}; {}, {}", circles.len(), circles.iter().filter(|n| **n > 2).count()),
        ),
        (
            "functions over 70 lines in the round's path (longest); in all crates",
            format!("{} ({}); {all_long}", long.len(), long.iter().max().unwrap_or(&0)),
        ),
        (
            "public items of these crates; of all crates",
            format!("{}; {}", sum(&linked, &public), sum(&all, &public)),
        ),
        (
            "type names that serve several types",
            format!("{} of {}", types.values().filter(|n| **n > 1).count(), types.len()),
        ),
        (
            "`fn of`; doc comments that begin with What, Who, Whose",
            format!("{}; {openings}", sum(&all, &|name| house.functions_named_of(name).len())),
        ),
        (
            "plain comments for 100 lines in functions over 40 lines",
            format!("{:.1}", house.comments_in_long_functions()),
        ),
        ("doc tests", sum(&all, &|name| house.doc_tests(name)).to_string()),
        ("words of documentation", house.words().to_string()),
        ("bytes of `docs/bench`", house.bench_bytes().to_string()),
    ];
    let mut text = String::from("\n| measure | now |\n|---|--:|\n");
    rows.iter().for_each(|(measure, now)| writeln!(text, "| {measure} | {now} |").expect("a string grows"));
    text.push_str("\n| crate that `recrawl` links | product lines | other lines | functions over 70 lines |\n|---|--:|--:|--:|\n");
    for (name, (product, other)) in &lines {
        let long = house.long_functions(name).len();
        writeln!(text, "| `{name}` | {product} | {other} | {long} |").expect("a string grows");
    }
    text
}

/// The places behind the figures; for each back arrow its uses from file to file.
pub fn list(house: &House) -> String {
    let mut lines = Vec::new();
    for (plan, path, rooms) in folders(house) {
        lines.push(format!("\n## {path}\n"));
        for arrow @ (from, to) in rooms.graph.back_arrows() {
            let [from, to] = [from, to].map(|node| &rooms.names[node]);
            lines.push(format!("- back arrow `{from}` → `{to}`, uses: {}", rooms.graph.arrows[&arrow]));
            let of_arrow = |(a, b): &&(usize, usize)| {
                (rooms.rooms[*a], rooms.rooms[*b]) == (Some(arrow.0), Some(arrow.1))
            };
            for (a, b) in plan.uses.arrows.keys().filter(of_arrow) {
                lines.push(format!("  - {} → {}", plan.files[*a].path, plan.files[*b].path));
            }
        }
        for (a, b) in rooms.graph.pairs() {
            lines.push(format!("- pair `{}`, `{}`", rooms.names[a], rooms.names[b]));
        }
        if !path.contains('/') {
            for circle in plan.circles() {
                let files: Vec<&str> = circle.iter().map(|&node| plan.files[node].path).collect();
                lines.push(format!("- circle of {} files: {}", files.len(), files.join(", ")));
            }
            let long = house.long_functions(&path);
            lines.extend(long.iter().map(|(function, n)| format!("- {function}: {n} lines")));
            lines.extend(house.functions_named_of(&path).iter().map(|place| format!("- `fn of`: {place}")));
            lines
                .extend(house.doc_openings(&path).iter().map(|place| format!("- What, Who, Whose: {place}")));
        }
    }
    lines.push("\n## Type names that serve several types\n".into());
    let types: BTreeMap<&str, usize> = house.types().into_iter().filter(|(_, n)| *n > 1).collect();
    lines.extend(types.iter().map(|(name, n)| format!("- `{name}`: {n}")));
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;

    #[test]
    fn tables_and_list_name_the_same_arrows() {
        let workspace = Workspace::from_files(&[
            ("crates/recrawl/Cargo.toml", ""),
            ("crates/recrawl/src/main.rs", "mod a;\nmod b;\nfn main() { a::of() }\n"),
            ("crates/recrawl/src/a.rs", "use crate::b::B;\npub fn of() {}\n"),
            ("crates/recrawl/src/b.rs", "use crate::a;\npub struct B;\nfn f() { a::of() }\n"),
        ]);
        let house = House::read(&workspace);
        assert!(inside(&house).ends_with("| `recrawl` | 3 | 3 | 2 | 3 | 1 | 1 | 2 (2) |\n"));
        let figures = figures(&house);
        assert!(figures.contains(
            "\n| back arrows; circles of files, of more than two files, inside these crates | 1; 1, 0 |\n"
        ));
        assert!(figures.ends_with("\n| `recrawl` | 8 | 0 | 0 |\n"));
        let list = list(&house);
        let arrow = "- back arrow `a` → `b`, uses: 1\n  - crates/recrawl/src/a.rs → crates/recrawl/src/b.rs\n- pair `a`, `b`\n";
        assert!(list.contains(arrow), "{list}");
        assert!(list.contains("\n- `fn of`: crates/recrawl/src/a.rs:2\n"), "{list}");
    }
}

//! The measures of docs/internals/style.md may fall and not rise: crates/xtask/house.toml holds the
//! highest that are allowed.
//!
//! A lower figure is no complaint, or each of two branches that improve the code would fail after
//! the other; `cargo xtask tidy --fix` writes it down. Only a person raises a figure, in the
//! commit that needs it, where a reviewer sees it.

use crate::house::{House, Measures};
use crate::tidy::Complaint;
use crate::workspace::Workspace;

/// The file with the figures.
pub const KEPT: &str = "crates/xtask/house.toml";

const HEAD: &str = "\
# The highest figure that `cargo xtask tidy` allows for each measure of docs/internals/style.md.
# `cargo xtask tidy --fix` lowers them. Raise one by hand, and say why in the commit.
";

/// A measure: its name in the file, its name in complaints, and the remedy.
const MEASURES: &[(&str, &str, &str)] = &[
    (
        "back_arrows",
        "arrows between rooms that run back up",
        "move what both rooms need into a room below them",
    ),
    ("circle_files", "files in the largest circle", "pass data instead of using the file that calls"),
    ("doc_openings", "doc comments that begin with What, Who or Whose", "begin with a noun or verb"),
    ("fn_of", "functions named `of`", "name the function after its result"),
    (
        "lines_over_70",
        "lines of functions beyond 70 each",
        "split the function where its comments change the subject",
    ),
    (
        "product_lines",
        "product lines that `recrawl` links",
        "delete what nobody needs, or keep studies out of the program",
    ),
    ("shared_type_names", "type names that serve several types", "name the type after what it alone holds"),
    ("words", "words of documentation", "cut what is said elsewhere"),
];

/// Measures that change with every commit. They are kept in steps, so that few commits touch the
/// file.
const STEPS: &[(&str, usize)] = &[("product_lines", 1000), ("words", 1000)];

pub fn check(workspace: &Workspace) -> Vec<Complaint> {
    let Some(text) = workspace.text(KEPT) else {
        return vec![Complaint::of_file(KEPT, "the file is missing; write it with `cargo xtask tidy --fix`")];
    };
    let kept = match parse(text) {
        Ok(kept) => kept,
        Err(why) => return vec![Complaint::of_file(KEPT, why)],
    };
    let mut found = Vec::new();
    for (measure, places) in House::read(workspace).measures() {
        for (place, now) in places {
            let allowed = figure(&kept, &measure, &place);
            if now > allowed {
                let known = MEASURES.iter().find(|(name, ..)| *name == measure);
                let (_, what, remedy) = known.expect("a test compares the measures");
                let text = format!(
                    "{place}: {now} {what}, {allowed} allowed; {remedy} (`cargo xtask house --list` shows where), \
                     or raise {measure}.{place} and say why in the commit"
                );
                found.push(Complaint::of_file(KEPT, text));
            }
        }
    }
    found
}

/// The file with lower figures where they fell. Without a file, or with one that is not valid, the
/// present figures.
pub fn tightened(workspace: &Workspace) -> String {
    let kept = workspace.text(KEPT).and_then(|text| parse(text).ok());
    let mut measures = House::read(workspace).measures();
    for (measure, places) in &mut measures {
        let step = STEPS.iter().find(|(name, _)| name == measure).map_or(1, |(_, step)| *step);
        for (place, now) in places.iter_mut() {
            let allowed = kept.as_ref().map_or(usize::MAX, |kept| figure(kept, measure, place));
            *now = now.next_multiple_of(step).min(allowed);
        }
        places.retain(|_, figure| *figure > 0);
    }
    measures.retain(|_, places| !places.is_empty());
    format!("{HEAD}\n{}", toml::to_string(&measures).expect("figures can be written as TOML"))
}

fn parse(text: &str) -> Result<Measures, String> {
    toml::from_str(text).map_err(|e| format!("not a table of figures: {}", e.message()))
}

/// The kept figure; without one, nothing is allowed.
fn figure(kept: &Measures, measure: &str, place: &str) -> usize {
    kept.get(measure).and_then(|places| places.get(place)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crate with every breach: two rooms that use each other, a long function named `of`, a type
    /// twice, and a page of words.
    fn bad(kept: &str) -> Workspace {
        let long = format!("/// Who knows.\npub fn of() {{{}}}\n", "\n".repeat(72));
        Workspace::from_files(&[
            ("crates/recrawl/Cargo.toml", ""),
            ("crates/recrawl/src/main.rs", "mod a;\nmod b;"),
            ("crates/recrawl/src/a.rs", &format!("use crate::b::Kept;\nuse crate::b::B;\nstruct A;\n{long}")),
            ("crates/recrawl/src/b.rs", "use super::a::of;\nstruct Kept;\nstruct B;"),
            ("crates/other/src/lib.rs", "struct Kept;"),
            ("README.md", "two words"),
            (KEPT, kept),
        ])
    }

    const EXACT: &str = "\
        back_arrows = { recrawl = 1 }\ncircle_files = { recrawl = 2 }\nlines_over_70 = { recrawl = 1 }\n\
        fn_of = { recrawl = 1 }\ndoc_openings = { recrawl = 1 }\nshared_type_names = { all = 1 }\n\
        words = { all = 1000 }\nproduct_lines = { recrawl = 1000 }\n";

    fn texts(kept: &str) -> Vec<String> {
        check(&bad(kept)).into_iter().map(|c| c.text).collect()
    }

    #[test]
    fn each_measure_has_its_complaint() {
        assert_eq!(texts(EXACT), [] as [&str; 0]);
        let found = texts("");
        assert_eq!(found.len(), MEASURES.len(), "{found:#?}");
        for (text, (name, what, remedy)) in found.iter().zip(MEASURES) {
            assert!(text.contains(what) && text.contains(remedy) && text.contains(name), "{text}");
        }
        assert!(found[0].starts_with("recrawl: 1 arrows between rooms that run back up, 0 allowed; move"));
    }

    #[test]
    fn figures_are_lowered_and_never_raised() {
        let loose = EXACT.replace("{ recrawl = 1 }", "{ recrawl = 9, gone = 3 }").replace("1000", "5000");
        assert_eq!(texts(&loose), [] as [&str; 0]);
        assert_eq!(parse(&tightened(&bad(&loose))), parse(EXACT));
        let strict = EXACT.replace("all = 1 }", "all = 0 }");
        assert_eq!(texts(&strict).len(), 1);
        assert_eq!(check(&bad(&tightened(&bad(&strict)))).len(), 1);
    }

    #[test]
    fn a_file_that_is_missing_or_damaged_is_named() {
        let without = Workspace::from_files(&[("README.md", "two words")]);
        assert!(check(&without)[0].text.contains("--fix"));
        assert!(tightened(&without).ends_with("[words]\nall = 1000\n"));
        assert_eq!(texts("words = 3").len(), 1);
    }
}

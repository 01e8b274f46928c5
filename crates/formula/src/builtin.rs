//! The built-in formulas, from config/formulas.

use crate::nearest::nearest;
use crate::parse::{self, ParseProblem};
use crate::{Formula, ParseError};

/// A built-in formula.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Name, which is that of its file without `.toml`.
    pub name: &'static str,
    /// Text of its file.
    pub text: &'static str,
}

macro_rules! builtin {
    ($name:literal) => {
        Builtin { name: $name, text: include_str!(concat!("../../../config/formulas/", $name, ".toml")) }
    };
}

/// All built-in formulas.
pub const ALL: &[Builtin] = &[
    builtin!("balanced"),
    builtin!("fresh"),
    builtin!("changes"),
    builtin!("default"),
    builtin!("age"),
    builtin!("cg"),
    builtin!("nad"),
    builtin!("sad"),
    builtin!("aad"),
    builtin!("gad"),
    builtin!("t_times_X"),
    builtin!("change_probability"),
    builtin!("change_probability_site"),
    builtin!("u_fresh"),
    builtin!("u_fresh_site"),
    builtin!("u_fresh_signal"),
    builtin!("u_harm"),
    builtin!("u_harm_site"),
    builtin!("u_age"),
    builtin!("u_age_site"),
    builtin!("moments"),
];

/// Formulas that are a product of roots of gains, and the root of them that grows as a gain does: with it, a page of
/// importance 5 counts as five pages, as by a formula that is one gain.
const ROOTS: [(&str, &str); 2] = [("balanced", "2 / 3"), ("default", "4 / 5")];

/// The built-in formula with this name, or the formula with this expression. If a name is both,
/// like `nad`, it means the formula; the rate alone is `(nad)`.
///
/// # Errors
/// If it is neither; for a misspelt name, the error suggests the right one.
pub fn resolve(text: &str) -> Result<Formula, ParseError> {
    if let Some(builtin) = Builtin::named(text) {
        return Ok(builtin.formula());
    }
    Formula::from_expression(text).map_err(|error| match error.problem {
        ParseProblem::Unknown { name, .. } if name == text => {
            let nearest = nearest(&name, ALL.iter().map(|builtin| builtin.name).chain(parse::names()));
            ParseError { problem: ParseProblem::UnknownFormula { name, nearest }, ..error }
        }
        _ => error,
    })
}

impl Builtin {
    /// The built-in formula with this name.
    pub fn named(name: &str) -> Option<Builtin> {
        ALL.iter().copied().find(|b| b.name == name)
    }

    /// The parsed formula.
    pub fn formula(self) -> Formula {
        Formula::from_toml(self.text).expect("built-in formulas are tested")
    }

    /// The same times the importance of the page.
    pub fn by_importance(self) -> Formula {
        let formula = self.formula();
        let gain = match ROOTS.iter().find(|(of, _)| *of == self.name) {
            Some((_, root)) => format!("pow({}, {root})", formula.expr),
            None => formula.expr.to_string(),
        };
        let weighed =
            Formula::from_expression(&format!("importance * ({gain})")).expect("a formula of terminals");
        Formula {
            name: format!("{}_by_importance", self.name),
            description: format!("{}; by importance", formula.description),
            expr: weighed.expr,
            ..formula
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn every_file_of_the_folder_is_in_the_list_and_reads() {
        let listed: Vec<String> = ALL.iter().map(|b| b.name.to_owned()).collect();
        testing::assert_lists_folder(&listed, "../../config/formulas", "toml");
        for builtin in ALL {
            let formula = builtin.formula();
            assert_eq!(formula.name, builtin.name);
            assert!(!formula.description.is_empty(), "{} says nothing of itself", builtin.name);
            let written = Formula::from_toml(&formula.to_toml().unwrap()).unwrap();
            assert_eq!(written, formula);
        }
    }

    #[test]
    fn the_baselines_of_the_papers_starve_pages_that_never_changed_and_the_others_do_not() {
        let starving: Vec<_> =
            ALL.iter().filter(|b| b.formula().check().starves.is_some()).map(|b| b.name).collect();
        assert_eq!(starving, ["cg", "nad", "sad", "aad", "gad", "t_times_X"]);
    }

    #[test]
    fn a_name_comes_before_an_expression() {
        assert_eq!(resolve("nad").unwrap().expr.to_string(), "nad * t");
        assert_eq!(resolve("(nad)").unwrap().expr.to_string(), "nad");
        assert_eq!(resolve("t + n").unwrap().name, "t + n");
    }

    #[test]
    fn a_word_that_is_neither_is_told_the_nearest_formula() {
        for (text, says) in [
            ("defualt", "did you mean 'default'?"),
            ("Default", "did you mean 'default'?"),
            ("p_ebb", "did you mean 'p_eb'?"),
            ("nothing_like_it", "formulas are balanced, fresh, changes, default, age,"),
            ("t * defualt", "unknown name 'defualt'; known are"),
        ] {
            let said = resolve(text).unwrap_err().to_string();
            assert!(said.contains(says), "{text}: {said}");
        }
    }

    #[test]
    fn an_unknown_name_is_no_builtin() {
        assert!(Builtin::named("best").is_none());
        assert_eq!(Builtin::named("age").unwrap().formula().expr.to_string(), "t");
    }
}

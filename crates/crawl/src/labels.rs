//! Names of shares in JSON and exports, and words and lists for people.

pub use recrawl_types::outcome::no_robots;

use recrawl_types::Share;

/// The name of the share that selected a page, and for the audit sample the page's probability.
pub fn share(share: Share) -> (&'static str, Option<f64>) {
    match share {
        Share::Score => ("score", None),
        Share::Discovery => ("discovery", None),
        Share::Warmup => ("warmup", None),
        Share::Audit(probability) => ("audit", Some(probability)),
        Share::Followed => ("followed", None),
        Share::Announced => ("announced", None),
        Share::Asked => ("asked", None),
        Share::Panel => ("panel", None),
        Share::Contested(probability) => ("contested", Some(probability)),
        Share::Promised => ("promised", None),
        Share::Explored(probability) => ("explored", Some(probability)),
    }
}

/// Why a round ended ([`RoundReport::stopped_by`](crate::report::RoundReport)), in at most ten letters for tables.
pub fn stopped_by(name: &str) -> &str {
    match name {
        "schedule" => "all done",
        "slow_hosts" => "slow hosts",
        "byte_budget" => "budget",
        "first_look" => "no contact",
        other => other,
    }
}

/// Names of a long list that [`some_of`] prints.
const NAMED: usize = 3;

/// The first names of a list, and how many more there are.
pub fn some_of(names: &[String]) -> String {
    let named = names[..names.len().min(NAMED)].join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// 1234567 as "1,234,567".
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number and its noun: "1 page", "1,234 pages".
pub fn counted(number: u64, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {noun}{s}", thousands(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_list_the_first_names_are_named() {
        let names = |n: u32| (1..=n).map(|i| i.to_string()).collect::<Vec<_>>();
        let told = [0, 1, 3, 5].map(|n| some_of(&names(n)));
        assert_eq!(told, ["", "1", "1, 2, 3", "1, 2, 3 and 2 more"]);
    }

    #[test]
    fn one_is_singular() {
        let said = [0, 1, 2, 1234].map(|number| counted(number, "page"));
        assert_eq!(said, ["0 pages", "1 page", "2 pages", "1,234 pages"]);
    }

    #[test]
    fn thousands_are_set_apart() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(number), text);
        }
    }
}

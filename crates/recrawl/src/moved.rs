//! Commands, options and policies that `recrawl` had before `recrawl-lab` was a program of its own.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use recrawl_crawl::Failure;

const MOVED: [&str; 7] =
    ["cluster", "dataset generate", "focus replay", "focus score", "focus terms", "focus train", "predict"];

/// Options of `recrawl simulate`.
const MOVED_OPTIONS: [&str; 6] =
    ["--cluster-features", "--clusters", "--content-ranks", "--recluster", "--cluster-order", "--metric"];

/// Policies of `recrawl simulate`: of other crawlers, of papers, and those that need the contents of pages.
const MOVED_POLICIES: [&str; 18] = [
    "lambda_crawl",
    "binary_lambda_crawl",
    "binary_lambda_crawl_04",
    "nutch",
    "stormcrawler",
    "common_crawl",
    "thompson",
    "rr",
    "freq",
    "sls",
    "db",
    "lb",
    "cls_nad",
    "cls_sad",
    "cls_aad",
    "cls_gad",
    "cls_threshold",
    "bayes_greedy",
];

/// The failure for `recrawl simulate --policy NAME`, if the policy moved.
pub fn policy(name: &str) -> Option<Failure> {
    MOVED_POLICIES.contains(&name).then(|| of_simulate(&format!("--policy {name}")))
}

fn of_simulate(words: &str) -> Failure {
    Failure::Usage(format!(
        "`recrawl simulate {words}` moved to another program; use `recrawl-lab simulate` with the same arguments"
    ))
}

/// The failure for arguments that clap refused, if they name such a command or option.
pub fn failure(refused: &clap::Error, words: &[String]) -> Option<Failure> {
    if refused.kind() == ErrorKind::UnknownArgument {
        let Some(ContextValue::String(unknown)) = refused.get(ContextKind::InvalidArg) else { return None };
        let option = MOVED_OPTIONS.iter().find(|option| *option == unknown)?;
        return words.iter().any(|word| word == "simulate").then(|| of_simulate(option));
    }
    if refused.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(unknown)) = refused.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let moved = MOVED.iter().find(|command| {
        command.rsplit(' ').next() == Some(unknown)
            && command.split(' ').all(|word| words.iter().any(|given| given == word))
    })?;
    Some(Failure::Usage(format!(
        "`recrawl {moved}` moved to another program; use `recrawl-lab {moved}` with the same arguments"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser;

    /// The failure for `recrawl WORDS`.
    fn failure_for(words: &str) -> Option<String> {
        let words: Vec<String> = ["recrawl"].into_iter().chain(words.split(' ')).map(str::to_owned).collect();
        let refused = Cli::try_parse_from(&words).err()?;
        failure(&refused, &words).map(|failure| failure.to_string())
    }

    #[test]
    fn a_command_that_moved_names_its_new_program() {
        for moved in MOVED {
            for words in
                [moved.to_owned(), format!("-v --color never {moved} --help"), format!("help {moved}")]
            {
                let told = failure_for(&words).unwrap_or_default();
                assert!(told.contains(&format!("`recrawl-lab {moved}`")), "{words}: {told}");
            }
        }
        for option in MOVED_OPTIONS {
            let told = failure_for(&format!("simulate --data x {option} 1")).unwrap_or_default();
            assert!(told.contains(option) && told.contains("`recrawl-lab simulate`"), "{told}");
            assert_eq!(failure_for(&format!("status {option} 1")), None);
        }
        for words in
            ["generate", "datasets", "dataset info", "status --json", "formula generate", "--predict"]
        {
            assert_eq!(failure_for(words), None, "{words}");
        }
    }
}

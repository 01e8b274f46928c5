//! Commands that `recrawl` had before `recrawl-lab` was a program of its own.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use recrawl_crawl::Failure;

const MOVED: [&str; 7] =
    ["cluster", "dataset generate", "focus replay", "focus score", "focus terms", "focus train", "predict"];

/// The failure for arguments that clap refused, if they name such a command.
pub fn failure(refused: &clap::Error, words: &[String]) -> Option<Failure> {
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
    fn of(words: &str) -> Option<String> {
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
                let told = of(&words).unwrap_or_default();
                assert!(told.contains(&format!("`recrawl-lab {moved}`")), "{words}: {told}");
            }
        }
        for words in
            ["generate", "datasets", "dataset info", "status --json", "formula generate", "--predict"]
        {
            assert_eq!(of(words), None, "{words}");
        }
    }
}

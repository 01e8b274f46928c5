//! Arguments of `recrawl search`.

use super::{OnCrawl, PastTime};
use clap::Args;
use std::ffi::OsString;

/// `recrawl search`
#[derive(Args)]
pub struct SearchArgs {
    /// Words; "several words" stand side by side, and -word must not be there
    #[arg(required = true, value_name = "WORDS")]
    pub words: Vec<String>,
    /// Only pages of this host, or of a domain as `*.example.com`; `*` for all
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// Only pages with a new text since then: a day (2026-01-31), yesterday, how long ago (7d)
    #[arg(long, value_name = "TIME", value_parser = PastTime::parse)]
    pub changed_since: Option<PastTime>,
    /// Show the newest texts first, instead of the best
    #[arg(long)]
    pub newest: bool,
    /// Maximum number of pages
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub limit: u32,
    #[command(flatten)]
    pub on: OnCrawl,
}

/// Letters of options that every command has.
const OPTIONS: &str = "hqv";

/// The command line, in which a word of a search may begin with a dash: a space before it shows clap that it is no option.
pub fn with_words(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut args: Vec<OsString> = args.collect();
    let is_option = |arg: &OsString| arg.as_encoded_bytes().starts_with(b"-");
    let command = args.iter().skip(1).position(|arg| !is_option(arg)).map(|at| at + 1);
    let Some(at) = command.filter(|at| args[*at] == "search") else { return args };
    for arg in &mut args[at + 1..] {
        let word = arg.to_str().and_then(|text| text.strip_prefix('-'));
        let is_word = |word: &str| !word.starts_with('-') && !word.chars().all(|c| OPTIONS.contains(c));
        if word.is_some_and(is_word) {
            *arg = format!(" {}", arg.display()).into();
        }
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_must_not_be_there_is_no_option() {
        for (line, read) in [
            ("recrawl search sell -winter -hats --host a", "recrawl search sell  -winter  -hats --host a"),
            ("recrawl -v search -verb -v -qv -", "recrawl -v search  -verb -v -qv -"),
            ("recrawl crawl -winter", "recrawl crawl -winter"),
            ("recrawl", "recrawl"),
        ] {
            let words = with_words(line.split(' ').map(OsString::from));
            let words: Vec<String> = words.into_iter().map(|word| word.into_string().unwrap()).collect();
            assert_eq!(words.join(" "), read);
        }
    }
}

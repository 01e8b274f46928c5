//! `recrawl-lab focus terms`: terms proposed from example pages, as a term file for a person to prune.

use super::pages;
use crate::cli::{FocusTermsArgs, GenerateBy};
use recrawl_corpora::generate::{Example, Generated, MAX_EXAMPLES, Proposed, by_contrast, by_frequency};
use recrawl_crawl::failure::Failure;
use recrawl_focus::words::MAX_TEXT;
use recrawl_focus::{Language, Words};
use recrawl_terminal::{print, print_json};
use std::path::PathBuf;

pub fn run(args: &FocusTermsArgs) -> Result<(), Failure> {
    if args.by == GenerateBy::Contrast && args.background.is_empty() {
        return Err(Failure::Usage(
            "--by contrast compares with other pages (give --background PATH)".into(),
        ));
    }
    let mut words = Words::new();
    let mut examples = |paths: &[PathBuf]| -> Result<Vec<Example>, Failure> {
        let mut examples = vec![];
        for page in pages::read_all(paths, MAX_EXAMPLES)? {
            let language = Language::of_page(args.language.as_deref(), &page.text);
            examples.push(words.pairs(&format!("{}\n{}", page.title, page.text), language, MAX_TEXT));
        }
        Ok(examples)
    };
    let (genre, relevant) = (examples(&args.genre)?, examples(&args.relevant)?);
    let background = examples(&args.background)?;
    let counts = (args.genre_terms as usize, args.content_terms as usize);
    let generated = match args.by {
        GenerateBy::Frequency => by_frequency(&genre, &relevant, counts),
        GenerateBy::Contrast => by_contrast(&genre, &relevant, &background, counts),
    };
    let Generated { genre, content } = &generated;
    if genre.is_empty() || content.is_empty() {
        return Err(Failure::Work("the examples have no terms (give more pages, or longer ones)".into()));
    }
    match args.json {
        true => print_json(&generated),
        false => print(format!(
            "# Proposed from examples: remove what does not tell the genre or the content.\n{}\n{}",
            list("genre", genre),
            list("content", content)
        )),
    }
}

/// A key of a term file, a term a line.
fn list(key: &str, terms: &[Proposed]) -> String {
    let lines = terms.iter().map(|term| format!("  {},", toml::Value::from(term.term.as_str())));
    format!("{key} = [\n{}\n]", lines.collect::<Vec<_>>().join("\n"))
}

//! `recrawl focus check`: term files, checked, with their sets.

use crate::cli::FocusCheckArgs;
use crate::command::{counted, print, print_json};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::parts::focus::read_topic;
use recrawl_focus::terms::Matcher;
use recrawl_focus::{Combine, Language, TermSet, Topic, UrlTerms, Weights, Words};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A term file that passed.
#[derive(Serialize)]
struct Checked {
    file: PathBuf,
    digest: String,
    combine: Combine,
    url_terms: UrlTerms,
    weights: Weights,
    sets: Vec<SetOfTerms>,
}

#[derive(Serialize)]
struct SetOfTerms {
    set: TermSet,
    terms: Vec<String>,
    /// Terms with the same stems in the language; each group counts as one term.
    same: Vec<Vec<String>>,
}

pub fn run(args: &FocusCheckArgs) -> Result<(), Failure> {
    let language = Language::of_tag(&args.language);
    let mut words = Words::new();
    let check = |path: &PathBuf| Ok(checked(path, &read_topic(path)?, language, &mut words));
    let files: Vec<Checked> = args.files.iter().map(check).collect::<Result<_, Failure>>()?;
    match args.json {
        true => print_json(&files),
        false => files.iter().try_for_each(|file| print(told(file, language))),
    }
}

fn checked(path: &Path, topic: &Topic, language: Language, words: &mut Words) -> Checked {
    let matcher = Matcher::new(topic, language, words);
    let set = |set: TermSet| {
        let (terms, places) = (topic.terms(set), matcher.places(set));
        let of_place = |place: usize| -> Vec<String> {
            let is_there = |(_, at): &(&String, &Option<u16>)| **at == Some(place as u16);
            terms.iter().zip(places).filter(is_there).map(|(term, _)| term.clone()).collect()
        };
        let same = (0..matcher.size(set)).map(of_place).filter(|terms| terms.len() > 1).collect();
        SetOfTerms { set, terms: terms.to_vec(), same }
    };
    Checked {
        file: path.to_owned(),
        digest: topic.digest(),
        combine: topic.combine,
        url_terms: topic.url_terms,
        weights: topic.weights,
        sets: TermSet::ALL.into_iter().filter(|s| !topic.terms(*s).is_empty()).map(set).collect(),
    }
}

fn told(file: &Checked, language: Language) -> String {
    let mut out = format!("{}: sound, digest {}", file.file.display(), file.digest);
    for SetOfTerms { set, terms, same } in &file.sets {
        out.push_str(&format!("\n  {:8} {}", set.name(), counted(terms.len() as u64, "term")));
        for group in same {
            out.push_str(&format!("; one in {}: {}", language.name(), group.join(", ")));
        }
    }
    out
}

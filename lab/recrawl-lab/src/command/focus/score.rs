//! `recrawl-lab focus score`: how relevant pages are, and by which terms.

use super::pages;
use crate::cli::FocusScoreArgs;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::parts::focus::read_topic;
use recrawl_focus::classifier::linear::{Linear, LinearModel};
use recrawl_focus::classifier::terms::Terms;
use recrawl_focus::words::MAX_TEXT;
use recrawl_focus::{Assessment, Classifier, PageText, PageWords, TermSet, Words};
use recrawl_terminal::{print, print_json};
use serde::Serialize;
use std::fs;
use std::path::PathBuf;

/// Figures of a page.
#[derive(Serialize)]
struct ScoredPage {
    page: PathBuf,
    language: &'static str,
    relevance: f64,
    relevant: bool,
    genre: f64,
    content: f64,
    url: Option<f64>,
    found: Vec<FoundTerm>,
}

/// A term and how often the page has it; URL terms are counted in the URL.
#[derive(Serialize)]
struct FoundTerm {
    set: TermSet,
    term: String,
    count: u32,
}

pub fn run(args: &FocusScoreArgs) -> Result<(), Failure> {
    if args.url.is_some() && args.pages.len() > 1 {
        return Err(Failure::Usage("--url is the URL of one page (score the others apart)".into()));
    }
    let topic = read_topic(&args.terms)?;
    let mut words = Words::new();
    let terms = Terms::new(topic.clone(), &mut words);
    let linear = args.model.as_ref().map(|path| {
        let failed = |e: &dyn std::fmt::Display| Failure::Usage(format!("{}: {e}", path.display()));
        let bytes = fs::read(path).map_err(|e| failed(&e))?;
        Ok::<_, Failure>(Linear::new(
            LinearModel::from_bytes(&bytes).map_err(|e| failed(&e))?,
            Terms::new(topic, &mut words),
        ))
    });
    let linear = linear.transpose()?;
    let classifier: &dyn Classifier = linear.as_ref().map_or(&terms, |linear| linear);
    let mut scored = vec![];
    for path in &args.pages {
        let page = pages::read(path)?;
        let (url, language) = (args.url.as_deref(), args.language.as_deref());
        let read = PageText { url, language, title: &page.title, text: &page.text };
        let reading = PageWords::read(&read, MAX_TEXT, &mut words);
        let Assessment { relevance, genre, content, url } = classifier.assess(&reading);
        scored.push(ScoredPage {
            page: page.path,
            language: reading.language.name(),
            relevance,
            relevant: relevance >= args.threshold,
            genre,
            content,
            url,
            found: found(&terms, &reading),
        });
    }
    match args.json {
        true => print_json(&scored),
        false => scored.iter().try_for_each(|page| print(told(page))),
    }
}

/// The terms that the page has, each by its first spelling.
fn found(terms: &Terms, reading: &PageWords) -> Vec<FoundTerm> {
    let matcher = terms.matcher(reading.language);
    let (in_text, in_url) = (matcher.count(&reading.words), matcher.count(&reading.url));
    let mut found = vec![];
    for set in TermSet::ALL {
        let counts = if set == TermSet::Url { in_url.in_set(set) } else { in_text.in_set(set) };
        for (place, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let spelled = matcher.places(set).iter().position(|at| *at == Some(place as u16));
            let term = spelled.map(|at| terms.topic().terms(set)[at].clone()).unwrap_or_default();
            found.push(FoundTerm { set, term, count });
        }
    }
    found
}

fn told(page: &ScoredPage) -> String {
    let ScoredPage { relevance, genre, content, .. } = page;
    let verdict = if page.relevant { "relevant" } else { "not relevant" };
    let url = page.url.map_or_else(String::new, |url| format!(", url {url:.3}"));
    let mut out = format!(
        "{}: {verdict}, {relevance:.3} (genre {genre:.3}, content {content:.3}{url}); language {}",
        page.page.display(),
        page.language
    );
    for set in TermSet::ALL {
        let terms = page.found.iter().filter(|found| found.set == set);
        let terms: Vec<String> = terms.map(|found| format!("{} {}", found.term, found.count)).collect();
        if !terms.is_empty() {
            out.push_str(&format!("\n  {:8} {}", set.name(), terms.join(", ")));
        }
    }
    out
}

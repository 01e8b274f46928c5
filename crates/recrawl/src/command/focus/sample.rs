//! `recrawl focus sample` and `label`: a sample of judged pages, and what labels by hand say of the classifier.

use crate::cli::{FocusLabelArgs, FocusSampleArgs};
use crate::command::{counted, print, print_json};
use recrawl_crawl::config::operator_file;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::parts::focus::FocusRules;
use recrawl_crawl::parts::focus::state::FocusState;
use recrawl_crawl::settings::Settings;
use recrawl_focus::live::labels::{Corrected, LabelledPages, MIN_LABELS, ShareInterval, corrected};
use recrawl_types::CanonicalUrl;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The first line of a sample.
const HEADING: &str = "url\trelevance\tlabel";
/// Lines of a file of labels.
const MAX_LABELS: usize = 100_000;

fn rules(settings: &Settings) -> Result<Arc<FocusRules>, Failure> {
    let missing = "the configuration has no focus (set focus.enabled and focus.terms)";
    settings.focus.clone().ok_or_else(|| Failure::Usage(missing.into()))
}

/// Calls `each` for every judged page with its relevance, and gives the number of URLs never fetched.
fn judged(settings: &Settings, mut each: impl FnMut(CanonicalUrl, f64)) -> Result<u64, Failure> {
    let repository = open_read::repository(settings)?;
    let generation = repository.current();
    let (mut records, mut pending) = (generation.records(), 0);
    while let Some((_, key, record)) = records.next_record().map_err(Failure::work)? {
        pending += u64::from(record.visited.is_none());
        if let Some(verdict) = record.known.verdict {
            each(CanonicalUrl::from_key(key).map_err(Failure::work)?, verdict.relevance());
        }
    }
    Ok(pending)
}

pub fn sample(args: &FocusSampleArgs) -> Result<(), Failure> {
    let settings = args.at.settings()?;
    let rules = rules(&settings)?;
    // Those with the least hashes, half of each verdict.
    let mut least: [BinaryHeap<(u64, String, u64)>; 2] = Default::default();
    let half = args.pages.div_ceil(2) as usize;
    judged(&settings, |url, relevance| {
        let hash = xxh3_64_with_seed(url.key(), args.random_seed);
        let heap = &mut least[usize::from(rules.is_relevant(relevance))];
        heap.push((hash, url.to_string(), relevance.to_bits()));
        if heap.len() > half {
            heap.pop();
        }
    })?;
    print(HEADING)?;
    let mut drawn: Vec<(u64, String, u64)> = least.into_iter().flatten().collect();
    // Mixed, so that the order tells nothing of the verdict.
    drawn.sort_unstable();
    drawn
        .into_iter()
        .try_for_each(|(_, url, relevance)| print(format!("{url}\t{:.4}\t", f64::from_bits(relevance))))
}

/// The labels of a file by URL.
fn labels(text: &str, file: &str) -> Result<BTreeMap<String, bool>, Failure> {
    let mut labels = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let wrong = |what: &str| Failure::Usage(format!("{file}: line {number}: {what}"));
        if number > MAX_LABELS {
            return Err(wrong(&format!("more than {MAX_LABELS} lines")));
        }
        if line == HEADING || line.trim().is_empty() {
            continue;
        }
        let cells: Vec<&str> = line.split('\t').collect();
        let [url, _, label] = cells[..] else {
            return Err(wrong(
                "not three columns with tabs between them (take the lines of `recrawl focus sample`)",
            ));
        };
        match label.trim() {
            "" => {}
            "yes" => drop(labels.insert(url.to_owned(), true)),
            "no" => drop(labels.insert(url.to_owned(), false)),
            other => return Err(wrong(&format!("label {other:?} (write yes, no, or nothing)"))),
        }
    }
    Ok(labels)
}

pub fn label(args: &FocusLabelArgs) -> Result<(), Failure> {
    let settings = args.on.at.settings()?;
    let rules = rules(&settings)?;
    let name = args.labels.display().to_string();
    let text = operator_file::read_text(&args.labels, operator_file::MAX_DATA)
        .map_err(|e| Failure::Usage(format!("cannot read {name}: {e} (name a file of labels)")))?;
    let labels = labels(&text, &name)?;
    let (mut of, mut met) = ([LabelledPages::default(); 2], 0);
    let pending = judged(&settings, |url, relevance| {
        let of = &mut of[usize::from(rules.is_relevant(relevance))];
        of.judged += 1;
        if let Some(is_relevant) = labels.get(&url.to_string()) {
            met += 1;
            of.labelled += 1;
            of.relevant += u64::from(*is_relevant);
        }
    })?;
    if met < labels.len() {
        tracing::warn!("{} of {} labelled URLs are no judged pages", labels.len() - met, labels.len());
    }
    // While a crawl runs, it has the tables.
    let recall = match open_read::tables(&settings.data_dir) {
        Ok(tables) => FocusState::read(&tables)?.with(&rules).recall,
        Err(_) => None,
    };
    let [others, relevant] = of;
    let found = corrected(relevant, others, pending, recall);
    if args.on.json {
        return print_json(&json!({
            "judged_relevant": relevant.judged, "judged_others": others.judged, "labelled": met,
            "precision": found.map(|found| share_json(found.precision)),
            "classifier_recall": found.map(|found| share_json(found.recall_of_classifier)),
            "recall": found.and_then(|found| found.recall_of_crawl).map(share_json),
        }));
    }
    print(format!(
        "{} of {} judged relevant, {} of {} others labelled",
        relevant.labelled, relevant.judged, others.labelled, others.judged
    ))?;
    let Some(Corrected { precision, recall_of_classifier, recall_of_crawl }) = found else {
        return print(format!(
            "{} are too few, or of one verdict only: label {MIN_LABELS} of `recrawl focus sample`",
            counted(met as u64, "label")
        ));
    };
    print(format!("precision of the classifier  {}", told(precision)))?;
    print(format!("recall of the classifier     {}", told(recall_of_classifier)))?;
    print(format!("recall of the crawl          {}", recall_of_crawl.map_or_else(|| "unknown".into(), told)))
}

fn told([estimate, low, high]: ShareInterval) -> String {
    format!("{estimate:.3} ({low:.3} to {high:.3})")
}

fn share_json([estimate, low, high]: ShareInterval) -> Value {
    json!({ "estimate": estimate, "low": low, "high": high })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_and_mistakes_named_with_their_line() {
        let read = |text: &str| labels(text, "f.tsv").map_err(|failure| failure.to_string());
        let text = format!(
            "{HEADING}\nhttp://a.example/\t0.5\tyes\nhttp://b.example/\t0.1\tno\nhttp://c.example/\t0.1\t\n"
        );
        let found = read(&text).unwrap();
        assert_eq!((found.len(), found["http://a.example/"], found["http://b.example/"]), (2, true, false));
        let error = read("http://a.example/\t0.5\tmaybe\n").unwrap_err();
        assert!(error.contains("f.tsv: line 1") && error.contains("yes, no"), "{error}");
        assert!(read("\nhttp://a.example/ yes\n").unwrap_err().contains("line 2: not three columns"));
    }
}

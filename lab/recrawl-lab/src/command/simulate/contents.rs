//! The contents of pages: read when a policy or metric needs them.

use recrawl_contest::{ContestEntry, failure_of_data};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::labels::thousands;
use recrawl_rivals::SearchJudge;
use recrawl_simulation::{Dataset, DatasetError, ReplayMetric, metric};
use recrawl_types::{Size, Span};
use std::path::Path;

/// The metrics of these names, each once, in display order.
///
/// # Errors
/// When a name is not that of a metric of contents.
pub fn metrics(names: &[String]) -> Result<Vec<&'static ReplayMetric>, Failure> {
    let of_contents = || metric::OF_CONTENTS.iter();
    if let Some(name) = names.iter().find(|name| of_contents().all(|metric| metric.name != **name)) {
        let why = if ReplayMetric::named(name).is_some() { "computed always" } else { "unknown metric" };
        let all: Vec<&str> = of_contents().map(|metric| metric.name).collect();
        return Err(Failure::Usage(format!("--metric {name}: {why}; available: {}", all.join(", "))));
    }
    Ok(of_contents().filter(|metric| names.iter().any(|name| name == metric.name)).collect())
}

/// Reads the contents of a data set and says so, if a policy or metric needs them.
///
/// # Errors
/// When they are needed and cannot be read.
pub fn read_if_needed(
    data: &mut Dataset,
    folder: &Path,
    entries: &[ContestEntry],
    metrics: &[&ReplayMetric],
) -> Result<(), Failure> {
    let policies = entries.iter().filter(|entry| entry.needs_contents());
    let policies = policies.map(|entry| format!("--policy {}", entry.name()));
    let needed: Vec<String> =
        policies.chain(metrics.iter().map(|metric| format!("--metric {}", metric.name))).collect();
    if needed.is_empty() {
        return Ok(());
    }
    let started = std::time::Instant::now();
    recrawl_contents::add(data, folder).map_err(|error| match error {
        DatasetError::NoContents { .. } => {
            Failure::Usage(format!("{error}; needed for {}", needed.join(", ")))
        }
        other => failure_of_data(other),
    })?;
    if let Some(contents) = &data.contents {
        eprintln!(
            "read {} contents with {} different words in {}; {} of memory",
            thousands(contents.documents().len() as u64),
            thousands(contents.words().len() as u64),
            Span(started.elapsed()).rounded(),
            Size(contents.bytes()).rounded(),
        );
    }
    Ok(())
}

/// The judge of replays, if a metric needs it.
///
/// # Errors
/// When there are no queries, and a metric is of their results.
pub fn judge(data: &Dataset, metrics: &[&ReplayMetric], seed: u64) -> Result<Option<SearchJudge>, Failure> {
    if metrics.is_empty() {
        return Ok(None);
    }
    let judge = SearchJudge::new(data, seed).map_err(|e| Failure::Work(format!("{}: {e}", data.name)))?;
    let of_results = metrics.iter().find(|metric| metric.name.ends_with("_at_10"));
    match of_results.filter(|_| judge.queries() == 0) {
        Some(metric) => Err(Failure::Work(format!(
            "{}: --metric {}: no queries, since no title has two words that at most half of the titles have; \
             weighted_change_rate and weight_of_changed need none",
            data.name, metric.name
        ))),
        None => Ok(Some(judge)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_rivals::policy::with_rivals;

    fn recording() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/mockweb/recording")
    }

    #[test]
    fn contents_are_read_only_if_something_needs_them() {
        let folder = recording();
        let entries = |name: &str| {
            let kind = with_rivals().into_iter().find(|kind| kind.name == name).unwrap();
            vec![ContestEntry::Known(kind)]
        };
        let mut data = recrawl_simulation::open(&folder, None).unwrap();
        read_if_needed(&mut data, &folder, &entries("nad"), &[]).unwrap();
        assert!(data.contents.is_none());
        let fitting = metrics(&["ap_at_10".to_owned(), "ap_at_10".to_owned()]).unwrap();
        let empty = tempfile::TempDir::new().unwrap();
        for (name, metrics, says) in
            [("lb", &[][..], "--policy lb"), ("nad", &fitting[..], "--metric ap_at_10")]
        {
            let error =
                read_if_needed(&mut data, empty.path(), &entries(name), metrics).unwrap_err().to_string();
            assert!(error.contains("no contents") && error.contains(says), "{error}");
        }
        read_if_needed(&mut data, &folder, &entries("lb"), &[]).unwrap();
        assert!(data.contents.is_some());
        assert_eq!(judge(&data, &fitting, 0).unwrap().unwrap().queries(), 100);
        assert!(judge(&data, &[], 0).unwrap().is_none());
    }

    #[test]
    fn only_metrics_of_contents_are_asked_for() {
        let says = |name: &str| metrics(&[name.to_owned()]).unwrap_err().to_string();
        assert!(says("age").contains("computed always") && says("mp").contains("mp_at_10"));
    }
}

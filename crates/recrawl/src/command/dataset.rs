//! `recrawl dataset`: describes and converts recorded histories of pages.

use super::{print, print_json, thousands};
use crate::cli::{DatasetCommand, PageSet};
use recrawl_contest::failure_of_data;
use recrawl_crawl::config::units::Span;
use recrawl_crawl::failure::Failure;
use recrawl_simulation::format::{self, ReadOptions};
use recrawl_simulation::summary::Quantiles;
use recrawl_simulation::{Dataset, DatasetSummary};
use recrawl_types::Size;
use serde_json::json;
use std::path::Path;

pub fn run(command: &DatasetCommand) -> Result<(), Failure> {
    match command {
        DatasetCommand::Info { path, format, cycle, json } => {
            info(&read(path, format.as_deref(), *cycle)?, *json)
        }
        DatasetCommand::Convert { from, to, format, from_format, cycle, set } => {
            format::check_target(to, format).map_err(failure_of_data)?;
            let data = read(from, from_format.as_deref(), *cycle)?;
            write(&chosen(data, *set)?, to, format)
        }
    }
}

fn read(path: &Path, format: Option<&str>, cycle: Option<Span>) -> Result<Dataset, Failure> {
    // A cycle length with a fraction of a second is invalid: 0 makes the reader reject it with a
    // reason.
    let seconds = |span: Span| if span.0.subsec_nanos() == 0 { span.0.as_secs() } else { 0 };
    ReadOptions { format, cycle_seconds: cycle.map(seconds) }.open(path).map_err(failure_of_data)
}

fn chosen(data: Dataset, set: PageSet) -> Result<Dataset, Failure> {
    let fixed = match set {
        PageSet::All => return Ok(data),
        PageSet::Fixed => data.fixed_part(),
    };
    if fixed.pages.is_empty() {
        let what = "no page is present in every cycle";
        return Err(Failure::work(format!("{}: {what}; use --set all", data.name)));
    }
    Ok(fixed)
}

fn write(data: &Dataset, to: &Path, format: &str) -> Result<(), Failure> {
    let losses = format::create(data, to, format).map_err(failure_of_data)?;
    print(format!(
        "{}: {}, cycles 0 to {}, format {format}",
        to.display(),
        super::counted(data.pages.len() as u64, "page"),
        data.truth.cycles()
    ))?;
    losses.iter().try_for_each(|loss| print(format!("lost in this format: {loss}")))
}

fn info(data: &Dataset, as_json: bool) -> Result<(), Failure> {
    let summary = DatasetSummary::compute(data);
    if as_json {
        let mut document = json!({"data": data.name});
        let figures = serde_json::to_value(&summary).map_err(Failure::work)?;
        if let (Some(document), serde_json::Value::Object(figures)) = (document.as_object_mut(), figures) {
            document.extend(figures);
        }
        return print_json(&document);
    }
    let row = |name: &str, value: String| print(format!("{name:26}{value}").trim_end());
    row("data set", data.name.clone())?;
    row("pages", thousands(summary.pages))?;
    row("  present in all cycles", thousands(summary.fixed))?;
    row("sites", thousands(summary.sites))?;
    row("groups", thousands(summary.groups))?;
    let dates =
        summary.dates.as_ref().map_or("dates unknown".into(), |(first, last)| format!("{first} to {last}"));
    row("cycles", format!("0 to {} ({dates})", summary.cycles))?;
    print(match summary.over {
        "fixed" => "pages present in all cycles:",
        _ => "all pages (none is present in all cycles):",
    })?;
    let rate =
        summary.change_rate.map_or("—".into(), |rate| format!("{rate:.5} changes per page and cycle"));
    row("  change rate", rate)?;
    let share = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
    let counted = if summary.over == "fixed" { summary.fixed } else { summary.pages };
    row("  never change", format!("{} ({:.1} %)", thousands(summary.never), share(summary.never, counted)))?;
    row("", ["min", "median", "p75", "p90", "p99", "max", "mean"].map(|head| format!("{head:>7}")).concat())?;
    row("  changes per page", quantiles(&summary.per_page))?;
    row("  changed pages per cycle", quantiles(&summary.per_cycle))?;
    let top = summary.top_share.map_or("—".into(), |top| format!("{:.1} % of the changes", 100.0 * top));
    row("  in the top 5 % of pages", top)?;
    row("  reverted", format!("{} of {} changes", thousands(summary.back), thousands(summary.changes)))?;
    if summary.signals > 0 {
        row("  signals", thousands(summary.signals))?;
    }
    row("  pages by change rate", format!("{:>12} {:>9}", "0", thousands(summary.never)))?;
    for class in &summary.rates {
        let range = format!("{} to {}", class.above, class.up_to);
        row("", format!("{range:>12} {:>9}", thousands(class.pages)))?;
    }
    row("in memory", format!("{}, as {}", Size(summary.bytes).rounded(), summary.form))?;
    row("digest", summary.digest)
}

fn quantiles(of: &Quantiles) -> String {
    let Quantiles { min, p50, p75, p90, p99, max, mean } = of;
    format!("{min:>7}{p50:>7}{p75:>7}{p90:>7}{p99:>7}{max:>7}{mean:>7.1}")
}

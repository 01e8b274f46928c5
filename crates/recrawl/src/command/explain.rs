//! `recrawl explain`: the record of a URL, how its score is computed, and whether it is visited
//! next.

use super::{print_json, print_labelled};
use crate::cli::ExplainArgs;
use crate::daemon::{Daemon, ReadsApi, encoded};
use crate::fleet::PageOwner;
use crate::report::explain::{self, ExplainedPage, Explanation, unknown};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::output::page_history::PageHistory;
use recrawl_crawl::settings::formula_file;
use recrawl_formula::Formula;

/// Number of reports searched for the last crawl cycle: imports and takedowns write reports too.
const RECENT: usize = 100;

pub fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let mut settings = args.at.settings()?;
    let formula = match &args.formula {
        Some(text) => formula_file::find(text).map_err(|e| Failure::Usage(format!("--formula: {e}")))?,
        None => formula_file::in_force(&settings)?,
    };
    let other_formula = args.formula.as_ref().map(|_| &formula);
    if let Some(owner) = PageOwner::elsewhere(&settings.data_dir, &settings.named_page(&args.url)?)? {
        return explained_by(&owner, &args.url, other_formula, args.json);
    }
    // A daemon has the tables open, so it alone can answer in full.
    if let Some(daemon) = Daemon::beside(&settings.data_dir) {
        return explained_by(&daemon, &args.url, other_formula, args.json);
    }
    let repository = open_read::repository(&settings)?;
    let generation = repository.current();
    let data_dir = settings.data_dir.clone();
    let (url, found) = settings.known_page(&args.url, &generation)?;
    let Some((ordinal, record)) = found else {
        let tables = open_read::tables(&data_dir);
        let decided = open_read::decisions(&data_dir, || tables.clone())?;
        return Err(unknown(&mut settings, &decided, &tables, &url)?);
    };
    let mut reports = open_read::last_cycles(&repository, RECENT)?;
    let random_seed =
        reports.iter().rev().find(|report| report.is_of_crawl()).map(|report| report.random_seed);
    let cycle_starts = explain::cycle_starts(&reports);
    let last = reports.pop_back();
    let history = PageHistory::read(&repository.kept(), &url)?;
    // Opened last and only briefly: one process at a time can open the tables, and a crawl may be
    // about to start.
    let tables = || open_read::tables(&data_dir);
    let decided = open_read::decisions(&data_dir, tables)?;
    let page = ExplainedPage {
        url,
        ordinal,
        record,
        formula,
        is_other_formula: args.formula.is_some(),
        last: last.as_ref(),
        cycle_starts,
        random_seed: random_seed.unwrap_or_default(),
        history,
        ranks: None,
        decided: &decided,
    };
    let explanation = Explanation::for_page(page, &mut settings, &generation, tables)?;
    match args.json {
        true => print_json(&explanation.json()),
        false => print_labelled(explanation.lines().join("\n")),
    }
}

/// The same by a running daemon, which has the tables, or by the owner of another partition.
fn explained_by(
    daemon: &impl ReadsApi,
    url: &str,
    formula: Option<&Formula>,
    as_json: bool,
) -> Result<(), Failure> {
    let mut path = format!("/api/v1/page?url={}", encoded(url));
    if let Some(formula) = formula {
        path += &format!("&formula={}", encoded(&formula.to_toml().map_err(Failure::work)?));
    }
    if as_json {
        let mut document = daemon.found(&path)?;
        // The console adds the difference of the last two texts.
        document.as_object_mut().map(|document| document.remove("texts"));
        return print_json(&document);
    }
    print_labelled(&daemon.found_text(&path)?)
}

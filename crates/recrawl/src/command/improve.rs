//! `recrawl improve`: what a measured crawl knows of its formula and of its pages, and the steps of its loop.

mod run;
mod steps;

use super::control::change_and_say;
use super::{counted, print_json, print_labelled, thousands};
use crate::cli::ImproveCommand;
use crate::report::forecast::watched;
use recrawl_console::view::Change;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::parts::improve::found::ComparedVisits;
use recrawl_crawl::report::watch::{ChangeCusum, CrawlWatch, Pooled, PopulationShift};
use recrawl_crawl::settings::Settings;
use recrawl_estimation::{Alarm, Stability};

pub fn run(command: &ImproveCommand) -> Result<(), Failure> {
    match command {
        ImproveCommand::Status(on) => {
            let settings = on.at.settings()?;
            let watch = watched(&settings)?;
            if on.json { print_json(&watch) } else { print_labelled(text(&settings, &watch)) }
        }
        ImproveCommand::Run(args) => run::run(args),
        ImproveCommand::History(on) => steps::history(on),
        ImproveCommand::Hold(at) => change_and_say(at, &Change::HoldLoop),
        ImproveCommand::Release(at) => change_and_say(at, &Change::ReleaseLoop),
        ImproveCommand::Promote(at) => change_and_say(at, &Change::PromoteCandidate),
        ImproveCommand::Rollback(at) => change_and_say(at, &Change::RollBackCandidate),
    }
}

fn text(settings: &Settings, watch: &CrawlWatch) -> String {
    if watch.cycles == 0 {
        let todo = match settings.is_measured {
            true => "the next cycle is the first",
            false => "set improve.mode = \"watch\"",
        };
        return format!("measured    no cycle yet; {todo}");
    }
    let CrawlWatch { cycles, last, pooled, freshness, score, audit, drift, population } = watch;
    let lines = [
        format!("measured    {}, the last is {last}", counted((*cycles).into(), "cycle")),
        format!("freshness   {}", freshness_text(freshness, *pooled)),
        format!("score       {}", found_text(score)),
        format!("audit       {}", found_text(audit)),
        format!("changes     {}", drift_text(drift)),
        format!("pages       {}", population_text(population, *cycles)),
    ];
    lines.join("\n")
}

fn freshness_text(freshness: &Pooled, pooled: u32) -> String {
    let pages = counted(freshness.pages, "audited page");
    let of = format!("{pages} of the last {}", counted(pooled.into(), "cycle"));
    let (Some(share), Some([low, high])) = (freshness.share, freshness.interval) else {
        return format!("{of}: too few for an estimate, which takes 100");
    };
    let wanted = freshness.pages_for_two_points.unwrap_or_default();
    let more = match wanted {
        wanted if wanted > freshness.pages => format!("; ± 0.02 takes {}", thousands(wanted)),
        _ => String::new(),
    };
    format!("{share:.3} ({low:.3} to {high:.3}) before the visits of a cycle; {of}{more}")
}

fn found_text(found: &ComparedVisits) -> String {
    let ComparedVisits { visits, changed, expected } = found;
    let visits = counted(*visits, "visit");
    format!("{} of {visits} found a change, {:.0} expected", thousands(*changed), expected.changes)
}

fn drift_text(drift: &ChangeCusum) -> String {
    let last = drift.alarm.map(|alarm| {
        let changes = match alarm.changes {
            Alarm::More => "more",
            Alarm::Fewer => "fewer",
        };
        format!("since cycle {} {changes} changes than before", alarm.cycle)
    });
    let [above, below] = drift.sums;
    let now = match drift.cycles_wanted {
        0 => format!("as expected (sums {above:.1} and {below:.1}; an alarm comes above 5)"),
        wanted => format!("{} until there is a norm to compare with", counted(wanted as u64, "cycle")),
    };
    last.map_or(now.clone(), |last| format!("{last}; {now}"))
}

fn population_text(population: &PopulationShift, cycles: u32) -> String {
    let PopulationShift { cycles_needed, change_rate, depth, has_moved } = *population;
    let verdict = match has_moved {
        None if cycles < cycles_needed => {
            return format!("too few cycles to tell how they are distributed: {cycles} of {cycles_needed}");
        }
        None => return "none to compare with 28 cycles before".into(),
        Some(true) => "distributed in another way than 28 cycles before",
        Some(false) => "no difference from 28 cycles before that is large and beyond chance",
    };
    let index = |name: &str, found: Option<Stability>, missing: &str| match found {
        Some(Stability { index, limit }) => format!("{name} {index:.2} (limit {limit:.2})"),
        None => format!("{name} cannot be told: {missing}"),
    };
    format!(
        "{verdict}: stability by {}, {}",
        index("depth", depth, "no pages"),
        index("X/n", change_rate, "too few visits a page, half need 16"),
    )
}

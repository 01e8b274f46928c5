//! `recrawl repository`: how large it is, and whether every byte of it is sound.

use super::{print, print_json, thousands};
use crate::cli::RepositoryCommand;
use crate::failure::Failure;
use crate::reading;
use crate::settings::Settings;
use serde_json::json;

pub fn run(command: &RepositoryCommand) -> Result<(), Failure> {
    match command {
        RepositoryCommand::Stats { at, json } => stats(&at.settings()?, *json),
        RepositoryCommand::Verify { at, json } => verify(&at.settings()?, *json),
    }
}

fn stats(settings: &Settings, as_json: bool) -> Result<(), Failure> {
    let repository = reading::repository(settings)?;
    let generation = repository.current();
    let summary = generation.summary();
    let mut pages: Vec<u64> = generation.origins().map_err(Failure::work)?.iter().map(|o| o.pages).collect();
    pages.sort_unstable();
    let quantile = |q: f64| match pages.len() {
        0 => 0,
        hosts => pages[((hosts - 1) as f64 * q).round() as usize],
    };
    let files = generation.files();
    if as_json {
        let files: serde_json::Map<_, _> =
            files.into_iter().map(|(name, bytes)| (name, bytes.into())).collect();
        return print_json(&json!({
            "generation": summary.number, "pages": summary.pages, "visited": summary.visited,
            "gone": summary.gone, "hosts": summary.origins, "bytes": summary.bytes, "files": files,
            "pages_per_host": {"p50": quantile(0.5), "p90": quantile(0.9), "p99": quantile(0.99), "max": quantile(1.0)},
        }));
    }
    print(format!("generation      {}", summary.number))?;
    print(format!("pages           {}", thousands(summary.pages)))?;
    print(format!("  visited       {}", thousands(summary.visited)))?;
    print(format!("  gone          {}", thousands(summary.gone)))?;
    print(format!("hosts           {}", thousands(summary.origins)))?;
    print(format!(
        "pages per host  median {}, 90 % {}, 99 % {}, most {}",
        thousands(quantile(0.5)),
        thousands(quantile(0.9)),
        thousands(quantile(0.99)),
        thousands(quantile(1.0))
    ))?;
    print(format!("bytes           {}", thousands(summary.bytes)))?;
    for (name, bytes) in files {
        let each = bytes as f64 / summary.pages.max(1) as f64;
        print(format!("  {name:28}  {:>15}  {each:>6.1} a known URL", thousands(bytes)))?;
    }
    Ok(())
}

fn verify(settings: &Settings, as_json: bool) -> Result<(), Failure> {
    let repository = reading::repository(settings)?;
    let damage = repository.verify();
    let summary = *repository.current().summary();
    if as_json {
        let list: Vec<_> =
            damage.iter().map(|d| json!({"file": d.file, "offset": d.offset, "what": d.what})).collect();
        print_json(&json!({"generation": summary.number, "pages": summary.pages, "damage": list}))?;
    } else {
        for place in &damage {
            print(place.to_string())?;
        }
    }
    if damage.is_empty() {
        let sound = format!(
            "generation {}: {} pages, every block is sound",
            summary.number,
            thousands(summary.pages)
        );
        return if as_json { Ok(()) } else { print(sound) };
    }
    let places =
        if damage.len() == 1 { "one place is".into() } else { format!("{} places are", damage.len()) };
    Err(Failure::Work(format!(
        "{}: {places} damaged; restore the data directory from a backup",
        settings.data_dir.display()
    )))
}

//! `recrawl repository stats`: counts and disk usage.

use crate::command::{counted, print, print_json, thousands};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::settings::Settings;
use recrawl_types::{Site, Size};
use serde_json::{Value, json};

/// The quantiles shown.
const QUANTILES: [(&str, f64); 5] = [("min", 0.0), ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)];

/// Quantiles of some counts.
struct Spread([u64; QUANTILES.len()]);

impl Spread {
    fn from_counts(mut counts: Vec<u64>) -> Spread {
        counts.sort_unstable();
        let last = counts.len().saturating_sub(1) as f64;
        Spread(QUANTILES.map(|(_, q)| counts.get((last * q).round() as usize).copied().unwrap_or(0)))
    }

    fn json(&self) -> Value {
        QUANTILES
            .iter()
            .zip(self.0)
            .map(|((name, _), value)| ((*name).to_owned(), Value::from(value)))
            .collect()
    }

    fn text(&self) -> String {
        let [min, median, p90, p99, max] = self.0.map(thousands);
        format!("min {min}, median {median}, p90 {p90}, p99 {p99}, max {max}")
    }
}

pub fn run(settings: &Settings, as_json: bool) -> Result<(), Failure> {
    let repository = open_read::repository(settings)?;
    let generation = repository.current();
    let summary = generation.summary();
    let (mut pages, mut sites, mut last_site) = (Vec::new(), 0u64, String::new());
    let mut runs = generation.origin_runs();
    while let Some(run) = runs.next_run().map_err(Failure::work)? {
        pages.push(run.pages);
        // The hosts of a site are adjacent: keys begin with the reversed labels.
        let site = Site::from_url(&run.home().map_err(Failure::work)?).to_string();
        if site != last_site {
            sites += 1;
            last_site = site;
        }
    }
    let hosts = Spread::from_counts(pages);
    let fill =
        Spread::from_counts((0..generation.blocks()).map(|at| generation.block_pages(at) as u64).collect());
    let parts = generation.parts();
    let kept = repository.kept().files().map_err(Failure::work)?;
    let kept_bytes: u64 = kept.iter().map(|(_, bytes)| bytes).sum();
    let a_page = |bytes: u64| bytes as f64 / summary.pages.max(1) as f64;
    if as_json {
        let files: serde_json::Map<_, _> =
            generation.files().into_iter().map(|(name, bytes)| (name, bytes.into())).collect();
        let part = |part: &recrawl_repository::PartStats| {
            let value = json!({
                "files": part.files, "bytes": part.bytes, "live": part.live, "garbage": part.bytes - part.live,
                "bytes_per_page": a_page(part.live),
            });
            (part.name.to_owned(), value)
        };
        return print_json(&json!({
            "generation": summary.number, "pages": summary.pages, "visited": summary.visited,
            "gone": summary.gone, "untried": summary.untried, "waiting_links": summary.waiting,
            "hosts": summary.origins, "sites": sites, "bytes": summary.bytes, "files": files,
            "bytes_per_page": a_page(summary.bytes),
            "parts": parts.iter().map(part).collect::<serde_json::Map<_, _>>(),
            "blocks": generation.blocks(), "pages_per_block": fill.json(), "pages_per_host": hosts.json(),
            "kept_visits": {"cycles": kept.len(), "bytes": kept_bytes},
        }));
    }
    print(format!("generation      {}", summary.number))?;
    print(format!("pages           {}", thousands(summary.pages)))?;
    print(format!("  visited       {}", thousands(summary.visited)))?;
    print(format!("  gone          {}", thousands(summary.gone)))?;
    print(format!("  never tried   {}", thousands(summary.untried)))?;
    print(format!("pending links   {}", thousands(summary.waiting)))?;
    print(format!("sites           {}", thousands(sites)))?;
    print(format!("hosts           {}", thousands(summary.origins)))?;
    print(format!("pages per host  {}", hosts.text()))?;
    print(format!("blocks          {}", thousands(generation.blocks() as u64)))?;
    print(format!("pages per block {}", fill.text()))?;
    print(format!(
        "kept visits     {}, {}",
        counted(kept.len() as u64, "cycle"),
        Size(kept_bytes).rounded()
    ))?;
    let size = Size(summary.bytes).rounded();
    print(format!("size            {size}, {:.1} B per page", a_page(summary.bytes)))?;
    print("\npart     files      in use     garbage  in use, B/page")?;
    for part in &parts {
        print(format!(
            "{:7}  {:>5}  {:>10}  {:>10}  {:>14.1}",
            part.name,
            part.files,
            Size(part.live).rounded(),
            Size(part.bytes - part.live).rounded(),
            a_page(part.live)
        ))?;
    }
    print("\nfile                                size")?;
    for (name, bytes) in generation.files() {
        print(format!("{name:28}  {:>10}", Size(bytes).rounded()))?;
    }
    Ok(())
}

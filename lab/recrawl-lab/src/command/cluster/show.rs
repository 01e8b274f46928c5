//! `recrawl-lab cluster show`.

use super::ModelFile;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::labels::{counted, thousands};
use recrawl_terminal::table::{long, number};
use recrawl_terminal::{print, print_json, print_table};
use serde_json::json;

/// Features of a cluster that are shown.
const FEATURES: usize = 4;

pub fn run(file: &ModelFile, as_json: bool) -> Result<(), Failure> {
    let clusters = clusters(file);
    let model = &file.model;
    if as_json {
        let cluster = |cluster: &ShownCluster| {
            let features = cluster.features.iter().map(|(name, value)| json!({"name": name, "value": value}));
            json!({"cluster": cluster.number, "pages": cluster.pages, "closeness": cluster.closeness,
                   "features": features.collect::<Vec<_>>()})
        };
        return print_json(&json!({
            "data": file.data,
            "digest": file.digest,
            "cycle": file.cycle,
            "date": file.date,
            "random_seed": file.random_seed,
            "features": model.scaling().kept().collect::<Vec<_>>(),
            "closeness": model.tau_per_page(),
            "clusters": clusters.iter().map(cluster).collect::<Vec<_>>(),
        }));
    }
    let pages = model.counts().iter().sum::<u64>();
    print(format!(
        "{} of {} in cycle {} of {}; {} features; mean closeness {:.3}\nfitted {}, random seed {}, data digest {}\n",
        counted(model.clusters() as u64, "cluster"),
        counted(pages, "page"),
        file.cycle,
        file.data,
        model.scaling().kept().count(),
        model.tau_per_page(),
        file.date,
        file.random_seed,
        file.digest,
    ))?;
    let rows: Vec<[String; 4]> = clusters.iter().map(ShownCluster::row).collect();
    let columns = [number("cluster"), number("pages"), number("closeness"), long("features that stand out")];
    print_table(&columns, &rows)
}

/// A cluster as it is shown.
struct ShownCluster<'a> {
    number: usize,
    pages: u64,
    closeness: f64,
    /// Names and values of the features of its centroid that are farthest from the mean of all pages, farthest first.
    features: Vec<(&'a str, f64)>,
}

/// The clusters, largest first; equal ones by number.
fn clusters(file: &ModelFile) -> Vec<ShownCluster<'_>> {
    let model = &file.model;
    let cluster = |(number, centroid): (usize, &[f64])| {
        let mut features: Vec<(&str, f64)> = model.scaling().kept().zip(centroid.iter().copied()).collect();
        features.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        features.truncate(FEATURES);
        ShownCluster { number, pages: model.counts()[number], closeness: file.closeness[number], features }
    };
    let mut clusters: Vec<ShownCluster<'_>> = model.centroids().iter().enumerate().map(cluster).collect();
    clusters.sort_by(|a, b| b.pages.cmp(&a.pages).then(a.number.cmp(&b.number)));
    clusters
}

impl ShownCluster<'_> {
    fn row(&self) -> [String; 4] {
        let features = self.features.iter().map(|(name, value)| format!("{name} {value:+.2}"));
        [
            self.number.to_string(),
            thousands(self.pages),
            format!("{:.3}", self.closeness),
            features.collect::<Vec<_>>().join(", "),
        ]
    }
}

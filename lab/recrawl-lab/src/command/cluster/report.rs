//! `recrawl-lab cluster report`: Table II, figures 1 and 8 of Tan & Mitra (2010).

use super::ModelFile;
use super::pages::{self, ClusterData};
use crate::cli::ClusterReportArgs;
use recrawl_clusters::choose_k::ChosenK;
use recrawl_contest::failure_of_data;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::labels::thousands;
use recrawl_rivals::page_clusters::figures::{GroupSizes, Variation, figure_1, figure_8};
use recrawl_rivals::page_clusters::{FitOptions, PagesOfCycle, fit};
use recrawl_simulation::{Dataset, RecordedPage};
use recrawl_terminal::table::{number, word};
use recrawl_terminal::{print, print_json, print_labelled, print_table};
use serde_json::json;

/// The figures.
struct ClusterReport {
    sizes: Sizes,
    tau: ChosenK,
    variation: Variation,
}

/// Table II.
struct Sizes {
    /// The cycle whose pages are counted.
    cycle: u32,
    clusters: GroupSizes,
    sites: GroupSizes,
    groups: GroupSizes,
}

pub fn run(args: &ClusterReportArgs) -> Result<(), Failure> {
    let model =
        args.model.as_deref().map(|path| ModelFile::read(path).map(|file| (path, file))).transpose()?;
    let ClusterData { mut data, features, options } = ClusterData::read(&args.of, args.clusters)?;
    let last = data.truth.cycles();
    let cycle = pages::checked(&data, args.cycle.unwrap_or(last / 2))?;
    if cycle == last {
        let why = "figure 8 needs later cycles";
        return Err(match args.cycle {
            Some(_) => Failure::Usage(format!("--cycle {cycle}: it is the last one, but {why}")),
            None => Failure::Work(format!("{}: its only cycle is {cycle}, but {why}", data.name)),
        });
    }
    if let Some((path, file)) = &model {
        // Contents take long to read, and only a model over words needs them.
        if file.digest_of_words.is_some() && data.contents.is_none() {
            recrawl_contents::add(&mut data, &args.of.data).map_err(failure_of_data)?;
        }
        file.check_data(path, &data)?;
    }
    let pages = PagesOfCycle::in_cycle(&data, cycle);
    let failed = |error| pages::failure(&data, cycle, error);
    let tau = figure_1(&data, &pages, &options).map_err(failed)?;
    let sizes = match &model {
        Some((_, file)) => sizes_of_model(&data, file)?,
        None => {
            let clusters = options.clusters.or(Some(tau.k));
            let fitted = fit(&data, &pages, &FitOptions { clusters, ..options.clone() }).map_err(failed)?;
            super::warn_of_fewer(options.clusters, fitted.model.clusters());
            Sizes::counted(&data, &pages, GroupSizes::from_counts(fitted.model.counts().iter().copied()))
        }
    };
    let variation = figure_8(&data, &pages, &options).map_err(failed)?;
    let report = ClusterReport { sizes, tau, variation };
    let features: Vec<&str> = features.iter().map(|set| set.named().0).collect();
    if args.json {
        return print_json(&json!({
            "data": data.name,
            "digest": data.digest(),
            "random_seed": options.seed,
            "features": features,
            "model": args.model,
            "cycle": cycle,
            "pages": pages.pages.len(),
            "sizes": {
                "cycle": report.sizes.cycle,
                "clusters": report.sizes.clusters,
                "sites": report.sizes.sites,
                "groups": report.sizes.groups,
            },
            "tau": {
                "knee": report.tau.k,
                "curve": report.tau.curve.iter()
                    .map(|(clusters, tau)| json!({"clusters": clusters, "tau_per_page": tau}))
                    .collect::<Vec<_>>(),
            },
            "variation": report.variation,
        }));
    }
    let of = thousands(pages.pages.len() as u64);
    let features = features.join(", ");
    print_labelled(format!(
        "{}: {of} pages in cycle {cycle} of {last}; features: {features}; random seed {}",
        data.name, options.seed
    ))?;
    report.print(cycle, last)
}

/// The sizes of the clusters of a model, at its own cycle.
fn sizes_of_model(data: &Dataset, file: &ModelFile) -> Result<Sizes, Failure> {
    let cycle = pages::checked(data, file.cycle)?;
    let pages = PagesOfCycle::in_cycle(data, cycle);
    let mut clusters = Vec::with_capacity(pages.pages.len());
    for page in &pages.pages {
        let values = file.model.space().values(page).map_err(Failure::work)?;
        clusters.push(u32::from(file.model.assign(&values).map_err(Failure::work)?.0));
    }
    Ok(Sizes::counted(data, &pages, GroupSizes::of_pages(clusters)))
}

impl Sizes {
    fn counted(data: &Dataset, pages: &PagesOfCycle<'_>, clusters: GroupSizes) -> Sizes {
        let sizes = |group: fn(&RecordedPage) -> u32| {
            GroupSizes::of_pages(pages.numbers.iter().map(|&page| group(&data.pages[page as usize])))
        };
        Sizes {
            cycle: pages.cycle,
            clusters,
            sites: sizes(|page| page.site),
            groups: sizes(|page| page.group),
        }
    }
}

impl ClusterReport {
    fn print(&self, cycle: u32, last: u32) -> Result<(), Failure> {
        let Sizes { cycle: of_sizes, clusters, sites, groups } = &self.sizes;
        print_labelled(format!("\nPages per cluster, site and group, in cycle {of_sizes} (Table II)"))?;
        let row = |name: &str, sizes: &GroupSizes| {
            let GroupSizes { number, least, most, mean } = sizes;
            [
                name.to_owned(),
                thousands(*number as u64),
                thousands(*least),
                thousands(*most),
                format!("{mean:.1}"),
            ]
        };
        let rows = [row("clusters", clusters), row("sites", sites), row("groups", groups)];
        print_table(&[word(""), number("number"), number("least"), number("most"), number("mean")], &rows)?;

        print_labelled("\nCosine of held-out pages to their nearest centroid, mean (figure 1)")?;
        let rows: Vec<[String; 2]> = self
            .tau
            .curve
            .iter()
            .map(|(clusters, tau)| [clusters.to_string(), format!("{tau:.4}")])
            .collect();
        print_table(&[number("clusters"), number("τ per page")], &rows)?;
        print(format!("knee at {}", self.tau.k))?;

        let variation = &self.variation;
        print_labelled(format!(
            "\nCoefficient of variation of the change rates in cycles {} to {last} within groups, mean (figure 8)",
            cycle + 1
        ))?;
        let rows: Vec<[String; 5]> = variation
            .clusters
            .iter()
            .map(|at| {
                let [a, b, c, d] = [at.by_static, at.by_dynamic, at.by_both, at.by_chance].map(shown);
                [at.clusters.to_string(), a, b, c, d]
            })
            .collect();
        let columns =
            [number("clusters"), number("static"), number("dynamic"), number("both"), number("chance")];
        print_table(&columns, &rows)?;
        print(format!(
            "within sites {}, within groups {}",
            shown(Some(variation.sites)),
            shown(Some(variation.groups))
        ))
    }
}

fn shown(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map_or("–".into(), |value| format!("{value:.3}"))
}

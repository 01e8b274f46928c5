//! `recrawl-lab focus replay`: how soon each order of a crawl finds the relevant pages of a corpus.

use super::corpus;
use crate::cli::{Anchors, FocusReplayArgs, Lower, ParentsArg, TiesArg};
use crate::command::pool;
use recrawl_corpora::learned::LearnedSettings;
use recrawl_corpora::replay::{Case, CorpusReplayOptions, Replayed, replay};
use recrawl_corpora::rules::{CorpusRules, Parents, Ties};
use recrawl_corpora::web::Web;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::labels::counted;
use recrawl_focus::policy::{self, FocusPolicy};
use recrawl_terminal::{print, print_heading, print_json};
use serde_json::json;

pub fn run(args: &FocusReplayArgs) -> Result<(), Failure> {
    let policies = policies(args);
    let read = corpus::read(&args.of, |corpus| {
        if args.anchors == Anchors::Body {
            corpus.hide_list_anchors();
        }
    })?;
    let corpus::ReadCorpus { corpus, readings, wanted, mut words } = read;
    let options = options(args);
    let hide = args.of.hide_urls;
    let digests: Vec<String> = wanted.iter().map(|wanted| wanted.terms.topic().digest()).collect();
    let cases: Vec<Case> = wanted
        .into_iter()
        .map(|wanted| Case {
            name: wanted.name,
            web: Web::new(&corpus, &readings, &wanted.terms, &wanted.terms, hide, &mut words),
            labels: wanted.labels,
        })
        .collect();
    let replayed = pool(args.of.threads)?.install(|| replay(&cases, &policies, &options));
    if args.of.json {
        return print_json(&json!({
            "corpus": args.of.corpus,
            "pages": corpus.pages.len(),
            "sites": corpus.sites.len(),
            "urls_hidden": hide,
            "anchors": match args.anchors { Anchors::Body => "body", Anchors::All => "all" },
            "seeds": args.seeds,
            "cases": cases.iter().zip(&digests).map(|(case, digest)| json!({
                "name": case.name,
                "terms_digest": digest,
                "relevant": case.labels.iter().filter(|label| **label == Some(true)).count(),
            })).collect::<Vec<_>>(),
            "replays": replayed,
        }));
    }
    print(format!(
        "{}: {} of {}; share of pages visited until 90 % of the relevant ones are found, mean of {}",
        args.of.corpus.display(),
        counted(corpus.pages.len() as u64, "page"),
        counted(corpus.sites.len() as u64, "site"),
        counted(u64::from(args.seeds), "random seed"),
    ))?;
    table(&cases, &policies, &replayed)
}

/// A row a case, a column a policy.
fn table(cases: &[Case], policies: &[&FocusPolicy], replayed: &[Replayed]) -> Result<(), Failure> {
    let width = cases.iter().map(|case| case.name.len()).max().unwrap_or(0).max("mean".len());
    let heads: String = policies.iter().map(|policy| format!("{:>8}", policy.name)).collect();
    print_heading(&format!("{:width$}{heads}", "relevant"))?;
    let cell =
        |share: Option<f64>| share.map_or_else(|| format!("{:>8}", "–"), |share| format!("{share:>8.3}"));
    for (case, rows) in cases.iter().zip(replayed.chunks(policies.len())) {
        let cells: String = rows.iter().map(|row| cell(row.until_most)).collect();
        print(format!("{:width$}{cells}", case.name))?;
    }
    let mean = |place: usize| {
        let column: Option<Vec<f64>> =
            replayed.chunks(policies.len()).map(|rows| rows[place].until_most).collect();
        column.map(|column| column.iter().sum::<f64>() / column.len() as f64)
    };
    let means: String = (0..policies.len()).map(|place| cell(mean(place))).collect();
    print(format!("{:width$}{means}", "mean"))
}

/// The policies, each once, in the order of the list.
fn policies(args: &FocusReplayArgs) -> Vec<&'static FocusPolicy> {
    let wanted = |policy: &&FocusPolicy| args.policy.iter().any(|name| name == "all" || name == policy.name);
    policy::ALL.iter().filter(wanted).collect()
}

fn options(args: &FocusReplayArgs) -> CorpusReplayOptions {
    CorpusReplayOptions {
        rules: CorpusRules {
            change_threshold: args.change_threshold,
            lower_overwrites: args.lower == Lower::Overwrites,
            parents: match args.parents {
                ParentsArg::All => Parents::All,
                ParentsArg::First => Parents::First,
            },
            ties: match args.ties {
                TiesArg::Fifo => Ties::Fifo,
                TiesArg::Hash => Ties::Hash,
            },
            max_depth: args.max_depth,
            max_links: args.max_links as usize,
        },
        learned: LearnedSettings { explore: args.explore, rate: args.rate, ..LearnedSettings::default() },
        seeds: u64::from(args.seeds),
        folds: args.folds as usize,
    }
}

//! Fits the weights that a focused crawl starts with: `cargo run --release --example live_weights CORPUS TERMS...`.
//!
//! Crawls a corpus (its four files, unpacked) from its home pages in random orders for each term file (`GENRE-TOPIC.toml`), and
//! fits both mixtures to what the classifier says of the visited pages, at the threshold that tells the labels best. URLs are
//! hidden, since labels come from them. Empty anchors and frames are not told: in this corpus the former mark links that are
//! assumed, and the latter menus that are given once. Genre and content of the parent are told by its relevance already.

use recrawl_corpora::Corpus;
use recrawl_corpora::corpus::PARTS;
use recrawl_corpora::regression::{Example, fit};
use recrawl_corpora::web::{Web, readings};
use recrawl_focus::classifier::terms::Terms;
use recrawl_focus::evidence::LinkEvidence;
use recrawl_focus::live::yields::{GroupYields, Yield};
use recrawl_focus::live::{FOUND, PLANNED, Parent, UntriedUrl, found_features, planned_features};
use recrawl_focus::{Assessment, Topic, Words};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// Orders of each crawl.
const SEEDS: u64 = 3;

/// A page that waits, and what its first link showed.
struct Waiting {
    page: u32,
    found: [f64; FOUND.len()],
    tunnel: u8,
    depth: u16,
    group: u32,
}

fn main() {
    let mut args = std::env::args().skip(1);
    let folder = args.next().expect("CORPUS TERMS...");
    let open = |name: &str| BufReader::new(File::open(Path::new(&folder).join(name)).expect("a corpus"));
    let mut corpus = Corpus::default();
    for (name, read) in PARTS {
        read(Box::new(open(name)), &mut corpus).expect(name);
    }
    let mut words = Words::new();
    let texts = readings(&corpus, true, &mut words);
    let webs: Vec<Scored> = args
        .map(|path| {
            let stem = Path::new(&path).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            let (genre, topic) = stem.split_once('-').expect("GENRE-TOPIC.toml");
            let labels = corpus.labels(genre, topic);
            let text = std::fs::read_to_string(&path).expect("a term file");
            let terms = Terms::new(Topic::from_toml(&text).expect("a term file"), &mut words);
            let Web { assessments, evidence, .. } =
                Web::new(&corpus, &texts, &terms, &terms, true, &mut words);
            let threshold = best(&assessments, &labels);
            println!("{stem}: threshold {threshold:.3}");
            (assessments, evidence, threshold)
        })
        .collect();
    // The first mixture from what random crawls tried, then the second from the same crawls.
    let mut first: Vec<Example<{ FOUND.len() }>> = vec![];
    crawls(&corpus, &webs, |found, _, target| first.push(Example { features: found, target, weight: 1.0 }));
    let found = fit(&first);
    let mut second: Vec<Example<{ PLANNED.len() }>> = vec![];
    crawls(&corpus, &webs, |features, candidate, target| {
        let candidate = UntriedUrl { links: found.logit(&features), ..candidate };
        second.push(Example { features: planned_features(&candidate), target, weight: 1.0 });
    });
    let planned = fit(&second);
    println!(
        "{} links, {:.4} relevant",
        first.len(),
        first.iter().map(|e| e.target).sum::<f64>() / first.len() as f64
    );
    FOUND.iter().zip(found.0).for_each(|(name, weight)| println!("found {name}: {weight:.3}"));
    PLANNED.iter().zip(planned.0).for_each(|(name, weight)| println!("planned {name}: {weight:.3}"));
}

type Scored = (Vec<Assessment>, Vec<Vec<LinkEvidence>>, f64);

/// The threshold with the best F1.
fn best(assessments: &[Assessment], labels: &[Option<bool>]) -> f64 {
    let f1 = |threshold: f64| {
        let (mut hits, mut found, mut all) = (0.0, 0.0, 0.0);
        for (page, label) in assessments.iter().zip(labels) {
            if let Some(is_relevant) = label {
                let is_found = page.relevance >= threshold;
                hits += f64::from(u8::from(is_found && *is_relevant));
                found += f64::from(u8::from(is_found));
                all += f64::from(u8::from(*is_relevant));
            }
        }
        2.0 * hits / (found + all)
    };
    let thresholds = (1..100).map(|percent| f64::from(percent) / 100.0);
    thresholds.max_by(|a, b| f1(*a).total_cmp(&f1(*b))).unwrap_or(0.5)
}

fn crawls(corpus: &Corpus, webs: &[Scored], mut tried: impl FnMut([f64; FOUND.len()], UntriedUrl, f64)) {
    for (assessments, evidence, threshold) in webs {
        let threshold = *threshold;
        for seed in 0..SEEDS {
            let mut random = seed;
            let mut is_found = vec![false; corpus.pages.len()];
            let mut waiting: Vec<Waiting> = vec![];
            let (mut groups, mut all) = (GroupYields::new(usize::MAX), Yield::default());
            let mut sites = vec![Yield::default(); corpus.sites.len()];
            let mut next: Vec<(u32, u8, u16)> = corpus.homes().into_iter().map(|home| (home, 0, 0)).collect();
            next.iter().for_each(|(home, ..)| is_found[*home as usize] = true);
            loop {
                for (page, tunnel, depth) in next.drain(..) {
                    let verdict = assessments[page as usize];
                    let is_relevant = verdict.relevance >= threshold;
                    let relevance = f64::from(u8::from(is_relevant));
                    sites[corpus.pages[page as usize].site as usize].add(relevance);
                    all.add(relevance);
                    let parent = Parent { verdict, threshold };
                    let tunnel = if is_relevant { 0 } else { tunnel.saturating_add(1) };
                    for (link, shown) in corpus.links[page as usize].iter().zip(&evidence[page as usize]) {
                        if !std::mem::replace(&mut is_found[link.to as usize], true) {
                            let mut found = found_features(&parent, shown);
                            for hidden in [2, 3, 7, 9] {
                                found[hidden] = 0.0;
                            }
                            let group = (shown.group >> 32) as u32;
                            waiting.push(Waiting { page: link.to, found, tunnel, depth: depth + 1, group });
                        }
                    }
                }
                if waiting.is_empty() {
                    break;
                }
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let Waiting { page, found, tunnel, depth, group } =
                    waiting.swap_remove((random >> 33) as usize % waiting.len());
                let site = sites[corpus.pages[page as usize].site as usize];
                let candidate = UntriedUrl { links: 0.0, tunnel, depth, group: groups.get(group), site, all };
                let relevance = f64::from(u8::from(assessments[page as usize].relevance >= threshold));
                tried(found, candidate, relevance);
                groups.add(group, relevance);
                next.push((page, tunnel, depth));
            }
        }
    }
}

//! Where the visits of policies that sample clusters go.
//!
//! `cargo run --release -p recrawl-rivals --example cluster_visits -- data=terms every=7 share=0.18 recluster=1
//! order=nearest policies=cls_nad,cls_sad`
//!
//! For each policy: the share of visits that are samples (made before the policy chose again), and the share of visits to
//! pages that it had visited at most two cycles before; of each the share that found a change; and the share of the pages
//! that were ever visited. The last choice of a cycle counts as chosen, although it can be of a sample.

use recrawl_formula::Basis;
use recrawl_rivals::policy::{ClusterOptions, FirstOfCluster, with_clusters, with_rivals};
use recrawl_simulation::policy::PolicyVisit;
use recrawl_simulation::{Budget, Observed, ReplayPolicy, Rules, replay};
use recrawl_types::Reads;
use std::collections::HashMap;
use std::path::PathBuf;

/// Visits, and those that found a change.
#[derive(Default)]
struct Counts {
    visits: u64,
    changed: u64,
}

impl Counts {
    fn add(&mut self, changed: bool) {
        self.visits += 1;
        self.changed += u64::from(changed);
    }

    /// As a share of all visits, and the share that found a change.
    fn shares(&self, all: &Counts) -> String {
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        format!("{:.3} {:.4}", share(self.visits, all.visits), share(self.changed, self.visits))
    }
}

/// Counts the visits of a policy after the warm-up.
struct Counted<'a> {
    policy: Box<dyn ReplayPolicy + 'a>,
    is_sample: bool,
    /// Last visit of each page.
    last: Vec<Option<u32>>,
    all: Counts,
    samples: Counts,
    chosen: Counts,
    /// At most two cycles after the visit before, and later.
    soon: Counts,
    late: Counts,
}

impl ReplayPolicy for Counted<'_> {
    fn name(&self) -> &str {
        self.policy.name()
    }

    fn reads(&self) -> Reads {
        self.policy.reads()
    }

    fn reads_contents(&self) -> bool {
        self.policy.reads_contents()
    }

    fn reads_urls(&self) -> bool {
        self.policy.reads_urls()
    }

    fn wants(&mut self, observed: &Observed, left: u64) -> u64 {
        let wanted = self.policy.wants(observed, left);
        self.is_sample = wanted < left;
        wanted
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        self.policy.score(observed, out);
    }

    fn observe(&mut self, observed: &Observed, visits: &[PolicyVisit]) {
        self.policy.observe(observed, visits);
        let now = observed.cycle().0;
        self.last.resize(observed.columns().len(), None);
        for visit in visits {
            let before = self.last[visit.page as usize].replace(now);
            let (Some(changed), Some(before)) = (visit.changed.filter(|_| observed.k() > 0), before) else {
                continue;
            };
            self.all.add(changed);
            if self.is_sample {
                self.samples.add(changed)
            } else {
                self.chosen.add(changed)
            }
            if now - before <= 2 { self.soon.add(changed) } else { self.late.add(changed) }
        }
    }
}

fn main() {
    let pairs = std::env::args().skip(1).filter_map(|a| {
        let (name, value) = a.split_once('=')?;
        Some((name.to_owned(), value.to_owned()))
    });
    let arguments: HashMap<String, String> = pairs.collect();
    let text = |name: &str, default: &str| arguments.get(name).map_or(default, |v| v).to_owned();
    let number = |name: &str, default: f64| -> f64 {
        arguments.get(name).map_or(default, |value| value.parse().expect("a number"))
    };
    let folder = PathBuf::from(text("data", "crates/mockweb/recording"));
    let mut data = recrawl_simulation::open(&folder, None).expect("a data set");
    recrawl_contents::add(&mut data, &folder).expect("contents");
    let data = data.every(number("every", 1.0) as u32).fixed_part();
    let rules = Rules { budget: Budget::Share(number("share", 0.05)), ..Rules::default() };
    let options = ClusterOptions {
        recluster: number("recluster", 28.0) as u32,
        clusters: arguments.get("clusters").map(|clusters| clusters.parse().expect("a number")),
        first: match text("order", "nearest").as_str() {
            "longest-unvisited" => FirstOfCluster::LongestUnvisited,
            _ => FirstOfCluster::Nearest,
        },
        ..ClusterOptions::default()
    };
    println!("{}: {} pages, {:?}, {:?}", data.name, data.pages.len(), rules.budget, options.first);
    println!(
        "{:14} {:>13} {:>13} {:>13} {:>13}  pages",
        "shares, hits", "samples", "chosen", "≤ 2 cycles", "later"
    );
    for name in text("policies", "rand,freq,sls,cls_nad,cls_sad,cls_threshold").split(',') {
        let known = with_rivals();
        let kind = known.iter().find(|kind| kind.name == name).expect("a policy");
        let mut counted = Counted {
            policy: with_clusters(name, &options).unwrap_or_else(|| kind.build(&data, Basis::Visits)),
            is_sample: false,
            last: Vec::new(),
            all: Counts::default(),
            samples: Counts::default(),
            chosen: Counts::default(),
            soon: Counts::default(),
            late: Counts::default(),
        };
        let trace = replay::run(&data, &rules, &mut counted).expect("cycles after the warm-up");
        let [samples, chosen, soon, late] =
            [&counted.samples, &counted.chosen, &counted.soon, &counted.late].map(|c| c.shares(&counted.all));
        let visited = trace.visited as f64 / trace.pages as f64;
        println!("{name:14} {samples:>13} {chosen:>13} {soon:>13} {late:>13}  {visited:.3}");
    }
}

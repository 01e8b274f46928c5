//! Every policy on a recorded web, to the last digit.
//!
//! Replays are exact, so each figure is equal on every machine and in every version. A different
//! figure means that a policy or the replay changed.

use crate::policy::ALL;
use recrawl_formula::Basis;
use recrawl_scheduler::Ties;
use recrawl_simulation::metric::{AGE, CHANGE_RATE, FRESHNESS, HARMONIC};
use recrawl_simulation::{Dataset, ReplayMetric, Rules, open, replay};
use std::path::Path;

/// Policy, ChangeRate, NDCG, freshness, age, harmonic penalty.
const FIGURES: &[(&str, [f64; 5])] = &[
    (
        "lambda_crawl",
        [0.5572972972972972, 0.5773410476817507, 0.7028589282924547, 1.784721137322294, 0.4891487008108414],
    ),
    (
        "binary_lambda_crawl",
        [0.41189189189189185, 0.4191373614351109, 0.6971827318648128, 2.31133156277665, 0.564425098029918],
    ),
    (
        "binary_lambda_crawl_04",
        [0.41405405405405427, 0.4241938988753038, 0.6962974535228867, 2.3238816851533612, 0.5661565129392486],
    ),
    (
        "nutch",
        [0.9767567567567568, 0.9780047094029953, 0.5560068739259494, 11.332448054991406, 0.7839429737714632],
    ),
    (
        "stormcrawler",
        [
            0.46702702702702736,
            0.47242104157168213,
            0.6954902879758371,
            2.1685674113419777,
            0.5437327051635424,
        ],
    ),
    (
        "common_crawl",
        [0.4156756756756755, 0.42744454295909057, 0.6928865281466438, 2.3106285476227675, 0.5673445922196522],
    ),
    (
        "thompson",
        [0.7562162162162163, 0.7394918262064489, 0.665703275529865, 2.9701609123574446, 0.47447209817152025],
    ),
    (
        "rr",
        [0.39891891891891895, 0.39782691092861006, 0.6891110763943132, 2.3505702234025936, 0.571029599240667],
    ),
    (
        "freq",
        [0.9745945945945946, 0.9769894918367201, 0.5475446544810704, 13.419830234859138, 0.9285401291319715],
    ),
    (
        "sls",
        [0.34162162162162163, 0.3154422455383978, 0.5954017601416447, 6.960422850596261, 0.7517325810989351],
    ),
    (
        "db",
        [0.32270270270270257, 0.33150052565430493, 0.6686715617351452, 5.270582721449774, 0.7095599196510853],
    ),
    (
        "lb",
        [0.3302702702702703, 0.3428563226206213, 0.6659376139144926, 5.206894756027704, 0.7016896067269247],
    ),
    (
        "cls_nad",
        [0.19513513513513497, 0.17533994731292166, 0.5561370619174089, 13.458496068322658, 1.013774246135754],
    ),
    (
        "cls_sad",
        [
            0.17567567567567557,
            0.14436484937329047,
            0.5650939957298338,
            12.886476071447165,
            0.9973992886672804,
        ],
    ),
    (
        "cls_aad",
        [0.19513513513513497, 0.1753744935072351, 0.556111024319117, 13.458496068322658, 1.0138002837340458],
    ),
    (
        "cls_gad",
        [
            0.20378378378378367,
            0.16551958904789352,
            0.5610842055928763,
            13.127115554861218,
            1.0007252989255966,
        ],
    ),
    (
        "cls_threshold",
        [
            0.17567567567567557,
            0.14436484937329047,
            0.5650939957298338,
            12.886476071447165,
            0.9973992886672804,
        ],
    ),
    (
        "bayes_greedy",
        [0.9637837837837843, 0.9733500135124437, 0.5699890642087173, 9.702364213924907, 0.661673244216517],
    ),
];

fn recording() -> Dataset {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/mockweb/recording");
    let mut data = open(&folder, None).unwrap();
    recrawl_contents::add(&mut data, &folder).unwrap();
    data.part(&data.fixed(), 0..data.truth.cycles() + 1)
}

#[test]
fn figures_are_those_that_are_written_down() {
    let data = recording();
    let rules = Rules { ties: Ties::Index, ..Rules::default() };
    let ndcg = ReplayMetric::named("ndcg_log2").unwrap();
    let mut found = String::new();
    for kind in ALL {
        let trace = replay::run(&data, &rules, &mut *kind.build(&data, Basis::Visits)).unwrap();
        let figures = [CHANGE_RATE, *ndcg, FRESHNESS, AGE, HARMONIC].map(|metric| metric.of_replay(&trace));
        found += &format!("    (\"{}\", {figures:?}),\n", kind.name);
    }
    let written: String =
        FIGURES.iter().map(|(name, figures)| format!("    (\"{name}\", {figures:?}),\n")).collect();
    assert!(found == written, "found:\n{found}");
    assert_eq!(FIGURES.len(), ALL.len());
}

use super::*;
use crate::corpus::{Corpus, CorpusLink, CorpusPage, CorpusSite, LinkKind};
use crate::linear::fold;
use crate::replay::{Case, CorpusReplayOptions, ReplayOutcome, models, replay};
use crate::web::readings;
use recrawl_focus::classifier::terms::Terms;
use recrawl_focus::policy::named;
use recrawl_focus::terms::Topic;
use recrawl_focus::words::Words;

/// Sites with a home page that links to a list of labs and one of notes, each with five pages. Only every third site is
/// about SQL, and only there labs are relevant.
fn corpus() -> Corpus {
    let mut corpus = Corpus::default();
    for site in 0..30_u32 {
        let home = corpus.pages.len() as u32;
        let subject = if site % 3 == 0 { "sql" } else { "law" };
        corpus.sites.push(CorpusSite {
            name: format!("site {site}"),
            topics: vec![subject.into()],
            language: "en".into(),
            home,
        });
        let mut page = |genre: &str, text: String| {
            corpus.pages.push(CorpusPage {
                site,
                genre: genre.into(),
                text,
                chars: 500,
                ..CorpusPage::default()
            });
        };
        page("home", format!("all about {subject}"));
        page("listing", format!("labs of {subject}"));
        page("listing", format!("notes of {subject}"));
        for number in 0..5 {
            page("lab", format!("lab exercise {number} {subject}"));
            page("note", format!("note {number} {subject}"));
        }
        let link =
            |to: u32, anchor: &str| CorpusLink { to: home + to, kind: LinkKind::Body, anchor: anchor.into() };
        corpus.links.push(vec![link(1, "more"), link(2, "more")]);
        corpus.links.push((0..5).map(|n| link(3 + 2 * n, "part")).collect());
        corpus.links.push((0..5).map(|n| link(4 + 2 * n, "part")).collect());
        corpus.links.extend(vec![vec![]; 10]);
    }
    corpus
}

fn case(corpus: &Corpus) -> Case<'_> {
    let mut words = Words::new();
    let topic = Topic::from_toml("genre = [\"lab\", \"exercise\"]\ncontent = [\"sql\"]\n").unwrap();
    let terms = Terms::new(topic, &mut words);
    let read = readings(corpus, true, &mut words);
    let web = Web::new(corpus, &read, &terms, &terms, true, &mut words);
    Case { name: "lab x sql".into(), web, labels: corpus.labels("lab", "sql") }
}

fn options() -> CorpusReplayOptions {
    CorpusReplayOptions {
        rules: CorpusRules::default(),
        learned: LearnedSettings { round: 5, ..LearnedSettings::default() },
        seeds: 3,
        folds: 3,
    }
}

#[test]
fn it_learns_from_visits_beside_a_link_what_its_anchor_does_not_say() {
    let corpus = corpus();
    let policies = [named("learned").unwrap(), named("random").unwrap()];
    let replayed = replay(&[case(&corpus)], &policies, &options());
    let [learned, random] = [0, 1].map(|place| replayed[place].until_most.unwrap());
    assert!(learned < random - 0.2, "{learned} against {random}");
}

#[test]
fn weights_of_a_fold_do_not_know_the_labels_of_its_sites() {
    let corpus = corpus();
    let known = case(&corpus);
    let fitted = models(std::slice::from_ref(&known), 0, &options());
    let is_held = |page: usize| fold(&corpus.sites[corpus.pages[page].site as usize].name, 3) == 1;
    let flipped = (0..corpus.pages.len())
        .map(|page| known.labels[page].map(|is_relevant| is_relevant != is_held(page)))
        .collect();
    let other = models(&[Case { labels: flipped, ..known }], 0, &options());
    assert_eq!(fitted[1], other[1], "its own sites were not seen");
    assert_ne!(fitted[0], other[0], "others were");
}

#[test]
fn weights_of_a_topic_do_not_know_its_labels_if_there_are_others() {
    let corpus = corpus();
    let mut flipped = case(&corpus);
    flipped.labels.iter_mut().for_each(|label| *label = label.map(|is_relevant| !is_relevant));
    let both = models(&[case(&corpus), flipped], 0, &options());
    let mut alone = case(&corpus);
    alone.labels.iter_mut().for_each(|label| *label = label.map(|is_relevant| !is_relevant));
    assert_eq!(both, models(&[alone], 0, &options()));
}

#[test]
fn exploration_and_updates_keep_the_crawl_complete_and_repeatable() {
    let corpus = corpus();
    let Case { web, labels, .. } = case(&corpus);
    let one = vec![0; corpus.sites.len()];
    let all = [LabelledWeb { web: &web, labels: &labels }];
    let settings = LearnedSettings { explore: 0.3, rate: 0.05, round: 7, ..LearnedSettings::default() };
    let model = fit(&all, |_| true, &CorpusRules::default(), &settings, 1);
    let order = |seed| crawl(&web, &one, &[model], &CorpusRules::default(), &settings, &corpus.homes(), seed);
    let first = order(4);
    assert_eq!(first, order(4));
    assert_ne!(first, order(5));
    assert_eq!(ReplayOutcome::judged(&first, &labels).pages, corpus.pages.len());
}

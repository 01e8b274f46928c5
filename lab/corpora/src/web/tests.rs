use super::*;
use crate::corpus::{CorpusPage, CorpusSite};
use crate::crawl::crawl;
use crate::rules::CorpusRules;
use recrawl_focus::policy::{ALL, FocusRule};
use recrawl_focus::terms::Topic;

fn terms(words: &mut Words) -> Terms {
    let file = "genre = [\"lab\", \"exercise sheet\"]\ncontent = [\"sql\"]\nurl = [\"lab\", \"db\"]\n";
    Terms::new(Topic::from_toml(file).unwrap(), words)
}

#[test]
fn a_page_with_many_links_is_bounded() {
    // A page with ten thousand links, twice each.
    let to = |place: u32| CorpusLink { to: 1 + place % 10_000, kind: LinkKind::Body, anchor: "lab".into() };
    let mut links = vec![vec![]; 10_001];
    links[0] = (0..20_000).map(to).collect();
    let pages = (0..10_001).map(|_| CorpusPage { text: "lab sql".into(), ..CorpusPage::default() }).collect();
    let corpus =
        Corpus { pages, links, sites: vec![CorpusSite { language: "en".into(), ..CorpusSite::default() }] };
    let mut words = Words::new();
    let terms = terms(&mut words);
    let readings = readings(&corpus, true, &mut words);
    let web = Web::new(&corpus, &readings, &terms, &terms, true, &mut words);
    let rules = CorpusRules::default();
    for policy in ALL.iter().filter(|policy| policy.rule != FocusRule::Learned) {
        assert_eq!(crawl(&web, policy.rule, &rules, &[0], 0).len(), 1 + rules.max_links, "{}", policy.name);
    }
}

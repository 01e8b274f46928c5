use super::*;
use proptest::prelude::*;
use recrawl_types::{History, Known, UrlRules};
use std::collections::{BTreeMap, BTreeSet};

const ALONE: u32 = StateColumns::ALONE;

fn key(url: &str) -> Vec<u8> {
    UrlRules::keep_all().canonicalize(url).unwrap().key().to_vec()
}

fn find<'k>(keys: impl IntoIterator<Item = &'k Vec<u8>>) -> Vec<Range<usize>> {
    let mut finder = Finder::default();
    keys.into_iter().for_each(|key| finder.push(key));
    finder.finish()
}

/// The groups of a subtree from the definition: `pages` with the prefixes of their folders, which `depth` of them share.
/// Beside the pages on the `edges`, there may be more.
fn by_definition(pages: &[(usize, Vec<&[u8]>)], depth: usize, edges: [usize; 2]) -> Vec<Vec<usize>> {
    let is_whole = !pages.iter().any(|(page, _)| edges.contains(page));
    if pages.len() == 1 || pages.len() <= GROUP_PAGES && is_whole {
        return vec![pages.iter().map(|(page, _)| *page).collect()];
    }
    let mut subtrees = BTreeMap::<usize, Vec<_>>::new();
    for (page, folders) in pages {
        let first = pages.iter().find(|(other, of)| match folders.get(depth) {
            None => other == page,
            folder => of.get(depth) == folder,
        });
        subtrees.entry(first.unwrap().0).or_default().push((*page, folders.clone()));
    }
    let (mut groups, mut run) = (Vec::new(), Vec::new());
    for subtree in subtrees.into_values() {
        if subtree.len() > 1 {
            groups.push(std::mem::take(&mut run));
            groups.extend(by_definition(&subtree, depth + 1, edges));
        } else {
            run.push(subtree[0].0);
            if run.len() == GROUP_PAGES {
                groups.push(std::mem::take(&mut run));
            }
        }
    }
    groups.push(run);
    groups
}

proptest! {
    #[test]
    fn groups_are_those_of_the_definition(
        urls in prop::collection::btree_set("http://[ab]\\.test/([ab]/){0,4}[a-p]?(\\?x=[/12])?", 1..120),
    ) {
        let keys: Vec<Vec<u8>> = urls.iter().map(|url| key(url)).collect::<BTreeSet<_>>().into_iter().collect();
        let mut expected = Vec::new();
        for host in [b"test\x01a\0", b"test\x01b\0"] {
            let of_host = keys.iter().enumerate().filter(|(_, key)| key.starts_with(host));
            let pages: Vec<(usize, Vec<&[u8]>)> =
                of_host.map(|(i, key)| (i, CanonicalUrl::folders(key).map(|end| &key[..end]).collect())).collect();
            expected.extend(by_definition(&pages, 1, [0, keys.len() - 1]));
        }
        expected.retain(|group| group.len() > 1);
        let found: Vec<Vec<usize>> = find(&keys).into_iter().map(|group| group.collect()).collect();
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn a_folder_of_many_pages_and_many_folders_of_one_are_runs() {
    for url in [|i| format!("http://a.test/all/{i:06}"), |i: u32| format!("http://a.test/{i:06}/index")] {
        let keys: Vec<_> = (0..100_000).map(|i| key(&url(i))).collect();
        let groups = find(&keys);
        assert_eq!((groups.len(), groups[1].clone(), groups.last().unwrap().end), (12_500, 8..16, 100_000));
    }
    assert_eq!(find(&[]), []);
    let deep = |page| key(&format!("http://a.test{}{page}", "/".repeat(1_900)));
    assert_eq!(find(&[deep("a"), deep("b")]).first(), Some(&(0..2)));
    assert_eq!(find(&[key("http://a.test/"), key("http://b.test/")]), [], "no group has two hosts");
    assert_eq!(find(&[b"no key".to_vec(), b"nor this".to_vec()]), []);
}

/// Pages of one host, never visited where the path ends with `-`; those of the folder `a` changed in cycle 20, but `a/3`
/// was not visited since cycle 1.
#[test]
fn pages_have_the_rate_and_the_burst_of_their_group() {
    let paths = ["", "a/1", "a/2", "a/3", "a/3-", "a/4", "b/1", "b/2", "b/3", "b/4", "b/5", "b/6", "c/1"];
    let keys = paths.map(|path| key(&format!("http://h.test/{path}")));
    let mut columns = StateColumns { global_rate: 0.01, ..StateColumns::default() };
    for path in paths {
        let mut history = History::first_fetch(Cycle(1));
        if ["a/1", "a/2", "a/4"].contains(&path) {
            history.record(Cycle(20), true);
        }
        columns.push(Known::default(), Some(&history).filter(|_| !path.ends_with('-')));
        columns.site_rate.push(0.02);
    }
    let bursting = fill(&mut columns, Cycle(21), keys.iter().map(Vec::as_slice).zip(0..));
    assert_eq!(columns.siblings, [ALONE, 0, 0, 0, ALONE, 0, 1, 1, 1, 1, 1, 1, ALONE]);
    let rate = (3.0 + 500.0 * 0.02) / (19.0 + 19.0 + 19.0 + 500.0);
    assert_eq!(columns.sibling_rate[..5], [0.02, rate, rate, rate, 0.02]);
    assert_eq!(columns.burst[..3], [1.0; 3], "what it showed itself tells a page nothing");
    assert!(columns.burst[3] > 3.0, "{:?}", columns.burst);
    assert_eq!(columns.burst[4..], [1.0; 9]);
    let [group] = &bursting[..] else { panic!("{bursting:?}") };
    assert_eq!((group.first, group.last, group.pages), (1, 5, 4));
    assert_eq!((group.met.visits, group.met.changes), (3, 3));
    assert_eq!(
        of_page(&columns, Cycle(21), 3),
        Some(group.clone()),
        "all of it was later than its own visit"
    );
    let of_visited = of_page(&columns, Cycle(21), 1).unwrap();
    assert_eq!((of_visited.met.visits, of_visited.met.burst()), (0, 1.0));
    assert_eq!(of_page(&columns, Cycle(21), 0), None);
    assert!(
        fill(&mut columns, Cycle(23), keys.iter().map(Vec::as_slice).zip(0..)).is_empty(),
        "two cycles later"
    );
    // Of one group, in another order of rows.
    let mut again = columns.clone();
    fill(&mut again, Cycle(21), keys[1..4].iter().map(Vec::as_slice).zip([3, 2, 1]));
    assert_eq!((again.siblings[1], again.siblings[5]), (0, ALONE));
}

//! Finds small subtrees of URLs in one pass in URL order.

use crate::shown::Shown;
use recrawl_types::CanonicalUrl;

/// A group of pages, with ordinals from `start` to before `end`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The ordinal of its first page.
    pub start: u64,
    /// The ordinal after its last page.
    pub end: u64,
    /// What its pages show.
    pub shown: Shown,
}

impl Group {
    fn add(&mut self, other: &Group) {
        if self.shown.pages == 0 {
            self.start = other.start;
        }
        self.end = other.end;
        self.shown.add(&other.shown);
    }
}

/// Finds the groups of pages that are pushed in URL order.
///
/// A group is the largest subtree (an origin or a folder) of at most `most` pages. In a larger folder, the pages that
/// are directly in it are one group. A page that would be a group by itself belongs to the folder above. Groups can
/// surround others: a page belongs to the innermost group around its ordinal.
///
/// Memory: at most `most` small subtrees for each folder of the current URL.
pub struct SubtreeFinder {
    most: u64,
    key: Vec<u8>,
    /// The folders of the last key, outermost first.
    folders: Vec<Folder>,
    groups: Vec<Group>,
}

/// An open folder.
struct Folder {
    /// Length of its prefix of the key.
    prefix: usize,
    /// Its pages, and those of subfolders of one page.
    leaves: Group,
    /// Its closed subfolders, as long as it is small.
    subtrees: Vec<Group>,
    pages: u64,
    is_large: bool,
}

const NONE: Group = Group { start: 0, end: 0, shown: Shown::NONE };

impl SubtreeFinder {
    /// Finds groups of at most `most` pages.
    pub fn new(most: u64) -> SubtreeFinder {
        SubtreeFinder { most, key: Vec::new(), folders: Vec::new(), groups: Vec::new() }
    }

    /// Adds the page with this key and ordinal, both above those before.
    pub fn push(&mut self, key: &[u8], ordinal: u64, shown: Shown) {
        let common = self.key.iter().zip(key).take_while(|(a, b)| a == b).count();
        self.close(common);
        let depth = self.folders.len();
        self.folders.extend(CanonicalUrl::folders(key).skip(depth).map(Folder::new));
        self.key.clear();
        self.key.extend_from_slice(key);
        let page = Group { start: ordinal, end: ordinal + 1, shown };
        let folder = self.folders.last_mut().expect("a URL has a path");
        folder.leaves.add(&page);
        folder.pages += 1;
        self.spread_size();
    }

    /// The groups, in the order of their ends.
    pub fn finish(mut self) -> Vec<Group> {
        self.close(0);
        self.groups
    }

    /// Closes the folders whose prefix is longer than `common`.
    fn close(&mut self, common: usize) {
        while let Some(folder) = self.folders.pop_if(|folder| folder.prefix > common) {
            let is_large = folder.is_large;
            let group = folder.into_group();
            match self.folders.last_mut() {
                Some(parent) if group.shown.pages == 1 => {
                    parent.leaves.add(&group);
                    parent.pages += 1;
                }
                Some(parent) if !is_large => {
                    parent.pages += group.shown.pages;
                    parent.subtrees.push(group);
                }
                _ => self.groups.extend(Some(group).filter(|group| group.shown.pages > 1)),
            }
            self.spread_size();
        }
    }

    /// Once the innermost folder is large, it and all around it hand on their subtrees.
    fn spread_size(&mut self) {
        let Some(folder) = self.folders.last() else { return };
        if folder.is_large || folder.pages > self.most {
            for folder in &mut self.folders {
                folder.is_large = true;
                self.groups.append(&mut folder.subtrees);
            }
        }
    }
}

impl Folder {
    fn new(prefix: usize) -> Folder {
        Folder { prefix, leaves: NONE, subtrees: Vec::new(), pages: 0, is_large: false }
    }

    /// All of a small folder; of a large one, whose subtrees are groups already, its own pages.
    fn into_group(self) -> Group {
        let mut parts = self.subtrees;
        parts.push(self.leaves);
        parts.retain(|part| part.shown.pages > 0);
        parts.sort_unstable_by_key(|part| part.start);
        let mut group = NONE;
        parts.iter().for_each(|part| group.add(part));
        group.end = parts.iter().map(|part| part.end).max().unwrap_or(group.end);
        group
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use recrawl_types::UrlRules;
    use std::collections::{BTreeMap, BTreeSet};

    fn key(url: &str) -> Vec<u8> {
        UrlRules::keep_all().canonicalize(url).unwrap().key().to_vec()
    }

    fn shown(pages: u64) -> Shown {
        let mut shown = Shown::NONE;
        shown.pages = pages;
        shown
    }

    fn find(most: u64, keys: &BTreeSet<Vec<u8>>) -> Vec<Group> {
        let mut finder = SubtreeFinder::new(most);
        (0..).zip(keys).for_each(|(ordinal, key)| finder.push(key, ordinal, shown(1)));
        finder.finish()
    }

    /// The pages of each group, as the innermost interval around each.
    fn by_group(groups: &[Group], pages: u64) -> BTreeSet<Vec<u64>> {
        let mut of = BTreeMap::<(u64, u64), Vec<u64>>::new();
        for page in 0..pages {
            let around = groups.iter().filter(|group| (group.start..group.end).contains(&page));
            if let Some(group) = around.min_by_key(|group| group.end - group.start) {
                of.entry((group.start, group.end)).or_default().push(page);
            }
        }
        of.into_values().collect()
    }

    /// The same from the definition, folder by folder.
    fn by_definition(
        most: usize,
        pages: &[(u64, Vec<usize>)],
        depth: usize,
        keys: &[Vec<u8>],
    ) -> Vec<Vec<u64>> {
        if pages.len() <= most {
            return vec![pages.iter().map(|(page, _)| *page).collect()];
        }
        let (mut leaves, mut folders) = (Vec::new(), BTreeMap::<&[u8], Vec<(u64, Vec<usize>)>>::new());
        for (page, prefixes) in pages {
            match prefixes.get(depth) {
                None => leaves.push(*page),
                Some(&prefix) => {
                    let folder = &keys[*page as usize][..prefix];
                    folders.entry(folder).or_default().push((*page, prefixes.clone()));
                }
            }
        }
        let mut groups = Vec::new();
        for folder in folders.into_values() {
            groups.extend(by_definition(most, &folder, depth + 1, keys));
            let own = groups.pop_if(|own| own.len() == 1);
            leaves.extend(own.into_iter().flatten());
        }
        leaves.sort_unstable();
        groups.push(leaves);
        groups
    }

    proptest! {
        #[test]
        fn groups_are_those_of_the_definition(
            urls in prop::collection::btree_set("http://[ab]\\.test/([ab]/){0,4}[a-d]?(\\?x=[/12])?", 0..60), most in 1u64..9,
        ) {
            let keys: BTreeSet<Vec<u8>> = urls.iter().map(|url| key(url)).collect();
            let groups = find(most, &keys);
            let listed: Vec<Vec<u8>> = keys.iter().cloned().collect();
            let mut expected = BTreeSet::new();
            for host in [b"test\x01a\0", b"test\x01b\0"] {
                let pages: Vec<(u64, Vec<usize>)> = (0..).zip(&listed)
                    .filter(|(_, key)| key.starts_with(host))
                    .map(|(page, key)| (page, CanonicalUrl::folders(key).collect()))
                    .collect();
                expected.extend(by_definition(most as usize, &pages, 1, &listed));
            }
            expected.retain(|group| group.len() > 1);
            prop_assert_eq!(by_group(&groups, listed.len() as u64), expected);
            prop_assert!(groups.iter().all(|group| group.shown.pages > 1));
        }
    }

    #[test]
    fn a_folder_of_many_pages_and_many_folders_of_one_are_one_group_each() {
        for url in [|i| format!("http://a.test/all/{i:06}"), |i: u32| format!("http://a.test/{i:06}/index")] {
            let keys = (0..100_000).map(|i| key(&url(i))).collect();
            let groups = find(8, &keys);
            assert_eq!(groups, [Group { start: 0, end: 100_000, shown: shown(100_000) }]);
        }
        assert_eq!(find(8, &BTreeSet::new()), []);
        let deep = |page| key(&format!("http://a.test{}{page}", "/".repeat(1_900)));
        assert_eq!(find(8, &[deep("a"), deep("b")].into()).len(), 1);
    }
}

//! The digest of a data set, which a learned formula stores as its origin.

use crate::{Contents, Dataset};
use std::convert::Infallible;
use xxhash_rust::xxh3::Xxh3;

/// The version of the digest's definition; formula files contain the digest.
const MARK: &[u8] = b"recrawl data set 1";

impl Dataset {
    /// XXH3-128 of cycles, dates and pages, in hexadecimal. The same content has the same digest in
    /// every lossless format, whatever its name and the order of its groups.
    pub fn digest(&self) -> String {
        let mut hash = Writer(Xxh3::new());
        hash.0.update(MARK);
        hash.number(self.truth.cycles());
        hash.number(self.dates.len() as u32);
        self.dates.iter().for_each(|date| hash.text(date));
        hash.number(self.pages.len() as u32);
        // Groups are numbered in order of first use by a page, and their names are written at first
        // use. Sites follow from URLs and groups.
        let (mut places, mut met) = (vec![None; self.groups.len()], 0);
        let each = |page: usize, changes: &[(u32, u16)]| {
            let page = &self.pages[page];
            hash.text(&page.url);
            match places[page.group as usize] {
                Some(place) => hash.number(place),
                None => {
                    hash.number(met);
                    hash.text(&self.groups[page.group as usize]);
                    places[page.group as usize] = Some(met);
                    met += 1;
                }
            }
            hash.number(page.first);
            hash.number(page.last);
            hash.number(changes.len() as u32);
            for &(cycle, version) in changes {
                hash.number(cycle);
                hash.number(u32::from(version));
            }
            Ok::<(), Infallible>(())
        };
        let Ok(()) = self.truth.try_each_page(each);
        // Data sets without signals keep the digest that they had before there were signals.
        for (page, cycles) in (0..).zip(self.signals.by_page(self.pages.len())) {
            hash.number(page);
            hash.number(cycles.len() as u32);
            cycles.into_iter().for_each(|cycle| hash.number(cycle));
        }
        // Nor does importance change the digest of data sets without any.
        if self.is_weighed() {
            hash.text("importance");
            self.pages.iter().for_each(|page| hash.number(page.importance.thousandths() as u32));
        }
        format!("{:032x}", hash.0.digest128())
    }
}

impl Contents {
    /// XXH3-128 of the words in the order of their numbers, in hexadecimal: what a model that names words by their numbers
    /// stores.
    pub fn digest_of_words(&self) -> String {
        let mut hash = Writer(Xxh3::new());
        self.words().iter().for_each(|word| hash.text(word));
        format!("{:032x}", hash.0.digest128())
    }
}

struct Writer(Xxh3);

impl Writer {
    fn number(&mut self, number: u32) {
        self.0.update(&number.to_le_bytes());
    }

    /// Prefixed with its length, so that different lists of texts never give the same bytes.
    fn text(&mut self, text: &str) {
        self.number(text.len() as u32);
        self.0.update(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use crate::{Dataset, RecordedPage, Truth};
    use recrawl_types::Importance;

    fn data() -> Dataset {
        let page = |url: &str, group| RecordedPage {
            url: url.into(),
            site: group,
            group,
            last: 3,
            ..RecordedPage::default()
        };
        Dataset {
            name: "one".into(),
            dates: Vec::new(),
            pages: vec![page("a", 0), page("b", 1), page("c", 0)],
            sites: vec!["x".into(), "y".into()],
            groups: vec!["x".into(), "y".into()],
            truth: Truth::from_words(3, vec![0b110, 0, 0b1000]),
            signals: Default::default(),
            contents: None,
            beginning: None,
        }
    }

    #[test]
    fn the_definition_does_not_move() {
        assert_eq!(data().digest(), "2f054c5ba23821fa487642886be99b97");
    }

    #[test]
    fn names_do_not_count_and_contents_do() {
        let digest = data().digest();
        let changed = |change: fn(&mut Dataset)| {
            let mut data = data();
            change(&mut data);
            data.digest()
        };
        assert_eq!(changed(|d| d.name = "two".into()), digest);
        assert_eq!(
            changed(|d| (
                d.groups = vec!["y".into(), "x".into()],
                d.pages.iter_mut().for_each(|p| p.group ^= 1)
            )
                .1),
            digest
        );
        let others = [
            changed(|d| d.groups[1] = "z".into()),
            changed(|d| d.pages[2].group = 1),
            changed(|d| d.pages[0].url = "A".into()),
            changed(|d| d.pages[1].first = 1),
            changed(|d| d.pages[1].last = 2),
            changed(|d| d.signals.push(1, &[2])),
            changed(|d| d.signals.push(2, &[2])),
            changed(|d| d.pages[0].importance = Importance::new(5.0).unwrap()),
            changed(|d| d.pages[1].importance = Importance::new(5.0).unwrap()),
            changed(|d| d.dates = vec!["2026-01-01".into(); 4]),
            changed(|d| d.pages.swap(0, 2)),
            changed(|d| d.truth = Truth::from_words(3, vec![0b110, 0, 0b0100])),
            changed(|d| d.truth = Truth::from_words(4, vec![0b110, 0, 0b1000])),
            changed(|d| {
                d.truth = Truth::from_changes(3, [[(1, 1), (2, 0)].as_slice(), &[], &[(3, 1)]].into_iter())
            }),
        ];
        for (place, other) in others.iter().enumerate() {
            assert!(*other != digest && !others[..place].contains(other), "{place}");
        }
    }
}

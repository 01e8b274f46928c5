use super::*;

type Words = Vec<(u32, u32)>;

/// Pages on three topics of ten words each, with 12, 8 and 4 pages. Word 99 is in all pages. `words` holds their words.
fn words() -> Vec<(usize, Words)> {
    let page = |i: usize| {
        let topic = if i < 12 {
            0
        } else if i < 20 {
            1
        } else {
            2
        };
        // The third topic shares words with the second one.
        let from = [0, 20, 27][topic];
        let mut words: Vec<(u32, u32)> =
            (0..6).map(|j| (from + (i as u32 * 3 + j) % 10, 1 + j % 3)).collect();
        words.sort_unstable();
        words.push((99, 40));
        (topic, words)
    };
    (0..24).map(page).collect()
}

fn pages<'a>(words: &'a [(usize, Words)], urls: &'a [String]) -> Vec<FeaturePage<'a>> {
    let page = |((_, words), url): (&'a (usize, Words), &'a String)| {
        let words_total = words.iter().map(|(_, count)| u64::from(*count)).sum();
        let content = FeatureContent { words, words_total, ..FeatureContent::default() };
        FeaturePage { url, content, ..FeaturePage::default() }
    };
    words.iter().zip(urls).map(page).collect()
}

fn urls(words: &[(usize, Words)]) -> Vec<String> {
    let section = ["news", "docs", "shop"];
    (0..).zip(words).map(|(i, (topic, _))| format!("https://a.example/{}/{i}", section[*topic])).collect()
}

fn options(blocks: &[FeatureBlock]) -> FeatureOptions {
    let bisection = BisectionOptions::new(3);
    FeatureOptions { blocks: blocks.iter().copied().collect(), bisection, ..FeatureOptions::default() }
}

#[test]
fn the_paper_has_68_features() {
    let (words, keywords) = (words(), (0..20).collect());
    let urls = urls(&words);
    let pages = pages(&words, &urls);
    let options = FeatureOptions { keywords, ..FeatureOptions::default() };
    let space = FeatureSpace::fit(&pages, &options).unwrap();
    let count = |block: &[FeatureBlock]| {
        let options = FeatureOptions { blocks: block.iter().copied().collect(), ..options.clone() };
        let space = FeatureSpace::fit(&pages, &options).unwrap();
        assert_eq!(space.features().len(), space.values(&pages[7]).unwrap().len());
        space.features().len()
    };
    assert_eq!(FeatureBlock::ALL.map(|block| count(&[block])), [10, 7, 10, 7, 4, 10, 20]);
    assert_eq!((count(&FeatureBlock::ALL), space.features().len()), (68, 68));
    let names: BTreeSet<String> = space.features().into_iter().map(|feature| feature.name).collect();
    assert_eq!(names.len(), 68, "no name is used twice");
    let ranks = FeatureOptions { content_ranks: 30, url_ranks: 5, ..options };
    assert_eq!(FeatureSpace::fit(&pages, &ranks).unwrap().features().len(), 83);
}

#[test]
fn ranks_are_the_places_of_the_nearest_clusters() {
    let words = words();
    let urls = urls(&words);
    let pages = pages(&words, &urls);
    let space = FeatureSpace::fit(&pages, &options(&[FeatureBlock::ContentWords])).unwrap();
    // Dimensions are the topics by size. From the first, both others share no word: the place goes by number. The second
    // and third are close to each other.
    for (page, (topic, _)) in pages.iter().zip(&words) {
        let values = space.values(page).unwrap();
        assert_eq!(values[3..], [0.0; 7], "there are three clusters");
        assert_eq!((0..3).filter(|dim| values[*dim] == 0.0).collect::<Vec<_>>(), [*topic]);
        match topic {
            0 => assert_eq!(values[1..3], [2.0, 2.0]),
            1 => assert_eq!(values[2], 1.0),
            _ => assert_eq!(values[1], 1.0),
        }
        let clusters = space.clusters(page).unwrap();
        assert_eq!(space.with_clusters(page, clusters).unwrap(), values);
    }
    // By URL the sections are found as well, though each URL has a word of its own.
    let space = FeatureSpace::fit(&pages, &options(&[FeatureBlock::UrlWords])).unwrap();
    for (page, (topic, _)) in pages.iter().zip(&words) {
        assert_eq!(space.values(page).unwrap()[*topic], 0.0, "{}", page.url);
    }
}

#[test]
fn counts_and_changes_are_taken_from_the_contents() {
    let before = FeatureContent {
        words: &[(1, 3), (4, 4)],
        words_total: 7,
        bytes: 100,
        images: 5,
        tables: 1,
        kind: ContentKind::Html,
        links_in: 3,
        links_out: 20,
        pagerank: 0.25,
        addresses: 0,
    };
    let content = FeatureContent {
        words: &[(1, 4), (3, 3)],
        words_total: 9,
        bytes: 90,
        images: 5,
        tables: 4,
        kind: ContentKind::Text,
        links_in: 1,
        links_out: 21,
        pagerank: 1.0,
        addresses: 2,
    };
    let first =
        FeaturePage { url: "http://a.example.org/x/y", content, before: None, change_frequency: 0.75 };
    let second = FeaturePage { before: Some(before), ..first };
    let values = |block, page: &FeaturePage<'_>| {
        let space = FeatureSpace::fit(&[first], &options(&[block])).unwrap();
        space.values(page).unwrap()
    };
    assert_eq!(values(FeatureBlock::Content, &first), [5.0, 4.0, 9.0, 90.0, 0.0, 1.0, 0.0]);
    assert_eq!(values(FeatureBlock::Url, &first), [2.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!(values(FeatureBlock::Links, &first), [1.0, 1.0, 21.0, 2.0]);
    assert_eq!(values(FeatureBlock::Dynamic, &first), [0.0; 10], "before the second visit");
    // (1: 3·4)/(5·5).
    assert_eq!(
        values(FeatureBlock::Dynamic, &second),
        [0.48, 0.0, 3.0, 10.0, 2.0, 0.75, 2.0, 1.0, 2.0, 0.75]
    );
    let names: Vec<String> = FeatureSpace::fit(&[first], &options(&[FeatureBlock::Dynamic]))
        .unwrap()
        .features()
        .into_iter()
        .map(|feature| feature.name)
        .collect();
    assert_eq!(names[2], "tables_change");
    assert_eq!((cosine(&[], &[]), cosine(&[], &[(1, 1)])), (1.0, 0.0), "texts without words");
}

#[test]
fn the_ten_best_pages_for_a_keyword_have_a_place() {
    // Pages 0 to 29 have the keyword i times in 100 words; 15 and 16 alike.
    let counts: Vec<[(u32, u32); 2]> = (0..30).map(|i| [(7, if i == 16 { 15 } else { i }), (8, 1)]).collect();
    let page = |words| FeaturePage {
        content: FeatureContent { words, words_total: 100, ..Default::default() },
        ..FeaturePage::default()
    };
    let mut pages: Vec<_> = counts.iter().map(|words| page(words.as_slice())).collect();
    pages.push(FeaturePage::default());
    let options = FeatureOptions { keywords: vec![7, 8, 9], ..options(&[FeatureBlock::Ranking]) };
    let space = FeatureSpace::fit(&pages, &options).unwrap();
    let values: Vec<_> = pages.iter().map(|page| space.values(page).unwrap()).collect();
    let best = |i: usize| values[i][0];
    assert_eq!((best(29), best(28), best(20), best(19), best(15)), (1.0, 0.9, 0.1, 0.0, 0.0));
    assert!(values[..30].iter().all(|values| values[1] == 1.0), "all share the first place");
    assert_eq!(values[30], [0.0; 3], "a page without words");
    assert!(values.iter().all(|values| values[2] == 0.0), "no page has the word");
    // A page outside the sample, between the first two.
    let new = page(&[(7, 28), (9, 3)]);
    let new = FeaturePage { content: FeatureContent { words_total: 98, ..new.content }, ..new };
    assert_eq!(space.values(&new).unwrap(), [0.9, 0.0, 0.0]);
}

#[test]
fn frequent_words_count_unless_over_half_of_the_pages_have_them() {
    let pages = [
        vec![("a", 9), ("b", 1), ("stop", 5)],
        vec![("a", 1), ("b", 1), ("stop", 5)],
        vec![("c", 2), ("stop", 5)],
        vec![("d", 2)],
    ];
    let fit = |count| Vocabulary::fit(pages.iter().map(|page| page.iter().copied()), count);
    let vocabulary = fit(10);
    assert_eq!(vocabulary.len(), 4);
    let (once, twice) = (4f64.ln(), 2f64.ln());
    let vector = vocabulary.vector(pages[0].iter().copied());
    assert_eq!(vector.iter().map(|(place, _)| *place).collect::<Vec<_>>(), [0, 1]);
    assert!((vector[0].1 - 9.0 * twice).abs() < 1e-12 && (vector[1].1 - twice).abs() < 1e-12);
    // `b`, `c` and `d` have two occurrences each: the first one counts.
    let few = fit(2);
    assert_eq!(few.vector(pages[0].iter().copied()).len(), 2);
    assert_eq!(few.vector([("b", 1), ("c", 1)].into_iter()).len(), 1);
    assert!((vocabulary.vector([("c", 1)].into_iter())[0].1 - once).abs() < 1e-12);
}

#[test]
fn pages_that_are_not_sound_are_refused() {
    let all = FeatureOptions { keywords: vec![1], ..options(&FeatureBlock::ALL) };
    let page = FeaturePage { url: "http://a.example/", ..FeaturePage::default() };
    let space = FeatureSpace::fit(&[page], &all).unwrap();
    assert_eq!(space.values(&page).unwrap().len(), 49, "one empty page is enough to fit");
    for (bad, name) in [
        (FeaturePage { content: FeatureContent { pagerank: f64::NAN, ..page.content }, ..page }, "pagerank"),
        (
            FeaturePage { before: Some(page.content), change_frequency: f64::INFINITY, ..page },
            "change_frequency",
        ),
        (
            FeaturePage { before: Some(FeatureContent { pagerank: f64::INFINITY, ..page.content }), ..page },
            "pagerank_change",
        ),
    ] {
        let message = space.values(&bad).unwrap_err().to_string();
        assert_eq!(message, format!("feature `{name}` of page `http://a.example/` is not a finite number"));
    }
    let unordered =
        FeaturePage { content: FeatureContent { words: &[(2, 1), (1, 1)], ..page.content }, ..page };
    let refused = FeatureError::Words { page: page.url.into() };
    assert_eq!(space.values(&unordered).unwrap_err(), refused);
    assert_eq!(FeatureSpace::fit(&[unordered], &all).unwrap_err(), refused);
    assert_eq!(FeatureSpace::fit(&[], &all).unwrap_err(), FeatureError::NoPages);
    let many = FeatureOptions { keywords: (0..21).collect(), ..all.clone() };
    assert_eq!(FeatureSpace::fit(&[page], &many).unwrap_err(), FeatureError::Keywords(21));
    let many = FeatureOptions { url_ranks: 5000, ..all };
    assert_eq!(FeatureSpace::fit(&[page], &many).unwrap_err(), FeatureError::Ranks(5000));
}

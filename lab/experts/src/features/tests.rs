use super::*;
use crate::testing::threes;

/// Products from explicit vectors: each single feature scaled, then each word as a dimension.
fn slow(recording: &FixedPages, page: u32, other: Option<u32>, window: Window) -> Gram {
    let shown = &recording.pages[page as usize];
    let days: Vec<u32> = window.example_days().collect();
    let words = |page: u32, day: u32| {
        let text = recording.pages[page as usize].text(day);
        let mut shares = vec![0.0; 600];
        text.words.iter().for_each(|&(word, count)| shares[word as usize] = f64::from(count) / text.total);
        shares
    };
    let minus = |a: Vec<f64>, b: Vec<f64>| a.iter().zip(&b).map(|(x, y)| x - y).collect::<Vec<f64>>();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let length = |a: &[f64]| dot(a, a).sqrt();
    let cosine = |a: &[f64], b: &[f64]| match length(a) * length(b) {
        0.0 => 0.0,
        lengths => dot(a, b) / lengths,
    };
    let bit = |day: u32| f64::from(u8::from(shown.observed[day as usize]));
    let mut columns: Vec<Vec<f64>> = vec![
        days.iter().map(|&day| bit(day)).collect(),
        days.iter().map(|&day| bit(day - 1)).collect(),
        days.iter().map(|&day| length(&minus(words(page, day), words(page, day - 1)))).collect(),
        days.iter().map(|&day| length(&minus(words(page, day - 1), words(page, day - 2)))).collect(),
    ];
    if let Some(target) = other {
        let step = |page, day| minus(words(page, day), words(page, day - 1));
        columns.push(days.iter().map(|&day| cosine(&words(target, day), &words(page, day))).collect());
        columns.push(days.iter().map(|&day| cosine(&step(page, day), &words(target, day))).collect());
        columns.push(days.iter().map(|&day| cosine(&step(page, day), &step(target, day))).collect());
    }
    let examples = window.days as usize;
    let mut vectors = vec![Vec::new(); examples + 1];
    let mut features = 0;
    for column in columns {
        let low = column[..examples].iter().copied().fold(f64::INFINITY, f64::min);
        let high = column[..examples].iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if high - low > 1e-12 {
            features += 1;
            for (vector, value) in vectors.iter_mut().zip(&column) {
                vector.push(((value - low) / (high - low)).clamp(0.0, 1.0));
            }
        }
    }
    let mut mean = vec![0.0; 600];
    for &day in &days[..examples] {
        mean.iter_mut().zip(words(page, day)).for_each(|(sum, share)| *sum += share / examples as f64);
    }
    let centred: Vec<Vec<f64>> = days.iter().map(|&day| minus(words(page, day), mean.clone())).collect();
    let square = centred[..examples].iter().map(|vector| dot(vector, vector)).sum::<f64>() / examples as f64;
    let greatest = centred[..examples].iter().map(|vector| length(vector)).fold(0.0, f64::max);
    for (vector, words) in vectors.iter_mut().zip(&centred) {
        let scale = (greatest / length(words)).min(1.0) / square.sqrt();
        vector.extend(words.iter().map(|share| share * scale));
    }
    let products = vectors.iter().flat_map(|a| vectors[..examples].iter().map(|b| dot(a, b))).collect();
    Gram { examples, products, features: features + 1 }
}

#[test]
fn products_are_those_of_the_vectors() {
    let recording = threes(6, 40, 12);
    for (page, target, today) in [(1, None, 20), (2, None, 39), (0, Some(1), 30), (4, Some(2), 25)] {
        let window = Window { today, days: 15 };
        let mut gram = PageFeatures::compute(&recording.pages[page as usize], 15).gram(window);
        if let Some(target) = target {
            PairFeatures::compute(&recording, target, page, window.example_days()).add(&mut gram, window);
        }
        let expected = slow(&recording, page, target, window);
        assert_eq!(gram.features, expected.features, "page {page}");
        for (value, expected) in gram.products.iter().zip(&expected.products) {
            assert!((value - expected).abs() < 1e-9, "page {page}: {value} for {expected}");
        }
    }
}

#[test]
fn a_page_that_stays_has_no_features() {
    let mut recording = threes(4, 40, 12);
    recording.pages[1].observed.fill(false);
    recording.pages[1].shown.fill(0);
    let gram = PageFeatures::compute(&recording.pages[1], 15).gram(Window { today: 30, days: 15 });
    assert_eq!(gram, Gram::new(15));
}

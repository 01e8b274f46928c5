use super::*;
use crate::bisection::{BisectionOptions, bisect};
use crate::features::{Block, FeatureOptions, Page, PageContent};
use crate::scaling::Normalise;

/// Three kinds of pages: small, with links, with images.
fn pages(count: u64) -> Vec<Page<'static>> {
    let page = |i: u64| {
        let kind = i % 3;
        let content = PageContent {
            bytes: 50 + 10 * kind + i % 7,
            images: if kind == 2 { 20 + i % 5 } else { i % 2 },
            links_out: if kind == 1 { 90 + i % 11 } else { i % 3 },
            ..PageContent::default()
        };
        Page { url: "http://a.example/", content, ..Page::default() }
    };
    (0..count).map(page).collect()
}

fn fit(pages: &[Page<'_>], blocks: &[Block], clusters: usize) -> Model {
    let options = FeatureOptions { blocks: blocks.iter().copied().collect(), ..FeatureOptions::default() };
    let space = FeatureSpace::fit(pages, &options).unwrap();
    let values = space.of_all(pages).unwrap();
    let scaling = Scaling::fit(&space.features(), &values, Normalise::ZScore).unwrap();
    let clustering = bisect(&scaling.rows(&values).unwrap(), &BisectionOptions::of(clusters)).unwrap();
    Model::new(space, scaling, &clustering).unwrap()
}

const STATIC: [Block; 3] = [Block::Content, Block::Url, Block::Links];

fn assigned(model: &Model, page: &Page<'_>) -> (u16, f64) {
    model.assign(&model.space().of(page).unwrap()).unwrap()
}

#[test]
fn pages_of_a_kind_have_one_cluster() {
    let pages = pages(300);
    let model = fit(&pages, &STATIC, 3);
    assert_eq!((model.clusters(), model.counts()), (3, [100, 100, 100].as_slice()));
    let clusters: Vec<u16> = pages.iter().map(|page| assigned(&model, page).0).collect();
    assert!(clusters.chunks(3).all(|of_kinds| of_kinds == &clusters[..3]));
    assert!((0..3).all(|number| clusters[..3].contains(&number)), "{:?}", &clusters[..3]);
    let mean = pages.iter().map(|page| assigned(&model, page).1).sum::<f64>() / 300.0;
    assert!((mean - model.tau_per_page()).abs() < 1e-6, "{mean} {}", model.tau_per_page());
    // A page beyond the sample: more images than any.
    let content = PageContent { images: 1000, bytes: 75, ..PageContent::default() };
    assert_eq!(assigned(&model, &Page { content, ..pages[0] }).0, clusters[2]);
}

#[test]
fn one_page_and_equal_pages_are_one_cluster() {
    for count in [1, 5] {
        let pages = vec![pages(1)[0]; count];
        let model = fit(&pages, &Block::ALL, 4);
        assert_eq!(
            (model.clusters(), model.counts(), model.tau_per_page()),
            (1, [count as u64].as_slice(), 0.0)
        );
        assert_eq!(assigned(&model, &pages[0]), (0, 0.0));
        let text = toml::to_string(&model).unwrap();
        assert_eq!(toml::from_str::<Model>(&text).unwrap(), model);
    }
}

#[test]
fn a_stored_model_is_the_same_model() {
    let pages = pages(90);
    let model = fit(&pages, &Block::ALL, 5);
    let text = toml::to_string(&model).unwrap();
    let read: Model = toml::from_str(&text).unwrap();
    assert_eq!(read, model);
    let refused = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        toml::from_str::<Model>(&text.replacen(from, to, 1)).unwrap_err().to_string()
    };
    assert!(refused("version = 1", "version = 2").contains("model of version 2, but this is version 1"));
    let other = refused("\"tables\",", "\"chairs\",");
    assert!(other.contains("feature 12 of the model is `chairs`, not `tables`"), "{other}");
    assert!(refused("\"ranking\"", "\"reading\"").contains("unknown variant"));
    let numbers = refused("counts = [", "counts = [1, ");
    assert!(numbers.contains("damaged model: a cluster has no count"), "{numbers}");
    let count = refused("count = 5", "count = 4");
    assert!(count.contains("damaged model"), "{count}");
}

#[test]
fn an_update_moves_centroids_toward_its_pages() {
    let pages = pages(30);
    let fitted = fit(&pages, &STATIC, 3);
    // Mini-batch k-means by its definition: after n pages of a cluster, the n-th pulls by 1/n.
    let batch: Vec<Page<'_>> = pages
        .iter()
        .map(|page| {
            let content = PageContent { tables: page.content.images, bytes: 60, ..page.content };
            Page { content, ..*page }
        })
        .collect();
    let values = fitted.space().of_all(&batch).unwrap();
    let mut model = fitted.clone();
    let mean = model.update(&values).unwrap().unwrap();
    let mut centroids: Vec<Vec<f64>> = fitted.centroids().iter().map(<[f64]>::to_vec).collect();
    let mut counts = fitted.counts().to_vec();
    let mut closeness = 0.0;
    for values in values.chunks(fitted.scaling().width()) {
        let vector = fitted.scaling().vector(values).unwrap();
        let (cluster, cosine) = fitted.assign(values).unwrap();
        let centroid = &mut centroids[cluster as usize];
        counts[cluster as usize] += 1;
        let share = 1.0 / counts[cluster as usize] as f64;
        let moved: Vec<f64> =
            centroid.iter().zip(&vector).map(|(c, x)| (1.0 - share) * c + share * x).collect();
        let length = moved.iter().map(|x| x * x).sum::<f64>().sqrt();
        *centroid = moved.iter().map(|x| x / length).collect();
        closeness += cosine;
    }
    assert_eq!(model.counts(), counts);
    for (found, expected) in model.centroids().iter().zip(&centroids) {
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} {expected:?}");
    }
    assert!((mean - closeness / 30.0).abs() < 1e-12);
    assert_ne!(model.centroids(), fitted.centroids());
    // Batches of the same pages bring them closer.
    let later = (0..20).map(|_| model.update(&values).unwrap().unwrap()).last().unwrap();
    assert!(later >= mean, "{later} {mean}");
    // A batch with a bad page changes nothing.
    let before = model.clone();
    let mut bad = values.clone();
    bad[model.scaling().width()] = f64::NAN;
    let message = model.update(&bad).unwrap_err().to_string();
    assert_eq!(message, "feature `images` of page 1 is not a finite number");
    assert!(model.update(&values[1..]).is_err(), "not a whole number of pages");
    assert_eq!((model.update(&[]).unwrap(), &model), (None, &before));
}

#[test]
fn numbers_last_from_fit_to_fit() {
    let pages = pages(300);
    let old = fit(&pages, &STATIC, 3);
    // Without most of the pages of the first kind, the fit numbers clusters otherwise.
    let clusters: Vec<u16> = pages[..3].iter().map(|page| assigned(&old, page).0).collect();
    let fewer: Vec<Page<'_>> =
        (0..).zip(&pages).filter(|(i, _)| i % 3 != 0 || i % 15 == 0).map(|(_, p)| *p).collect();
    let reversed: Vec<Page<'_>> = fewer.iter().rev().copied().collect();
    for sample in [&fewer, &reversed] {
        let matched = fit(sample, &STATIC, 3).matched(&old);
        assert_eq!(pages[..3].iter().map(|page| assigned(&matched, page).0).collect::<Vec<_>>(), clusters);
        assert_eq!(matched.counts().iter().sum::<u64>(), sample.len() as u64);
        assert_eq!(matched.clone().matched(&old), matched);
    }
    // More clusters: the three old numbers remain with a cluster of their kind.
    let more = fit(&pages, &STATIC, 7).matched(&old);
    assert_eq!(more.clusters(), 7);
    for page in &pages {
        let (was, is) = (assigned(&old, page).0, assigned(&more, page).0);
        assert!(is == was || is >= 3, "{was} {is}");
    }
    // Fewer, and without a feature in common.
    assert_eq!(fit(&pages, &STATIC, 2).matched(&old).clusters(), 2);
    let other = fit(&pages, &[Block::Dynamic], 2);
    assert_eq!(other.clone().matched(&old), other);
}

#[test]
fn parts_of_different_fits_make_no_model() {
    let pages = pages(9);
    let [model, other] = [&STATIC[..], &STATIC[..2]].map(|blocks| fit(&pages, blocks, 2));
    let clustering = Clustering { centroids: other.centroids().clone(), members: vec![0; 9], tau: 1.0 };
    let parts = |space: &Model, scaling: &Model, clustering: &Clustering| {
        Model::new(space.space().clone(), scaling.scaling().clone(), clustering).unwrap_err()
    };
    assert!(matches!(parts(&model, &other, &clustering), ModelError::Features { place: 15, .. }));
    assert_eq!(parts(&model, &model, &clustering), ModelError::Damaged("centroids have other features"));
    let none = Clustering { centroids: Centroids::new(other.centroids().dims()), members: vec![], tau: 0.0 };
    assert_eq!(parts(&other, &other, &none), ModelError::Damaged("the number of clusters is out of range"));
}

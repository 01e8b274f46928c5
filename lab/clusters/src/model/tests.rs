use super::*;
use crate::bisection::{BisectionOptions, bisect};
use crate::features::{FeatureBlock, FeatureContent, FeatureOptions, FeaturePage};
use crate::scaling::Normalise;

/// Three kinds of pages: small, with links, with images.
fn pages(count: u64) -> Vec<FeaturePage<'static>> {
    let page = |i: u64| {
        let kind = i % 3;
        let content = FeatureContent {
            bytes: 50 + 10 * kind + i % 7,
            images: if kind == 2 { 20 + i % 5 } else { i % 2 },
            links_out: if kind == 1 { 90 + i % 11 } else { i % 3 },
            ..FeatureContent::default()
        };
        FeaturePage { url: "http://a.example/", content, ..FeaturePage::default() }
    };
    (0..count).map(page).collect()
}

fn fit(pages: &[FeaturePage<'_>], blocks: &[FeatureBlock], clusters: usize) -> ClusterModel {
    let options = FeatureOptions { blocks: blocks.iter().copied().collect(), ..FeatureOptions::default() };
    let space = FeatureSpace::fit(pages, &options).unwrap();
    let values = space.of_all(pages).unwrap();
    let scaling = Scaling::fit(&space.features(), &values, Normalise::ZScore).unwrap();
    let clustering = bisect(&scaling.rows(&values).unwrap(), &BisectionOptions::new(clusters)).unwrap();
    ClusterModel::new(space, scaling, &clustering).unwrap()
}

const STATIC: [FeatureBlock; 3] = [FeatureBlock::Content, FeatureBlock::Url, FeatureBlock::Links];

fn assigned(model: &ClusterModel, page: &FeaturePage<'_>) -> (u16, f64) {
    model.assign(&model.space().values(page).unwrap()).unwrap()
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
    let content = FeatureContent { images: 1000, bytes: 75, ..FeatureContent::default() };
    assert_eq!(assigned(&model, &FeaturePage { content, ..pages[0] }).0, clusters[2]);
}

#[test]
fn one_page_and_equal_pages_are_one_cluster() {
    for count in [1, 5] {
        let pages = vec![pages(1)[0]; count];
        let model = fit(&pages, &FeatureBlock::ALL, 4);
        assert_eq!(
            (model.clusters(), model.counts(), model.tau_per_page()),
            (1, [count as u64].as_slice(), 0.0)
        );
        assert_eq!(assigned(&model, &pages[0]), (0, 0.0));
        let text = toml::to_string(&model).unwrap();
        assert_eq!(toml::from_str::<ClusterModel>(&text).unwrap(), model);
    }
}

#[test]
fn a_stored_model_is_the_same_model() {
    let pages = pages(90);
    let model = fit(&pages, &FeatureBlock::ALL, 5);
    let text = toml::to_string(&model).unwrap();
    let read: ClusterModel = toml::from_str(&text).unwrap();
    assert_eq!(read, model);
    let refused = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        toml::from_str::<ClusterModel>(&text.replacen(from, to, 1)).unwrap_err().to_string()
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
fn parts_of_different_fits_make_no_model() {
    let pages = pages(9);
    let [model, other] = [&STATIC[..], &STATIC[..2]].map(|blocks| fit(&pages, blocks, 2));
    let clustering = Clustering { centroids: other.centroids().clone(), members: vec![0; 9], tau: 1.0 };
    let parts = |space: &ClusterModel, scaling: &ClusterModel, clustering: &Clustering| {
        ClusterModel::new(space.space().clone(), scaling.scaling().clone(), clustering).unwrap_err()
    };
    assert!(matches!(parts(&model, &other, &clustering), ClusterModelError::Features { place: 15, .. }));
    assert_eq!(
        parts(&model, &model, &clustering),
        ClusterModelError::Damaged("centroids have other features")
    );
    let none = Clustering { centroids: Centroids::new(other.centroids().dims()), members: vec![], tau: 0.0 };
    assert_eq!(
        parts(&other, &other, &none),
        ClusterModelError::Damaged("the number of clusters is out of range")
    );
}

use super::*;
use recrawl_generator::{RelatedRecipe, related_web};

fn options(relations: Vec<Relation>, planted: Vec<(u32, u32)>) -> ExperimentOptions {
    ExperimentOptions {
        significance: Significance::Any,
        alpha: Alpha::Share(0.3),
        pages: Some(12),
        settings: vec![Setting::OneD, Setting::TwoD, Setting::ThreeD],
        combinations: vec![Combination::Experts, Combination::Union],
        relations,
        days: 30,
        experts: 20,
        every: 15,
        refresh: 30,
        delays: Delays::Quarter,
        flips: 0.0,
        seed: 1,
        figures: false,
        planted,
    }
}

#[test]
fn paired_tests_are_those_of_scipy() {
    // scipy 1.17.1, stats.ttest_rel
    let a = [0.62, 0.70, 0.55, 0.81, 0.66, 0.59];
    let b = [0.60, 0.64, 0.57, 0.75, 0.61, 0.58];
    let p = paired_p(&a, &b).unwrap();
    assert!((p - 0.071_657_759_671_229_07).abs() < 1e-9, "{p}");
    assert_eq!((paired_p(&a, &a), paired_p(&a[..1], &b[..1])), (Some(1.0), None));
}

#[test]
fn planted_experts_are_found_best_by_correlation() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("web");
    // Six topics, of which three share their words: content cannot tell these apart.
    let web = related_web(&RelatedRecipe::PRESETS[0], 144, 70, 2).unwrap();
    web.create(&folder).unwrap();
    let mut data = recrawl_simulation::open(&folder, None).unwrap();
    recrawl_contents::add(&mut data, &folder).unwrap();
    let planted: Vec<(u32, u32)> = web.experts.iter().map(|&(page, expert, _)| (page, expert)).collect();
    let report = run(&data, &options(Relation::ALL.to_vec(), planted)).unwrap();
    assert_eq!((report.kept, report.predicted, report.pages.changing), (144, 12, 144));
    let recall = |name: &str| {
        let related = report.related.iter().find(|related| related.relation == name);
        related.and_then(|related| related.recall).unwrap()
    };
    let recalls = ["correlation", "dtw", "content", "graph", "random"].map(recall);
    assert!(
        recalls[0] > 0.9 && recalls[0] > recalls[1] + 0.1 && recalls[0] > recalls[2] + 0.1,
        "{recalls:?}"
    );
    assert!(recalls[1] > recalls[3] + 0.1 && recalls[2] > recalls[3] + 0.1, "{recalls:?}");
    let names: Vec<&str> = report.methods.iter().map(|method| method.name.as_str()).collect();
    assert_eq!(names[..4], ["1D coin", "2D single", "3D experts, correlation", "3D experts, graph"]);
    assert_eq!((report.methods[2].p_against_experts, report.methods[2].pages.len()), (None, 12));
    let text = render(&report);
    assert!(
        text.contains("pages 144, in every cycle 144, with texts 144") && text.contains("(planted "),
        "{text}"
    );

    // Changes of many words only, and the same pages without texts.
    let words = ExperimentOptions {
        significance: Significance::Words(20),
        ..options(vec![Relation::Content], Vec::new())
    };
    let less = run(&data, &words).unwrap();
    assert!(less.changes < report.changes && less.related[0].recall.is_none());
    data.contents = None;
    let error = run(&data, &words).unwrap_err();
    assert!(error.contains("words:20") && error.contains("has none"), "{error}");
    let bits = run(&data, &options(vec![Relation::Correlation], Vec::new())).unwrap();
    assert!(!bits.texts && bits.methods.len() < report.methods.len());
}

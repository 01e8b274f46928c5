use super::*;
use crate::testing::{bits_of, other_future, threes};
use rayon::ThreadPoolBuilder;

fn settings(methods: Vec<PredictionMethod>) -> ExperimentSettings {
    ExperimentSettings {
        days: 24,
        first_days: 24,
        every: 1,
        refresh: 10,
        experts: 3,
        members: 5,
        delays: Delays::Quarter,
        seed: 9,
        methods,
        planted: Vec::new(),
    }
}

fn all_methods() -> Vec<PredictionMethod> {
    let relations = Relation::ALL.into_iter().chain([Relation::Random]);
    let mut methods = vec![
        PredictionMethod::Coin,
        PredictionMethod::Last,
        PredictionMethod::Majority,
        PredictionMethod::Single,
    ];
    methods.extend(relations.map(|relation| PredictionMethod::Experts(relation, 3)));
    let ensembles = [PredictionMethod::Union, PredictionMethod::Bagging, PredictionMethod::Boosting];
    methods.extend(ensembles.map(|method| method(Relation::Correlation)));
    methods
}

fn mean(accuracies: &[f64]) -> f64 {
    accuracies.iter().sum::<f64>() / accuracies.len() as f64
}

#[test]
fn no_prediction_reads_a_later_day() {
    let targets = [1, 2, 5];
    for today in [26, 31, 37] {
        // The last prediction is of the step after today.
        let known = threes(8, today + 1, 4);
        let planted = other_future(known.clone(), today + 1);
        assert_ne!(known, planted);
        let settings = settings(all_methods());
        assert_eq!(
            evaluate(&known, &targets, &settings),
            evaluate(&planted, &targets, &settings),
            "day {today}"
        );
    }
    // And what is planted a day earlier does show.
    let known = threes(8, 38, 4);
    let planted = other_future(known.clone(), 30);
    let settings = settings(all_methods());
    assert_ne!(evaluate(&known, &targets, &settings), evaluate(&planted, &targets, &settings));
}

#[test]
fn results_are_equal_on_any_number_of_threads() {
    let recording = threes(8, 40, 5);
    let settings = settings(all_methods());
    let on = |threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| evaluate(&recording, &[0, 1, 3, 6], &settings))
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn an_expert_that_goes_ahead_is_used() {
    let recording = threes(12, 90, 6);
    let followers = [2, 5, 8, 11];
    let methods = vec![
        PredictionMethod::Single,
        PredictionMethod::Experts(Relation::Correlation, 2),
        PredictionMethod::Experts(Relation::Random, 2),
        PredictionMethod::Union(Relation::Correlation),
    ];
    let planted = followers.iter().flat_map(|&page| [(page, page - 2), (page, page - 1)]).collect();
    let settings = ExperimentSettings { experts: 2, planted, ..settings(methods) };
    let outcome = evaluate(&recording, &followers, &settings).unwrap();
    let means: Vec<f64> = outcome.accuracies.iter().map(|of| mean(of)).collect();
    // The follower knows nothing of its own next change; the pages ahead know all.
    assert!(means[0] < 0.65 && means[1] > 0.95 && means[3] > 0.9, "{means:?}");
    assert!(means[2] < means[1] - 0.1, "{means:?}");
    assert_eq!((outcome.unconverged, outcome.windows), (0, 64));
    let recalls: Vec<f64> = outcome.related.iter().filter_map(|found| found.recall).collect();
    assert!(recalls[0] > 0.95 && recalls[1] < 0.5, "{recalls:?}");
}

#[test]
fn controls_are_those_of_a_count() {
    let mut recording = bits_of(threes(8, 60, 7));
    recording.flip(0.2, 3);
    let methods = vec![PredictionMethod::Majority, PredictionMethod::Last, PredictionMethod::Coin];
    let outcome = evaluate(&recording, &[4], &settings(methods)).unwrap();
    let page = &recording.pages[4];
    assert_ne!(page.observed, page.changed);
    let (mut majority, mut last) = (0, 0);
    for today in 26..60 {
        let seen = &page.observed[today - 23..=today];
        let changes = seen.iter().filter(|&&bit| bit).count();
        let more = if changes == 12 { page.observed[today] } else { changes > 12 };
        // Trained on flipped bits, compared with the recorded ones.
        majority += u32::from(more == page.changed[today + 1]);
        last += u32::from(page.observed[today] == page.changed[today + 1]);
    }
    assert_eq!(outcome.accuracies[0], [f64::from(majority) / 34.0]);
    assert_eq!(outcome.accuracies[1], [f64::from(last) / 34.0]);
    assert!((0.2..0.8).contains(&outcome.accuracies[2][0]));
    assert_eq!(outcome.changes, page.changed[27..=60].iter().filter(|&&bit| bit).count() as f64 / 34.0);
}

#[test]
fn impossible_experiments_are_refused() {
    let recording = bits_of(threes(4, 30, 1));
    let error =
        |targets: &[u32], settings: &ExperimentSettings| evaluate(&recording, targets, settings).unwrap_err();
    assert!(error(&[], &settings(vec![PredictionMethod::Single])).contains("no page"));
    let long = ExperimentSettings { first_days: 29, ..settings(vec![PredictionMethod::Single]) };
    assert!(error(&[1], &long).contains("at least 32"), "{}", error(&[1], &long));
    assert!(error(&[1], &settings(vec![PredictionMethod::Experts(Relation::Graph, 3)])).contains("texts"));
}

use super::*;

#[test]
fn an_order_is_judged_by_when_it_finds_most_relevant_pages() {
    let labels = [Some(true), Some(false), None, Some(true), Some(false)];
    let outcome = ReplayOutcome::judged(&[2, 0, 1, 3, 4], &labels);
    assert_eq!((outcome.pages, outcome.relevant), (4, 2), "a page without a label does not count");
    assert_eq!(outcome.until_most, Some(0.75), "nine tenths of two pages are both");
    assert_eq!(outcome.area, Some((0.5 + 0.5 + 1.0 + 1.0) / 4.0));
    assert_eq!((outcome.curve[0], outcome.curve[10], outcome.curve[20]), (0.0, 0.5, 1.0));
    assert_eq!(outcome.curve.len(), POINTS);
    let nothing = ReplayOutcome::judged(&[1, 4], &labels);
    assert_eq!((nothing.until_most, nothing.area), (None, None));
}

#[test]
fn folds_go_by_the_name_of_the_site() {
    let folds: Vec<usize> = (0..200).map(|n| fold(&format!("site {n}"), 5)).collect();
    for held in 0..5 {
        assert!(folds.iter().filter(|&&fold| fold == held).count() > 20, "{folds:?}");
    }
    assert_eq!(fold("site 7", 5), folds[7]);
}

use super::*;

#[test]
fn f1_is_worked_out_by_hand() {
    let scored = [(0.9, true), (0.8, false), (0.7, true), (0.2, true), (0.1, false)];
    let half = at(0.5, &scored);
    assert_eq!((half.precision, half.recall), (2.0 / 3.0, 2.0 / 3.0));
    assert!((half.f1 - 2.0 / 3.0).abs() < 1e-15);
    let best = best(&scored);
    assert_eq!((best.threshold, best.recall), (0.11, 1.0), "four chosen, three of them right");
    assert_eq!(at(0.95, &scored).f1, 0.0);
    assert_eq!(labelled(&[0.5, 0.6], &[None, Some(true)]), [(0.6, true)]);
}

#[test]
fn calibration_is_judged_class_by_class() {
    assert_eq!(calibration_error(&[(0.5, true), (0.5, false)]), 0.0);
    assert!((calibration_error(&[(0.9, false), (0.1, false)]) - 0.5).abs() < 1e-15);
    assert_eq!(calibration_error(&[(1.0, true)]), 0.0);
    assert_eq!(calibration_error(&[]), 0.0);
}

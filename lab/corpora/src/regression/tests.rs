use super::*;

fn example(x: f64, target: f64, weight: f64) -> Example<2> {
    Example { features: [1.0, x], target, weight }
}

#[test]
fn a_fit_gives_the_shares_of_two_groups() {
    // With many examples the penalty is small: log odds ln(1/3) and ln(4).
    let of = |x, positive: usize, all: usize| {
        (0..all).map(move |n| example(x, f64::from(u8::from(n < positive)), 1.0))
    };
    let examples: Vec<Example<2>> = of(0.0, 25_000, 100_000).chain(of(1.0, 80_000, 100_000)).collect();
    let fitted = fit(&examples);
    assert!((logistic(fitted.logit(&[1.0, 0.0])) - 0.25).abs() < 1e-3);
    assert!((logistic(fitted.logit(&[1.0, 1.0])) - 0.8).abs() < 1e-3);
    let weighed = [example(0.0, 0.25, 1e5), example(1.0, 0.8, 1e5)];
    let again = fit(&weighed);
    assert!(fitted.0.iter().zip(again.0).all(|(a, b)| (a - b).abs() < 1e-4), "{fitted:?} {again:?}");
}

#[test]
fn separable_and_empty_examples_give_finite_weights() {
    let separable: Vec<Example<2>> = (0..10).map(|n| example(f64::from(n), f64::from(n / 5), 1.0)).collect();
    let fitted = fit(&separable);
    assert!(fitted.logit(&[1.0, 9.0]) > 0.0 && fitted.logit(&[1.0, 0.0]) < 0.0);
    assert!(fitted.0.iter().all(|weight| weight.is_finite()));
    assert_eq!(fit::<2>(&[]).0, [0.0, 0.0]);
}

use super::*;
use proptest::prelude::*;

const ALL: [Weighting; 4] =
    [Weighting::NonAdaptive, Weighting::Shortsighted, Weighting::Arithmetic, Weighting::Geometric];

/// Σ w_i·I_i with the weights as printed, each list divided by its sum.
fn printed(changes: &[bool], weighting: Weighting) -> f64 {
    let n = changes.len();
    let weight = |i: usize| match weighting {
        Weighting::NonAdaptive => 1.0,
        Weighting::Shortsighted => f64::from(u8::from(i == n)),
        Weighting::Arithmetic => i as f64,
        Weighting::Geometric => 2f64.powi(i as i32 - 1),
    };
    let sum: f64 = (1..=n).map(weight).sum();
    (1..=n).filter(|i| changes[i - 1]).map(weight).sum::<f64>() / sum
}

proptest! {
    #[test]
    fn rates_are_the_weighted_sums(changes in prop::collection::vec(any::<bool>(), 1..60)) {
        let history: ChangeHistory = changes.iter().copied().collect();
        for weighting in ALL {
            let rate = history.rate(weighting).unwrap();
            prop_assert!((rate - printed(&changes, weighting)).abs() < 1e-12, "{weighting:?} {rate}");
        }
    }

    #[test]
    fn cycles_without_a_visit_are_cycles_without_a_change(
        changes in prop::collection::vec(any::<bool>(), 0..9),
        skipped in prop_oneof![0u32..70, 1000u32..1300],
        later in prop::collection::vec(any::<bool>(), 0..9),
    ) {
        let mut quick: ChangeHistory = changes.iter().copied().collect();
        quick.skip(skipped);
        let mut slow: ChangeHistory = changes.iter().copied().collect();
        (0..skipped).for_each(|_| slow.record(false));
        for history in [&mut quick, &mut slow] {
            later.iter().for_each(|changed| history.record(*changed));
        }
        prop_assert_eq!(quick, slow);
    }
}

#[test]
fn extreme_histories_have_rates() {
    assert!(ALL.iter().all(|weighting| ChangeHistory::default().rate(*weighting).is_none()));
    let always: ChangeHistory = std::iter::repeat_n(true, 3000).collect();
    assert!(ALL.iter().all(|weighting| always.rate(*weighting) == Some(1.0)));
    let mut long_ago = always;
    long_ago.skip(1_000_000);
    let rates = ALL.map(|weighting| long_ago.rate(weighting).unwrap());
    assert!((rates[0] - 3000.0 / 1_003_000.0).abs() < 1e-15 && rates[1] == 0.0 && rates[3] == 0.0);
    assert!((rates[2] - 3000.0 * 3001.0 / (1_003_000.0 * 1_003_001.0)).abs() < 1e-15);
    // Equation 11.
    assert!((download_probability(0.5) - 0.393_469_340_287_366_6).abs() < 1e-15);
    assert_eq!(download_probability(0.0), 0.0);
}

/// The first values of a fixed list.
fn sample(count: u64) -> RateSample {
    let mut sample = RateSample::default();
    (0..count).for_each(|i| sample.add((i * 37 % 101) as f64 / 101.0));
    sample
}

#[test]
fn a_sample_suffices_once_its_interval_is_narrow() {
    // scipy 1.17.1: t.ppf((1 + confidence)/2, n − 1)·std(ddof=1)/√n of the values i·37 mod 101 / 101.
    for (count, mean, at_80, at_95) in [
        (5, 0.332_673_267_326_732_7, 0.201_079_722_171_155_67, 0.364_130_267_285_339_37),
        (20, 0.480_198_019_801_980_3, 0.091_358_622_487_313_48, 0.144_017_271_865_988_87),
        (60, 0.490_264_026_402_640_2, 0.048_696_708_336_843_75, 0.075_182_829_405_476_69),
        (200, 0.495_495_049_504_950_45, 0.026_386_581_514_482_1, 0.040_466_926_653_676_37),
    ] {
        let sample = sample(count);
        assert!((sample.mean() - mean).abs() < 1e-14 && sample.count() == count);
        for (confidence, half_width) in [(0.8, at_80), (0.95, at_95)] {
            let suffices = |share: f64| {
                SampleRule::new(confidence, half_width * share, 2).unwrap().is_sufficient(&sample)
            };
            assert!(suffices(1.000_000_1) && !suffices(0.999_999_9), "{count} {confidence}");
        }
    }
    let default = SampleRule::default();
    assert!(default.is_sufficient(&sample(60)) && !default.is_sufficient(&sample(50)));
}

#[test]
fn equal_values_suffice_from_the_least_sample_on() {
    let mut sample = RateSample::default();
    for count in 1..=6 {
        sample.add(0.3);
        assert_eq!(SampleRule::default().is_sufficient(&sample), count >= 5);
    }
}

#[test]
fn rules_out_of_range_are_refused() {
    for confidence in [0.0, 1.0, f64::NAN] {
        assert!(matches!(SampleRule::new(confidence, 0.1, 5), Err(SampleRuleError::Confidence(_))));
    }
    for half_width in [0.0, f64::INFINITY, f64::NAN] {
        assert!(matches!(SampleRule::new(0.8, half_width, 5), Err(SampleRuleError::HalfWidth(_))));
    }
    assert_eq!(SampleRule::new(0.8, 0.1, 1).unwrap_err(), SampleRuleError::Least(1));
    assert_eq!(SampleRule::new(0.8, 0.05, 5).unwrap(), SampleRule::default());
}

use super::*;
use libsvm_rs::{KernelType, SvmNode, SvmParameter, SvmProblem, predict, train};
use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Points of three dimensions, with a rule that no line follows.
fn points() -> (Vec<[f64; 3]>, Vec<bool>) {
    let point = |i: usize| [0, 13, 26].map(|j| ((i * 7 + j) % 17) as f64 / 16.0);
    let class = |i: usize| point(i)[0] * point(i)[1] + 0.3 * ((i * 5 % 11) as f64 / 10.0) > 0.45;
    ((0..30).map(point).collect(), (0..30).map(class).collect())
}

/// Products of the first 25 points, with one more as the test example.
fn gram(points: &[[f64; 3]], examples: usize, test: usize) -> Gram {
    let rows = (0..examples).chain([test]);
    let dot = |i: usize, j: usize| points[i].iter().zip(points[j]).map(|(x, y)| x * y).sum();
    let products = rows.flat_map(|i| (0..examples).map(move |j| (i, j))).map(|(i, j)| dot(i, j)).collect();
    Gram { examples, products, features: 3 }
}

fn decisions(bounds: &[f64], tests: &[usize]) -> Vec<f64> {
    let (points, classes) = points();
    let decide = |&test: &usize| {
        let kernel = gram(&points, 25, test).polynomial();
        let machine = Machine::train(&kernel, &classes[..25], bounds);
        assert!(machine.converged);
        machine.decide(kernel.row(25))
    };
    tests.iter().map(decide).collect()
}

#[test]
fn decisions_are_those_of_scikit_learn() {
    // scikit-learn 1.9.1, SVC(kernel="poly", degree=3, gamma=1/3, coef0=1, C=C, tol=1e-9).decision_function
    for (cost, expected) in [
        (
            0.1,
            [
                -1.054_361_9,
                -0.449_167_8,
                -1.104_368_7,
                -0.703_307_2,
                -0.940_645_5,
                -0.907_242_0,
                -0.352_419_7,
            ],
        ),
        (
            1.0,
            [-1.246_170_8, 1.239_893_9, -1.469_873_9, 0.141_924_3, -0.732_712_4, -0.746_791_1, 1.655_856_1],
        ),
        (
            10.0,
            [-1.474_099_4, 2.246_750_9, -1.854_855_3, 0.440_452_0, -0.485_212_8, -1.000_000_1, 2.936_795_9],
        ),
    ] {
        for (value, expected) in decisions(&[cost; 25], &[0, 7, 25, 26, 27, 28, 29]).into_iter().zip(expected)
        {
            assert!((value - expected).abs() < 2.0 * TOLERANCE, "C {cost}: {value} for {expected}");
        }
    }
}

#[test]
fn a_bound_is_a_number_of_copies() {
    // scikit-learn 1.9.1 on the sample that holds example i (3 i mod 4) times, C = 1.
    let bounds: Vec<f64> = (0..25).map(|i| f64::from(i * 3 % 4)).collect();
    let expected = [-1.502_189_4, 0.238_423_6, -1.000_000_5, -0.724_106_3, 1.864_501_7];
    for (value, expected) in decisions(&bounds, &[25, 26, 27, 28, 29]).into_iter().zip(expected) {
        assert!((value - expected).abs() < 2.0 * TOLERANCE, "{value} for {expected}");
    }
}

#[test]
fn one_class_is_always_decided() {
    let kernel = gram(&points().0, 4, 9).polynomial();
    for class in [false, true] {
        let machine = Machine::train(&kernel, &[class; 4], &[1.0; 4]);
        assert_eq!(machine.decide(kernel.row(4)) > 0.0, class);
        // Also if all others are left out.
        let machine = Machine::train(&kernel, &[class, !class, !class, class], &[1.0, 0.0, 0.0, 1.0]);
        assert_eq!(machine.decide(kernel.row(4)) > 0.0, class);
    }
}

#[test]
fn costs_are_tuned_to_the_examples() {
    let mut source = ChaCha8Rng::seed_from_u64(3);
    // Classes follow the sign of the second feature, which varies little: only a larger C finds it.
    let points: Vec<[f64; 3]> =
        (0..40).map(|_| [source.random(), source.random::<f64>() - 0.5, 0.0]).collect();
    let small: Vec<[f64; 3]> = points.iter().map(|&[x, y, _]| [x, y / 2.0, 0.0]).collect();
    let classes: Vec<bool> = points.iter().map(|point| point[1] > 0.0).collect();
    assert!(tuned(&gram(&small, 40, 0).polynomial(), &classes) > GRID[1]);
    // Nothing to learn: the least.
    assert_eq!(tuned(&Gram::new(40).polynomial(), &[true; 40]), GRID[0]);
}

/// LIBSVM in Rust, on the same kernel matrix.
fn libsvm(kernel: &Gram, classes: &[bool], cost: f64, test: usize) -> f64 {
    let node = |(index, value): (usize, f64)| SvmNode { index: index as i32, value };
    let instance = |i: usize| -> Vec<SvmNode> {
        [i as f64 + 1.0].into_iter().chain(kernel.row(i).iter().copied()).enumerate().map(node).collect()
    };
    let problem = SvmProblem {
        labels: classes.iter().map(|&class| f64::from(u8::from(class))).collect(),
        instances: (0..kernel.examples).map(instance).collect(),
    };
    let parameter =
        SvmParameter { kernel_type: KernelType::Precomputed, c: cost, eps: 1e-4, ..SvmParameter::default() };
    let model = train::svm_train(&problem, &parameter);
    let mut values = [0.0];
    predict::predict_values(&model, &instance(test), &mut values);
    // LIBSVM's first class is that of the first example.
    if classes[0] { values[0] } else { -values[0] }
}

#[test]
fn decisions_are_those_of_libsvm_on_windows_of_fifty_days() {
    libsvm_rs::set_quiet(true);
    let mut source = ChaCha8Rng::seed_from_u64(11);
    for _ in 0..40 {
        // Bits of the last steps and a magnitude, as of a page; many examples are equal.
        let points: Vec<[f64; 3]> = (0..51)
            .map(|_| {
                [f64::from(source.random_range(0..2)), f64::from(source.random_range(0..2)), source.random()]
            })
            .collect();
        let classes: Vec<bool> = points[..50]
            .iter()
            .map(|point| if source.random_bool(0.2) { source.random_bool(0.5) } else { point[0] > 0.5 })
            .collect();
        for cost in GRID {
            let kernel = gram(&points, 50, 50).polynomial();
            let machine = Machine::train(&kernel, &classes, &[cost; 50]);
            let (value, expected) = (machine.decide(kernel.row(50)), libsvm(&kernel, &classes, cost, 50));
            assert!(machine.converged && (value - expected).abs() < 5e-3, "C {cost}: {value} for {expected}");
        }
    }
}

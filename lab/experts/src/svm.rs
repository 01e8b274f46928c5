//! Support vector machines for two classes on a kernel matrix, trained by sequential minimal optimisation.
//!
//! The working set is chosen by second order information (Fan, Chen and Lin 2005, WSS 2), as in LIBSVM. Each example
//! has its own bound of α. So an example drawn m times into a sample is one of bound m·C, and one that is held out has
//! bound 0: samples and folds need no copy of the matrix.

/// Degree of the polynomial kernel (Radinsky and Bennett 2013, section 7.2).
const DEGREE: i32 = 3;
/// LIBSVM's tolerance of the optimality conditions.
const TOLERANCE: f64 = 1e-3;
/// Maximum steps of one training; examples are few, and a fit takes some hundreds.
const STEPS_MAX: u32 = 200_000;
/// Values of C that are tried, ascending: the least of equally good ones is taken.
pub const GRID: [f64; 4] = [0.01, 0.1, 1.0, 10.0];
/// Folds of the cross-validation of C, of consecutive days.
const FOLDS: usize = 5;

/// Examples as their inner products: linear first, then as kernel values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gram {
    /// Number of training examples.
    pub examples: usize,
    /// Row i holds the products of example i with all examples. The last row is the test example's.
    pub products: Vec<f64>,
    /// Number of features in the products, without those that are constant in training.
    pub features: u32,
}

impl Gram {
    /// Products of no feature yet.
    pub fn new(examples: usize) -> Gram {
        Gram { examples, products: vec![0.0; (examples + 1) * examples], features: 0 }
    }

    /// The products of an example; the test example is the last.
    pub fn row(&self, example: usize) -> &[f64] {
        &self.products[example * self.examples..][..self.examples]
    }

    /// Adds a feature by its values, the test example last: scaled to 0..1 by the training examples, beyond which the
    /// test example counts as their end. One that is constant in training adds nothing.
    pub fn add_feature(&mut self, values: &[f64]) {
        let training = &values[..self.examples];
        let low = training.iter().copied().fold(f64::INFINITY, f64::min);
        let high = training.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if high <= low {
            return;
        }
        let scaled: Vec<f64> =
            values.iter().map(|value| ((value - low) / (high - low)).clamp(0.0, 1.0)).collect();
        for (row, value) in self.products.chunks_exact_mut(self.examples).zip(&scaled) {
            row.iter_mut().zip(&scaled).for_each(|(product, other)| *product += value * other);
        }
        self.features += 1;
    }

    /// Adds the features of another matrix to these.
    ///
    /// # Panics
    /// If the numbers of examples differ.
    pub fn add(&mut self, other: &Gram) {
        assert_eq!(self.examples, other.examples, "examples of the two matrices");
        self.products.iter_mut().zip(&other.products).for_each(|(product, more)| *product += more);
        self.features += other.features;
    }

    /// The polynomial kernel (γ x·y + 1)³ with γ = 1 / features.
    pub fn polynomial(&self) -> Gram {
        let scale = 1.0 / f64::from(self.features.max(1));
        let products = self.products.iter().map(|product| (scale * product + 1.0).powi(DEGREE)).collect();
        Gram { products, ..*self }
    }
}

/// A trained machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// α·y of each example.
    coefficients: Vec<f64>,
    /// Subtracted from the weighted sum of kernel values.
    offset: f64,
    /// Whether the training met its tolerance within its maximum of steps.
    pub converged: bool,
}

impl Machine {
    /// Trains on the examples of a kernel matrix with their classes and bounds of α. With examples of one class only,
    /// all decisions are that class's.
    ///
    /// # Panics
    /// If the numbers of examples, classes and bounds differ.
    pub fn train(kernel: &Gram, classes: &[bool], bounds: &[f64]) -> Machine {
        assert!(
            classes.len() == kernel.examples && bounds.len() == kernel.examples,
            "one of each per example"
        );
        let has = |class| classes.iter().zip(bounds).any(|(&c, &bound)| c == class && bound > 0.0);
        if !(has(true) && has(false)) {
            let offset = if has(true) { -1.0 } else { 1.0 };
            return Machine { coefficients: vec![0.0; kernel.examples], offset, converged: true };
        }
        Solver::new(kernel, classes, bounds).solve()
    }

    /// The decision value for an example with these kernel values; positive for the class `true`.
    pub fn decide(&self, kernel_row: &[f64]) -> f64 {
        let products =
            self.coefficients.iter().zip(kernel_row).map(|(coefficient, value)| coefficient * value);
        products.sum::<f64>() - self.offset
    }
}

/// The state of a training. σᵢ is y·α of example i, between 0 and y·bound.
struct Solver<'a> {
    kernel: &'a Gram,
    /// +1 or −1.
    signs: Vec<f64>,
    bounds: &'a [f64],
    alphas: Vec<f64>,
    /// −y·gradient of the dual: by how much the decision value falls short of the class.
    shortfalls: Vec<f64>,
}

impl Solver<'_> {
    fn new<'a>(kernel: &'a Gram, classes: &[bool], bounds: &'a [f64]) -> Solver<'a> {
        let signs: Vec<f64> = classes.iter().map(|&class| if class { 1.0 } else { -1.0 }).collect();
        Solver { kernel, shortfalls: signs.clone(), signs, bounds, alphas: vec![0.0; bounds.len()] }
    }

    /// By how much σ of an example can rise.
    fn up(&self, i: usize) -> f64 {
        if self.signs[i] > 0.0 { self.bounds[i] - self.alphas[i] } else { self.alphas[i] }
    }

    /// By how much σ of an example can fall.
    fn down(&self, i: usize) -> f64 {
        if self.signs[i] > 0.0 { self.alphas[i] } else { self.bounds[i] - self.alphas[i] }
    }

    fn solve(mut self) -> Machine {
        let converged = (0..STEPS_MAX).any(|_| !self.step());
        let coefficients = self.alphas.iter().zip(&self.signs).map(|(alpha, sign)| alpha * sign).collect();
        Machine { coefficients, offset: -self.bias(), converged }
    }

    /// Moves σ from one example to another; false if the conditions are met.
    fn step(&mut self) -> bool {
        let examples = 0..self.alphas.len();
        let mut best: Option<usize> = None;
        for i in examples.clone().filter(|&i| self.up(i) > 0.0) {
            if best.is_none_or(|b| self.shortfalls[i] > self.shortfalls[b]) {
                best = Some(i);
            }
        }
        let Some(i) = best else { return false };
        let (mut partner, mut gain, mut lowest) = (None, 0.0, f64::INFINITY);
        for j in examples.filter(|&j| self.down(j) > 0.0) {
            lowest = lowest.min(self.shortfalls[j]);
            let gap = self.shortfalls[i] - self.shortfalls[j];
            if gap > 0.0 && gap * gap / self.curvature(i, j) > gain {
                (partner, gain) = (Some(j), gap * gap / self.curvature(i, j));
            }
        }
        let Some(j) = partner.filter(|_| self.shortfalls[i] - lowest >= TOLERANCE) else { return false };
        let wanted = (self.shortfalls[i] - self.shortfalls[j]) / self.curvature(i, j);
        let (up, down) = (self.up(i), self.down(j));
        let moved = wanted.min(up).min(down);
        self.shift(i, moved, moved == up);
        self.shift(j, -moved, moved == down);
        let (row_i, row_j) = (self.kernel.row(i), self.kernel.row(j));
        for (shortfall, (a, b)) in self.shortfalls.iter_mut().zip(row_i.iter().zip(row_j)) {
            *shortfall -= moved * (a - b);
        }
        true
    }

    /// The second derivative along a move of σ from j to i.
    fn curvature(&self, i: usize, j: usize) -> f64 {
        let (row_i, row_j) = (self.kernel.row(i), self.kernel.row(j));
        (row_i[i] + row_j[j] - 2.0 * row_i[j]).max(1e-12)
    }

    /// Adds to σ of an example. At its limit α is set to the limit itself, without a rounding error.
    fn shift(&mut self, i: usize, moved: f64, is_limit: bool) {
        let rises = moved * self.signs[i] > 0.0;
        self.alphas[i] = match (is_limit, rises) {
            (true, true) => self.bounds[i],
            (true, false) => 0.0,
            (false, _) => self.alphas[i] + moved * self.signs[i],
        };
    }

    /// The mean shortfall of examples between their bounds; without such, the middle of what the others allow.
    fn bias(&self) -> f64 {
        let (mut sum, mut free, mut above, mut below) = (0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY);
        for i in (0..self.alphas.len()).filter(|&i| self.bounds[i] > 0.0) {
            let shortfall = self.shortfalls[i];
            match (self.up(i) > 0.0, self.down(i) > 0.0) {
                (true, true) => (sum, free) = (sum + shortfall, free + 1.0),
                (true, false) => below = below.max(shortfall),
                _ => above = above.min(shortfall),
            }
        }
        if free > 0.0 { sum / free } else { f64::midpoint(above, below) }
    }
}

/// The value of [`GRID`] with most right decisions in a cross-validation over consecutive days; the least of equal
/// ones.
pub fn tuned(kernel: &Gram, classes: &[bool]) -> f64 {
    let examples = classes.len();
    let fold = |i: usize| i * FOLDS / examples;
    let right = |cost: f64| -> usize {
        (0..FOLDS)
            .map(|held| {
                let bounds: Vec<f64> =
                    (0..examples).map(|i| if fold(i) == held { 0.0 } else { cost }).collect();
                let machine = Machine::train(kernel, classes, &bounds);
                let is_right = |&i: &usize| (machine.decide(kernel.row(i)) > 0.0) == classes[i];
                (0..examples).filter(|&i| fold(i) == held).filter(is_right).count()
            })
            .sum()
    };
    let mut best = (GRID[0], right(GRID[0]));
    for &cost in &GRID[1..] {
        let count = right(cost);
        if count > best.1 {
            best = (cost, count);
        }
    }
    best.0
}

#[cfg(test)]
mod tests;

//! Linear equations with a symmetric, positive definite matrix.

/// The x with `matrix`·x = `right`, by Cholesky's decomposition. The lower triangle of the matrix is read.
pub fn solve<const N: usize>(matrix: &[[f64; N]; N], right: [f64; N]) -> [f64; N] {
    let mut lower = [[0.0; N]; N];
    for i in 0..N {
        for j in 0..=i {
            let sum = (0..j).fold(matrix[i][j], |sum, k| sum - lower[i][k] * lower[j][k]);
            lower[i][j] = if i == j { sum.sqrt() } else { sum / lower[j][j] };
        }
    }
    let mut x = right;
    for i in 0..N {
        x[i] = (0..i).fold(x[i], |sum, k| sum - lower[i][k] * x[k]) / lower[i][i];
    }
    for i in (0..N).rev() {
        x[i] = (i + 1..N).fold(x[i], |sum, k| sum - lower[k][i] * x[k]) / lower[i][i];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_solution_solves(parts in prop::array::uniform4(prop::array::uniform4(-3.0..3.0f64)),
                               right in prop::array::uniform4(-9.0..9.0f64)) {
            // A·Aᵀ + I is positive definite.
            let matrix: [[f64; 4]; 4] = std::array::from_fn(|i| std::array::from_fn(|j| {
                let product = (0..4).map(|k| parts[i][k] * parts[j][k]).sum::<f64>();
                product + f64::from(u8::from(i == j))
            }));
            let x = solve(&matrix, right);
            for (row, right) in matrix.iter().zip(right) {
                let left = row.iter().zip(x).map(|(a, x)| a * x).sum::<f64>();
                prop_assert!((left - right).abs() < 1e-9, "{left} for {right}");
            }
        }
    }
}

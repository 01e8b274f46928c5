//! Unit vectors of pages, as the rows of a compressed sparse matrix.

/// Vectors of unit length, or zero, with equal numbers of dimensions.
///
/// A row is sparse (some columns, rising) or dense (all columns, which are not stored). A vector without any value other
/// than 0 remains zero: it has no direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    dims: usize,
    /// Where each row begins in `values`, and the end.
    offsets: Vec<usize>,
    /// The columns of `values`; empty if all rows are dense.
    columns: Vec<u32>,
    values: Vec<f32>,
}

/// A vector that cannot be a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RowError {
    /// A value is not a finite number.
    #[error("row {row}, column {column}: not a finite number")]
    NotFinite {
        /// Number of the row.
        row: usize,
        /// Number of the column.
        column: usize,
    },
    /// A column is beyond the last one, or not above the one before it.
    #[error("row {row}, column {column}: columns must rise and be below {dims}")]
    Column {
        /// Number of the row.
        row: usize,
        /// Number of the column.
        column: usize,
        /// Columns of the matrix.
        dims: usize,
    },
    /// The values are no whole number of rows.
    #[error("{values} values are no whole number of rows of {dims} columns")]
    Length {
        /// Number of values.
        values: usize,
        /// Columns of the matrix.
        dims: usize,
    },
}

/// A row: its values, and their columns unless it is dense.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FeatureRow<'a> {
    columns: &'a [u32],
    values: &'a [f32],
}

impl Rows {
    /// A sparse matrix of no rows and `dims` columns.
    pub fn new(dims: usize) -> Rows {
        Rows { dims, offsets: vec![0], ..Rows::default() }
    }

    /// A dense matrix from the values of all rows, one after the other. Each row is scaled to unit length.
    pub fn from_dense(dims: usize, values: &[f64]) -> Result<Rows, RowError> {
        if dims == 0 || !values.len().is_multiple_of(dims) {
            return Err(RowError::Length { values: values.len(), dims });
        }
        let mut rows = Rows { values: Vec::with_capacity(values.len()), ..Rows::new(dims) };
        for (row, values) in values.chunks_exact(dims).enumerate() {
            let scale = scale(row, values.iter().copied().enumerate())?;
            rows.values.extend(values.iter().map(|value| unit(*value, scale)));
            rows.offsets.push(rows.values.len());
        }
        Ok(rows)
    }

    /// Adds a row with these columns, rising, and values. It is scaled to unit length.
    ///
    /// # Panics
    /// If the matrix was made by [`from_dense`](Rows::from_dense) and has rows.
    pub fn push(&mut self, row: &[(u32, f64)]) -> Result<(), RowError> {
        assert!(self.columns.len() == self.values.len(), "a sparse row in a dense matrix");
        let (number, dims) = (self.len(), self.dims);
        let mut next = 0;
        for &(column, _) in row {
            let column = column as usize;
            if column < next || column >= dims {
                return Err(RowError::Column { row: number, column, dims });
            }
            next = column + 1;
        }
        let scale = scale(number, row.iter().map(|&(column, value)| (column as usize, value)))?;
        let kept = row.iter().filter(|(_, value)| unit(*value, scale) != 0.0);
        for &(column, value) in kept {
            self.columns.push(column);
            self.values.push(unit(value, scale));
        }
        self.offsets.push(self.values.len());
        Ok(())
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of columns.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// The rows of these numbers, in this order.
    pub fn select(&self, numbers: &[u32]) -> Rows {
        let mut rows = Rows::new(self.dims);
        rows.offsets.reserve(numbers.len());
        for &number in numbers {
            let row = self.row(number as usize);
            rows.columns.extend_from_slice(row.columns);
            rows.values.extend_from_slice(row.values);
            rows.offsets.push(rows.values.len());
        }
        rows
    }

    /// The cosine of a row to a vector of unit length; 0 for a zero row.
    ///
    /// # Panics
    /// If there is no such row, or the vector has other dimensions.
    pub fn cosine(&self, number: usize, unit: &[f64]) -> f64 {
        assert_eq!(unit.len(), self.dims, "as many dimensions");
        self.row(number).dot(unit)
    }

    pub(crate) fn row(&self, number: usize) -> FeatureRow<'_> {
        let range = self.offsets[number]..self.offsets[number + 1];
        let columns = if self.columns.is_empty() { &[] } else { &self.columns[range.clone()] };
        FeatureRow { columns, values: &self.values[range] }
    }

    /// The sum of all rows.
    pub(crate) fn sum(&self) -> Vec<f64> {
        let mut sum = vec![0.0; self.dims];
        (0..self.len()).for_each(|number| self.row(number).add_to(&mut sum, 1.0));
        sum
    }
}

impl FeatureRow<'_> {
    /// Whether the row is the zero vector.
    pub(crate) fn is_zero(&self) -> bool {
        self.values.iter().all(|value| *value == 0.0)
    }

    /// The product with a vector.
    pub(crate) fn dot(&self, vector: &[f64]) -> f64 {
        if !self.columns.is_empty() {
            let terms = self.columns.iter().zip(self.values);
            return terms.map(|(column, value)| vector[*column as usize] * f64::from(*value)).sum();
        }
        let (mut lanes, mut rest) = ([0.0; 8], 0.0);
        let (values, vectors) = (self.values.chunks_exact(8), vector.chunks_exact(8));
        for (value, x) in values.remainder().iter().zip(vectors.remainder()) {
            rest += x * f64::from(*value);
        }
        for (values, xs) in values.zip(vectors) {
            for ((lane, value), x) in lanes.iter_mut().zip(values).zip(xs) {
                *lane += x * f64::from(*value);
            }
        }
        add_up(lanes) + rest
    }

    /// Adds `factor` times the row to a vector.
    pub(crate) fn add_to(&self, vector: &mut [f64], factor: f64) {
        if self.columns.is_empty() {
            for (x, value) in vector.iter_mut().zip(self.values) {
                *x += factor * f64::from(*value);
            }
        } else {
            for (column, value) in self.columns.iter().zip(self.values) {
                vector[*column as usize] += factor * f64::from(*value);
            }
        }
    }

    /// The squared length: 1 but for the rounding of the values.
    pub(crate) fn squared_length(&self) -> f64 {
        self.values.iter().map(|value| f64::from(*value) * f64::from(*value)).sum()
    }
}

/// The product of two vectors, in eight lanes: the order of additions does not depend on the machine.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (mut lanes, mut rest) = ([0.0; 8], 0.0);
    let (chunks_of_a, chunks_of_b) = (a.chunks_exact(8), b.chunks_exact(8));
    for (a, b) in chunks_of_a.remainder().iter().zip(chunks_of_b.remainder()) {
        rest += a * b;
    }
    for (a, b) in chunks_of_a.zip(chunks_of_b) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += a * b;
        }
    }
    add_up(lanes) + rest
}

/// The sum of lanes, by halves: four additions at a time do not wait for each other.
fn add_up(lanes: [f64; 8]) -> f64 {
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// Scales a vector to unit length, unless it is zero.
pub(crate) fn to_unit(vector: &mut [f64]) {
    let most = vector.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    if most > 0.0 {
        vector.iter_mut().for_each(|value| *value /= most);
        let length = dot(vector, vector).sqrt();
        vector.iter_mut().for_each(|value| *value /= length);
    }
}

/// The greatest absolute value, and the length in units of it. In two steps, since squares of large values are not
/// finite.
fn scale(row: usize, values: impl Iterator<Item = (usize, f64)> + Clone) -> Result<(f64, f64), RowError> {
    let mut most: f64 = 0.0;
    for (column, value) in values.clone() {
        if !value.is_finite() {
            return Err(RowError::NotFinite { row, column });
        }
        most = most.max(value.abs());
    }
    let square = |value: f64| (value / most) * (value / most);
    let length = values.map(|(_, value)| square(value)).sum::<f64>().sqrt();
    Ok(if most == 0.0 { (1.0, 1.0) } else { (most, length) })
}

fn unit(value: f64, (most, length): (f64, f64)) -> f32 {
    (value / most / length) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_unit_length_or_are_zero() {
        let dense = Rows::from_dense(3, &[3.0, 0.0, -4.0, 0.0, 0.0, 0.0, 1e300, 1e300, 1e-300]).unwrap();
        let mut sparse = Rows::new(3);
        sparse.push(&[(0, 3.0), (2, -4.0)]).unwrap();
        sparse.push(&[]).unwrap();
        sparse.push(&[(0, 1e300), (1, 1e300), (2, 1e-300)]).unwrap();
        for rows in [&dense, &sparse] {
            let lengths: Vec<f64> = (0..3).map(|row| rows.row(row).squared_length()).collect();
            assert!((lengths[0] - 1.0).abs() < 1e-6 && lengths[1] == 0.0 && (lengths[2] - 1.0).abs() < 1e-6);
            assert_eq!((rows.row(1).is_zero(), rows.row(2).is_zero()), (true, false));
            let dot = rows.row(0).dot(&[1.0, 10.0, 100.0]);
            assert!((dot - (0.6 - 80.0)).abs() < 1e-5, "{dot}");
        }
        assert_eq!(sparse.sum(), dense.sum());
        assert_eq!(sparse.select(&[2, 0]).row(1).dot(&[1.0, 0.0, 0.0]), f64::from(0.6f32));
    }

    #[test]
    fn vectors_that_are_no_rows_are_refused() {
        let refused = |dims, values: &[f64]| Rows::from_dense(dims, values).unwrap_err();
        assert_eq!(refused(2, &[0.0, 1.0, 1.0, f64::NAN]), RowError::NotFinite { row: 1, column: 1 });
        assert_eq!(refused(2, &[0.0; 3]), RowError::Length { values: 3, dims: 2 });
        assert_eq!(refused(0, &[]), RowError::Length { values: 0, dims: 0 });
        let mut sparse = Rows::new(4);
        assert_eq!(
            sparse.push(&[(1, f64::INFINITY)]).unwrap_err(),
            RowError::NotFinite { row: 0, column: 1 }
        );
        for row in [[(1, 1.0), (1, 1.0)], [(2, 1.0), (1, 1.0)], [(0, 1.0), (4, 1.0)]] {
            assert!(matches!(sparse.push(&row), Err(RowError::Column { row: 0, dims: 4, .. })));
        }
        assert!(sparse.is_empty());
    }
}

//! Directions of clusters.

use crate::rows::{Rows, dot, to_unit};
use serde::{Deserialize, Serialize};

/// Directions of clusters, all of unit length or zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Centroids {
    dims: usize,
    count: usize,
    /// The numbers of all centroids, one after the other.
    values: Vec<f64>,
}

impl Centroids {
    /// No centroid.
    pub fn new(dims: usize) -> Centroids {
        Centroids { dims, ..Centroids::default() }
    }

    /// Number of centroids.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no centroid.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Numbers of a centroid.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// All centroids, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &[f64]> {
        (0..self.count).map(|number| self.get(number))
    }

    /// The centroid of cluster `number`.
    ///
    /// # Panics
    /// If there is no such cluster.
    pub fn get(&self, number: usize) -> &[f64] {
        &self.values[number * self.dims..][..self.dims]
    }

    /// Adds the direction of a vector: the vector scaled to unit length.
    pub(crate) fn push_direction(&mut self, vector: &[f64]) {
        let start = self.values.len();
        self.values.extend_from_slice(vector);
        to_unit(&mut self.values[start..]);
        self.count += 1;
    }

    /// Whether the numbers are finite and as many as they should be.
    pub(crate) fn is_sound(&self) -> bool {
        self.count.checked_mul(self.dims) == Some(self.values.len())
            && self.values.iter().all(|x| x.is_finite())
    }

    /// The nearest centroid to a unit vector, and the cosine. Ties go to the lower number. The zero vector has cosine 0 to
    /// all: by convention its cluster is 0.
    ///
    /// # Panics
    /// If there is no centroid.
    pub fn nearest(&self, vector: &[f64]) -> (usize, f64) {
        first_greatest(self.iter().map(|centroid| dot(centroid, vector)))
    }

    /// The same for a row of a matrix.
    pub fn nearest_to_row(&self, rows: &Rows, row: usize) -> (usize, f64) {
        let row = rows.row(row);
        first_greatest(self.iter().map(|centroid| row.dot(centroid)))
    }
}

/// The first of the greatest values, with its place. There is at least one value.
fn first_greatest(values: impl Iterator<Item = f64>) -> (usize, f64) {
    let first = |best: (usize, f64), next: (usize, f64)| if next.1 > best.1 { next } else { best };
    values.enumerate().reduce(first).expect("there is a centroid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_is_the_first_of_the_closest() {
        let mut centroids = Centroids::new(2);
        [[1.0, 0.0], [0.0, 5.0], [0.0, 1.0]].iter().for_each(|vector| centroids.push_direction(vector));
        assert_eq!(centroids.nearest(&[0.6, 0.8]), (1, 0.8));
        assert_eq!(centroids.nearest(&[0.0, 0.0]), (0, 0.0));
        assert_eq!((centroids.len(), centroids.get(1)), (3, [0.0, 1.0].as_slice()));
    }
}

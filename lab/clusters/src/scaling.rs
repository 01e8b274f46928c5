//! Features as comparable numbers: logarithms of counts, z-scores, unit length.

use crate::features::Feature;
use crate::rows::{Rows, to_unit};
use recrawl_formula::math::ln;
use serde::{Deserialize, Serialize};

/// How features become comparable. Vectors have unit length in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Normalise {
    /// ln(1 + x) of counts, then the z-score by the sample. Features that are equal in the whole sample are dropped.
    #[default]
    ZScore,
    /// The features as they are. Those with large values outweigh the others.
    None,
}

/// How each feature is scaled, fitted to a sample of pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    normalise: Normalise,
    features: Vec<ScaledFeature>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ScaledFeature {
    feature: Feature,
    /// Whether it differs within the sample.
    is_kept: bool,
    mean: f64,
    /// Standard deviation, 1 if nothing is to be divided.
    deviation: f64,
}

/// Values that cannot be scaled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ScalingError {
    /// The values are no whole number of pages.
    #[error("{values} values are no whole number of pages with {features} features")]
    Length {
        /// Number of values.
        values: usize,
        /// Number of features.
        features: usize,
    },
    /// A value is not finite, or too large to be scaled.
    #[error("feature `{feature}` of page {page} is not a finite number")]
    NotFinite {
        /// Name of the feature.
        feature: String,
        /// The page's place in the sample.
        page: usize,
    },
}

impl Scaling {
    /// Fits the scaling to the values of a sample, page after page.
    pub fn fit(features: &[Feature], values: &[f64], normalise: Normalise) -> Result<Scaling, ScalingError> {
        let features = features.iter().map(|feature| {
            let feature = feature.clone();
            ScaledFeature { feature, is_kept: true, mean: 0.0, deviation: 1.0 }
        });
        let mut scaling = Scaling { normalise, features: features.collect() };
        scaling.check(values)?;
        if normalise == Normalise::ZScore {
            let (width, pages) = (scaling.features.len(), values.len() / scaling.features.len().max(1));
            for (place, feature) in scaling.features.iter_mut().enumerate() {
                let values =
                    values.iter().skip(place).step_by(width).map(|value| feature.feature.logarithm(*value));
                let mean = values.clone().sum::<f64>() / pages as f64;
                let squares = values.clone().map(|value| (value - mean) * (value - mean)).sum::<f64>();
                let (deviation, mut values) = ((squares / pages as f64).sqrt(), values);
                let first = values.next();
                let differs = first.is_some_and(|first| values.any(|value| value != first));
                if differs && !(mean.is_finite() && deviation.is_finite() && deviation > 0.0) {
                    return Err(ScalingError::NotFinite { feature: feature.feature.name.clone(), page: 0 });
                }
                let (mean, deviation) = if differs { (mean, deviation) } else { (0.0, 1.0) };
                (feature.is_kept, feature.mean, feature.deviation) = (differs, mean, deviation);
            }
        }
        Ok(scaling)
    }

    /// Number of features before scaling.
    pub fn width(&self) -> usize {
        self.features.len()
    }

    /// Names of all features.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.features.iter().map(|feature| &*feature.feature.name)
    }

    /// Names of the features that are kept: the dimensions after scaling.
    pub fn kept(&self) -> impl Iterator<Item = &str> {
        self.features.iter().filter(|feature| feature.is_kept).map(|feature| &*feature.feature.name)
    }

    /// The unit vectors of pages, from their values, page after page.
    pub fn rows(&self, values: &[f64]) -> Result<Rows, ScalingError> {
        self.check(values)?;
        let dims = self.kept().count();
        if dims == 0 {
            let mut rows = Rows::new(0);
            (0..values.len() / self.width().max(1))
                .for_each(|_| rows.push(&[]).expect("a row without values"));
            return Ok(rows);
        }
        let mut scaled = Vec::with_capacity(values.len() / self.width() * dims);
        values.chunks_exact(self.width()).for_each(|page| self.scale(page, &mut scaled));
        Ok(Rows::from_dense(dims, &scaled).expect("scaled values are finite"))
    }

    /// The unit vector of a page.
    pub fn vector(&self, values: &[f64]) -> Result<Vec<f64>, ScalingError> {
        if values.len() != self.width() {
            return Err(ScalingError::Length { values: values.len(), features: self.width() });
        }
        self.check(values)?;
        let mut vector = Vec::with_capacity(self.width());
        self.scale(values, &mut vector);
        to_unit(&mut vector);
        Ok(vector)
    }

    fn scale(&self, page: &[f64], out: &mut Vec<f64>) {
        let kept = self.features.iter().zip(page).filter(|(feature, _)| feature.is_kept);
        out.extend(kept.map(|(feature, value)| self.scaled(feature, *value)));
    }

    fn scaled(&self, feature: &ScaledFeature, value: f64) -> f64 {
        match self.normalise {
            Normalise::None => value,
            Normalise::ZScore => (feature.feature.logarithm(value) - feature.mean) / feature.deviation,
        }
    }

    /// Whether values are whole pages, and finite after scaling.
    fn check(&self, values: &[f64]) -> Result<(), ScalingError> {
        let width = self.width();
        if width == 0 || !values.len().is_multiple_of(width) {
            return Err(ScalingError::Length { values: values.len(), features: width });
        }
        let scaled = |(place, value): (usize, &f64)| self.scaled(&self.features[place % width], *value);
        match values.iter().enumerate().position(|value| !scaled(value).is_finite()) {
            None => Ok(()),
            Some(place) => {
                let feature = self.features[place % width].feature.name.clone();
                Err(ScalingError::NotFinite { feature, page: place / width })
            }
        }
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.features.iter().all(|f| f.mean.is_finite() && f.deviation.is_finite() && f.deviation > 0.0)
    }
}

impl Feature {
    /// ln(1 + x) of a count. Below 0, −ln(1 − x): no count is, but the values are the caller's.
    fn logarithm(&self, value: f64) -> f64 {
        if self.is_count { ln(1.0 + value.abs()).copysign(value) } else { value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features() -> Vec<Feature> {
        [("size", true), ("share", false), ("same", false)]
            .map(|(name, is_count)| Feature { name: name.into(), is_count })
            .to_vec()
    }

    #[test]
    fn counts_are_scaled_by_their_logarithm_and_constant_features_are_dropped() {
        // numpy 2.4.6: x = log1p([0, 9, 99]), y = [0.5, 0.1, 0.6]; (x − x.mean())/x.std(), and the same of y, as columns,
        // rows divided by their length.
        let values = [0.0, 0.5, 7.0, 9.0, 0.1, 7.0, 99.0, 0.6, 7.0];
        let scaling = Scaling::fit(&features(), &values, Normalise::ZScore).unwrap();
        assert_eq!(scaling.kept().collect::<Vec<_>>(), ["size", "share"]);
        let expected = [
            [-0.935_414_346_693_485_2, 0.353_553_390_593_273_95],
            [0.0, -1.0],
            [0.797_724_035_217_465_6, 0.603_022_689_155_527_4],
        ];
        let rows = scaling.rows(&values).unwrap();
        for (page, expected) in expected.iter().enumerate() {
            let vector = scaling.vector(&values[page * 3..][..3]).unwrap();
            for dim in 0..2 {
                let mut unit = [0.0; 2];
                unit[dim] = 1.0;
                assert!((vector[dim] - expected[dim]).abs() < 1e-12, "{page} {dim}: {}", vector[dim]);
                assert!((rows.row(page).dot(&unit) - expected[dim]).abs() < 1e-7);
            }
        }
    }

    #[test]
    fn without_normalising_only_the_length_changes() {
        let values = [3.0, 4.0, 0.0, 0.0, 0.0, -5.0];
        let scaling = Scaling::fit(&features(), &values, Normalise::None).unwrap();
        assert_eq!(scaling.kept().count(), 3);
        assert_eq!(scaling.vector(&values[..3]).unwrap(), [0.6, 0.8, 0.0]);
        assert_eq!(scaling.vector(&values[3..]).unwrap(), [0.0, 0.0, -1.0]);
    }

    #[test]
    fn one_page_and_equal_pages_have_no_dimension() {
        for pages in [1, 3] {
            let values = [1.0, 0.5, 7.0].repeat(pages);
            let scaling = Scaling::fit(&features(), &values, Normalise::ZScore).unwrap();
            assert_eq!(scaling.vector(&[5.0, 5.0, 5.0]).unwrap(), [0.0; 0]);
            assert_eq!((scaling.rows(&values).unwrap().len(), scaling.kept().count()), (pages, 0));
        }
    }

    #[test]
    fn values_that_cannot_be_scaled_are_refused() {
        let fit = |values: &[f64]| Scaling::fit(&features(), values, Normalise::ZScore).unwrap_err();
        assert_eq!(fit(&[0.0; 4]), ScalingError::Length { values: 4, features: 3 });
        for bad in [f64::NAN, f64::INFINITY] {
            let refused = fit(&[0.0, 0.0, 0.0, 0.0, bad, 0.0]);
            assert_eq!(refused.to_string(), "feature `share` of page 1 is not a finite number");
        }
        let refused = fit(&[0.0, 1e300, 0.0, 0.0, -1e300, 0.0]);
        assert!(
            matches!(refused, ScalingError::NotFinite { ref feature, .. } if feature == "share"),
            "{refused}"
        );
        let scaling = Scaling::fit(&features(), &[0.0, 1.0, 0.0, 1.0, 0.0, 0.0], Normalise::ZScore).unwrap();
        assert!(scaling.vector(&[0.0, f64::NAN, 0.0]).is_err());
        assert!(scaling.vector(&[0.0; 6]).is_err(), "two pages are no page");
    }
}

//! Axes with ticks at round numbers.

/// An axis.
pub struct Scale {
    /// The ends; of a logarithmic axis, their powers of ten.
    low: f64,
    high: f64,
    step: f64,
    decimals: usize,
    is_logarithmic: bool,
}

impl Scale {
    /// An axis from the minimum to the maximum of these values, with about five ticks. A logarithmic
    /// one runs between powers of ten.
    pub fn over(values: impl Iterator<Item = f64>, is_logarithmic: bool) -> Scale {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        if is_logarithmic {
            let (low, high) = if low <= high { (low.log10(), high.log10()) } else { (0.0, 1.0) };
            let (low, high) = ((low + 1e-9).floor(), (high - 1e-9).ceil());
            return Scale { low, high: high.max(low + 1.0), step: 1.0, decimals: 0, is_logarithmic };
        }
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let span = (high - low).max(1e-6);
        let (mut step, mut decimals) = (1e-7, 7);
        // 1, 2, 5, 10, 20, 50 …: terminates, since a span is finite.
        'found: for power in -7..300 {
            for factor in [1.0, 2.0, 5.0] {
                (step, decimals) = (factor * 10f64.powi(power), usize::try_from(-power).unwrap_or(0));
                if span / step <= 6.0 {
                    break 'found;
                }
            }
        }
        Scale { low, high: low + span, step, decimals, is_logarithmic }
    }

    /// The same, extended to whole ticks.
    pub fn rounded(self) -> Scale {
        let low = (self.low / self.step).floor() * self.step;
        Scale { low, high: ((self.high / self.step).ceil() * self.step).max(low + self.step), ..self }
    }

    /// How far along the axis a value is, from 0 to 1.
    pub fn part(&self, value: f64) -> f64 {
        let value = if self.is_logarithmic { value.log10() } else { value };
        (value - self.low) / (self.high - self.low)
    }

    /// The values of the ticks.
    pub fn ticks(&self) -> Vec<f64> {
        if self.is_logarithmic {
            let (low, high) = (self.low as i32, self.high as i32);
            let digits = |power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power));
            return (low..high).flat_map(digits).chain([10f64.powi(high)]).collect();
        }
        // A little tolerance, since multiples of a step may be inexact.
        let first = (self.low / self.step - 1e-6).ceil();
        let count = ((self.high / self.step + 1e-6).floor() - first) as u32;
        (0..=count).map(|i| (first + f64::from(i)) * self.step).collect()
    }

    /// The label of a tick; on a logarithmic axis in thousands, millions or billions.
    pub fn shown(&self, tick: f64) -> String {
        let (unit, letter) = match tick {
            _ if !self.is_logarithmic => (1.0, ""),
            v if v >= 1e9 => (1e9, " G"),
            v if v >= 1e6 => (1e6, " M"),
            v if v >= 1e3 => (1e3, " k"),
            _ => (1.0, ""),
        };
        format!("{:.*}{letter}", self.decimals, tick / unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_run_between_round_numbers() {
        let scale = Scale::over([0.132, 0.871].into_iter(), false).rounded();
        assert_eq!((scale.shown(scale.low), scale.shown(scale.high)), ("0.0".into(), "1.0".into()));
        assert_eq!(scale.ticks().len(), 6);
        let scale = Scale::over([3.0, 362.0].into_iter(), false);
        assert_eq!((scale.low, scale.high), (3.0, 362.0));
        let labels: Vec<_> = scale.ticks().into_iter().map(|t| scale.shown(t)).collect();
        assert_eq!(labels, ["100", "200", "300"]);
        let flat = Scale::over([0.5, 0.5].into_iter(), false).rounded();
        assert!(flat.high > flat.low && flat.part(0.5).is_finite());
        assert!(Scale::over(std::iter::empty(), false).high > 0.0);
    }

    #[test]
    fn logarithmic_axes_run_between_powers_of_ten() {
        for (values, ends) in [
            (&[1e6, 1e8][..], (6.0, 8.0)),
            (&[150.0, 150.0], (2.0, 3.0)),
            (&[1000.0], (3.0, 4.0)),
            (&[], (0.0, 1.0)),
        ] {
            let scale = Scale::over(values.iter().copied(), true).rounded();
            assert_eq!((scale.low, scale.high), ends, "{values:?}");
        }
        let scale = Scale::over([500.0, 2e3].into_iter(), true);
        let labels: Vec<_> = scale.ticks().into_iter().map(|t| scale.shown(t)).collect();
        assert_eq!(labels, ["100", "200", "500", "1 k", "2 k", "5 k", "10 k"]);
        assert_eq!([1e6, 1e9].map(|tick| scale.shown(tick)), ["1 M", "1 G"]);
        assert_eq!(scale.part(1e3), 0.5);
    }
}

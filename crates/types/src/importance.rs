//! The importance of a page: as how many ordinary pages it counts.

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A number from 0 to 1,000, in thousandths: sums of it are exact in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Importance(u32);

impl Importance {
    /// That of an ordinary page.
    pub const ONE: Importance = Importance(1_000);
    /// The greatest.
    const MAX: f64 = 1_000.0;

    /// From a number of at most three decimals.
    pub fn new(value: f64) -> Option<Importance> {
        let thousandths = (value * 1_000.0).round();
        let is_one = (0.0..=Importance::MAX).contains(&value) && thousandths / 1_000.0 == value;
        is_one.then_some(Importance(thousandths as u32))
    }

    /// The number in thousandths, for exact sums.
    pub fn thousandths(self) -> u64 {
        self.0.into()
    }

    /// The number.
    pub fn value(self) -> f64 {
        f64::from(self.0) / 1_000.0
    }
}

impl Default for Importance {
    fn default() -> Importance {
        Importance::ONE
    }
}

impl fmt::Display for Importance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value().fmt(f)
    }
}

impl Serialize for Importance {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 % 1_000 {
            0 => serializer.serialize_u32(self.0 / 1_000),
            _ => serializer.serialize_f64(self.value()),
        }
    }
}

impl<'de> Deserialize<'de> for Importance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Importance, D::Error> {
        struct Written;

        impl Visitor<'_> for Written {
            type Value = Importance;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an importance: a number from 0 to 1000 with at most three decimals, such as 5")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Importance, E> {
                let wrong = || E::invalid_value(Unexpected::Signed(number), &self);
                Importance::new(number as f64).ok_or_else(wrong)
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Importance, E> {
                let wrong = || E::invalid_value(Unexpected::Unsigned(number), &self);
                Importance::new(number as f64).ok_or_else(wrong)
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Importance, E> {
                let wrong = || E::invalid_value(Unexpected::Float(number), &self);
                Importance::new(number).ok_or_else(wrong)
            }
        }

        deserializer.deserialize_any(Written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::IntoDeserializer;
    use serde::de::value::Error;

    fn read<'de>(written: impl IntoDeserializer<'de, Error>) -> Result<Importance, String> {
        Importance::deserialize(written.into_deserializer()).map_err(|e| e.to_string())
    }

    #[test]
    fn numbers_of_up_to_three_decimals_are_read() {
        for thousandths in [0u32, 1, 100, 333, 1_000, 1_001, 5_000, 999_999, 1_000_000] {
            let value = f64::from(thousandths) / 1_000.0;
            let importance = Importance::new(value).unwrap();
            assert_eq!(importance.0, thousandths);
            assert_eq!((importance.value(), read(value)), (value, Ok(importance)));
        }
        assert_eq!((read(5i64), read(1_000u64)), (Ok(Importance(5_000)), Ok(Importance(1_000_000))));
    }

    #[test]
    fn anything_else_is_refused() {
        for bad in
            [-1.0, -0.001, 1e12, 1_000.001, 0.0005, 1.0 / 3.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]
        {
            assert_eq!(Importance::new(bad), None, "{bad}");
            let why = read(bad).unwrap_err();
            assert!(why.contains("a number from 0 to 1000 with at most three decimals"), "{bad}: {why}");
        }
        for why in [read("5"), read(true), read(-3i64), read(1_000_000_000_000u64)].map(Result::unwrap_err) {
            assert!(why.contains("a number from 0 to 1000 with at most three decimals"), "{why}");
        }
    }
}

//! Durations and sizes with units: "1 s", "2 MiB". How they are configured, and told to people.
//!
//! A configured value is told as one would write it (`Display`), a measured one is rounded
//! (`rounded`). Machine output has plain numbers instead.
//!
//! A bare number is refused: a delay of `1` could be a second or a millisecond, and the wrong guess
//! would harm a site.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::fmt;
use std::time::Duration;

/// A duration with its unit: `ms`, `s`, `min`, `h` or `d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

/// A number of bytes with its unit: `B`, `KiB`, `MiB`, `GiB` (and `kB`, `MB`, `GB`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

/// A unit, and how many nanoseconds or bytes it has.
type Unit = (&'static str, u64);

const SPANS: [Unit; 5] = [
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];
const SIZES: [Unit; 7] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
];

/// Splits "1.5 s" into number and unit.
pub fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    (number.is_finite() && number >= 0.0).then(|| (number, text[end..].trim()))
}

fn scaled(text: &str, units: &[Unit], what: &str, example: &str) -> Result<f64, String> {
    let names = || units.iter().map(|u| u.0).collect::<Vec<_>>().join(", ");
    let wrong =
        || format!("{text:?} is not a {what}; write a number and a unit ({}), such as {example:?}", names());
    let (number, unit) = number_and_unit(text).ok_or_else(wrong)?;
    let (_, factor) = units.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
    Ok(number * *factor as f64)
}

/// The value in the largest unit without a fraction, or else in the smallest unit.
fn exact(value: u128, units: &[Unit]) -> String {
    let whole = |unit: &&Unit| value >= unit.1.into() && value.is_multiple_of(unit.1.into());
    match units.iter().rev().find(whole) {
        Some((name, factor)) => format!("{} {name}", value / u128::from(*factor)),
        None => format!("{} {}", value as f64 / units[0].1 as f64, units[0].0),
    }
}

/// The value in the largest unit of which there is one, with at most one decimal, rounded by a function. What rounds up
/// to one of the next unit is told in that: "1 MiB", never "1024 KiB".
fn rounded(value: f64, units: &[Unit], round: fn(f64) -> f64) -> String {
    let tenths = |factor: u64| round(value * 10.0 / factor as f64) / 10.0;
    let is_below = |pair: &&[Unit]| tenths(pair[0].1) * (pair[0].1 as f64) < pair[1].1 as f64;
    let (name, factor) = units.windows(2).find(is_below).map_or(units[units.len() - 1], |pair| pair[0]);
    format!("{} {name}", tenths(factor))
}

/// The largest unit of which there is one.
fn unit_of(Size(bytes): Size) -> Unit {
    SIZES[..4].iter().rev().find(|(_, factor)| *factor <= bytes).copied().unwrap_or(SIZES[0])
}

impl Span {
    /// Parses "1 s".
    pub fn parse(text: &str) -> Result<Span, String> {
        let seconds = scaled(text, &SPANS, "duration", "1 s")? / 1e9;
        Duration::try_from_secs_f64(seconds).map(Span).map_err(|_| format!("duration {text:?} is too long"))
    }

    /// A span of whole milliseconds.
    pub const fn millis(ms: u64) -> Span {
        Span(Duration::from_millis(ms))
    }

    /// A span of seconds that were measured; 0 if they are negative, and the longest if there are too many.
    pub fn seconds(seconds: f64) -> Span {
        Span(Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX))
    }

    /// For a measured duration: "2.4 s".
    pub fn rounded(self) -> String {
        rounded(self.0.as_nanos() as f64, &SPANS, f64::round)
    }

    /// The same for a duration above a limit, or to wait: never less than it is.
    pub fn rounded_up(self) -> String {
        rounded(self.0.as_nanos() as f64, &SPANS, f64::ceil)
    }
}

impl Size {
    /// Parses "2 MiB".
    pub fn parse(text: &str) -> Result<Size, String> {
        let bytes = scaled(text, &SIZES, "size", "2 MiB")?;
        if bytes > 1e18 { Err(format!("size {text:?} is too large")) } else { Ok(Size(bytes as u64)) }
    }

    /// For a measured size: "68.9 GiB".
    pub fn rounded(self) -> String {
        rounded(self.0 as f64, &SIZES[..4], f64::round)
    }

    /// The same for a size above a limit: never less than it is.
    pub fn rounded_up(self) -> String {
        rounded(self.0 as f64, &SIZES[..4], f64::ceil)
    }

    /// A size below a limit, in the unit in which [`Size::rounded`] tells the limit: never more than it is.
    pub fn below(self, limit: Size) -> String {
        let (name, factor) = unit_of(limit);
        let tenths = (self.0 as f64 * 10.0 / factor as f64).floor();
        match tenths == 0.0 && self.0 > 0 {
            true => format!("less than 0.1 {name}"),
            false => format!("{} {name}", tenths / 10.0),
        }
    }

    /// A size above a limit, in the same unit: never less than it is.
    pub fn above(self, limit: Size) -> String {
        let (name, factor) = unit_of(limit);
        format!("{} {name}", (self.0 as f64 * 10.0 / factor as f64).ceil() / 10.0)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&exact(self.0.as_nanos(), &SPANS))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&exact(self.0.into(), &SIZES[..4]))
    }
}

/// Bytes of a number with its unit, at most.
const MAX_WRITTEN: usize = 64;

/// A configured value before its unit is parsed.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Whole(u64),
    Fraction(f64),
}

/// Reads a value from its text, or from a bare number.
///
/// # Errors
/// Those of `parse`.
pub fn read_written<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<T, D::Error> {
    let text = match Written::deserialize(deserializer)? {
        Written::Text(text) => text,
        Written::Whole(number) => number.to_string(),
        Written::Fraction(number) => number.to_string(),
    };
    if text.len() > MAX_WRITTEN {
        let why = format!("a value of {} bytes; write a number with its unit, such as \"5 min\"", text.len());
        return Err(D::Error::custom(why));
    }
    parse(&text).map_err(D::Error::custom)
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        read_written(d, Span::parse)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        read_written(d, Size::parse)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measured_size_has_at_most_one_decimal() {
        let of = |bytes| Size(bytes).rounded();
        assert_eq!([of(0), of(1), of(1023), of(1024)], ["0 B", "1 B", "1023 B", "1 KiB"]);
        assert_eq!([of(72_241_960 << 10), of(900 << 30)], ["68.9 GiB", "900 GiB"]);
        assert_eq!([of((1 << 20) - 1), of(u64::MAX)], ["1 MiB", "17179869184 GiB"]);
    }

    #[test]
    fn beside_a_limit_a_value_is_rounded_away_from_it() {
        let limit = 1 << 30;
        let below = [limit - 1, limit - (1 << 20), 1 << 19, 0].map(|bytes| Size(bytes).below(Size(limit)));
        assert_eq!(below, ["0.9 GiB", "0.9 GiB", "less than 0.1 GiB", "0 GiB"], "one unit for both");
        let above = [limit, limit + 1, limit + (limit >> 4)].map(|bytes| Size(bytes).above(Size(limit)));
        assert_eq!(above, ["1 GiB", "1.1 GiB", "1.1 GiB"]);
        assert_eq!(Size(3 << 30).above(Size(1_000 << 20)), "3072 MiB");
        assert_eq!(Size((1 << 20) - 1).rounded_up(), "1 MiB");
        let waits = [60_000, 60_001, 62_000, 300].map(|ms| Span::millis(ms).rounded_up());
        assert_eq!(waits, ["1 min", "1.1 min", "1.1 min", "300 ms"]);
    }

    #[test]
    fn a_measured_duration_has_at_most_one_decimal() {
        let of = |time| Span(time).rounded();
        let (micros, millis) = (Duration::from_micros, Duration::from_millis);
        assert_eq!([of(micros(0)), of(micros(1)), of(micros(450))], ["0 ms", "0 ms", "0.5 ms"]);
        assert_eq!([of(millis(999)), of(millis(1000)), of(millis(2_437))], ["999 ms", "1 s", "2.4 s"]);
        assert_eq!([of(millis(59_990)), of(millis(90_000))], ["1 min", "1.5 min"]);
        assert_eq!([of(millis(86_399_000)), of(millis(864_000_000))], ["1 d", "10 d"]);
        let seconds = |seconds| Span::seconds(seconds).0;
        assert_eq!([0.5, -1.0, f64::MAX].map(seconds), [millis(500), Duration::ZERO, Duration::MAX]);
    }

    #[test]
    fn a_configured_value_is_told_as_it_is_written() {
        for text in ["0 ms", "0.5 ms", "1001 ms", "1500 ms", "30 s", "90 min", "1 d", "36500 d"] {
            assert_eq!(Span::parse(text).unwrap().to_string(), text);
        }
        for text in ["0 B", "1 B", "1023 B", "1 KiB", "1025 B", "1500 MiB", "900 GiB", "1073741825 B"] {
            assert_eq!(Size::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Size(u64::MAX).to_string(), "18446744073709551615 B");
    }

    #[test]
    fn units_are_read_and_written_back() {
        for (text, ms) in
            [("1 s", 1000), ("250ms", 250), ("1.5 min", 90_000), ("2 h", 7_200_000), ("1 d", 86_400_000)]
        {
            let span = Span::parse(text).unwrap();
            assert_eq!(span.0, Duration::from_millis(ms), "{text}");
            assert_eq!(Span::parse(&span.to_string()).unwrap(), span, "{span}");
        }
        for (text, bytes) in [("2 MiB", 2 << 20), ("10 B", 10), ("1 GB", 1_000_000_000)] {
            let size = Size::parse(text).unwrap();
            assert_eq!(size.0, bytes, "{text}");
            assert_eq!(Size::parse(&size.to_string()).unwrap(), size, "{size}");
        }
    }

    #[test]
    fn what_could_mean_two_things_is_refused() {
        for text in ["1", "", "s", "-1 s", "1 parsec", "NaN s", "1e9 s", "99999999999999999999999 d"] {
            assert!(Span::parse(text).is_err(), "{text}");
        }
        for text in ["2", "2 mib", "-1 B", "99999999999 GiB"] {
            assert!(Size::parse(text).is_err(), "{text}");
        }
    }
}

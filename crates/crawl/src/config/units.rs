//! Durations, sizes and shares with units: "1 s", "2 MiB", "5%".
//!
//! A bare number is refused for durations and sizes: a delay of `1` could be a second or a
//! millisecond, and the wrong guess would harm a site.

use recrawl_scheduler::Parts;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::fmt;
use std::time::Duration;

/// A duration with its unit: `ms`, `s`, `min`, `h` or `d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

/// A number of bytes with its unit: `B`, `KiB`, `MiB`, `GiB` (and `kB`, `MB`, `GB`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

/// A number of pages, or a share of the known ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// A fixed number.
    Pages(u64),
    /// A share, 0 to 1.
    Share(f64),
}

/// A part of a whole, 0 to 1, written `0.05` or `"5%"`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Share(pub f64);

/// The share of k for URLs never fetched: fixed, or moved to where places bring more (`"auto"`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DiscoveryShare {
    /// Always this.
    Fixed(Share),
    /// Moved from cycle to cycle; needs `[focus]`.
    Auto,
}

impl DiscoveryShare {
    /// Where `"auto"` begins.
    const START: f64 = 0.5;

    /// Parses a share or `auto`.
    pub fn parse(text: &str) -> Result<DiscoveryShare, String> {
        match text.trim() {
            "auto" => Ok(DiscoveryShare::Auto),
            text => match Share::parse(text) {
                Ok(share) => Ok(DiscoveryShare::Fixed(share)),
                Err(wrong) => Err(format!("{wrong}, or \"auto\"")),
            },
        }
    }

    /// The least share that there may be: none if it moves, since it then takes what the others leave.
    pub fn least(self) -> f64 {
        match self {
            DiscoveryShare::Fixed(share) => share.0,
            DiscoveryShare::Auto => 0.0,
        }
    }

    /// The share of the first cycle, beside others.
    pub fn start(self, others: f64) -> f64 {
        match self {
            DiscoveryShare::Fixed(share) => share.0,
            DiscoveryShare::Auto => DiscoveryShare::START.min(1.0 - others),
        }
    }
}

impl fmt::Display for DiscoveryShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DiscoveryShare::Fixed(Share(share)) => share.fmt(f),
            DiscoveryShare::Auto => f.write_str("auto"),
        }
    }
}

/// How the revisit rounds of a cycle divide k, in the configuration: a number, or a list of shares.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounds(pub Parts);

/// Whether pages are rendered: `false`, `true` or `"auto"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Render {
    /// Read as the server sent them.
    #[default]
    Never,
    /// Always rendered.
    Always,
    /// Rendered if a sample shows that scripts bring the text.
    Auto,
}

impl Serialize for Render {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Render::Never => serializer.serialize_bool(false),
            Render::Always => serializer.serialize_bool(true),
            Render::Auto => serializer.serialize_str("auto"),
        }
    }
}

impl<'de> Deserialize<'de> for Render {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Render, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Bool(bool),
            Text(String),
        }
        const WRITE: &str = "write true, false or \"auto\"";
        match Written::deserialize(deserializer).map_err(|_| D::Error::custom(WRITE))? {
            Written::Bool(false) => Ok(Render::Never),
            Written::Bool(true) => Ok(Render::Always),
            Written::Text(text) if text == "auto" => Ok(Render::Auto),
            Written::Text(text) => Err(D::Error::custom(format!("{text:?}: {WRITE}"))),
        }
    }
}

const SPANS: [(&str, f64); 5] = [("ms", 0.001), ("s", 1.0), ("min", 60.0), ("h", 3600.0), ("d", 86_400.0)];
const SIZES: [(&str, f64); 7] = [
    ("B", 1.0),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
];

/// Splits "1.5 s" into number and unit.
fn quantity(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    (number.is_finite() && number >= 0.0).then(|| (number, text[end..].trim()))
}

fn scaled(text: &str, units: &[(&str, f64)], what: &str, example: &str) -> Result<f64, String> {
    let names = || units.iter().map(|u| u.0).collect::<Vec<_>>().join(", ");
    let wrong =
        || format!("{text:?} is not a {what}; write a number and a unit ({}), such as {example:?}", names());
    let (number, unit) = quantity(text).ok_or_else(wrong)?;
    let (_, factor) = units.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
    Ok(number * factor)
}

impl Span {
    /// Parses "1 s".
    pub fn parse(text: &str) -> Result<Span, String> {
        let seconds = scaled(text, &SPANS, "duration", "1 s")?;
        Duration::try_from_secs_f64(seconds).map(Span).map_err(|_| format!("duration {text:?} is too long"))
    }

    /// A span of whole milliseconds, for defaults.
    pub const fn millis(ms: u64) -> Span {
        Span(Duration::from_millis(ms))
    }
}

impl Size {
    /// Parses "2 MiB".
    pub fn parse(text: &str) -> Result<Size, String> {
        let bytes = scaled(text, &SIZES, "size", "2 MiB")?;
        if bytes > 1e18 { Err(format!("size {text:?} is too large")) } else { Ok(Size(bytes as u64)) }
    }

    /// For readers: in the largest unit that fits, with at most one decimal.
    pub fn rounded(self) -> String {
        let units = SIZES[..4].iter().rev();
        let (unit, factor) = units.copied().find(|unit| self.0 as f64 >= unit.1).unwrap_or(SIZES[0]);
        let number = format!("{:.1}", self.0 as f64 / factor);
        format!("{} {unit}", number.strip_suffix(".0").unwrap_or(&number))
    }
}

impl Share {
    /// Parses "5%".
    pub fn parse(text: &str) -> Result<Share, String> {
        let wrong =
            || format!("{text:?} is not a share; write a number from 0 to 1, or a percentage such as \"5%\"");
        let (number, unit) = quantity(text).ok_or_else(wrong)?;
        let share = match unit {
            "" => number,
            "%" => number / 100.0,
            _ => return Err(wrong()),
        };
        if share <= 1.0 { Ok(Share(share)) } else { Err(wrong()) }
    }
}

impl Amount {
    /// Parses "5%" or "200".
    pub fn parse(text: &str) -> Result<Amount, String> {
        if text.trim_end().ends_with('%') {
            return Share::parse(text).map(|s| Amount::Share(s.0));
        }
        let pages = text.trim().parse();
        pages.map(Amount::Pages).map_err(|_| {
            format!("{text:?} is not a page count; write a number such as 200, or a share such as \"5%\"")
        })
    }

    /// The number of pages out of `known`.
    pub fn of(self, known: u64) -> u64 {
        match self {
            Amount::Pages(pages) => pages,
            Amount::Share(share) => (share * known as f64).floor() as u64,
        }
    }
}

/// The value in the largest unit without a fraction, or else in the base unit.
fn spelled(value: f64, units: &[(&str, f64)]) -> String {
    let whole = |f: &&(&str, f64)| value >= f.1 && (value / f.1).fract().abs() < 1e-9;
    let (name, factor) = units.iter().rev().find(whole).unwrap_or(&units[0]);
    format!("{} {name}", value / factor)
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&spelled(self.0.as_secs_f64(), &SPANS))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&spelled(self.0 as f64, &SIZES[..4]))
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Pages(pages) => pages.fmt(f),
            Amount::Share(share) => write!(f, "{}%", share * 100.0),
        }
    }
}

/// A TOML value before its unit is parsed.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Whole(u64),
    Fraction(f64),
}

impl Written {
    fn text(self) -> String {
        match self {
            Written::Text(text) => text,
            Written::Whole(number) => number.to_string(),
            Written::Fraction(number) => number.to_string(),
        }
    }
}

macro_rules! written {
    ($type:ty) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                <$type>::parse(&Written::deserialize(d)?.text()).map_err(D::Error::custom)
            }
        }
    };
}
written!(Span);
written!(Size);
written!(Amount);
written!(Share);
written!(DiscoveryShare);

impl<'de> Deserialize<'de> for Rounds {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Count(u32),
            List(Vec<Share>),
        }
        let parts = match Either::deserialize(d) {
            Ok(Either::Count(count)) => Parts::Equal(count),
            Ok(Either::List(shares)) => Parts::Shares(shares.into_iter().map(|share| share.0).collect()),
            Err(_) => return Err(D::Error::custom("write a number such as 3, or shares such as [0.5, 0.5]")),
        };
        parts.check().map(Rounds).map_err(D::Error::custom)
    }
}

impl Serialize for Rounds {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Parts::Equal(count) => s.serialize_u32(*count),
            Parts::Shares(shares) => shares.serialize(s),
        }
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

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Amount::Pages(pages) => s.serialize_u64(*pages),
            Amount::Share(_) => s.collect_str(self),
        }
    }
}

impl Serialize for DiscoveryShare {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            DiscoveryShare::Fixed(share) => share.serialize(s),
            DiscoveryShare::Auto => s.serialize_str("auto"),
        }
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_f64(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_for_readers_is_short() {
        let of = |bytes| Size(bytes).rounded();
        assert_eq!([of(0), of(1023), of(1 << 20)], ["0 B", "1023 B", "1 MiB"]);
        assert_eq!([of(72_241_960 << 10), of(900 << 30)], ["68.9 GiB", "900 GiB"]);
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
        assert_eq!(Span::millis(0).to_string(), "0 ms");
        for (text, bytes) in [("2 MiB", 2 << 20), ("10 B", 10), ("1 GB", 1_000_000_000)] {
            let size = Size::parse(text).unwrap();
            assert_eq!(size.0, bytes, "{text}");
            assert_eq!(Size::parse(&size.to_string()).unwrap(), size, "{size}");
        }
        assert_eq!(Amount::parse("5%").unwrap().of(1000), 50);
        assert_eq!(Amount::parse("200").unwrap().of(1000), 200);
        assert_eq!(Share::parse("0.05").unwrap(), Share::parse("5%").unwrap());
        for text in ["0.05", "auto"] {
            assert_eq!(DiscoveryShare::parse(text).unwrap().to_string(), text);
        }
        assert!(DiscoveryShare::parse("Auto").unwrap_err().contains("or \"auto\""));
    }

    #[test]
    fn rounds_are_a_number_or_shares() {
        let read = |text: &str| {
            let table: toml::Table = format!("rounds = {text}").parse().unwrap();
            table["rounds"].clone().try_into::<Rounds>().map_err(|e| e.to_string())
        };
        assert_eq!(read("4").unwrap().0, Parts::Equal(4));
        let shares = read("[0.5, \"25%\", 0.25]").unwrap();
        assert_eq!(shares.0, Parts::Shares(vec![0.5, 0.25, 0.25]));
        assert_eq!(toml::Value::try_from(shares).unwrap().to_string(), "[0.5, 0.25, 0.25]");
        for (text, says) in
            [("0", "one round at least"), ("[]", "one round at least"), ("\"many\"", "write a number")]
        {
            let error = read(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
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
        for text in ["101%", "1.1", "-5%", "five"] {
            assert!(Share::parse(text).is_err(), "{text}");
        }
        for text in ["5.5", "-1", "150%", "x"] {
            assert!(Amount::parse(text).is_err(), "{text}");
        }
    }
}

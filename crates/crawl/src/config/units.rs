//! Values of the configuration that are more than a number: durations, sizes, shares, amounts.

pub use recrawl_types::{Size, Span};

use recrawl_scheduler::Parts;
use recrawl_types::quantity::{number_and_unit, read_written};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::fmt;

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
pub struct Proportion(pub f64);

/// The share of k for URLs never fetched: fixed, or moved to where places bring more (`"auto"`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DiscoveryShare {
    /// Always this.
    Fixed(Proportion),
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
            text => match Proportion::parse(text) {
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
            DiscoveryShare::Fixed(Proportion(share)) => share.fmt(f),
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
        enum WrittenRender {
            Bool(bool),
            Text(String),
        }
        const WRITE: &str = "write true, false or \"auto\"";
        match WrittenRender::deserialize(deserializer).map_err(|_| D::Error::custom(WRITE))? {
            WrittenRender::Bool(false) => Ok(Render::Never),
            WrittenRender::Bool(true) => Ok(Render::Always),
            WrittenRender::Text(text) if text == "auto" => Ok(Render::Auto),
            WrittenRender::Text(text) => Err(D::Error::custom(format!("{text:?}: {WRITE}"))),
        }
    }
}

impl Proportion {
    /// Parses "5%".
    pub fn parse(text: &str) -> Result<Proportion, String> {
        let wrong =
            || format!("{text:?} is not a share; write a number from 0 to 1, or a percentage such as \"5%\"");
        let (number, unit) = number_and_unit(text).ok_or_else(wrong)?;
        let share = match unit {
            "" => number,
            "%" => number / 100.0,
            _ => return Err(wrong()),
        };
        if share <= 1.0 { Ok(Proportion(share)) } else { Err(wrong()) }
    }
}

impl Amount {
    /// Parses "5%" or "200".
    pub fn parse(text: &str) -> Result<Amount, String> {
        if text.trim_end().ends_with('%') {
            return Proportion::parse(text).map(|s| Amount::Share(s.0));
        }
        let pages = text.trim().parse();
        pages.map(Amount::Pages).map_err(|_| {
            format!("{text:?} is not a page count; write a number such as 200, or a share such as \"5%\"")
        })
    }

    /// The number of pages out of `known`.
    pub fn out_of(self, known: u64) -> u64 {
        match self {
            Amount::Pages(pages) => pages,
            Amount::Share(share) => (share * known as f64).floor() as u64,
        }
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

macro_rules! written {
    ($type:ty) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                read_written(d, <$type>::parse)
            }
        }
    };
}
written!(Amount);
written!(Proportion);
written!(DiscoveryShare);

impl<'de> Deserialize<'de> for Rounds {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Count(u32),
            List(Vec<Proportion>),
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

impl Serialize for Proportion {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_f64(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_and_shares_are_read() {
        assert_eq!(Amount::parse("5%").unwrap().out_of(1000), 50);
        assert_eq!(Amount::parse("200").unwrap().out_of(1000), 200);
        assert_eq!(Proportion::parse("0.05").unwrap(), Proportion::parse("5%").unwrap());
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
    fn what_is_neither_share_nor_amount_is_refused() {
        for text in ["101%", "1.1", "-5%", "five"] {
            assert!(Proportion::parse(text).is_err(), "{text}");
        }
        for text in ["5.5", "-1", "150%", "x"] {
            assert!(Amount::parse(text).is_err(), "{text}");
        }
    }
}

//! Numbers as people write them; in JSON, its values.

mod written;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;
use written::written;

/// Numbers of a text that are looked at.
const MAX_NUMBERS: usize = 100;
/// Characters of a number.
const MAX_LENGTH: usize = 40;

/// The numbers of a text, in its order. Of a JSON document they are the numbers among its values, and those in its texts.
pub fn numbers(text: &str) -> Vec<f64> {
    let mut found = Vec::new();
    if text.trim_start().starts_with(['{', '[']) {
        let mut json = serde_json::Deserializer::from_str(text);
        match InJson(&mut found).deserialize(&mut json).and_then(|()| json.end()) {
            // Long texts are cut: what was read stays.
            Err(e) if !e.is_eof() => found.clear(),
            _ => {
                found.truncate(MAX_NUMBERS);
                return found;
            }
        }
    }
    written(text)
}

/// Collects the numbers of a JSON value, in its order. Names are none.
struct InJson<'v>(&'v mut Vec<f64>);

impl<'de> DeserializeSeed<'de> for InJson<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for InJson<'_> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("JSON")
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<(), E> {
        self.0.push(number as f64);
        Ok(())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<(), E> {
        self.0.push(number as f64);
        Ok(())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<(), E> {
        self.0.push(number);
        Ok(())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<(), E> {
        if self.0.len() < MAX_NUMBERS {
            self.0.extend(written(text));
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<(), A::Error> {
        while values.next_element_seed(InJson(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while fields.next_key::<IgnoredAny>()?.is_some() {
            fields.next_value_seed(InJson(self.0))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_are_written() {
        for (text, expected) in [
            ("EUR 19.90", &[19.9][..]),
            ("19,90 €", &[19.9]),
            ("$1,299.00", &[1299.0]),
            ("1.299,50 €", &[1299.5]),
            ("1.299 €", &[1299.0]),
            ("1.085%, 1,085 % and 1.085 percent", &[1.085, 1.085, 1085.0]),
            ("0.299 and 0,5", &[0.299, 0.5]),
            ("1 299 CHF", &[1299.0]),
            ("1\u{202f}299,00 €", &[1299.0]),
            ("1'234'567.8", &[1_234_567.8]),
            ("12,345,678", &[12_345_678.0]),
            ("-3 °C, 4-5, \u{2212}2", &[-3.0, 4.0, 5.0, -2.0]),
            ("in 2026 12 items.", &[2026.0, 12.0]),
            ("version 1.2.3.", &[12.3]),
            ("none", &[]),
            ("7.", &[7.0]),
            ("١٬٢٩٩٫٥٠ ر.س", &[1299.5]),
            ("۱۲۳ تومان", &[123.0]),
            ("１，２９９円", &[1299.0]),
            ("₹४२", &[42.0]),
            ("$.99, ,89 €", &[0.99, 0.89]),
            ("-$5.00 and \u{2212}€3,50", &[-5.0, -3.5]),
            ("no.5, a-$5, 1).5", &[5.0, 5.0, 1.0, 5.0]),
            (
                r#"{"15m": 93000, "9": null, "rate": 1.085, "small": 1e-7, "price": "1.299,00 €", "is": true}"#,
                &[93000.0, 1.085, 1e-7, 1299.0],
            ),
            ("[1.5, [2]]", &[1.5, 2.0]),
            (r#"{"15m": 93000, "more": "cut he"#, &[93000.0]),
            (r#"{"15m" is no JSON"#, &[15.0]),
            ("[1] see 3", &[1.0, 3.0]),
            ("1.299.99, 1,299,00 € and ₹1,29,999,50", &[1299.99, 1299.0, 129_999.5]),
            ("1.234.567 and 12,34,567", &[1_234_567.0, 1_234_567.0]),
            ("\u{2013}5 and 4\u{2013}5", &[-5.0, 4.0, 5.0]),
            ("\u{2212} 5 °C\n\u{2212}\u{a0}6\n7 \u{2212} 8", &[-5.0, -6.0, 7.0, 8.0]),
            ("3.500 KWD, BHD 12.750, 1.250 JODS", &[3.5, 12.75, 1250.0]),
            ("19€99, 5$00.", &[19.99, 5.0]),
            ("10€20€, 5€100 and $5$10", &[10.0, 20.0, 5.0, 100.0, 5.0, 10.0]),
            ("1\u{b7}299,50 and 1\u{b7}5", &[1299.5, 1.0, 5.0]),
            ("\u{2066}1,299\u{2069}.50, 1\u{200b}299, \u{200e}-5", &[1299.5, 1299.0, -5.0]),
            ("၁၂၀၀; ៥០០០; ௧௨௩; ૧૨૩; ༡༢; 𝟏𝟐𝟑", &[1200.0, 5000.0, 123.0, 123.0, 12.0, 123.0]),
            ("2万円, 3億5000万, 1.5億", &[20_000.0, 350_000_000.0, 150_000_000.0]),
            ("1万1万", &[10_000.0, 10_000.0]),
            ("1.5 Mio. €, 1,5 млн, 2 Mrd", &[1_500_000.0, 1_500_000.0, 2e9]),
            ("£12.5k, $1.5B, €3m and $5 kg", &[12_500.0, 1.5e9, 3e6, 5.0]),
            ("1.2k stars, 5k but 4K, 5 k and 5kg", &[1200.0, 5000.0, 4.0, 5.0, 5.0]),
            ("$19\u{2079}\u{2079} and $1,299\u{2075}\u{2070}, 10\u{2076} m\u{b2}", &[19.99, 1299.5, 10.0]),
            ("https://a.test/5?n=6 2026-11-29T10:00:00Z\nShoe for 7", &[7.0]),
            (r#"{"url": "https://a.test/5", "price": "8"}"#, &[8.0]),
        ] {
            assert_eq!(numbers(text), expected, "{text}");
        }
        assert!(numbers(&"9".repeat(50)).is_empty());
        assert_eq!(numbers(&"1 a ".repeat(500)).len(), MAX_NUMBERS);
    }
}

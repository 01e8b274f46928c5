//! Numbers as people write them: 1,299.00, 1.299,00, 1 299, ١٬٢٩٩, .99 and -3; in JSON, its values.

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Numbers of a text that are looked at.
const MAX_NUMBERS: usize = 100;
/// Characters of a number.
const MAX_LENGTH: usize = 40;
/// The digits 0 beside the one of ASCII: Arabic, Persian, Devanagari, Bengali, Thai, wide. The others follow each.
const ZEROS: [u32; 6] = [0x0660, 0x06f0, 0x0966, 0x09e6, 0x0e50, 0xff10];

/// The numbers of a text, in its order.
///
/// The last of two kinds of separators begins the fraction. One separator before exactly three digits groups thousands,
/// unless the number begins with 0 or is per cent; so do several of one kind. Of a JSON document they are the numbers among its values, and
/// those in its texts.
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

fn written(text: &str) -> Vec<f64> {
    let characters: Vec<char> = text.chars().map(in_ascii).collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < characters.len() && found.len() < MAX_NUMBERS {
        if !characters[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let before = CharactersBefore(&characters[..at]);
        let (before, is_fraction) = before.without_point();
        let end = end_of(&characters, at);
        let number = match is_fraction {
            true => fraction(&characters[at..end]),
            false => read(&characters[at..end], is_per_cent(&characters[end..])),
        };
        found.extend(number.map(|number| if before.is_minus() { -number } else { number }));
        at = end;
    }
    found
}

/// The characters before a number.
struct CharactersBefore<'c>(&'c [char]);

impl<'c> CharactersBefore<'c> {
    /// Without the point or comma of a number that has no digit before it, as in .99; and whether there is one.
    fn without_point(self) -> (CharactersBefore<'c>, bool) {
        match self.0 {
            [rest @ .., '.' | ',']
                if !rest.last().is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | ')')) =>
            {
                (CharactersBefore(rest), true)
            }
            _ => (self, false),
        }
    }

    /// Is it a minus, also before the sign of a currency? One behind a letter or digit is a hyphen.
    fn is_minus(&self) -> bool {
        let is_currency = |c: &char| matches!(c, '$' | '£' | '¥' | '\u{20a0}'..='\u{20cf}');
        let before = match self.0 {
            [rest @ .., c] if is_currency(c) => rest,
            before => before,
        };
        matches!(before, [rest @ .., '-' | '\u{2212}'] if !rest.last().is_some_and(|c| c.is_alphanumeric()))
    }
}

/// Digits behind a point.
fn fraction(written: &[char]) -> Option<f64> {
    let digits: String = written.iter().collect();
    let is_plain = written.len() <= MAX_LENGTH && written.iter().all(char::is_ascii_digit);
    is_plain.then(|| format!("0.{digits}").parse().ok()).flatten()
}

/// A digit or separator of another script as ASCII has it.
fn in_ascii(c: char) -> char {
    match c {
        '\u{066b}' | '\u{ff0e}' => '.',
        '\u{066c}' | '\u{ff0c}' => ',',
        _ if c.is_ascii() => c,
        _ => {
            let digits = ZEROS.iter().filter_map(|zero| u32::from(c).checked_sub(*zero));
            digits.min().and_then(|digit| char::from_digit(digit, 10)).unwrap_or(c)
        }
    }
}

/// Where a number ends: separators belong to it if a digit follows, and spaces if three do.
fn end_of(characters: &[char], begin: usize) -> usize {
    let is_digit = |at: usize| characters.get(at).is_some_and(char::is_ascii_digit);
    let mut at = begin;
    loop {
        while is_digit(at) {
            at += 1;
        }
        let follows = match characters.get(at) {
            Some('.' | ',' | '\'' | '\u{2019}') => is_digit(at + 1),
            Some(' ' | '\u{a0}' | '\u{202f}' | '\u{2009}') => {
                at - begin <= 15 && (1..=3).all(|next| is_digit(at + next)) && !is_digit(at + 4)
            }
            _ => false,
        };
        if !follows {
            return at;
        }
        at += 1;
    }
}

/// Does a number's sign of per cent follow?
fn is_per_cent(behind: &[char]) -> bool {
    matches!(behind, ['%' | '\u{66a}', ..] | [' ' | '\u{a0}' | '\u{202f}', '%' | '\u{66a}', ..])
}

/// A number. Thousands of per cent are rare, and three places of them are not.
fn read(written: &[char], is_per_cent: bool) -> Option<f64> {
    if written.len() > MAX_LENGTH {
        return None;
    }
    let marks: Vec<(usize, char)> =
        written.iter().copied().enumerate().filter(|(_, c)| matches!(c, '.' | ',')).collect();
    let fraction = marks.last().copied().filter(|(at, mark)| {
        let others = marks.iter().filter(|(_, other)| other != mark).count();
        let same = marks.len() - others;
        let digits = written.len() - at - 1;
        same == 1 && (others > 0 || digits != 3 || written[0] == '0' || is_per_cent)
    });
    let split = fraction.map_or(written.len(), |(at, _)| at);
    let digits = |part: &[char]| part.iter().filter(|c| c.is_ascii_digit()).collect::<String>();
    format!("{}.{}", digits(&written[..split]), digits(&written[split..])).parse().ok()
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
            ("version 1.2.3.", &[123.0]),
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
        ] {
            assert_eq!(numbers(text), expected, "{text}");
        }
        assert!(numbers(&"9".repeat(50)).is_empty());
        assert_eq!(numbers(&"1 a ".repeat(500)).len(), MAX_NUMBERS);
    }
}

//! Numbers as people write them: 1,299.00, 1.299,00, 1 299, ١٬٢٩٩ and -3.

/// Numbers of a text that are looked at.
const MAX_NUMBERS: usize = 100;
/// Characters of a number.
const MAX_LENGTH: usize = 40;
/// The digits 0 beside the one of ASCII: Arabic, Persian, Devanagari, Bengali, Thai, wide. The others follow each.
const ZEROS: [u32; 6] = [0x0660, 0x06f0, 0x0966, 0x09e6, 0x0e50, 0xff10];

/// The numbers of a text, in its order.
///
/// The last of two kinds of separators begins the fraction. One separator before exactly three digits groups thousands,
/// unless the number begins with 0; so do several of one kind.
pub fn numbers(text: &str) -> Vec<f64> {
    let characters: Vec<char> = text.chars().map(in_ascii).collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < characters.len() && found.len() < MAX_NUMBERS {
        if !characters[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let before = at.checked_sub(1).map(|at| characters[at]);
        let before_sign = at.checked_sub(2).map(|at| characters[at]);
        let is_negative =
            matches!(before, Some('-' | '\u{2212}')) && !before_sign.is_some_and(char::is_alphanumeric);
        let end = end_of(&characters, at);
        if let Some(number) = read(&characters[at..end]) {
            found.push(if is_negative { -number } else { number });
        }
        at = end;
    }
    found
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

fn read(written: &[char]) -> Option<f64> {
    if written.len() > MAX_LENGTH {
        return None;
    }
    let marks: Vec<(usize, char)> =
        written.iter().copied().enumerate().filter(|(_, c)| matches!(c, '.' | ',')).collect();
    let fraction = marks.last().copied().filter(|(at, mark)| {
        let others = marks.iter().filter(|(_, other)| other != mark).count();
        let same = marks.len() - others;
        let digits = written.len() - at - 1;
        same == 1 && (others > 0 || digits != 3 || written[0] == '0')
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
        ] {
            assert_eq!(numbers(text), expected, "{text}");
        }
        assert!(numbers(&"9".repeat(50)).is_empty());
        assert_eq!(numbers(&"1 a ".repeat(500)).len(), MAX_NUMBERS);
    }
}

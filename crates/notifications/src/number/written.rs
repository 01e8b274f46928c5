//! Numbers of a text: 1,299.00, 1.299,00, 1 299, ١٬٢٩٩, .99, 19⁹⁹, 19€99, £12.5k, 1.5 Mio, 3億5000万 and -3.

use super::{MAX_LENGTH, MAX_NUMBERS};
use recrawl_types::visible::visible;

/// The digits 0 of Unicode's category Nd but ASCII's. The others follow each.
#[rustfmt::skip]
const ZEROS: [u32; 65] = [
    0x0660, 0x06f0, 0x07c0, 0x0966, 0x09e6, 0x0a66, 0x0ae6, 0x0b66, 0x0be6, 0x0c66, 0x0ce6, 0x0d66, 0x0de6, 0x0e50,
    0x0ed0, 0x0f20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50,
    0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136,
    0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0,
    0x16a60, 0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
];
/// Currencies whose thousandth parts have coins (ISO 4217).
const THREE_PLACES: [&str; 7] = ["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"];
/// Words behind a number, and the zeros that each stands for.
const WORDS: [(&str, u32); 5] = [("Mio", 6), ("Mrd", 9), ("млн", 6), ("млрд", 9), ("тыс", 3)];
/// The one of these that stands close behind any number, as in 12k.
const THOUSAND: (&str, u32) = ("k", 3);
/// The same behind a number with the sign of a currency, as in £12.5k.
const LETTERS: [(&str, u32); 8] =
    [("k", 3), ("K", 3), ("m", 6), ("M", 6), ("mn", 6), ("b", 9), ("B", 9), ("bn", 9)];

/// The numbers of a text, in its order. URLs and times are none.
pub(super) fn written(text: &str) -> Vec<f64> {
    let characters: Vec<char> = visible(text).chars().map(in_ascii).collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < characters.len() && found.len() < MAX_NUMBERS {
        let begins_word = at == 0 || !characters[at - 1].is_alphanumeric();
        if begins_word && is_url_or_time(&characters[at..]) {
            at += characters[at..].iter().take_while(|c| !c.is_whitespace()).count();
        } else if characters[at].is_ascii_digit() {
            let (number, end) = number_at(&characters, at);
            found.extend(number);
            at = end;
        } else {
            at += 1;
        }
    }
    found
}

/// Does a URL begin here, or a time such as 2026-11-29T10:00:00Z?
fn is_url_or_time(text: &[char]) -> bool {
    let begins = |word: &str| word.chars().enumerate().all(|(at, c)| text.get(at) == Some(&c));
    let is_time = || {
        "dddd-dd-ddT".chars().enumerate().all(|(at, pattern)| match text.get(at) {
            Some(c) if pattern == 'd' => c.is_ascii_digit(),
            c => c == Some(&pattern),
        })
    };
    begins("https://") || begins("http://") || is_time()
}

/// The number that begins here, and its end.
fn number_at(all: &[char], begin: usize) -> (Option<f64>, usize) {
    let (before, is_fraction) = CharactersBefore(&all[..begin]).without_point();
    let (mut sum, mut at, mut bound) = (None, begin, f64::INFINITY);
    // 3億5000万 are two parts of one number.
    loop {
        let part = NumberPart::read(all, at, &before, is_fraction && sum.is_none());
        if part.value.is_none_or(|value| value >= bound) && sum.is_some() {
            break;
        }
        (sum, at) = (part.value.map(|value| value + sum.unwrap_or(0.0)), part.end);
        match part.unit {
            Some(unit) if all.get(at).is_some_and(char::is_ascii_digit) => bound = unit,
            _ => break,
        }
    }
    (sum.map(|sum| if before.is_minus() { -sum } else { sum }), at)
}

/// A number, or a part of one.
struct NumberPart {
    value: Option<f64>,
    end: usize,
    /// The value of the sign behind it, if smaller parts may follow.
    unit: Option<f64>,
}

impl NumberPart {
    fn read(all: &[char], begin: usize, before: &CharactersBefore<'_>, is_fraction: bool) -> NumberPart {
        let end = end_of(all, begin);
        let (written, behind) = (&all[begin..end], &all[end..]);
        let none = NumberPart { value: None, end, unit: None };
        if written.len() > MAX_LENGTH {
            return none;
        }
        let (whole, fraction) = match is_fraction {
            true if written.iter().all(char::is_ascii_digit) => (String::new(), written.iter().collect()),
            true => return none,
            false => parts(written, has_three_places(before, behind)),
        };
        let value = |fraction: &str, zeros: u32| format!("0{whole}.{fraction}0e{zeros}").parse().ok();
        if fraction.is_empty()
            && let Some((cents, length)) = cents(before, behind)
        {
            return NumberPart { value: value(&cents, 0), end: end + length, unit: None };
        }
        let (zeros, length, is_unit) = multiple(before, behind);
        let unit = is_unit.then(|| 10_f64.powi(zeros as i32));
        NumberPart { value: value(&fraction, zeros), end: end + length, unit }
    }
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

    fn has_currency(&self) -> bool {
        self.0.last().is_some_and(is_currency)
    }

    /// Is it a minus, also before the sign of a currency? One behind a letter or digit is a hyphen, and one with a space
    /// behind it a minus only where a line begins.
    fn is_minus(&self) -> bool {
        let before = match self.0 {
            [rest @ .., c] if is_currency(c) => rest,
            before => before,
        };
        match before {
            [rest @ .., '-' | '\u{2212}' | '\u{2013}'] => !rest.last().is_some_and(|c| c.is_alphanumeric()),
            [rest @ .., '\u{2212}', space] if is_space(space) => rest.last().is_none_or(|c| *c == '\n'),
            _ => false,
        }
    }
}

fn is_currency(c: &char) -> bool {
    matches!(c, '$' | '£' | '¥' | '\u{20a0}'..='\u{20cf}')
}

fn is_space(c: &char) -> bool {
    matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}')
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

/// A digit that is written above the line.
fn raised(c: &char) -> Option<char> {
    let digit = "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().position(|raised| raised == *c)?;
    char::from_digit(digit as u32, 10)
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
            Some(c) if is_space(c) || *c == '\u{b7}' => {
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

/// May three digits behind a point be a fraction? Thousands of per cent are rare, and three places of them are not.
fn has_three_places(before: &CharactersBefore<'_>, behind: &[char]) -> bool {
    let behind = match behind {
        [space, rest @ ..] if is_space(space) => rest,
        _ => behind,
    };
    let before = match before.0 {
        [rest @ .., space] if is_space(space) => rest,
        before => before,
    };
    let is_code = |code: &str| {
        let (after, ahead) = (behind.iter(), before.iter().rev());
        is_word(after, code.chars()) || is_word(ahead, code.chars().rev())
    };
    matches!(behind, ['%' | '\u{66a}', ..]) || THREE_PLACES.into_iter().any(is_code)
}

/// Is this word the next one?
fn is_word<'c>(mut text: impl Iterator<Item = &'c char>, mut word: impl Iterator<Item = char>) -> bool {
    word.all(|c| text.next() == Some(&c)) && !text.next().is_some_and(|c| c.is_alphanumeric())
}

/// The digits before and behind the point. The last of two kinds of separators begins the fraction, and so does one behind
/// which are not three digits: those group thousands, unless the number begins with 0.
fn parts(written: &[char], has_three_places: bool) -> (String, String) {
    let marks: Vec<(usize, char)> =
        written.iter().copied().enumerate().filter(|(_, c)| matches!(c, '.' | ',')).collect();
    let fraction = marks.last().copied().filter(|(at, mark)| {
        let others = marks.iter().filter(|(_, other)| other != mark).count();
        let same = marks.len() - others;
        let are_three = written.len() - at - 1 == 3;
        match others {
            0 => !are_three || same == 1 && (written[0] == '0' || has_three_places),
            _ => same == 1,
        }
    });
    let split = fraction.map_or(written.len(), |(at, _)| at);
    let digits = |part: &[char]| part.iter().filter(|c| c.is_ascii_digit()).collect::<String>();
    (digits(&written[..split]), digits(&written[split..]))
}

/// The cents of 19⁹⁹ and 19€99, and the length of what they stand in.
fn cents(before: &CharactersBefore<'_>, behind: &[char]) -> Option<(String, usize)> {
    match behind {
        [tens, ones, rest @ ..] if rest.first().is_none_or(|c| raised(c).is_none()) => {
            if let Some((tens, ones)) = raised(tens).zip(raised(ones)) {
                return Some((format!("{tens}{ones}"), 2));
            }
        }
        _ => {}
    }
    match behind {
        [sign, tens, ones, rest @ ..]
            if is_currency(sign)
                && tens.is_ascii_digit()
                && ones.is_ascii_digit()
                && !before.has_currency() =>
        {
            let goes_on = match rest {
                ['.' | ',', c, ..] => c.is_ascii_digit(),
                [c, ..] => c.is_alphanumeric() || is_currency(c),
                [] => false,
            };
            (!goes_on).then(|| (format!("{tens}{ones}"), 3))
        }
        _ => None,
    }
}

/// The zeros that a sign or word behind a number stands for, its length, and whether a smaller part may follow.
fn multiple(before: &CharactersBefore<'_>, behind: &[char]) -> (u32, usize, bool) {
    match behind {
        ['万' | '萬' | '만', ..] => return (4, 1, true),
        ['億' | '亿' | '억', ..] => return (8, 1, true),
        _ => {}
    }
    let spaces = usize::from(behind.first().is_some_and(is_space));
    let (words, behind): (&[_], _) = match before.has_currency() && spaces == 0 {
        true => (&LETTERS, behind),
        false => (&WORDS, &behind[spaces..]),
    };
    let close = (spaces == 0).then_some(&THOUSAND);
    let found = words.iter().chain(close).find(|(word, _)| is_word(behind.iter(), word.chars()));
    found.map_or((0, 0, false), |(word, zeros)| (*zeros, spaces + word.chars().count(), false))
}

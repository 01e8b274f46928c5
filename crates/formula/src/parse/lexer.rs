//! Splits text into tokens.

use super::{ParseError, ParseProblem};
use std::fmt;

/// A token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FormulaToken<'a> {
    /// A finite number without sign.
    Number(f64),
    /// Letters, digits and underscores that do not begin with a digit.
    Name(&'a str),
    /// Any other character.
    Symbol(char),
    /// End of the text.
    End,
}

impl fmt::Display for FormulaToken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FormulaToken::Number(value) => write!(f, "the number {value}"),
            FormulaToken::Name(name) => write!(f, "'{name}'"),
            FormulaToken::Symbol(symbol) => write!(f, "'{}'", symbol.escape_debug()),
            FormulaToken::End => f.write_str("the end"),
        }
    }
}

/// Reads tokens with a look-ahead of one.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, at: 0 }
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// The next token and its offset.
    pub(super) fn peek(&self) -> Result<(FormulaToken<'a>, usize), ParseError> {
        let (token, start, _) = self.scan()?;
        Ok((token, start))
    }

    /// Consumes the next token; returns it with its offset.
    pub(super) fn take(&mut self) -> Result<(FormulaToken<'a>, usize), ParseError> {
        let (token, start, end) = self.scan()?;
        self.at = end;
        Ok((token, start))
    }

    fn scan(&self) -> Result<(FormulaToken<'a>, usize, usize), ParseError> {
        let rest = self.text[self.at..].trim_start();
        let start = self.text.len() - rest.len();
        let Some(first) = rest.chars().next() else { return Ok((FormulaToken::End, start, start)) };
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (token, length) = if first.is_ascii_digit() || first == '.' {
            let length = number_length(rest);
            // `2x` would be two tokens, but is always a mistake.
            let word = rest[length..].find(|c| !is_word(c)).map_or(rest.len(), |w| length + w);
            let written = &rest[..word];
            let value: f64 = written
                .parse()
                .map_err(|_| self.error(start, ParseProblem::BadNumber { text: written.to_owned() }))?;
            if !value.is_finite() {
                return Err(self.error(start, ParseProblem::NumberTooLarge { text: written.to_owned() }));
            }
            (FormulaToken::Number(value), word)
        } else if is_word(first) {
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            (FormulaToken::Name(&rest[..length]), length)
        } else {
            (FormulaToken::Symbol(first), first.len_utf8())
        };
        Ok((token, start, start + length))
    }

    fn error(&self, at: usize, problem: ParseProblem) -> ParseError {
        ParseError::new(self.text, at, problem)
    }
}

/// Number of bytes of digits, point and exponent at the start of `text`.
fn number_length(text: &str) -> usize {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(0);
    if text[end..].starts_with('.') {
        end += 1;
        end += digits(end);
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    end
}

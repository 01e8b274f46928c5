//! Conditions of messages (`notify.when`): comparisons of a message's fields, joined by `and`, `or`, `not` and
//! parentheses.
//!
//! A field is compared with a text or a number. A comparison with a field that has no value is false, so a condition holds
//! only for what is known.

use crate::kind::ChangeKind;
use crate::message::ToldChange;
use serde_json::{Value, json};
use std::iter::Peekable;
use std::vec::IntoIter;

/// Bytes of a condition.
const MAX_CONDITION: usize = 1000;
/// Parentheses and `not` inside each other.
const MAX_DEPTH: usize = 20;

/// The fields of a message that a condition can name.
const FIELDS: [&str; 11] = [
    "kind",
    "url",
    "title",
    "status",
    "cycle",
    "round",
    "old_text",
    "new_text",
    "difference",
    "number",
    "old_number",
];
/// The fields with numbers.
const NUMBERS: [&str; 5] = ["status", "cycle", "round", "number", "old_number"];

/// A condition.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageCondition(ConditionNode);

#[derive(Clone, Debug, PartialEq)]
enum ConditionNode {
    Any(Vec<ConditionNode>),
    All(Vec<ConditionNode>),
    Not(Box<ConditionNode>),
    Compared(ConditionOperand, Comparator, ConditionOperand),
}

#[derive(Clone, Debug, PartialEq)]
enum ConditionOperand {
    Field(&'static str),
    Text(String),
    Number(f64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Comparator {
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
    Other,
    /// A text contains another, whatever the case.
    Contains,
}

#[derive(Clone, Debug, PartialEq)]
enum ConditionToken {
    Word(String),
    Text(String),
    Number(f64),
    Sign(Comparator),
    Open,
    Close,
}

impl MessageCondition {
    /// Reads a condition.
    ///
    /// # Errors
    /// What is wrong, and at which character.
    pub fn parse(text: &str) -> Result<MessageCondition, String> {
        if text.len() > MAX_CONDITION {
            return Err(format!("at most {MAX_CONDITION} bytes can be given, not {}", text.len()));
        }
        let mut reader =
            TokenReader { tokens: tokens(text)?.into_iter().peekable(), end: text.chars().count() + 1 };
        let node = reader.any(0)?;
        match reader.tokens.next() {
            None => Ok(MessageCondition(node)),
            Some((at, _)) => {
                Err(format!("character {at}: write `and` or `or` before it, or remove the rest"))
            }
        }
    }

    /// Does it compare what only the archive tells?
    pub fn reads_archive(&self) -> bool {
        self.0.names(&["title", "old_text", "new_text", "difference", "number", "old_number"])
    }

    /// Does it hold for this change?
    pub fn holds(&self, told: &ToldChange) -> bool {
        self.0.holds(&json!(told))
    }
}

impl ConditionNode {
    /// Does it name one of these fields?
    fn names(&self, fields: &[&str]) -> bool {
        let is_named = |operand: &ConditionOperand| matches!(operand, ConditionOperand::Field(name) if fields.contains(name));
        match self {
            ConditionNode::Any(nodes) | ConditionNode::All(nodes) => {
                nodes.iter().any(|node| node.names(fields))
            }
            ConditionNode::Not(node) => node.names(fields),
            ConditionNode::Compared(one, _, other) => is_named(one) || is_named(other),
        }
    }

    fn holds(&self, fields: &Value) -> bool {
        match self {
            ConditionNode::Any(nodes) => nodes.iter().any(|node| node.holds(fields)),
            ConditionNode::All(nodes) => nodes.iter().all(|node| node.holds(fields)),
            ConditionNode::Not(node) => !node.holds(fields),
            ConditionNode::Compared(one, comparison, other) => {
                comparison.holds(&one.value(fields), &other.value(fields))
            }
        }
    }
}

impl ConditionOperand {
    fn value(&self, fields: &Value) -> Value {
        match self {
            ConditionOperand::Field(name) => fields[*name].clone(),
            ConditionOperand::Text(text) => json!(text),
            ConditionOperand::Number(number) => json!(number),
        }
    }

    /// Is it a number? A field without a value is none of either.
    fn is_number(&self) -> bool {
        match self {
            ConditionOperand::Field(name) => NUMBERS.contains(name),
            ConditionOperand::Text(_) => false,
            ConditionOperand::Number(_) => true,
        }
    }
}

impl Comparator {
    fn holds(self, one: &Value, other: &Value) -> bool {
        if let (Some(one), Some(other)) = (one.as_f64(), other.as_f64()) {
            return match self {
                Comparator::Less => one < other,
                Comparator::AtMost => one <= other,
                Comparator::More => one > other,
                Comparator::AtLeast => one >= other,
                Comparator::Equal => one == other,
                Comparator::Other => one != other,
                Comparator::Contains => false,
            };
        }
        let (Some(one), Some(other)) = (one.as_str(), other.as_str()) else { return false };
        match self {
            Comparator::Equal => one == other,
            Comparator::Other => one != other,
            Comparator::Contains => one.to_lowercase().contains(&other.to_lowercase()),
            // Refused when it was read.
            Comparator::Less | Comparator::AtMost | Comparator::More | Comparator::AtLeast => false,
        }
    }
}

/// The tokens, each with the number of its first character, from 1.
fn tokens(text: &str) -> Result<Vec<(usize, ConditionToken)>, String> {
    let characters: Vec<char> = text.chars().collect();
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(first) = characters.get(at) {
        let begin = at;
        let next = characters.get(at + 1);
        at += 1;
        let token = match (first, next) {
            (c, _) if c.is_whitespace() => continue,
            ('(', _) => ConditionToken::Open,
            (')', _) => ConditionToken::Close,
            ('<' | '>' | '=' | '!', Some('=')) => {
                at += 1;
                ConditionToken::Sign(match first {
                    '<' => Comparator::AtMost,
                    '>' => Comparator::AtLeast,
                    '=' => Comparator::Equal,
                    _ => Comparator::Other,
                })
            }
            ('<', _) => ConditionToken::Sign(Comparator::Less),
            ('>', _) => ConditionToken::Sign(Comparator::More),
            ('=', _) => ConditionToken::Sign(Comparator::Equal),
            ('"' | '\'', _) => {
                let length = characters[at..].iter().position(|c| c == first);
                let length = length
                    .ok_or_else(|| format!("character {}: the text has no closing {first}", begin + 1))?;
                at += length + 1;
                ConditionToken::Text(characters[begin + 1..at - 1].iter().collect())
            }
            (c, _) if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') => {
                // A minus may only begin a number, so it is no part of the rest.
                let is_more = |c: &&char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
                at += characters[at..].iter().take_while(is_more).count();
                let word: String = characters[begin..at].iter().collect();
                match word.parse::<f64>() {
                    // Rust also reads `inf` and `nan` as numbers: here they are names.
                    Ok(number) if number.is_finite() && !c.is_ascii_alphabetic() => {
                        ConditionToken::Number(number)
                    }
                    _ => ConditionToken::Word(word),
                }
            }
            (c, _) => return Err(format!("character {}: {c:?} has no meaning here", begin + 1)),
        };
        tokens.push((begin + 1, token));
    }
    Ok(tokens)
}

/// Reads tokens from left to right.
struct TokenReader {
    tokens: Peekable<IntoIter<(usize, ConditionToken)>>,
    /// The number of the character behind the last one.
    end: usize,
}

impl TokenReader {
    fn any(&mut self, depth: usize) -> Result<ConditionNode, String> {
        let mut nodes = vec![self.all(depth)?];
        while self.takes("or") {
            nodes.push(self.all(depth)?);
        }
        Ok(if nodes.len() == 1 { nodes.remove(0) } else { ConditionNode::Any(nodes) })
    }

    fn all(&mut self, depth: usize) -> Result<ConditionNode, String> {
        let mut nodes = vec![self.one(depth)?];
        while self.takes("and") {
            nodes.push(self.one(depth)?);
        }
        Ok(if nodes.len() == 1 { nodes.remove(0) } else { ConditionNode::All(nodes) })
    }

    fn one(&mut self, depth: usize) -> Result<ConditionNode, String> {
        if depth > MAX_DEPTH {
            return Err(format!("more than {MAX_DEPTH} parentheses or `not` inside each other"));
        }
        if self.takes("not") {
            return Ok(ConditionNode::Not(Box::new(self.one(depth + 1)?)));
        }
        if let Some((begin, _)) = self.tokens.next_if(|(_, token)| *token == ConditionToken::Open) {
            let node = self.any(depth + 1)?;
            return match self.tokens.next_if(|(_, token)| *token == ConditionToken::Close) {
                Some(_) => Ok(node),
                None => Err(format!("character {begin}: the parenthesis is not closed")),
            };
        }
        let one = self.operand()?;
        let (at, comparison) = match self.tokens.next() {
            Some((at, ConditionToken::Sign(sign))) => (at, sign),
            Some((at, ConditionToken::Word(word))) if word == "contains" => (at, Comparator::Contains),
            other => {
                let at = other.map_or(self.end, |(at, _)| at);
                return Err(format!("character {at}: write <, <=, >, >=, =, != or contains"));
            }
        };
        let other = self.operand()?;
        let is_number = one.is_number();
        let orders = !matches!(comparison, Comparator::Equal | Comparator::Other | Comparator::Contains);
        match () {
            () if is_number != other.is_number() => {
                Err(format!("character {at}: a number cannot be compared with a text"))
            }
            () if orders && !is_number => {
                Err(format!("character {at}: texts are compared with =, != and contains"))
            }
            () if comparison == Comparator::Contains && is_number => {
                Err(format!("character {at}: only a text contains another"))
            }
            () => match (&one, &other) {
                (ConditionOperand::Field("kind"), ConditionOperand::Text(kind))
                | (ConditionOperand::Text(kind), ConditionOperand::Field("kind"))
                    if comparison != Comparator::Contains =>
                {
                    ChangeKind::named(kind).map_err(|why| format!("character {at}: {why}"))?;
                    Ok(ConditionNode::Compared(one, comparison, other))
                }
                _ => Ok(ConditionNode::Compared(one, comparison, other)),
            },
        }
    }

    fn operand(&mut self) -> Result<ConditionOperand, String> {
        let all = || format!("write a number, a \"text\" or one of {}", FIELDS.join(", "));
        match self.tokens.next() {
            Some((_, ConditionToken::Number(number))) => Ok(ConditionOperand::Number(number)),
            Some((_, ConditionToken::Text(text))) => Ok(ConditionOperand::Text(text)),
            Some((at, ConditionToken::Word(word))) => match FIELDS.into_iter().find(|field| *field == word) {
                Some(field) => Ok(ConditionOperand::Field(field)),
                None => Err(format!("character {at}: {word:?} is no field; {}", all())),
            },
            Some((at, _)) => Err(format!("character {at}: {}", all())),
            None => Err(format!("character {}: {}", self.end, all())),
        }
    }

    fn takes(&mut self, word: &str) -> bool {
        self.tokens
            .next_if(|(_, token)| matches!(token, ConditionToken::Word(text) if text == word))
            .is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::numbers;
    use crate::{ChangeContents, ChangeKind, ChangeNotice};
    use proptest::prelude::*;
    use recrawl_types::{Cycle, Round, UrlRules};

    fn told(old: Option<&str>, new: Option<&str>) -> ToldChange {
        let change = ChangeNotice {
            id: String::new(),
            kind: ChangeKind::Changed,
            url: UrlRules::default().canonicalize("https://shop.example/p").unwrap(),
            cycle: Cycle(3),
            round: Round(4),
            time: 7,
            status: None,
            reason: None,
            is_same: false,
        };
        let text = |text: Option<&str>| text.map(str::to_owned);
        let mut contents = ChangeContents {
            title: text(Some("A Shoe")),
            old_text: text(old),
            new_text: text(new),
            ..ChangeContents::default()
        };
        contents.read_numbers();
        ToldChange { change, contents }
    }

    #[test]
    fn a_condition_holds_for_what_it_says() {
        let told = told(Some("EUR 19.90, 3 left"), Some("EUR 14,50"));
        for (text, expected) in [
            ("number < 15", true),
            ("number<14.5", false),
            ("number <= 14.5 and old_number >= 15", true),
            ("number > 100 or title contains 'shoe'", true),
            ("not number > 100 and not title contains \"boot\"", true),
            ("kind = 'changed'", true),
            ("kind != 'changed' or number < 15", true),
            ("kind == 'gone'", false),
            ("(number < 15 or number > 100) and cycle = 3", true),
            ("number < 15 or number > 1 and number > 100", true),
            ("20 > old_number", true),
            ("new_text != old_text", true),
            ("url contains 'shop.example'", true),
            ("status = 404", false),
            ("status != 404", false),
            ("not status = 404", true),
            ("number > -1", true),
        ] {
            assert_eq!(MessageCondition::parse(text).unwrap().holds(&told), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_known_makes_no_comparison_true() {
        for (old, new) in [(None, None), (Some("none"), Some("sold out"))] {
            let told = told(old, new);
            for text in ["number < 15", "number >= 0", "old_number != 1", "number = old_number"] {
                assert!(!MessageCondition::parse(text).unwrap().holds(&told), "{text}");
            }
        }
    }

    #[test]
    fn a_mistake_is_named_with_its_place() {
        for (text, place) in [
            ("", "character 1: write a number"),
            ("price < 15", "character 1: \"price\" is no field"),
            ("number", "character 7: write <, <="),
            ("number < ", "character 10: write a number"),
            ("number < 15 16", "character 13: write `and` or `or`"),
            ("number < 'a'", "character 8: a number cannot be compared with a text"),
            ("title < 'a'", "character 7: texts are compared with"),
            ("number contains 3", "character 8: only a text contains"),
            ("(number < 15", "character 1: the parenthesis is not closed"),
            ("title = 'a", "character 9: the text has no closing '"),
            ("number < 15 & title = 'a'", "character 13: '&' has no meaning"),
            ("and number < 15", "character 1: \"and\" is no field"),
            ("kind = 'changd'", "character 6: \"changd\" is no kind of change"),
        ] {
            let error = MessageCondition::parse(text).unwrap_err();
            assert!(error.starts_with(place), "{text:?}: {error}");
        }
        assert!(MessageCondition::parse(&"not ".repeat(50)).unwrap_err().contains("inside each other"));
        assert!(MessageCondition::parse(&"x".repeat(MAX_CONDITION + 1)).unwrap_err().contains("bytes"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[ -~é]{0,60}") {
            let _ = MessageCondition::parse(&text).map(|condition| condition.holds(&told(Some(&text), Some(&text))));
            prop_assert!(numbers(&text).iter().all(|number| number.is_finite()));
        }
    }
}

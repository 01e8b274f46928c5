//! References in XML: its five entities, characters by number, and entities that the document defines. These are
//! expanded where they are defined, so none grows beyond its limit.

use html5ever::data::NAMED_ENTITIES;
use recrawl_types::url::MAX_URL_BYTES;
use std::borrow::Cow;
use std::collections::HashMap;

/// Maximum entities of a document: more than HTML 4 has. The rest is unknown.
const MAX_ENTITIES: usize = 1_024;
/// Maximum bytes of an entity's text.
const MAX_ENTITY_TEXT: usize = MAX_URL_BYTES;
/// Bytes of an entity's name.
const MAX_NAME: usize = 256;

/// The entities of a document: name and text.
#[derive(Default)]
pub(crate) struct Entities(HashMap<String, String>);

impl Entities {
    /// Reads the definitions of a document type. Parameter entities and external ones are not read.
    pub fn define(&mut self, document_type: &str) {
        let mut rest = document_type;
        while let Some(at) = rest.find("<!") {
            rest = &rest[at + 2..];
            if let Some(comment) = rest.strip_prefix("--") {
                rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            } else if let Some(definition) = rest.strip_prefix("ENTITY") {
                rest = definition;
                let Some((name, text, behind)) = name_and_text(definition) else { continue };
                rest = behind;
                if self.0.len() == MAX_ENTITIES {
                    return;
                }
                // Markup in an entity is never a part of a URL or date.
                let text =
                    self.expand(text).filter(|text| text.len() <= MAX_ENTITY_TEXT && !text.contains('<'));
                if let Some(text) = text {
                    self.0.entry(name.to_owned()).or_insert(text);
                }
            }
        }
    }

    /// The text of `&name;`; none if it is unknown.
    pub fn text(&self, name: &str) -> Option<String> {
        let character = match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            _ => match name.strip_prefix('#') {
                Some(number) => character(number)?,
                None => return self.0.get(name).cloned(),
            },
        };
        Some(character.into())
    }

    /// A text with its references replaced; none if one is unknown. A `&` that begins none is itself.
    pub fn expand(&self, raw: &str) -> Option<String> {
        let mut text = String::with_capacity(raw.len());
        let mut rest = raw;
        while let Some(at) = rest.find('&') {
            text.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            match reference(rest) {
                Some((name, behind)) => {
                    text.push_str(&self.text(name).or_else(|| Entities::of_html(name))?);
                    rest = behind;
                }
                None => text.push('&'),
            }
            if text.len() > 2 * MAX_ENTITY_TEXT {
                return None;
            }
        }
        text.push_str(rest);
        Some(text)
    }

    /// Markup in which references to entities of the document are HTML. Other references stay, and so do those for which
    /// `room` has no bytes left.
    pub fn to_html<'r>(&self, raw: &'r str, room: &mut usize) -> Cow<'r, str> {
        if self.0.is_empty() || !raw.contains('&') {
            return raw.into();
        }
        let mut html = String::with_capacity(raw.len());
        let mut rest = raw;
        while let Some(at) = rest.find('&') {
            html.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let own = reference(rest).and_then(|(name, behind)| Some((self.0.get(name)?, behind)));
            match own.filter(|(text, _)| text.len() <= *room) {
                Some((text, behind)) => {
                    *room -= text.len();
                    html.push_str(&text.replace('&', "&amp;").replace('"', "&quot;").replace('\'', "&#39;"));
                    rest = behind;
                }
                None => html.push('&'),
            }
        }
        (html + rest).into()
    }

    /// The characters that HTML calls so.
    pub fn of_html(name: &str) -> Option<String> {
        let (first, second) = NAMED_ENTITIES.get(&*format!("{name};")).copied()?;
        [first, second].iter().filter(|c| **c != 0).map(|c| char::from_u32(*c)).collect()
    }
}

/// The name of the reference that goes on here behind its `&`, and the text behind it; none if it is none.
fn reference(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_alphanumeric() && !"#_.-:".contains(c))?;
    let behind = text[end..].strip_prefix(';').filter(|_| end > 0)?;
    Some((&text[..end], behind))
}

/// Name and quoted text of a definition, if it has both, and what is behind them. Neither is looked for beyond its limit,
/// so that many definitions without an end cost little.
fn name_and_text(definition: &str) -> Option<(&str, &str, &str)> {
    let definition = definition.trim_start();
    let end = definition.bytes().take(MAX_NAME).position(|byte| byte.is_ascii_whitespace())?;
    let (name, rest) = definition.split_at(end);
    let rest = rest.trim_start();
    let quote = *rest.as_bytes().first().filter(|byte| matches!(byte, b'"' | b'\''))?;
    let text = &rest[1..];
    let end = text.bytes().take(MAX_ENTITY_TEXT + 1).position(|byte| byte == quote)?;
    (name != "%").then_some((name, &text[..end], &text[end..]))
}

/// The character of `38` or `x26`.
fn character(number: &str) -> Option<char> {
    let (digits, radix) = match number.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16),
        None => (number, 10),
    };
    let is_number = !digits.starts_with('+');
    u32::from_str_radix(digits, radix)
        .ok()
        .filter(|_| is_number)
        .and_then(char::from_u32)
        .filter(|c| *c != '\0')
}

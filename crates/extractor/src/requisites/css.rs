//! URLs in a style sheet or in the declarations of a `style` attribute, and selectors of links.
//!
//! The tokens are those of the standard (cssparser), so an escape or a comment hides nothing (`u\72l(`). Nesting is bounded:
//! what lies deeper than [`MAX_NESTING`] is one reference to nothing, which a rewriting leaves out.

use cssparser::{ParseError, Parser, Token};
use std::ops::Range;

/// Blocks and functions in each other. Real style sheets have fewer than ten.
const MAX_NESTING: usize = 32;

/// A place in a style sheet that names something to load.
#[derive(Debug)]
pub(crate) struct CssReference<'c> {
    /// Its bytes in the text.
    pub(crate) range: Range<usize>,
    pub(crate) target: CssTarget<'c>,
}

/// The target of a reference.
#[derive(Debug)]
pub(crate) enum CssTarget<'c> {
    /// `@import`, the whole rule, with its conditions as written.
    Import { reference: String, conditions: &'c str },
    /// The source of a font.
    Font(String),
    /// Anything else.
    Image(String),
    /// A selector of links: `:link` or `:any-link`.
    Link,
    /// A selector of what has an `href`: that name.
    Href,
    /// It cannot be read, or stands where it means nothing.
    Nothing,
}

/// Passes each reference of a text on, in its order.
pub(crate) fn scan<'c>(css: &'c str, found: &mut dyn FnMut(CssReference<'c>)) {
    let mut parser = Parser::new(css);
    // MAX_NESTING bounds the nesting.
    parser.set_nested_block_limit(0);
    CssScan { css, found, may_import: true }.statements(&mut parser, 0, false);
}

/// The text with another one in place of each reference. `</` is written so that no text ends an element around it.
pub(crate) fn rewrite(css: &str, replace: &mut dyn FnMut(CssTarget<'_>) -> String) -> String {
    let (mut out, mut at) = (String::with_capacity(css.len()), 0);
    scan(css, &mut |CssReference { range, target }| {
        out.push_str(&css[at..range.start]);
        out.push_str(&replace(target));
        at = range.end;
    });
    out.push_str(&css[at..]);
    out.replace("</", "<\\/")
}

/// The surroundings of a token.
#[derive(Clone, Copy, Default)]
struct CssContext {
    is_font_face: bool,
    /// Is a string a URL, as in `image-set()`?
    has_bare_urls: bool,
    /// Does it belong to a selector? `:link` and `[href]` are words in a value, too.
    is_selector: bool,
    /// Does a selector of an attribute begin here?
    is_attribute: bool,
}

struct CssScan<'c, 'f> {
    css: &'c str,
    found: &'f mut dyn FnMut(CssReference<'c>),
    /// Imports stand before all other rules.
    may_import: bool,
}

impl<'c> CssScan<'c, '_> {
    fn push(&mut self, range: Range<usize>, target: CssTarget<'c>) {
        (self.found)(CssReference { range, target });
    }

    fn load(&mut self, range: Range<usize>, reference: &str, context: CssContext) {
        let reference = reference.to_owned();
        self.push(
            range,
            if context.is_font_face { CssTarget::Font(reference) } else { CssTarget::Image(reference) },
        );
    }

    /// The style sheet, or a block in braces.
    fn statements(&mut self, parser: &mut Parser<'c>, depth: usize, is_font_face: bool) {
        while !parser.is_exhausted() {
            let is_selector = is_rule(parser);
            let context = CssContext { is_font_face, is_selector, ..CssContext::default() };
            self.tokens(parser, depth, context, true);
        }
    }

    /// The tokens up to the end of what they stand in, or of the statement.
    fn tokens(&mut self, parser: &mut Parser<'c>, depth: usize, mut context: CssContext, is_statement: bool) {
        let (mut opens_font_face, mut colon) = (false, None);
        loop {
            let start = parser.position().byte_index();
            let Ok(token) = parser.next_including_whitespace_and_comments() else { return };
            // A comment may stand within a selector.
            let before = if matches!(token, Token::Comment(_)) { continue } else { colon.take() };
            match token.clone() {
                Token::Semicolon if is_statement => return,
                Token::Colon => colon = Some(start),
                Token::Ident(name) if context.is_selector => match before {
                    Some(colon) if is_link(&name) => self.push(since(colon, parser), CssTarget::Link),
                    _ if context.is_attribute && name.eq_ignore_ascii_case("href") => {
                        self.push(since(start, parser), CssTarget::Href);
                    }
                    _ => {}
                },
                Token::UnquotedUrl(reference) => self.load(since(start, parser), &reference, context),
                Token::QuotedString(reference) if context.has_bare_urls => {
                    self.load(since(start, parser), &reference, context);
                }
                Token::BadUrl(_) | Token::BadString(_) => {
                    self.push(since(start, parser), CssTarget::Nothing);
                }
                Token::Function(name) if is_url(&name) => {
                    let reference = nested_string(parser);
                    let range = since(start, parser);
                    match reference {
                        Some(reference) => self.load(range, &reference, context),
                        None => self.push(range, CssTarget::Nothing),
                    }
                }
                block @ (Token::Function(_) | Token::ParenthesisBlock | Token::SquareBracketBlock) => {
                    let inner = CssContext {
                        has_bare_urls: matches!(&block, Token::Function(name) if is_image_set(name)),
                        is_attribute: block == Token::SquareBracketBlock,
                        ..context
                    };
                    self.nested(parser, start, depth, |scan, parser| {
                        scan.tokens(parser, depth + 1, inner, false);
                    });
                }
                Token::CurlyBracketBlock => {
                    self.may_import &= depth > 0;
                    self.nested(parser, start, depth, |scan, parser| {
                        scan.statements(parser, depth + 1, opens_font_face);
                    });
                    if is_statement {
                        return;
                    }
                }
                Token::AtKeyword(name) => {
                    match name.to_ascii_lowercase().as_str() {
                        "import" => self.import(parser, start, depth),
                        "namespace" => to_semicolon(parser),
                        name => {
                            opens_font_face = name == "font-face";
                            // Parentheses of the others have declarations.
                            context.is_selector &= name == "scope";
                            continue;
                        }
                    }
                    if is_statement {
                        return;
                    }
                }
                _ => {}
            }
        }
    }

    fn nested(
        &mut self,
        parser: &mut Parser<'c>,
        start: usize,
        depth: usize,
        read: impl FnOnce(&mut Self, &mut Parser<'c>),
    ) {
        let is_too_deep = depth == MAX_NESTING;
        let _ = parser.parse_nested_block(|inner| {
            if !is_too_deep {
                read(self, inner);
            }
            Ok::<_, ParseError<()>>(())
        });
        if is_too_deep {
            self.push(since(start, parser), CssTarget::Nothing);
        }
    }

    fn import(&mut self, parser: &mut Parser<'c>, start: usize, depth: usize) {
        let reference = match parser.next().cloned() {
            Ok(Token::QuotedString(text) | Token::UnquotedUrl(text)) => Some(text.to_string()),
            Ok(Token::Function(name)) if is_url(&name) => nested_string(parser),
            Ok(Token::Semicolon) => {
                return self.push(since(start, parser), CssTarget::Nothing);
            }
            _ => None,
        };
        let behind = parser.position().byte_index();
        to_semicolon(parser);
        let end = parser.position().byte_index();
        let conditions = self.css[behind..end].trim_end_matches(';').trim();
        // A rule in a rule has no meaning, and many of them would be read again and again.
        let mut loads = conditions.contains('@');
        if !loads {
            scan(conditions, &mut |found| {
                loads |= !matches!(found.target, CssTarget::Link | CssTarget::Href)
            });
        }
        let target = match reference {
            Some(reference) if depth == 0 && self.may_import && !loads => {
                CssTarget::Import { reference, conditions }
            }
            _ => CssTarget::Nothing,
        };
        self.push(start..end, target);
    }
}

/// Does a block end the statement that begins here? Then selectors begin it, unless it is a declaration of a custom
/// property: a block may be its value.
fn is_rule(parser: &mut Parser<'_>) -> bool {
    let start = parser.state();
    let is_custom = matches!(parser.next(), Ok(Token::Ident(name)) if name.starts_with("--"));
    parser.reset(&start);
    let has_block = loop {
        match parser.next() {
            Ok(Token::CurlyBracketBlock) => break true,
            Ok(Token::Semicolon) | Err(_) => break false,
            Ok(_) => {}
        }
    };
    parser.reset(&start);
    has_block && !is_custom
}

/// The bytes from here to what was read last.
fn since(start: usize, parser: &Parser<'_>) -> Range<usize> {
    start..parser.position().byte_index()
}

fn is_link(pseudo_class: &str) -> bool {
    pseudo_class.eq_ignore_ascii_case("link") || pseudo_class.eq_ignore_ascii_case("any-link")
}

fn is_url(function: &str) -> bool {
    function.eq_ignore_ascii_case("url") || function.eq_ignore_ascii_case("src")
}

fn is_image_set(function: &str) -> bool {
    function.eq_ignore_ascii_case("image-set") || function.eq_ignore_ascii_case("-webkit-image-set")
}

/// The string in the function whose name was just read.
fn nested_string(parser: &mut Parser<'_>) -> Option<String> {
    let mut found = None;
    let _ = parser.parse_nested_block(|inner| {
        found = inner.expect_string().ok().map(|text| text.to_string());
        Ok::<_, ParseError<()>>(())
    });
    found
}

/// Behind the next semicolon, or behind the block that ends a rule without one.
fn to_semicolon(parser: &mut Parser<'_>) {
    while let Ok(token) = parser.next() {
        match token {
            Token::Semicolon => return,
            Token::CurlyBracketBlock => {
                let _ = parser.parse_nested_block(|_| Ok::<_, ParseError<()>>(()));
                return;
            }
            Token::Function(_) | Token::ParenthesisBlock | Token::SquareBracketBlock => {
                let _ = parser.parse_nested_block(|_| Ok::<_, ParseError<()>>(()));
            }
            _ => {}
        }
    }
}

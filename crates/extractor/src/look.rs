//! What the attributes of an element say of how it is shown: `hidden`, `popover`, `role`, and the inline style.
//!
//! Style sheets are not read, so an inline style is all that is known of an author's. `aria-hidden` and `inert` say nothing
//! here: both leave the element in sight.

use crate::names::Attr;
use cssparser::{Delimiter, Parser};
use html5ever::{LocalName, local_name};

/// What the attributes say; `None` where they are silent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Look {
    /// `hidden` or `popover` is set, which a style's `display` outweighs.
    pub(crate) is_off: bool,
    pub(crate) display: Option<CssDisplay>,
    /// `position` or `float` takes it out of its line.
    is_positioned: bool,
    is_floating: bool,
    /// `visibility`, which elements inside can turn back.
    pub(crate) is_visible: Option<bool>,
    /// Does `white-space` keep line breaks?
    pub(crate) keeps_lines: Option<bool>,
    /// `content-visibility:hidden` shows the box, but nothing in it.
    is_skipped: Option<bool>,
    /// The role is one of the page's frame.
    pub(crate) is_frame: bool,
}

/// The values of `display`, as far as they matter to a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CssDisplay {
    None,
    /// Begins and ends a line.
    Block,
    /// The same, and so does each element in it: flex and grid.
    BlockOfItems,
    /// A box in a line, in which each element begins and ends one.
    InlineOfItems,
    Other,
}

impl Look {
    /// Of an element's attributes. In a drawing, some are properties, which a style outweighs.
    pub(crate) fn from_attributes<'a>(
        attributes: impl Iterator<Item = (Attr, &'a str)> + Clone,
        is_drawing: bool,
    ) -> Look {
        let mut look = Look::default();
        for (name, value) in attributes.clone().filter(|_| is_drawing) {
            let words = [value.trim().to_ascii_lowercase()];
            match name {
                Attr::Display => look.declare("display", &words),
                Attr::Visibility => look.declare("visibility", &words),
                _ => {}
            }
        }
        for (name, value) in attributes {
            match name {
                // What a search in the page finds counts as seen.
                Attr::Hidden => look.is_off |= !value.trim().eq_ignore_ascii_case("until-found"),
                Attr::Popover => look.is_off = true,
                Attr::Role => look.is_frame = is_frame(value),
                Attr::Style => look.style(value),
                _ => {}
            }
        }
        look
    }

    /// Does it begin and end a line?
    pub(crate) fn is_block(&self) -> bool {
        let is_block = matches!(self.display, Some(CssDisplay::Block | CssDisplay::BlockOfItems));
        is_block || self.is_positioned || self.is_floating
    }

    /// Does each element right in it?
    pub(crate) fn has_items(&self) -> bool {
        matches!(self.display, Some(CssDisplay::BlockOfItems | CssDisplay::InlineOfItems))
    }

    /// Is nothing of the element shown? `is_off` tells whether a browser shows such an element without a style.
    pub(crate) fn hides(&self, is_off: bool) -> bool {
        let is_shown = self.display.is_some_and(|display| display != CssDisplay::None);
        self.is_skipped == Some(true)
            || self.display == Some(CssDisplay::None)
            || (is_off || self.is_off) && !is_shown
    }

    /// Reads an inline style. Of two declarations of a property the last one counts, and `!important` ones before others.
    fn style(&mut self, style: &str) {
        if self.declarations(style, false) {
            self.declarations(style, true);
        }
    }

    /// Reads the declarations that are important, or those that are not. Are there important ones?
    fn declarations(&mut self, style: &str, important: bool) -> bool {
        let mut parser = Parser::new(style);
        let mut has_important = false;
        while !parser.is_exhausted() {
            // What is no declaration with a plain value says nothing, and ends at the next semicolon.
            let _ = parser.parse_until_after(Delimiter::Semicolon, |parser| {
                let property = parser.expect_ident_cloned()?;
                parser.expect_colon()?;
                let mut words = Vec::with_capacity(2);
                while let Ok(word) = parser.try_parse(Parser::expect_ident_cloned) {
                    words.push(word.to_ascii_lowercase());
                }
                let is_important = parser.try_parse(cssparser::parse_important).is_ok();
                parser.expect_exhausted()?;
                has_important |= is_important;
                if is_important == important {
                    self.declare(&property, &words);
                }
                Ok::<_, cssparser::ParseError<()>>(())
            });
        }
        has_important
    }

    /// An unknown value changes nothing, as in browsers.
    fn declare(&mut self, property: &str, words: &[String]) {
        let any = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
        let is = |property: &str, name: &str| property.eq_ignore_ascii_case(name);
        if is(property, "display") {
            let first = words.first().map_or("", String::as_str);
            self.display = match first {
                "none" if words.len() > 1 => self.display,
                "none" => Some(CssDisplay::None),
                "inline" if any(&["flex", "grid"]) => Some(CssDisplay::InlineOfItems),
                _ if any(&["flex", "grid", "-webkit-box", "-webkit-flex"]) => Some(CssDisplay::BlockOfItems),
                "inline-flex" | "inline-grid" | "-webkit-inline-box" | "-webkit-inline-flex" => {
                    Some(CssDisplay::InlineOfItems)
                }
                "block" | "list-item" | "flow-root" | "table" => Some(CssDisplay::Block),
                "inline" | "inline-block" | "inline-table" | "contents" | "ruby" | "math" | "run-in"
                | "flow" | "initial" | "inherit" | "unset" => Some(CssDisplay::Other),
                _ if first.starts_with("table-") => Some(CssDisplay::Block),
                _ if first.starts_with("ruby-") => Some(CssDisplay::Other),
                _ => self.display,
            };
        } else if is(property, "position") {
            let is_known = any(&["absolute", "fixed", "initial", "relative", "static", "sticky"]);
            self.is_positioned = any(&["absolute", "fixed"]) || self.is_positioned && !is_known;
        } else if is(property, "float") {
            let is_known = any(&["initial", "inline-end", "inline-start", "left", "none", "right"]);
            let floats = any(&["inline-end", "inline-start", "left", "right"]);
            self.is_floating = floats || self.is_floating && !is_known;
        } else if is(property, "visibility") && any(&["hidden", "collapse"]) {
            self.is_visible = Some(false);
        } else if is(property, "visibility") && any(&["visible", "initial"]) {
            self.is_visible = Some(true);
        } else if is(property, "content-visibility") && any(&["hidden", "visible", "auto"]) {
            self.is_skipped = Some(any(&["hidden"]));
        } else if is(property, "white-space") || is(property, "white-space-collapse") {
            if any(&["pre", "pre-wrap", "pre-line", "break-spaces", "preserve", "preserve-breaks"]) {
                self.keeps_lines = Some(true);
            } else if any(&["normal", "nowrap", "collapse", "wrap", "preserve-spaces", "initial"]) {
                self.keeps_lines = Some(false);
            }
        }
    }

    /// Attributes that say the same in one spelling, so that there are only a few different ones.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = (LocalName, String)> {
        let mut style = String::new();
        let said = [
            (self.is_block() && !self.has_items(), "display:block;"),
            (self.is_block() && self.has_items(), "display:flex;"),
            (!self.is_block() && self.has_items(), "display:inline-flex;"),
            (self.is_visible == Some(true), "visibility:visible;"),
            (self.is_visible == Some(false), "visibility:hidden;"),
            (self.keeps_lines == Some(true), "white-space:pre;"),
            (self.keeps_lines == Some(false), "white-space:normal;"),
        ];
        said.into_iter().filter(|(is_said, _)| *is_said).for_each(|(_, text)| style.push_str(text));
        let hides = self.hides(false);
        let hidden = hides.then(|| (local_name!("hidden"), String::new()));
        let role = (self.is_frame && !hides).then(|| (local_name!("role"), "navigation".to_owned()));
        let style = (!hides && !style.is_empty()).then_some((local_name!("style"), style));
        hidden.into_iter().chain(role).chain(style)
    }
}

/// Whether a role makes its element part of the page's frame.
fn is_frame(role: &str) -> bool {
    let role = role.split_ascii_whitespace().next().unwrap_or("");
    ["navigation", "banner", "contentinfo"].iter().any(|frame| role.eq_ignore_ascii_case(frame))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_style(style: &str) -> Look {
        Look::from_attributes([(Attr::Style, style)].into_iter(), false)
    }

    #[test]
    fn styles_that_hide() {
        for (style, hides) in [
            ("display:none", true),
            (" color: red ; DISPLAY : None !important", true),
            ("display:none!important", true),
            ("display:/**/none", true),
            ("color:red;;display:none", true),
            ("}display:none;display:none", true),
            ("d\\69splay:none", true),
            ("content-visibility:hidden", true),
            // The last one counts, and an important one before it.
            ("display:none;display:block", false),
            ("display:block;display:none", true),
            ("display:none!important;display:block", true),
            ("display:none;display:nonsense", true),
            ("display:block", false),
            ("background:url(display:none)", false),
            ("background:url('a;display:none')", false),
            ("content:'a;display:none;'", false),
            ("/*;display:none;*/", false),
            ("--display:none", false),
            ("display:none none", false),
            ("opacity:0", false),
            ("", false),
        ] {
            assert_eq!(from_style(style).hides(false), hides, "{style}");
        }
    }

    #[test]
    fn styles_that_keep_lines_or_not() {
        for (style, keeps) in [
            ("white-space:pre", Some(true)),
            ("WHITE-SPACE: Pre-Wrap", Some(true)),
            ("white-space:pre-line", Some(true)),
            ("white-space:break-spaces", Some(true)),
            ("white-space:preserve nowrap", Some(true)),
            ("white-space-collapse:preserve-breaks", Some(true)),
            ("white-space:pre;white-space:normal", Some(false)),
            ("white-space:nowrap", Some(false)),
            ("white-space:pre!important;white-space:normal", Some(true)),
            ("white-space:nonsense", None),
            ("white-space:'pre'", None),
            ("", None),
        ] {
            assert_eq!(from_style(style).keeps_lines, keeps, "{style}");
        }
    }

    #[test]
    fn styles_that_make_boxes() {
        for (style, is_block, has_items) in [
            ("display:block", true, false),
            ("display:inline", false, false),
            ("display:flex", true, true),
            ("display:-webkit-box;display:nonsense", true, true),
            ("display:block grid", true, true),
            ("display:inline flex", false, true),
            ("display:-webkit-inline-flex", false, true),
            ("float:RIGHT", true, false),
            ("float:left;float:none", false, false),
            ("position:absolute;position:nonsense", true, false),
            ("position:fixed;position:sticky", false, false),
        ] {
            let look = from_style(style);
            assert_eq!((look.is_block(), look.has_items()), (is_block, has_items), "{style}");
        }
    }

    #[test]
    fn a_display_outweighs_the_attribute_hidden() {
        let hides = |hidden: &str, style: &str| {
            Look::from_attributes([(Attr::Style, style), (Attr::Hidden, hidden)].into_iter(), false)
                .hides(false)
        };
        for (hidden, style, expected) in [
            ("", "", true),
            ("hidden", "color:red", true),
            ("until-found", "", false),
            ("Until-Found", "display:none", true),
            ("", "display:block", false),
            ("", "display:flex;visibility:hidden", false),
            ("", "display:nonsense", true),
        ] {
            assert_eq!(hides(hidden, style), expected, "{hidden} {style}");
        }
    }

    #[test]
    fn properties_of_drawings_are_attributes_too() {
        let attributes = [(Attr::Display, "none"), (Attr::Visibility, " Hidden "), (Attr::Style, "")];
        let of = |style, is_drawing| {
            let attributes =
                attributes.map(|(name, value)| (name, if name == Attr::Style { style } else { value }));
            let look = Look::from_attributes(attributes.into_iter(), is_drawing);
            (look.hides(false), look.is_visible)
        };
        assert_eq!(of("", true), (true, Some(false)));
        assert_eq!(
            of("display:inline;visibility:visible", true),
            (false, Some(true)),
            "a style outweighs them"
        );
        assert_eq!(of("", false), (false, None), "HTML does not know them");
    }

    #[test]
    fn the_one_spelling_says_the_same() {
        for style in [
            "display:flex",
            "display:none;visibility:hidden",
            "visibility:collapse;white-space:pre-wrap",
            "visibility:visible;white-space:nowrap;display:grid",
            "display:inline grid",
            "float:left;display:inline-flex",
            "position:fixed;position:nonsense",
            "content-visibility:hidden",
            "color:red",
        ] {
            let look = from_style(style);
            let spelled: Vec<_> = look.attributes().collect();
            let again = Look::from_attributes(
                spelled.iter().map(|(name, value)| (Attr::lookup(name.as_bytes()), value.as_str())),
                false,
            );
            assert_eq!(again.hides(false), look.hides(false), "{style}");
            if !look.hides(false) {
                let boxes = |look: Look| (look.is_block(), look.has_items());
                let of = |look: Look| (boxes(look), look.is_visible, look.keeps_lines, look.is_frame);
                assert_eq!(of(again), of(look), "{style}");
            }
        }
    }
}

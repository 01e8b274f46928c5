//! The visible text, links, images and tables of a recorded text.
//!
//! The text is Markdown, which may contain HTML. Plain text is Markdown without markup.

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};
use std::collections::BTreeSet;

/// A text taken apart. Its buffers are used again for the next one.
#[derive(Default)]
pub struct Text {
    /// The visible text, with link texts and descriptions of images, without targets.
    pub visible: String,
    /// The targets of links, one after the other.
    targets: String,
    /// Where each target ends.
    ends: Vec<usize>,
    /// Images.
    pub images: u32,
    /// Tables.
    pub tables: u32,
    /// A block of HTML.
    html: String,
}

impl Text {
    /// Takes a text apart.
    pub fn read(&mut self, markdown: &str) {
        self.visible.clear();
        self.targets.clear();
        self.ends.clear();
        (self.images, self.tables) = (0, 0);
        // The text of an autolink is its target.
        let mut is_target = false;
        for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
            match event {
                Event::Text(text) | Event::Code(text) if !is_target => self.visible.push_str(&text),
                Event::Start(Tag::HtmlBlock) => self.html.clear(),
                Event::Html(html) => self.html.push_str(&html),
                Event::End(TagEnd::HtmlBlock) => {
                    let html = std::mem::take(&mut self.html);
                    self.read_html(&html);
                    self.html = html;
                }
                Event::InlineHtml(html) => self.read_html(&html),
                Event::Start(Tag::Link { link_type, dest_url, .. }) => match link_type {
                    LinkType::Email => self.add_target(&format!("mailto:{dest_url}")),
                    LinkType::Autolink => {
                        is_target = true;
                        self.add_target(&dest_url);
                    }
                    _ => self.add_target(&dest_url),
                },
                Event::End(TagEnd::Link) => is_target = false,
                Event::Start(Tag::Image { .. }) => self.images += 1,
                Event::Start(tag) => {
                    self.tables += u32::from(matches!(tag, Tag::Table(_)));
                    self.separate(is_block(tag.to_end()));
                }
                Event::End(tag) => self.separate(is_block(tag)),
                Event::SoftBreak | Event::HardBreak | Event::Rule => self.visible.push('\n'),
                _ => {}
            }
        }
    }

    /// The targets of links as written, without their entities.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(&start, &end)| &self.targets[start..end])
    }

    /// The number of different e-mail addresses.
    pub fn addresses(&self) -> u32 {
        let mut all = BTreeSet::new();
        for part in self.visible.split(|c: char| c.is_whitespace() || "<>()[],;:\"".contains(c)) {
            all.extend(address(part));
        }
        let mailto = |target: &str| {
            let scheme = target.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("mailto:"))?;
            address(target[scheme.len()..].split('?').next()?)
        };
        all.extend(self.targets().filter_map(mailto));
        all.len() as u32
    }

    fn add_target(&mut self, target: &str) {
        self.targets.push_str(target);
        self.ends.push(self.targets.len());
    }

    /// Words of two blocks are two words.
    fn separate(&mut self, is_block: bool) {
        if is_block {
            self.visible.push('\n');
        }
    }

    /// Links, images, tables and text of HTML. An unfinished tag at the end counts as text.
    fn read_html(&mut self, html: &str) {
        let mut rest = html;
        while let Some(start) = rest.find('<') {
            self.push_html_text(&rest[..start]);
            rest = &rest[start..];
            let comment = rest.strip_prefix("<!--").and_then(|inside| inside.find("-->").map(|end| end + 7));
            match comment.or_else(|| tag_length(rest)) {
                Some(length) => {
                    self.read_tag(&rest[1..length - 1]);
                    self.visible.push(' ');
                    rest = &rest[length..];
                }
                None => {
                    self.visible.push('<');
                    rest = &rest[1..];
                }
            }
        }
        self.push_html_text(rest);
    }

    /// Adds text; entities separate words.
    fn push_html_text(&mut self, text: &str) {
        let mut rest = text;
        while let Some(start) = rest.find('&') {
            self.visible.push_str(&rest[..start]);
            let name = &rest[start + 1..];
            let length =
                name.bytes().take(10).take_while(|b| b.is_ascii_alphanumeric() || *b == b'#').count();
            self.visible.push(' ');
            rest = if name[length..].starts_with(';') { &name[length + 1..] } else { name };
        }
        self.visible.push_str(rest);
    }

    /// Reads what is between < and >.
    fn read_tag(&mut self, tag: &str) {
        let name = tag.split(|c: char| c.is_ascii_whitespace() || c == '/').next().unwrap_or_default();
        if name.eq_ignore_ascii_case("img") {
            self.images += 1;
        } else if name.eq_ignore_ascii_case("table") {
            self.tables += 1;
        } else if name.eq_ignore_ascii_case("a")
            && let Some(target) = attribute(&tag[name.len()..], "href")
        {
            self.add_target(&target.replace("&amp;", "&"));
        }
    }
}

/// Whether the tag stands for a block, not for a part of a line.
fn is_block(tag: TagEnd) -> bool {
    use TagEnd::{Emphasis, Link, Strikethrough, Strong, Subscript, Superscript};
    !matches!(tag, Emphasis | Strong | Strikethrough | Superscript | Subscript | Link)
}

/// The bytes of the tag that a text begins with; a > in quotes does not end it.
fn tag_length(text: &str) -> Option<usize> {
    let mut quote = None;
    let starts = text.as_bytes().get(1).is_some_and(|b| b.is_ascii_alphabetic() || b"/!?".contains(b));
    for (place, byte) in text.bytes().enumerate().filter(|_| starts) {
        match (quote, byte) {
            (None, b'>') => return Some(place + 1),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), close) if open == close => quote = None,
            _ => {}
        }
    }
    None
}

/// The value of an attribute.
fn attribute<'a>(attributes: &'a str, wanted: &str) -> Option<&'a str> {
    let mut rest = attributes.trim_start();
    while !rest.is_empty() {
        let end = rest.find(|c: char| c == '=' || c.is_ascii_whitespace()).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        rest = after.trim_start();
        let Some(value) = rest.strip_prefix('=').map(str::trim_start) else { continue };
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let value = &value[quote.map_or(0, char::len_utf8)..];
        let is_end = |c: char| quote.map_or(c.is_ascii_whitespace(), |quote| c == quote);
        let length = value.find(is_end).unwrap_or(value.len());
        if name.eq_ignore_ascii_case(wanted) {
            return Some(&value[..length]);
        }
        rest = value[length..].strip_prefix(['"', '\'']).unwrap_or(&value[length..]).trim_start();
    }
    None
}

/// The e-mail address that a text is: a name, an @ and a domain with a dot.
fn address(text: &str) -> Option<String> {
    let text = text.trim_matches(|c: char| !c.is_alphanumeric());
    let (name, domain) = text.split_once('@')?;
    let (host, last) = domain.rsplit_once('.')?;
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&b);
    let is_host = host.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.');
    let is_address = !name.is_empty()
        && name.bytes().all(is_name)
        && !host.is_empty()
        && is_host
        && last.len() > 1
        && last.bytes().all(|b| b.is_ascii_alphabetic());
    is_address.then(|| text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(markdown: &str) -> (Vec<String>, Vec<String>, [u32; 3]) {
        let mut text = Text::default();
        text.read("before [x](y) <b>");
        text.read(markdown);
        let words = text.visible.split_whitespace().map(str::to_owned).collect();
        (words, text.targets().map(str::to_owned).collect(), [text.images, text.tables, text.addresses()])
    }

    #[test]
    fn markdown_is_text_with_targets() {
        let (words, targets, counts) = read(
            "# A **b**old [link text](/to \"title\")\n\n![alt](pic.png) <https://auto.test/x> `code`\n\n| p | q |\n|---|---|\n\
             | r | [s][1] |\n\n- me@example.com, Me@Example.com; a@b\n\n[1]: &#x2F;ref\n[m](mailto:you@example.com?subject=x)",
        );
        assert_eq!(
            words,
            [
                "A",
                "bold",
                "link",
                "text",
                "alt",
                "code",
                "p",
                "q",
                "r",
                "s",
                "me@example.com,",
                "Me@Example.com;",
                "a@b",
                "m"
            ]
        );
        assert_eq!(targets, ["/to", "https://auto.test/x", "/ref", "mailto:you@example.com?subject=x"]);
        assert_eq!(counts, [1, 1, 2]);
    }

    #[test]
    fn html_within_is_read_too() {
        let (words, targets, counts) = read(
            "<table>\n<tr><td><A class=c title='a > b' HREF=\"/x?a&amp;b\">one</a>two&nbsp;three</td>\n</table>\n\n\
             in <a href=/y>line</a><br>end <img src=\"p\"> 1 < 2 <!-- hidden <a href=/no> --> &copy; <a name=z>",
        );
        assert_eq!(words, ["one", "two", "three", "in", "line", "end", "1", "<", "2", "©"]);
        assert_eq!(targets, ["/x?a&b", "/y"]);
        assert_eq!(counts, [1, 1, 0]);
    }

    #[test]
    fn unfinished_markup_is_text() {
        for markdown in
            ["<a href=\"x", "<div\n<a", "<div>\n<!-- x", "[a](", "<p>&", "<p>&é;<a =>", "<a href='é'é='", "<"]
        {
            let _ = read(markdown);
        }
        assert_eq!(read("<div>\n<a href=\"x").1, Vec::<String>::new());
    }
}

//! A body as a document that a person may look at: its structure and text, and nothing that acts or loads.
//!
//! Three passes. The bounded parser (module `html`) builds the tree, so that no page costs more than its bytes
//! allow. [`shown`] makes it what readers saw. ammonia then keeps what [`ELEMENTS`] and [`ATTRIBUTES`] name. None
//! of these elements has raw text, belongs to SVG or MathML, or loads anything, and none of these attributes has a
//! URL. So each `<` of the result begins one of these tags, however a browser nests them. [`look`] adds style
//! sheets, images and frames from the archive.

mod look;
mod shown;

pub use look::{ArchivedRequisite, Looked, inert_look};

use self::shown::ShownAs;
use crate::BodyFields;
use crate::html;
use crate::media::{BodyKind, MediaType};
use crate::shadow;
use ammonia::{Builder, UrlRelative};
use html5ever::tendril::StrTendril;
use html5ever::{LocalName, QualName, local_name, ns};
use recrawl_types::{CanonicalUrl, MediaTypes};
use scraper::Node;
use scraper::node::{Attributes, Element, Text};
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// Elements that stay, besides ammonia's own. Others go, and their content stays.
const ELEMENTS: [&str; 6] = ["address", "big", "main", "menu", "section", "tfoot"];
/// Elements of ammonia that go: without an image they show nothing.
const USELESS: [&str; 3] = ["area", "img", "map"];
/// Elements that go with their content: it is no text for people, or another document.
const DROPPED: [&str; 8] = ["iframe", "noembed", "noframes", "script", "style", "svg", "template", "title"];
/// Attributes that stay on every element.
const ATTRIBUTES: [&str; 3] = ["dir", "lang", "title"];
/// Attributes that stay on one element.
const OF_ELEMENTS: [(&str, &[&str]); 6] = [
    ("details", &["open"]),
    ("li", &["value"]),
    ("ol", &["reversed", "start"]),
    ("td", &["colspan", "rowspan"]),
    ("th", &["colspan", "rowspan", "scope"]),
    ("time", &["datetime"]),
];
/// Maximum bytes of a link's target that is shown.
const MAX_SHOWN_TARGET: usize = 1000;

/// Elements, besides those, of a page with its look. Forms and their fields send nothing: a form that a dialog would
/// close does nothing else.
const LOOKED_ELEMENTS: [&str; 24] = [
    "audio", "button", "canvas", "dialog", "fieldset", "font", "form", "img", "input", "label", "legend",
    "meter", "object", "optgroup", "option", "output", "picture", "progress", "search", "select", "summary",
    "textarea", "video", "wbr",
];
/// Attributes of such a page: those that its style sheets choose by, and older ways to say how an element looks.
const LOOKED_ATTRIBUTES: [&str; 21] = [
    "align",
    "bgcolor",
    "border",
    "cellpadding",
    "cellspacing",
    "class",
    "color",
    "disabled",
    "face",
    "height",
    "hspace",
    "id",
    "nowrap",
    "role",
    "size",
    "span",
    "style",
    "type",
    "valign",
    "vspace",
    "width",
];
/// The same on one element. A `src` and a `poster` are images with their data.
const OF_LOOKED_ELEMENTS: [(&str, &[&str]); 12] = [
    ("audio", &["controls"]),
    ("dialog", &["open"]),
    ("img", &["alt", "sizes", "src", "srcset"]),
    ("input", &["alt", "checked", "max", "min", "multiple", "placeholder", "src", "step", "value"]),
    ("meter", &["high", "low", "max", "min", "optimum", "value"]),
    ("optgroup", &["label"]),
    ("option", &["label", "selected", "value"]),
    ("progress", &["max", "value"]),
    ("select", &["multiple"]),
    ("table", &["frame", "rules"]),
    ("textarea", &["cols", "placeholder", "rows", "wrap"]),
    ("video", &["controls", "poster"]),
];

static CLEANER: LazyLock<Builder<'static>> = LazyLock::new(cleaner);

/// With what a page needs to look as it did. An image has its bytes in its attribute, since no other scheme of a URL stays.
static LOOKED_CLEANER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut cleaner = cleaner();
    cleaner
        .add_tags(LOOKED_ELEMENTS)
        .add_generic_attributes(LOOKED_ATTRIBUTES)
        .add_generic_attribute_prefixes(["data-", "aria-"])
        .set_tag_attribute_value("form", "method", "dialog")
        .add_url_schemes(["data"])
        .url_relative(UrlRelative::Deny)
        .attribute_filter(|element, name, value| {
            // An object of a type may ask for a program.
            let is_type = (element, name) == ("object", "type");
            let stays = is_plain_name(name) && !is_type && (name != "srcset" || is_one_image(value));
            stays.then_some(value.into())
        });
    for (element, attributes) in OF_LOOKED_ELEMENTS {
        cleaner.add_tag_attributes(element, attributes);
    }
    cleaner
});

/// Is it the name of an attribute that no reader takes for more?
fn is_plain_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Is a `srcset` one image with its data and its descriptor?
fn is_one_image(list: &str) -> bool {
    let Some((image, descriptor)) = list.split_once(' ') else { return false };
    let is_number = |number: &str| number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    stands_in_list(image) && descriptor.strip_suffix(['w', 'x']).is_some_and(is_number)
}

/// Is it an image with its data that a list of images can name? Blanks would end the address.
fn stands_in_list(image: &str) -> bool {
    image.starts_with("data:image/") && !image.contains(|c: char| c.is_ascii_whitespace())
}

fn cleaner() -> Builder<'static> {
    let mut cleaner = Builder::default();
    let of_elements =
        OF_ELEMENTS.iter().map(|(name, attributes)| (*name, attributes.iter().copied().collect()));
    cleaner
        .add_tags(ELEMENTS)
        .rm_tags(USELESS)
        .clean_content_tags(DROPPED.into())
        .generic_attributes(ATTRIBUTES.into())
        .tag_attributes(of_elements.collect::<HashMap<_, HashSet<_>>>())
        .url_schemes(HashSet::new())
        .link_rel(None);
    cleaner
}

/// The document without all that does not stay.
fn cleaned(html: &str, has_look: bool) -> String {
    let cleaner = if has_look { &LOOKED_CLEANER } else { &CLEANER };
    cleaner.clean(html).to_string()
}

/// The body of an inert HTML document; none if the type is neither HTML nor plain text. `url` served the bytes.
///
/// A link has no `href` any more: its `title` says where it led. An image is its alternative text, in brackets.
/// ```
/// use recrawl_extractor::{BodyFields, inert};
/// use recrawl_types::{MediaTypes, UrlRules};
///
/// let url = UrlRules::default().canonicalize("https://example.com/")?;
/// let body = b"<p onclick=steal()>Hello<script>steal()</script>";
/// let fields = BodyFields { content_type: Some("text/html"), ..BodyFields::default() };
/// let document = inert(body, &fields, &url, &MediaTypes::default()).expect("it is a page");
/// assert!(document.contains("Hello") && !document.contains("steal"));
/// # Ok::<(), recrawl_types::UrlError>(())
/// ```
pub fn inert(body: &[u8], fields: &BodyFields<'_>, url: &CanonicalUrl, types: &MediaTypes) -> Option<String> {
    let media = MediaType::detect(fields, body, types);
    let text = || html::decode(body, &media, url).text;
    match media.kind {
        BodyKind::Opaque => None,
        BodyKind::Plain => Some(inert_text(&text())),
        BodyKind::Html | BodyKind::Xhtml => Some(inert_html(&text())),
    }
}

/// A text as the body of an inert HTML document.
pub fn inert_text(text: &str) -> String {
    // The parser drops a line break right after the tag.
    format!("<pre>\n{}</pre>", escaped(text))
}

/// A text in HTML, or in the quotes of an attribute.
fn escaped(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    let is_special = |byte| matches!(byte, b'&' | b'"' | b'<' | b'>');
    while let Some(at) = rest.bytes().position(is_special) {
        out.push_str(&rest[..at]);
        out.push_str(match rest.as_bytes()[at] {
            b'&' => "&amp;",
            b'"' => "&quot;",
            b'<' => "&lt;",
            _ => "&gt;",
        });
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out
}

fn inert_html(text: &str) -> String {
    let (mut html, _) = html::parse(text, html::Attributes::All);
    shown::keep_shown(&mut html, ShownAs::Text);
    for node in html.tree.values_mut() {
        let Node::Element(element) = node else { continue };
        if let Some(text) = alternative(element) {
            *node = Node::Text(Text { text });
        } else {
            rename(&mut element.name);
            show_target(&mut element.attrs);
        }
    }
    cleaned(&html.html(), false)
}

/// Elements that a fragment cannot have, or whose content a browser with scripts reads as text, become plain blocks.
/// So language and direction of the document stay. A shadow tree is a block, too, and other preformatted text is `pre`.
fn rename(name: &mut QualName) {
    let other = match name.local {
        local_name!("html") | local_name!("body") | local_name!("noscript") => local_name!("div"),
        local_name!("textarea") | local_name!("xmp") | local_name!("listing") | local_name!("plaintext") => {
            local_name!("pre")
        }
        _ if shadow::is_root(name) => local_name!("div"),
        _ => return,
    };
    *name = QualName::new(None, ns!(html), other);
}

/// The text that stands for an image.
fn alternative(element: &Element) -> Option<StrTendril> {
    let text = element.attr("alt").filter(|text| element.name() == "img" && !text.trim().is_empty())?;
    Some(format!("[{}]", text.trim()).into())
}

/// The target of a link becomes its title.
fn show_target(attributes: &mut Attributes) {
    let named = |name: &QualName, wanted: &LocalName| name.local == *wanted;
    if !attributes.iter().any(|(name, _)| named(name, &local_name!("href"))) {
        return;
    }
    attributes.retain(|(name, _)| !named(name, &local_name!("title")));
    for (name, value) in attributes.iter_mut().filter(|(name, _)| named(name, &local_name!("href"))) {
        name.local = local_name!("title");
        let end = (0..=value.len().min(MAX_SHOWN_TARGET)).rev().find(|at| value.is_char_boundary(*at));
        *value = StrTendril::from_slice(&value[..end.unwrap_or(0)]);
    }
}

#[cfg(test)]
mod tests;

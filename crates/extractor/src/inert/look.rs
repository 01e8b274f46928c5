//! The look of an archived page: its style sheets and images, in the document itself.
//!
//! Nothing is asked for: each style sheet becomes a `style` element, each image and font a `data:` URL, and any other
//! reference of a style leads nowhere. An SVG drawing is an image, too (module `drawings`). What
//! is put in is bounded by [`MAX_LOOK`] for the document, in the order in which it stands there.

use crate::base::ReferenceResolver;
use crate::html;
use crate::inert::drawings::{self, DrawingFiles, Sprites};
use crate::inert::{alternative, cleaned, rename, show_target, shown};
use crate::media::media_type;
use crate::requisites::{
    CssTarget, LAZY_SRC, LAZY_SRCSET, candidates, document, resolved, rewrite, style_text,
};
use crate::{BodyFields, RequisiteKind};
use data_encoding::BASE64;
use ego_tree::NodeId;
use html5ever::tendril::StrTendril;
use html5ever::tree_builder::QuirksMode;
use html5ever::{LocalName, QualName, ns};
use recrawl_types::{CanonicalUrl, MediaTypes, UrlRules};
use scraper::node::{Element, Node, Text};
use scraper::{ElementRef, Html};
use std::fmt::Write as _;
use std::sync::Arc;

/// Bytes of style sheets, and of images and fonts as text, in a document.
const MAX_LOOK: usize = 16 << 20;
/// Style sheets in each other: one that imports itself ends here.
const MAX_IMPORTS: usize = 8;
/// Requisites that found no room, before the archive is asked for no more.
const MAX_WITHOUT_ROOM: usize = 16;
/// Pixels of the screen for which images are chosen.
const WIDTH: f64 = 1280.0;
/// Attributes that stay of what becomes an image: those of its box.
const OF_BOX: [&str; 5] = ["class", "height", "id", "style", "width"];
/// Types of images that browsers show.
const IMAGES: [&str; 6] =
    ["image/avif", "image/gif", "image/jpeg", "image/png", "image/svg+xml", "image/webp"];
/// A reference that leads nowhere.
const NOWHERE: &str = "url(\"data:,\")";
/// Attributes of `html` and `body` that stay.
const OF_BODY: [&str; 8] = ["bgcolor", "class", "dir", "id", "lang", "link", "style", "text"];

/// A requisite as the archive has it.
#[derive(Clone, Debug)]
pub struct ArchivedRequisite {
    /// The URL that served it, behind redirects.
    pub url: CanonicalUrl,
    /// The declared media type.
    pub content_type: Option<String>,
    /// The body.
    pub body: Arc<[u8]>,
}

/// A page with its look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// `style` elements for the head.
    pub styles: String,
    /// Attributes of the `html` element.
    pub html_attributes: String,
    /// Attributes of the `body` element.
    pub body_attributes: String,
    /// The content of the body.
    pub body: String,
    /// Requisites that the page names, and the archive or the room did not have.
    pub missing: usize,
    /// Does a browser lay it out with the quirks of old browsers, for want of a document type?
    pub has_quirks: bool,
}

/// The same as [`inert`](crate::inert()), with the look of a page; none if it is not HTML.
pub fn inert_look(
    body: &[u8],
    fields: &BodyFields<'_>,
    url: &CanonicalUrl,
    types: &MediaTypes,
    archive: &mut dyn FnMut(&CanonicalUrl, RequisiteKind) -> Option<ArchivedRequisite>,
) -> Option<Looked> {
    let (mut html, encoding) = document(body, fields, url, types)?;
    let rules = UrlRules::keep_all();
    let base = html::base(&html).map(str::to_owned);
    let resolver = ReferenceResolver::of_page(url, base.as_deref(), &rules, encoding);
    let mut look = LookWriter { archive, rules: &rules, room: MAX_LOOK, without_room: 0, missing: 0 };
    let styles = look.styles(&html, &resolver);
    // Before what is hidden goes: drawings may be made of it.
    let mut sprites = Sprites::new();
    for drawing in drawings::drawings(&html) {
        let files = &mut DrawingLook { look: &mut look, resolver: &resolver };
        let image = drawings::image(&html, drawing, &mut sprites, files);
        replace(&mut html, drawing, image);
    }
    for (still, reference) in stills(&html) {
        if let Some(image) = look.data(&reference, &resolver, RequisiteKind::Image) {
            replace(&mut html, still, Some(image));
        }
    }
    shown::keep_shown(&mut html);
    let of_root = |html: &Html, name: &str| find(html, name).map(|element| attributes(element.value()));
    // Of the picture that was met last, for its image.
    let mut of_picture = Vec::new();
    // What is not shown is in the tree no more.
    let shown: Vec<_> = html.tree.root().descendants().map(|node| node.id()).collect();
    for handle in shown {
        let Some(mut node) = html.tree.get_mut(handle) else { continue };
        let Node::Element(element) = node.value() else { continue };
        look.background(element, &resolver);
        look.inline_style(element, &resolver);
        match element.name() {
            "picture" => of_picture.clear(),
            "source" if is_shown(element) => {
                let lists = LAZY_SRCSET.into_iter().chain(["srcset"]).filter_map(|name| element.attr(name));
                of_picture.extend(lists.flat_map(candidates).map(str::to_owned));
            }
            _ => {}
        }
        let is_root = matches!(element.name(), "html" | "body");
        if element.name() == "img" && !look.image(element, &resolver, &std::mem::take(&mut of_picture)) {
            let text = alternative(element).unwrap_or_default();
            *node.value() = Node::Text(Text { text });
        } else if !is_root {
            stand_in(&mut element.name);
            rename(&mut element.name);
            show_target(&mut element.attrs);
        }
    }
    let (html_attributes, body_attributes) = (of_root(&html, "html"), of_root(&html, "body"));
    let content = find(&html, "body").map_or_else(|| html.html(), |body| body.inner_html());
    Some(Looked {
        styles,
        html_attributes: html_attributes.unwrap_or_default(),
        body_attributes: body_attributes.unwrap_or_default(),
        body: cleaned(&content, true),
        missing: look.missing,
        has_quirks: html.quirks_mode == QuirksMode::Quirks,
    })
}

/// Puts an image in the place of something else, with its box; an empty one if there is none.
fn replace(html: &mut Html, other: NodeId, image: Option<String>) {
    let Some(mut node) = html.tree.get_mut(other) else { return };
    while let Some(mut child) = node.first_child() {
        child.detach();
    }
    if let Node::Element(element) = node.value() {
        element.name = QualName::new(None, ns!(html), LocalName::from("img"));
        element.attrs.retain(|(name, _)| OF_BOX.contains(&&*name.local));
        let src = QualName::new(None, ns!(), LocalName::from("src"));
        element.attrs.extend(image.map(|image| (src, StrTendril::from(image))));
        // They are searched by halving.
        element.attrs.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    }
}

/// Videos with their posters, and images that are put in as objects.
fn stills(html: &Html) -> Vec<(NodeId, String)> {
    let elements = html.tree.root().descendants().filter_map(ElementRef::wrap);
    let found = elements.filter_map(|element| {
        let is_image = element.attr("type").is_some_and(|kind| kind.starts_with("image/"));
        let reference = match element.value().name() {
            "video" => element.attr("poster"),
            "object" => element.attr("data").filter(|_| is_image),
            "embed" => element.attr("src").filter(|_| is_image),
            _ => None,
        };
        Some((element.id(), reference?.to_owned()))
    });
    found.collect()
}

/// The first element of this name.
fn find<'h>(html: &'h Html, name: &str) -> Option<ElementRef<'h>> {
    let elements = html.tree.root().descendants().filter_map(ElementRef::wrap);
    elements
        .filter(|element| element.value().name() == name)
        .find(|element| element.value().name.ns == ns!(html))
}

/// The attributes of a root element that stay, as text.
fn attributes(element: &Element) -> String {
    let mut out = String::new();
    for name in OF_BODY {
        if let Some(value) = element.attr(name) {
            let _ = write!(out, " {name}=\"{}\"", escaped(value));
        }
    }
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

struct LookWriter<'l> {
    archive: &'l mut dyn FnMut(&CanonicalUrl, RequisiteKind) -> Option<ArchivedRequisite>,
    rules: &'l UrlRules,
    /// Bytes that may still be put in.
    room: usize,
    without_room: usize,
    missing: usize,
}

impl LookWriter<'_> {
    /// The style sheets of a document, in their order.
    fn styles(&mut self, html: &Html, resolver: &ReferenceResolver<'_>) -> String {
        let mut out = String::new();
        for node in html.tree.root().descendants() {
            let Node::Element(element) = node.value() else { continue };
            let text = match element.name() {
                "style" => {
                    let text = node.children().filter_map(|child| child.value().as_text());
                    let text: String = text.map(|text| &**text).collect();
                    self.take(text.len()).then(|| self.rewritten(&text, resolver, 0))
                }
                "link" if is_style_sheet(element) => {
                    element.attr("href").and_then(|reference| self.sheet(reference, resolver, 0))
                }
                _ => None,
            };
            // Imported text may end within a string or a comment, so that what stood in one loads something.
            if let Some(text) = text.map(|text| rewrite(&text, &mut only_inline)) {
                let media = element.attr("media").map(|media| format!(" media=\"{}\"", escaped(media)));
                let _ = writeln!(out, "<style{}>{text}</style>", media.unwrap_or_default());
            }
        }
        out
    }

    fn take(&mut self, bytes: usize) -> bool {
        let has_room = bytes <= self.room;
        if has_room {
            self.room -= bytes;
        } else {
            self.missing += 1;
            self.without_room += 1;
        }
        has_room
    }

    fn get(
        &mut self,
        reference: &str,
        resolver: &ReferenceResolver<'_>,
        kind: RequisiteKind,
    ) -> Option<ArchivedRequisite> {
        let url = resolved(resolver, reference)?;
        let has_room = self.without_room < MAX_WITHOUT_ROOM;
        let found = if has_room { (self.archive)(&url, kind) } else { None };
        self.missing += usize::from(found.is_none());
        found
    }

    /// The text of a style sheet, with those that it imports.
    fn sheet(&mut self, reference: &str, resolver: &ReferenceResolver<'_>, depth: usize) -> Option<String> {
        let ArchivedRequisite { url, content_type, body } =
            self.get(reference, resolver, RequisiteKind::Style)?;
        let text = style_text(&body, content_type.as_deref(), &url);
        if !self.take(text.len()) {
            return None;
        }
        let rules = self.rules;
        Some(self.rewritten(&text, &ReferenceResolver::new(&url, None, rules), depth))
    }

    fn rewritten(&mut self, css: &str, resolver: &ReferenceResolver<'_>, depth: usize) -> String {
        rewrite(css, &mut |target| match target {
            CssTarget::Import { reference, conditions } if depth < MAX_IMPORTS => {
                let sheet = self.sheet(&reference, resolver, depth + 1);
                sheet.map(|text| under(conditions, text)).unwrap_or_default()
            }
            CssTarget::Import { .. } | CssTarget::Nothing => String::new(),
            CssTarget::Font(reference) => self.data_url(&reference, resolver, RequisiteKind::Font),
            CssTarget::Image(reference) => self.data_url(&reference, resolver, RequisiteKind::Image),
        })
    }

    fn data_url(&mut self, reference: &str, resolver: &ReferenceResolver<'_>, kind: RequisiteKind) -> String {
        let reference = reference.trim();
        // A part of the document, and what the page itself has inline.
        if reference.starts_with('#') {
            return format!("url(\"{}\")", css_string(reference));
        }
        let own = self.own_data(reference);
        let data = own.or_else(|| self.data(reference, resolver, kind));
        data.map_or_else(|| NOWHERE.into(), |data| format!("url(\"{}\")", css_string(&data)))
    }

    /// A `data:` URL that the page has: an image or a font.
    fn own_data(&mut self, reference: &str) -> Option<String> {
        let is_data = reference.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"));
        (is_data && self.take(reference.len())).then(|| reference.to_owned())
    }

    fn data(
        &mut self,
        reference: &str,
        resolver: &ReferenceResolver<'_>,
        kind: RequisiteKind,
    ) -> Option<String> {
        let ArchivedRequisite { content_type, body, .. } = self.get(reference, resolver, kind)?;
        let kind_of_body = media_type(content_type.as_deref(), &body);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '+' | '-' | '.');
        let is_shown = match kind {
            RequisiteKind::Image => kind_of_body.starts_with("image/"),
            _ => !kind_of_body.contains("html"),
        };
        if !is_shown || !kind_of_body.chars().all(is_plain) {
            return None;
        }
        let length = BASE64.encode_len(body.len()) + kind_of_body.len();
        self.take(length).then(|| format!("data:{kind_of_body};base64,{}", BASE64.encode(&body)))
    }

    /// Puts an image into its element, its own or one of its picture; false if there is none.
    fn image(
        &mut self,
        element: &mut Element,
        resolver: &ReferenceResolver<'_>,
        of_picture: &[String],
    ) -> bool {
        // No script will put the late ones in the place of the others.
        let value = |name: &str| element.attr(name).map(str::to_owned);
        let sources: Vec<String> = LAZY_SRC.into_iter().chain(["src"]).filter_map(value).collect();
        let lists: Vec<String> = LAZY_SRCSET.into_iter().chain(["srcset"]).filter_map(value).collect();
        let own = lists.iter().flat_map(|list| candidates(list));
        let mut all = of_picture.iter().chain(&sources).map(String::as_str).chain(own);
        let data = all.find_map(|reference| {
            self.own_data(reference.trim()).or_else(|| self.data(reference, resolver, RequisiteKind::Image))
        });
        let Some(data) = data else { return false };
        let src = QualName::new(None, ns!(), LocalName::from("src"));
        let is_source = |name: &str| {
            ["src", "srcset"].contains(&name) || LAZY_SRC.contains(&name) || LAZY_SRCSET.contains(&name)
        };
        element.attrs.retain(|(name, _)| !is_source(&name.local));
        element.attrs.push((src, StrTendril::from(data)));
        true
    }

    /// The older way to say which image is behind a part of the page, as a style.
    fn background(&mut self, element: &mut Element, resolver: &ReferenceResolver<'_>) {
        let name = |name: &str| LocalName::from(name);
        let Some(reference) = element.attr("background") else { return };
        let image = format!("background-image:{};", self.data_url(reference, resolver, RequisiteKind::Image));
        match element.attrs.iter_mut().find(|(attribute, _)| attribute.local == name("style")) {
            // What the element's own style says comes later, and outweighs it.
            Some((_, style)) => *style = StrTendril::from(image + style),
            None => {
                element.attrs.push((QualName::new(None, ns!(), name("style")), StrTendril::from(image)));
                element.attrs.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
            }
        }
    }

    fn inline_style(&mut self, element: &mut Element, resolver: &ReferenceResolver<'_>) {
        for (name, value) in element.attrs.iter_mut().filter(|(name, _)| &*name.local == "style") {
            debug_assert_eq!(name.ns, ns!());
            *value = self.rewritten(value, resolver, MAX_IMPORTS).into();
        }
    }
}

/// Files that drawings name, as the archive has them.
struct DrawingLook<'d, 'l> {
    look: &'d mut LookWriter<'l>,
    resolver: &'d ReferenceResolver<'d>,
}

impl DrawingFiles for DrawingLook<'_, '_> {
    fn image(&mut self, reference: &str) -> Option<String> {
        let own = self.look.own_data(reference);
        own.or_else(|| self.look.data(reference, self.resolver, RequisiteKind::Image))
    }

    fn text(&mut self, reference: &str) -> Option<String> {
        let found = self.look.get(reference, self.resolver, RequisiteKind::Image)?;
        Some(String::from_utf8_lossy(&found.body).into_owned())
    }
}

/// A reference of a finished style sheet: to its own data, or a part of the document.
fn only_inline(target: CssTarget<'_>) -> String {
    match target {
        CssTarget::Font(reference) | CssTarget::Image(reference)
            if reference.starts_with("data:") || reference.starts_with('#') =>
        {
            format!("url(\"{}\")", css_string(&reference))
        }
        CssTarget::Font(_) | CssTarget::Image(_) => NOWHERE.into(),
        CssTarget::Import { .. } | CssTarget::Nothing => String::new(),
    }
}

/// Does a source of a picture come before its image, on a wide screen?
fn is_shown(source: &Element) -> bool {
    let is_known = |kind: &str| IMAGES.contains(&&*kind.trim().to_ascii_lowercase());
    source.attr("media").is_none_or(holds) && source.attr("type").is_none_or(is_known)
}

/// Does a media query hold on a screen of [`WIDTH`]? Only the common ones are read; others do not.
fn holds(media: &str) -> bool {
    media.split(" and ").all(|part| {
        let part = part.trim().trim_matches(['(', ')']);
        let Some((name, value)) = part.split_once(':') else { return matches!(part, "screen" | "all") };
        let width = value.trim().strip_suffix("px").and_then(|number| number.trim().parse::<f64>().ok());
        match (name.trim(), width) {
            ("min-width", Some(width)) => width <= WIDTH,
            ("max-width", Some(width)) => width >= WIDTH,
            _ => false,
        }
    })
}

/// An element that does not stay becomes one that does, with its place, its classes and its style.
fn stand_in(name: &mut QualName) {
    let other = match &*name.local {
        "dialog" | "fieldset" | "form" | "legend" => "div",
        "button" | "label" | "output" => "span",
        custom if custom.contains('-') && !custom.starts_with('#') => "span",
        _ => return,
    };
    *name = QualName::new(None, ns!(html), LocalName::from(other));
}

/// Is it a style sheet that is on from the start?
fn is_style_sheet(element: &Element) -> bool {
    let rel = element.attr("rel").unwrap_or_default().to_ascii_lowercase();
    let has = |name: &str| rel.split_ascii_whitespace().any(|token| token == name);
    has("stylesheet") && !has("alternate") && element.attr("disabled").is_none()
}

/// A text in a string of CSS.
fn css_string(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\a ")
        .replace('\r', "\\d ")
        .replace('\x0c', "\\c ")
}

/// An imported style sheet under the conditions of its rule: a layer, what must be supported, media.
fn under(conditions: &str, text: String) -> String {
    let (mut rest, mut layer, mut supported) = (conditions, None, None);
    if let Some(behind) = strip_name(rest, "layer") {
        let (name, after) = parenthesised(behind).unwrap_or(("", behind));
        (layer, rest) = (Some(name), after.trim_start());
    }
    if let Some((condition, after)) = strip_name(rest, "supports").and_then(parenthesised) {
        (supported, rest) = (Some(condition), after.trim_start());
    }
    let mut text = if rest.is_empty() { text } else { format!("@media {rest} {{{text}\n}}") };
    if let Some(condition) = supported {
        text = format!("@supports ({condition}) {{{text}\n}}");
    }
    if let Some(name) = layer {
        text = format!("@layer {name} {{{text}\n}}");
    }
    text
}

/// The text behind a word, which ends there.
fn strip_name<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let start = text.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(name))?;
    let rest = &text[start.len()..];
    let ends = rest.chars().next().is_none_or(|next| next.is_ascii_whitespace() || next == '(');
    ends.then_some(rest)
}

/// The text in the parentheses that it begins with, and what stands behind them.
fn parenthesised(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('(')?;
    let mut depth = 1;
    for (at, byte) in inner.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((&inner[..at], &inner[at + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests;

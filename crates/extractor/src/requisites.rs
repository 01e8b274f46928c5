//! Requisites of a page: what a browser loads to show it. Style sheets and what they name, scripts, fonts, images, frames,
//! media.
//!
//! They are no links: nobody is led there. All that a browser might choose is found, such as each candidate of a `srcset`,
//! since an archive does not know the screen of its readers.

mod css;
mod modules;
mod srcset;

pub(crate) use css::{CssTarget, rewrite, scan};
pub(crate) use srcset::{candidates, described, top_level};

use crate::BodyFields;
use crate::base::ReferenceResolver;
use crate::charset::{self, Decoded, Syntax};
use crate::html::{self, Attributes};
use crate::media::{BodyKind, MediaType};
use crate::walk::{MAX_EMBEDDED, MAX_NESTED};
use encoding_rs::Encoding;
use html5ever::ns;
use recrawl_types::url::MAX_URL_BYTES;
use recrawl_types::{CanonicalUrl, MediaTypes, UrlRules};
use scraper::Html;
use scraper::node::{Element, Node};
use std::collections::HashSet;

/// Where scripts that load images late look for their address: the `src` is a placeholder until then.
pub(crate) const LAZY_SRC: [&str; 3] = ["data-src", "data-lazy-src", "data-original"];
/// The same of a list of candidates.
pub(crate) const LAZY_SRCSET: [&str; 2] = ["data-srcset", "data-lazy-srcset"];

/// The part that a requisite plays. Where a limit leaves some out, the first ones of this list matter most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequisiteKind {
    /// A style sheet.
    Style,
    /// A script.
    Script,
    /// A script that imports others.
    Module,
    /// A font.
    Font,
    /// An image or an icon.
    Image,
    /// A document in a frame.
    Frame,
    /// Sound, video, subtitles.
    Media,
}

impl RequisiteKind {
    /// Does its body name further requisites?
    pub fn names_more(self) -> bool {
        matches!(self, RequisiteKind::Style | RequisiteKind::Module | RequisiteKind::Frame)
    }
}

/// A requisite of a page.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Requisite {
    /// Its URL, with all parameters.
    pub url: CanonicalUrl,
    /// Its part.
    pub kind: RequisiteKind,
}

/// The distinct requisites of an HTML document, the most important first; none of other bodies.
///
/// ```
/// use recrawl_extractor::{BodyFields, requisites};
/// use recrawl_types::{MediaTypes, UrlRules};
///
/// let url = UrlRules::default().canonicalize("https://example.com/a/")?;
/// let body = b"<img src=b.png><link rel=stylesheet href=/c.css><a href=d>A link</a>";
/// let fields = BodyFields { content_type: Some("text/html"), ..BodyFields::default() };
/// let found: Vec<String> =
///     requisites(body, &fields, &url, &MediaTypes::default()).iter().map(|r| r.url.to_string()).collect();
/// assert_eq!(found, ["https://example.com/c.css", "https://example.com/a/b.png"]);
/// # Ok::<(), recrawl_types::UrlError>(())
/// ```
pub fn requisites(
    body: &[u8],
    fields: &BodyFields<'_>,
    url: &CanonicalUrl,
    types: &MediaTypes,
) -> Vec<Requisite> {
    let Some((html, encoding)) = document(body, fields, url, types) else { return Vec::new() };
    let rules = UrlRules::keep_all();
    let resolver = ReferenceResolver::of_page(url, html::base(&html), &rules, encoding);
    let mut found = FoundRequisites::new(&resolver, url);
    found.document(&html);
    found.finish()
}

/// The tree of an HTML document, and the encoding of the queries in it; none of any other body.
pub(crate) fn document(
    body: &[u8],
    fields: &BodyFields<'_>,
    url: &CanonicalUrl,
    types: &MediaTypes,
) -> Option<(Html, &'static Encoding)> {
    let media = MediaType::detect(fields, body, types);
    if !matches!(media.kind, BodyKind::Html | BodyKind::Xhtml) {
        return None;
    }
    let Decoded { text, encoding } = html::decode(body, &media, url);
    let (html, _) = html::parse(&text, Attributes::All);
    Some((html, fields.queries.unwrap_or(encoding)))
}

impl Requisite {
    /// The same of this requisite, by the body that its URL served.
    pub fn named_in(&self, body: &[u8], fields: &BodyFields<'_>, types: &MediaTypes) -> Vec<Requisite> {
        let Requisite { url, kind } = self;
        if *kind == RequisiteKind::Frame {
            return requisites(body, fields, url, types);
        }
        let rules = UrlRules::keep_all();
        let resolver = ReferenceResolver::new(url, None, &rules);
        let mut found = FoundRequisites::new(&resolver, url);
        match kind {
            RequisiteKind::Style => found.style(&style_text(body, fields.content_type, url)),
            RequisiteKind::Module => found.module(&style_text(body, fields.content_type, url)),
            _ => {}
        }
        found.finish()
    }
}

/// A style sheet or a module as text.
pub(crate) fn style_text(body: &[u8], content_type: Option<&str>, url: &CanonicalUrl) -> String {
    let label = content_type.and_then(|kind| {
        kind.to_ascii_lowercase().split_once("charset=").map(|(_, label)| {
            label.trim_matches(['"', '\'', ' ']).split(';').next().unwrap_or_default().to_owned()
        })
    });
    charset::decode(body, label.as_deref(), Syntax::Plain, &url.host()).text.into_owned()
}

/// The canonical URL of a reference to a requisite. What is in the reference itself needs no request.
pub(crate) fn resolved(resolver: &ReferenceResolver<'_>, reference: &str) -> Option<CanonicalUrl> {
    let reference = reference.trim();
    let is_local = reference.is_empty() || reference.starts_with('#');
    if is_local || reference.len() > MAX_URL_BYTES || resolver.is_spent() {
        return None;
    }
    resolver.resolve(reference).ok()
}

struct FoundRequisites<'r> {
    resolver: &'r ReferenceResolver<'r>,
    own: &'r CanonicalUrl,
    seen: HashSet<CanonicalUrl>,
    all: Vec<Requisite>,
    /// Documents in the page so far, and those that are open.
    embedded: usize,
    nested: usize,
}

impl<'r> FoundRequisites<'r> {
    fn new(resolver: &'r ReferenceResolver<'r>, own: &'r CanonicalUrl) -> FoundRequisites<'r> {
        FoundRequisites { resolver, own, seen: HashSet::new(), all: Vec::new(), embedded: 0, nested: 0 }
    }

    fn finish(mut self) -> Vec<Requisite> {
        // Those of a kind stay in the order of the page.
        self.all.sort_by_key(|requisite| requisite.kind);
        self.all
    }

    fn add(&mut self, kind: RequisiteKind, reference: &str) {
        let Some(url) = resolved(self.resolver, reference).filter(|url| url != self.own) else { return };
        if self.seen.insert(url.clone()) {
            self.all.push(Requisite { url, kind });
        }
    }

    fn document(&mut self, html: &Html) {
        for node in html.tree.root().descendants() {
            let Node::Element(element) = node.value() else { continue };
            let text = || -> String {
                node.children().filter_map(|child| child.value().as_text()).map(|text| &**text).collect()
            };
            match (element.name(), script_type(element)) {
                ("style", _) => self.style(&text()),
                ("script", Some("module")) if element.attr("src").is_none() => self.module(&text()),
                ("script", Some("importmap")) => self.import_map(&text()),
                (name, _) => self.element(name, element),
            }
            if let Some(style) = element.attr("style") {
                self.style(style);
            }
        }
    }

    fn element(&mut self, name: &str, element: &Element) {
        match name {
            "link" => {
                if let Some(kind) = kind_of_link(element) {
                    self.attribute(kind, element, "href");
                    self.srcset(element.attr("imagesrcset"));
                }
            }
            "script" => {
                let is_module = script_type(element) == Some("module");
                let kind = if is_module { RequisiteKind::Module } else { RequisiteKind::Script };
                self.attribute(kind, element, "src");
            }
            "img" => {
                self.sources(RequisiteKind::Image, element);
                self.srcsets(element);
            }
            // Of a picture, or of sound or video.
            "source" => {
                self.srcsets(element);
                self.attribute(RequisiteKind::Media, element, "src");
            }
            "input" if element.attr("type").is_some_and(|kind| kind.eq_ignore_ascii_case("image")) => {
                self.attribute(RequisiteKind::Image, element, "src");
            }
            "video" => {
                self.attribute(RequisiteKind::Image, element, "poster");
                self.attribute(RequisiteKind::Media, element, "src");
            }
            "audio" | "track" => self.attribute(RequisiteKind::Media, element, "src"),
            "iframe" if element.attr("srcdoc").is_some() => {
                self.embed(element.attr("srcdoc").unwrap_or_default());
            }
            "iframe" | "frame" => self.sources(RequisiteKind::Frame, element),
            "embed" => self.attribute(RequisiteKind::Media, element, "src"),
            "object" => self.attribute(RequisiteKind::Media, element, "data"),
            "body" | "table" | "tbody" | "thead" | "tfoot" | "tr" | "td" | "th" => {
                self.attribute(RequisiteKind::Image, element, "background");
            }
            "image" | "feImage" | "use" if element.name.ns == ns!(svg) => {
                let targets = element.attrs.iter().filter(|(name, _)| &*name.local == "href");
                targets.for_each(|(_, reference)| self.add(RequisiteKind::Image, reference));
            }
            _ => {}
        }
    }

    fn attribute(&mut self, kind: RequisiteKind, element: &Element, name: &str) {
        if let Some(reference) = element.attr(name) {
            self.add(kind, reference);
        }
    }

    fn sources(&mut self, kind: RequisiteKind, element: &Element) {
        for name in ["src"].into_iter().chain(LAZY_SRC) {
            self.attribute(kind, element, name);
        }
    }

    fn srcsets(&mut self, element: &Element) {
        for name in ["srcset"].into_iter().chain(LAZY_SRCSET) {
            self.srcset(element.attr(name));
        }
    }

    /// Finds those of a document in the page.
    fn embed(&mut self, document: &str) {
        if self.nested == MAX_NESTED || self.embedded == MAX_EMBEDDED {
            return;
        }
        let (html, _) = html::parse(document, Attributes::All);
        let mut inner = FoundRequisites {
            resolver: &self.resolver.embedded(html::base(&html)),
            own: self.own,
            seen: std::mem::take(&mut self.seen),
            all: std::mem::take(&mut self.all),
            embedded: self.embedded + 1,
            nested: self.nested + 1,
        };
        inner.document(&html);
        (self.seen, self.all, self.embedded) = (inner.seen, inner.all, inner.embedded);
    }

    fn srcset(&mut self, list: Option<&str>) {
        for reference in candidates(list.unwrap_or_default()) {
            self.add(RequisiteKind::Image, reference);
        }
    }

    fn module(&mut self, text: &str) {
        modules::scan(text, &mut |specifier| self.add(RequisiteKind::Module, specifier));
    }

    /// The modules that a map names. Entries that end in `/` are the beginnings of their addresses.
    fn import_map(&mut self, text: &str) {
        let map: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
        let scopes = map["scopes"].as_object().into_iter().flat_map(|scopes| scopes.values());
        for names in scopes.chain([&map["imports"]]).filter_map(|names| names.as_object()) {
            let addresses = names.values().filter_map(|address| address.as_str());
            addresses
                .filter(|address| !address.ends_with('/'))
                .for_each(|address| self.add(RequisiteKind::Module, address));
        }
    }

    fn style(&mut self, text: &str) {
        css::scan(text, &mut |reference| match reference.target {
            CssTarget::Import { reference, .. } => self.add(RequisiteKind::Style, &reference),
            CssTarget::Font(reference) => self.add(RequisiteKind::Font, &reference),
            CssTarget::Image(reference) => self.add(RequisiteKind::Image, &reference),
            CssTarget::Link | CssTarget::Href | CssTarget::Nothing => {}
        });
    }
}

/// The type of a script that is no classic one.
fn script_type(element: &Element) -> Option<&'static str> {
    let kind = element.attr("type")?.trim();
    ["module", "importmap"].into_iter().find(|known| kind.eq_ignore_ascii_case(known))
}

/// The kind of requisite that a link element loads; none if it only leads somewhere.
fn kind_of_link(element: &Element) -> Option<RequisiteKind> {
    let rel = element.attr("rel")?.to_ascii_lowercase();
    let has = |wanted: &[&str]| rel.split_ascii_whitespace().any(|token| wanted.contains(&token));
    match () {
        () if has(&["stylesheet"]) => Some(RequisiteKind::Style),
        () if has(&["icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon"]) => {
            Some(RequisiteKind::Image)
        }
        () if has(&["modulepreload"]) => Some(RequisiteKind::Module),
        () if has(&["preload"]) => match element.attr("as")?.to_ascii_lowercase().as_str() {
            "style" => Some(RequisiteKind::Style),
            "script" => Some(RequisiteKind::Script),
            "font" => Some(RequisiteKind::Font),
            "image" => Some(RequisiteKind::Image),
            _ => None,
        },
        () => None,
    }
}

#[cfg(test)]
mod tests;

//! The look of an archived page: its style sheets, images and frames, in the document itself.
//!
//! Nothing is asked for: each style sheet becomes a `style` element, each image and font a `data:` URL, each frame a sandboxed
//! one with its document, and any other reference of a style leads nowhere. A sanitiser cleans the page (module `inert`);
//! drawings and frames are written by modules of their own, and put into its result, as [`Pieces`]. What is put in is bounded
//! by [`MAX_LOOK`] for the document, in the order in which it stands there.

mod drawings;
mod frames;
mod images;
mod sheets;

use self::drawings::{DrawingFiles, DrawnDocument, Sprites};
use self::images::{ImageChoice, choices};
use self::sheets::{MAX_IMPORTS, NOWHERE, css_string};
use crate::base::ReferenceResolver;
use crate::html;
use crate::inert::shown::{self, ShownAs};
use crate::inert::{alternative, cleaned, escaped, is_plain_name, rename, show_target, stands_in_list};
use crate::media::media_type;
use crate::requisites::{LAZY_SRC, LAZY_SRCSET, document, resolved};
use crate::shadow;
use crate::{BodyFields, RequisiteKind};
use data_encoding::BASE64;
use ego_tree::NodeId;
use html5ever::tendril::StrTendril;
use html5ever::tree_builder::QuirksMode;
use html5ever::{LocalName, QualName, ns};
use recrawl_types::{CanonicalUrl, MediaTypes, UrlRules};
use scraper::node::{Element, Node, Text};
use scraper::{ElementRef, Html};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

/// Bytes of style sheets, and of images and fonts as text, in a document.
const MAX_LOOK: usize = 16 << 20;
/// Requisites and drawings that found no room, before none is looked for any more.
const MAX_WITHOUT_ROOM: usize = 16;
/// Attributes that stay of what becomes an image or a frame: those of its box.
const OF_BOX: [&str; 6] = ["class", "height", "id", "style", "title", "width"];
/// Attributes of `html` and `body` that stay.
const OF_BODY: [&str; 8] = ["bgcolor", "class", "dir", "id", "lang", "link", "style", "text"];
/// Declarations of a page that scripts have yet to show.
const HIDING: [&str; 4] = ["content-visibility:hidden", "display:none", "opacity:0", "visibility:hidden"];
/// Links lead nowhere, so a browser would show them as text; each rule of the page outweighs this.
const LINKS: &str = "<style>:where(a[title]) { color: LinkText; text-decoration: underline }</style>\n";
/// The beginning of an address in whose place a piece is put.
const PIECE: &str = "data:image/x-piece,";

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
    /// Elements for the head: styles, and the icon.
    pub head: String,
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
    let (html, encoding) = document(body, fields, url, types)?;
    let rules = UrlRules::keep_all();
    let base = html::base(&html).map(str::to_owned);
    let resolver = ReferenceResolver::of_page(url, base.as_deref(), &rules, encoding);
    let mut look = LookWriter {
        archive,
        rules: &rules,
        types,
        room: MAX_LOOK,
        without_room: 0,
        missing: 0,
        above: vec![url.clone()],
        frames: 0,
        framed_room: frames::MAX_FRAMED,
    };
    let icon = look.icon(&html, &resolver);
    let mut looked = look.document(html, &resolver);
    looked.head.extend(icon);
    looked.missing = look.missing;
    Some(looked)
}

struct LookWriter<'l> {
    archive: &'l mut dyn FnMut(&CanonicalUrl, RequisiteKind) -> Option<ArchivedRequisite>,
    rules: &'l UrlRules,
    types: &'l MediaTypes,
    /// Bytes that may still be put in.
    room: usize,
    without_room: usize,
    missing: usize,
    /// The document that is written, and those around it, the outermost first.
    above: Vec<CanonicalUrl>,
    /// Frames so far, and bytes of HTML that there is room for in others.
    frames: usize,
    framed_room: usize,
}

impl LookWriter<'_> {
    fn document(&mut self, mut html: Html, resolver: &ReferenceResolver<'_>) -> Looked {
        without_doubles(&mut html);
        shadow::flatten(&mut html);
        let roots = shadow_roots(&html);
        let head = LINKS.to_owned() + &canvas_sizes(&html) + &self.styles(&html, &roots, resolver);
        let mut pieces = Pieces::default();
        // Before what is hidden goes: drawings may be made of it.
        self.draw(&mut html, resolver, &mut pieces);
        for (still, reference) in stills(&html) {
            if let Some(image) = self.data(&reference, resolver, RequisiteKind::Image) {
                put_in(&mut html, still, &image);
            }
        }
        shown::keep_shown(&mut html, ShownAs::Look);
        let has_frames = frames::as_grids(&mut html);
        // Of the picture that was met last, for its image.
        let mut of_picture = Vec::new();
        // What is not shown is in the tree no more.
        let shown: Vec<_> = html.tree.root().descendants().map(|node| node.id()).collect();
        for handle in shown {
            let Some(mut node) = html.tree.get_mut(handle) else { continue };
            let Node::Element(element) = node.value() else { continue };
            show_page(element);
            self.background(element, resolver);
            self.inline_style(element, resolver);
            let name = element.name.local.clone();
            match &*name {
                "html" | "body" => {}
                "picture" => of_picture.clear(),
                "source" if images::is_shown(element) => of_picture.extend(sources(element)),
                "iframe" | "frame" => {
                    let frame = self.frame(element, resolver);
                    *element = pieces.markup(frame);
                }
                "img" if element.attr("src").is_some_and(|src| src.starts_with(PIECE)) => {
                    element.attrs.retain(|(name, _)| &*name.local == "src");
                }
                "img" if !self.image(element, resolver, std::mem::take(&mut of_picture), &mut pieces) => {
                    let text = alternative(element).unwrap_or_default();
                    *node.value() = Node::Text(Text { text });
                }
                "img" => {}
                "input" => self.inline(element, "src", resolver, &mut pieces),
                "video" if !is_bare(element) => self.inline(element, "poster", resolver, &mut pieces),
                _ => stand_in(element, roots.get(&handle)),
            }
        }
        let of_root = |name: &str| find(&html, name).map(|root| attributes(root.value(), &OF_BODY));
        let html_attributes = of_root("html").unwrap_or_default();
        let (body_attributes, content) = match find(&html, "body") {
            Some(body) => (of_root("body").unwrap_or_default(), body.inner_html()),
            None if has_frames => (" style=\"margin:0\"".to_owned(), html.html()),
            None => (String::new(), html.html()),
        };
        Looked {
            head,
            html_attributes,
            body_attributes,
            body: pieces.fill(&cleaned(&content, true)),
            missing: 0,
            has_quirks: html.quirks_mode == QuirksMode::Quirks,
        }
    }

    /// Puts drawings and formulas anew into their place.
    fn draw(&mut self, html: &mut Html, resolver: &ReferenceResolver<'_>, pieces: &mut Pieces) {
        let mut drawn = Vec::new();
        let drawings = drawings::drawings(html);
        if drawings.is_empty() {
            return;
        }
        let (page, mut sprites) = (DrawnDocument::new(&*html), Sprites::new());
        for drawing in drawings {
            if self.without_room >= MAX_WITHOUT_ROOM {
                self.missing += 1;
                drawn.push((drawing, None));
                continue;
            }
            let files = &mut DrawingLook { look: self, resolver };
            let written = drawings::written(&page, drawing, &mut sprites, files);
            // One that is too large fills any room.
            let has_room = self.take(written.as_ref().map_or(usize::MAX, |(_, bytes)| *bytes));
            drawn.push((drawing, written.filter(|_| has_room).map(|(markup, _)| markup)));
        }
        for (drawing, written) in drawn {
            replace(html, drawing, &pieces.put(LookPiece::Markup(written.unwrap_or_default())));
        }
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

    fn data_url(&mut self, reference: &str, resolver: &ReferenceResolver<'_>, kind: RequisiteKind) -> String {
        let reference = reference.trim();
        // A part of the document, and what the page itself has inline.
        if reference.starts_with('#') {
            return format!("url(\"{}\")", css_string(reference));
        }
        let data = self.own_or_archived(reference, resolver, kind);
        data.map_or_else(|| NOWHERE.into(), |data| format!("url(\"{}\")", css_string(&data)))
    }

    fn own_or_archived(
        &mut self,
        reference: &str,
        resolver: &ReferenceResolver<'_>,
        kind: RequisiteKind,
    ) -> Option<String> {
        let own = self.own_data(reference.trim());
        own.or_else(|| self.data(reference, resolver, kind))
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
        let found = self.get(reference, resolver, kind)?;
        self.inlined(&found, kind)
    }

    /// A requisite as a `data:` URL.
    fn inlined(&mut self, found: &ArchivedRequisite, kind: RequisiteKind) -> Option<String> {
        let kind_of_body = media_type(found.content_type.as_deref(), &found.body);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '+' | '-' | '.');
        let is_shown = match kind {
            RequisiteKind::Image => kind_of_body.starts_with("image/"),
            _ => !kind_of_body.contains("html"),
        };
        if !is_shown || !kind_of_body.chars().all(is_plain) {
            return None;
        }
        let length = BASE64.encode_len(found.body.len()) + kind_of_body.len();
        self.take(length).then(|| format!("data:{kind_of_body};base64,{}", BASE64.encode(&found.body)))
    }

    /// Puts an image into its element, one of its picture or its own; false if there is none.
    fn image(
        &mut self,
        element: &mut Element,
        resolver: &ReferenceResolver<'_>,
        mut all: Vec<ImageChoice>,
        pieces: &mut Pieces,
    ) -> bool {
        all.extend(sources(element));
        let missing = self.missing;
        let found = all.into_iter().find_map(|choice| {
            Some((self.own_or_archived(&choice.reference, resolver, RequisiteKind::Image)?, choice))
        });
        // One image is missing, however many might have been it.
        self.missing = missing + usize::from(found.is_none() && self.missing > missing);
        let Some((data, ImageChoice { descriptor, sizes, .. })) = found else { return false };
        let is_source = |name: &str| {
            ["sizes", "src", "srcset"].contains(&name)
                || LAZY_SRC.contains(&name)
                || LAZY_SRCSET.contains(&name)
        };
        element.attrs.retain(|(name, _)| !is_source(&name.local));
        let descriptor = descriptor.filter(|_| stands_in_list(&data));
        let address = pieces.put(LookPiece::Address(data));
        match descriptor {
            Some(descriptor) => set(element, "srcset", format!("{address} {descriptor}")),
            None => set(element, "src", address),
        }
        sizes.into_iter().for_each(|sizes| set(element, "sizes", sizes));
        true
    }

    /// The icon of a document, for one that is opened by itself.
    fn icon(&mut self, html: &Html, resolver: &ReferenceResolver<'_>) -> Option<String> {
        let is_icon = |link: &ElementRef<'_>| {
            let rel = link.attr("rel").unwrap_or_default();
            rel.split_ascii_whitespace().any(|token| token.eq_ignore_ascii_case("icon"))
        };
        let mut links = html.tree.root().descendants().filter_map(ElementRef::wrap);
        let reference =
            links.find(|element| element.value().name() == "link" && is_icon(element))?.attr("href")?;
        let image = self.own_or_archived(reference, resolver, RequisiteKind::Image)?;
        Some(format!("<link rel=\"icon\" href=\"{}\">\n", escaped(&image)))
    }

    /// Puts an image that an attribute names into it. The sanitiser leaves out one that is not there.
    fn inline(
        &mut self,
        element: &mut Element,
        name: &str,
        resolver: &ReferenceResolver<'_>,
        pieces: &mut Pieces,
    ) {
        let Some(reference) = element.attr(name).map(str::to_owned) else { return };
        if let Some(data) = self.own_or_archived(&reference, resolver, RequisiteKind::Image) {
            set(element, name, pieces.put(LookPiece::Address(data)));
        }
    }

    /// The older way to say which image is behind a part of the page, as a style.
    fn background(&mut self, element: &mut Element, resolver: &ReferenceResolver<'_>) {
        let Some(reference) = element.attr("background") else { return };
        let image = format!("background-image:{};", self.data_url(reference, resolver, RequisiteKind::Image));
        // What the element's own style says comes later, and outweighs it.
        let style = image + element.attr("style").unwrap_or_default();
        set(element, "style", style);
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
        let image = self.look.own_or_archived(reference, self.resolver, RequisiteKind::Image)?;
        let is_image = image.get(..11).is_some_and(|start| start.eq_ignore_ascii_case("data:image/"));
        is_image.then_some(image)
    }

    fn text(&mut self, reference: &str) -> Option<String> {
        let found = self.look.get(reference, self.resolver, RequisiteKind::Image)?;
        Some(String::from_utf8_lossy(&found.body).into_owned())
    }

    fn style(&mut self, css: &str) -> String {
        self.look.rewritten(css, self.resolver, MAX_IMPORTS)
    }

    fn room(&self) -> usize {
        if self.look.without_room < MAX_WITHOUT_ROOM { self.look.room } else { 0 }
    }
}

/// Parts that are put into the page behind its sanitiser: markup that is written here, in the place of an image, and images, since
/// a sanitiser reads all of an address.
#[derive(Default)]
struct Pieces(Vec<LookPiece>);

enum LookPiece {
    Markup(String),
    Address(String),
}

impl Pieces {
    /// Keeps a piece. The address that stands for it.
    fn put(&mut self, piece: LookPiece) -> String {
        self.0.push(piece);
        format!("{PIECE}{}", self.0.len() - 1)
    }

    /// The same of markup, as an element.
    fn markup(&mut self, piece: String) -> Element {
        let name = QualName::new(None, ns!(html), LocalName::from("img"));
        let mut element = Element::new(name, Vec::new());
        set(&mut element, "src", self.put(LookPiece::Markup(piece)));
        element
    }

    /// Each piece in its place, once: a page may write such addresses, too, also in its texts.
    fn fill(mut self, cleaned: &str) -> String {
        let address = format!("\"{PIECE}");
        let mut parts = cleaned.split(&address);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.bytes().take_while(u8::is_ascii_digit).count();
            let (number, mut rest) = part.split_at(end);
            // Of an address, the number ends where the value or its first word does.
            let piece = number.parse().ok().and_then(|number: usize| self.0.get_mut(number));
            let piece = piece.filter(|_| rest.starts_with(['"', ' ']));
            match piece.map(|piece| std::mem::replace(piece, LookPiece::Address("data:,".to_owned()))) {
                Some(LookPiece::Markup(markup)) if out.ends_with(TAG) && rest.starts_with("\">") => {
                    out.truncate(out.len() - TAG.len());
                    out.push_str(&markup);
                    rest = &rest[2..];
                }
                Some(LookPiece::Address(data)) => out.extend(["\"", &escaped(&data)]),
                // In a style, `url(` behind a number is no reference: the number stays.
                _ => {
                    out.push_str("\"data:,");
                    rest = part;
                }
            }
            out.push_str(rest);
        }
        out
    }
}

/// The tag of an image that has nothing but its address. In texts and in values, the sanitiser writes it otherwise.
const TAG: &str = "<img src=";

fn plain(name: &str) -> QualName {
    QualName::new(None, ns!(), LocalName::from(name))
}

fn set(element: &mut Element, name: &str, value: String) {
    element.attrs.retain(|(attribute, _)| attribute.local != *name);
    element.attrs.push((plain(name), StrTendril::from(value)));
    // They are searched by halving.
    element.attrs.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
}

/// The images of an element, the first to be shown first: no script will put the late ones in the place of the others.
fn sources(element: &Element) -> Vec<ImageChoice> {
    let first = |names: &[&str]| names.iter().find_map(|name| element.attr(name));
    let (late, late_list) = (first(&LAZY_SRC), first(&LAZY_SRCSET));
    let sizes = element.attr("sizes");
    let mut all = choices(late, late_list.unwrap_or_default(), sizes);
    // That of a source is its sound or video.
    let src = element.attr("src").filter(|_| element.name() == "img");
    all.extend(choices(src, element.attr("srcset").unwrap_or_default(), sizes));
    all
}

/// Puts an image in the place of something else, with its box.
fn replace(html: &mut Html, other: NodeId, image: &str) {
    let Some(mut node) = html.tree.get_mut(other) else { return };
    while let Some(mut child) = node.first_child() {
        child.detach();
    }
    if let Node::Element(element) = node.value() {
        element.name = QualName::new(None, ns!(html), LocalName::from("img"));
        element.attrs.retain(|(name, _)| OF_BOX.contains(&&*name.local));
        set(element, "src", image.to_owned());
    }
}

/// Puts an image into an object, in the place of what is for want of it, or in the place of anything else.
fn put_in(html: &mut Html, other: NodeId, image: &str) {
    let Some(mut node) = html.tree.get_mut(other) else { return };
    let Node::Element(element) = node.value() else { return };
    if element.name() != "object" {
        return replace(html, other, image);
    }
    let mut inner = element.clone();
    inner.attrs.retain(|(name, _)| matches!(&*name.local, "height" | "width"));
    while let Some(mut child) = node.first_child() {
        child.detach();
    }
    let inner = node.append(Node::Element(inner)).id();
    replace(html, inner, image);
}

/// Has a player nothing to play it by? Where no script runs, a browser would add that.
fn is_bare(video: &Element) -> bool {
    video.attr("controls").is_none()
}

/// Images that are put in as objects, and those of videos that nobody can play.
fn stills(html: &Html) -> Vec<(NodeId, String)> {
    let elements = html.tree.root().descendants().filter_map(ElementRef::wrap);
    let found = elements.filter_map(|element| {
        let is_image = element.attr("type").is_some_and(|kind| kind.starts_with("image/"));
        let reference = match element.value().name() {
            "object" => element.attr("data").filter(|_| is_image),
            "embed" => element.attr("src").filter(|_| is_image),
            "video" if is_bare(element.value()) => element.attr("poster"),
            _ => None,
        };
        Some((element.id(), reference?.to_owned()))
    });
    found.collect()
}

/// Removes images for want of scripts behind those that a script would load late, since these are shown.
fn without_doubles(html: &mut Html) {
    let is_late = |element: ElementRef<'_>| {
        LAZY_SRC.iter().chain(&LAZY_SRCSET).any(|name| element.attr(name).is_some())
    };
    let elements = html.tree.root().descendants().filter_map(ElementRef::wrap);
    let doubles = elements.filter(|element| {
        element.value().name() == "noscript"
            && element.prev_siblings().find_map(ElementRef::wrap).is_some_and(is_late)
    });
    let doubles: Vec<_> = doubles.map(|element| element.id()).collect();
    for double in doubles {
        html.tree.get_mut(double).into_iter().for_each(|mut node| node.detach());
    }
}

/// The sizes of canvases, as rules that each one of the page outweighs. A browser without scripts gives them none.
fn canvas_sizes(html: &Html) -> String {
    let elements = html.tree.root().descendants().filter_map(ElementRef::wrap);
    let size = |canvas: ElementRef<'_>| {
        let side = |name, default| canvas.attr(name).and_then(|side| side.parse().ok()).unwrap_or(default);
        (side("width", 300_u16), side("height", 150_u16))
    };
    let canvases = elements.filter(|element| element.value().name() == "canvas");
    let sizes: BTreeSet<_> = canvases.map(size).collect();
    if sizes.is_empty() {
        return String::new();
    }
    let mut out = "<style>:where(canvas) { display: inline-block; width: 300px; height: 150px }".to_owned();
    for (width, height) in sizes {
        let _ = write!(out, "\n:where(canvas[width=\"{width}\"]) {{ width: {width}px }}");
        let _ = write!(out, "\n:where(canvas[height=\"{height}\"]) {{ height: {height}px }}");
    }
    out + "</style>\n"
}

/// The shadow trees of a document, by number.
fn shadow_roots(html: &Html) -> HashMap<NodeId, usize> {
    let elements = html.tree.root().descendants().filter_map(ElementRef::wrap);
    let roots = elements.filter(|element| shadow::is_root(&element.value().name));
    roots.enumerate().map(|(number, root)| (root.id(), number)).collect()
}

/// The first element of this name.
fn find<'h>(html: &'h Html, name: &str) -> Option<ElementRef<'h>> {
    let elements = html.tree.root().descendants().filter_map(ElementRef::wrap);
    elements
        .filter(|element| element.value().name() == name)
        .find(|element| element.value().name.ns == ns!(html))
}

/// A page that hides all of itself shows it again by a script, which does not run here.
fn show_page(element: &mut Element) {
    let is_page = matches!(element.name(), "html" | "body");
    let Some(style) = element.attr("style").filter(|_| is_page) else { return };
    let hides = |declaration: &&str| {
        let plain: String = declaration.to_ascii_lowercase().split_ascii_whitespace().collect();
        HIDING.contains(&plain.trim_end_matches("!important"))
    };
    let shown = style.split(';').filter(|declaration| !hides(declaration)).collect::<Vec<_>>().join(";");
    set(element, "style", shown);
}

/// The attributes of an element that stay, as text: these, and those for scripts and style sheets.
fn attributes(element: &Element, kept: &[&str]) -> String {
    let mut out = String::new();
    let of_scripts = element.attrs.iter().map(|(name, _)| &*name.local);
    let of_scripts = of_scripts.filter(|name| name.starts_with("data-") && is_plain_name(name));
    for name in kept.iter().copied().chain(of_scripts) {
        if let Some(value) = element.attr(name) {
            let _ = write!(out, " {name}=\"{}\"", escaped(value));
        }
    }
    out
}

/// An element that does not stay becomes one that does, with its place, its classes and its style.
fn stand_in(element: &mut Element, shadow_root: Option<&usize>) {
    let other = match &*element.name.local {
        "textarea" => return,
        "slot" => {
            set(element, "data-slot", String::new());
            set(element, "style", "display:contents".to_owned());
            Some("span")
        }
        "noscript" | "video" => Some("span"),
        custom if custom.contains('-') && !custom.starts_with('#') => Some("span"),
        _ => None,
    };
    if let Some(root) = shadow_root {
        set(element, "data-shadow", root.to_string());
        set(element, "style", "display:contents".to_owned());
    }
    match other {
        Some(other) => element.name = QualName::new(None, ns!(html), LocalName::from(other)),
        None => rename(&mut element.name),
    }
    show_target(&mut element.attrs);
}

#[cfg(test)]
mod tests;

//! Frames of a page: each is a sandboxed frame with its document in itself, made inert by the same code.
//!
//! A frame's document is bounded as the page is, and by what the page's other frames took. As in browsers, no document stands
//! in itself.

use super::{LookWriter, Looked, OF_BOX, attributes};
use crate::base::ReferenceResolver;
use crate::html;
use crate::inert::{escaped, inert};
use crate::media::media_type;
use crate::requisites::{LAZY_SRC, document, resolved};
use crate::walk::{MAX_EMBEDDED, MAX_NESTED};
use crate::{BodyFields, RequisiteKind};
use html5ever::tendril::StrTendril;
use html5ever::{LocalName, QualName, ns};
use scraper::node::{Element, Node};
use scraper::{ElementRef, Html};

/// Attributes of a frame that stay, besides those of its box.
const OF_FRAME: [&str; 5] = ["align", "frameborder", "marginheight", "marginwidth", "scrolling"];
/// Bytes of the HTML of all frames of a page.
pub(super) const MAX_FRAMED: usize = 1 << 20;
/// Rows or columns of a set of frames.
const MAX_TRACKS: usize = 64;

impl LookWriter<'_> {
    /// A frame with its document; an empty one if there is none.
    pub(super) fn frame(&mut self, element: &Element, resolver: &ReferenceResolver<'_>) -> String {
        let document = self.framed(element, resolver).map(|document| (escaped(&document), document.len()));
        // Markup of a frame in frames is escaped again and again.
        let document = document.filter(|(escaped, bytes)| self.take(escaped.len() - bytes));
        let kept = attributes(element, &[OF_BOX.as_slice(), &OF_FRAME].concat());
        let document = document.map(|(escaped, _)| escaped).unwrap_or_default();
        format!("<iframe sandbox=\"\" srcdoc=\"{document}\"{kept}></iframe>")
    }

    fn framed(&mut self, element: &Element, resolver: &ReferenceResolver<'_>) -> Option<String> {
        if self.above.len() > MAX_NESTED || self.frames == MAX_EMBEDDED || self.framed_room == 0 {
            self.missing += 1;
            return None;
        }
        self.frames += 1;
        let mut fields =
            BodyFields { content_type: Some("text/html; charset=utf-8"), ..BodyFields::default() };
        let own = self.above.last()?.clone();
        if let Some(text) = element.attr("srcdoc").filter(|_| element.name() == "iframe") {
            let (html, _) = document(self.cut(text.as_bytes()), &fields, &own, self.types)?;
            let base = html::base(&html).map(str::to_owned);
            let resolver = resolver.embedded(base.as_deref());
            self.above.push(own);
            let looked = self.document(html, &resolver);
            self.above.pop();
            return Some(looked.document());
        }
        let reference = LAZY_SRC.into_iter().chain(["src"]).find_map(|name| element.attr(name))?;
        if self.above.contains(&resolved(resolver, reference)?) {
            return None;
        }
        let found = self.get(reference, resolver, RequisiteKind::Frame)?;
        if media_type(found.content_type.as_deref(), &found.body).starts_with("image/") {
            let image = self.inlined(&found, RequisiteKind::Image)?;
            let (body_attributes, body) =
                (" style=\"margin:0\"".to_owned(), format!("<img src=\"{}\">", escaped(&image)));
            return Some(Looked { body_attributes, body, ..Looked::default() }.document());
        }
        fields.content_type = found.content_type.as_deref();
        let body = self.cut(&found.body);
        let Some((html, encoding)) = document(body, &fields, &found.url, self.types) else {
            let body = inert(body, &fields, &found.url, self.types)?;
            return Some(Looked { body, ..Looked::default() }.document());
        };
        let base = html::base(&html).map(str::to_owned);
        let resolver = ReferenceResolver::of_page(&found.url, base.as_deref(), self.rules, encoding);
        self.above.push(found.url);
        let looked = self.document(html, &resolver);
        self.above.pop();
        Some(looked.document())
    }

    /// The beginning of a document, as far as there is room.
    fn cut<'b>(&mut self, body: &'b [u8]) -> &'b [u8] {
        let end = body.len().min(self.framed_room);
        self.framed_room -= end;
        self.missing += usize::from(end < body.len());
        &body[..end]
    }
}

impl Looked {
    /// As a document of its own.
    fn document(&self) -> String {
        let Looked { head, html_attributes, body_attributes, body, .. } = self;
        format!(
            "<!doctype html><html{html_attributes}><head>{head}</head><body{body_attributes}>{body}</body></html>"
        )
    }
}

/// Makes grids of sets of frames, since these have no documents in themselves. True if there are any.
pub(super) fn as_grids(html: &mut Html) -> bool {
    let elements = html.tree.root().descendants().filter_map(ElementRef::wrap);
    let sets: Vec<_> = elements.filter(|element| element.value().name() == "frameset").collect();
    let is_outer = |set: &ElementRef<'_>| {
        !set.ancestors().filter_map(ElementRef::wrap).any(|above| above.value().name() == "frameset")
    };
    let styles: Vec<_> = sets.iter().map(|set| (set.id(), grid(set.value(), is_outer(set)))).collect();
    for (set, style) in &styles {
        let Some(mut node) = html.tree.get_mut(*set) else { continue };
        let Node::Element(element) = node.value() else { continue };
        element.name = QualName::new(None, ns!(html), LocalName::from("div"));
        element.attrs = vec![(super::plain("style"), StrTendril::from(style.as_str()))];
    }
    !styles.is_empty()
}

fn grid(set: &Element, is_outer: bool) -> String {
    let tracks = |name| tracks(set.attr(name).unwrap_or("*"));
    let is_bare = ["frameborder", "border", "framespacing"]
        .iter()
        .any(|name| set.attr(name).is_some_and(|value| matches!(value.trim(), "0" | "no" | "NO")));
    let (gap, height) = (if is_bare { 0 } else { 6 }, if is_outer { "100vh" } else { "100%" });
    let (rows, columns) = (tracks("rows"), tracks("cols"));
    format!("display:grid;grid-template:{rows}/{columns};gap:{gap}px;width:100%;height:{height}")
}

/// Rows or columns of a set of frames as those of a grid: pixels, shares, and parts of what is left.
fn tracks(list: &str) -> String {
    let track = |part: &str| {
        let part = part.trim();
        let (number, unit) = part.split_at(part.len() - usize::from(part.ends_with(['%', '*'])));
        match (number.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0), unit)
        {
            (Some(number), "%") => format!("{number}%"),
            (Some(number), "*") => format!("minmax(0,{number}fr)"),
            (Some(number), _) => format!("{number}px"),
            (None, _) => "minmax(0,1fr)".to_owned(),
        }
    };
    list.split(',').take(MAX_TRACKS).map(track).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;

//! An element with the attributes that some rule reads, from a tag or from the tree.

use crate::names::{Attr, Name};
use html5ever::ns;
use scraper::node;
use std::borrow::Cow;

/// The vocabulary that an element belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ElementSpace {
    Html,
    Svg,
    MathMl,
}

/// An element of a page.
#[derive(Debug)]
pub(crate) struct Element<'d> {
    pub(crate) name: Name,
    pub(crate) space: ElementSpace,
    /// In no order that matters, except that the first of a name counts.
    pub(crate) attributes: Vec<(Attr, Cow<'d, str>)>,
}

impl<'d> Element<'d> {
    /// An element without attributes.
    pub(crate) fn bare(name: Name) -> Element<'d> {
        Element { name, space: ElementSpace::Html, attributes: Vec::new() }
    }

    /// An element of the tree without its attributes.
    pub(crate) fn bare_of_node(node: &node::Element) -> Element<'d> {
        let space = match node.name.ns {
            ns!(svg) => ElementSpace::Svg,
            ns!(mathml) => ElementSpace::MathMl,
            _ => ElementSpace::Html,
        };
        Element { name: Name::lookup(node.name.local.as_bytes()), space, attributes: Vec::new() }
    }

    /// An element of the tree.
    pub(crate) fn of_node(node: &'d node::Element) -> Element<'d> {
        let attributes = node.attrs.iter().filter_map(|(name, value)| {
            match (&name.ns, Attr::lookup(name.local.as_bytes())) {
                (&ns!(), attr) if attr != Attr::Other => Some((attr, Cow::Borrowed(&**value))),
                (&ns!(xlink), Attr::Href) => Some((Attr::XlinkHref, Cow::Borrowed(&**value))),
                _ => None,
            }
        });
        Element { attributes: attributes.collect(), ..Element::bare_of_node(node) }
    }

    /// The same, independent of the page.
    pub(crate) fn into_owned(self) -> Element<'static> {
        let attributes =
            self.attributes.into_iter().map(|(name, value)| (name, Cow::Owned(value.into_owned())));
        Element { name: self.name, space: self.space, attributes: attributes.collect() }
    }

    /// The value of an attribute.
    pub(crate) fn get(&self, attr: Attr) -> Option<&Cow<'d, str>> {
        self.attributes.iter().find(|(name, _)| *name == attr).map(|(_, value)| value)
    }

    /// Whether this is an HTML element of this name.
    pub(crate) fn is(&self, name: Name) -> bool {
        self.name == name && self.space == ElementSpace::Html
    }
}

/// Selects a part of a text.
pub(crate) fn part<'d>(text: &Cow<'d, str>, select: fn(&str) -> Option<&str>) -> Option<Cow<'d, str>> {
    match text {
        Cow::Borrowed(text) => select(text).map(Cow::Borrowed),
        Cow::Owned(text) => select(text).map(|part| Cow::Owned(part.to_owned())),
    }
}

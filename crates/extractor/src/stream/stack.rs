//! The stack of open elements and the list of active formatting elements (WHATWG HTML §13.2.4.2, 3).

use super::tokens::Tag;
use crate::element::{Element, ElementSpace};
use crate::names::Name;
use Name::*;

/// An open element.
#[derive(Clone, Copy)]
pub(super) struct Open<'d> {
    pub(super) name: Name,
    pub(super) space: ElementSpace,
    /// The name as written; empty for an element that no tag began.
    spelling: &'d str,
    /// Different for each element of a page.
    pub(super) id: u32,
}

impl<'d> Open<'d> {
    pub(super) fn new(element: &Element<'_>, spelling: &'d str, id: u32) -> Open<'d> {
        Open { name: element.name, space: element.space, spelling, id }
    }

    /// Whether this is an HTML element of this name.
    pub(super) fn is(&self, name: Name) -> bool {
        self.name == name && self.space == ElementSpace::Html
    }

    /// Whether a tag has its name, in any vocabulary.
    pub(super) fn has_name_of(&self, tag: &Tag<'_>) -> bool {
        self.name == tag.name && (self.name != Other || self.spelling.eq_ignore_ascii_case(tag.spelling))
    }

    pub(super) fn is_html(&self) -> bool {
        self.space == ElementSpace::Html
    }

    pub(super) fn is_heading(&self) -> bool {
        self.is_html() && matches!(self.name, H1 | H2 | H3 | H4 | H5 | H6)
    }

    /// Whether an end tag behind it implies its own.
    pub(super) fn has_implied_end(&self) -> bool {
        self.is_html() && matches!(self.name, Dd | Dt | Li | Opt | Optgroup | P | Rb | Rp | Rt | Rtc)
    }

    /// Whether the end tag of a template implies its end tag.
    pub(super) fn ends_with_template(&self) -> bool {
        let is_part = matches!(self.name, Caption | Colgroup | Tbody | Td | Tfoot | Th | Thead | Tr);
        self.has_implied_end() || self.is_html() && is_part
    }

    /// Texts and elements that are put here are moved before the table.
    pub(super) fn is_table_part(&self) -> bool {
        self.is_html() && matches!(self.name, Table | Tbody | Tfoot | Thead | Tr)
    }

    /// A foreign element in which texts are read as in HTML.
    pub(super) fn is_integration_point(&self) -> bool {
        match self.space {
            ElementSpace::Html => false,
            ElementSpace::MathMl => matches!(self.name, Mi | Mn | Mo | Ms | Mtext),
            ElementSpace::Svg => matches!(self.name, Desc | ForeignObject | Title),
        }
    }

    /// Whether the search for an open element ends here.
    pub(super) fn bounds(&self, scope: StackScope) -> bool {
        if scope == StackScope::Table {
            return self.is_html() && matches!(self.name, Html | Table | Template);
        }
        let bounds = match self.name {
            Applet | Caption | Html | Table | Td | Th | Marquee | Object | Select | Template => true,
            Ol | Ul => scope == StackScope::ListItem,
            Button => scope == StackScope::Button,
            _ => false,
        };
        bounds && self.is_html() || self.is_integration_point()
    }

    pub(super) fn is_special(&self) -> bool {
        self.is_html()
            && matches!(
                self.name,
                Address
                    | Applet
                    | Area
                    | Article
                    | Aside
                    | Base
                    | Basefont
                    | Bgsound
                    | Blockquote
                    | Body
                    | Br
                    | Button
                    | Caption
                    | Center
                    | Col
                    | Colgroup
                    | Dd
                    | Details
                    | Dir
                    | Div
                    | Dl
                    | Dt
                    | Embed
                    | Fieldset
                    | Figcaption
                    | Figure
                    | Footer
                    | Form
                    | Frame
                    | Frameset
                    | H1
                    | H2
                    | H3
                    | H4
                    | H5
                    | H6
                    | Head
                    | Header
                    | Hgroup
                    | Hr
                    | Html
                    | Iframe
                    | Img
                    | Input
                    | Isindex
                    | Li
                    | Link
                    | Listing
                    | Main
                    | Marquee
                    | Menu
                    | Meta
                    | Nav
                    | Noembed
                    | Noframes
                    | Noscript
                    | Object
                    | Ol
                    | P
                    | Param
                    | Plaintext
                    | Pre
                    | Script
                    | Section
                    | Select
                    | Source
                    | Style
                    | Summary
                    | Table
                    | Tbody
                    | Td
                    | Template
                    | Textarea
                    | Tfoot
                    | Th
                    | Thead
                    | Title
                    | Tr
                    | Track
                    | Ul
                    | Wbr
                    | Xmp
            )
    }
}

/// Where the search for an open element ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StackScope {
    Default,
    ListItem,
    Button,
    Table,
}

/// An entry of the list of active formatting elements.
#[derive(Clone, Copy)]
pub(super) enum Formatting<'d> {
    /// Separates what stands in a cell or an object.
    Marker,
    Element {
        tag: Tag<'d>,
        id: u32,
    },
}

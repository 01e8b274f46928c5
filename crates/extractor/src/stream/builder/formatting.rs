//! The list of active formatting elements.

use super::{Builder, MANY_IMPLIED};
use crate::element::Element;
use crate::names::Name::*;
use crate::stream::Slow;
use crate::stream::stack::{Formatting, Open, StackScope};
use crate::stream::tokens::Tag;

impl<'d> Builder<'d, '_> {
    /// Opens the active formatting elements that are not open.
    pub(super) fn reconstruct(&mut self) -> Result<(), Slow> {
        let mut missing = 0;
        for entry in self.formatting.iter().rev() {
            let Formatting::Element { id, .. } = entry else { break };
            self.steps += self.open.len() as u64 + 1;
            if self.open.iter().rev().any(|open| open.id == *id) {
                break;
            }
            missing += 1;
        }
        for at in self.formatting.len() - missing..self.formatting.len() {
            let Formatting::Element { tag, .. } = self.formatting[at] else { continue };
            self.implied += 1;
            if self.implied > MANY_IMPLIED {
                return Err(Slow("many implied elements"));
            }
            let mut element = Element::bare(tag.name);
            // A long tag must not become many long elements.
            self.steps += self.tokens.reread(tag.at, &mut element)? as u64;
            self.no_foster_parent()?;
            let id = self.insert(&element, Some(&tag))?;
            self.formatting[at] = Formatting::Element { tag, id };
        }
        Ok(())
    }

    pub(super) fn insert_formatting(&mut self, element: &Element<'d>, tag: &Tag<'d>) -> Result<(), Slow> {
        // The standard keeps three equal ones.
        let alike = self.active().filter(|(other, _)| other.name == tag.name).count();
        if alike >= 3 {
            return Err(Slow("many formatting elements"));
        }
        let id = self.insert(element, Some(tag))?;
        self.formatting.push(Formatting::Element { tag: *tag, id });
        Ok(())
    }

    /// The active formatting elements behind the last marker, innermost first.
    fn active(&self) -> impl Iterator<Item = (&Tag<'d>, u32)> {
        self.formatting.iter().rev().map_while(|entry| match entry {
            Formatting::Marker => None,
            Formatting::Element { tag, id } => Some((tag, *id)),
        })
    }

    pub(super) fn clear_to_marker(&mut self) {
        while let Some(Formatting::Element { .. }) = self.formatting.pop() {}
    }

    fn forget_formatting(&mut self, gone: u32) {
        self.formatting.retain(|entry| !matches!(entry, Formatting::Element { id, .. } if *id == gone));
    }

    /// The end tag of a formatting element: the simple cases of the adoption agency algorithm.
    pub(super) fn end_formatting(&mut self, tag: &Tag<'d>) -> Result<(), Slow> {
        self.steps += 4 * (self.open.len() + self.formatting.len()) as u64 + 4;
        let is_active = |id: u32| {
            let same = |entry: &Formatting<'_>| matches!(entry, Formatting::Element { id: other, .. } if *other == id);
            self.formatting.iter().any(same)
        };
        if self.top().is_some_and(|top| top.is(tag.name) && !is_active(top.id)) {
            self.close_down_to(self.open.len() - 1);
            return Ok(());
        }
        let found = self.active().find(|(other, _)| other.name == tag.name).map(|(_, id)| id);
        let Some(id) = found else {
            self.end_other(tag);
            return Ok(());
        };
        let Some(at) = self.open.iter().rposition(|open| open.id == id) else {
            self.forget_formatting(id);
            return Ok(());
        };
        if self.in_scope(StackScope::Default, |open| open.id == id).is_none() {
            return Ok(());
        }
        if self.open[at..].iter().any(Open::is_special) {
            return Err(Slow("block in a formatting element that ends"));
        }
        self.close_down_to(at);
        self.forget_formatting(id);
        Ok(())
    }

    /// A link in a link ends the outer one.
    pub(super) fn end_outer_link(&mut self, tag: &Tag<'d>) -> Result<(), Slow> {
        self.steps += (self.open.len() + 2 * self.formatting.len()) as u64;
        let Some(id) = self.active().find(|(other, _)| other.name == A).map(|(_, id)| id) else {
            return Ok(());
        };
        self.end_formatting(tag)?;
        self.forget_formatting(id);
        match self.open.iter().any(|open| open.id == id) {
            true => Err(Slow("link in a link")),
            false => Ok(()),
        }
    }

    /// Any other end tag.
    pub(super) fn end_other(&mut self, tag: &Tag<'d>) {
        for at in (0..self.open.len()).rev() {
            self.steps += 2;
            let open = &self.open[at];
            if open.is_html() && open.has_name_of(tag) {
                self.close_implied(tag.name);
                return self.close_down_to(at);
            }
            if open.is_special() {
                return;
            }
        }
    }

    /// # Errors
    /// If what is put at the current node would be moved before a table.
    pub(super) fn no_foster_parent(&self) -> Result<(), Slow> {
        match self.templates.is_empty() && self.top().is_some_and(Open::is_table_part) {
            true => Err(Slow("before a table")),
            false => Ok(()),
        }
    }
}

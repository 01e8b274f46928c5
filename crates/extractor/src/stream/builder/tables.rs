//! The insertion modes of tables.

use super::{Builder, Mode, TokenStep};
use crate::element::Element;
use crate::names::{Attr, Name::*};
use crate::stream::Slow;
use crate::stream::stack::{Formatting, Open, StackScope};
use crate::stream::tokens::{ContentModel, Tag};

const DONE: (TokenStep, ContentModel) = (TokenStep::Done, ContentModel::Markup);
const AGAIN: (TokenStep, ContentModel) = (TokenStep::Again, ContentModel::Markup);

impl<'d> Builder<'d, '_> {
    pub(super) fn start_in_table(
        &mut self,
        element: &mut Element<'d>,
        tag: &Tag<'d>,
    ) -> Result<(TokenStep, ContentModel), Slow> {
        match (self.mode, tag.name) {
            (Mode::InCell, Caption | Col | Colgroup | Tbody | Td | Tfoot | Th | Thead | Tr) => {
                if self.in_scope(StackScope::Table, is_cell).is_none() {
                    return Ok(DONE);
                }
                self.close_cell();
                self.mode = Mode::InRow;
                Ok(AGAIN)
            }
            (Mode::InCaption, Caption | Col | Colgroup | Tbody | Td | Tfoot | Th | Thead | Tr) => {
                Ok(if self.close_caption() { AGAIN } else { DONE })
            }
            (Mode::InCell | Mode::InCaption, _) => Ok((TokenStep::Done, self.start_in_body(element, tag)?)),

            (Mode::InRow, Td | Th) => {
                self.close_to(|open| is_row_context(open));
                self.insert(element, Some(tag))?;
                self.formatting.push(Formatting::Marker);
                self.mode = Mode::InCell;
                Ok(DONE)
            }
            (Mode::InRow, Caption | Col | Colgroup | Tbody | Tfoot | Thead | Tr) => {
                Ok(if self.close_row() { AGAIN } else { DONE })
            }

            (Mode::InTableBody, Tr) => {
                self.close_to(is_body_context);
                self.insert(element, Some(tag))?;
                self.mode = Mode::InRow;
                Ok(DONE)
            }
            (Mode::InTableBody, Td | Th) => {
                self.close_to(is_body_context);
                self.imply_part(Tr)?;
                self.mode = Mode::InRow;
                Ok(AGAIN)
            }
            (Mode::InTableBody, Caption | Col | Colgroup | Tbody | Tfoot | Thead) => {
                Ok(if self.close_body() { AGAIN } else { DONE })
            }

            (Mode::InColumnGroup, Html) => Ok((TokenStep::Done, self.merge(element)?)),
            (Mode::InColumnGroup, Col) => {
                self.insert_void(element)?;
                Ok(DONE)
            }
            (Mode::InColumnGroup, Template) => Ok((TokenStep::Done, self.start_in_head(element, tag)?)),
            (Mode::InColumnGroup, _) => Ok(if self.close_column_group() { AGAIN } else { DONE }),

            (_, Caption) => {
                self.close_to(is_table_context);
                self.formatting.push(Formatting::Marker);
                self.insert(element, Some(tag))?;
                self.mode = Mode::InCaption;
                Ok(DONE)
            }
            (_, Colgroup) => {
                self.close_to(is_table_context);
                self.insert(element, Some(tag))?;
                self.mode = Mode::InColumnGroup;
                Ok(DONE)
            }
            (_, Col) => {
                self.close_to(is_table_context);
                self.imply_part(Colgroup)?;
                self.mode = Mode::InColumnGroup;
                Ok(AGAIN)
            }
            (_, Tbody | Tfoot | Thead) => {
                self.close_to(is_table_context);
                self.insert(element, Some(tag))?;
                self.mode = Mode::InTableBody;
                Ok(DONE)
            }
            (_, Td | Th | Tr) => {
                self.close_to(is_table_context);
                self.imply_part(Tbody)?;
                self.mode = Mode::InTableBody;
                Ok(AGAIN)
            }
            (_, Table) => Ok(if self.close_table() { AGAIN } else { DONE }),
            (_, Style | Script | Template) => Ok((TokenStep::Done, self.start_in_head(element, tag)?)),
            (_, Input) if element.get(Attr::Type).is_some_and(|kind| kind.eq_ignore_ascii_case("hidden")) => {
                self.insert_void(element)?;
                Ok(DONE)
            }
            (_, Form) => {
                self.steps += self.open.len() as u64;
                if self.form.is_none() && self.templates.is_empty() {
                    self.form = Some(self.insert(element, Some(tag))?);
                    self.close_down_to(self.open.len() - 1);
                }
                Ok(DONE)
            }
            _ if !self.templates.is_empty() => Ok((TokenStep::Done, self.start_in_body(element, tag)?)),
            // Anything else, even what the body would ignore, stands before the table.
            _ => Err(Slow("before a table")),
        }
    }

    pub(super) fn end_in_table(&mut self, tag: &Tag<'d>) -> Result<TokenStep, Slow> {
        match (self.mode, tag.name) {
            (Mode::InCell, Td | Th) => {
                if self.is_in_scope(StackScope::Table, tag.name) {
                    self.close_implied(Other);
                    self.close_through(|open| open.is(tag.name));
                    self.clear_to_marker();
                    self.mode = Mode::InRow;
                }
                Ok(TokenStep::Done)
            }
            (Mode::InCell, Body | Caption | Col | Colgroup | Html) => Ok(TokenStep::Done),
            (Mode::InCell, Table | Tbody | Tfoot | Thead | Tr) => {
                if !self.is_in_scope(StackScope::Table, tag.name) {
                    return Ok(TokenStep::Done);
                }
                self.close_cell();
                self.mode = Mode::InRow;
                Ok(TokenStep::Again)
            }
            (Mode::InCaption, Caption) => {
                self.close_caption();
                Ok(TokenStep::Done)
            }
            (Mode::InCaption, Table) => {
                Ok(if self.close_caption() { TokenStep::Again } else { TokenStep::Done })
            }
            (Mode::InCaption, Body | Col | Colgroup | Html | Tbody | Td | Tfoot | Th | Thead | Tr) => {
                Ok(TokenStep::Done)
            }
            (Mode::InCell | Mode::InCaption, _) => {
                self.end_in_body(tag)?;
                Ok(TokenStep::Done)
            }

            (Mode::InRow, Tr) => {
                self.close_row();
                Ok(TokenStep::Done)
            }
            (Mode::InRow, Table) => Ok(if self.close_row() { TokenStep::Again } else { TokenStep::Done }),
            (Mode::InRow, Tbody | Tfoot | Thead) => {
                let is_open = self.is_in_scope(StackScope::Table, tag.name);
                Ok(if is_open && self.close_row() { TokenStep::Again } else { TokenStep::Done })
            }
            (Mode::InRow, Body | Caption | Col | Colgroup | Html | Td | Th) => Ok(TokenStep::Done),

            (Mode::InTableBody, Tbody | Tfoot | Thead) => {
                if self.is_in_scope(StackScope::Table, tag.name) {
                    self.close_to(is_body_context);
                    self.close_down_to(self.open.len() - 1);
                    self.mode = Mode::InTable;
                }
                Ok(TokenStep::Done)
            }
            (Mode::InTableBody, Table) => {
                Ok(if self.close_body() { TokenStep::Again } else { TokenStep::Done })
            }
            (Mode::InTableBody, Body | Caption | Col | Colgroup | Html | Td | Th | Tr) => Ok(TokenStep::Done),

            (Mode::InColumnGroup, Colgroup) => {
                self.close_column_group();
                Ok(TokenStep::Done)
            }
            (Mode::InColumnGroup, Col) => Ok(TokenStep::Done),
            (Mode::InColumnGroup, Template) => self.end_template().map(|()| TokenStep::Done),
            (Mode::InColumnGroup, _) => {
                Ok(if self.close_column_group() { TokenStep::Again } else { TokenStep::Done })
            }

            (_, Table) => {
                self.close_table();
                Ok(TokenStep::Done)
            }
            (_, Body | Caption | Col | Colgroup | Html | Tbody | Td | Tfoot | Th | Thead | Tr) => {
                Ok(TokenStep::Done)
            }
            (_, Template) => self.end_template().map(|()| TokenStep::Done),
            (_, P | Br) if self.templates.is_empty() => Err(Slow("before a table")),
            // Other end tags put nothing before the table.
            _ => {
                self.end_in_body(tag)?;
                Ok(TokenStep::Done)
            }
        }
    }

    fn imply_part(&mut self, name: crate::names::Name) -> Result<(), Slow> {
        self.insert(&Element::bare(name), None).map(|_| ())
    }

    /// Closes elements down to one with the property.
    fn close_to(&mut self, has: impl Fn(&Open<'d>) -> bool) {
        let at = self.open.iter().rposition(has).unwrap_or(0);
        self.close_down_to(at + 1);
        self.steps += 1;
    }

    fn close_cell(&mut self) {
        self.close_implied(Other);
        self.close_through(is_cell);
        self.clear_to_marker();
    }

    fn close_caption(&mut self) -> bool {
        if !self.is_in_scope(StackScope::Table, Caption) {
            return false;
        }
        self.close_implied(Other);
        self.close_through(|open| open.is(Caption));
        self.clear_to_marker();
        self.mode = Mode::InTable;
        true
    }

    fn close_row(&mut self) -> bool {
        if !self.is_in_scope(StackScope::Table, Tr) {
            return false;
        }
        self.close_to(is_row_context);
        self.close_down_to(self.open.len() - 1);
        self.mode = Mode::InTableBody;
        true
    }

    fn close_body(&mut self) -> bool {
        // The standard asks for thead, not table, but a table is open here in any case.
        let is_open = |open: &Open<'_>| open.is(Table) || open.is(Tbody) || open.is(Tfoot);
        if self.in_scope(StackScope::Table, is_open).is_none() {
            return false;
        }
        self.close_to(is_body_context);
        self.close_down_to(self.open.len() - 1);
        self.mode = Mode::InTable;
        true
    }

    fn close_column_group(&mut self) -> bool {
        let is_open = self.top_is(Colgroup);
        if is_open {
            self.close_down_to(self.open.len() - 1);
            self.mode = Mode::InTable;
        }
        is_open
    }

    fn close_table(&mut self) -> bool {
        if !self.is_in_scope(StackScope::Table, Table) {
            return false;
        }
        self.close_through(|open| open.is(Table));
        self.mode = self.mode_by_open();
        true
    }

    /// Resets the insertion mode appropriately.
    pub(super) fn mode_by_open(&mut self) -> Mode {
        self.steps += self.open.len() as u64;
        for open in self.open.iter().rev().filter(|open| open.is_html()) {
            return match open.name {
                Td | Th => Mode::InCell,
                Tr => Mode::InRow,
                Tbody | Thead | Tfoot => Mode::InTableBody,
                Caption => Mode::InCaption,
                Colgroup => Mode::InColumnGroup,
                Table => Mode::InTable,
                Template => self.templates.last().copied().unwrap_or(Mode::InBody),
                Head if self.is_behind_head => Mode::AfterHead,
                Head => Mode::InHead,
                Body => Mode::InBody,
                Html => Mode::AfterHead,
                _ => continue,
            };
        }
        Mode::InBody
    }
}

fn is_cell(open: &Open<'_>) -> bool {
    open.is(Td) || open.is(Th)
}

fn is_table_context(open: &Open<'_>) -> bool {
    open.is(Table) || open.is(Template) || open.is(Html)
}

fn is_body_context(open: &Open<'_>) -> bool {
    open.is(Tbody) || open.is(Tfoot) || open.is(Thead) || open.is(Template) || open.is(Html)
}

fn is_row_context(open: &Open<'_>) -> bool {
    open.is(Tr) || open.is(Template) || open.is(Html)
}

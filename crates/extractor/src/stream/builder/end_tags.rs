//! What an end tag does, except in tables.

use super::{Builder, Mode, TokenStep};
use crate::names::Name::*;
use crate::stream::Slow;
use crate::stream::stack::{Open, StackScope};
use crate::stream::tokens::Tag;

impl<'d> Builder<'d, '_> {
    pub(super) fn end(&mut self, tag: &Tag<'d>) -> Result<(), Slow> {
        if let Some(top) = self.top()
            && !top.is_html()
        {
            match self.end_foreign(tag)? {
                TokenStep::Done => return Ok(()),
                TokenStep::Again => {}
            }
        }
        loop {
            match self.mode {
                Mode::InBody => return self.end_in_body(tag),
                Mode::Initial => self.advance()?,
                Mode::BeforeHtml | Mode::BeforeHead => match tag.name {
                    // Only these begin the parts that are missing (§13.2.6.4.2 and .3). Others are dropped.
                    Head | Body | Html | Br => self.advance()?,
                    _ => return Ok(()),
                },
                Mode::InHead => match tag.name {
                    Head => {
                        self.mode = self.end_head();
                        return Ok(());
                    }
                    Template => return self.end_template(),
                    Body | Html | Br => self.advance()?,
                    _ => return Ok(()),
                },
                Mode::AfterHead => match tag.name {
                    Template => return self.end_template(),
                    Body | Html | Br => self.advance()?,
                    _ => return Ok(()),
                },
                Mode::InTemplate if tag.name == Template => return self.end_template(),
                Mode::InTemplate => return Ok(()),
                Mode::AfterBody if tag.name == Html => {
                    self.mode = Mode::AfterAfterBody;
                    return Ok(());
                }
                // Behind the body, an end tag takes effect as in the body (§13.2.6.4.19).
                Mode::AfterBody | Mode::AfterAfterBody => self.mode = Mode::InBody,
                _ => match self.end_in_table(tag)? {
                    TokenStep::Done => return Ok(()),
                    TokenStep::Again => {}
                },
            }
        }
    }

    pub(super) fn end_in_body(&mut self, tag: &Tag<'d>) -> Result<(), Slow> {
        match tag.name {
            A | B | Big | Code | Em | Font | I | Nobr | S | Small | Strike | Strong | Tt | U => {
                return self.end_formatting(tag);
            }
            Address | Article | Aside | Blockquote | Button | Center | Details | Dialog | Dir | Div | Dl
            | Fieldset | Figcaption | Figure | Footer | Header | Hgroup | Listing | Main | Menu | Nav
            | Ol | Pre | Search | Section | Select | Summary | Ul => {
                if self.is_in_scope(StackScope::Default, tag.name) {
                    self.close_implied(Other);
                    self.close_through(|open| open.is(tag.name));
                }
            }
            P => {
                if !self.is_in_scope(StackScope::Button, P) {
                    self.imply(P)?;
                }
                self.close_implied(P);
                self.close_through(|open| open.is(P));
            }
            Li | Dd | Dt => {
                let scope = if tag.name == Li { StackScope::ListItem } else { StackScope::Default };
                if self.is_in_scope(scope, tag.name) {
                    self.close_implied(tag.name);
                    self.close_through(|open| open.is(tag.name));
                }
            }
            H1 | H2 | H3 | H4 | H5 | H6 => {
                if self.in_scope(StackScope::Default, Open::is_heading).is_some() {
                    self.close_implied(Other);
                    self.close_through(Open::is_heading);
                }
            }
            Applet | Marquee | Object => {
                if self.is_in_scope(StackScope::Default, tag.name) {
                    self.close_implied(Other);
                    self.close_through(|open| open.is(tag.name));
                    self.clear_to_marker();
                }
            }
            Form => {
                self.steps += 2 * self.open.len() as u64;
                if !self.templates.is_empty() {
                    if self.is_in_scope(StackScope::Default, Form) {
                        self.close_implied(Other);
                        self.close_through(|open| open.is(Form));
                    }
                    return Ok(());
                }
                let Some(form) = self.form.take() else { return Ok(()) };
                if self.in_scope(StackScope::Default, |open| open.id == form).is_some() {
                    self.close_implied(Other);
                    if self.top().is_none_or(|top| top.id != form) {
                        return Err(Slow("form that ends in an element"));
                    }
                    self.close_down_to(self.open.len() - 1);
                }
            }
            Br => {
                self.reconstruct()?;
                self.imply(Br)?;
                self.close_down_to(self.open.len() - 1);
            }
            Body | Html => {
                self.steps += self.open.len() as u64;
                if self.is_in_scope(StackScope::Default, Body) {
                    self.mode = if tag.name == Html { Mode::AfterAfterBody } else { Mode::AfterBody };
                }
            }
            Template => return self.end_template(),
            Opt => {
                self.steps += 2 * self.open.len() as u64;
                self.end_other(tag);
            }
            _ => self.end_other(tag),
        }
        Ok(())
    }

    pub(super) fn end_template(&mut self) -> Result<(), Slow> {
        self.steps += self.open.len() as u64;
        if !self.templates.is_empty() {
            while self.top().is_some_and(Open::ends_with_template) {
                self.close_down_to(self.open.len() - 1);
            }
            self.close_through(|open| open.is(Template));
            self.clear_to_marker();
            self.mode = self.mode_by_open();
        }
        Ok(())
    }

    fn end_foreign(&mut self, tag: &Tag<'d>) -> Result<TokenStep, Slow> {
        if matches!(tag.name, Br | P) {
            return Err(Slow("markup in foreign content"));
        }
        for at in (1..self.open.len()).rev() {
            self.steps += 1;
            let open = &self.open[at];
            if at + 1 < self.open.len() && open.is_html() {
                return Ok(TokenStep::Again);
            }
            if open.has_name_of(tag) {
                self.close_down_to(at);
                return Ok(TokenStep::Done);
            }
        }
        Ok(TokenStep::Done)
    }
}

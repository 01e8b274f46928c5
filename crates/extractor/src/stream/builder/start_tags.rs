//! What a start tag does, except in tables.

use super::{Builder, Mode, Quirks, TokenStep};
use crate::element::{Element, ElementSpace};
use crate::names::Attr;
use crate::names::Name::{self, *};
use crate::stream::Slow;
use crate::stream::stack::{Formatting, Open, StackScope};
use crate::stream::tokens::{ContentModel, Tag};

impl<'d> Builder<'d, '_> {
    pub(super) fn start(&mut self, element: &mut Element<'d>, tag: &Tag<'d>) -> Result<ContentModel, Slow> {
        if let Some(top) = self.top()
            && !top.is_html()
        {
            return self.start_foreign(element, tag);
        }
        loop {
            match self.mode {
                Mode::InBody => return self.start_in_body(element, tag),
                Mode::Initial => self.advance()?,
                Mode::BeforeHtml | Mode::BeforeHead | Mode::AfterHead
                    if tag.name == Html && !self.open.is_empty() =>
                {
                    return self.merge(element);
                }
                Mode::BeforeHtml if tag.name == Html => {
                    self.insert(element, Some(tag))?;
                    self.mode = Mode::BeforeHead;
                    return Ok(ContentModel::Markup);
                }
                Mode::BeforeHead if tag.name == Head => {
                    self.insert(element, Some(tag))?;
                    self.mode = Mode::InHead;
                    return Ok(ContentModel::Markup);
                }
                Mode::BeforeHtml | Mode::BeforeHead => self.advance()?,
                Mode::InHead if tag.name == Html => return self.merge(element),
                Mode::InHead => match tag.name {
                    Noscript => {
                        self.insert(element, Some(tag))?;
                        return Ok(ContentModel::RawText);
                    }
                    Head => return Ok(ContentModel::Markup),
                    _ if is_for_head(tag.name) => return self.start_in_head(element, tag),
                    _ => self.advance()?,
                },
                Mode::AfterHead => match tag.name {
                    Body => {
                        self.close_down_to(1);
                        self.insert(element, Some(tag))?;
                        self.mode = Mode::InBody;
                        return Ok(ContentModel::Markup);
                    }
                    Frameset => return Err(Slow("frameset")),
                    Head => return Ok(ContentModel::Markup),
                    _ if is_for_head(tag.name) => return self.start_in_head(element, tag),
                    _ => self.advance()?,
                },
                Mode::InTemplate => {
                    if is_for_head(tag.name) {
                        return self.start_in_head(element, tag);
                    }
                    self.mode = match tag.name {
                        Caption | Colgroup | Tbody | Tfoot | Thead => Mode::InTable,
                        Col => Mode::InColumnGroup,
                        Tr => Mode::InTableBody,
                        Td | Th => Mode::InRow,
                        _ => Mode::InBody,
                    };
                    self.templates.pop();
                    self.templates.push(self.mode);
                }
                Mode::AfterBody | Mode::AfterAfterBody if tag.name == Html => return self.merge(element),
                Mode::AfterBody | Mode::AfterAfterBody => self.mode = Mode::InBody,
                _ => match self.start_in_table(element, tag)? {
                    (TokenStep::Done, content) => return Ok(content),
                    (TokenStep::Again, _) => {}
                },
            }
        }
    }

    /// Another tag of the root or the body adds attributes.
    pub(super) fn merge(&mut self, element: &Element<'d>) -> Result<ContentModel, Slow> {
        self.steps += self.open.len() as u64;
        match element.attributes.is_empty() || !self.templates.is_empty() {
            true => Ok(ContentModel::Markup),
            false => Err(Slow("attributes of a second tag")),
        }
    }

    pub(super) fn start_in_head(
        &mut self,
        element: &Element<'d>,
        tag: &Tag<'d>,
    ) -> Result<ContentModel, Slow> {
        let content = match tag.name {
            Base | Basefont | Bgsound | Link | Meta => {
                self.insert_void(element)?;
                return Ok(ContentModel::Markup);
            }
            Title => ContentModel::RcData,
            Noframes | Style => ContentModel::RawText,
            Script => ContentModel::Script,
            _ if element.get(Attr::ShadowRootMode).is_some() => return Err(Slow("shadow tree")),
            _ => {
                self.formatting.push(Formatting::Marker);
                self.insert(element, Some(tag))?;
                self.templates.push(Mode::InTemplate);
                self.mode = Mode::InTemplate;
                return Ok(ContentModel::Markup);
            }
        };
        self.insert(element, Some(tag))?;
        Ok(content)
    }

    pub(super) fn start_in_body(
        &mut self,
        element: &mut Element<'d>,
        tag: &Tag<'d>,
    ) -> Result<ContentModel, Slow> {
        match tag.name {
            A => {
                self.end_outer_link(tag)?;
                self.reconstruct()?;
                self.insert_formatting(element, tag)?;
            }
            B | Big | Code | Em | Font | I | S | Small | Strike | Strong | Tt | U => {
                self.reconstruct()?;
                self.insert_formatting(element, tag)?;
            }
            Nobr => {
                self.reconstruct()?;
                if self.is_in_scope(StackScope::Default, Nobr) {
                    return Err(Slow("nobr in a nobr"));
                }
                self.insert_formatting(element, tag)?;
            }
            Address | Article | Aside | Blockquote | Center | Details | Dialog | Dir | Div | Dl
            | Fieldset | Figcaption | Figure | Footer | Header | Hgroup | Main | Menu | Nav | Ol | P
            | Search | Section | Summary | Ul | Pre | Listing => {
                self.close_paragraph();
                self.insert(element, Some(tag))?;
                self.skips_newline = matches!(tag.name, Pre | Listing);
            }
            H1 | H2 | H3 | H4 | H5 | H6 => {
                self.close_paragraph();
                if self.top().is_some_and(Open::is_heading) {
                    self.close_down_to(self.open.len() - 1);
                }
                self.insert(element, Some(tag))?;
            }
            Li | Dd | Dt => {
                self.close_item(tag.name);
                self.close_paragraph();
                self.insert(element, Some(tag))?;
            }
            Base | Basefont | Bgsound | Link | Meta | Noframes | Script | Style | Template | Title => {
                return self.start_in_head(element, tag);
            }
            Area | Br | Embed | Img | Image | Keygen | Wbr => {
                if tag.name == Image {
                    element.name = Img;
                }
                self.reconstruct()?;
                self.insert_void(element)?;
            }
            Param | Source | Track => self.insert_void(element)?,
            Input => {
                if self.is_in_scope(StackScope::Default, Select) {
                    self.close_through(|open| open.is(Select));
                }
                self.reconstruct()?;
                self.insert_void(element)?;
            }
            Hr => {
                self.close_paragraph();
                if self.is_in_scope(StackScope::Default, Select) {
                    self.close_implied(Other);
                    self.steps += 4 * self.open.len() as u64;
                }
                self.insert_void(element)?;
            }
            Form => {
                self.steps += 2 * self.open.len() as u64;
                if self.form.is_none() || !self.templates.is_empty() {
                    self.close_paragraph();
                    let form = self.insert(element, Some(tag))?;
                    self.form = self.form.or(Some(form).filter(|_| self.templates.is_empty()));
                }
            }
            Button => {
                if self.is_in_scope(StackScope::Default, Button) {
                    self.close_implied(Other);
                    self.close_through(|open| open.is(Button));
                }
                self.reconstruct()?;
                self.insert(element, Some(tag))?;
            }
            Select if self.is_in_scope(StackScope::Default, Select) => {
                self.close_through(|open| open.is(Select));
            }
            Opt | Optgroup => {
                if self.is_in_scope(StackScope::Default, Select) {
                    self.close_implied(if tag.name == Opt { Optgroup } else { Other });
                    self.steps += 4 * self.open.len() as u64;
                } else if self.top_is(Opt) {
                    self.close_down_to(self.open.len() - 1);
                }
                self.reconstruct()?;
                self.insert(element, Some(tag))?;
            }
            Rb | Rtc | Rp | Rt => {
                if self.is_in_scope(StackScope::Default, Ruby) {
                    self.close_implied(if matches!(tag.name, Rp | Rt) { Rtc } else { Other });
                }
                self.insert(element, Some(tag))?;
            }
            Applet | Marquee | Object => {
                self.reconstruct()?;
                self.insert(element, Some(tag))?;
                self.formatting.push(Formatting::Marker);
            }
            Table => {
                if self.quirks == Quirks::Unknown && self.is_in_scope(StackScope::Button, P) {
                    return Err(Slow("table in a paragraph under an unusual doctype"));
                }
                if self.quirks != Quirks::Yes {
                    self.close_paragraph();
                }
                self.insert(element, Some(tag))?;
                self.mode = Mode::InTable;
            }
            Textarea => {
                self.insert(element, Some(tag))?;
                return Ok(ContentModel::RcData);
            }
            Xmp => {
                self.close_paragraph();
                self.reconstruct()?;
                self.insert(element, Some(tag))?;
                return Ok(ContentModel::RawText);
            }
            Iframe | Noembed | Noscript => {
                self.insert(element, Some(tag))?;
                return Ok(ContentModel::RawText);
            }
            Math | Svg => {
                self.reconstruct()?;
                let space = if tag.name == Svg { ElementSpace::Svg } else { ElementSpace::MathMl };
                return self.insert_foreign(element, tag, space);
            }
            Html | Body => return self.merge(element),
            Caption | Col | Colgroup | Frame | Head | Tbody | Td | Tfoot | Th | Thead | Tr => {}
            Frameset => return Err(Slow("frameset")),
            Plaintext => return Err(Slow("plaintext")),
            _ => {
                self.reconstruct()?;
                self.insert(element, Some(tag))?;
            }
        }
        Ok(ContentModel::Markup)
    }

    /// An item ends the one before it in its list.
    fn close_item(&mut self, name: Name) {
        let ends = |open: &Open<'_>| match name {
            Li => open.is(Li),
            _ => open.is(Dd) || open.is(Dt),
        };
        for at in (0..self.open.len()).rev() {
            self.steps += 1;
            let open = self.open[at];
            if ends(&open) {
                self.close_implied(open.name);
                return self.close_through(|other| other.is(open.name));
            }
            if open.is_special() && !matches!(open.name, Address | Div | P) {
                return;
            }
        }
    }

    fn start_foreign(&mut self, element: &mut Element<'d>, tag: &Tag<'d>) -> Result<ContentModel, Slow> {
        let Some(top) = self.open.last().copied() else { return Err(Slow("foreign")) };
        match tag.name {
            _ if top.is_integration_point() => Err(Slow("markup in foreign content")),
            AnnotationXml | Font | B | Big | Blockquote | Body | Br | Center | Code | Dd | Div | Dl | Dt
            | Em | Embed | H1 | H2 | H3 | H4 | H5 | H6 | Head | Hr | I | Img | Li | Listing | Menu | Meta
            | Nobr | Ol | P | Pre | Ruby | S | Small | Span | Strong | Strike | Sub | Sup | Table | Tt
            | U | Ul | Var => Err(Slow("markup in foreign content")),
            _ => self.insert_foreign(element, tag, top.space),
        }
    }

    fn insert_foreign(
        &mut self,
        element: &mut Element<'d>,
        tag: &Tag<'d>,
        space: ElementSpace,
    ) -> Result<ContentModel, Slow> {
        element.space = space;
        if tag.is_closed {
            self.insert_void(element)?;
            return Ok(ContentModel::Markup);
        }
        if matches!(tag.name, Script | Style | Template) {
            // The walk reads nothing in them, but here they are no raw texts.
            return Err(Slow("style in foreign content"));
        }
        self.insert(element, Some(tag))?;
        Ok(ContentModel::Markup)
    }
}

fn is_for_head(name: Name) -> bool {
    matches!(name, Base | Basefont | Bgsound | Link | Meta | Noframes | Script | Style | Template | Title)
}

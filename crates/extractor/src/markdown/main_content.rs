//! Finds the part of a page that a reader came for.
//!
//! First goes what is not content by its name: the page's frame, forms and controls, and elements whose class or role
//! says so (module [`aside`]), unless they and their siblings of that class hold a third of the prose. Then the landmarks
//! of HTML decide (`main`, `article`, `itemprop=articleBody`) if one holds half of the prose that is left, or a tenth if it is
//! the only `articleBody`, and the innermost element that holds four fifths of it, and has no paragraphs beside it, nor is
//! inside a table of data. In that, lists and blocks that are mostly links or teasers of other pages go, unless they are most
//! of it. Prose is text outside of links, in lines longer than a label ([`LABEL_BYTES`]).
//!
//! A page without such a part is written without its frame, and a page that is almost only frame with it.
//!
//! On the 181 news pages of scrapinghub's article-extraction-benchmark (`scripts/bench-main-content.py`) this has F1 .940
//! (precision .900, recall .984), where trafilatura has .960 and dom_smoothie .865. The truth there has no titles and no
//! captions, which are kept here: without titles of the first rank it is .949.

use super::table::DataTable;
use crate::element::Element;
use crate::names::Name;
use crate::part::Selected;
use crate::sink::Handle;
use crate::text::{ShownText, effect, is_mostly_frame};
use ego_tree::iter::Edge;
use scraper::{Html, Node, node};
use std::collections::HashMap;
use std::ops::AddAssign;

mod aside;

/// Bytes of the longest label, such as an entry of a menu. Shorter lines count a quarter.
const LABEL_BYTES: u64 = 50;
/// Bytes of the longest `id` that names a place on the page.
const LONGEST_NAME: usize = 20;
/// Bytes of the longest teaser of another page: a heading that is a link, and what stands beside it.
const TEASER_BYTES: u64 = 400;
/// Elements of which the outermost one may be a teaser, around its heading.
const MAX_TEASER_DEPTH: usize = 6;
/// Bytes of the least content.
const LEAST_BYTES: u64 = 100;

/// Bytes of visible text.
#[derive(Clone, Copy, Debug, Default)]
struct TextSum {
    text: u64,
    linked: u64,
    prose: u64,
    links: u64,
    /// Those within the page.
    own_links: u64,
    /// Teasers of other pages, and their text outside of links.
    teasers: u64,
    teased: u64,
}

impl AddAssign for TextSum {
    fn add_assign(&mut self, other: TextSum) {
        self.text += other.text;
        self.linked += other.linked;
        self.prose += other.prose;
        self.links += other.links;
        self.own_links += other.own_links;
        self.teasers += other.teasers;
        self.teased += other.teased;
    }
}

/// An element, in the order of the page.
struct Region {
    handle: Handle,
    parent: usize,
    /// The place behind its last descendant.
    end: usize,
    name: Name,
    landmark: Option<Landmark>,
    /// Is it no content by its name?
    is_out: bool,
    /// Does its class say so? If so, its siblings of the same class have this number too.
    aside: Option<usize>,
    /// The text that stands in no element of it, and all text.
    own: TextSum,
    sum: TextSum,
}

/// Where authors say that content is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Landmark {
    Main,
    Article,
    Body,
}

/// Selects the main content of what a rule leaves of a page.
pub(super) fn select(html: &Html, of_rule: Selected) -> Selected {
    let mut page = Regions::read(html, &of_rule);
    let all = page.regions[0].sum;
    let prose = page.prose_aside();
    page.leave_out(0, |region| {
        region.is_out || region.aside.is_some_and(|number| prose[number] * 3 <= all.prose)
    });
    let kept = page.regions[0].sum;
    if is_mostly_frame(kept.text as usize, (all.text - kept.text) as usize) {
        return of_rule;
    }
    let root = page.root(html);
    let sum = page.regions[root].sum;
    let without_links = page.out.len();
    page.leave_out(root, |region| region.is_links());
    // A page of links stays one.
    if page.regions[root].sum.text * 4 < sum.text {
        page.out.truncate(without_links);
    }
    let content = [Some(root), page.heading_outside(root)].into_iter().flatten();
    let included = (sum.text >= LEAST_BYTES).then(|| content.map(|at| page.regions[at].handle).collect());
    let mut ignored = of_rule.ignored;
    ignored.extend(page.out.iter().map(|at| page.regions[*at].handle));
    Selected { included, ignored, ..of_rule }
}

impl Region {
    /// May the content be in it alone?
    fn may_hold_content(&self) -> bool {
        use Name::{Article, Body, Center, Div, Form, Main, Other, Section, Table, Tbody, Td, Tr};
        matches!(
            self.name,
            Article | Body | Center | Div | Form | Main | Other | Section | Table | Tbody | Td | Tr
        )
    }

    /// Is it mostly links, or teasers of other pages?
    fn is_links(&self) -> bool {
        use Name::{Dir, Div, Dl, Menu, Ol, Section, Table, Ul};
        let TextSum { text, linked, links, teasers, teased, .. } = self.sum;
        matches!(self.name, Dir | Div | Dl | Menu | Ol | Section | Table | Ul)
            && (links >= 2 && linked * 2 > text || teasers >= 2 && (linked + teased) * 2 > text)
    }
}

/// The elements of a page with their texts.
struct Regions {
    regions: Vec<Region>,
    /// Kinds of siblings that their class puts aside.
    asides: usize,
    /// The outermost elements that are left out.
    out: Vec<usize>,
}

impl Regions {
    fn read(html: &Html, of_rule: &Selected) -> Regions {
        let mut reader = RegionReader::default();
        for edge in html.tree.root().traverse() {
            match edge {
                Edge::Open(node) => match node.value() {
                    Node::Element(element) => {
                        reader.enter(node.id(), element, of_rule.ignored.contains(&node.id()));
                    }
                    Node::Text(text) => reader.text(text),
                    _ => {}
                },
                Edge::Close(node) if node.value().is_element() => reader.leave(),
                Edge::Close(_) => {}
            }
        }
        let mut page = Regions { regions: reader.regions, asides: reader.asides.len(), out: Vec::new() };
        page.add_up();
        page.note_teasers();
        page
    }

    /// Notes the elements that hold a heading that is a link to another page, and little else.
    fn note_teasers(&mut self) {
        use Name::{H2, H3, H4, H5, H6};
        for at in 0..self.regions.len() {
            let Region { name, sum, .. } = self.regions[at];
            let is_heading = matches!(name, H2 | H3 | H4 | H5 | H6) && sum.text > 0;
            if !is_heading || sum.own_links > 0 || sum.linked * 10 < sum.text * 9 {
                continue;
            }
            let parent = |at: &usize| Some(self.regions[*at].parent);
            let holders = std::iter::successors(parent(&at), parent).take(MAX_TEASER_DEPTH);
            let is_short = |holder: &usize| self.regions[*holder].sum.text <= TEASER_BYTES;
            let Some(teaser) = holders.take_while(is_short).last() else { continue };
            let TextSum { text, linked, .. } = self.regions[teaser].sum;
            let own = &mut self.regions[teaser].own;
            (own.teasers, own.teased) = (own.teasers + 1, text - linked);
        }
        self.add_up();
    }

    fn add_up(&mut self) {
        self.regions.iter_mut().for_each(|region| region.sum = region.own);
        for at in (1..self.regions.len()).rev() {
            let Region { parent, sum, .. } = self.regions[at];
            self.regions[parent].sum += sum;
        }
    }

    /// The prose that siblings put aside by one class hold together.
    fn prose_aside(&self) -> Vec<u64> {
        let mut prose = vec![0; self.asides];
        for (region, number) in self.regions.iter().filter_map(|region| Some((region, region.aside?))) {
            prose[number] += region.sum.prose;
        }
        prose
    }

    /// Leaves out the outermost elements of a kind within an element.
    fn leave_out(&mut self, within: usize, is_out: impl Fn(&Region) -> bool) {
        let mut at = within + 1;
        while at < self.regions[within].end {
            let end = self.regions[at].end;
            if is_out(&self.regions[at]) {
                self.out.push(at);
                self.regions[at..end].iter_mut().for_each(|region| region.own = TextSum::default());
                at = end;
            } else {
                at += 1;
            }
        }
        self.add_up();
    }

    /// The element that holds the content. A table of data is one.
    fn root(&self, html: &Html) -> usize {
        let prose = |at: usize| self.regions[at].sum.prose;
        let mut root = 0;
        for landmark in [Landmark::Main, Landmark::Article, Landmark::Body] {
            let named =
                (root..self.regions[root].end).filter(|at| self.regions[*at].landmark == Some(landmark));
            // The only body of an article is one whatever stands around it.
            let is_only = landmark == Landmark::Body && named.clone().count() == 1;
            let share = if is_only { 10 } else { 2 };
            root = named
                .rev()
                .max_by_key(|at| prose(*at))
                .filter(|at| prose(*at) * share >= prose(root))
                .unwrap_or(root);
        }
        loop {
            // What stands beside paragraphs continues them.
            let own: u64 =
                self.children(root).filter(|at| self.regions[*at].name == Name::P).map(prose).sum();
            let inner = self.children(root).max_by_key(|at| (prose(*at), usize::MAX - at));
            let is_data = |at: &usize| {
                let node = html.tree.get(self.regions[*at].handle);
                self.regions[*at].name == Name::Table
                    && node.is_some_and(|node| DataTable::of_data(node).is_some())
            };
            let holds = |at: &usize| {
                prose(*at) * 5 >= prose(root) * 4 && self.regions[*at].may_hold_content() && !is_data(at)
            };
            match inner.filter(holds).filter(|_| own * 20 < prose(root)) {
                Some(inner) => root = inner,
                None => return root,
            }
        }
    }

    fn children(&self, at: usize) -> impl Iterator<Item = usize> {
        let end = self.regions[at].end;
        let next = move |child: &usize| Some(self.regions[*child].end).filter(|next| *next < end);
        std::iter::successors(Some(at + 1).filter(|child| *child < end), next)
    }

    /// The only first-rank heading of the page, if the content has none.
    fn heading_outside(&self, root: usize) -> Option<usize> {
        let is_heading = |at: &usize| self.regions[*at].name == Name::H1 && self.regions[*at].sum.text > 0;
        let mut headings = (0..self.regions.len()).filter(is_heading);
        headings.next().filter(|at| headings.next().is_none() && !(root..self.regions[root].end).contains(at))
    }
}

/// Inherited from the elements around a text.
#[derive(Clone, Copy, Default)]
struct RegionContext {
    /// The innermost element, and the innermost block.
    region: usize,
    block: usize,
    shown: ShownText,
    is_in_section: bool,
    is_in_heading: bool,
    is_in_link: bool,
    is_ignored: bool,
}

/// Reads the elements of a page.
#[derive(Default)]
struct RegionReader {
    regions: Vec<Region>,
    /// Numbers by parent and names.
    asides: HashMap<(usize, String), usize>,
    around: Vec<RegionContext>,
    /// The line that is being read.
    line: TextSum,
}

impl RegionReader {
    fn enter(&mut self, handle: Handle, of_node: &node::Element, is_ignored: bool) {
        let element = Element::of_node(of_node);
        let around = self.around.last().copied().unwrap_or_default();
        let effect = effect(&element, around.is_in_section);
        let at = self.regions.len();
        if effect.is_block {
            self.end_line();
        }
        use Name::{Article, Aside, Button, Dialog, Fieldset, Footer, Form, H1, H2, H3, H4, H5, H6};
        use Name::{Input, Main, Nav, Section, Select, Textarea};
        let is_heading = matches!(element.name, H1 | H2 | H3 | H4 | H5 | H6);
        self.around.push(RegionContext {
            region: at,
            block: if effect.is_block { at } else { around.block },
            shown: around.shown.within(&effect),
            is_in_section: around.is_in_section || effect.is_section,
            is_in_heading: around.is_in_heading || is_heading,
            is_in_link: around.is_in_link || element.name == Name::A,
            is_ignored: around.is_ignored || is_ignored,
        });
        let is =
            |name: &str, value: &str| of_node.attr(name).is_some_and(|said| said.eq_ignore_ascii_case(value));
        let landmark = match element.name {
            _ if is("itemprop", "articleBody") => Some(Landmark::Body),
            Article => Some(Landmark::Article),
            Main => Some(Landmark::Main),
            _ => is("role", "main").then_some(Landmark::Main),
        };
        // The `id` of a section, or a long one, is made of the words of a heading.
        let is_name = |id: &&str| id.len() <= LONGEST_NAME && element.name != Section;
        let [class, role] = ["class", "role"].map(|name| of_node.attr(name));
        let names = || [class, role, of_node.attr("id").filter(is_name)].into_iter().flatten();
        let is_out = match element.name {
            Aside => effect.is_frame || !names().any(aside::is_note),
            // The headings of questions open their answers.
            Button => !around.is_in_heading,
            name => effect.is_frame || matches!(name, Dialog | Footer | Input | Nav | Select | Textarea),
        };
        let is_aside = matches!(element.name, Form | Fieldset)
            || effect.is_block && !is_heading && names().any(aside::is_aside);
        let aside = is_aside.then(|| self.number(around.region, class.unwrap_or_default()));
        let is_link = element.name == Name::A;
        let is_own = is_link && of_node.attr("href").is_none_or(|href| href.trim().starts_with('#'));
        let (links, own_links) = (u64::from(is_link), u64::from(is_own));
        let own = TextSum { links, own_links, ..TextSum::default() };
        let (parent, name, sum) = (around.region, element.name, TextSum::default());
        self.regions.push(Region { handle, parent, end: 0, name, landmark, is_out, aside, own, sum });
    }

    /// The number of siblings with a class.
    fn number(&mut self, parent: usize, class: &str) -> usize {
        let next = self.asides.len();
        *self.asides.entry((parent, class.to_owned())).or_insert(next)
    }

    fn leave(&mut self) {
        let Some(RegionContext { region, block, .. }) = self.around.last().copied() else { return };
        if block == region {
            self.end_line();
        }
        self.regions[region].end = self.regions.len();
        self.around.pop();
    }

    fn text(&mut self, text: &str) {
        let Some(around) = self.around.last().filter(|around| around.shown.is_seen() && !around.is_ignored)
        else {
            return;
        };
        let text = text.trim().len() as u64;
        let sum = TextSum { text, linked: if around.is_in_link { text } else { 0 }, ..TextSum::default() };
        self.regions[around.region].own += sum;
        self.line += sum;
    }

    /// Counts the prose of a line for the block around it.
    fn end_line(&mut self) {
        let TextSum { text, linked, .. } = std::mem::take(&mut self.line);
        let prose = match text - linked {
            long @ LABEL_BYTES.. => long,
            short => short / 4,
        };
        if let Some(around) = self.around.last() {
            self.regions[around.block].own.prose += prose;
        }
    }
}

#[cfg(test)]
mod tests;

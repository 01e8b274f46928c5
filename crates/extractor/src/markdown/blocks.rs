//! BlockWriter of Markdown, in quotes and items of lists.

use super::MAX_MARKDOWN_BYTES;
use super::line::longest_run;

/// Maximum quotes and items in each other. Each adds to every line within; deeper ones go on in the innermost.
const MAX_CONTAINERS: usize = 16;
/// The highest number of an item that readers take.
const MAX_NUMBER: i64 = 999_999_999;

/// A list whose items are being written.
#[derive(Clone, Copy)]
struct MarkdownList {
    /// Tells the lists apart.
    id: usize,
    /// Number of containers around it.
    depth: usize,
    /// `-` or `+` before each item, or `.` or `)` behind its number.
    sign: char,
    /// The number of the next item.
    next: i64,
    /// Bytes of the sign before the last item; 0 if it has none.
    width: usize,
    /// The end of that item.
    end: Before,
}

enum Container {
    Quote,
    Item { marker: String, is_written: bool, list: MarkdownList },
}

/// The end of the last block, as the next one sees it.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Before {
    /// A block in the same containers.
    Block,
    /// An item of this list.
    Item(usize),
    #[default]
    Other,
}

/// Writes blocks with the lines between them.
#[derive(Default)]
pub(super) struct BlockWriter {
    text: String,
    containers: Vec<Container>,
    /// Containers that are open since the last block.
    shared: usize,
    before: Before,
    lists: Vec<MarkdownList>,
    /// The list that ended, if no block followed.
    ended: Option<MarkdownList>,
    /// The levels of headings behind the last other block, and where the text ended before each.
    headings: Vec<(u8, usize)>,
    ids: usize,
    is_cut: bool,
}

impl BlockWriter {
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Writes a block of one or more lines.
    pub(super) fn push(&mut self, block: &str) {
        self.headings.clear();
        self.write(block);
    }

    /// Writes a heading. One that only another follows, of its level or a higher one, goes if it is `loose`.
    pub(super) fn heading(&mut self, level: u8, text: &str, is_loose: bool) {
        match is_loose && self.containers.is_empty() {
            true => {
                self.drop_headings(level);
                self.headings.push((level, self.text.len()));
            }
            false => self.headings.clear(),
        }
        self.write(&format!("{} {text}", "#".repeat(level.into())));
    }

    /// Writes a block of code; blank lines at its ends are left out.
    pub(super) fn push_code(&mut self, language: &str, code: &str) {
        let code = code.trim_matches('\n').trim_end();
        if !code.trim().is_empty() {
            let fence = "`".repeat(longest_run(code).max(2) + 1);
            self.push(&format!("{fence}{language}\n{code}\n{fence}"));
        }
    }

    /// Drops headings of a level, and below, that nothing followed.
    fn drop_headings(&mut self, level: u8) {
        while let Some((_, end)) = self.headings.pop_if(|(last, _)| *last >= level) {
            self.text.truncate(end);
            (self.shared, self.before, self.ended) = (0, Before::Other, None);
        }
    }

    fn write(&mut self, block: &str) {
        if self.is_cut {
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
            if !self.is_tight() {
                self.begin_line(self.shared, false, true);
                self.text.push('\n');
            }
        }
        for (number, line) in block.split('\n').enumerate() {
            if number > 0 {
                self.text.push('\n');
            }
            self.begin_line(self.containers.len(), number == 0, line.is_empty());
            self.text.push_str(line);
            if self.text.len() > MAX_MARKDOWN_BYTES {
                self.is_cut = true;
                break;
            }
        }
        for container in &mut self.containers {
            if let Container::Item { is_written, .. } = container {
                *is_written = true;
            }
        }
        (self.shared, self.before) = (self.containers.len(), Before::Block);
        self.ended = self.ended.filter(|list| list.depth < self.containers.len());
    }

    /// Begins a line in the outer containers.
    fn begin_line(&mut self, containers: usize, is_first: bool, is_blank: bool) {
        for container in &self.containers[..containers] {
            match container {
                Container::Quote => self.text.push_str("> "),
                Container::Item { marker, is_written: false, .. } if is_first => self.text.push_str(marker),
                Container::Item { marker, .. } => self.text.extend(marker.chars().map(|_| ' ')),
            }
        }
        if is_blank {
            self.text.truncate(self.text.trim_end_matches(' ').len());
        }
    }

    /// Does the next block begin an item right below the line before?
    fn is_tight(&self) -> bool {
        let Some(Container::Item { is_written: false, list, .. }) = self.containers.get(self.shared) else {
            return false;
        };
        let is_in_item = matches!(self.containers[..self.shared].last(), Some(Container::Item { .. }));
        match self.before {
            Before::Item(before) => before == list.id,
            // A list of other numbers would go on with the line.
            Before::Block => is_in_item && (list.next == 1 || matches!(list.sign, '-' | '+')),
            Before::Other => false,
        }
    }

    /// Begins a list, with the number of its first item if it has numbers.
    pub(super) fn begin_list(&mut self, first: Option<i64>) {
        let depth = self.containers.len();
        let signs = if first.is_some() { ['.', ')'] } else { ['-', '+'] };
        // Two lists of one sign would be read as one.
        let is_next = self.ended.is_some_and(|ended| ended.depth == depth && ended.sign == signs[0]);
        self.ids += 1;
        let (sign, next) = (signs[usize::from(is_next)], first.unwrap_or(1));
        self.lists.push(MarkdownList { id: self.ids, depth, sign, next, width: 0, end: Before::Other });
    }

    pub(super) fn end_list(&mut self) {
        if let Some(list) = self.lists.pop().filter(|list| list.width > 0) {
            self.ended = Some(list);
        }
    }

    /// Begins an item, maybe with a number of its own; false if it is too deep.
    pub(super) fn begin_item(&mut self, number: Option<i64>) -> bool {
        let is_lone = self.lists.is_empty();
        if is_lone {
            self.begin_list(None);
        }
        let list = self.lists.last_mut().expect("there is a list");
        list.next = number.unwrap_or(list.next);
        let marker = match list.sign {
            sign @ ('-' | '+') => format!("{sign} "),
            sign => format!("{}{sign} ", list.next.clamp(0, MAX_NUMBER)),
        };
        let now = *list;
        list.next = list.next.saturating_add(1);
        if is_lone {
            self.lists.pop();
        }
        self.enter(Container::Item { marker, is_written: false, list: now })
    }

    /// Goes on with the last item of the open list; false if there is none, or something followed it.
    pub(super) fn reopen_item(&mut self) -> bool {
        let depth = self.containers.len();
        let goes_on = |list: &MarkdownList| {
            list.width > 0 && (list.depth, self.shared, self.before) == (depth, depth, Before::Item(list.id))
        };
        let Some(list) = self.lists.last().copied().filter(goes_on) else { return false };
        let marker = " ".repeat(list.width);
        let is_open = self.enter(Container::Item { marker, is_written: true, list });
        if is_open {
            (self.shared, self.before) = (depth + 1, list.end);
        }
        is_open
    }

    pub(super) fn begin_quote(&mut self) -> bool {
        self.enter(Container::Quote)
    }

    fn enter(&mut self, container: Container) -> bool {
        let has_room = self.containers.len() < MAX_CONTAINERS;
        if has_room {
            self.containers.push(container);
        }
        has_room
    }

    /// Ends the innermost quote or item.
    pub(super) fn leave(&mut self) {
        let left = self.containers.pop();
        let is_shared = self.containers.len() < self.shared;
        self.shared = self.shared.min(self.containers.len());
        match left {
            Some(Container::Item { is_written: true, list, marker }) => {
                let end = self.before;
                if is_shared {
                    self.before = Before::Item(list.id);
                }
                if let Some(last) = self.lists.last_mut().filter(|last| last.id == list.id) {
                    (last.width, last.end) = (marker.len(), end);
                }
            }
            _ if is_shared => self.before = Before::Other,
            _ => {}
        }
    }

    /// The text, and whether some is missing.
    pub(super) fn finish(mut self) -> (String, bool) {
        self.drop_headings(0);
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        (self.text, self.is_cut)
    }
}

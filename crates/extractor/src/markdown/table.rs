//! Tables of data. Tables that only lay out a page are blocks.

use crate::names::Name;
use ego_tree::NodeRef;
use ego_tree::iter::Edge;
use scraper::Node;

/// Maximum columns of a table; one with more is written as blocks.
const MAX_COLUMNS: usize = 64;
/// Maximum bytes of a cell's text; a table with a longer one is taken for a layout.
const MAX_CELL_BYTES: usize = 1_500;

/// Collects the cells of a table.
#[derive(Default)]
pub(super) struct DataTable {
    rows: Vec<Vec<String>>,
    /// Rows that the last cell of each column still covers.
    covered: Vec<usize>,
    /// Is the first row a heading?
    has_heading: bool,
}

impl DataTable {
    /// A table that an element holds, unless it is a layout: of one column, with whole texts in cells, or, if no cell is a
    /// heading of others, with headings, code or tables in them.
    pub(super) fn of_data(table: NodeRef<'_, Node>) -> Option<DataTable> {
        let (mut columns, mut most, mut bytes, mut rows) = (0, 0, 0, 0);
        let (mut has_head, mut is_named, mut is_data, mut is_rich) = (false, true, false, false);
        // Tables that are open in this one, and it.
        let mut tables = 0;
        for edge in table.traverse() {
            let (Edge::Open(node) | Edge::Close(node)) = edge;
            let is_table = node.value().as_element().is_some_and(|element| element.name() == "table");
            if let Edge::Close(_) = edge {
                tables -= usize::from(is_table);
                continue;
            }
            tables += usize::from(is_table);
            let element = match node.value() {
                Node::Text(text) => {
                    bytes += text.trim().len();
                    if bytes > MAX_CELL_BYTES {
                        return None;
                    }
                    continue;
                }
                Node::Element(element) => element,
                _ => continue,
            };
            use Name::*;
            match Name::lookup(element.name().as_bytes()) {
                Textarea | Blockquote | Iframe => return None,
                Table => is_rich |= tables > 1,
                Pre | Listing | Xmp | H1 | H2 | H3 | H4 | H5 | H6 => is_rich = true,
                _ if tables > 1 => {}
                Tr => (rows, columns) = (rows + 1, 0),
                cell @ (Td | Th) => {
                    (columns, bytes) = (columns + 1, 0);
                    most = most.max(columns);
                    is_named &= rows > 1 || cell == Th;
                    is_data |= cell == Th;
                }
                Thead => (has_head, is_data) = (true, true),
                _ => {}
            }
        }
        let has_heading = has_head || is_named;
        let is_table = (2..=MAX_COLUMNS).contains(&most) && (is_data || !is_rich);
        is_table.then(|| Self { has_heading, ..Self::default() })
    }

    pub(super) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
        self.skip_covered();
    }

    /// Adds a cell that spans columns and rows.
    pub(super) fn cell(&mut self, text: String, columns: usize, rows: usize) {
        if self.rows.is_empty() {
            self.begin_row();
        }
        let Some(row) = self.rows.last_mut() else { return };
        let columns = columns.clamp(1, MAX_COLUMNS.saturating_sub(row.len()).max(1));
        let begin = row.len();
        row.push(text);
        row.resize(begin + columns, String::new());
        let end = row.len();
        self.covered.resize(self.covered.len().max(end), 0);
        self.covered[begin..end].fill(rows.saturating_sub(1));
        self.skip_covered();
    }

    /// Leaves out the columns that cells above cover.
    fn skip_covered(&mut self) {
        let Some(row) = self.rows.last_mut() else { return };
        while let Some(rows @ 1..) = self.covered.get_mut(row.len()) {
            *rows -= 1;
            row.push(String::new());
        }
    }

    /// The table as lines; none if it is empty.
    pub(super) fn finish(mut self) -> Option<String> {
        let has_heading = self.has_heading && !self.rows.is_empty();
        let mut heading = if has_heading { self.rows.remove(0) } else { Vec::new() };
        let is_shown = |row: &Vec<String>| row.iter().any(|cell| !cell.is_empty());
        self.rows.retain(is_shown);
        if self.rows.is_empty() && !is_shown(&heading) {
            return None;
        }
        let width = self.rows.iter().map(Vec::len).max().unwrap_or(0).max(heading.len());
        heading.resize(width, String::new());
        let rule = vec!["-".to_owned(); width];
        let line = |row: &Vec<String>| format!("| {} |", row.join(" | "));
        let lines: Vec<_> = [&heading, &rule].into_iter().chain(&self.rows).map(line).collect();
        Some(lines.join("\n"))
    }
}

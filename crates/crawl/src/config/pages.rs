//! `[[pages]]`: rules for pages.

use super::units::{Render, Span};
use recrawl_types::Importance;
use serde::{Deserialize, Serialize};

table! {
    /// `[[pages]]`
    PagesTable {
        /// The pages, as a pattern.
        #[serde(rename = "match")]
        matches: String = String::new(),
        /// CSS selectors of the elements that count; empty for the whole page.
        include: Vec<String> = Vec::new(),
        /// CSS selectors of elements that do not count.
        ignore: Vec<String> = Vec::new(),
        /// Regular expressions of text that does not count.
        ignore_text: Vec<String> = Vec::new(),
        /// Are the pages read after their scripts have run?
        render: Render = Render::Never,
        /// The command that makes text or HTML of documents that are neither, with its arguments; empty for none.
        convert: Vec<String> = Vec::new(),
        /// Are style sheets, images, scripts, fonts and frames of the pages archived?
        requisites: bool = false,
        /// Interval of visits of one page, also within a cycle.
        every: Option<Span> = None,
        /// As how many ordinary pages each page counts in the schedule; none for 1.
        importance: Option<Importance> = None,
    }
}

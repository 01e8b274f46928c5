//! `[[pages]]`: rules for pages; and `[convert]`, for those whose documents are converted.

use super::units::{Render, Size, Span};
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

table! {
    /// `[convert]`
    ConvertTable {
        /// Media types of the documents.
        types: Vec<String> = CONVERTED.map(String::from).into(),
        /// Documents that are converted at a time.
        at_once: u32 = 2,
        /// Longest time of a document.
        time: Span = Span::millis(60_000),
        /// Maximum memory of a process of the command.
        memory: Size = Size(1 << 30),
        /// Maximum size of what is made of a document.
        max_document: Size = Size(8 << 20),
    }
}

/// PDF, and the files of office programs and books.
const CONVERTED: [&str; 11] = [
    "application/pdf",
    "application/rtf",
    "application/epub+zip",
    "application/msword",
    "application/vnd.ms-excel",
    "application/vnd.ms-powerpoint",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "application/vnd.oasis.opendocument.text",
    "application/vnd.oasis.opendocument.spreadsheet",
];

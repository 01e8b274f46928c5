//! Pages of a genre on a subject, for focused crawls: syllabi of courses on databases, some of them many in a list.
//!
//! The children of a page are a list. In a chosen part of the lists most pages are syllabi; elsewhere, none. The list's page
//! tells of courses on databases. Half of the links to a syllabus say what it is.

use super::Procedural;
use super::layout::BRANCHES;
use crate::seed::{mix, unit};

const TOPIC: u64 = 0x746f_7069;
/// Part of the pages of a chosen list that are syllabi.
const WITHIN: f64 = 0.8;
/// Begins titles and anchors.
pub const NAME: &[u8] = b"Syllabus: databases. ";

/// The text that only syllabi have.
pub const TEXT: &[u8] = b"<p>Syllabus. This course on databases has lectures, homework, grading and a midterm exam. \
Week one: the relational model and SQL. Week two: transactions, query optimization and database design. Homework is due on \
Fridays; grading follows the syllabus.</p>\n";

/// The text of a page whose list has syllabi.
pub const LIST_TEXT: &[u8] = b"<p>Our courses on databases, SQL and transactions.</p>\n";

impl Procedural {
    /// Is the page a syllabus?
    pub fn is_syllabus(&self, page: u32) -> bool {
        let (share, seed) = (self.config.syllabi, self.config.seed);
        let host = self.layout.host_of(page);
        let list = (page - self.layout.pages_of(host).start) / BRANCHES;
        share > 0.0
            && unit(mix(&[seed, TOPIC, u64::from(host), u64::from(list)])) < share
            && unit(mix(&[seed, TOPIC, 1, u64::from(page)])) < WITHIN
    }

    /// Does a link to the page, from that one, say that it is a syllabus?
    pub(super) fn names_syllabus(&self, from: u32, page: u32) -> bool {
        self.is_syllabus(page)
            && mix(&[self.config.seed, TOPIC, 2, u64::from(from), u64::from(page)]).is_multiple_of(2)
    }
}

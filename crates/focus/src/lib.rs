//! Focused crawling: which pages have the genre and the content that is looked for, and which links lead to them.
//!
//! After G. T. de Assis, *A Genre-Aware Approach to Focused Crawling of Web Pages* (UFMG 2008). Data in, data out: a
//! [`Topic`] is a set of terms, a [`Classifier`] scores a page, an [order](policy) ranks untried links, and [`replay`]
//! crawls a [`Corpus`] in memory. Nothing here opens a socket or a file, or knows formulas.

pub mod classifier;
pub mod corpus;
pub mod crawl;
pub mod evaluate;
mod frontier;
pub mod generate;
pub mod learned;
pub mod link;
pub mod live;
pub mod logistic;
pub mod policy;
pub mod replay;
pub mod similarity;
pub mod terms;
pub mod web;
pub mod words;

pub use classifier::{Assessment, Classifier, PageText, Reading};
pub use corpus::Corpus;
pub use terms::{Combine, Set, TermsError, Topic, UrlTerms, Weights};
pub use words::{Language, Words};

//! Focused crawling: which pages have the genre and the content that is looked for, and which links lead to them.
//!
//! After G. T. de Assis, *A Genre-Aware Approach to Focused Crawling of Web Pages* (UFMG 2008). Data in, data out: a
//! [`Topic`] is a set of terms, a [`Classifier`] scores a page, and an [order](policy) ranks untried links by their
//! [`evidence`]. Nothing here opens a socket or a file, or knows formulas.

pub mod classifier;
pub mod evidence;
pub mod live;
pub mod logistic;
pub mod policy;
pub mod similarity;
pub mod terms;
pub mod words;

pub use classifier::{Assessment, Classifier, PageText, PageWords};
pub use terms::{Combine, TermSet, TermsError, Topic, UrlTerms, Weights};
pub use words::{Language, Words};

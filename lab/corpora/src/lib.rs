//! Labelled corpora of pages, for studies of focused crawling after G. T. de Assis (UFMG 2008).
//!
//! A [`Corpus`] has pages, their links and the genres and topics that people gave them. [`replay`] crawls it in memory in
//! each [order](recrawl_focus::policy), [`evaluate`] trains classifiers and measures them on sites that they have not seen,
//! and [`generate`] proposes terms from examples. Data in, data out: nothing here opens a socket or a file.

pub mod corpus;
pub mod crawl;
pub mod evaluate;
mod frontier;
pub mod generate;
pub mod learned;
pub mod linear;
pub mod link;
pub mod regression;
pub mod replay;
pub mod rules;
pub mod web;

pub use corpus::Corpus;

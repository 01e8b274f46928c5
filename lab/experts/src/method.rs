//! The methods that an experiment compares.

use crate::Relation;
use std::fmt;

/// A way to predict whether a page changes on the next day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// 1D: a coin of the page's share of changes in the window.
    Coin,
    /// 2D: one machine on the page's own features.
    Single,
    /// 3D: one machine for each related page and the page itself, on that page's features; votes are weighted by the
    /// relation. At most this number of related pages.
    Experts(Relation, usize),
    /// One machine on the features of all related pages together.
    Union(Relation),
    /// Machines on samples of the window, with the features of the union; equal votes (Breiman 1996).
    Bagging(Relation),
    /// AdaBoost by resampling, with the features of the union.
    Boosting(Relation),
    /// Control: the more frequent class of the window.
    Majority,
    /// Control: what the page did today. The coin of a window of one day.
    Last,
}

impl Method {
    /// The relation whose pages it uses.
    pub fn relation(self) -> Option<Relation> {
        match self {
            Method::Experts(relation, _)
            | Method::Union(relation)
            | Method::Bagging(relation)
            | Method::Boosting(relation) => Some(relation),
            _ => None,
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Method::Coin => f.write_str("1D coin"),
            Method::Single => f.write_str("2D single"),
            Method::Experts(relation, _) => write!(f, "3D experts, {relation}"),
            Method::Union(relation) => write!(f, "union, {relation}"),
            Method::Bagging(relation) => write!(f, "bagging, {relation}"),
            Method::Boosting(relation) => write!(f, "boosting, {relation}"),
            Method::Majority => f.write_str("majority"),
            Method::Last => f.write_str("last day"),
        }
    }
}

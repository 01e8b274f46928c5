//! The methods that an experiment compares.

use crate::Relation;
use std::fmt;

/// A way to predict whether a page changes on the next day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PredictionMethod {
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

impl PredictionMethod {
    /// The relation whose pages it uses.
    pub fn relation(self) -> Option<Relation> {
        match self {
            PredictionMethod::Experts(relation, _)
            | PredictionMethod::Union(relation)
            | PredictionMethod::Bagging(relation)
            | PredictionMethod::Boosting(relation) => Some(relation),
            _ => None,
        }
    }
}

impl fmt::Display for PredictionMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PredictionMethod::Coin => f.write_str("1D coin"),
            PredictionMethod::Single => f.write_str("2D single"),
            PredictionMethod::Experts(relation, _) => write!(f, "3D experts, {relation}"),
            PredictionMethod::Union(relation) => write!(f, "union, {relation}"),
            PredictionMethod::Bagging(relation) => write!(f, "bagging, {relation}"),
            PredictionMethod::Boosting(relation) => write!(f, "boosting, {relation}"),
            PredictionMethod::Majority => f.write_str("majority"),
            PredictionMethod::Last => f.write_str("last day"),
        }
    }
}

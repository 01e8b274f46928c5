//! What the console counts of its own requests.

use axum::http::StatusCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts since the console began. They only grow.
#[derive(Default)]
pub struct Traffic {
    classes: [AtomicU64; 5],
    unauthorized: AtomicU64,
    turned_away: AtomicU64,
}

impl Traffic {
    /// One more answer.
    pub fn answered(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).clamp(1, 5) - 1;
        self.classes[class].fetch_add(1, Relaxed);
    }

    /// One more change that was refused for want of a right to it.
    pub fn unauthorized(&self) {
        self.unauthorized.fetch_add(1, Relaxed);
    }

    /// One more connection too many.
    pub fn turned_away(&self) {
        self.turned_away.fetch_add(1, Relaxed);
    }

    /// Answers by the first digit of their status, from 1 to 5.
    pub fn answers(&self) -> [u64; 5] {
        std::array::from_fn(|i| self.classes[i].load(Relaxed))
    }

    /// Changes refused for want of a right to them.
    pub fn refused_changes(&self) -> u64 {
        self.unauthorized.load(Relaxed)
    }

    /// Connections too many.
    pub fn refused_connections(&self) -> u64 {
        self.turned_away.load(Relaxed)
    }
}

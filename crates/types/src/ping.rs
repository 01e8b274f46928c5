//! A ping: somebody says that a page has changed.

/// The pings of a page that no visit has answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ping {
    /// When the first came, in milliseconds since 1970.
    pub first: u64,
    /// When the last came.
    pub last: u64,
    /// How many came (saturating).
    pub count: u8,
}

impl Ping {
    /// The first ping of a page.
    pub fn at(now: u64) -> Ping {
        Ping { first: now, last: now, count: 1 }
    }

    /// These pings and one more.
    pub fn and(self, now: u64) -> Ping {
        Ping { last: now, count: self.count.saturating_add(1), ..self }
    }

    /// Did it come before a visit that ended then?
    pub fn is_seen_by(&self, visited_at: u64) -> bool {
        self.first <= visited_at
    }

    /// What is left after a visit that ended then: pings that came later.
    pub fn after(self, visited_at: u64) -> Option<Ping> {
        (self.last > visited_at).then(|| if self.first > visited_at { self } else { Ping::at(self.last) })
    }
}

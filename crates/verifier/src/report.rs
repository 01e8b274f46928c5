//! Counters of a merge.

/// Counters of a merge. They tell *links* from *URLs*: the same link on a hundred pages is a
/// hundred links and one URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergeReport {
    /// Merged links and seeds, including links that had waited.
    pub links_seen: u64,
    /// URLs among them that were already known.
    pub links_known: u64,
    /// URLs that became known, each once, whether linked, seeded or visited: `pages` is the number
    /// of pages before plus this.
    pub links_new: u64,
    /// URLs dropped because every chain of redirects to them in the batch is longer than allowed.
    pub links_over_hops: u64,
    /// New URLs dropped because their origin has its maximum of pages.
    pub links_over_host_cap: u64,
    /// Linked URLs that wait for a later merge.
    pub links_waiting: u64,
    /// Visited URLs that were not known: new seeds, and redirect targets followed at once.
    pub visits_of_unknown: u64,
    /// Previously known pages whose record changed.
    pub pages_updated: u64,
    /// Known pages after the merge.
    pub pages: u64,
    /// Pages fetched at least once, after the merge.
    pub visited: u64,
    /// Live pages without any attempt to fetch them, after the merge.
    pub never_tried: u64,
    /// Gone pages after the merge.
    pub gone_total: u64,
    /// Pages that the batch made gone.
    pub newly_gone: u64,
    /// Gone pages made live again, by a seed or by a redirect to them.
    pub revived: u64,
    /// Undecided visits that turned out to be the page's first.
    pub decided_first: u64,
    /// Undecided visits that the judge found changed.
    pub decided_changed: u64,
    /// Undecided visits that the judge found unchanged.
    pub decided_unchanged: u64,
}

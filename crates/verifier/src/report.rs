//! What a merge counted.

/// What a merge did. The counters of links tell *links* from *URLs*: the same link on a hundred pages
/// is a hundred links and one URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergeReport {
    /// Links (and seeds) that were merged, those that had waited among them.
    pub links_seen: u64,
    /// URLs among them that were known already.
    pub links_known: u64,
    /// URLs that were not known and now are, each once, whether linked, seeded or visited:
    /// `pages` is the number of pages before plus this.
    pub links_new: u64,
    /// URLs dropped because even the shortest way to them in the batch was a longer chain of redirects than allowed.
    pub links_over_hops: u64,
    /// New URLs dropped because their origin has as many pages as allowed.
    pub links_over_host_cap: u64,
    /// URLs that were linked to and wait for a later merge.
    pub links_waiting: u64,
    /// Visited URLs that were not known: new seeds and targets of redirects followed at once.
    pub visits_of_unknown: u64,
    /// Pages known before whose record changed.
    pub pages_updated: u64,
    /// Pages known, after the merge.
    pub pages: u64,
    /// Pages fetched at least once, after the merge.
    pub visited: u64,
    /// Live pages that no fetch was ever tried of, after the merge.
    pub never_tried: u64,
    /// Gone pages, after the merge.
    pub gone_total: u64,
    /// Pages that the batch made gone.
    pub newly_gone: u64,
    /// Gone pages that are live again, by a seed or because they were met as a redirect's target.
    pub revived: u64,
    /// Visits that came undecided and turned out to be a page's first.
    pub decided_first: u64,
    /// Visits that came undecided and met a change, as the judge says.
    pub decided_changed: u64,
    /// Visits that came undecided and met none.
    pub decided_unchanged: u64,
}

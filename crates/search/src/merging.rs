//! Which segments of an index are merged.

use std::cmp::Ordering;
use tantivy::index::SegmentMeta;
use tantivy::merge_policy::{LogMergePolicy, MergeCandidate, MergePolicy};

/// Share of deleted pages of a segment after which it is written anew.
const MAX_DELETED: f32 = 0.2;
/// Pages of a segment that is not merged with others any more: a merge is to end within a minute.
const MAX_MERGED: usize = 100_000;

/// Segments of similar size become one. A large one is written anew alone when more than a fifth of its pages are deleted:
/// at most four pages are copied for each that was deleted. One at a time, as each takes minutes.
#[derive(Debug)]
pub(crate) struct MergeRule {
    similar: LogMergePolicy,
    max_merged: usize,
}

impl MergeRule {
    pub fn new(max_merged: usize) -> MergeRule {
        let mut similar = LogMergePolicy::default();
        similar.set_del_docs_ratio_before_merge(MAX_DELETED);
        similar.set_max_docs_before_merge(max_merged);
        MergeRule { similar, max_merged }
    }
}

impl Default for MergeRule {
    fn default() -> MergeRule {
        MergeRule::new(MAX_MERGED)
    }
}

impl MergePolicy for MergeRule {
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        let deleted = |segment: &SegmentMeta| segment.num_deleted_docs() as f32 / segment.max_doc() as f32;
        let large = segments.iter().filter(|segment| segment.num_docs() as usize > self.max_merged);
        let most = large.filter(|segment| deleted(segment) > MAX_DELETED);
        let most =
            most.max_by(|one, other| deleted(one).partial_cmp(&deleted(other)).unwrap_or(Ordering::Equal));
        let mut candidates = self.similar.compute_merge_candidates(segments);
        candidates.extend(most.map(|segment| MergeCandidate(vec![segment.id()])));
        candidates
    }
}

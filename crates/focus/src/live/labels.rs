//! What labels by hand say of verdicts, and of estimates that rest on them.
//!
//! Pages are drawn apart from those judged relevant and from the others. The shares that are truly relevant correct the counts
//! of both (Rogan and Gladen 1978). Bounds take both shares at the ends of their intervals.

use super::recall::{Recall, wilson};

/// Labels below which nothing is corrected.
pub const MIN_LABELS: u64 = 50;

/// Labelled pages of one verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LabelledPages {
    /// Judged pages of this verdict.
    pub judged: u64,
    /// Of these, labelled.
    pub labelled: u64,
    /// Of these, truly relevant.
    pub relevant: u64,
}

/// A share with its 90 % interval.
pub type ShareInterval = [f64; 3];

/// What the labels say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corrected {
    /// Truly relevant share of the pages judged relevant.
    pub precision: ShareInterval,
    /// Share of the truly relevant pages that are judged relevant.
    pub recall_of_classifier: ShareInterval,
    /// Found share of all truly relevant pages; none while the recall of verdicts is unknown.
    pub recall_of_crawl: Option<ShareInterval>,
}

/// Corrects by labels of pages judged relevant and of others; none with fewer than [`MIN_LABELS`], or without labels of either.
/// `pending` URLs were never fetched; `recall` is that of verdicts.
pub fn corrected(
    relevant: LabelledPages,
    others: LabelledPages,
    pending: u64,
    recall: Option<Recall>,
) -> Option<Corrected> {
    if relevant.labelled + others.labelled < MIN_LABELS {
        return None;
    }
    let share = |of: LabelledPages| -> Option<ShareInterval> {
        let [low, high] = wilson(of.relevant, of.labelled)?;
        Some([of.relevant as f64 / of.labelled as f64, low, high])
    };
    let (precision, missed) = (share(relevant)?, share(others)?);
    let [found, left] = [relevant, others].map(|of| of.judged as f64);
    let of_classifier = |precision: f64, missed: f64| {
        let (hits, misses) = (found * precision, left * missed);
        if hits + misses > 0.0 { hits / (hits + misses) } else { 0.0 }
    };
    let of_crawl = |recall: f64, precision: f64, missed: f64| {
        // Pending pages that would be judged relevant.
        let unseen = (found / recall.max(1e-9) - found).min(pending as f64);
        let seen = found * precision + left * missed;
        let all = seen + unseen * precision + (pending as f64 - unseen) * missed;
        if all > 0.0 { seen / all } else { 1.0 }
    };
    Some(Corrected {
        precision,
        recall_of_classifier: [
            of_classifier(precision[0], missed[0]),
            of_classifier(precision[1], missed[2]),
            of_classifier(precision[2], missed[1]),
        ],
        recall_of_crawl: recall.map(|recall| {
            let ends = [1, 2].map(|p| {
                [1, 2].map(|m| [recall.low, recall.high].map(|r| of_crawl(r, precision[p], missed[m])))
            });
            let ends = || ends.iter().flatten().flatten().copied();
            [
                of_crawl(recall.estimate, precision[0], missed[0]),
                ends().fold(f64::INFINITY, f64::min),
                ends().fold(f64::NEG_INFINITY, f64::max),
            ]
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_labels_correct_nothing() {
        let of = |labelled| LabelledPages { judged: 100, labelled, relevant: labelled / 2 };
        assert_eq!(corrected(of(24), of(24), 10, None), None);
        assert_eq!(corrected(of(60), of(0), 10, None), None, "misses are unknown");
        assert!(corrected(of(30), of(30), 10, None).is_some());
    }

    #[test]
    fn labels_correct_the_counts_of_verdicts() {
        // 80 of 100 judged relevant are; 20 of 1,000 others are too: 100 truly relevant pages, 80 of them told.
        let relevant = LabelledPages { judged: 100, labelled: 50, relevant: 40 };
        let others = LabelledPages { judged: 1000, labelled: 50, relevant: 1 };
        let recall = Recall { estimate: 0.5, low: 0.4, high: 0.6 };
        let found = corrected(relevant, others, 1100, Some(recall)).unwrap();
        assert!((found.precision[0] - 0.8).abs() < 1e-12);
        assert!((found.recall_of_classifier[0] - 0.8).abs() < 1e-12);
        // Pending are as many as visited, and as rich: half was found.
        let [estimate, low, high] = found.recall_of_crawl.unwrap();
        assert!((estimate - 0.5).abs() < 1e-12, "{estimate}");
        assert!(low < 0.41 && low > 0.3 && high > 0.5 && high < 0.7, "{low} {high}");
        for [estimate, low, high] in [found.precision, found.recall_of_classifier] {
            assert!(low < estimate && estimate < high);
        }
        let perfect = corrected(
            LabelledPages { relevant: 50, ..relevant },
            LabelledPages { relevant: 0, ..others },
            1100,
            Some(recall),
        );
        assert!((perfect.unwrap().recall_of_crawl.unwrap()[0] - 0.5).abs() < 1e-12);
    }
}

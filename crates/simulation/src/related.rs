//! What the pages of a replay show of each other, found as a crawl finds it: from records in URL order.

use crate::Dataset;
use recrawl_clusters::siblings::SiblingGroup;
use recrawl_clusters::{Siblings, SiblingsGatherer};
use recrawl_formula::NextChange;
use recrawl_predictor::NextChangeModel;
use recrawl_types::{CanonicalUrl, Cycle, StateColumns, UrlRules};

/// Siblings, and the model of the next change.
#[derive(Clone, Debug, Default)]
pub struct Related {
    /// The pages in URL order; those whose URL is unknown are not among them.
    order: Vec<(CanonicalUrl, usize)>,
    /// By page, its place in that order.
    ordinals: Vec<Option<u64>>,
    siblings: Siblings,
    model: NextChangeModel,
    /// Visits since the model learned last.
    visits: Vec<(NextChange, bool)>,
    learned: Cycle,
}

impl Related {
    /// Of the pages of a data set, before the first visit.
    pub fn new(data: &Dataset) -> Related {
        let rules = UrlRules::keep_all();
        let url = |page: &crate::RecordedPage| rules.canonicalize(&page.url).ok();
        let pages = data.pages.iter().enumerate();
        let mut order: Vec<_> = pages.filter_map(|(i, page)| Some((url(page)?, i))).collect();
        order.sort_unstable();
        let mut ordinals = vec![None; data.pages.len()];
        (0..).zip(&order).for_each(|(ordinal, (_, page))| ordinals[*page] = Some(ordinal));
        Related { order, ordinals, ..Related::default() }
    }

    /// Fills what siblings show as of `cycle`, and the weights of the model. The rates of sites and of all pages are
    /// filled in.
    pub fn fill(&mut self, columns: &mut StateColumns, cycle: Cycle) {
        let mut gatherer = SiblingsGatherer::new(cycle);
        for (ordinal, (url, page)) in (0..).zip(&self.order) {
            gatherer.push(url.key(), ordinal, columns, *page);
        }
        self.siblings = gatherer.finish();
        columns.sibling_rate.clear();
        columns.burst.clear();
        for (page, ordinal) in self.ordinals.iter().enumerate() {
            let (site_rate, t) = (columns.site_rate[page], cycle.since(Cycle(columns.last[page])));
            let (rate, burst) = match ordinal {
                Some(ordinal) => self.siblings.of_page(*ordinal, site_rate, t),
                None => (site_rate, 1.0),
            };
            columns.sibling_rate.push(rate);
            columns.burst.push(burst);
        }
        columns.next_change = self.model.weights;
    }

    /// The group of a page, as of the last [`fill`](Related::fill).
    pub fn group(&self, page: usize) -> Option<SiblingGroup> {
        self.siblings.group(self.ordinals[page]?)
    }

    /// Notes a visit for the model, before it enters the record. The columns are those that
    /// [`fill`](Related::fill) has filled in this round.
    pub fn note(&mut self, columns: &StateColumns, page: usize, cycle: Cycle, changed: bool) {
        self.visits.push((NextChange::of_row(columns, page, cycle), changed));
    }

    /// The model learns from the visits of the round.
    pub fn learn(&mut self, cycle: Cycle) {
        self.model.learn(&self.visits, cycle.since(self.learned));
        self.visits.clear();
        self.learned = cycle;
    }
}

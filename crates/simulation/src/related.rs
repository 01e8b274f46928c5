//! What the pages of a replay show of each other, found as a crawl finds it: from records in URL order.

use crate::{Dataset, RecordedPage};
use recrawl_formula::NextChange;
use recrawl_formula::NextChangeModel;
use recrawl_formula::RateEvidence;
use recrawl_formula::sections;
use recrawl_formula::siblings::Groups;
use recrawl_types::{CanonicalUrl, Cycle, Reads, StateColumns, UrlRules};

/// Sections, siblings, and the model of the next change.
#[derive(Clone, Debug)]
pub struct Related {
    /// The pages in URL order, without those whose URL is unknown.
    order: Vec<(CanonicalUrl, usize)>,
    groups: Groups,
    model: NextChangeModel,
    /// Visits since the model learned last.
    visits: Vec<(NextChange, bool)>,
    learned: Cycle,
}

impl Related {
    /// Of the pages of a data set, before the first visit.
    pub fn new(data: &Dataset) -> Related {
        let rules = UrlRules::keep_all();
        let url = |page: &RecordedPage| rules.canonicalize(&page.url).ok();
        let pages = data.pages.iter().enumerate();
        let mut order: Vec<_> = pages.filter_map(|(i, page)| Some((url(page)?, i))).collect();
        order.sort_unstable();
        Related {
            order,
            groups: Groups::default(),
            model: NextChangeModel::default(),
            visits: Vec::new(),
            learned: Cycle(0),
        }
    }

    /// Fills what is among `reads` of the rates of sections, of what siblings show as of `cycle`, and of the weights of the
    /// model. The rates of sites and of all pages are filled in.
    pub fn fill(&mut self, columns: &mut StateColumns, cycle: Cycle, reads: Reads) {
        if reads.needs_sections() {
            self.fill_sections(columns);
        }
        if reads.needs_siblings() {
            self.fill_siblings(columns, cycle);
        }
        columns.next_change = self.model.weights;
    }

    /// A page is known from its first visit on.
    fn fill_sections(&self, columns: &mut StateColumns) {
        let known = || self.order.iter().filter(|(_, page)| columns.visited[*page]);
        let mut finder = sections::SectionFinder::default();
        for (place, (url, page)) in (0..).zip(known()) {
            finder.push(place, url.key(), RateEvidence::of_row(columns, *page));
        }
        let rows: Vec<usize> = known().map(|(_, page)| *page).collect();
        finder.finish().fill(columns, (0..).zip(rows));
    }

    fn fill_siblings(&mut self, columns: &mut StateColumns, cycle: Cycle) {
        // Pages are never unvisited, so the groups of as many visited pages are the same ones.
        let is_visited = |(_, page): &&(CanonicalUrl, usize)| columns.visited[*page];
        if self.order.iter().filter(is_visited).count() != self.groups.pages() {
            let pages = self.order.iter().map(|(url, page)| (url.key(), *page));
            self.groups = Groups::of_visited(columns, pages);
        }
        self.groups.fill(columns, cycle);
    }

    /// Notes a visit for the model, before it enters the record. The columns are those that
    /// [`fill`](Related::fill) has filled in this round.
    pub fn note(&mut self, columns: &StateColumns, page: usize, cycle: Cycle, changed: bool) {
        self.visits.push((NextChange::of_row(columns, page, cycle), changed));
    }

    /// The model learns from the visits of the round.
    pub fn learn(&mut self, cycle: Cycle) {
        let mut lesson = std::mem::take(&mut self.model).lesson(cycle.since(self.learned));
        self.visits.drain(..).for_each(|(page, is_changed)| lesson.visit(&page, is_changed));
        self.model = lesson.learned();
        self.learned = cycle;
    }
}

//! Queue of fetched pages that wait to be parsed, fair by site.
//!
//! Start-time fair queueing (Goyal, Vin & Cheng 1996): each site has a virtual time, which grows
//! with the work of its pages. The next page is one of the site with the least virtual time. So if
//! a site's pages take a thousand times the work of others, one page in a thousand is its own, and
//! it costs the others no more than any other site. An idle site earns no credit: it continues at
//! the present virtual time.
//!
//! This order alone does not bound a site's share of the processor if the pages of other sites
//! arrive one by one: between two of them there is always time for a costly page, however long it
//! takes. So pages that take [`COSTLY`] or more have, together, a quarter of a processor's time, after
//! the first [`CREDIT`]/4: beyond that, sites whose last page was costly wait while pages of other
//! sites arrive. If none has arrived for as long as the last costly page took, they wait no longer.
//!
//! A tree takes a hundred times the bytes of a hostile body. So pages of [`LARGE`] bytes, and costly
//! ones, are read one at a time.
//!
//! Pages with a response are bounded by their [`Hold`]: one for each connection of the fetcher.

use recrawl_fetcher::{FetchResult, FetchedPage, Hold};
use recrawl_types::Site;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::Receiver;
use tokio::sync::mpsc::error::TryRecvError;

/// Base work of any page with a response, in the unit of [`crate::cycle::page::ReadPage::work`].
const PAGE_WORK: u64 = 1 << 14;
/// Work of a page without request or response.
const NOTHING_WORK: u64 = 1 << 8;

/// Parse time from which on a site must wait: five times that of 2 MiB of common HTML.
const COSTLY: Duration = Duration::from_millis(100);
/// Bytes of a body from which on a page is read while no other such page is.
const LARGE: usize = 1 << 18;
/// A costly page is paid for after this many times its time: a quarter of a processor.
const PATIENCE: u32 = 4;
/// Time that may be paid for in advance, by having had no costly page.
const CREDIT: Duration = Duration::from_secs(4);

/// How often a reader that waits looks again.
pub const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Number of sites whose virtual times are stored before past ones are dropped.
const MIN_SITES: usize = 1 << 12;

/// The waiting pages, and the work charged to each site.
pub struct Inbox {
    pages: Receiver<FetchedPage>,
    /// Maximum pages taken out of the channel at a time.
    room: usize,
    order: FairQueue<(PageWork, FetchedPage)>,
    debts: Debts,
    /// Is a large or costly page being read?
    is_reading_alone: bool,
}

/// The expected work of a page, charged to its site.
pub struct PageWork {
    site: Site,
    work: u64,
    /// Is it read while no other large or costly page is?
    is_alone: bool,
}

/// The measured cost of parsing a page.
pub struct MeasuredWork {
    expected: PageWork,
    work: u64,
    time: Duration,
}

impl MeasuredWork {
    /// Must the other readers learn of it at once?
    pub fn is_notable(&self) -> bool {
        self.expected.is_alone || self.time >= COSTLY
    }
}

impl PageWork {
    /// By the size of the body.
    fn expected(page: &FetchedPage) -> PageWork {
        let (work, bytes) = match &page.result {
            FetchResult::Page(response) => {
                let text = response.rendered.as_ref().unwrap_or(&response.body);
                (PAGE_WORK, text.len())
            }
            FetchResult::NotModified(_) | FetchResult::Redirect { .. } => (PAGE_WORK, 0),
            FetchResult::Nothing(_) => (NOTHING_WORK, 0),
        };
        PageWork {
            site: Site::from_url(&page.entry.url),
            work: work + bytes as u64,
            is_alone: bytes >= LARGE,
        }
    }

    /// The measured cost.
    pub fn took(self, work: u64, time: Duration) -> MeasuredWork {
        MeasuredWork { expected: self, work, time }
    }
}

/// Held by a reader. When the reader ends, even by a panic, no other one waits for its page.
pub struct InboxReading<'i>(pub &'i Mutex<Inbox>);

impl Drop for InboxReading<'_> {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_reading_alone = false;
    }
}

/// The next step of a reader.
pub enum NextBatch {
    /// Read the pages.
    Pages,
    /// Ask again after this time: all pages wait for those of other sites.
    Wait(Duration),
    /// No more pages will come.
    End,
}

impl Inbox {
    /// Takes pages from this channel, so that at most `room` of them are here.
    pub fn new(pages: Receiver<FetchedPage>, room: usize) -> Inbox {
        Inbox { pages, room, order: FairQueue::default(), debts: Debts::default(), is_reading_alone: false }
    }

    /// Moves up to `most` pages to `batch`. Without pages, it blocks until one arrives, or tells the reader to
    /// wait unless `may_block`. `taken` has the measured costs of the reader's last batch. A reader waits
    /// without the lock, so that others can report their costs.
    pub fn take(
        &mut self,
        most: usize,
        may_block: bool,
        batch: &mut Vec<(PageWork, FetchedPage)>,
        taken: &mut Vec<MeasuredWork>,
    ) -> NextBatch {
        for taken in taken.drain(..) {
            self.debts.took(&taken, Instant::now());
            self.is_reading_alone &= !taken.expected.is_alone;
            let MeasuredWork { expected, work, .. } = taken;
            // A page was charged by its size, before anybody knew its cost. Its site pays the rest now.
            if let Some(more) = work.checked_sub(expected.work) {
                self.order.charge(expected.site, more);
            }
        }
        loop {
            let mut is_closed = false;
            // Take in all pages before choosing one: fairness only holds among pages that are here.
            while self.order.len() < self.room {
                match self.pages.try_recv() {
                    Ok(page) => self.put(page),
                    Err(TryRecvError::Empty) => break,
                    // No site has to wait for pages that will not come.
                    Err(TryRecvError::Disconnected) => {
                        (self.debts, is_closed) = (Debts::default(), true);
                        break;
                    }
                }
            }
            if self.order.len() > 0 {
                break;
            }
            if !may_block && !is_closed {
                return NextBatch::Wait(LOOK_EVERY);
            }
            match self.pages.blocking_recv() {
                Some(page) => self.put(page),
                None => return NextBatch::End,
            }
        }
        while batch.len() < most && self.order.len() > 0 {
            let now = Instant::now();
            // A tree takes a hundred times the bytes of a hostile body: two at a time could exhaust the
            // memory.
            let is_alone = |work: &PageWork| work.is_alone || self.debts.are_of(&work.site);
            let wait = |work: &PageWork| match self.is_reading_alone && is_alone(work) {
                true => Some(LOOK_EVERY),
                false => self.debts.wait(&work.site, now),
            };
            let key = match self.order.first_without(|(work, _)| wait(work)) {
                Ok(key) => key,
                Err(wait) if batch.is_empty() => return NextBatch::Wait(wait.min(LOOK_EVERY)),
                Err(_) => break,
            };
            let is_alone = is_alone(&self.order.waiting[&key].0);
            // A costly page begins a batch of its own, or the pages taken with it would wait for it.
            if is_alone && !batch.is_empty() {
                break;
            }
            let (work, page) = self.order.take(key);
            // Release the hold: the host may be sent its next request.
            batch.push((PageWork { is_alone, ..work }, FetchedPage { hold: Hold::default(), ..page }));
            if is_alone {
                self.is_reading_alone = true;
                break;
            }
        }
        NextBatch::Pages
    }

    fn put(&mut self, page: FetchedPage) {
        let work = PageWork::expected(&page);
        if !matches!(page.result, FetchResult::Nothing(_)) {
            self.debts.came(&work.site, Instant::now());
        }
        self.order.put(work.site.clone(), work.work, (work, page));
    }
}

/// Sites whose pages are costly, and when pages came: see the head of this file.
#[derive(Default)]
struct Debts {
    /// The sites whose last page was costly.
    costly: HashSet<Site>,
    /// How long the last costly page took.
    took: Duration,
    /// When what they took is paid for: until then they wait for others.
    paid: Option<Instant>,
    /// The site that the last page came from, and when; and when the last one came from another.
    last: Option<(Site, Instant)>,
    before: Option<Instant>,
}

impl Debts {
    /// A page took so long.
    fn took(&mut self, MeasuredWork { expected, time, .. }: &MeasuredWork, now: Instant) {
        if *time < COSTLY {
            self.costly.remove(&expected.site);
            return;
        }
        if self.costly.len() >= MIN_SITES {
            self.costly.clear();
        }
        self.costly.insert(expected.site.clone());
        self.took = *time;
        let credit = now.checked_sub(CREDIT).unwrap_or(now);
        self.paid = Some(self.paid.map_or(credit, |paid| paid.max(credit)) + *time * PATIENCE);
    }

    /// Was the last page of the site costly?
    fn are_of(&self, site: &Site) -> bool {
        self.costly.contains(site)
    }

    /// A page of the site arrived.
    fn came(&mut self, site: &Site, now: Instant) {
        match &mut self.last {
            Some((last, at)) if last == site => *at = now,
            last => self.before = last.replace((site.clone(), now)).map(|(_, at)| at),
        }
    }

    /// How much longer the site's next page waits, should no page of another site come; none where it does not.
    fn wait(&self, site: &Site, now: Instant) -> Option<Duration> {
        let until = self.paid.filter(|_| self.are_of(site))?;
        let other = match &self.last {
            Some((last, at)) if last != site => Some(*at),
            _ => self.before,
        };
        let until = other.map_or(now, |other| (other + self.took).min(until));
        until.checked_duration_since(now).filter(|wait| !wait.is_zero())
    }
}

/// Start-time fair queueing for items of any kind.
struct FairQueue<T> {
    /// By virtual start time, then by arrival.
    waiting: BTreeMap<(u64, u64), T>,
    /// Virtual time at which each site's next item starts, if later than the present.
    next: HashMap<Site, u64>,
    /// Start of the last item taken.
    now: u64,
    came: u64,
    /// Number of sites at which past ones are dropped.
    keeps: usize,
}

impl<T> Default for FairQueue<T> {
    fn default() -> FairQueue<T> {
        FairQueue { waiting: BTreeMap::new(), next: HashMap::new(), now: 0, came: 0, keeps: MIN_SITES }
    }
}

impl<T> FairQueue<T> {
    fn len(&self) -> usize {
        self.waiting.len()
    }

    fn put(&mut self, site: Site, work: u64, item: T) {
        self.came += 1;
        let start = self.charge(site, work);
        self.waiting.insert((start, self.came), item);
    }

    /// Charges a site; returns the virtual start time.
    fn charge(&mut self, site: Site, work: u64) -> u64 {
        if self.next.len() >= self.keeps {
            self.next.retain(|_, next| *next > self.now);
            self.keeps = MIN_SITES.max(2 * self.next.len());
        }
        let next = self.next.entry(site).or_insert(self.now);
        let start = (*next).max(self.now);
        *next = start.saturating_add(work);
        start
    }

    /// The first item that has not to wait; else the shortest time that one waits.
    fn first_without(&self, wait: impl Fn(&T) -> Option<Duration>) -> Result<(u64, u64), Duration> {
        let mut shortest = Duration::MAX;
        for (key, item) in &self.waiting {
            match wait(item) {
                None => return Ok(*key),
                Some(wait) => shortest = shortest.min(wait),
            }
        }
        Err(shortest)
    }

    /// Takes the item with this key.
    fn take(&mut self, key: (u64, u64)) -> T {
        self.now = self.now.max(key.0);
        self.waiting.remove(&key).expect("a key of an item that waits")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_fetcher::{Condition, Response};
    use recrawl_types::{PageRecord, ScheduleEntry, Share, UrlRules};

    fn put<T>(order: &mut FairQueue<T>, site: &str, work: u64, item: T) {
        order.put(Site::of_host(site), work, item);
    }

    fn next<T>(order: &mut FairQueue<T>) -> Option<T> {
        let key = order.first_without(|_| None).ok()?;
        Some(order.take(key))
    }

    /// Keeps one page of each site waiting, and reads pages up to this much work; returns the work
    /// of each site. The work of a page is known only once it was read.
    fn shares(sites: &[(&str, u64)], until: u64) -> Vec<u64> {
        let mut order = FairQueue::default();
        let mut done = vec![0; sites.len()];
        for (at, (site, _)) in sites.iter().enumerate() {
            put(&mut order, site, 1, at);
        }
        while done.iter().sum::<u64>() < until {
            let at = next(&mut order).unwrap();
            let (site, work) = sites[at];
            done[at] += work;
            order.charge(Site::of_host(site), work - 1);
            put(&mut order, site, 1, at);
        }
        done
    }

    #[test]
    fn a_site_whose_pages_take_a_thousand_times_the_work_has_the_share_of_one_site() {
        let honest = ["a.com", "b.com", "c.com", "d.com", "e.com", "f.com", "g.com"];
        let mut sites = vec![("hostile.com", 1_000)];
        sites.extend(honest.map(|site| (site, 1)));
        let done = shares(&sites, 80_000);
        // An eighth of the work each, within one page.
        assert!(done.iter().all(|work| work.abs_diff(10_000) <= 1_000), "{done:?}");
    }

    #[test]
    fn hosts_of_one_site_share_its_share() {
        let sites = [("x.hostile.com", 50), ("y.hostile.com", 50), ("z.hostile.com", 50), ("a.org", 1)];
        let done = shares(&sites, 10_000);
        assert!(done[3].abs_diff(5_000) <= 100, "{done:?}");
    }

    #[test]
    fn a_site_that_was_away_is_owed_nothing_and_pages_of_one_site_keep_their_order() {
        let mut order = FairQueue::default();
        for page in 0..50 {
            put(&mut order, "a.com", 10, page);
        }
        let first: Vec<i32> = std::iter::from_fn(|| next(&mut order)).take(40).collect();
        assert_eq!(first, (0..40).collect::<Vec<_>>());
        for page in 100..110 {
            put(&mut order, "b.com", 10, page);
        }
        let rest: Vec<i32> = std::iter::from_fn(|| next(&mut order)).collect();
        assert_eq!(rest[..6], [100, 40, 101, 41, 102, 42], "in turns, not ten of b.com first: {rest:?}");
    }

    fn took(debts: &mut Debts, site: &Site, time: Duration, now: Instant) {
        let expected = PageWork { site: site.clone(), work: 0, is_alone: false };
        debts.took(&expected.took(0, time), now);
    }

    #[test]
    fn costly_sites_wait_for_others_as_long_as_they_come() {
        let [a, b, c] = ["a.com", "b.com", "c.com"].map(Site::of_host);
        let second = Duration::from_secs(1);
        let start = Instant::now() + second * 10;
        let mut debts = Debts::default();
        debts.came(&b, start);
        took(&mut debts, &a, second, start);
        assert_eq!(debts.wait(&a, start), None, "the first second is paid for in advance");
        took(&mut debts, &a, second, start);
        assert_eq!(debts.wait(&a, start), Some(second), "b has just come");
        assert_eq!(debts.wait(&a, start + second), None, "and has not come again");
        for tenth in 0..=40 {
            debts.came(&b, start + second / 10 * tenth);
        }
        let late = start + second * 7 / 2;
        assert_eq!(debts.wait(&a, late), Some(second / 2), "four seconds for the second one");
        assert_eq!((debts.wait(&a, start + second * 4), debts.wait(&b, late)), (None, None));
        // Another costly site has no share of its own.
        took(&mut debts, &c, second, late);
        assert_eq!([&a, &c].map(|site| debts.wait(site, late + second / 2)), [Some(second); 2]);
        took(&mut debts, &a, second / 100, late);
        assert_eq!(debts.wait(&a, late), None, "a page of it was as others are");
        assert_eq!(debts.wait(&c, late + second * 20), None);
        let mut alone = Debts::default();
        (0..3).for_each(|_| took(&mut alone, &a, second, start));
        alone.came(&a, start);
        assert_eq!(alone.wait(&a, start), None, "there is nobody else");
    }

    fn page(site: &str, bytes: usize) -> FetchedPage {
        let url = UrlRules::default().canonicalize(&format!("http://{site}/")).unwrap();
        let body = vec![b'a'; bytes].into();
        let response = Response { status: 200, body, ..Response::default() };
        FetchedPage {
            index: None,
            entry: ScheduleEntry::new(url, Share::Score, PageRecord::default()),
            hops: 0,
            result: FetchResult::Page(Box::new(response)),
            condition: Condition::Unconditional,
            at: 0,
            elapsed: Duration::ZERO,
            sitemaps: None,
            hold: Hold::default(),
        }
    }

    #[test]
    fn large_pages_are_read_one_at_a_time_and_small_ones_beside_them() {
        let (send, pages) = tokio::sync::mpsc::channel(9);
        for (site, bytes) in [("a.com", LARGE), ("b.com", LARGE), ("c.com", 9), ("d.com", 9)] {
            send.try_send(page(site, bytes)).unwrap();
        }
        let mut inbox = Inbox::new(pages, 9);
        let mut take = |taken: &mut Vec<MeasuredWork>| {
            let mut batch = Vec::new();
            let turn = inbox.take(8, false, &mut batch, taken);
            assert!(matches!(turn, NextBatch::Pages) || batch.is_empty());
            batch
        };
        let sites = |batch: &[(PageWork, FetchedPage)]| -> Vec<String> {
            batch.iter().map(|(work, _)| work.site.to_string()).collect()
        };
        let first = take(&mut Vec::new());
        assert_eq!(sites(&first), ["a.com"]);
        assert_eq!(sites(&take(&mut Vec::new())), ["c.com", "d.com"]);
        assert!(take(&mut Vec::new()).is_empty(), "b.com waits");
        let (work, _) = first.into_iter().next().unwrap();
        let second = take(&mut vec![work.took(0, Duration::ZERO)]);
        assert_eq!(sites(&second), ["b.com"]);
    }

    #[test]
    fn sites_that_are_past_are_forgotten() {
        let mut order = FairQueue::default();
        for site in 0..20 * MIN_SITES {
            put(&mut order, &format!("s{site}.com"), 1, ());
            put(&mut order, "busy.com", 1_000, ());
            next(&mut order);
            next(&mut order);
        }
        assert!(order.next.len() <= 2 * MIN_SITES, "{} sites", order.next.len());
    }
}

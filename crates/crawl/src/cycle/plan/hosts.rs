//! The hosts of a plan in scan order, read while the plan scans their pages; and the arms of a trial that they are
//! divided into.

use crate::failure::Failure;
use crate::parts::improve::arms::Division;
use recrawl_fetcher::Unavailable;
use recrawl_repository::{Generation, OriginRun, OriginRuns, PageStateBlocks, ReadError};
use recrawl_scheduler::{ArmRuns, DueFirst, HostPages, PlanError};
use recrawl_types::{CanonicalUrl, Origin, Site};
use std::ops::Range;
use std::sync::Arc;

/// Arms of a trial, and all other pages.
const ARMS: usize = 3;

/// The hosts of a generation, or those of one arm.
pub(super) struct PlanHosts<'c> {
    runs: OriginRuns,
    unavailable: &'c Unavailable,
    now: u64,
    /// The arm whose hosts these are, and what is in which arm.
    of_arm: Option<(usize, ArmPieces)>,
}

impl<'c> PlanHosts<'c> {
    /// All hosts; `now` decides how many pages of unavailable ones may be planned.
    pub fn new(generation: &Generation, unavailable: &'c Unavailable, now: u64) -> PlanHosts<'c> {
        PlanHosts { runs: generation.origin_runs(), unavailable, now, of_arm: None }
    }
}

impl Iterator for PlanHosts<'_> {
    type Item = Result<HostPages, PlanError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let run = match self.runs.next_run() {
                Ok(run) => run?,
                Err(error) => return Some(Err(unread(error))),
            };
            let own = match &mut self.of_arm {
                None => 0..run.pages,
                Some((arm, pieces)) => {
                    let of_arms = pieces.of_origin(run.pages);
                    let before = of_arms[..*arm].iter().sum::<u64>();
                    before..before + of_arms[*arm]
                }
            };
            if !own.is_empty() {
                return Some(Ok(pages_of(run, own, self.unavailable, self.now)));
            }
        }
    }
}

/// Some pages of an origin, and how many of them may be planned now: arms that share an origin share what is allowed.
fn pages_of(origin: &OriginRun, own: Range<u64>, unavailable: &Unavailable, now: u64) -> HostPages {
    let named = if unavailable.is_empty() { None } else { origin.home().ok() };
    let at_most = named.and_then(|home| unavailable.at_most(&Origin::from_url(&home), now));
    let up_to = |at_most: u64, pages: u64| {
        (u128::from(at_most) * u128::from(pages) / u128::from(origin.pages)) as u64
    };
    let at_most = at_most.map(|at_most| up_to(at_most, own.end) - up_to(at_most, own.start));
    HostPages { pages: own.end - own.start, at_most }
}

fn unread(error: ReadError) -> PlanError {
    PlanError::Read(Box::new(error))
}

/// Consecutive pages of an origin in one arm: their number, and the arm in the last two bits.
#[derive(Clone, Copy)]
struct ArmPiece(u64);

impl ArmPiece {
    fn new(pages: u64, arm: usize) -> ArmPiece {
        ArmPiece(pages << 2 | arm as u64)
    }

    fn pages(self) -> u64 {
        self.0 >> 2
    }

    fn arm(self) -> usize {
        (self.0 & 3) as usize
    }
}

/// The pieces of all origins in order.
#[derive(Clone)]
struct ArmPieces {
    all: Arc<[ArmPiece]>,
    next: usize,
}

impl ArmPieces {
    /// The pages of the next origin, which has so many, by arm.
    fn of_origin(&mut self, pages: u64) -> [u64; ARMS] {
        let (mut of_arms, mut met) = ([0; ARMS], 0);
        while met < pages {
            let Some(piece) = self.next() else { break };
            met += piece.pages();
            of_arms[piece.arm()] += piece.pages();
        }
        of_arms
    }
}

impl Iterator for ArmPieces {
    type Item = ArmPiece;

    fn next(&mut self) -> Option<ArmPiece> {
        let piece = self.all.get(self.next)?;
        self.next += 1;
        Some(*piece)
    }
}

/// All origins, divided into the arms of a trial. Memory: 8 bytes an origin, or a run of folders in one arm.
pub(super) struct Divided {
    pub division: Division,
    pieces: ArmPieces,
    /// Pages of each arm.
    pages: [u64; ARMS],
}

impl Divided {
    /// Divides the origins of a generation by their sites, or each by its folders.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn read(division: Division, generation: &Generation) -> Result<Divided, Failure> {
        let mut all = Vec::new();
        let mut folders = division.by_folder.then(|| FolderArms::new(division, generation));
        let mut runs = generation.origin_runs();
        while let Some(run) = runs.next_run()? {
            match &mut folders {
                Some(folders) => folders.divide(run, &mut all)?,
                None => {
                    let site = Site::from_url(&run.home().map_err(Failure::work)?);
                    all.push(ArmPiece::new(run.pages, division.of_site(&site).index()));
                }
            }
        }
        let mut pages = [0; ARMS];
        all.iter().for_each(|piece: &ArmPiece| pages[piece.arm()] += piece.pages());
        Ok(Divided { division, pieces: ArmPieces { all: all.into(), next: 0 }, pages })
    }

    /// Runs of pages of one arm.
    pub fn runs(&self) -> ArmRuns {
        Box::new(self.pieces.clone().map(|piece| Ok((piece.pages(), piece.arm()))))
    }

    /// The part of all pages that each arm has.
    pub fn parts(&self) -> [f64; ARMS] {
        let all = self.pages.iter().sum::<u64>().max(1) as f64;
        self.pages.map(|pages| pages as f64 / all)
    }

    /// The hosts of each arm.
    pub fn hosts<'c>(&self, all: impl Fn() -> PlanHosts<'c>) -> [PlanHosts<'c>; ARMS] {
        std::array::from_fn(|arm| PlanHosts { of_arm: Some((arm, self.pieces.clone())), ..all() })
    }

    /// The pages of each arm that are due first, of all in order.
    ///
    /// # Errors
    /// If there are more pages than were divided.
    pub fn first(&self, first: &[DueFirst]) -> Result<[Vec<DueFirst>; ARMS], PlanError> {
        let mut of_arm: [Vec<DueFirst>; ARMS] = Default::default();
        let (mut runs, mut end, mut arm) = (self.runs(), 0, 0);
        for page in first {
            while end <= page.ordinal {
                let next = runs.next().unwrap_or(Err(PlanError::Hosts { pages: end, more: false }))?;
                (end, arm) = (end + next.0, next.1);
            }
            of_arm[arm].push(*page);
        }
        Ok(of_arm)
    }
}

/// The arms of the folders of pages, in order.
struct FolderArms<'g> {
    division: Division,
    states: PageStateBlocks<'g>,
    /// The arms of the pages of the last block, and how many of them are taken.
    of_block: Vec<usize>,
    taken: usize,
}

impl FolderArms<'_> {
    fn new(division: Division, generation: &Generation) -> FolderArms<'_> {
        let states = generation.states_from(0).with_keys(true);
        FolderArms { division, states, of_block: Vec::new(), taken: 0 }
    }

    /// Adds the pieces of the next origin.
    fn divide(&mut self, origin: &OriginRun, pieces: &mut Vec<ArmPiece>) -> Result<(), Failure> {
        let (mut last, mut run) = (None, 0);
        for _ in 0..origin.pages {
            let arm = self.next_page()?;
            if last.is_some_and(|last| last != arm) {
                pieces.extend(last.map(|last| ArmPiece::new(run, last)));
                run = 0;
            }
            (last, run) = (Some(arm), run + 1);
        }
        pieces.extend(last.map(|last| ArmPiece::new(run, last)));
        Ok(())
    }

    fn next_page(&mut self) -> Result<usize, Failure> {
        if self.taken == self.of_block.len() {
            let block = self.states.next_block()?;
            let (_, columns) = block.ok_or_else(|| Failure::Work("an origin has too few pages".into()))?;
            let (mut folder, mut arm): (Vec<u8>, usize) = (Vec::new(), 0);
            self.of_block.clear();
            for row in 0..columns.len() {
                let own = CanonicalUrl::folder(columns.keys.get(row));
                if own != folder {
                    folder = own.to_vec();
                    arm = self.division.of_folder(own).index();
                }
                self.of_block.push(arm);
            }
            self.taken = 0;
        }
        self.taken += 1;
        Ok(self.of_block[self.taken - 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::improve::arms::TrialPlaces;
    use recrawl_repository::Repository;
    use recrawl_repository::storage::MemoryStorage;
    use recrawl_scheduler::WhyFirst;
    use recrawl_types::{Cycle, PageRecord, UrlRules};

    /// Two origins of folders in each other, of a page to some more than a block has, and pages in no folder.
    #[test]
    fn folders_of_an_origin_are_in_arms_and_every_page_is_in_one() {
        let rules = UrlRules::keep_all();
        let path = |n: u32| match n % 4 {
            0 => format!("{n}"),
            1 => format!("a/{}/x{n}?q=/b/", n % 70),
            2 => format!("b/{}/{}/y", n % 40, n % 90),
            _ => format!("c/{n}"),
        };
        let mut urls: Vec<_> = (0..9_000)
            .map(|n| format!("https://{}.example/{}", ["a", "b"][n as usize / 5_000], path(n)))
            .map(|url| rules.canonicalize(&url).unwrap())
            .collect();
        urls.sort();
        urls.dedup();
        let mut repository = Repository::open(Arc::new(MemoryStorage::new())).unwrap();
        let empty = Generation::default();
        let mut writer = repository.begin(&empty, Cycle(1)).unwrap();
        urls.iter().for_each(|url| writer.push(url.key(), &PageRecord::discovered(Cycle(1), 1)).unwrap());
        repository.commit(writer, b"").unwrap();
        let generation = repository.current();
        let division = Division::new(3, TrialPlaces { count: 100, are_folders: true });
        let divided = Divided::read(division, &generation).unwrap();
        let arms: Vec<usize> = urls.iter().map(|url| division.of_page(url).index()).collect();
        let runs = divided.runs().map(|run| run.map_err(|error| error.to_string()).unwrap());
        let of_runs: Vec<usize> = runs.flat_map(|(pages, arm)| vec![arm; pages as usize]).collect();
        assert_eq!(of_runs, arms);
        let first: Vec<DueFirst> = (0..urls.len() as u64)
            .step_by(7)
            .map(|ordinal| DueFirst { ordinal, why: WhyFirst::Panel })
            .collect();
        let of_arms = divided.first(&first).unwrap();
        assert!((0..ARMS).all(|arm| of_arms[arm].iter().all(|page| arms[page.ordinal as usize] == arm)));
        assert_eq!(of_arms.iter().map(Vec::len).sum::<usize>(), first.len());
        let unavailable = Unavailable::default();
        let hosts = divided.hosts(|| PlanHosts::new(&generation, &unavailable, 0));
        for (arm, hosts) in hosts.into_iter().enumerate() {
            let pages: Vec<u64> =
                hosts.map(|host| host.map_err(|error| error.to_string()).unwrap().pages).collect();
            let of = |host: &str| {
                let at_host = |(url, of): &(&CanonicalUrl, &usize)| **of == arm && &*url.host() == host;
                urls.iter().zip(&arms).filter(at_host).count() as u64
            };
            assert_eq!(pages, [of("a.example"), of("b.example")], "arm {arm}");
        }
    }
}

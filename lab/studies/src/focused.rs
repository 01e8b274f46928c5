//! Focused crawls of a labelled corpus: how soon they find the relevant pages, whether intervals of recall hold the truth, and
//! what exhausted sites cost and save.

use crate::Failure;
use crate::course_web::{CourseWeb, corpus};
use crate::simulated::{self, Met, at, fetch};
use clap::Args;
use rayon::prelude::*;
use recrawl_corpora::Corpus;
use recrawl_corpora::evaluate::{best, labelled};
use recrawl_corpora::web::readings;
use recrawl_crawl::Crawl;
use recrawl_crawl::clock::{self, WaitingWork};
use recrawl_crawl::cycle::plan::RoundPlan;
use recrawl_crawl::cycle::{self, RoundEnd};
use recrawl_crawl::parts::focus::reading::FocusReader;
use recrawl_crawl::parts::focus::state::FocusState;
use recrawl_crawl::parts::focus::survey;
use recrawl_crawl::process::ProgramServices;
use recrawl_crawl::report::RoundReport;
use recrawl_crawl::settings::Settings;
use recrawl_focus::classifier::terms::Terms;
use recrawl_focus::{Classifier, Topic, Words};
use recrawl_types::{CanonicalUrl, Cycle, Known, Link, Outcome, ScheduleEntry, Visit};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What crawls look for, and where.
#[derive(Args)]
pub struct Courses {
    /// The corpus: a folder with its four files, unpacked
    #[arg(long)]
    pub corpus: PathBuf,
    /// Term files, named GENRE-TOPIC.toml
    #[arg(long, num_args = 1.., required = true)]
    pub terms: Vec<PathBuf>,
    /// Further keys of `[focus]`, parted by semicolons, such as "order = 'fs-2'"
    #[arg(long, default_value = "")]
    pub focus: String,
}

impl Courses {
    /// The table `[focus]` of a crawl for what is wanted.
    pub fn settings(&self, wanted: &Wanted) -> String {
        format!(
            "[focus]\nenabled = true\nterms = {:?}\nthreshold = {}\ntarget_recall = 1\n{}\n",
            wanted.terms.display().to_string(),
            wanted.threshold,
            self.focus.replace(';', "\n"),
        )
    }
}

/// The crawls.
#[derive(Args)]
pub struct FocusedSize {
    #[command(flatten)]
    courses: Courses,
    /// Crawls of each topic, each with a seed of its own
    #[arg(long, default_value_t = 10)]
    crawls: u64,
    /// Part of the sites that a crawl is of
    #[arg(long, default_value_t = 1.0)]
    sites: f64,
    /// URLs that a crawl visits beyond the home pages; 0 for all that it opens
    #[arg(long, default_value_t = 2000)]
    fill_pages: u64,
    /// Replace paths of URLs by numbers, since labels come from them
    #[arg(long)]
    hide_urls: bool,
    /// Print each round, not only the last
    #[arg(long)]
    rounds: bool,
}

pub fn run(size: &FocusedSize) -> Result<(), Failure> {
    let corpus = corpus(&size.courses.corpus, size.hide_urls)?;
    println!(
        "topic seed round visits found all known labelled of low estimate high explored finds exhausted left lost"
    );
    for wanted in wanted(&size.courses.terms, &corpus)? {
        let rows: Vec<Vec<String>> = (0..size.crawls)
            .into_par_iter()
            .map(|seed| one(size, &corpus, &wanted, seed))
            .collect::<Result<_, Failure>>()?;
        rows.iter().flatten().for_each(|row| println!("{row}"));
    }
    Ok(())
}

/// What is relevant.
pub struct Wanted {
    /// Name of the term file.
    pub name: String,
    /// The term file.
    pub terms: PathBuf,
    /// From this relevance on a page is relevant: the threshold that tells the labels best.
    pub threshold: f64,
    /// Is each page of the corpus, by its label?
    labels: Vec<bool>,
}

/// Reads term files that are named GENRE-TOPIC.toml.
///
/// # Errors
/// When one cannot be read.
pub fn wanted(files: &[PathBuf], corpus: &Corpus) -> Result<Vec<Wanted>, Failure> {
    let mut words = Words::new();
    let readings = readings(corpus, false, &mut words);
    let mut of = |terms: &PathBuf| -> Result<Wanted, Failure> {
        let name = terms.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let (genre, subject) = name.split_once('-').ok_or("a term file is named GENRE-TOPIC.toml")?;
        let labels = corpus.labels(genre, subject);
        let classifier = Terms::new(Topic::from_toml(&fs::read_to_string(terms)?)?, &mut words);
        let scores: Vec<f64> = readings.iter().map(|reading| classifier.assess(reading).relevance).collect();
        let threshold = best(&labelled(&scores, &labels)).threshold;
        let labels = labels.into_iter().map(|label| label == Some(true)).collect();
        Ok(Wanted { name: name.into(), terms: terms.clone(), threshold, labels })
    };
    files.iter().map(&mut of).collect()
}

/// The rounds of one crawl.
fn one(size: &FocusedSize, corpus: &Corpus, wanted: &Wanted, seed: u64) -> Result<Vec<String>, Failure> {
    let web = CourseWeb::new(corpus, size.sites, None, seed)?;
    let folder = tempfile::tempdir()?;
    let settings = format!(
        "[cycle]\ndiscovery_share = 0\ndiscovery_min = 0\naudit_share = 0\nwarmup = 0\nfill = true\nfill_pages = {}\n{}",
        size.fill_pages,
        size.courses.settings(wanted),
    );
    let mut crawl = Focused::open(&web, folder.path(), &settings, seed)?;
    let labels: Vec<bool> = web.original.iter().map(|page| wanted.labels[*page as usize]).collect();
    let mut rows = Vec::new();
    while let Some(report) = crawl.round()? {
        rows.push(crawl.row(&wanted.name, seed, &report, &labels)?);
    }
    if !size.rounds {
        rows.drain(..rows.len().saturating_sub(1));
    }
    Ok(rows)
}

/// A crawl of a corpus.
pub struct Focused<'w> {
    /// The crawl.
    pub crawl: Crawl,
    web: &'w CourseWeb,
    seeds: Vec<CanonicalUrl>,
    /// How relevant each page is, as the classifier says.
    pub relevance: Vec<f64>,
    /// When each page was visited last.
    pub visited: Vec<Option<Cycle>>,
    words: Words,
    met: Met,
    visits: u64,
}

impl<'w> Focused<'w> {
    /// Opens a crawl from the home pages.
    ///
    /// # Errors
    /// If the settings are wrong, or the folder cannot be opened.
    pub fn open(
        web: &'w CourseWeb,
        folder: &Path,
        settings: &str,
        seed: u64,
    ) -> Result<Focused<'w>, Failure> {
        let seeds: Vec<_> = web.homes.iter().map(|page| web.world.pages[*page as usize].0.clone()).collect();
        let settings = Settings::check(simulated::config(folder, settings)?)?;
        let mut crawl = Crawl::open(settings, &seeds, seed, ProgramServices::quiet()?)?;
        crawl.clock = at(Cycle(1));
        let mut words = Words::new();
        let rules = crawl.settings.focus.clone().ok_or("the crawl is not focused")?;
        let reader = FocusReader::new(&rules, FocusState::default().model);
        let relevance = web.contents.iter().zip(&web.world.pages).map(|(content, (url, _))| {
            let judged = reader.judge(url, &Known::default(), Some(content), &mut words);
            judged.verdict.relevance()
        });
        let relevance = relevance.collect();
        let visited = vec![None; web.contents.len()];
        Ok(Focused { crawl, web, seeds, relevance, visited, words, met: Met::default(), visits: 0 })
    }

    /// Runs the next round of the cycle; none if the cycle is over.
    ///
    /// # Errors
    /// As of [`cycle::round`].
    pub fn round(&mut self) -> Result<Option<RoundReport>, Failure> {
        let cycle = &self.crawl.settings.config.cycle;
        let waiting = WaitingWork {
            fill: cycle.fill && !self.crawl.so_far.has_run_dry(),
            fill_pages: cycle.fill_pages,
            ..WaitingWork::default()
        };
        match clock::next(&self.crawl.so_far, &waiting) {
            Some(next) => self.run(next),
            None => Ok(None),
        }
    }

    /// Runs a round; none if nothing was due.
    ///
    /// # Errors
    /// As of [`cycle::round`].
    pub fn run(&mut self, next: clock::RoundToRun) -> Result<Option<RoundReport>, Failure> {
        let current = self.crawl.repository.current().cycle();
        let cycle = if next.begins_cycle { current.next() } else { current };
        self.crawl.clock = at(cycle);
        let Focused { crawl, web, seeds, visited, words, met, visits, .. } = self;
        let seeds = if current == Cycle(0) { std::mem::take(seeds) } else { Vec::new() };
        let mut fetch = |crawl: &Crawl, plan: RoundPlan, _: &Arc<_>| {
            let rules = crawl.settings.focus.as_ref().expect("the crawl is focused");
            let reader =
                FocusReader::new(rules, FocusState::before(&crawl.tables, plan.facts.round())?.model);
            let mut answer = |entry: &ScheduleEntry, index| {
                visited[web.world.number(&entry.url) as usize] = Some(cycle);
                *visits += 1;
                answer(web, &reader, words, entry, index, cycle, met)
            };
            fetch(plan, &mut answer)
        };
        match cycle::round_fetched_by(crawl, next, &seeds, &mut fetch)? {
            RoundEnd::Committed(report) => Ok(Some(*report)),
            RoundEnd::NothingDue | RoundEnd::Interrupted => Ok(None),
        }
    }

    /// What a round left, as only the web knows it.
    fn row(&self, name: &str, seed: u64, report: &RoundReport, labels: &[bool]) -> Result<String, Failure> {
        let rules = self.crawl.settings.focus.as_ref().expect("the crawl is focused");
        let is_relevant = |page: usize| rules.is_relevant(self.relevance[page]);
        let is_visited = |page: usize| self.visited[page].is_some();
        let count = |of: &dyn Fn(usize) -> bool| (0..self.relevance.len()).filter(|&page| of(page)).count();
        let found = count(&|page| is_relevant(page) && is_visited(page));
        let all = count(&is_relevant);
        let generation = self.crawl.repository.current();
        let Crawl { settings, tables, .. } = &self.crawl;
        let state = FocusState::read(tables)?;
        let survey = survey::of_reader(settings.focus.as_ref(), &generation, Some(tables))?
            .ok_or("the crawl is not focused")?;
        let (mut known, mut left, mut lost) = (0, 0, 0);
        let mut pages = generation.gather(0..generation.pages());
        while let Some((ordinal, url, _)) = pages.next_page()? {
            let page = self.web.world.number(&url) as usize;
            known += usize::from(is_relevant(page));
            if survey.is_exhausted(survey.site_of(ordinal)) && !is_visited(page) {
                (left, lost) = (left + 1, lost + usize::from(is_relevant(page)));
            }
        }
        let focus = report.focus.as_ref().ok_or("the round was not focused")?;
        let [labelled, of] =
            [true, false].map(|visited| count(&|page| labels[page] && (is_visited(page) || !visited)));
        let [low, estimate, high] = [focus.recall_low, focus.recall_estimate, focus.recall_high]
            .map(|bound| bound.map_or("-".into(), |bound| format!("{bound:.4}")));
        let finds = state.explored.iter().filter(|visit| visit.is_relevant).count();
        Ok(format!(
            "{name} {seed} {} {} {found} {all} {known} {labelled} {of} {low} {estimate} {high} {} {finds} {} {left} {lost}",
            report.round,
            self.visits,
            state.explored.len(),
            focus.sites_exhausted,
        ))
    }
}

/// What a visit finds: what the page says, and its links.
fn answer(
    web: &CourseWeb,
    reader: &FocusReader<'_>,
    words: &mut Words,
    entry: &ScheduleEntry,
    index: u64,
    cycle: Cycle,
    met: &mut Met,
) -> Visit {
    let mut visit = simulated::answer(&web.world, entry, index, cycle, met);
    if matches!(visit.outcome, Outcome::Fetched(_)) {
        let content = &web.contents[web.world.number(&entry.url) as usize];
        let judged = reader.judge(&entry.url, &entry.record.known, Some(content), words);
        visit.verdict = Some(judged.verdict);
        let (depth, counted) = (entry.record.known.depth.saturating_add(1), entry.record.visited.is_none());
        visit.links = content
            .links
            .iter()
            .map(|link| {
                let expectation = Some(reader.expectation(&judged, link, words));
                Link { counted, expectation, ..Link::to(link.url.clone(), depth) }
            })
            .collect();
    }
    visit
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_corpora::corpus::{self, CorpusPage, CorpusSite, LinkKind};

    /// Sites of a home page, a syllabus, and forty lectures in a row.
    fn courses(sites: u32) -> Corpus {
        let mut corpus = Corpus::default();
        for site in 0..sites {
            let home = corpus.pages.len() as u32;
            corpus.sites.push(CorpusSite { name: format!("s{site}"), home, ..CorpusSite::default() });
            for page in 0..42 {
                let url = format!("http://s{site:03}.test/{page}");
                let (title, text) = match page {
                    0 => ("Home", "Welcome to the course."),
                    1 => {
                        ("Syllabus", "Syllabus: grading and a syllabus of this database course on databases.")
                    }
                    _ => ("Lecture", "On many things that are of no use here."),
                };
                let (title, text) = (title.into(), text.into());
                corpus.pages.push(CorpusPage { url, site, title, text, ..CorpusPage::default() });
                let link = |to: u32, anchor: &str| corpus::CorpusLink {
                    to: home + to,
                    kind: LinkKind::Body,
                    anchor: anchor.into(),
                };
                corpus.links.push(match page {
                    0 => vec![link(1, "Syllabus of the database course"), link(2, "Lectures")],
                    41 => vec![],
                    _ => vec![link(page + 1, "next")],
                });
            }
        }
        corpus
    }

    #[test]
    fn fill_rounds_end_once_every_site_is_exhausted() {
        let corpus = courses(12);
        let web = CourseWeb::new(&corpus, 1.0, None, 1).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let terms = folder.path().join("syllabus-databases.toml");
        fs::write(&terms, "genre = [\"syllabus\", \"grading\"]\ncontent = [\"database\"]\n").unwrap();
        let settings = format!(
            "[cycle]\ndiscovery_share = 0\ndiscovery_min = 0\naudit_share = 0\nwarmup = 0\n\
             [focus]\nenabled = true\nterms = {:?}\nthreshold = 0.5\ntarget_recall = 1\ntunnel = 99\nsite_patience = 5\n",
            terms.display().to_string(),
        );
        let mut crawl = Focused::open(&web, &folder.path().join("crawl"), &settings, 1).unwrap();
        let mut last = None;
        while let Some(report) = crawl.round().unwrap() {
            last = report.focus;
            // The state counts what waits, without another pass.
            let generation = crawl.crawl.repository.current();
            let (mut records, mut waiting) = (generation.records(), 0);
            while let Some((.., record)) = records.next_record().unwrap() {
                waiting += u64::from(record.visited.is_none());
            }
            let state = FocusState::read(&crawl.crawl.tables).unwrap();
            assert_eq!(state.pending.iter().map(|stratum| stratum.urls).sum::<u64>(), waiting);
        }
        let found = (0..12).filter(|site| crawl.visited[site * 42 + 1].is_some()).count();
        assert_eq!((found, crawl.relevance.iter().filter(|relevance| **relevance >= 0.5).count()), (12, 12));
        let visits = crawl.visited.iter().flatten().count();
        assert!(visits < 12 * 42 * 2 / 3, "{visits} of {}", 12 * 42);
        let last = last.unwrap();
        assert_eq!(last.relevant_known, 12);
        assert!(last.recall_low.unwrap() < 0.9 && last.recall_high.unwrap() > 0.99, "{last:?}");
    }
}

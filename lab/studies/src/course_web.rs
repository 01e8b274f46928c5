//! A labelled corpus as a web: its pages with their links, which change as the pages of another data set do.

use crate::Failure;
use crate::world::World;
use recrawl_corpora::Corpus;
use recrawl_corpora::corpus::{LinkKind, PARTS};
use recrawl_extractor::{FoundLink, PageContent};
use recrawl_scheduler::shuffle::{Shuffle, ShufflePurpose};
use recrawl_types::{CanonicalUrl, Consent, Cycle, UrlRules};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// Pages with what they say and when they change.
pub struct CourseWeb {
    /// When they change.
    pub world: World,
    /// What they say, by number.
    pub contents: Vec<PageContent>,
    /// Numbers of the home pages.
    pub homes: Vec<u32>,
    /// Number of the page of the corpus, by number.
    pub original: Vec<u32>,
}

/// Reads the four files of a corpus, unpacked. Each site gets a host of its own. With `hide_urls`, numbers take the place of
/// paths, since labels come from these.
///
/// # Errors
/// When one cannot be read.
pub fn corpus(folder: &Path, hide_urls: bool) -> Result<Corpus, Failure> {
    let mut corpus = Corpus::default();
    for (name, read) in PARTS {
        let path = folder.join(name);
        let file = File::open(&path).map_err(|e| format!("{}: {e} (unpack the corpus)", path.display()))?;
        read(Box::new(BufReader::new(file)), &mut corpus)?;
    }
    if hide_urls {
        corpus.hide_urls();
    }
    for page in &mut corpus.pages {
        let path = page.url.splitn(4, '/').nth(3).unwrap_or_default();
        page.url = format!("http://s{:03}.test/{path}", page.site);
    }
    Ok(corpus)
}

impl CourseWeb {
    /// A drawn part of the sites, each on a host of its own. Pages change as drawn pages of `changing` do; never without it.
    ///
    /// # Errors
    /// If a URL is none.
    pub fn new(
        corpus: &Corpus,
        part: f64,
        changing: Option<&World>,
        seed: u64,
    ) -> Result<CourseWeb, Failure> {
        let rules = UrlRules::keep_all();
        let drawn = Shuffle::new(seed, Cycle(0), ShufflePurpose::Scores);
        let is_drawn = |site: u32| drawn.apply(site.into()) as f64 / (u64::MAX as f64) < part;
        let mut numbers = vec![None; corpus.pages.len()];
        let mut original = Vec::new();
        for (page, of) in (0..).zip(&corpus.pages) {
            if is_drawn(of.site) {
                numbers[page as usize] = Some(original.len() as u32);
                original.push(page);
            }
        }
        let url = |page: u32| -> Result<(CanonicalUrl, u32), Failure> {
            let of = &corpus.pages[page as usize];
            Ok((rules.canonicalize(&of.url).map_err(|e| format!("{}: {e}", of.url))?, of.site))
        };
        let pages = original.iter().map(|page| url(*page)).collect::<Result<Vec<_>, _>>()?;
        let content = |page: u32| -> Result<PageContent, Failure> {
            let of = &corpus.pages[page as usize];
            let links = corpus.links[page as usize].iter().filter_map(|link| {
                // A link to a site that was not drawn leads nowhere.
                let to = numbers[link.to as usize]?;
                Some(FoundLink {
                    url: pages[to as usize].0.clone(),
                    nofollow: false,
                    anchor: link.anchor.clone(),
                    framed: link.kind == LinkKind::Nav,
                })
            });
            Ok(PageContent {
                links: links.collect(),
                feeds: Vec::new(),
                text: of.text.clone(),
                is_given_up: false,
                title: Some(of.title.clone()),
                language: corpus.language(page).map(str::to_owned),
                consent: Consent::default(),
                base: of.url.parse()?,
                links_refused: 0,
                links_over_limit: 0,
                work: 0,
            })
        };
        let contents = original.iter().map(|page| content(*page)).collect::<Result<_, _>>()?;
        let homes = corpus.homes().into_iter().filter_map(|page| numbers[page as usize]).collect();
        let changes = match changing.map(World::changes) {
            Some(of) => {
                // Drawn for another purpose than the sites, so that neither draw tells of the other.
                let drawn = Shuffle::new(seed, Cycle(0), ShufflePurpose::Ties);
                let from = |page: &u32| (drawn.apply((*page).into()) % of.len() as u64) as usize;
                original.iter().map(|page| of[from(page)].clone()).collect()
            }
            None => vec![Vec::new(); original.len()],
        };
        let world = World::new("courses".into(), pages, changes, seed);
        Ok(CourseWeb { world, contents, homes, original })
    }
}

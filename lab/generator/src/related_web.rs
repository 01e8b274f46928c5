//! A generated web whose pages follow each other: texts, links, and the pages that run ahead of a page.
//!
//! For the prediction of changes from related pages (Radinsky and Bennett 2013), whose data are not public. Pages
//! belong to topics. On some days a topic has news: new counts of its words. Its *leaders* show them on that day, its
//! *followers* one or two days later; both may miss news and also change without, in words of their own. The rest are
//! noise: the same words, no topic. So a follower's next change shows in its leaders today.
//!
//! Where topics share their words, texts alone do not tell a topic; time does. Other words tell the topic of half of the
//! pages, and a third of the links stay within it. News alternate, so that a page's own past tells something too.

use crate::draws::{Chance, Draws};
use crate::recipe::RecipeError;
use crate::texts::write_texts;
use recrawl_simulation::format::LineReader;
use recrawl_simulation::format::{calendar, create_with};
use recrawl_simulation::{Dataset, DatasetError, histories::PageHistories};
use std::fmt::Write;
use std::path::Path;

/// Parameters of a generated web of related pages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RelatedRecipe {
    /// The preset's name.
    pub name: &'static str,
    /// Leaders, followers and noise of a topic, in pages.
    pub roles: [u32; 3],
    /// Topics that share their words; at least 1.
    pub shared_by: u32,
    /// The chance that a page shows news.
    pub shows: f64,
    /// The chance that a page changes without news.
    pub changes_alone: f64,
    /// Whether every third follower is two days late instead of one.
    pub has_late: bool,
}

/// Leaders and followers that miss news and change without: no leader alone tells what its followers do.
const RADINSKY: RelatedRecipe = RelatedRecipe {
    name: "radinsky",
    roles: [10, 10, 4],
    shared_by: 3,
    shows: 0.9,
    changes_alone: 0.1,
    has_late: true,
};

/// As many leaders as a page has experts, and each alone tells all that its followers do.
const RADINSKY_EACH: RelatedRecipe = RelatedRecipe {
    name: "radinsky-each",
    roles: [20, 4, 0],
    shared_by: 1,
    shows: 1.0,
    changes_alone: 0.0,
    has_late: false,
};

impl RelatedRecipe {
    /// The presets.
    pub const PRESETS: [RelatedRecipe; 2] = [RADINSKY, RADINSKY_EACH];

    /// The preset with this name.
    pub fn named(name: &str) -> Option<RelatedRecipe> {
        RelatedRecipe::PRESETS.into_iter().find(|recipe| recipe.name == name)
    }

    /// Pages of a topic, with its share of noise.
    fn topic_pages(&self) -> u32 {
        self.roles.iter().sum()
    }
}

const TOPIC_WORDS: usize = 6;
/// Counts of a topic's words are from 1 to this.
const COUNT_MAX: f64 = 16.0;
const OWN_WORDS: usize = 4;
const SUBJECT_WORDS: u32 = 12;
const LINKS: usize = 4;
/// The chance of news after a day with news, and after one without.
const NEWS: [f64; 2] = [0.25, 0.75];
/// The chance that a page's subject and each of its links are of its topic.
const IS_ON_TOPIC: [f64; 2] = [0.5, 0.3];

/// A generated web.
#[derive(Clone, Debug, PartialEq)]
pub struct RelatedWeb {
    /// The pages and their changes, without contents.
    pub data: Dataset,
    /// For each page its versions: the cycle from which it shows one, and the text.
    pub texts: Vec<Vec<(u32, String)>>,
    /// Planted relations: a follower, its leader, and the delay in days.
    pub experts: Vec<(u32, u32, u32)>,
}

/// The table of planted relations in the folder of a generated web.
pub const EXPERTS: &str = "experts.tsv";

impl RelatedWeb {
    /// Writes the web as a data set folder with contents and the table of planted relations.
    ///
    /// # Errors
    /// If the folder exists, or the disk fails.
    pub fn create(&self, folder: &Path) -> Result<(), DatasetError> {
        let mut table = "page_id\texpert_page_id\tdelay\n".to_string();
        for (page, expert, delay) in &self.experts {
            // Writing to a string cannot fail.
            writeln!(table, "{page}\t{expert}\t{delay}").unwrap_or_default();
        }
        let also = |part: &Path| {
            write_texts(part, &self.texts)?;
            let path = part.join(EXPERTS);
            std::fs::write(&path, &table).map_err(DatasetError::io(&path))
        };
        create_with(&self.data, folder, "native", also).map(|_| ())
    }
}

/// A planted relation: page, expert, and the delay of the page's news in cycles.
pub type PlantedExpert = (u32, u32, u32);

/// Reads the planted relations of a folder. None if it has no such table.
///
/// # Errors
/// If the table cannot be read or is invalid; the message names file and line.
pub fn read_experts(folder: &Path) -> Result<Option<Vec<PlantedExpert>>, DatasetError> {
    let path = folder.join(EXPERTS);
    if !path.is_file() {
        return Ok(None);
    }
    let mut lines = LineReader::open(&path)?;
    let mut experts = Vec::new();
    let mut is_first = true;
    while let Some(line) = lines.next_line()? {
        if std::mem::take(&mut is_first) {
            continue;
        }
        let fields: Result<Vec<u32>, _> = line.split('\t').map(str::parse).collect();
        let Ok::<[u32; 3], _>([page, expert, delay]) = fields.unwrap_or_default().try_into() else {
            return Err(lines.wrong("expected page_id, expert_page_id and delay, numbers separated by a tab"));
        };
        experts.push((page, expert, delay));
    }
    Ok(Some(experts))
}

/// A page's place in the web.
#[derive(Clone, Copy)]
struct PageRole {
    topic: u32,
    /// Days that it shows news late; none for noise.
    delay: Option<u32>,
}

impl PageRole {
    fn assign(recipe: &RelatedRecipe, page: u32, topics: u32) -> PageRole {
        let (topic, place) = (page / recipe.topic_pages(), page % recipe.topic_pages());
        let [leaders, followers, _] = recipe.roles;
        let delay = match place {
            _ if topic >= topics => None,
            _ if place < leaders => Some(0),
            _ if place < leaders + followers => {
                Some(1 + u32::from(recipe.has_late && place.is_multiple_of(3)))
            }
            _ => None,
        };
        PageRole { topic: topic.min(topics - 1), delay }
    }
}

/// The news of a topic by day: the counts of its words, where there are news.
fn news(cycles: u32, draws: &mut Draws) -> Vec<Option<[u32; TOPIC_WORDS]>> {
    let mut had_news = false;
    let mut day = |_| {
        had_news = draws.is(Chance::new(NEWS[usize::from(!had_news)]));
        had_news.then(|| std::array::from_fn(|_| count(draws)))
    };
    (0..=cycles).map(&mut day).collect()
}

fn count(draws: &mut Draws) -> u32 {
    1 + (draws.uniform() * COUNT_MAX) as u32
}

/// Generates a web. Equal arguments give an equal web on every machine.
///
/// # Errors
/// If there are too few pages for a topic, no cycle, or more than the limits of a data set.
pub fn related_web(
    recipe: &RelatedRecipe,
    pages: u32,
    cycles: u32,
    seed: u64,
) -> Result<RelatedWeb, RecipeError> {
    let topics = pages / recipe.topic_pages();
    if topics == 0 || cycles == 0 || cycles > Dataset::MAX_CYCLES {
        let text = format!(
            "{pages} pages, {cycles} cycles: use at least {} pages and 1 to {} cycles",
            recipe.topic_pages(),
            Dataset::MAX_CYCLES
        );
        return Err(RecipeError::too_large(text));
    }
    let mut histories = PageHistories::default();
    let news: Vec<_> =
        (0..topics).map(|topic| news(cycles, &mut Draws::new(seed, 1 + u64::from(topic)))).collect();
    let (mut texts, mut experts) = (Vec::new(), Vec::new());
    for page in 0..pages {
        let role = PageRole::assign(recipe, page, topics);
        // Streams of topics come first.
        let mut draws = Draws::new(seed, 1 + u64::from(topics) + u64::from(page));
        let versions = versions(recipe, role, page, pages, &news[role.topic as usize], &mut draws);
        let changes: Vec<(u32, u16)> =
            versions.iter().skip(1).zip(1..).map(|(&(cycle, _), version)| (cycle, version)).collect();
        let row = histories.page(url(page), Some(&format!("topic {}", role.topic)), 0, cycles);
        histories.push(row, &changes).map_err(RecipeError::too_large)?;
        texts.push(versions);
        if let Some(delay) = role.delay.filter(|&delay| delay > 0) {
            let first = role.topic * recipe.topic_pages();
            experts.extend((first..first + recipe.roles[0]).map(|leader| (page, leader, delay)));
        }
    }
    // A Monday, as in the other presets.
    let start = calendar::parse_date("2026-01-05").unwrap_or_default();
    let dates = (0..=i64::from(cycles)).map(|cycle| calendar::date(start + cycle)).collect();
    let data = histories.finish(recipe.name.into(), dates, cycles).map_err(RecipeError::too_large)?;
    Ok(RelatedWeb { data, texts, experts })
}

fn url(page: u32) -> String {
    format!("http://s{:03}.example/{page}", page % 7)
}

/// The versions of a page.
fn versions(
    recipe: &RelatedRecipe,
    role: PageRole,
    page: u32,
    pages: u32,
    news: &[Option<[u32; TOPIC_WORDS]>],
    draws: &mut Draws,
) -> Vec<(u32, String)> {
    let fixed = fixed_part(recipe, role, page, pages, draws);
    let mut topic: [u32; TOPIC_WORDS] = std::array::from_fn(|_| count(draws));
    let mut own: [u32; OWN_WORDS] = std::array::from_fn(|_| count(draws));
    let mut versions = vec![(0, text(&fixed, recipe.shared_by, role, page, &topic, &own))];
    for cycle in 1..news.len() as u32 {
        let told = role.delay.and_then(|delay| news[cycle.checked_sub(delay)? as usize]);
        let (shows, alone) =
            (draws.is(Chance::new(recipe.shows)), draws.is(Chance::new(recipe.changes_alone)));
        match (role.delay, told) {
            (Some(_), Some(counts)) if shows => topic = counts,
            (Some(_), _) if alone && told.is_none() => own = std::array::from_fn(|_| count(draws)),
            // As often as the others, in the words of its topic.
            (None, _) if draws.is(Chance::new(0.5)) => topic = std::array::from_fn(|_| count(draws)),
            _ => continue,
        }
        versions.push((cycle, text(&fixed, recipe.shared_by, role, page, &topic, &own)));
    }
    versions
}

/// The part that never changes: words of a subject, and links.
fn fixed_part(recipe: &RelatedRecipe, role: PageRole, page: u32, pages: u32, draws: &mut Draws) -> String {
    let topic_pages = recipe.topic_pages();
    let topics = (pages / topic_pages).max(1);
    let pick = |draws: &mut Draws, count: u32| ((draws.uniform() * f64::from(count)) as u32).min(count - 1);
    let subject = if draws.is(Chance::new(IS_ON_TOPIC[0])) { role.topic } else { pick(draws, topics) };
    let mut fixed = String::new();
    // Writing to a string cannot fail.
    for place in 0..SUBJECT_WORDS {
        let times = 1 + pick(draws, 5);
        (0..times)
            .for_each(|_| fixed.push_str(&format!("subject{} ", letters(subject * SUBJECT_WORDS + place))));
    }
    for _ in 0..LINKS {
        let on_topic = draws.is(Chance::new(IS_ON_TOPIC[1]));
        let to =
            if on_topic { role.topic * topic_pages + pick(draws, topic_pages) } else { pick(draws, pages) };
        if to != page {
            write!(fixed, "[see]({}) ", url(to)).unwrap_or_default();
        }
    }
    fixed
}

fn text(fixed: &str, shared_by: u32, role: PageRole, page: u32, topic: &[u32], own: &[u32]) -> String {
    let mut text = fixed.to_string();
    let shared = role.topic / shared_by * TOPIC_WORDS as u32;
    let words = topic.iter().zip(shared..).map(|(&count, word)| (count, format!("topic{} ", letters(word))));
    let own = own
        .iter()
        .zip(0..)
        .map(|(&count, word)| (count, format!("own{} ", letters(page * OWN_WORDS as u32 + word))));
    words.chain(own).for_each(|(count, word)| text.push_str(&word.repeat(count as usize)));
    text.trim_end().to_string()
}

/// A number in letters.
fn letters(mut number: u32) -> String {
    let mut letters = String::new();
    loop {
        letters.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
        if number == 0 {
            return letters;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn followers_change_after_their_leaders() {
        let web = related_web(&RADINSKY, 72, 200, 3).unwrap();
        assert_eq!(web, related_web(&RADINSKY, 72, 200, 3).unwrap());
        assert_ne!(web.texts, related_web(&RADINSKY, 72, 200, 4).unwrap().texts);
        let changes = |page: u32, cycle: u32| web.data.truth.changed_in(cycle).contains(&page);
        assert_eq!(web.experts.len(), 3 * 10 * 10);
        for &(follower, leader, delay) in &web.experts {
            let agree = |delay: u32| {
                (5..=200).filter(|&cycle| changes(follower, cycle) == changes(leader, cycle - delay)).count()
            };
            let (planted, other) = (agree(delay), agree(delay + 2));
            assert!(planted > 130 && planted > other + 10, "{follower} after {leader}: {planted}, {other}");
        }
        for page in 0..72 {
            let count = (1..=200).filter(|&cycle| changes(page, cycle)).count();
            assert!((70..130).contains(&count), "page {page} changes {count} times");
            assert_eq!(web.texts[page as usize].len(), count + 1);
        }
    }

    #[test]
    fn each_leader_alone_may_tell_all() {
        let web = related_web(&RADINSKY_EACH, 48, 100, 1).unwrap();
        let changes = |page: u32, cycle: u32| web.data.truth.changed_in(cycle).contains(&page);
        assert_eq!(web.experts.len(), 2 * 4 * 20);
        for &(follower, leader, delay) in &web.experts {
            assert_eq!(delay, 1);
            let agrees = |cycle: u32| changes(follower, cycle) == changes(leader, cycle - 1);
            assert!((2..=100).all(agrees), "{follower} after {leader}");
        }
    }

    #[test]
    fn a_version_differs_from_the_one_before() {
        let web = related_web(&RADINSKY, 31, 60, 5).unwrap();
        for versions in &web.texts {
            assert!(versions.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 != pair[1].1));
        }
        assert!(related_web(&RADINSKY, 23, 60, 0).is_err() && related_web(&RADINSKY, 24, 0, 0).is_err());
    }

    #[test]
    fn a_folder_gives_the_web_again() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("radinsky");
        let web = related_web(&RADINSKY, 32, 40, 6).unwrap();
        web.create(&folder).unwrap();
        let mut data = recrawl_simulation::open(&folder, None).unwrap();
        recrawl_contents::add(&mut data, &folder).unwrap();
        assert_eq!(
            (data.truth.clone(), read_experts(&folder).unwrap()),
            (web.data.truth.clone(), Some(web.experts.clone()))
        );
        let contents = data.contents.as_ref().unwrap();
        let (mut shown, mut links) = (0, 0);
        for (page, versions) in web.texts.iter().enumerate() {
            for (cycle, text) in versions {
                let document = contents.shown(page, *cycle).unwrap();
                let visible =
                    text.split_whitespace().map(|word| word.starts_with("[see]")).collect::<Vec<_>>();
                assert_eq!(document.word_count(), visible.len() as u64, "page {page}, cycle {cycle}");
                shown += 1;
                links += document.links.len();
            }
        }
        assert!(shown > 32 && links > 2 * shown, "{shown} {links}");
        assert!(matches!(web.create(&folder), Err(DatasetError::Exists { .. })));
        std::fs::write(folder.join(EXPERTS), "page_id\texpert_page_id\tdelay\n1\t2\n").unwrap();
        let error = read_experts(&folder).unwrap_err().to_string();
        assert!(error.contains("experts.tsv:2"), "{error}");
    }
}

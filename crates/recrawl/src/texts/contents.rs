//! What the archive has of a change: title, old and new text, and their difference.

use super::versions::VersionPlace;
use super::{ArchivedText, ArchivedVersion, MissingText, VersionPlaces, read, titled_text, unified};
use recrawl_archive::{ArchiveReader, timestamp};
use recrawl_crawl::parts::noise;
use recrawl_crawl::settings::Settings;
use recrawl_notifications::message::{ChangeContents, ToldChange, cut};
use recrawl_notifications::{ChangeKind, ChangeNotice};
use recrawl_repository::Lookup;
use recrawl_types::{ArchivePosition, CanonicalUrl};
use std::io;
use std::rc::Rc;

/// Later versions of a page that are passed at most for one message. Of each, the head is read.
const MAX_PASSED: usize = 10_000;
/// Why there is no text of a visit.
const NOT_ARCHIVED: &str = "the body of this visit is not archived";

/// The archive as of a commit.
pub struct Archived<'a> {
    pub settings: &'a Settings,
    /// Changes mostly come in the order of their URLs, so the next one is mostly in the same block.
    pub pages: Lookup<'a>,
    /// Asked for each message: an error may pass.
    pub archive: Box<dyn Fn() -> io::Result<Rc<ArchiveReader>> + 'a>,
}

impl Archived<'_> {
    /// A change with what the archive has of it, each text of at most `max` bytes. Nothing is read if that is 0, or the
    /// page gone.
    pub fn told(&mut self, change: ChangeNotice, max: usize) -> ToldChange {
        let mut contents = ChangeContents::default();
        if max > 0 && !change.kind.is_missing() {
            contents.no_text =
                self.fill(&mut contents, &change, max).err().map(|MissingText { why, .. }| why);
            contents.read_numbers();
            let texts = [&mut contents.old_text, &mut contents.new_text];
            contents.is_cut |=
                texts.into_iter().flatten().fold(false, |is_cut, text| cut(text, max) | is_cut);
        }
        ToldChange { change, contents }
    }

    fn fill(
        &mut self,
        contents: &mut ChangeContents,
        change: &ChangeNotice,
        max: usize,
    ) -> Result<(), MissingText> {
        let url = &change.url;
        let visited = self.pages.visited(url).map_err(|e| none(e.to_string()))?;
        contents.hint = visited.filter(|_| change.kind == ChangeKind::Changed).and_then(noise::page::hint);
        let last = visited.and_then(|visited| visited.content.newest_version());
        let last = last.ok_or_else(|| none("nothing of it is archived"))?;
        let archive = (self.archive)().map_err(none)?;
        let archived = VersionTexts { settings: self.settings, archive: &archive, url };
        // A page that is back and has not changed has no body of this visit.
        if change.kind == ChangeKind::Back
            && change.is_same
            && let (before, false) = archived.until(last, change)?
        {
            let before = archived.version(before.at)?;
            let (title, text) = titled_text(&before, url, self.settings)?;
            (contents.title, contents.new_text) = (title, Some(text));
            return Err(none(format!("it is as it was at {}", timestamp(before.answer.time() * 1000))));
        }
        let newer = archived.of_visit(last, change)?;
        let (title, text) = titled_text(&newer, url, self.settings)?;
        (contents.title, contents.new_text) = (title, Some(text));
        match change.kind {
            ChangeKind::New => Ok(()),
            _ => archived.compare(contents, &newer, max),
        }
    }
}

fn none(why: impl ToString) -> MissingText {
    MissingText { none: "no_text", why: why.to_string() }
}

/// The versions of one page.
struct VersionTexts<'a> {
    settings: &'a Settings,
    archive: &'a ArchiveReader,
    url: &'a CanonicalUrl,
}

impl VersionTexts<'_> {
    /// The version of a visit.
    fn of_visit(&self, last: ArchivePosition, change: &ChangeNotice) -> Result<ArchivedVersion, MissingText> {
        match self.until(last, change)? {
            (place, true) => self.version(place.at),
            _ => Err(none(NOT_ARCHIVED)),
        }
    }

    /// The newest version that is not after a visit, and whether it is of this one. The page may have been visited since,
    /// also within the same second.
    fn until(
        &self,
        last: ArchivePosition,
        change: &ChangeNotice,
    ) -> Result<(VersionPlace, bool), MissingText> {
        for (passed, place) in VersionPlaces::new(self.archive, self.url, Some(last)).enumerate() {
            let place = place?;
            // Earlier releases noted no round.
            let (round, visit) = (place.round.unwrap_or(change.round.0), (change.round.0, change.time));
            if (round, place.time) <= visit {
                let is_of_visit = (round, place.time) == visit;
                return Ok((place, is_of_visit));
            }
            if passed == MAX_PASSED {
                return Err(none(format!("more than {MAX_PASSED} versions were archived since")));
            }
        }
        Err(none(NOT_ARCHIVED))
    }

    fn version(&self, at: ArchivePosition) -> Result<ArchivedVersion, MissingText> {
        let answer = read(self.archive, at, self.url, self.settings.max_archived_body() as u64)?;
        Ok(ArchivedVersion { at, answer })
    }

    /// The version before this one, and its text.
    fn before(&self, newer: &ArchivedVersion) -> Result<(ArchivedVersion, String), MissingText> {
        let before = newer.answer.before().ok_or_else(|| none("the text before is not archived"))?;
        let older = self.version(before)?;
        let (_, text) = titled_text(&older, self.url, self.settings)?;
        Ok((older, text))
    }

    /// Adds the text of the version before this one, and the difference, of at most `max` bytes.
    fn compare(
        &self,
        contents: &mut ChangeContents,
        newer: &ArchivedVersion,
        max: usize,
    ) -> Result<(), MissingText> {
        let (mut older, mut old_text) = self.before(newer)?;
        // A single visit without text was no change, so the change is from the text before it. If that text is back, the page
        // was told to be without it.
        if old_text.is_empty()
            && let Ok(before) = self.before(&older)
            && contents.new_text.as_ref() != Some(&before.1)
        {
            (older, old_text) = before;
        }
        let text = |version: &ArchivedVersion, text: &str| ArchivedText {
            time: version.answer.time(),
            at: version.at,
            text: text.to_owned(),
        };
        let new_text = contents.new_text.as_deref().unwrap_or_default();
        let found = unified(&text(&older, &old_text), &text(newer, new_text), max);
        (contents.difference, contents.is_cut) = (Some(found.text), found.is_cut);
        contents.old_text = Some(old_text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_archive::{Archive, Compressor, Record, RecordHead};
    use recrawl_crawl::config::Config;
    use recrawl_repository::storage::MemoryStorage;
    use recrawl_types::{Cycle, Round, UrlRules};
    use std::sync::Arc;

    /// The archive of a page whose body at second n is the nth; none is a redirect.
    fn archived(bodies: &[Option<&str>], work: impl Fn(&VersionTexts<'_>, ArchivePosition)) {
        let visits: Vec<_> = bodies.iter().zip(0..).map(|(body, second)| (None, second, *body)).collect();
        archived_in(&visits, work);
    }

    /// The same by round, if it is noted, and second.
    fn archived_in(
        visits: &[(Option<u32>, u64, Option<&str>)],
        work: impl Fn(&VersionTexts<'_>, ArchivePosition),
    ) {
        let storage = Arc::new(MemoryStorage::new());
        let mut written = Archive::create(storage.clone(), 1 << 20);
        let url = UrlRules::default().canonicalize("http://a.example/p").unwrap();
        let mut last = None;
        for (round, second, body) in visits {
            let status = if body.is_some() { 200 } else { 302 };
            let address = url.as_text();
            let head = RecordHead { round: *round, ..RecordHead::new(&address, second * 1000, status) };
            let headers = [("Content-Type", &b"text/plain"[..]), ("Location", b"/other")].into_iter();
            let body = body.unwrap_or_default().as_bytes();
            let record = Record::Response { truncated: None, body, before: last };
            last = Some(written.append(&record.compress(&mut Compressor::new(), &head, headers)).unwrap());
        }
        let (settings, archive) =
            (Settings::check(Config::default()).unwrap(), ArchiveReader::open(storage).unwrap());
        work(&VersionTexts { settings: &settings, archive: &archive, url: &url }, last.unwrap());
    }

    fn compared(
        texts: &VersionTexts<'_>,
        last: ArchivePosition,
        time: u64,
    ) -> Result<ChangeContents, String> {
        compared_of(texts, last, 0, time)
    }

    fn compared_of(
        texts: &VersionTexts<'_>,
        last: ArchivePosition,
        round: u32,
        time: u64,
    ) -> Result<ChangeContents, String> {
        let change = ChangeNotice {
            id: String::new(),
            kind: ChangeKind::Changed,
            url: texts.url.clone(),
            cycle: Cycle(0),
            round: Round(round),
            time,
            status: None,
            reason: None,
            is_same: false,
        };
        let newer = texts.of_visit(last, &change).map_err(|missing| missing.why)?;
        let (title, text) = titled_text(&newer, texts.url, texts.settings).map_err(|missing| missing.why)?;
        let mut contents = ChangeContents { title, new_text: Some(text), ..ChangeContents::default() };
        texts.compare(&mut contents, &newer, 8 << 10).map_err(|missing| missing.why)?;
        Ok(contents)
    }

    #[test]
    fn a_change_has_its_texts_however_often_the_page_was_visited_since() {
        let bodies: Vec<String> = (0..500).map(|n| format!("version {n}")).collect();
        let bodies: Vec<_> = bodies.iter().map(|body| Some(body.as_str())).collect();
        archived(&bodies, |texts, last| {
            for time in [1, 7, 499] {
                let contents = compared(texts, last, time).unwrap();
                assert_eq!(contents.new_text.as_deref(), Some(&*format!("version {time}")));
                assert_eq!(contents.old_text.as_deref(), Some(&*format!("version {}", time - 1)));
            }
            assert_eq!(compared(texts, last, 500).unwrap_err(), "the body of this visit is not archived");
            assert_eq!(compared(texts, last, 0).unwrap_err(), "the text before is not archived");
        });
    }

    #[test]
    fn visits_of_one_second_are_told_apart_by_their_rounds() {
        let visits = [(3, 7, "a"), (4, 7, "b"), (5, 7, "c"), (6, 8, "d"), (8, 8, "e")];
        let visits = visits.map(|(round, second, body)| (Some(round), second, Some(body)));
        archived_in(&visits, |texts, last| {
            for (round, second, old, new) in [(4, 7, "a", "b"), (5, 7, "b", "c"), (8, 8, "d", "e")] {
                let contents = compared_of(texts, last, round, second).unwrap();
                assert_eq!(
                    (contents.old_text.as_deref(), contents.new_text.as_deref()),
                    (Some(old), Some(new))
                );
            }
            let why = compared_of(texts, last, 7, 8).unwrap_err();
            assert_eq!(why, "the body of this visit is not archived");
        });
    }

    #[test]
    fn a_redirect_is_named_where_it_is_or_was() {
        archived(&[Some("one"), None, Some("one")], |texts, last| {
            for time in [1, 2] {
                let why = compared(texts, last, time).unwrap_err();
                assert!(why.contains("00:00:01Z is a redirect to /other"), "{why}");
            }
        });
    }

    #[test]
    fn a_visit_without_text_is_passed_over_unless_the_text_before_it_is_back() {
        for (before, old, added) in [("13", "13", vec!["-13", "+14"]), ("14", "", vec!["+14"])] {
            archived(&[Some(before), Some(""), Some("14")], |texts, last| {
                let contents = compared(texts, last, 2).unwrap();
                let difference = contents.difference.unwrap();
                let changed = difference.lines().skip(2).filter(|line| line.starts_with(['+', '-']));
                assert_eq!(changed.collect::<Vec<_>>(), added, "{difference}");
                assert_eq!(contents.old_text.as_deref(), Some(old));
            });
        }
    }

    #[test]
    fn what_is_appended_is_all_that_differs() {
        archived(&[Some("first"), Some("first\nsecond")], |texts, last| {
            let difference = compared(texts, last, 1).unwrap().difference.unwrap();
            let changed: Vec<_> = difference.lines().filter(|line| !line.starts_with(' ')).skip(2).collect();
            assert_eq!(changed, ["@@ -1 +1,2 @@", "+second"], "{difference}");
        });
    }
}

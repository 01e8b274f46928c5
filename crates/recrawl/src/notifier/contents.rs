//! What the archive has of a change: title, old and new text, and their difference.

use crate::texts::{Missing, Text, Versions, extracted, text_of, unified};
use recrawl_archive::ArchiveFolder;
use recrawl_archive::answer::Answer;
use recrawl_crawl::settings::Settings;
use recrawl_extractor::Extracted;
use recrawl_notifications::message::{Contents, Told, cut};
use recrawl_notifications::{Change, ChangeKind};
use recrawl_repository::Lookup;
use recrawl_types::CanonicalUrl;
use std::io;
use std::rc::Rc;

/// Archived responses that are read at most for one message: the page may have been visited since.
const MAX_READ: usize = 32;

/// The archive as of a commit.
pub struct Archived<'a> {
    pub settings: &'a Settings,
    /// Changes mostly come in the order of their URLs, so the next one is mostly in the same block.
    pub pages: Lookup<'a>,
    pub folder: io::Result<Rc<ArchiveFolder>>,
}

impl Archived<'_> {
    /// A change with what the archive has of it, each text of at most `max` bytes. Nothing is read if that is 0, or the
    /// page gone.
    pub fn told(&mut self, change: Change, max: usize) -> Told {
        let mut contents = Contents::default();
        if max > 0 && change.kind != ChangeKind::Gone {
            contents.no_text = self.fill(&mut contents, &change, max).err().map(|Missing { why, .. }| why);
        }
        Told { change, contents }
    }

    fn fill(&mut self, contents: &mut Contents, change: &Change, max: usize) -> Result<(), Missing> {
        let url = &change.url;
        let none = |why: &str| Missing { none: "no_text", why: why.into() };
        let visited = self.pages.visited(url).map_err(|e| none(&e.to_string()))?;
        let last = visited
            .and_then(|visited| visited.content.archive)
            .ok_or_else(|| none("nothing of it is archived"))?;
        let folder = self.folder.as_ref().map_err(|e| none(&e.to_string()))?;
        let versions = Versions::of(folder, url, Some(last)).with_bodies(self.settings.fetch.max_body);
        let mut texts = Vec::new();
        for version in versions.take(MAX_READ) {
            let version = version?;
            // Later visits, and redirects, which have no text of their own.
            let is_page = (200..300).contains(&version.answer.status());
            if version.answer.time() > change.time || !is_page {
                continue;
            }
            let (title, text) = self.read(&version.answer, url).ok_or_else(|| none("its body is no text"))?;
            if texts.is_empty() {
                if version.answer.time() < change.time {
                    return Err(none("the body of this visit is not archived"));
                }
                contents.title = title;
            }
            texts.push(Text { time: version.answer.time(), at: version.at, text });
            if texts.len() == 2 || change.kind == ChangeKind::New {
                break;
            }
        }
        let mut texts = texts.into_iter();
        let newer = texts.next().ok_or_else(|| none("the body of this visit is not archived"))?;
        if let Some(older) = texts.next() {
            contents.difference = Some(unified(&older, &newer));
            contents.old_text = Some(older.text);
        } else if change.kind != ChangeKind::New {
            contents.no_text = Some("the text before is not archived".into());
        }
        contents.new_text = Some(newer.text);
        let texts = [&mut contents.old_text, &mut contents.new_text, &mut contents.difference];
        contents.is_cut = texts.into_iter().flatten().fold(false, |is_cut, text| cut(text, max) | is_cut);
        Ok(())
    }

    /// Title and text of a body.
    fn read(&self, answer: &Answer, url: &CanonicalUrl) -> Option<(Option<String>, String)> {
        let part = self.settings.pages.of(url).map(|rule| &rule.part);
        match extracted(answer, url, self.settings, part) {
            Extracted::Page(page) => Some((page.title, page.text)),
            _ => text_of(answer, url, self.settings, part).map(|text| (None, text)),
        }
    }
}

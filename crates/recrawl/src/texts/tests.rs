use super::*;
use recrawl_archive::{Archive, Compressor, Record, RecordHead};
use recrawl_crawl::admission::pattern::Pattern;
use recrawl_crawl::config::Config;
use recrawl_types::{Consent, Content, History, UrlRules};
use std::sync::Arc;

const NOW: u64 = 1_800_000_000_000;

/// An archive of one page, and the page's record.
struct Shelf {
    _folder: tempfile::TempDir,
    archive: Archive,
    visited: Visited,
    settings: Settings,
}

fn url() -> CanonicalUrl {
    UrlRules::default().canonicalize("http://a.example/p").unwrap()
}

impl Shelf {
    /// Each record gets a file of its own.
    fn new() -> Shelf {
        let folder = tempfile::tempdir().unwrap();
        let archive = recrawl_archive::Archive::create(opener::create(folder.path()).unwrap(), 1);
        let visited = Visited { history: History::default(), content: Content::default() };
        let mut settings = Settings::check(Config::default()).unwrap();
        settings.data_dir = folder.path().into();
        Shelf { _folder: folder, archive, visited, settings }
    }

    /// Archives another response as the crawl does.
    fn put(&mut self, url: &str, status: u16, kind: &str, body: &str) {
        let before = self.visited.content.archive;
        let head = RecordHead::new(url, 1_700_000_000_000, status);
        let headers = [("Content-Type", kind.as_bytes())].into_iter();
        let record = Record::Response { truncated: None, body: body.as_bytes(), before };
        let member = record.compress(&mut Compressor::new(), &head, headers);
        self.visited.content.archive = Some(self.archive.append(&member).unwrap());
    }

    /// Path of a file.
    fn file(&self, number: u32) -> std::path::PathBuf {
        let archive = ArchiveReader::open(opener::open(&self.settings.data_dir).unwrap()).unwrap();
        archive.storage().locate(archive.files.name(number).unwrap()).into()
    }

    fn page(&mut self, text: &str) {
        let html = format!("<title>t</title><nav>menu</nav><script>no</script><p>{text}</p>");
        self.put(&url().as_text(), 200, "text/html", &html);
    }

    fn told(&self) -> Value {
        document(&url(), Some(&self.visited), &self.settings, NOW)
    }

    /// Why there is no difference.
    fn none(&self) -> (String, String) {
        let told = self.told();
        let text = |key: &str| told[key].as_str().unwrap_or_else(|| panic!("{told}")).to_owned();
        (text("none"), text("why"))
    }
}

#[test]
fn visible_texts_are_compared_and_redirects_stepped_over() {
    let mut shelf = Shelf::new();
    shelf.page("the first");
    shelf.page("It costs 10 euros");
    shelf.put(&url().as_text(), 301, "text/html", "moved");
    shelf.page("It costs 12 euros");
    let told = shelf.told();
    assert_eq!(
        told["parts"],
        json!([
            {"kind": "same", "text": "It costs "}, {"kind": "removed", "text": "10 "},
            {"kind": "added", "text": "12 "}, {"kind": "same", "text": "euros"},
        ]),
        "{told:#}"
    );
    assert_eq!((&told["newer"]["warc_file"], &told["older"]["warc_file"]), (&json!(4), &json!(2)));
    assert_eq!((&told["older"]["time"], &told["words_added"]), (&json!(1_700_000_000), &json!(1)));
}

#[test]
fn a_list_of_pages_is_compared_by_its_lines() {
    let mut shelf = Shelf::new();
    let sitemap = |pages: &[&str]| -> String {
        let entries: String =
            pages.iter().map(|p| format!("<url><loc>http://a.example/{p}</loc></url>")).collect();
        format!(r#"<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>"#)
    };
    shelf.put(&url().as_text(), 200, "application/xml", &sitemap(&["1", "2"]));
    shelf.put(&url().as_text(), 200, "application/xml", &sitemap(&["1", "2", "3"]));
    let parts = &shelf.told()["parts"];
    assert_eq!(parts[1], json!({"kind": "added", "text": "http://a.example/3\n"}), "{parts:#}");
}

#[test]
fn whatever_is_missing_is_named() {
    let never = document(&url(), None, &Shelf::new().settings, NOW);
    assert_eq!(never["none"], "never_fetched");

    let mut shelf = Shelf::new();
    assert_eq!(shelf.none().0, "not_archived");
    shelf.visited.content.consent = Consent { noarchive: true, ..Consent::default() };
    assert!(shelf.none().1.contains("asks not to be archived"));
    shelf.settings.config.storage.archive = false;
    assert!(shelf.none().1.contains("storage.archive"));

    let mut shelf = Shelf::new();
    shelf.page("one");
    assert_eq!(shelf.none(), ("one_text".into(), "fetched only once".into()));
    shelf.visited.history.visits = 3;
    assert!(shelf.none().1.contains("has not changed"));
    shelf.visited.history.changes = 1;
    assert!(shelf.none().1.contains("is unknown"));

    shelf.page("two");
    assert!(shelf.told()["parts"].is_array());
    std::fs::remove_file(shelf.file(1)).unwrap();
    assert_eq!(shelf.none().0, "removed");
    let last = shelf.visited.content.archive.unwrap().file;
    std::fs::write(shelf.file(last), b"damaged").unwrap();
    assert_eq!(shelf.none().0, "unreadable");

    let mut shelf = Shelf::new();
    shelf.page("one");
    shelf.put(&url().as_text(), 200, "image/png", "\u{1}PNG");
    assert_eq!(shelf.none().0, "no_text");
    shelf.put("http://other.example/", 200, "text/html", "of another page");
    assert_eq!(shelf.none().0, "unreadable");
}

#[test]
fn no_more_answers_are_read_than_may_be() {
    let mut shelf = Shelf::new();
    shelf.page("one");
    for _ in 0..MAX_ANSWERS {
        shelf.put(&url().as_text(), 302, "text/html", "");
    }
    let (none, why) = shelf.none();
    assert!(none == "no_text" && why.contains('8'), "{why}");
}

#[test]
fn what_is_taken_down_is_not_given_out_while_its_data_waits_to_be_removed() {
    let mut shelf = Shelf::new();
    shelf.page("one");
    shelf.page("two");
    shelf.settings.scope.refuse_taken_down(vec![Pattern::prefix("http://a.example/p").unwrap()]);
    assert_eq!(shelf.none().0, "taken_down");
    let page = ArchivedPage::open(Arc::new(shelf.settings.clone()), url(), Some(shelf.visited.clone()));
    assert_eq!(page.map(|_| ()).unwrap_err().none, "taken_down");
}

#[test]
fn what_was_taken_down_is_told() {
    let mut shelf = Shelf::new();
    shelf.page("one");
    shelf.page("two");
    let archive = opener::open(&shelf.settings.data_dir).unwrap();
    recrawl_archive::takedown::take_down(&*archive, &|_| true, NOW, false).unwrap();
    assert_eq!(shelf.none().0, "taken_down");
}

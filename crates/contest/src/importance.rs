//! The importance of recorded pages, by the `[[pages]]` of a file.

use recrawl_crawl::config::Config;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::page_rules::PageRules;
use recrawl_simulation::Dataset;
use recrawl_types::{Importance, UrlRules};
use std::path::Path;

/// Gives the pages of a data set the importance that a file says: a configuration, of which only `match` and `importance`
/// of its `[[pages]]` count. Pages without a URL have an importance of 1.
///
/// # Errors
/// When the file cannot be read, when none of its rules matches a page, or when no page counts.
pub fn weigh(data: &mut Dataset, file: &Path) -> Result<(), Failure> {
    let usage = |why: String| Failure::Usage(format!("--importance {}: {why}", file.display()));
    let config = Config::read(Some(file), &[]).map_err(|e| usage(e.to_string()))?;
    let urls = UrlRules::keep_all();
    let rules = PageRules::new(&config.pages, &urls).map_err(usage)?;
    let rule = |url: &str| rules.rule_for(&urls.canonicalize(url).ok()?);
    if !data.pages.iter().any(|page| rule(&page.url).is_some()) {
        return Err(usage(format!("no pages.match in it matches a page of {}", data.name)));
    }
    data.weigh(|url| rule(url).map_or(Importance::ONE, |rule| rule.importance));
    if data.pages.iter().all(|page| page.importance.thousandths() == 0) {
        return Err(usage(format!("all pages of {} have an importance of 0, so none counts", data.name)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_simulation::{RecordedPage, Truth};

    fn data() -> Dataset {
        let page = |url: &str| RecordedPage { url: url.into(), last: 4, ..RecordedPage::default() };
        Dataset {
            name: "three".into(),
            dates: Vec::new(),
            pages: vec![page("https://a.test/"), page("https://a.test/news/1"), page("page 3")],
            sites: vec!["a.test".into()],
            groups: vec!["a.test".into()],
            truth: Truth::from_words(4, vec![0b10, 0b110, 0]),
            signals: Default::default(),
            contents: None,
            beginning: None,
        }
    }

    fn weighed(text: &str) -> Result<Vec<f64>, String> {
        let folder = tempfile::TempDir::new().unwrap();
        let (file, mut data) = (folder.path().join("pages.toml"), data());
        std::fs::write(&file, text).unwrap();
        weigh(&mut data, &file).map_err(|e| e.to_string())?;
        Ok(data.pages.iter().map(|page| page.importance.value()).collect())
    }

    #[test]
    fn the_first_rule_that_matches_a_page_weighs_it() {
        let front = "[[pages]]\nmatch = \"https://a.test/\"\nimportance = 5\n";
        let rest = "[[pages]]\nmatch = \"a.test\"\nimportance = 0.5\n";
        assert_eq!(weighed(front), Ok(vec![5.0, 1.0, 1.0]));
        assert_eq!(weighed(&[front, rest].concat()), Ok(vec![5.0, 0.5, 1.0]));
        assert_eq!(weighed("[[pages]]\nmatch = \"a.test\"\nimportance = 0\n"), Ok(vec![0.0, 0.0, 1.0]));
    }

    #[test]
    fn a_file_that_weighs_nothing_is_refused() {
        for (text, says) in [
            ("", "no pages.match in it matches a page of three"),
            (
                "[[pages]]\nmatch = \"b.test\"\nimportance = 5\n",
                "no pages.match in it matches a page of three",
            ),
            ("[[pages]]\nmatch = \"a.test\"\nimportance = 1e12\n", "a number from 0 to 1000"),
            ("[[pages]]\nmatch = \"a.test\"\nimportance = nan\n", "a number from 0 to 1000"),
            ("[[pages]]\nmatch = \"a.test\"\nimportance = -1\n", "a number from 0 to 1000"),
            ("[[page]]\nmatch = \"a.test\"\n", "page.match"),
        ] {
            let why = weighed(text).unwrap_err();
            assert!(why.contains(says) && why.contains("pages.toml"), "{text}: {why}");
        }
        let mut urls = data();
        urls.pages.truncate(2);
        let folder = tempfile::TempDir::new().unwrap();
        let file = folder.path().join("pages.toml");
        std::fs::write(&file, "[[pages]]\nmatch = \"a.test\"\nimportance = 0\n").unwrap();
        assert!(weigh(&mut urls, &file).unwrap_err().to_string().contains("so none counts"));
    }
}

//! Additions of `recrawl watch` to a configuration, as text: comments and formatting of the rest stay as they are.

use std::fmt::Write;

/// A configuration that watches only what it is told to.
const NEW: &str = "\
# Written by `recrawl watch`. docs/configuration.md explains every key.

[crawler]
# Where site owners can reach you, an e-mail address or a URL: required after the first 100 requests.
contact = \"\"

[cycle]
# All pages are visited this often, and those below as often as `every` says.
period = \"1 d\"
pages = \"100%\"

[scope]
# Only the watched pages: no link is followed.
max_depth = 0

[hints]
sitemaps = false
";

/// The tables of one watch.
pub struct Additions<'a> {
    pub urls: &'a [String],
    /// Those of them that have no rule yet.
    pub news: &'a [String],
    pub select: Option<&'a str>,
    pub every: String,
    /// Kinds of changes.
    pub changes: &'a [&'a str],
    pub when: Option<String>,
    /// Keys that say whom to tell.
    pub to: Option<String>,
    /// Host of the first page.
    pub host: &'a str,
}

impl Additions<'_> {
    /// The configuration with the tables; `before` is the one so far.
    pub fn to(&self, before: Option<&str>) -> String {
        let text = before.unwrap_or(NEW);
        // The first rule that matches applies, so that of a page comes before all.
        let at = first_rule(text);
        let (head, rest) = text.split_at(at);
        let mut new = head.trim_end().to_owned();
        new.push_str(if new.is_empty() || self.news.is_empty() { "" } else { "\n\n" });
        new.push_str(&self.rules());
        if !rest.trim().is_empty() {
            let _ = write!(new, "\n{}\n", rest.trim());
        }
        new.push_str(&self.target(text));
        new
    }

    fn rules(&self) -> String {
        let mut rules = Vec::new();
        for url in self.news {
            let mut rule = format!("[[pages]]\nmatch = {}\nevery = {}\n", quoted(url), quoted(&self.every));
            if let Some(select) = self.select {
                let _ = writeln!(rule, "include = [{}]", quoted(select));
            }
            rules.push(rule);
        }
        rules.join("\n")
    }

    fn target(&self, text: &str) -> String {
        let Some(to) = &self.to else { return String::new() };
        let list = |words: &mut dyn Iterator<Item = String>| words.collect::<Vec<_>>().join(", ");
        let pages = list(&mut self.urls.iter().map(|url| quoted(url)));
        let changes = list(&mut self.changes.iter().map(|kind| quoted(kind)));
        let mut target = format!(
            "\n[[notify]]\nname = {}\npages = [{pages}]\nchanges = [{changes}]\n",
            quoted(&self.name(text))
        );
        if let Some(when) = &self.when {
            let _ = writeln!(target, "when = {}", quoted(when));
        }
        target + to
    }

    /// A name that the configuration does not have.
    fn name(&self, text: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let base: String = self.host.chars().map(plain).take(40).collect();
        let is_free = |name: &String| !text.contains(&quoted(name));
        let numbered = (2..).map(|number| format!("{base}-{number}"));
        std::iter::once(base.clone()).chain(numbered).find(is_free).expect("a text has a limit")
    }
}

/// Where the first `[[pages]]` begins, with the comments above it; else the end.
fn first_rule(text: &str) -> usize {
    let (mut at, mut comments) = (0, None);
    for line in text.split_inclusive('\n') {
        let words = line.trim();
        match words {
            _ if words.starts_with('#') => _ = comments.get_or_insert(at),
            _ if words.replace(' ', "").starts_with("[[pages]]") => return comments.unwrap_or(at),
            _ => comments = None,
        }
        at += line.len();
    }
    text.len()
}

/// As a TOML string.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_crawl::config::Config;
    use recrawl_crawl::settings::Settings;

    fn added(before: Option<&str>) -> String {
        let urls = ["https://shop.example/p".to_owned()];
        let additions = Additions {
            urls: &urls,
            news: if before.is_some_and(|text| text.contains("= \"https://shop.example/p\"")) {
                &[]
            } else {
                &urls
            },
            select: Some(".price[data-x='\"']"),
            every: "1 h".into(),
            changes: &["changed", "gone"],
            when: Some("number < 15".into()),
            to: Some("file = \"changes.jsonl\"\n".into()),
            host: "shop.example",
        };
        let text = additions.to(before);
        Settings::check(toml::from_str::<Config>(&text).unwrap_or_else(|e| panic!("{e}: {text}"))).unwrap();
        text
    }

    #[test]
    fn a_configuration_keeps_what_it_has() {
        let mine = "# mine\n[scope]\nhosts = [ \"*\" ]   # all\n\n# of all pages\n[[pages]]\nmatch = \"*\"\nignore = [\".ads\"]\n\n\
                    [[notify]]\nname = \"shop-example\"\nfile = \"x\"\n";
        let text = added(Some(mine));
        for line in mine.lines() {
            assert!(text.lines().any(|kept| kept == line), "{line}: {text}");
        }
        let config: Config = toml::from_str(&text).unwrap();
        assert_eq!(config.pages[0].matches, "https://shop.example/p", "the first rule applies");
        assert_eq!(config.pages[0].include, [".price[data-x='\"']"]);
        assert!(text.contains("# of all pages\n[[pages]]\nmatch = \"*\""), "{text}");
        assert_eq!(config.notify[1].name, "shop-example-2");
        assert_eq!(config.notify[1].when, "number < 15");
    }

    #[test]
    fn a_new_configuration_watches_the_page_alone() {
        let config: Config = toml::from_str(&added(None)).unwrap();
        assert_eq!((config.scope.max_depth, config.hints.sitemaps), (0, false));
        assert_eq!(config.notify.len(), 1);
        let config: Config = toml::from_str(&added(Some(""))).unwrap();
        assert_eq!(config.pages.len(), 1, "an empty file is a configuration");
        let again = added(Some(&added(None)));
        let config: Config = toml::from_str::<Config>(&again).unwrap();
        assert_eq!(
            (config.notify[0].name.as_str(), config.notify[1].name.as_str()),
            ("shop-example", "shop-example-2")
        );
    }
}

//! Additions of `recrawl watch` to a configuration, as text: comments and formatting of the rest stay as they are.

use recrawl_crawl::config::PagesTable;
use recrawl_crawl::config::units::Render;
use std::fmt::Write;

/// A configuration to begin with.
const NEW: &str = "\
# Written by `recrawl watch`. docs/configuration.md explains every key.

[crawler]
# Where site owners can reach you, an e-mail address or a URL: required after the first 100 requests.
contact = \"\"
";

/// The tables of a crawl of nothing but the watched pages, by name.
const ALONE: [(&str, &str); 3] = [
    (
        "cycle",
        "[cycle]\n# All pages are visited this often, and those below as often as `every` says.\n\
         period = \"1 d\"\npages = \"100%\"",
    ),
    (
        "scope",
        "[scope]\n# Only the watched pages: no link is followed. To crawl their sites, remove this line.\nmax_depth = 0",
    ),
    ("hints", "[hints]\n# The same with this one.\nsitemaps = false"),
];

/// The tables of one watch.
pub struct Additions<'a> {
    /// The pages, as patterns.
    pub pages: &'a [String],
    /// New rules, of those that have none of their own yet.
    pub rules: &'a [PagesTable],
    /// Is no crawl begun yet? Then it is one of the watched pages alone, unless the configuration has a scope.
    pub is_first: bool,
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
        let text = &self.within_scope(before.unwrap_or(NEW));
        // The first rule that matches applies, so that of a page comes before all.
        let at = first_rule(text);
        let (head, rest) = text.split_at(at);
        let alone = self.alone(before.unwrap_or(NEW)).map(str::to_owned);
        let parts = [head.to_owned()].into_iter().chain(alone).chain(self.rules.iter().map(rule));
        let parts = parts.chain([rest.to_owned()]).map(|part| part.trim().to_owned());
        let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
        parts.join("\n\n") + "\n" + &self.target(text)
    }

    /// A list on a line, to which no table can be added, where one must be.
    pub fn in_the_way(&self, text: &str) -> Option<&'static str> {
        let tables: toml::Table = toml::from_str(text).unwrap_or_default();
        let needs = [("pages", !self.rules.is_empty()), ("notify", self.to.is_some())];
        let is_begun =
            |key: &str| text.lines().any(|line| line.replace(' ', "").starts_with(&format!("[[{key}]]")));
        let inline =
            needs.into_iter().find(|(key, needs)| *needs && tables.contains_key(*key) && !is_begun(key));
        inline.map(|(key, _)| key)
    }

    /// The tables that keep a first crawl to its pages.
    fn alone(&self, text: &str) -> impl Iterator<Item = &'static str> {
        let tables: toml::Table = toml::from_str(text).unwrap_or_default();
        let is_wanted = self.is_first && (!tables.contains_key("scope") || empty_scope(text).is_some());
        let missing = ALONE.into_iter().filter(move |(name, _)| is_wanted && !tables.contains_key(*name));
        missing.map(|(_, table)| table)
    }

    /// The configuration with the key that keeps a first crawl to its pages in a scope that says nothing.
    fn within_scope(&self, text: &str) -> String {
        let Some(at) = empty_scope(text).filter(|_| self.is_first) else { return text.to_owned() };
        let [_, (_, scope), _] = ALONE;
        let (head, rest) = text.split_at(at);
        let keys: Vec<&str> = scope.lines().skip(1).collect();
        format!("{}\n{}\n{rest}", head.trim_end_matches('\n'), keys.join("\n"))
    }

    fn target(&self, text: &str) -> String {
        let Some(to) = &self.to else { return String::new() };
        let list = |words: &mut dyn Iterator<Item = String>| words.collect::<Vec<_>>().join(", ");
        let pages = list(&mut self.pages.iter().map(|page| quoted(page)));
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

/// Behind the line with which the scope begins, if it has no hosts, which means those of the seeds, and nothing else: as in the file
/// that `recrawl config init` writes.
fn empty_scope(text: &str) -> Option<usize> {
    let tables: toml::Table = toml::from_str(text).unwrap_or_default();
    let scope = tables.get("scope").and_then(toml::Value::as_table)?;
    let is_empty = |value: &toml::Value| value.as_array().is_some_and(Vec::is_empty);
    let says_nothing = scope.iter().all(|(key, value)| key == "hosts" && is_empty(value));
    let mut behind = 0;
    let begins = text.split_inclusive('\n').any(|line| {
        behind += line.len();
        line.split('#').next().is_some_and(|table| table.replace(' ', "").trim() == "[scope]")
    });
    (says_nothing && begins).then_some(behind)
}

/// A rule as a table; what it leaves at its default is not written.
fn rule(rule: &PagesTable) -> String {
    // All keys by name: a new one must be written here too.
    let PagesTable { matches, include, ignore, ignore_text, render, convert, requisites, every, importance } =
        rule;
    let mut text = format!("[[pages]]\nmatch = {}\n", quoted(matches));
    if let Some(every) = every {
        let _ = writeln!(text, "every = {}", quoted(&every.to_string()));
    }
    if let Some(importance) = importance {
        let _ = writeln!(text, "importance = {importance}");
    }
    let lists =
        [("include", include), ("ignore", ignore), ("ignore_text", ignore_text), ("convert", convert)];
    for (key, list) in lists {
        if !list.is_empty() {
            let _ = writeln!(text, "{key} = {}", toml::Value::from(list.clone()));
        }
    }
    match render {
        Render::Never => {}
        Render::Always => text.push_str("render = true\n"),
        Render::Auto => text.push_str("render = \"auto\"\n"),
    }
    if *requisites {
        text.push_str("requisites = true\n");
    }
    text
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
    use recrawl_types::Span;

    fn added(before: Option<&str>) -> String {
        let pages = ["https://shop.example/p".to_owned()];
        let rule = PagesTable {
            matches: pages[0].clone(),
            include: vec![".price[data-x='\"']".into()],
            ignore_text: vec!["\\d+ left".into()],
            render: Render::Auto,
            every: Some(Span::millis(3_600_000)),
            ..PagesTable::default()
        };
        let is_known = before.is_some_and(|text| text.contains("= \"https://shop.example/p\""));
        let additions = Additions {
            pages: &pages,
            rules: if is_known { &[] } else { &[rule] },
            is_first: true,
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
        let PagesTable { include, ignore_text, render, every, .. } = &config.pages[0];
        assert_eq!(
            (&include[..], &ignore_text[..]),
            (&[".price[data-x='\"']".into()][..], &["\\d+ left".into()][..])
        );
        assert_eq!((*render, *every), (Render::Auto, Some(Span::millis(3_600_000))));
        assert_eq!(config.scope.max_depth, 50, "its scope stays");
        assert!(text.contains("# of all pages\n[[pages]]\nmatch = \"*\""), "{text}");
        assert_eq!(config.notify[1].name, "shop-example-2");
        assert_eq!(config.notify[1].when, "number < 15");
    }

    #[test]
    fn a_list_on_a_line_is_in_the_way_of_a_table() {
        let (pages, rule) = (["https://a.example/".to_owned()], PagesTable::default());
        let way = |text: &str, has_rule: bool, has_target: bool| {
            let rules = if has_rule { std::slice::from_ref(&rule) } else { &[] };
            let to = has_target.then(|| "file = \"x\"\n".to_owned());
            let (changes, when) = (&[][..], None);
            Additions { pages: &pages, rules, is_first: true, changes, when, to, host: "a.example" }
                .in_the_way(text)
        };
        let inline = "pages = [{ match = \"a.example\" }]\nnotify = []\n";
        assert_eq!(way(inline, true, true), Some("pages"));
        assert_eq!(way(inline, false, true), Some("notify"));
        assert_eq!(way(inline, false, false), None);
        assert_eq!(way("[[pages]]\nmatch = \"*\"\n [[ notify ]]\n", true, true), None);
        assert_eq!(way("", true, true), None);
    }

    #[test]
    fn a_new_configuration_watches_the_page_alone() {
        let config: Config = toml::from_str(&added(None)).unwrap();
        assert_eq!((config.scope.max_depth, config.hints.sitemaps), (0, false));
        assert_eq!(config.notify.len(), 1);
        for before in [
            "",
            "[fetch]\nallow_addresses = [\"10.0.0.0/8\"]\n",
            "[hints]\nsitemaps = false\n",
            "[scope]\nhosts = []\n",
            "# see [scope]\n[crawler]\ncontact = \"\" # [scope]\n[scope]\nhosts = []\n",
            "[scope]\r\nhosts = []\r\n\r\n[hints]\r\nsitemaps = false\r\n",
            " [ scope ] # mine",
        ] {
            let config: Config = toml::from_str(&added(Some(before))).unwrap();
            assert_eq!(config.pages.len(), 1, "{before:?} is a configuration");
            assert_eq!((config.scope.max_depth, config.hints.sitemaps), (0, false), "{before:?}");
        }
        let again = added(Some(&added(None)));
        let config: Config = toml::from_str::<Config>(&again).unwrap();
        assert_eq!(
            (config.notify[0].name.as_str(), config.notify[1].name.as_str()),
            ("shop-example", "shop-example-2")
        );
    }
}

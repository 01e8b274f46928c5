use super::*;
use crate::config::Config;
use recrawl_types::{Change, ContentKind, Fingerprint, UrlRules};

fn table(matches: &str, include: &[&str], ignore: &[&str], ignore_text: &[&str]) -> PagesTable {
    let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
    PagesTable {
        matches: matches.into(),
        include: owned(include),
        ignore: owned(ignore),
        ignore_text: owned(ignore_text),
        ..PagesTable::default()
    }
}

fn url(text: &str) -> CanonicalUrl {
    UrlRules::default().canonicalize(text).unwrap()
}

fn read(tables: &[PagesTable]) -> Result<PageRules, String> {
    PageRules::new(tables, &UrlRules::default())
}

#[test]
fn the_first_rule_that_matches_applies() {
    let rules = read(&[
        table("https://a.example/news/*", &["article"], &[], &[]),
        table("a.example", &[], &["time"], &[]),
        table("*.example", &[], &[".ads"], &[]),
        table("*", &[], &["footer"], &[]),
    ])
    .unwrap();
    for (page, expected) in [
        ("https://a.example/news/1", "https://a.example/news/*"),
        ("http://a.example/news/1", "a.example"),
        ("https://www.a.example/", "*.example"),
        ("https://b.test/", "*"),
    ] {
        assert_eq!(rules.rule_for(&url(page)).map(|rule| rule.matches.as_str()), Some(expected), "{page}");
    }
    assert!(PageRules::default().rule_for(&url("https://a.example/")).is_none());
}

#[test]
fn a_bad_rule_is_refused_with_key_entry_and_remedy() {
    let one = |table: PagesTable| read(&[table]).unwrap_err();
    for (problem, says) in [
        (one(table("", &["p"], &[], &[])), "pages.match: \"\" is not a host: it is blank"),
        (one(table("a.example/news", &["p"], &[], &[])), "write example.com"),
        (one(table("https://", &["p"], &[], &[])), "pages.match: "),
        (
            one(table("a.example", &[], &[], &[])),
            "needs include, ignore, ignore_text, render, convert, requisites, every or importance",
        ),
        (
            one(table("a.example", &["p["], &[], &[])),
            "pages.include of \"a.example\": \"p[\" is not a CSS selector",
        ),
        (one(table("a.example", &[], &[">"], &[])), "pages.ignore of \"a.example\""),
        (
            one(table("a.example", &[], &[], &["("])),
            "pages.ignore_text of \"a.example\": \"(\" is not a regular",
        ),
    ] {
        assert!(problem.contains(says), "{problem}");
    }
    let many = vec![table("a.example", &["p"], &[], &[]); MAX_PAGE_RULES + 1];
    assert!(read(&many).unwrap_err().contains("at most 100"));
}

#[test]
fn an_importance_is_written_as_it_is_read_and_nonsense_names_its_line() {
    let parse = |importance: &str| {
        let text = format!("[[pages]]\nmatch = \"a.example\"\nimportance = {importance}\n");
        toml::from_str::<Config>(&text).map_err(|e| e.to_string())
    };
    for text in ["5", "0", "0.25", "1000"] {
        let pages = &parse(text).unwrap().pages[0];
        let written = toml::to_string(pages).unwrap();
        assert!(written.contains(&format!("importance = {text}\n")), "{written}");
        assert_eq!(&toml::from_str::<PagesTable>(&written).unwrap(), pages);
    }
    for text in ["-1", "1e12", "1000000000000", "nan", "inf", "-inf", "\"5\"", "0.00001", "true", "[5]"] {
        let error = parse(text).unwrap_err();
        assert!(error.contains("line 3") && error.contains("a number from 0 to 1000"), "{text}: {error}");
    }
}

#[test]
fn a_rule_behind_one_that_matches_all_its_pages_is_refused() {
    for (first, second, is_dead) in [
        ("*", "a.example", true),
        ("*", "https://a.example/x", true),
        ("*.example", "a.example", true),
        ("*.example", "*.a.example", true),
        ("*.example", "https://a.example/x", true),
        ("a.example", "a.example", true),
        ("a.example", "https://a.example/*", true),
        ("https://a.example/*", "https://a.example/x", true),
        ("https://a.example/p/2", "https://a.example/p/20", false),
        ("a.example", "*.a.example", false),
        ("a.example", "*", false),
        ("https://a.example/*", "a.example", false),
        ("https://a.example/x", "https://a.example/*", false),
        ("a.example", "https://b.example/", false),
    ] {
        let tables = [table(first, &["p"], &[], &[]), table(second, &["b"], &[], &[])];
        let problem = read(&tables).err();
        assert_eq!(problem.is_some(), is_dead, "{first} {second}: {problem:?}");
        assert!(problem.is_none_or(|text| text.contains("put it first")));
    }
}

#[test]
fn former_rules_are_known_by_the_number_in_a_content_and_nothing_is_stored_without_rules() {
    let folder = tempfile::tempdir().unwrap();
    let tables = SledTables::open(folder.path()).unwrap();
    let open = |list: &[PagesTable]| KnownRules::open(&tables, &read(list).unwrap()).unwrap();
    let content = |rule| Content { rule, ..Content::default() };
    assert!(matches!(open(&[]).of_content(&content(0)), Some(TextSelection::Whole)));
    assert_eq!(tables.setting(KNOWN).unwrap(), None);
    let (old, new) = (table("a.example", &["p"], &[], &[]), table("a.example", &["b"], &[], &[]));
    let number = |table: &PagesTable| read(std::slice::from_ref(table)).unwrap().0[0].number;
    open(std::slice::from_ref(&old));
    let known = open(std::slice::from_ref(&new));
    for rule in [number(&old), number(&new)] {
        assert!(matches!(known.of_content(&content(rule)), Some(TextSelection::Part(_))));
    }
    assert!(known.of_content(&content(7)).is_none(), "a rule that nobody knows");
    // The pattern is not part of it: a rule may be moved to other pages.
    assert_eq!(number(&old), number(&table("*", &["p"], &[], &[])));
    assert!(matches!(open(&[]).of_content(&content(number(&old))), Some(TextSelection::Part(_))));
    let many: Vec<Lists> = (0..MAX_KNOWN_RULES + 5)
        .map(|n| Lists { include: vec![format!("#n{n}")], ..Lists::default() })
        .collect();
    keep(&tables, KNOWN, &many).unwrap();
    let known = open(std::slice::from_ref(&old));
    assert_eq!(known.former.len(), MAX_KNOWN_RULES);
    let is_known = |number| known.of_content(&content(number)).is_some();
    assert!(!is_known(many[0].number()) && is_known(many.last().unwrap().number()) && is_known(number(&old)));
}

#[test]
fn a_page_is_read_anew_when_its_rule_is_another_than_at_its_last_visit() {
    let rules = read(&[table("a.example", &["p"], &[], &[])]).unwrap();
    let rule = rules.rule_for(&url("http://a.example/")).unwrap();
    let visited = |kind, rule| Visited {
        history: Default::default(),
        content: Content { kind, rule, ..Content::default() },
    };
    for (page, kind, number, is_anew) in [
        ("http://a.example/", ContentKind::Text, 0, true),
        ("http://a.example/", ContentKind::Text, rule.number, false),
        ("http://a.example/", ContentKind::Hints, rule.rendered_number, false),
        ("http://a.example/", ContentKind::Opaque, 0, false),
        ("http://b.example/", ContentKind::Text, 0, false),
        // Its rule was removed.
        ("http://b.example/", ContentKind::Text, rule.number, true),
    ] {
        let visited = visited(kind, number);
        assert_eq!(rules.read_anew(&url(page), Some(&visited)), is_anew, "{page} {kind:?} {number}");
    }
    assert!(!rules.read_anew(&url("http://a.example/"), None));
}

#[test]
fn a_document_is_read_anew_when_its_command_is_another() {
    let of = |command: &str| {
        let table = PagesTable { convert: vec![command.into()], ..table("a.example", &[], &[], &[]) };
        read(&[table]).unwrap()
    };
    let (rules, other) = (of("one"), of("two"));
    let number = rules.rule_for(&url("http://a.example/")).unwrap().converted_number;
    for kind in [ContentKind::Text, ContentKind::Opaque] {
        let content = Content { kind, rule: number, ..Content::default() };
        let visited = Visited { history: Default::default(), content };
        let is_anew = |rules: &PageRules| rules.read_anew(&url("http://a.example/"), Some(&visited));
        assert!(!is_anew(&rules) && is_anew(&other), "{kind:?}");
    }
}

#[test]
fn a_rule_without_text_on_any_page_is_told() {
    let change = ChangeRules::default();
    let rules = read(&[table("a.example", &["p"], &[], &[]), table("b.example", &["b"], &[], &[])]).unwrap();
    let mut rule_use = RuleUse::default();
    let mut visit = |rule: u32, text: &str, kind| {
        let fingerprint = change.fingerprint(text);
        let content = Content { kind, fingerprint, rule, ..Content::default() };
        let mut visit = Visit::new(url("http://a.example/"), Outcome::Fetched(Change::First));
        visit.content = Some(content);
        rule_use.observe(&visit, &change)
    };
    let [a, b] = [rules.0[0].number, rules.0[1].number];
    assert!(visit(a, "", ContentKind::Text));
    assert!(visit(a, " \n", ContentKind::Text));
    assert!(!visit(b, "text", ContentKind::Text));
    assert!(visit(b, "", ContentKind::Text));
    assert!(!visit(0, "", ContentKind::Text), "an empty page without a rule is no rule's fault");
    let told: Vec<_> =
        rule_use.without_text(&rules).into_iter().map(|(rule, n)| (rule.matches.as_str(), n)).collect();
    assert_eq!(told, [("a.example", 2)]);
    assert_ne!(
        Fingerprint::default().digest,
        change.fingerprint("").digest,
        "an empty text is no missing one"
    );
}

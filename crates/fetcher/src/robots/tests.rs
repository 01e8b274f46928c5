use super::*;
use proptest::prelude::*;
use texting_robots::Robot;

fn rules(file: &str) -> RobotsRules {
    RobotsRules::parse(file.as_bytes(), "recrawl")
}

/// Each row: a file, then paths that it allows, then paths that it forbids.
fn check(table: &[(&str, &[&str], &[&str])]) {
    for (file, allowed, denied) in table {
        let rules = rules(file);
        for path in *allowed {
            assert!(rules.allows(path), "{path} must be allowed by\n{file}");
        }
        for path in *denied {
            assert!(!rules.allows(path), "{path} must be denied by\n{file}");
        }
    }
}

#[test]
fn the_rule_that_forbids_is_named() {
    let rules = rules("User-agent: *\nDisallow: /a%2fb\nDisallow: /a\nAllow: /a/open\nDisallow: *.pdf$\n");
    let forbids = |path| rules.forbids(path);
    assert_eq!(forbids("/a/x").as_deref(), Some("Disallow: /a"));
    assert_eq!(forbids("/a%2Fb").as_deref(), Some("Disallow: /a%2Fb"), "the longest decides");
    assert_eq!(forbids("/c/x.pdf").as_deref(), Some("Disallow: *.pdf$"));
    assert_eq!((forbids("/a/open"), forbids("/c"), forbids("/robots.txt")), (None, None, None));
    let rules = self::rules("User-agent: *\nDisallow: /a$b%2a\n");
    assert_eq!(rules.forbids("/a$b*c").as_deref(), Some("Disallow: /a%24b%2A"));
}

#[test]
fn rfc_9309_section_2_2_1_groups_and_product_tokens() {
    check(&[
        // Our group replaces the one for everyone.
        ("User-agent: *\nDisallow: /\n\nUser-agent: recrawl\nDisallow: /x\n", &["/", "/y"], &["/x"]),
        ("User-agent: recrawl\nDisallow: /x\n\nUser-agent: *\nDisallow: /\n", &["/", "/y"], &["/x"]),
        // Even if it has no rules.
        ("User-agent: *\nDisallow: /\n\nUser-agent: recrawl\n", &["/"], &[]),
        // Case does not matter, nor the text after the token (texting_robots ignores `foo/1.0`).
        ("User-agent: RECRAWL/1.0\nDisallow: /\n", &[], &["/"]),
        ("User-agent: recrawl 1.0 beta\nDisallow: /\n", &[], &["/"]),
        ("USER-AGENT : recrawl # us\nDISALLOW : /\n", &[], &["/"]),
        // A token that contains ours, and the reverse.
        ("User-agent: recrawl-images\nDisallow: /\n", &["/"], &[]),
        ("User-agent: rec\nDisallow: /\n", &["/"], &[]),
        // Several groups for one token are one.
        (
            "User-agent: recrawl\nDisallow: /a\nUser-agent: other\nDisallow: /b\nUser-agent: recrawl\nDisallow: /c",
            &["/b"],
            &["/a", "/c"],
        ),
        (
            "User-agent: *\nDisallow: /a\nUser-agent: x\nDisallow: /b\nUser-agent: *\nDisallow: /c",
            &["/b"],
            &["/a", "/c"],
        ),
        // A group with several tokens.
        ("User-agent: other\nUser-agent: recrawl\nDisallow: /x\n", &["/"], &["/x"]),
        ("User-agent: recrawl\nUser-agent: other\nDisallow: /x\n", &["/"], &["/x"]),
        ("User-agent: *\nUser-agent: other\nDisallow: /x\n", &["/"], &["/x"]),
        // Empty lines, comments and unknown records do not end a group.
        (
            "User-agent: recrawl\n\n# text\nSitemap: https://a.test/s.xml\nNoindex: /y\n\nDisallow: /x\n",
            &["/y"],
            &["/x"],
        ),
        (
            "User-agent: recrawl\nSitemap: https://a.test/s.xml\nUser-agent: other\nDisallow: /x\n",
            &[],
            &["/x"],
        ),
        // Rules without a group apply to no crawler.
        ("Disallow: /\n", &["/"], &[]),
        ("Disallow: /\nUser-agent: *\nDisallow: /x\n", &["/"], &["/x"]),
        // A token that is not a star.
        ("User-agent: *bot\nDisallow: /\n", &["/"], &[]),
        ("User-agent:\nDisallow: /\n", &["/"], &[]),
    ]);
}

#[test]
fn rfc_9309_section_2_2_2_the_longest_match_decides_and_allow_wins_a_tie() {
    check(&[
        ("User-agent: *\nAllow: /p\nDisallow: /\n", &["/page", "/p"], &["/", "/other"]),
        ("User-agent: *\nDisallow: /\nAllow: /p\n", &["/page"], &["/"]),
        ("User-agent: *\nAllow: /folder\nDisallow: /folder\n", &["/folder/page"], &[]),
        ("User-agent: *\nAllow: /page\nDisallow: /*.htm\n", &["/page"], &["/page.htm", "/x.html"]),
        ("User-agent: *\nAllow: /$\nDisallow: /\n", &["/"], &["/page.htm", "/?x"]),
        (
            "User-agent: *\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n",
            &["/example/page/x"],
            &["/example/page/disallowed.gif"],
        ),
        // wget: first match instead of longest.
        ("User-agent: *\nDisallow: /a/\nAllow: /a/b/\n", &["/a/b/c"], &["/a/c"]),
        // An empty Disallow matches nothing; it does not mean "allow all" (texting_robots).
        ("User-agent: *\nDisallow:\nDisallow: /x\n", &["/"], &["/x"]),
        ("User-agent: *\nDisallow: /x\nDisallow:\n", &["/"], &["/x"]),
        ("User-agent: *\nDisallow: # nothing\n", &["/"], &[]),
        // Paths are case-sensitive and include the query.
        ("User-agent: *\nDisallow: /Path\nDisallow: /q?a=\n", &["/path", "/q"], &["/Path", "/q?a=1"]),
        // /robots.txt itself is always allowed.
        ("User-agent: *\nDisallow: /\n", &["/robots.txt"], &["/robots.txt2"]),
        // A pattern that is not a path matches nothing.
        ("User-agent: *\nDisallow: page\nDisallow: $\n", &["/page", "/"], &[]),
    ]);
}

#[test]
fn rfc_9309_section_2_2_3_star_and_dollar() {
    check(&[
        (
            "User-agent: *\nDisallow: /fish*\n",
            &["/Fish.asp", "/catfish"],
            &["/fish", "/fish/salmon", "/fish.php?id=1"],
        ),
        (
            "User-agent: *\nDisallow: /*.php\n",
            &["/", "/windows.PHP"],
            &["/index.php", "/f/a.php?x", "/a.php/"],
        ),
        (
            "User-agent: *\nDisallow: /*.php$\n",
            &["/a.php?x", "/a.php/", "/a.php5"],
            &["/a.php", "/f.php/b.php"],
        ),
        ("User-agent: *\nDisallow: /fish*.php\n", &["/Fish.PHP"], &["/fish.php", "/fishheads/catfish.php?p"]),
        ("User-agent: *\nDisallow: *.gif$\n", &["/a.gif?x"], &["/a.gif"]),
        ("User-agent: *\nDisallow: /a**b***c\n", &["/ab"], &["/abc", "/axbxc"]),
        ("User-agent: *\nDisallow: /*aa$\n", &["/aab"], &["/aa", "/aaa", "/baaaa"]),
        ("User-agent: *\nDisallow: /x*y$\n", &["/xyz", "/x"], &["/xy", "/xyy"]),
        ("User-agent: *\nDisallow: /*\n", &[], &["/", "/x"]),
        ("User-agent: *\nDisallow: /*$\n", &[], &["/", "/x"]),
        // In the middle, $ is literal; a literal $ at the end must be encoded.
        ("User-agent: *\nDisallow: /a$b\n", &["/a"], &["/a$b", "/a%24b"]),
        ("User-agent: *\nDisallow: /foo-%24\n", &["/foo-"], &["/foo-$", "/foo-%24x"]),
        (
            "User-agent: *\nDisallow: /with-a-%2A.html\n",
            &["/with-a-b.html"],
            &["/with-a-*.html", "/with-a-%2a.html"],
        ),
        ("User-agent: *\nDisallow: /a*b\n", &["/a"], &["/a*b", "/a%2Ab", "/axb"]),
        // Their encoded digits do not match, since the file does not contain them.
        (
            "User-agent: *\nDisallow: *2\nDisallow: *4\nDisallow: *A\n",
            &["/a$b", "/a*b", "/$", "/*"],
            &["/a$2"],
        ),
        ("User-agent: *\nDisallow: /*4$\nDisallow: /%\n", &["/a$"], &["/a$4", "/%zz"]),
    ]);
}

#[test]
fn rfc_9309_section_2_2_2_percent_encoding_is_compared_after_normalisation() {
    check(&[
        ("User-agent: *\nDisallow: /foo/bar?baz=quz\n", &[], &["/foo/bar?baz=quz"]),
        ("User-agent: *\nDisallow: /foo/bar?baz=https://foo.bar\n", &[], &["/foo/bar?baz=https://foo.bar"]),
        (
            "User-agent: *\nDisallow: /foo/bar/ツ\n",
            &[],
            &["/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84", "/foo/bar/ツ"],
        ),
        ("User-agent: *\nDisallow: /foo/bar/%E3%83%84\n", &[], &["/foo/bar/ツ"]),
        ("User-agent: *\nDisallow: /foo/bar/%62%61%7A\n", &[], &["/foo/bar/baz"]),
        ("User-agent: *\nDisallow: /%7Ejoe/\n", &[], &["/~joe/index.html", "/%7ejoe/"]),
        // A reserved character differs from its encoding.
        ("User-agent: *\nDisallow: /a%2Fb\n", &["/a/b"], &["/a%2fb"]),
        ("User-agent: *\nDisallow: /a b\n", &[], &["/a%20b"]),
        ("User-agent: *\nDisallow: /100%\n", &[], &["/100%", "/100%x"]),
        ("User-agent: *\nDisallow: /{x|y}\n", &[], &["/{x|y}", "/%7Bx%7Cy%7D"]),
    ]);
}

#[test]
fn line_ends_byte_order_marks_and_garbage() {
    check(&[
        ("\u{feff}User-agent: *\nDisallow: /x\n", &["/"], &["/x"]),
        ("User-agent: *\r\nDisallow: /x\r\nAllow: /x/y\r\n", &["/x/y"], &["/x"]),
        ("User-agent: *\rDisallow: /x\r", &["/"], &["/x"]),
        ("User-agent: *\nDisallow: /x", &["/"], &["/x"]),
        ("\tUser-agent\t:\t*\t\n\t Disallow \t:\t/x\t\n", &["/"], &["/x"]),
        ("User-agent: *\0Disallow: /x\0", &["/"], &["/x"]),
        ("<!DOCTYPE html>\n<html><body>404</body></html>\n", &["/"], &[]),
        ("", &["/"], &[]),
        (":\n::\n: /\nUser-agent: *\n:Disallow: /\nDisallow / x\n", &["/"], &[]),
    ]);
    let mut bytes = b"User-agent: *\nDisallow: /".to_vec();
    bytes.extend([0xff, 0xfe, b'\n']);
    let rules = RobotsRules::parse(&bytes, "recrawl");
    assert!(rules.allows("/") && !rules.allows("/%FF%FE"), "bytes that are no UTF-8 are encoded");
}

/// Site owners test their files with Google's parser, which takes these.
#[test]
fn slips_that_google_takes_are_rules() {
    for key in [
        "Dissallow",
        "Dissalow",
        "disalow",
        "Diasllow",
        "DISALLAW",
        "Disallowed",
        "Disallow \t",
        "disallow-all",
    ] {
        check(&[(&format!("User-agent: *\n{key}: /x\n"), &["/y"], &["/x"])]);
    }
    for agent in ["Useragent:", "User agent :", "user-agents: ", "User-agent:", "User-agent ", "useragent\t "]
    {
        for value in ["*", "recrawl"] {
            check(&[(&format!("{agent}{value}\nDisallow: /x\n"), &["/y"], &["/x"])]);
        }
    }
    check(&[
        ("\u{feff}user-agent *\ndisallow /x # ours\nallowed /x/y\n", &["/x/y", "/y"], &["/x"]),
        // It takes none of these.
        (
            "User-agent: *\nDis allow: /x\nD isallow: /x\nDisalow_: /y\nDissal: /x\nAlow: /y\n",
            &["/x"],
            &["/y"],
        ),
        ("User-agent: *\nDisallow /x /z\n/x\nDisallow\n", &["/x", "/z"], &[]),
        ("User-agent recrawl other\nDisallow: /x\n", &["/x"], &[]),
        ("User-agent: other, recrawl\nDisallow: /x\n", &["/x"], &[]),
        ("User-agent: *\nUser agent recrawl\nDisallow: /x\n", &[], &["/x"]),
    ]);
    let rules = rules(
        "Site-map: https://a.test/1\nsitemaps: https://a.test/2\nSitemap https://a.test/3\nsite map: /4\n",
    );
    let expected = ["https://a.test/1", "https://a.test/2", "//a.test/3"];
    assert_eq!(rules.sitemaps.iter().map(|s| &**s).collect::<Vec<_>>(), expected);
}

#[test]
fn crawl_delay_is_of_our_group_finite_and_not_negative() {
    let delay = |file: &str| rules(file).crawl_delay;
    let seconds = |s| Some(Duration::from_secs_f64(s));
    assert_eq!(delay("User-agent: *\nCrawl-delay: 7\n"), seconds(7.0));
    assert_eq!(delay("User-agent: *\ncrawl-delay:0.5 # half\n"), seconds(0.5));
    assert_eq!(
        delay("User-agent: recrawl\nDisallow: /x\nCrawl-delay: 3\nUser-agent: *\nCrawl-delay: 9\n"),
        seconds(3.0)
    );
    assert_eq!(delay("User-agent: recrawl\nDisallow: /x\nUser-agent: *\nCrawl-delay: 9\n"), None);
    assert_eq!(delay("User-agent: *\nCrawl-delay: 2\nCrawl-delay: 5\nCrawl-delay: 1\n"), seconds(5.0));
    for nonsense in ["inf", "infinity", "NaN", "-1", "-inf", "ten", "", "1,5", "5s", "1e999"] {
        assert_eq!(delay(&format!("User-agent: *\nCrawl-delay: {nonsense}\n")), None, "{nonsense}");
    }
    assert_eq!(delay("Crawl-delay: 5\n"), None, "for no crawler");
    assert_eq!(delay("User-agent: *\nCrawl-delay: 1e30\n"), Some(Duration::MAX));
}

#[test]
fn a_hostile_file_costs_no_more_than_its_size() {
    // 500 kB of wildcards, on which a backtracking matcher would not terminate.
    let stars = format!("User-agent: *\nDisallow: /{}x$\n", "*a".repeat(250_000));
    let many = format!("User-agent: *\n{}", "Disallow: /*a*b*c$\n".repeat(30_000));
    let long_dollar = format!("User-agent: *\nDisallow: /{}$\nDisallow: /x\n", "a".repeat(100_000));
    let path = format!("/{}", "a".repeat(1_990));
    for file in [&stars, &many, &long_dollar] {
        let rules = rules(file);
        assert!(rules.allows(&path));
        assert!(rules.text.capacity() <= file.len());
        assert!(rules.rules.capacity() * size_of::<RobotsRule>() <= file.len());
    }
    assert!(!rules(&long_dollar).allows("/x"), "one odd rule does not spoil the file");
}

#[test]
fn rfc_9309_section_2_5_the_limit_cuts_at_a_line() {
    assert_eq!(cut(b"one\ntwo\nthree", 13), b"one\ntwo\nthree");
    assert_eq!(cut(b"one\ntwo\nthree", 12), b"one\ntwo\n");
    assert_eq!(cut(b"one\rtwo\rthree", 5), b"one\r");
    assert_eq!(cut(b"onetwothree", 5), b"");
    // Complete within 500 KiB, cut beyond: a `Disallow: /` cut from `/private` would forbid
    // everything.
    let filler = "#".repeat(MAX_ROBOTS - 26);
    let file = format!("User-agent: *\n{filler}\nDisallow: /private\n");
    assert_eq!(&file[MAX_ROBOTS - 11..MAX_ROBOTS], "Disallow: /");
    assert!(rules(&file).allows("/"));
}

/// The matcher as defined in §2.2.3, by trying everything.
fn matches_by_definition(pattern: &[u8], path: &[u8]) -> bool {
    match pattern {
        [] => true,
        [b'$'] => path.is_empty(),
        [b'*', rest @ ..] => (0..=path.len()).any(|at| matches_by_definition(rest, &path[at..])),
        [first, rest @ ..] => path.first() == Some(first) && matches_by_definition(rest, &path[1..]),
    }
}

proptest! {
    #[test]
    fn the_matcher_agrees_with_its_definition(pattern in "/[ab*]{0,8}\\$?", path in "/[ab]{0,10}") {
        let mut normal = String::new();
        normalize(pattern.as_bytes(), RuleSide::Pattern, &mut normal);
        prop_assert_eq!(matches(&normal, &path), matches_by_definition(pattern.as_bytes(), path.as_bytes()));
    }

    /// Agrees with texting_robots where it is correct: one group, plain tokens, non-empty rules
    /// with an unencoded path.
    #[test]
    fn texting_robots_is_an_oracle_within_its_limits(
        agents in proptest::sample::subsequence(vec!["*", "recrawl", "other"], 1..=3),
        lines in proptest::collection::vec((any::<bool>(), "/[a-c/]{0,4}(\\*[a-c]{1,2})?\\$?"), 0..8),
        paths in proptest::collection::vec("/[a-c/]{0,8}", 1..6),
    ) {
        let mut file = String::new();
        for agent in agents {
            file += &format!("User-agent: {agent}\n");
        }
        for (allow, pattern) in lines {
            file += &format!("{}: {pattern}\n", if allow { "Allow" } else { "Disallow" });
        }
        let (ours, theirs) = (rules(&file), Robot::new("recrawl", file.as_bytes()).unwrap());
        for path in paths {
            prop_assert_eq!(ours.allows(&path), theirs.allowed(&path), "{} in\n{}", path, file);
        }
    }

    #[test]
    fn no_bytes_are_an_error(file: Vec<u8>, path in "/\\PC{0,40}") {
        let rules = RobotsRules::parse(&file, "recrawl");
        prop_assert!(rules.allows("/robots.txt"));
        let mut spelled = String::new();
        normalize(path.as_bytes(), RuleSide::Path, &mut spelled);
        prop_assert_eq!(rules.allows(&path), rules.allows(&spelled), "a path and its normal form");
    }
}

/// Why we do not use the crate: each of these is a fault of texting_robots 0.2. If one of them is
/// fixed, this test fails, and the decision can be reviewed.
#[test]
fn what_keeps_texting_robots_from_being_the_judge() {
    let allowed = |file: &str, path: &str| Robot::new("recrawl", file.as_bytes()).unwrap().allowed(path);
    assert!(allowed("User-agent: recrawl/1.0\nDisallow: /", "/"), "product token with a version");
    assert!(allowed("User-agent: *\nDisallow: /%7ejoe", "/~joe"), "percent-encoding");
    assert!(!allowed("Disallow: /", "/"), "rules without a group");
    let long = format!("User-agent: *\nDisallow: /{}$\n", "a".repeat(100_000));
    assert!(Robot::new("recrawl", long.as_bytes()).is_err(), "one long rule");
    let delay = Robot::new("recrawl", b"User-agent: *\nCrawl-delay: inf\n").unwrap().delay;
    assert_eq!(delay, Some(f32::INFINITY));
}

#[test]
fn rfc_9309_section_2_2_4_sitemaps_stand_in_no_group_and_are_addresses() {
    let file = b"Sitemap: https://a.test/1.xml\r\nUser-agent: other\nsitemap :/2.xml # ours\nDisallow: /\n\
        SITEMAP: https://elsewhere.test/3.xml.gz\nSitemap:\nSitemap: mailto:x@a.test\nSitemap: \xff\n\
        Sitemap: a.test/deep/4.xml\nSitemap: <https://a.test/5.xml>\nSitemap: https://a.test/6.xml\thttp://a.test/7.xml\n\
        Sitemap: \"/quoted.xml\"\nSitemap: sitemap 8.xml\nSitemap: maps/9.xml\nSitemap: www.other.test/10.xml\n";
    let rules = RobotsRules::parse(file, "recrawl");
    let origin = Origin { scheme: recrawl_types::Scheme::Https, host: "a.test".into(), port: 443 };
    let found = sitemaps(&rules, &origin, &UrlRules::default());
    let found: Vec<String> = found.iter().map(|url| url.as_text()).collect();
    let expected = [
        "https://a.test/1.xml",
        "https://a.test/2.xml",
        "https://elsewhere.test/3.xml.gz",
        "https://a.test/deep/4.xml",
        "https://a.test/5.xml",
        "https://a.test/6.xml",
        "http://a.test/7.xml",
        "https://a.test/quoted.xml",
        "https://a.test/sitemap%208.xml",
        "https://a.test/maps/9.xml",
        "https://www.other.test/10.xml",
    ];
    assert_eq!(found, expected);
    let many = format!("Sitemap: /{}\n{}", "x".repeat(MAX_URL_BYTES), "Sitemap: /x\n".repeat(5_000));
    assert_eq!(RobotsRules::parse(many.as_bytes(), "recrawl").sitemaps.len(), MAX_SITEMAPS);
}

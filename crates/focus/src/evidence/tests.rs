use super::*;
use crate::terms::Topic;

fn terms(words: &mut Words) -> Terms {
    let file = "genre = [\"lab\", \"exercise sheet\"]\ncontent = [\"sql\"]\nurl = [\"lab\", \"db\"]\n";
    Terms::new(Topic::from_toml(file).unwrap(), words)
}

fn evidence(parent: u32, anchor: &str, url: Option<&str>, framed: bool) -> LinkEvidence {
    let mut words = Words::new();
    let terms = terms(&mut words);
    LinkEvidence::from_link(parent, anchor, url, framed, Language::of_tag("en"), &terms, &mut words)
}

#[test]
fn a_link_shows_terms_of_its_anchor_and_url_and_its_group() {
    let link = evidence(1, "the SQL lab", Some("https://x.example/db/labs/1"), false);
    assert_eq!((link.genre, link.content, link.url), (0.5, 0.5, 1.0));
    assert_eq!(evidence(1, "exercise sheet", None, false).genre, 0.5, "one term of two words");
    let group = |parent, url, framed| evidence(parent, "", Some(url), framed).group;
    let one = group(1, "https://x.example/labs/1", false);
    assert_eq!(group(1, "https://x.example/labs/2", false), one);
    assert_eq!(group(1, "https://x.example/labs/3/", false), one, "a folder beside the others");
    assert_ne!(group(1, "https://x.example/", false), group(1, "https://y.example/", false), "two hosts");
    for other in [
        group(2, "https://x.example/labs/2", false),
        group(1, "https://x.example/2", false),
        group(1, "https://x.example/labs/2", true),
    ] {
        assert_ne!(other, one);
    }
    assert_eq!(evidence(1, "", None, false).group, evidence(1, "a", None, false).group);
}

#[test]
fn a_hostile_link_is_bounded() {
    let long = evidence(
        0,
        &"lab ".repeat(100_000),
        Some(&format!("https://x.example/{}", "db/".repeat(100_000))),
        false,
    );
    assert_eq!((long.words.len(), long.genre), (MAX_ANCHOR_WORDS, 1.0));
}

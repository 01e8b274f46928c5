//! Pages as common templates make them.

use crate::{BodyFields, ExtractOptions, PageExtent, markdown};
use recrawl_types::UrlRules;

fn main(html: &str) -> String {
    let rules = UrlRules::default();
    let url = rules.canonicalize("https://example.com/a").unwrap();
    let fields = BodyFields { content_type: Some("text/html; charset=utf-8"), ..BodyFields::default() };
    markdown(html.as_bytes(), &fields, &url, &rules, &ExtractOptions::default(), None, PageExtent::Main)
        .unwrap()
        .text
}

/// A paragraph that begins with a word.
fn prose(word: &str) -> String {
    format!(
        "<p>{word} is the beginning of a sentence that goes on for a while, as the sentences of an article do.</p>"
    )
}

const MENU: &str = "<nav><ul><li><a href=/>Home</a><li><a href=/news>News</a></ul></nav>";
const FOOT: &str =
    "<footer><p>Imprint of a company in a town, all rights reserved since the year 1999.</p></footer>";

/// A catalogue that is one table stays one, though its cells hold all of the prose.
#[test]
fn a_table_that_is_the_content_is_a_table() {
    let row = "<tr><td>1<td>A horse on a meadow that looks at a rider who walks away from it in the rain<td>1911</tr>";
    let table = format!("<table><tbody><tr><td>No.<td>Motif<td>Year</tr>{}</tbody></table>", row.repeat(9));
    let text = main(&format!("{MENU}<div><div>{table}</div></div>{FOOT}"));
    assert_eq!(text.matches("\n| 1 | A horse on").count(), 9, "{text}");
    assert!(!text.contains("Imprint") && !text.contains("Home"), "{text}");
}

/// Teasers of other pages go, unless they are all there is; a heading that is a link to itself is no teaser.
#[test]
fn teasers_of_other_pages_are_not_content() {
    let [one, two, three, four] = ["One", "Two", "Three", "Four"].map(prose);
    let teaser = |at: usize| {
        format!(
            "<div><a href=/{at}><img src=/{at}.png></a><h3><a href=/{at}>Story {at}</a></h3><p>It has happened again, and many people have \
            seen it with their own eyes this time.</p><span>By a writer</span></div>"
        )
    };
    let teasers: String = (0..4).map(teaser).collect();
    let article = format!("<h1>Title</h1>{one}{two}<h2><a href='#part'>Part</a></h2>{three}{four}");
    let text = main(&format!("<main>{article}<section>{teasers}</section></main>"));
    assert!(
        ["One", "Part", "Four"].iter().all(|kept| text.contains(kept)) && !text.contains("Story"),
        "{text}"
    );
    let text = main(&format!("<main><h1>Title</h1><section>{teasers}</section></main>"));
    assert_eq!(text.matches("Story").count(), 4, "{text}");
    // A chapter begins with a link to a page, and goes on.
    let chapter = |word: &str| {
        format!(
            "<div><h2><a href=/x>On {word}</a></h2>{}{}{}{}</div>",
            prose(word),
            prose(word),
            prose(word),
            prose(word)
        )
    };
    let text = main(&format!("<main><h1>Title</h1>{}{}</main>", chapter("rain"), chapter("snow")));
    assert!(text.contains("On rain") && text.contains("On snow") && text.contains("snow is the"), "{text}");
}

/// A short article says what it is, whatever long words stand around it. Of several, none is the page's.
#[test]
fn the_only_body_of_an_article_is_the_content() {
    let [one, two, three] = ["One", "Two", "Three"].map(prose);
    let page = |more: &str| {
        main(&format!(
            "<div><div>{two}{three}{two}{three}</div><div itemprop=articleBody>{one}{one}</div>{more}</div>"
        ))
    };
    let text = page("");
    assert!(text.contains("One") && !text.contains("Two"), "{text}");
    let text =
        page("<div itemprop=articleBody><p>Another one of the same page, which is a list of articles.</div>");
    assert!(["One", "Two", "Another"].iter().all(|kept| text.contains(kept)), "{text}");
}

#[test]
fn the_content_of_common_templates_is_found() {
    let [one, two, three, four] = ["One", "Two", "Three", "Four"].map(prose);
    let teaser = "<div class=card><a href=/x>A teaser</a> <a href=/y>More of it</a></div>".repeat(6);
    for (kind, body, kept, gone) in [
        (
            "an article",
            format!(
                "{MENU}<article class='post tag-news comments-open'><header><h1>Title</h1></header>{one}<ul><li>Point</ul>{two}{three}\
                 <div class=share-buttons>Send it</div><h3>Related</h3><div class=related>{teaser}</div></article>\
                 <div id=comments>{four}</div>{FOOT}"
            ),
            &["# Title\n\nOne", "- Point", "Three"][..],
            &["Home", "Send", "Related", "teaser", "Four", "Imprint"][..],
        ),
        (
            "an article without landmarks",
            format!(
                "<div class=top>{MENU}<h1>Title</h1></div><div class='page has-sidebar'><div class=col>{one}{two}{three}{four}</div>\
                 <div class=sidebar>{}</div></div><div>{FOOT}</div>",
                prose("Aside")
            ),
            &["# Title\n\nOne", "Two", "Four"],
            &["Home", "Aside", "Imprint"],
        ),
        (
            "documentation",
            format!(
                "<div class=sidebar>{teaser}</div><main>{MENU}<h1>Install</h1>{one}<h2>Linux</h2><pre><code>make install</code></pre>\
                 <table><tr><th>Flag<th>Meaning<tr><td>-q<td>quiet</table><h2>Next</h2><div class=pager><a href=/n>Next</a></div></main>"
            ),
            &["# Install\n\nOne", "## Linux\n\n```\nmake install\n```", "| -q | quiet |"],
            &["teaser", "Home", "Next"],
        ),
        (
            "a thread",
            format!(
                "{MENU}<div id=thread>{}</div>{FOOT}",
                [&one, &two, &three, &four]
                    .map(|post| format!("<div class=post><b>Ann</b>{post}<p>Yes.</div>"))
                    .concat()
            ),
            &["One", "Two", "Three", "Four", "Yes.", "**Ann**"],
            &["Home", "Imprint"],
        ),
        (
            "a product",
            format!(
                "{MENU}<form><div class=product><h1>Shoe</h1><p class=price>15 EUR</p>{one}<table><tr><th>Size<td>42<tr><th>Sole<td>cork\
                 </table><button>Buy</button></div></form><div class=also><h2>Also bought</h2>{teaser}</div>"
            ),
            &["# Shoe\n\n15 EUR\n\nOne", "| Sole | cork |"],
            &["Home", "Buy", "teaser", "Also bought"],
        ),
        (
            "an article that begins beside its parts",
            format!(
                "<div>{MENU}</div><div>{one}<div class=part>{two}{three}{four}{two}{three}{four}</div></div>"
            ),
            &["One", "Two", "Four"],
            &["Home"],
        ),
        (
            "a page laid out by tables",
            format!(
                "<table><tr><td colspan=2>{MENU}<tr><td><ul>{}</ul><td><font size=2>{one}{two}{three}</font></table>",
                "<li><a href=/x>A link</a><li><a href=/y>Another</a>".repeat(4)
            ),
            &["One", "Two", "Three"],
            &["Home", "Another"],
        ),
        (
            "a page of links",
            format!("{MENU}<div>{teaser}</div>"),
            &["[A teaser](https://example.com/x)", "More of it"],
            &["Home"],
        ),
        ("a short page", format!("{MENU}<p>Closed today.</p>"), &["Closed today."], &[]),
        ("a page that is all frame", MENU.repeat(20), &["Home", "News"], &[]),
        ("a page that is all aside", format!("<aside class=ad>{one}{two}</aside>"), &["One", "Two"], &[]),
    ] {
        let text = main(&body);
        for part in kept {
            assert!(text.contains(part), "{kind}: no {part:?} in {text}");
        }
        for part in gone {
            assert!(!text.contains(part), "{kind}: {part:?} in {text}");
        }
    }
}

/// Generators of documentation make an `id` of each heading.
#[test]
fn the_words_of_headings_are_no_names_of_places() {
    let [one, two, three] = ["One", "Two", "Three"].map(prose);
    let page = format!(
        "<main><h1>Guide <a class=toc-backref href=#x>to links</a></h1>{one}<div id=sharing-with-a-single-developer><h2>Two</h2>\
         {two}</div><section id=related-work><h2 class=tags id=comments>Three</h2>{three}</section></main>"
    );
    let text = main(&page);
    for part in ["# Guide to links\n", "One is", "## Two\n\nTwo is", "## Three\n\nThree is"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn an_author_says_where_the_body_of_an_article_is() {
    let [one, two, three] = ["One", "Two", "Three"].map(prose);
    let page = format!("<article>{one}<div itemprop=articleBody>{two}{three}</div></article>");
    let text = main(&page);
    assert!(text.starts_with("Two") && !text.contains("One"), "{text}");
    // A landmark that holds little holds not the content.
    let text = main(&format!("<main><p>Wait.</main><div>{one}{two}</div>"));
    assert!(text.contains("One") && text.contains("Two") && !text.contains("Wait"), "{text}");
}

/// Each of these names begins as one that puts an element aside, or has such a word beside another.
#[test]
fn a_name_with_another_meaning_puts_nothing_aside() {
    let [one, two, three, four] = ["One", "Two", "Three", "Four"].map(prose);
    let page = |class: &str| {
        format!(
            "<main><h1>T</h1>{one}{two}{three}{four}<div class='{class}'>{}</div></main>",
            prose("Content")
        )
    };
    for class in [
        "relative mb-4",
        "position-relative",
        "elementor-widget elementor-widget-text-editor",
        "widget-reference",
        "investor-relations-news",
        "relationships",
        "shareholder-letter",
        "share-prices",
        "subscription-plan",
        "dialogue",
        "commentary",
        "social-security-rates",
        "cookie-recipe",
        "modal-verbs",
        "search-result",
        "product-meta",
        "address",
        "navajo",
    ] {
        let text = main(&page(class));
        assert!(text.contains("Content is"), "{class}: {text}");
    }
    for class in [
        "related",
        "post related-posts",
        "RelatedLinks",
        "share",
        "share-buttons",
        "td-post-sharing",
        "sharebar",
        "social-links",
        "widget widget_recent_entries",
        "sidebar-widget",
        "entry-meta",
        "post_meta",
        "comment",
        "commentlist",
        "cookie-notice",
        "modal",
        "modal-dialog",
        "search-form",
        "newsletter-subscription",
        "ad-728x90",
        "menus",
    ] {
        let text = main(&page(class));
        assert!(text.contains("Four is") && !text.contains("Content is"), "{class}: {text}");
    }
}

#[test]
fn siblings_of_one_class_that_hold_a_third_of_the_prose_are_content() {
    let thread = |posts: usize| {
        let posts = format!("<div class=comment>{}</div>", prose("Answer")).repeat(posts);
        format!("<main><h1>T</h1>{}<div class=thread>{posts}</div></main>", prose("Question").repeat(6))
    };
    let text = main(&thread(8));
    assert!(text.contains("Question is") && text.matches("Answer is").count() == 8, "{text}");
    let text = main(&thread(2));
    assert!(text.contains("Question is") && !text.contains("Answer is"), "{text}");
}

#[test]
fn a_note_and_the_button_of_a_heading_are_content_where_others_are_not() {
    let [one, two, three] = ["One", "Two", "Three"].map(prose);
    let page = format!(
        "<main><h2><button aria-expanded=true>How long?</button></h2>{one}<button>Copy</button>{two}\
         <aside class='admonition warning'><p>It deletes files.</aside><aside><p>Read this as well.</aside>{three}</main>\
         <aside class=note>Join us.</aside>"
    );
    let text = main(&page);
    for part in ["## How long?\n\nOne is", "It deletes files.", "Three is"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    for part in ["Copy", "Read this", "Join us"] {
        assert!(!text.contains(part), "{part} in {text}");
    }
}

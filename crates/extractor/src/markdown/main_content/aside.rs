//! The meaning of an element's names: its classes, its `id` and its role.
//!
//! Names are read word by word: *social* and *links* are the words of `social-links` and `social_links`. Some words
//! put an element beside the content, whatever stands beside them. Others mean something else with another word:
//! `social-security`, `cookie-recipe`, `product-meta`.

/// How words begin that name something beside the content.
const ASIDE: &[&str] = &[
    "advert",
    "breadcrumb",
    "captcha",
    "complementary",
    "consent",
    "disqus",
    "footer",
    "gdpr",
    "navbar",
    "navigation",
    "newsletter",
    "outbrain",
    "pager",
    "paginat",
    "paywall",
    "popup",
    "promo",
    "recommend",
    "sidebar",
    "signup",
    "sharedaddy",
    "sponsor",
    "taboola",
    "toolbar",
];
/// The same, for whole words, and words in which a [`PLAIN`] one follows.
const ASIDE_WORDS: &[&str] = &[
    "ad",
    "ads",
    "author",
    "banner",
    "bio",
    "comment",
    "comments",
    "cookie",
    "cookies",
    "dialog",
    "menu",
    "meta",
    "modal",
    "nav",
    "related",
    "search",
    "share",
    "sharing",
    "social",
    "subscribe",
    "subscription",
    "tags",
    "toc",
    "widget",
];
/// Those of them that mean something else before a word that is not plain.
const NOT_BEFORE_OTHERS: &[&str] =
    &["cookie", "cookies", "meta", "modal", "search", "share", "social", "subscription", "widget"];
/// Those that do so behind one, too.
const NOT_BEHIND_OTHERS: &[&str] = &["meta", "widget"];
/// Words that only say where or how an element is shown, or what every page has.
const PLAIN: &[&str] = &[
    "action",
    "actions",
    "alt",
    "area",
    "article",
    "bar",
    "block",
    "blog",
    "body",
    "bottom",
    "box",
    "boxes",
    "btn",
    "button",
    "buttons",
    "byline",
    "caption",
    "card",
    "close",
    "container",
    "content",
    "count",
    "counter",
    "date",
    "email",
    "entry",
    "facebook",
    "field",
    "follow",
    "footer",
    "form",
    "group",
    "header",
    "icon",
    "icons",
    "image",
    "info",
    "inner",
    "input",
    "instagram",
    "item",
    "items",
    "label",
    "law",
    "left",
    "likes",
    "link",
    "linkedin",
    "links",
    "list",
    "logo",
    "main",
    "media",
    "mobile",
    "module",
    "more",
    "networks",
    "news",
    "notice",
    "overlay",
    "page",
    "panel",
    "pinterest",
    "post",
    "posts",
    "print",
    "reddit",
    "right",
    "section",
    "site",
    "story",
    "submit",
    "svg",
    "text",
    "time",
    "title",
    "toggle",
    "tool",
    "tools",
    "top",
    "twitter",
    "whatsapp",
    "wrap",
    "wrapper",
    "youtube",
    "zone",
];
/// Words of notes in a text, which authors put into an `aside`.
const NOTES: &[&str] =
    &["admonition", "callout", "caution", "danger", "hint", "important", "note", "tip", "warning"];

/// Do names say that an element is beside the content?
pub(super) fn is_aside(names: &str) -> bool {
    names.split_ascii_whitespace().any(|name| {
        let mut before = None;
        let mut words = words(name).peekable();
        while let Some(word) = words.next() {
            if begins(word, ASIDE).next().is_some() {
                return true;
            }
            let is_other = |beside: Option<&str>| beside.is_some_and(|word| !is_plain(word));
            let puts_aside = begins(word, ASIDE_WORDS).any(|known| {
                let rest = &word[known.len()..];
                (matches!(rest, "" | "s") || is_one_of(rest, PLAIN))
                    && !(NOT_BEFORE_OTHERS.contains(&known) && is_other(words.peek().copied()))
                    && !(NOT_BEHIND_OTHERS.contains(&known) && is_other(before))
            });
            if puts_aside {
                return true;
            }
            before = Some(word);
        }
        false
    })
}

/// Do names say that an element is a note in the text?
pub(super) fn is_note(names: &str) -> bool {
    words(names).any(|word| is_one_of(word, NOTES))
}

/// The words of a name.
fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
}

/// Is a word plain, put aside itself, or no word: a number, or an abbreviation of one or two letters?
fn is_plain(word: &str) -> bool {
    word.len() < 3
        || word.bytes().any(|byte| byte.is_ascii_digit())
        || begins(word, ASIDE).next().is_some()
        || is_one_of(word, PLAIN)
        || is_one_of(word, ASIDE_WORDS)
}

fn is_one_of(word: &str, list: &'static [&'static str]) -> bool {
    begins(word, list).any(|known| known.len() == word.len())
}

/// Words of a list with which a word begins.
fn begins<'w>(word: &'w str, list: &'static [&'static str]) -> impl Iterator<Item = &'static str> + 'w {
    // Most words begin as no name does.
    let first = word.bytes().next().map(|first| first.to_ascii_lowercase());
    let alike = list.iter().copied().filter(move |known| known.bytes().next() == first);
    alike.filter(|known| word.get(..known.len()).is_some_and(|start| start.eq_ignore_ascii_case(known)))
}

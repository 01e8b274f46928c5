//! Renders recorded Markdown as HTML, with links to the local web.
//!
//! Markdown may contain raw HTML, mostly tables. It is kept, except for elements that would hide
//! the text after them or change the meaning of links: these become text.

use super::ExternalLinks;
use crate::web::push_escaped;
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// Elements whose opening tag is shown as text. The first line is the tag filter of GitHub's
/// Markdown.
const DEFUSED: [&str; 12] = [
    "title",
    "textarea",
    "style",
    "xmp",
    "iframe",
    "noembed",
    "noframes",
    "script",
    "plaintext", // then ours
    "base",
    "link",
    "meta",
];

/// Renders Markdown. `local` returns the local target of a link, or `None` if it is external.
pub fn html(markdown: &str, external: ExternalLinks, local: impl Fn(&str) -> Option<String>) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let target = |link: &str| {
        if link.starts_with('#') {
            return Some(link.to_string());
        }
        local(link).or_else(|| (external == ExternalLinks::Keep).then(|| link.to_string()))
    };
    // For each open link or image, whether it is shown as one. Otherwise it becomes an element that
    // names its target without linking to it, so that a change of the target stays a change of the
    // page.
    let mut open = Vec::new();
    let events = Parser::new_ext(markdown, options).map(|event| match event {
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let led = target(&dest_url);
            open.push(led.is_some());
            match led {
                Some(url) => Event::Start(Tag::Link { link_type, dest_url: url.into(), title, id }),
                None => mention("href", &dest_url, &title),
            }
        }
        Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
            let led = target(&dest_url);
            open.push(led.is_some());
            match led {
                Some(url) => Event::Start(Tag::Image { link_type, dest_url: url.into(), title, id }),
                None => mention("src", &dest_url, &title),
            }
        }
        Event::End(TagEnd::Link | TagEnd::Image) => {
            if open.pop() == Some(true) {
                event
            } else {
                Event::InlineHtml("</span>".into())
            }
        }
        // Raw HTML could hide what follows, or change where links lead.
        Event::Html(raw) => Event::Html(raw_html(&raw, target)),
        Event::InlineHtml(raw) => Event::InlineHtml(raw_html(&raw, target)),
        other => other,
    });
    let mut out = String::with_capacity(markdown.len() * 5 / 4);
    html::push_html(&mut out, events);
    out
}

/// The start tag that replaces an external link or image.
fn mention(attribute: &str, url: &str, title: &str) -> Event<'static> {
    let mut out = format!("<span data-{attribute}=\"").into_bytes();
    push_escaped(url, &mut out);
    if !title.is_empty() {
        out.extend_from_slice(b"\" title=\"");
        push_escaped(title, &mut out);
    }
    out.extend_from_slice(b"\">");
    Event::InlineHtml(String::from_utf8_lossy(&out).into_owned().into())
}

/// Raw HTML with dangerous tags as text, and with local targets in `href` and `src`. An attribute
/// with an external target is renamed.
fn raw_html(raw: &str, target: impl Fn(&str) -> Option<String>) -> CowStr<'static> {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find(['<', 'h', 's']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(tag) = rest.strip_prefix('<') {
            let name = tag.strip_prefix('/').unwrap_or(tag);
            let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
            let is_defused = DEFUSED.iter().any(|defused| name[..end].eq_ignore_ascii_case(defused));
            out.push_str(if is_defused { "&lt;" } else { "<" });
            rest = tag;
            continue;
        }
        let Some((attribute, quote, value)) = attribute(rest) else {
            out.push_str(&rest[..1]);
            rest = &rest[1..];
            continue;
        };
        match target(&value.replace("&amp;", "&")) {
            Some(url) => {
                let url = url.replace('&', "&amp;").replace('"', "&quot;");
                out.push_str(&format!("{attribute}=\"{url}\""));
            }
            None => out.push_str(&format!("data-{attribute}={quote}{value}{quote}")),
        }
        rest = &rest[attribute.len() + value.len() + 3..];
    }
    out.push_str(rest);
    out.into()
}

/// A quoted `href` or `src` at the start of the text: name, quote and value.
fn attribute(text: &str) -> Option<(&'static str, char, &str)> {
    let name = ["href", "src"].into_iter().find(|name| text.starts_with(name))?;
    let value = text[name.len()..].strip_prefix('=')?;
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let value = &value[1..];
    Some((name, quote, &value[..value.find(quote)?]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(link: &str) -> Option<String> {
        let (page, fragment) = link.split_at(link.find('#').unwrap_or(link.len()));
        (page == "https://site/page?a=1&b=2").then(|| format!("http://127.1.0.1/p{fragment}"))
    }

    fn shown(markdown: &str) -> String {
        html(markdown, ExternalLinks::Drop, local).trim_end().to_string()
    }

    #[test]
    fn links_inside_lead_to_the_local_web() {
        assert_eq!(
            shown("[a *b*](https://site/page?a=1&b=2#c)"),
            "<p><a href=\"http://127.1.0.1/p#c\">a <em>b</em></a></p>"
        );
        assert_eq!(shown("[a](#c)"), "<p><a href=\"#c\">a</a></p>");
    }

    #[test]
    fn links_outside_are_mentioned_and_lead_nowhere() {
        assert_eq!(
            shown("see [a](https://other/) ![b](https://other/b.png \"t\") c"),
            "<p>see <span data-href=\"https://other/\">a</span> \
             <span data-src=\"https://other/b.png\" title=\"t\">b</span> c</p>"
        );
        assert_eq!(
            html("[a](https://other/)", ExternalLinks::Keep, local),
            "<p><a href=\"https://other/\">a</a></p>\n"
        );
        assert_eq!(shown("<https://o/>"), "<p><span data-href=\"https://o/\">https://o/</span></p>");
    }

    #[test]
    fn raw_html_is_led_too() {
        assert_eq!(
            shown(
                "<td><a class='x' href=\"https://site/page?a=1&amp;b=2\">a</a><img src='https://o/i.png'></td>"
            ),
            "<td><a class='x' href=\"http://127.1.0.1/p\">a</a><img data-src='https://o/i.png'></td>"
        );
    }

    #[test]
    fn nothing_swallows_the_text_behind_it() {
        let html = shown("before <textarea> <title> <SCRIPT> after");
        assert_eq!(html, "<p>before &lt;textarea> &lt;title> &lt;SCRIPT> after</p>");
        assert_eq!(shown("a <b>c</b> ß < d"), "<p>a <b>c</b> ß &lt; d</p>");
    }

    #[test]
    fn tables_are_tables() {
        assert!(shown("| a | b |\n|---|---|\n| 1 | 2 |").starts_with("<table>"));
    }
}

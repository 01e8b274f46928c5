//! A page as Markdown: its main content, or all that a reader sees.
//!
//! The bounded parser (module `html`) builds the tree, a rule for pages leaves out what does not count, and
//! [`main_content`] finds the part that a reader came for. `walk` writes it as `blocks` of `line`s and `table`s. Hidden
//! parts are those of the text (module `text`), so the words of the whole page are those that are compared.
//!
//! We write it over our own tree: `htmd` brings a second html5ever, and `dom_query` a second tree, which would be parsed
//! again and knows neither our bounds nor what is hidden.

use crate::base::ReferenceResolver;
use crate::charset::{self, Decoded};
use crate::html::{self, Attributes};
use crate::listings;
use crate::media::{BodyKind, MediaType};
use crate::part::{CountedPart, Selected};
use crate::shadow;
use crate::{BodyFields, ExtractOptions, HtmlReader};
use blocks::BlockWriter;
use recrawl_types::{CanonicalUrl, UrlRules};
use scraper::Html;
use walk::MarkdownWriter;

mod blocks;
mod line;
mod main_content;
mod table;
mod walk;

/// Bytes of Markdown at which the rest of a page is left out.
pub const MAX_MARKDOWN_BYTES: usize = 4 << 20;
/// Maximum bytes of URLs in the Markdown of a page; links after that are their texts. A link around many blocks is
/// repeated in each, and a short reference may have a long base.
pub const MAX_LINK_BYTES: usize = 1 << 20;

/// How much of a page is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageExtent {
    /// The main content, without menus, related links and forms.
    Main,
    /// All that is seen.
    Whole,
}

/// A page as Markdown (CommonMark with tables and strikethrough, as GitHub reads it).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Markdown {
    /// The text, with a line break at its end.
    pub text: String,
    /// Is the rest left out, since it is longer than [`MAX_MARKDOWN_BYTES`]?
    pub is_cut: bool,
}

/// Writes a body as Markdown, as far as a part of the page counts; none if it is neither HTML nor text. A part that
/// includes elements is the main content. The same body gives the same bytes.
///
/// ```
/// use recrawl_extractor::{PageExtent, BodyFields, ExtractOptions, markdown};
/// use recrawl_types::UrlRules;
///
/// let rules = UrlRules::default();
/// let url = rules.canonicalize("https://example.com/news/")?;
/// let body = b"<nav>Menu</nav><main><h1>News</h1><p>Rain <b>today</b>. <a href=2026/rain>More</a></main>";
/// let fields = BodyFields { content_type: Some("text/html"), ..BodyFields::default() };
/// let page = markdown(body, &fields, &url, &rules, &ExtractOptions::default(), None, PageExtent::Main).expect("it is a page");
/// assert_eq!(page.text, "# News\n\nRain **today**. [More](https://example.com/news/2026/rain)\n");
/// # Ok::<(), recrawl_types::UrlError>(())
/// ```
pub fn markdown(
    body: &[u8],
    fields: &BodyFields<'_>,
    url: &CanonicalUrl,
    rules: &UrlRules,
    options: &ExtractOptions,
    part: Option<&CountedPart>,
    extent: PageExtent,
) -> Option<Markdown> {
    let media = MediaType::detect(fields, body, &options.types);
    match media.kind {
        BodyKind::Html | BodyKind::Xhtml => {
            let Decoded { text, encoding } = html::decode(body, &media, url);
            let (mut html, _) = html::parse(&text, Attributes::All);
            let of_rule = part.filter(|part| part.selects()).map(|part| part.select(&html, text.len()));
            shadow::flatten(&mut html);
            let reader = HtmlReader::new(url, rules, fields, options, part, encoding);
            Some(of_tree(&html, &reader, of_rule, extent))
        }
        BodyKind::Opaque => None,
        BodyKind::Plain if listings::read(body, fields, &media, url, rules, &options.limits).is_some() => {
            None
        }
        BodyKind::Plain => {
            let decoded = charset::decode(body, media.charset.as_deref(), media.syntax(), &url.host());
            let is_markdown =
                fields.content_type.is_some_and(|declared| declared.starts_with("text/markdown"));
            let patterns = part.map_or(&[][..], CountedPart::patterns);
            let (text, is_cut) = plain(decoded.text.into_owned(), is_markdown, media.is_json, patterns);
            Some(Markdown { text, is_cut })
        }
    }
}

/// Writes a tree with all attributes as Markdown, as far as a rule selects it.
pub(crate) fn of_tree(
    html: &Html,
    page: &HtmlReader<'_>,
    of_rule: Option<Selected>,
    extent: PageExtent,
) -> Markdown {
    let selected = match of_rule {
        Some(selected) if selected.included.is_some() => selected,
        of_rule if extent == PageExtent::Whole => of_rule.unwrap_or_default(),
        of_rule => main_content::select(html, of_rule.unwrap_or_default()),
    };
    let resolver = ReferenceResolver::of_page(page.url, html::base(html), page.rules, page.encoding);
    let patterns = page.part.map_or(&[][..], CountedPart::patterns);
    let (text, is_cut) = MarkdownWriter::new(extent, patterns).page(html, &resolver, &selected);
    Markdown { text, is_cut }
}

/// A text that is no page: Markdown as it is, any other as a block of code.
fn plain(text: String, is_markdown: bool, is_json: bool, patterns: &[regex::Regex]) -> (String, bool) {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let text = patterns.iter().fold(text, |text, pattern| pattern.replace_all(&text, "").into_owned());
    let mut blocks = BlockWriter::default();
    match is_markdown {
        true => blocks.push(text.trim_end()),
        false => blocks.push_code(if is_json { "json" } else { "" }, &text),
    }
    blocks.finish()
}

#[cfg(test)]
mod tests;

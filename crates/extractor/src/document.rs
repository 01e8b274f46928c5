//! The parts of a document that targets get: a page with its Markdown and its fields, from one tree.

use crate::charset::Decoded;
use crate::html::{self, Attributes};
use crate::markdown::{self, Markdown, PageExtent};
use crate::media::{BodyKind, MediaType};
use crate::page_fields::{FieldValues, PageFields};
use crate::part::CountedPart;
use crate::{BodyFields, ExtractOptions, Extracted, HtmlReader, extract_part, listings, of_listing, shadow};
use recrawl_types::{CanonicalUrl, UrlRules};

/// The parts of a document beside the page.
#[derive(Clone, Copy, Debug)]
pub struct DocumentParts<'p> {
    /// How much of it is written as Markdown, if anything is.
    pub markdown: Option<PageExtent>,
    /// Further fields.
    pub fields: &'p PageFields,
}

/// A page with the other parts of its document.
#[derive(Clone, Debug)]
pub struct ExtractedDocument {
    /// The page.
    pub page: Extracted,
    /// Its Markdown; none if it is not asked for, or the body is neither HTML nor text.
    pub markdown: Option<Markdown>,
    /// Its further fields. A page on which their selectors would need too many steps has none, and neither has a body that
    /// is no HTML.
    pub fields: FieldValues,
}

/// Extracts a page with other parts of its document. HTML is decoded and parsed once for all of them.
///
/// ```
/// use recrawl_extractor::{BodyFields, DocumentParts, ExtractOptions, PageFields, extract_document};
/// use recrawl_types::UrlRules;
///
/// let fields = PageFields::new(&[("price".into(), ".price".into())].into())?;
/// let (rules, options) = (UrlRules::default(), ExtractOptions::default());
/// let url = rules.canonicalize("https://example.com/shoe").expect("it is a URL");
/// let sent = BodyFields { content_type: Some("text/html"), ..BodyFields::default() };
/// let body = b"<p>Shoe <b class=price>15 EUR</b>";
/// let parts = DocumentParts { markdown: None, fields: &fields };
/// let found = extract_document(body, &sent, &url, &rules, &options, None, parts);
/// assert_eq!(found.fields["price"], "15 EUR");
/// # Ok::<(), String>(())
/// ```
pub fn extract_document(
    body: &[u8],
    fields: &BodyFields<'_>,
    url: &CanonicalUrl,
    rules: &UrlRules,
    options: &ExtractOptions,
    part: Option<&CountedPart>,
    wanted: DocumentParts<'_>,
) -> ExtractedDocument {
    let media = MediaType::detect(fields, body, &options.types);
    let is_html = matches!(media.kind, BodyKind::Html | BodyKind::Xhtml);
    // Without a tree, the text is read as it streams by.
    if !is_html || wanted.markdown.is_none() && wanted.fields.is_empty() {
        let page = extract_part(body, fields, url, rules, options, part);
        let is_page = matches!(page, Extracted::Page(_));
        let markdown = |extent| markdown::markdown(body, fields, url, rules, options, part, extent);
        let markdown = wanted.markdown.filter(|_| is_page).and_then(markdown);
        return ExtractedDocument { page, markdown, fields: FieldValues::new() };
    }
    if let Some(listing) = listings::read(body, fields, &media, url, rules, &options.limits) {
        let page = of_listing(listing, fields, url, rules, options, part);
        return ExtractedDocument { page, markdown: None, fields: FieldValues::new() };
    }
    let Decoded { text, encoding } = html::decode(body, &media, url);
    let (mut html, work) = html::parse(&text, Attributes::All);
    let values = wanted.fields.read_tree(&html, text.len());
    let selected = part.filter(|part| part.selects()).map(|part| part.select(&html, text.len()));
    shadow::flatten(&mut html);
    let reader = HtmlReader::new(url, rules, fields, options, part, encoding);
    let page = Extracted::Page(reader.of_tree(&html, work, selected.as_ref()));
    let write = |extent| markdown::of_tree(&html, &reader, selected, extent);
    ExtractedDocument { page, markdown: wanted.markdown.map(write), fields: values }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A feed that is sent as HTML, as XML and as text is a list, and nothing else is made of it.
    #[test]
    fn a_feed_is_a_list_whatever_is_wanted_of_it() {
        let body = b"<rss><channel><item><title>News</title><link>/1</link></item></channel></rss>";
        let (rules, options) = (UrlRules::default(), ExtractOptions::default());
        let url = rules.canonicalize("https://example.com/feed").unwrap();
        let title = PageFields::new(&[("title".into(), "title".into())].into()).unwrap();
        for content_type in ["text/html", "application/rss+xml", "text/plain"] {
            let sent = BodyFields { content_type: Some(content_type), ..BodyFields::default() };
            for markdown in [None, Some(PageExtent::Main)] {
                let wanted = DocumentParts { markdown, fields: &title };
                let found = extract_document(body, &sent, &url, &rules, &options, None, wanted);
                let Extracted::Listing(listing, _) = found.page else { panic!("{content_type}") };
                assert_eq!(listing.text, "https://example.com/1\nNews\n");
                assert!(found.markdown.is_none() && found.fields.is_empty(), "{content_type}");
            }
        }
    }
}

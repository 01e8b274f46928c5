//! Fields of a page: texts that selectors find, and values of its JSON-LD.

use crate::element::Element;
use crate::names::Name;
use crate::part::{MAX_PART_ENTRIES, MAX_PART_ENTRY_BYTES, SelectorCost, checked_selector, most_steps};
use crate::text::{Collapsed, ShownText, effect};
use ego_tree::iter::Edge;
use scraper::{ElementRef, Html, Node, Selector};
use serde_json::Value;
use std::collections::BTreeMap;

mod json_ld;

use json_ld::LinkedData;

/// Values of a field with `[]` at most. Search servers index each.
pub const MAX_FIELD_VALUES: usize = 100;
/// Bytes of a value at most. Lucene indexes no longer word.
pub const MAX_FIELD_BYTES: usize = 32_000;
/// Bytes of all values of a page at most.
const MAX_VALUES: usize = 1 << 20;
/// Matches of a selector that are looked at for a value: a page may have 100,000 empty ones.
const MAX_MATCHES: usize = 1_000;
/// Bytes and nodes of any page that are looked at for its values; and further ones for each byte of it. An element within
/// others of one selector is looked at once for each.
const MIN_SCANNED: usize = 1 << 20;
const SCANNED_A_BYTE: usize = 16;
/// Bytes of a field's name at most.
const MAX_NAME: usize = 64;

/// Named texts of pages, as configured: `.price`, `meta[name=author]@content`, `.tag[]`, `jsonld:offers.price`.
#[derive(Clone, Debug, Default)]
pub struct PageFields {
    fields: Vec<(String, FieldSource)>,
    cost: SelectorCost,
    has_json_ld: bool,
}

#[derive(Clone, Debug)]
struct FieldSource {
    find: Find,
    /// All values, in an array; else the first one.
    is_list: bool,
}

#[derive(Clone, Debug)]
enum Find {
    Text(Selector),
    Attribute(Selector, String),
    JsonLd(Vec<String>),
}

/// The values of a page's fields: texts, so that a field has one type on all pages; arrays of them for fields with `[]`. A
/// field without a value has no entry.
pub type FieldValues = BTreeMap<String, Value>;

impl PageFields {
    /// Checks and compiles the sources of fields.
    ///
    /// # Errors
    /// The field, and what is wrong.
    pub fn new(entries: &BTreeMap<String, String>) -> Result<PageFields, String> {
        if entries.len() > MAX_PART_ENTRIES {
            return Err(format!("{} entries; at most {MAX_PART_ENTRIES} are read", entries.len()));
        }
        let (mut fields, mut selectors) = (Vec::new(), Vec::new());
        for (name, entry) in entries {
            let named = |why: String| format!("{name}: {why}");
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_name) {
                let why = format!("write a name of at most {MAX_NAME} letters, digits and _");
                return Err(named(why));
            }
            let (source, selector) = source(entry).map_err(named)?;
            selectors.extend(selector);
            fields.push((name.clone(), source));
        }
        let has_json_ld = fields.iter().any(|(_, source)| matches!(source.find, Find::JsonLd(_)));
        Ok(PageFields { fields, cost: SelectorCost::estimate(selectors.iter()), has_json_ld })
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The fields of a tree that was made of so many bytes.
    pub(crate) fn read_tree(&self, html: &Html, bytes: usize) -> FieldValues {
        let mut values = FieldValues::new();
        if self.is_empty() {
            return values;
        }
        let most = most_steps(bytes);
        let is_given_up = self.cost.steps(html, most) > most;
        let json_ld = if self.has_json_ld { json_ld::read(html) } else { Vec::new() };
        let json_ld = LinkedData::new(&json_ld);
        let mut budget = FieldBudget { scanned: MIN_SCANNED + SCANNED_A_BYTE * bytes, values: MAX_VALUES };
        for (name, source) in &self.fields {
            let limit = if source.is_list { MAX_FIELD_VALUES } else { 1 };
            let mut found = Vec::new();
            match &source.find {
                Find::Text(_) | Find::Attribute(..) if is_given_up => {}
                Find::Text(selector) => {
                    for element in html.select(selector).take(MAX_MATCHES) {
                        let text = text_of(element, &mut budget.scanned);
                        budget.take(text, &mut found);
                        if found.len() >= limit || budget.is_spent() {
                            break;
                        }
                    }
                }
                Find::Attribute(selector, name) => {
                    let matches = html.select(selector).take(MAX_MATCHES);
                    for text in matches.filter_map(|element| element.attr(name)) {
                        budget.scan(text.len());
                        budget.take(cut(text.trim()), &mut found);
                        if found.len() >= limit || budget.is_spent() {
                            break;
                        }
                    }
                }
                Find::JsonLd(path) => json_ld.find(path, limit, &mut budget, &mut found),
            }
            let value = match source.is_list {
                true => (!found.is_empty()).then(|| Value::from(found)),
                false => found.pop().map(Value::from),
            };
            values.extend(value.map(|value| (name.clone(), value)));
        }
        values
    }
}

/// The cost that all fields of a page together may have still. Values that are found behind it are left out.
struct FieldBudget {
    /// Bytes and nodes that are looked at.
    scanned: usize,
    /// Bytes of values.
    values: usize,
}

impl FieldBudget {
    fn is_spent(&self) -> bool {
        self.scanned == 0 || self.values == 0
    }

    fn scan(&mut self, bytes: usize) {
        self.scanned = self.scanned.saturating_sub(1 + bytes);
    }

    /// Takes a value, if it is one and has room.
    fn take(&mut self, value: String, found: &mut Vec<String>) {
        if value.is_empty() || self.scanned == 0 {
            return;
        }
        match self.values.checked_sub(value.len()) {
            Some(left) => {
                self.values = left;
                found.push(value);
            }
            None => self.values = 0,
        }
    }
}

/// A source, and its selector as text.
fn source(entry: &str) -> Result<(FieldSource, Option<String>), String> {
    if entry.len() > MAX_PART_ENTRY_BYTES {
        return Err(format!("it has {} bytes; at most {MAX_PART_ENTRY_BYTES} are read", entry.len()));
    }
    let rest = entry.trim();
    let (rest, is_list) = rest.strip_suffix("[]").map_or((rest, false), |rest| (rest, true));
    if let Some(path) = rest.strip_prefix("jsonld:") {
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        return match path.iter().any(String::is_empty) {
            true => Err(format!("{entry:?} is no path; write one such as \"jsonld:offers.price\"")),
            false => Ok((FieldSource { find: Find::JsonLd(path), is_list }, None)),
        };
    }
    let is_attribute = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'))
    };
    // A selector may have an @ in a string.
    let (selector, attribute) = match rest.rsplit_once('@').filter(|(_, name)| is_attribute(name)) {
        Some((selector, name)) => (selector, Some(name.to_ascii_lowercase())),
        None => (rest, None),
    };
    let compiled = checked_selector(selector)?;
    let find = match attribute {
        Some(name) => Find::Attribute(compiled, name),
        None => Find::Text(compiled),
    };
    Ok((FieldSource { find, is_list }, Some(selector.to_owned())))
}

/// An element around a text.
struct FieldElement {
    shown: ShownText,
    is_block: bool,
    is_code: bool,
}

/// The text of an element on one line, without scripts and styles; as far as it may be looked at.
fn text_of(element: ElementRef<'_>, scanned: &mut usize) -> String {
    // Room for a character behind the limit, which ends it.
    let mut text = Collapsed::new(MAX_FIELD_BYTES + 4);
    let mut open: Vec<FieldElement> = Vec::new();
    for edge in element.traverse() {
        match edge {
            Edge::Open(node) => {
                let part = node.value().as_text().map_or("", |part| &**part);
                *scanned = scanned.saturating_sub(1 + part.len());
                if *scanned == 0 || text.len() > MAX_FIELD_BYTES {
                    break;
                }
                let shown = open.last().map_or_else(ShownText::default, |around| around.shown);
                if let Node::Element(element) = node.value() {
                    let element = Element::bare_of_node(element);
                    let effect = effect(&element, false);
                    open.push(FieldElement {
                        shown: shown.within(&effect),
                        is_block: effect.is_block,
                        is_code: effect.is_closed || element.is(Name::Noscript),
                    });
                    if effect.is_block {
                        text.block();
                    }
                } else if !open.last().is_some_and(|around| around.is_code) {
                    text.push(&shown.set(part, || text.last()));
                }
            }
            Edge::Close(node) => {
                if node.value().is_element() && open.pop().is_some_and(|element| element.is_block) {
                    text.block();
                }
            }
        }
    }
    cut(&text.finish().replace('\n', " "))
}

fn cut(text: &str) -> String {
    let mut end = text.len().min(MAX_FIELD_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::{self, Attributes};

    fn fields(entries: &[(&str, &str)]) -> Result<PageFields, String> {
        PageFields::new(&entries.iter().map(|(name, entry)| ((*name).into(), (*entry).into())).collect())
    }

    fn read_all(entries: &[(&str, &str)], body: &str) -> FieldValues {
        fields(entries).unwrap().read_tree(&html::parse(body, Attributes::All).0, body.len())
    }

    fn read(entry: &str, body: &str) -> Option<Value> {
        read_all(&[("x", entry)], body).remove("x")
    }

    fn one(text: &str) -> Option<Value> {
        Some(text.into())
    }

    #[test]
    fn texts_attributes_and_json_ld_are_found() {
        let page = r#"<meta name=author content=" Ada "><a href="x@y">at</a><p class=price></p>
            <p class=price> 15 <b>E</b>UR<script>1</script></p><i class=tag>a</i><i class=tag>b</i>
            <script type="application/ld+json">{"@graph":[{"@type":"Product","offers":[{"price":19.5},{"price":"20"}],
            "isNew":true,"none":null}]}</script>"#;
        for (entry, value) in [
            (".price", one("15 EUR")),
            ("meta[name=author]@content", one("Ada")),
            ("meta[name=author]@CONTENT", one("Ada")),
            ("a[href=\"x@y\"]", one("at")),
            (".tag", one("a")),
            (".tag[]", Some(serde_json::json!(["a", "b"]))),
            (".none", None),
            (".none[]", None),
            ("meta@none", None),
            ("jsonld:offers.price", one("19.5")),
            ("jsonld:offers.price[]", Some(serde_json::json!(["19.5", "20"]))),
            ("jsonld:isNew", one("true")),
            ("jsonld:offers", None),
            ("jsonld:none", None),
            ("jsonld:@type.more", None),
        ] {
            assert_eq!(read(entry, page), value, "{entry}");
        }
    }

    #[test]
    fn what_names_no_field_is_refused() {
        for (name, entry, said) in [
            ("x", "", "is not a CSS selector"),
            ("x", "p >", "is not a CSS selector"),
            ("x", "@content", "is not a CSS selector"),
            ("x", "p:has(a)", ":has()"),
            ("x", "jsonld:", "is no path"),
            ("x", "jsonld:a..b", "is no path"),
            ("a.b", "p", "letters, digits and _"),
            ("", "p", "letters, digits and _"),
        ] {
            let error = fields(&[(name, entry)]).unwrap_err();
            assert!(error.contains(said) && error.starts_with(&format!("{name}: ")), "{error}");
        }
        assert!(fields(&[("x", &"p".repeat(2_000))]).unwrap_err().contains("at most 1000"));
    }

    /// One budget is that of all fields.
    #[test]
    fn many_fields_of_a_hostile_page_are_found_in_time_that_follows_from_its_size() {
        let names: Vec<String> = (10..59).map(|number| format!("f{number}")).collect();
        let all = |entry| names.iter().map(|name| (&**name, entry)).collect::<Vec<_>>();
        // 50 fields of 100 values of 32 kB.
        let long = format!("<p>{}</p>", "a".repeat(40_000)).repeat(40);
        let size = |found: &FieldValues| found.values().map(|value| value.to_string().len()).sum::<usize>();
        for entry in ["p[]", "p@title[]"] {
            let body = long.replace("<p>", &format!("<p title={}>", "b".repeat(40_000)));
            let found = read_all(&all(entry), &body);
            assert!((MAX_VALUES / 2..MAX_VALUES + 10_000).contains(&size(&found)), "{}", size(&found));
        }
        // Each element has all that is in it, of which nothing is text. The budget is spent before the last field.
        let nested = format!("{}{}", "<div>".repeat(400), "<script>x</script>".repeat(40_000));
        let mut entries = all("div[]");
        assert_eq!(read_all(&[("z", "b")], &format!("<b>y</b>{nested}"))["z"], "y");
        entries.push(("z", "b"));
        assert!(read_all(&entries, &format!("<b>y</b>{nested}")).is_empty());
        // A list that is long, and has nothing of the path.
        let list = format!("<script type='application/ld+json'>[{}0]</script><b>y</b>", "0,".repeat(400_000));
        let mut entries = all("jsonld:a.b");
        entries.push(("z", "b"));
        assert!(read_all(&entries, &list).is_empty());
    }

    /// Whatever a page holds, its fields are small and found in time that follows from its size.
    #[test]
    fn json_ld_is_read_as_pages_write_it() {
        for json in [
            "<!-- {\"a\":1} -->",
            "//<![CDATA[\n{\"a\":1}\n//]]>",
            "/*<![CDATA[*/{\"a\":1}/*]]>*/",
            "{\"a\":1};",
            "{\"b\":\"two\nlines\",\"a\":1},",
            "\u{feff}{\"b\":[1, 2 , ], \"a\":1 /* one */,\n}",
            "{ // \"a\":2\n\"a\": \"1\"}",
            "{\"b\":\"\\\", // \",\"a\":1}",
            "{\"a\":{\"@value\":\"1\"}}",
            "{\"@graph\":[{\"a\":{\"@type\":\"x\",\"@value\":1}}]}",
        ] {
            let page = format!("<script type='application/LD+JSON; charset=utf-8'>{json}</script>");
            assert_eq!(read("jsonld:a", &page), one("1"), "{json}");
        }
        for (json, value) in [
            ("\"// no comment, ]\"", Some("// no comment, ]")),
            ("10.50", Some("10.50")),
            ("-12345678901234567890.12", Some("-12345678901234567890.12")),
            ("1e5", Some("1e5")),
            ("null", None),
            ("\"never ends", None),
        ] {
            let page = format!("<script type='application/ld+json'>{{\"a\":{json}}}</script>");
            assert_eq!(read("jsonld:a", &page), value.map(Value::from), "{json}");
        }
    }

    #[test]
    fn a_node_stands_for_the_one_of_its_name() {
        let script = |json: &str| format!("<script type='application/ld+json'>{json}</script>");
        let page = script(
            r##"{"@graph":[{"@type":"Article","author":{"@id":"#p"}},{"@id":"#p","name":"Ann","boss":{"@id":"#q"}},
                {"@id":"#q","name":{"@id":"#q"},"home":{"@id":"#a"}},{"@id":"#a","town":"Ulm"}]}"##,
        ) + &script(r##"[{"@id":"#z","shop":{"@id":"x"}}]"##)
            + &script(r#"{"@id":"x","name":"Else"}"#);
        for (path, value) in [
            ("author.name", one("Ann")),
            ("shop.name", one("Else")),
            ("author.none", None),
            ("name[]", Some(serde_json::json!(["Ann", "Else"]))),
            // One step: others would have no end.
            ("author.boss.name", None),
            ("boss.home.town", None),
        ] {
            assert_eq!(read(&format!("jsonld:{path}"), &page), value, "{path}");
        }
    }

    #[test]
    fn lines_cells_and_items_are_words_of_their_own() {
        let page = "<p class=a>Main St 1<br>12345 <b>To</b>wn</p><ul class=b><li>41</li><li>42</li></ul>
            <dl class=c><dt>Weight<dd>5 kg</dl><table class=d><tr><td>1<td>2</table><p class=e>$19<sup>99</sup></p>
            <p class=f>a<noscript>b</noscript><style>c</style><template>d</template></p>";
        for (entry, value) in [
            (".a", "Main St 1 12345 Town"),
            (".b", "41 42"),
            (".c", "Weight 5 kg"),
            (".d", "1 2"),
            (".e", "$19⁹⁹"),
            (".f", "a"),
        ] {
            assert_eq!(read(entry, page), one(value), "{entry}");
        }
    }

    #[test]
    fn hostile_pages_have_bounded_fields() {
        let many = "<p>x</p>".repeat(100_000);
        assert!(matches!(read("p[]", &many), Some(Value::Array(found)) if found.len() == MAX_FIELD_VALUES));
        assert_eq!(read("p", &"<p></p>".repeat(100_000)), None);
        let long = format!("<p>{}", "ä".repeat(100_000));
        assert!(matches!(read("p", &long), Some(Value::String(text)) if text.len() == MAX_FIELD_BYTES));
        let script = |json: &str| format!("<script type='application/ld+json'>{json}</script><p>y</p>");
        let deep = script(&format!("{}1{}", "{\"a\":".repeat(10_000), "}".repeat(10_000)));
        assert_eq!(read("jsonld:a", &deep), None);
        let large = script(&format!("{{\"b\":\"{}\",\"a\":1}}", "x".repeat(1 << 20)));
        assert_eq!(read("jsonld:a", &large), None);
        assert_eq!(read("jsonld:a", &(large + &script("{\"a\":2}"))), one("2"));
        assert_eq!(read("p", &deep), one("y"));
        let nested = format!("{}<i>x", "<div>".repeat(5_000));
        assert!(read("div div div div i", &nested).is_none_or(|value| value == "x"));
    }
}

//! `recrawl mcp`: lets a model search the pages, read them, and see what changed. It changes nothing.

mod protocol;

use super::{changes, search, show};
use crate::cli::{ChangesArgs, OnCrawl, PastTime, SearchArgs, Where};
use protocol::ServedTools;
use recrawl_console::view::PageChange;
use recrawl_crawl::failure::Failure;
use recrawl_focus::words::head;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::io::{stdin, stdout};

/// Bytes of text of one call: some 10,000 words, as a model can take them in.
const MAX_TEXT: usize = 64 << 10;
/// Changes of one call.
const MAX_CHANGES: u32 = 50;
/// Bytes of a difference, so that several have room.
const MAX_DIFFERENCE: usize = 8 << 10;

pub fn run(at: &Where) -> Result<(), Failure> {
    // A wrong configuration is told to those who start it.
    at.settings_to_read()?;
    Ok(protocol::serve(stdin().lock(), stdout().lock(), &OfCrawl(at))?)
}

struct OfCrawl<'a>(&'a Where);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchCall {
    query: String,
    host: Option<String>,
    changed_since: Option<String>,
    limit: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadCall {
    url: String,
    #[serde(default)]
    from: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangesCall {
    since: Option<String>,
    #[serde(default)]
    pages: Vec<String>,
    #[serde(default)]
    kinds: Vec<String>,
    #[serde(default)]
    diff: bool,
    limit: Option<u32>,
    next: Option<String>,
}

impl ServedTools for OfCrawl<'_> {
    fn list(&self) -> Value {
        let text = |what: &str| json!({"type": "string", "description": what});
        let number = |what: &str, max: u32| json!({"type": "integer", "minimum": 1, "maximum": max, "description": what});
        let tool = |name: &str, what: &str, properties: Value, required: &[&str]| {
            json!({
                "name": name,
                "description": what,
                "inputSchema": {
                    "type": "object", "properties": properties, "required": required, "additionalProperties": false,
                },
                "annotations": {"readOnlyHint": true, "openWorldHint": false},
            })
        };
        let time = "a day (2026-01-31), a time (2026-01-31T12:00:00Z), today, yesterday, or how long ago ('7 days ago', 12h)";
        json!([
            tool(
                "search",
                "Search the texts of the crawled pages. Gives title, URL, time and a snippet of each, the best first.",
                json!({
                    "query": text("words; \"several words\" stand side by side, and -word must not be there"),
                    "host": text("only pages of this host, or of a domain as *.example.com"),
                    "changed_since": text(&format!("only pages with a new text since {time}")),
                    "limit": number("pages, 10 if left out", 100),
                }),
                &["query"],
            ),
            tool(
                "read",
                "Read the last text of a crawled page as Markdown, with its time, and whether the page is missing now.",
                json!({
                    "url": text("URL of the page"),
                    "from": {"type": "integer", "minimum": 0, "description": "where to go on, as the end of a long text says"},
                }),
                &["url"],
            ),
            tool(
                "changes",
                "List what changed on the crawled pages, newest first.",
                json!({
                    "since": text(&format!("only those since {time}")),
                    "pages": {
                        "type": "array", "items": {"type": "string"},
                        "description": "only these: example.com, *.example.com, https://example.com/a/*",
                    },
                    "kinds": {
                        "type": "array",
                        "items": {"enum": ["changed", "new", "gone", "back", "not_found", "failed"]},
                        "description": "only these; all but new pages if left out",
                    },
                    "diff": {"type": "boolean", "description": "with the difference of each"},
                    "limit": number("changes, 20 if left out", MAX_CHANGES),
                    "next": text("where to go on, as the end of a list says"),
                }),
                &[],
            ),
        ])
    }

    fn call(&self, name: &str, arguments: Value) -> Option<Result<String, String>> {
        match name {
            "search" => Some(self.search(arguments)),
            "read" => Some(self.read(arguments)),
            "changes" => Some(self.changes(arguments)),
            _ => None,
        }
    }
}

fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, String> {
    serde_json::from_value(arguments).map_err(|e| format!("wrong arguments: {e}"))
}

fn told(failure: Failure) -> String {
    failure.to_string()
}

impl OfCrawl<'_> {
    fn on(&self) -> OnCrawl {
        OnCrawl { at: self.0.clone(), json: false }
    }

    fn search(&self, arguments: Value) -> Result<String, String> {
        let SearchCall { query, host, changed_since, limit } = read(arguments)?;
        let args = SearchArgs {
            words: vec![query],
            host,
            changed_since: changed_since.as_deref().map(PastTime::parse).transpose()?,
            newest: false,
            limit: limit.unwrap_or(10).clamp(1, 100),
            on: self.on(),
        };
        let list = search::found(&args).map_err(told)?;
        let note = search::note(&list).map(|note| note + "\n");
        let rows = list.results.iter().flat_map(search::lines).map(|line| line + "\n");
        Ok(note.into_iter().chain(rows).collect())
    }

    fn read(&self, arguments: Value) -> Result<String, String> {
        let ReadCall { url, from } = read(arguments)?;
        let (of, text) = show::last_markdown(self.0, &url).map_err(told)?;
        let begin = head(&text, from).len();
        let end = head(&text, begin.saturating_add(MAX_TEXT)).len();
        let rest = match end < text.len() {
            true => format!("\n\n(cut; {} of {} bytes; go on with from = {end})", end - begin, text.len()),
            false => String::new(),
        };
        Ok(format!("{of}\n\n{}{rest}", &text[begin..end]))
    }

    fn changes(&self, arguments: Value) -> Result<String, String> {
        let ChangesCall { since, pages, kinds, diff, limit, next } = read(arguments)?;
        let mut args = ChangesArgs {
            since: since.as_deref().map(PastTime::parse).transpose()?,
            patterns: Vec::new(),
            pages,
            changes: kinds,
            diff,
            limit: limit.unwrap_or(20).clamp(1, MAX_CHANGES),
            cursor: next,
            on: self.on(),
        };
        let mut list = changes::listed(&args, MAX_DIFFERENCE).map_err(told)?;
        let fits = fitting(&list.changes);
        if fits < list.changes.len() {
            // Asked again, so that its `next` is behind the last one that is told.
            args.limit = fits as u32;
            list = changes::listed(&args, MAX_DIFFERENCE).map_err(told)?;
        }
        let rows = list.changes.iter().flat_map(changes::lines);
        let more = list.next.map(|next| format!("(older changes: ask again with next = {next:?})"));
        let rows: Vec<String> = rows.chain(more).collect();
        Ok(if rows.is_empty() { "no change found".into() } else { rows.join("\n") })
    }
}

/// The number of changes that have room in one answer; at least one.
fn fitting(changes: &[PageChange]) -> usize {
    let mut bytes = 0;
    let fits = changes.iter().take_while(|change| {
        bytes += changes::lines(change).iter().map(|line| line.len() + 1).sum::<usize>();
        bytes <= MAX_TEXT
    });
    fits.count().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_fill_an_answer_and_no_more() {
        let change = |bytes: usize| PageChange {
            id: String::new(),
            kind: "changed",
            url: "https://a.example/".into(),
            cycle: 1,
            round: 1,
            time: 1,
            status: None,
            reason: None,
            title: None,
            difference: Some("x".repeat(bytes)),
            is_cut: false,
            no_text: None,
            hint: None,
        };
        assert_eq!(fitting(&[]), 1);
        assert_eq!(fitting(&[change(MAX_TEXT * 2), change(1)]), 1);
        let many: Vec<PageChange> = (0..50).map(|_| change(MAX_DIFFERENCE)).collect();
        assert_eq!(fitting(&many), MAX_TEXT / MAX_DIFFERENCE - 1);
        assert_eq!(fitting(&many[..3]), 3);
    }
}

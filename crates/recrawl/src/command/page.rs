//! `recrawl page test`: what a rule of `[[pages]]` leaves of a page, before or after it is in the configuration.

use super::peek::{self, PeekedPages};
use super::show::{MAX_SHOWN_DIFF, archived, now};
use super::{print, print_json, print_labelled, thousands};
use crate::cli::{PageCommand, PageTestArgs};
use crate::daemon::Daemon;
use crate::texts::{ArchivedText, document_of, extracted, last_two, unified};
use recrawl_archive::timestamp;
use recrawl_crawl::config::operator_file;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::page_rules::Lists;
use recrawl_crawl::settings::Settings;
use recrawl_extractor::{BodyFields, CountedPart, Extracted, PageContent, PartError, extract_part};
use recrawl_types::CanonicalUrl;
use serde_json::{Value, json};
use std::path::Path;

pub fn run(command: &PageCommand) -> Result<(), Failure> {
    let PageCommand::Test(args) = command;
    match &args.file {
        Some(file) => test_file(args, file),
        None => test_archived(args),
    }
}

/// The rule that is tested.
struct TestedRule {
    words: String,
    lists: Lists,
    part: Option<CountedPart>,
}

impl TestedRule {
    fn new(args: &PageTestArgs, settings: &Settings, url: &CanonicalUrl) -> Result<TestedRule, Failure> {
        let PageTestArgs { include, ignore, ignore_text, no_rule, .. } = args;
        let lists = Lists {
            include: include.clone(),
            ignore: ignore.clone(),
            ignore_text: ignore_text.clone(),
            ..Lists::default()
        };
        if !lists.are_empty() {
            let failed =
                |PartError { key, why }| Failure::Usage(format!("--{}: {why}", key.replace('_', "-")));
            let part = Some(lists.part().map_err(failed)?);
            return Ok(TestedRule { words: "of the command line".into(), lists, part });
        }
        match settings.pages.rule_for(url).filter(|_| !no_rule) {
            Some(rule) => Ok(TestedRule {
                words: format!("[[pages]] match {:?}", rule.matches),
                lists: rule.lists.clone(),
                part: Some(rule.part.clone()),
            }),
            None => Ok(TestedRule { words: "none: the whole page counts".into(), lists, part: None }),
        }
    }

    /// The rule left nothing: a mistake in most cases, so the exit code tells it.
    fn check(&self, url: &CanonicalUrl, left: &PageContent) -> Result<(), Failure> {
        if !left.text.is_empty() || self.part.is_none() {
            return Ok(());
        }
        let why = match self.lists.include.is_empty() {
            _ if left.is_given_up => {
                "its selectors need more steps than a page of its size may take; write fewer selectors, and none with ~, -of-type, [class~=x] or nested combinators"
            }
            true => "ignore and ignore_text cover all of it",
            false => "include matches no element with text outside of ignore",
        };
        Err(Failure::Work(format!("{url}: the rule leaves no text of this page: {why}")))
    }
}

fn test_file(args: &PageTestArgs, file: &Path) -> Result<(), Failure> {
    let settings = args.on.at.settings()?;
    let url = settings.named_page(&args.url)?;
    let body = operator_file::read(file, operator_file::MAX_DATA)
        .map_err(|e| Failure::Usage(format!("--file: cannot read {}: {e}", file.display())))?;
    let tested = TestedRule::new(args, &settings, &url)?;
    let page_of = |part: Option<&CountedPart>| match extract_part(
        &body,
        &BodyFields::default(),
        &url,
        &settings.rules,
        &settings.reading,
        part,
    ) {
        Extracted::Page(page) => Ok(page),
        _ => Err(Failure::Work(format!("--file: {} is neither HTML nor plain text", file.display()))),
    };
    let (whole, left) = (page_of(None)?.text, page_of(tested.part.as_ref())?);
    match args.on.json {
        true => print_json(&json(&url, &tested, &whole, &left, Value::Null))?,
        false => head(&url, &tested, &whole, &left)?,
    }
    tested.check(&url, &left)
}

fn test_archived(args: &PageTestArgs) -> Result<(), Failure> {
    let (archived_page, looked);
    let page = match archived(&args.on.at, &args.url) {
        Ok(found) => {
            archived_page = found;
            &archived_page
        }
        Err(failure) => {
            looked = never_fetched(args, failure)?;
            &looked.pages[0]
        }
    };
    let (url, settings) = (&page.url, &page.settings);
    let tested = TestedRule::new(args, settings, url)?;
    // Redirects have no text of the page.
    let mut versions = page.versions().filter(|version| {
        version.as_ref().map_or(true, |version| (200..300).contains(&version.answer.status()))
    });
    let Some(newest) = versions.next() else {
        return Err(page.failure(&page.none(now())));
    };
    let newest = newest.map_err(|missing| page.failure(&missing))?;
    peek::refuse_type(settings, url, &newest.answer)?;
    let page_of = |part| match extracted(&newest.answer, url, settings, part) {
        Extracted::Page(page) => Ok(page),
        _ => Err(Failure::Work(format!(
            "{url}: its last version is not HTML or plain text, so no rule concerns it"
        ))),
    };
    let (whole, left) = (page_of(None)?.text, page_of(tested.part.as_ref())?);
    // Both versions are read by the rule as it is now, so that only their contents can differ.
    let two = |part| last_two(page.versions(), url, &page.visited, settings, part, now());
    let found = two(tested.part.as_ref());
    if args.on.json {
        print_json(&json(url, &tested, &whole, &left, document_of(found)))?;
        return tested.check(url, &left);
    }
    head(url, &tested, &whole, &left)?;
    match found {
        Err(missing) => print_labelled(format!("difference  none: {}", missing.why))?,
        Ok([newer, older]) => {
            let of = format!("from {} to {}", at(&older), at(&newer));
            let without = || tested.part.as_ref().and_then(|_| two(None).ok());
            match newer.text == older.text {
                true if without().is_some_and(|[newer, older]| newer.text != older.text) => {
                    print_labelled(format!("difference  none {of} under the rule; the whole texts differ"))?;
                }
                true => print_labelled(format!("difference  none {of}"))?,
                false => {
                    print_labelled(format!("difference  {of}:"))?;
                    print(unified(&older, &newer, MAX_SHOWN_DIFF).text.trim_end())?;
                }
            }
        }
    }
    // Last: a rule that leaves nothing fails, and the reader should have seen why.
    tested.check(url, &left)
}

/// Fetches a page that no crawl has fetched. `failure` says why the archive has nothing of it.
fn never_fetched(args: &PageTestArgs, failure: Failure) -> Result<PeekedPages, Failure> {
    let settings = args.on.at.settings()?;
    let Ok(mut url) = settings.rules.canonicalize(&args.url) else { return Err(failure) };
    let mut known = None;
    if let Ok(repository) = open_read::repository(&settings) {
        (url, known) = settings.known_page(&args.url, &repository.current())?;
    }
    if known.is_some_and(|(_, record)| record.visited.is_some()) {
        return Err(failure);
    }
    // A second process would not keep the delay of the host.
    match Daemon::in_charge(&settings.data_dir)? {
        Some(_) => Err(Failure::Work(format!("{failure}; `recrawl fetch {url} --wait` fetches it"))),
        None => peek::look(&settings, &[url]),
    }
}

fn at(text: &ArchivedText) -> String {
    timestamp(text.time * 1000)
}

fn head(url: &CanonicalUrl, tested: &TestedRule, whole: &str, left: &PageContent) -> Result<(), Failure> {
    print_labelled(format!("url         {url}"))?;
    print_labelled(format!("rule        {}", tested.words))?;
    let Lists { include, ignore, ignore_text, .. } = &tested.lists;
    for (name, list) in [("include", include), ("ignore", ignore), ("ignore_text", ignore_text)] {
        if !list.is_empty() {
            print_labelled(format!("{name:<10}  {}", list.join(" | ")))?;
        }
    }
    let [counts, all] = [left.text.len(), whole.len()].map(|bytes| thousands(bytes as u64));
    print_labelled(format!("text        {counts} of {all} bytes count"))?;
    match left.text.is_empty() {
        true => Ok(()),
        false => print(format!("\n{}\n", left.text)),
    }
}

fn json(
    url: &CanonicalUrl,
    tested: &TestedRule,
    whole: &str,
    left: &PageContent,
    difference: Value,
) -> Value {
    json!({
        "url": url.as_text(), "rule": tested.words, "lists": tested.lists, "whole_bytes": whole.len(),
        "text": left.text, "given_up": left.is_given_up, "difference": difference,
    })
}

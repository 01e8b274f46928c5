//! Turns a fetched page into a visit: parses it, compares it, and prepares its archive record.
//!
//! It has no side effects but cached noise floors, and pages are independent, so workers share
//! nothing.

use crate::admission::consent;
use crate::admission::scope::Scope;
use crate::capture::{self, truncation};
use crate::config;
use crate::cycle::hints::HintRules;
use crate::failure::Failure;
use crate::page_rules::{KnownRules, PageRule, PageRules};
use crate::parts::focus::reading::{FocusReader, JudgedPage};
use crate::parts::noise::site::SiteNoise;
use crate::parts::repeated_links::RepeatedLinks;
use crate::parts::traps::Traps;
use crate::parts::trust;
use bytes::Bytes;
use recrawl_archive::cap::Bodies;
use recrawl_archive::{Compressor, EarlierCapture, Record};
use recrawl_change::noise::remember;
use recrawl_change::{ChangeRules, Compared};
use recrawl_extractor::{CountedPart, ExtractOptions, Extracted, FoundLink, Hub};
use recrawl_fetcher::{FetchResult, FetchedPage, Response};
use recrawl_focus::Words;
use recrawl_types::{
    ArchivePosition, ArchivedBody, CanonicalUrl, Change, Consent, Content, ContentDifference, ContentKind,
    Cycle, Fingerprint, LeftOut, Link, Outcome, Round, Skip, UrlRules, Validators, Visit, Visited,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Everything needed to parse a page.
pub struct PageReader<'c> {
    pub cycle: Cycle,
    /// The round, if its responses are to be told apart by it: notifications and requisites find theirs so.
    pub round: Option<Round>,
    /// URL normalization.
    pub rules: &'c UrlRules,
    pub scope: &'c Scope,
    /// Change detection.
    pub change: &'c ChangeRules,
    /// Trap patterns that are cut off.
    pub traps: &'c Traps,
    /// Noise floors of sites.
    pub noise: &'c SiteNoise<'c>,
    /// Options of the extractor.
    pub reading: &'c ExtractOptions,
    /// The parts of pages that count.
    pub pages: &'c PageRules,
    /// The rules under which earlier visits read it.
    pub known_rules: &'c KnownRules,
    /// Page directives that are obeyed.
    pub consent: &'c config::Consent,
    /// Rules for sitemaps and feeds.
    pub hints: &'c HintRules<'c>,
    /// Are bodies archived?
    pub archive: bool,
    /// Tells links that were merged before.
    pub repeated_links: &'c RepeatedLinks<'c>,
    /// Judges pages and links, if the crawl is focused.
    pub focus: Option<FocusReader<'c>>,
    /// The present WARC files: a body whose file was removed is archived again.
    pub bodies: &'c Bodies,
}

/// Tools that a thread that parses pages keeps from page to page.
pub struct Tools {
    compressor: Compressor,
    /// For the words of pages, if the crawl is focused.
    words: Option<Words>,
}

impl Tools {
    pub fn new(is_focused: bool) -> Tools {
        Tools { compressor: Compressor::new(), words: is_focused.then(Words::new) }
    }
}

/// A parsed and compared page.
pub struct ReadPage {
    /// For the visit log.
    pub visit: Visit,
    /// The hub that a feed names.
    pub hub: Option<Hub>,
    /// For the archive: one gzip member.
    pub member: Option<Vec<u8>>,
    /// Does the member contain the body? Otherwise it refers to an earlier record.
    pub holds_body: bool,
    /// Cost of parsing: [`Extracted::work`].
    pub work: u64,
}

impl PageReader<'_> {
    /// Parses one page. If the extractor panics, only this page is affected: it is recorded as
    /// failed, and backs off like any other failure.
    ///
    /// # Errors
    /// When the noise floor of the site cannot be read.
    pub fn read(&self, page: FetchedPage, tools: &mut Tools) -> Result<ReadPage, Failure> {
        let _page = tracing::error_span!("page", host = %page.entry.url.host()).entered();
        let mut failed = blank_visit(&page);
        failed.outcome = Outcome::Failed(recrawl_types::Failure::Encoding);
        let reading = AssertUnwindSafe(|| self.read_sound(page, tools));
        let read = catch_unwind(reading).unwrap_or_else(|_| {
            tracing::error!(url = %failed.url, "internal error while parsing the page; please report it");
            *tools = Tools::new(self.focus.is_some());
            Ok(ReadPage { visit: failed, hub: None, member: None, holds_body: false, work: 0 })
        })?;
        let Visit { url, outcome, bytes, .. } = &read.visit;
        let (outcome, why) = (outcome.name(), outcome.why());
        tracing::debug!(%url, outcome, why, bytes, "visited");
        Ok(read)
    }

    fn read_sound(&self, page: FetchedPage, tools: &mut Tools) -> Result<ReadPage, Failure> {
        let mut visit = blank_visit(&page);
        let (mut work, mut hub) = (0, None);
        let member = match &page.result {
            FetchResult::Page(response) => {
                let rule = self.pages.rule_for(&page.entry.url);
                let mut extracted = self.extract(&page, response, rule.and_then(PageRule::part));
                if let Extracted::Listing(listing, _) = &mut extracted {
                    hub = listing.hub.take();
                }
                work = extracted.work();
                let content_type = response.content_type.as_deref();
                match self.scope.refuse_type(content_type, &response.body, &extracted) {
                    None => self.document(&page, response, rule, extracted, &mut visit, tools)?,
                    Some(_) => {
                        // The budgets of bytes count what was read.
                        visit.bytes = response.body.len() as u64;
                        visit.outcome = Outcome::Skipped(Skip::MediaType);
                        None
                    }
                }
            }
            FetchResult::NotModified(response) => {
                let visited = page.entry.record.visited.as_ref();
                let renewed = visited.map(|v| self.renewed(&v.content, response, &visit));
                if let Some((visited, renewed)) = visited.zip(renewed.as_ref()) {
                    // Most 304s bring nothing new: without content in the visit, the merge keeps that of the
                    // record.
                    visit.content = Some(renewed).filter(|renewed| **renewed != visited.content).cloned();
                    let rule = self.pages.rule_for(&page.entry.url);
                    visit.difference = self.difference(visited, &visited.content, rule);
                }
                // The header of a 304 may forbid the archive from now on.
                match renewed.is_none_or(|content| self.consent.admits_archive(&content.consent, visit.at)) {
                    true => {
                        let of = visited.and_then(|v| self.capture_of(&v.content));
                        let record = Record::NotModified { of: of.map(|(_, capture)| capture) };
                        self.member(&visit, response, &record, &mut tools.compressor)
                    }
                    false => None,
                }
            }
            FetchResult::Redirect { target, response } => {
                self.redirect(&page, target, &mut visit);
                if let Some(content) = visit.content.as_mut().filter(|_| !self.archive) {
                    content.keep_versions(content_before(&page), ArchivedBody::Earlier);
                }
                let before = body_before(&page);
                let record = Record::Response { truncated: None, body: b"", before };
                self.member(&visit, response, &record, &mut tools.compressor)
            }
            FetchResult::Nothing(outcome) => {
                visit.outcome = *outcome;
                None
            }
        };
        let before = page.entry.record.visited.as_ref().map(|v| v.content.payload);
        let is_same = before.is_some() && visit.content.as_ref().map(|c| c.payload) == before;
        visit.sign = trust::sign(page.condition, &page.result, visit.outcome.change(), is_same);
        self.choose_links(&page, &mut visit)?;
        let holds_body = visit.content.as_ref().is_some_and(|c| c.archive.is_none())
            && !matches!(page.result, FetchResult::NotModified(_));
        Ok(ReadPage { visit, hub, member, holds_body, work })
    }

    fn extract(&self, page: &FetchedPage, response: &Response, part: Option<&CountedPart>) -> Extracted {
        let mut extracted = self.extract_from(page, response, response.rendered.as_ref(), part);
        if let Extracted::Page(read) = &mut extracted {
            for url in response.navigations.iter().filter_map(|url| self.rules.canonicalize(url).ok()) {
                if url != page.entry.url && read.links.iter().all(|link| link.url != url) {
                    read.links.push(FoundLink { url, nofollow: false, anchor: String::new(), framed: false });
                }
            }
        }
        extracted
    }

    /// From the rendered document, or else from the body.
    fn extract_from(
        &self,
        page: &FetchedPage,
        response: &Response,
        rendered: Option<&Bytes>,
        part: Option<&CountedPart>,
    ) -> Extracted {
        let (mut fields, url) = (consent::fields(response), &page.entry.url);
        if rendered.is_some() {
            fields = fields.rendered(&response.body, url, &self.reading.types);
        }
        let body = rendered.unwrap_or(&response.body);
        recrawl_extractor::extract_part(body, &fields, url, self.rules, self.reading, part)
    }

    /// The content as the rule of the last visit would have made it, if that was another one and is known.
    fn under_rule_of(
        &self,
        before: &Content,
        page: &FetchedPage,
        response: &Response,
        rule: Option<&PageRule>,
        content: &Content,
    ) -> Option<Content> {
        // The first text that a command makes of a document: the document is compared as before.
        if response.is_converted && before.kind == ContentKind::Opaque {
            let fingerprint = Fingerprint::of_bytes(&response.body);
            return Some(Content { kind: before.kind, fingerprint, rule: before.rule, ..content.clone() });
        }
        let lists = self.known_rules.lists(before);
        let is_text = matches!(content.kind, ContentKind::Text | ContentKind::Hints);
        let converter = lists.map_or(&[][..], |lists| &lists.converter);
        let is_of_other = !converter.is_empty() && rule.map_or(&[][..], |rule| &rule.convert) != converter;
        if before.kind != ContentKind::Opaque && before.rule != content.rule && is_of_other {
            // Another command made the text, or none makes one any more: nothing can be compared.
            let (kind, fingerprint) = (before.kind, before.fingerprint);
            return Some(Content { kind, fingerprint, rule: before.rule, ..content.clone() });
        }
        if !is_text || before.kind != content.kind || before.rule == content.rule {
            return None;
        }
        let fingerprint = match before.payload == content.payload {
            true => before.fingerprint,
            false => {
                let selection = self.known_rules.of_content(before)?;
                let is_made = lists.is_some_and(|lists| lists.is_rendered) || !converter.is_empty();
                let rendered = match is_made {
                    true => Some(response.rendered.as_ref()?),
                    false => None,
                };
                let extracted = self.extract_from(page, response, rendered, selection.part());
                let (kind, fingerprint) = self.fingerprint(&extracted, response);
                (kind == content.kind).then_some(fingerprint)?
            }
        };
        Some(Content { fingerprint, rule: before.rule, ..content.clone() })
    }

    fn fingerprint(&self, extracted: &Extracted, response: &Response) -> (ContentKind, Fingerprint) {
        match extracted {
            Extracted::Page(read) => (ContentKind::Text, self.change.fingerprint(&read.text)),
            Extracted::Listing(hints, _) => {
                (ContentKind::Hints, Fingerprint::of_bytes(&hints.comparable_bytes()))
            }
            Extracted::Opaque(..) => (ContentKind::Opaque, Fingerprint::of_bytes(&response.body)),
        }
    }

    /// Did a page that had text answer without any, at one visit so far? Servers do so by mistake, so only
    /// the next such visit is a change.
    fn is_first_blank(&self, before: &Content, content: &Content, response: &Response) -> bool {
        let blank = self.change.fingerprint("").digest;
        let is_blank =
            |content: &Content| content.kind == ContentKind::Text && content.fingerprint.digest == blank;
        (is_blank(content) || response.body.is_empty())
            && !is_blank(before)
            && before.kind != ContentKind::Redirect
            && before.within_noise & 1 == 0
    }

    /// 2xx: compares the page and collects links.
    fn document(
        &self,
        page: &FetchedPage,
        response: &Response,
        rule: Option<&PageRule>,
        extracted: Extracted,
        visit: &mut Visit,
        tools: &mut Tools,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let (kind, fingerprint) = self.fingerprint(&extracted, response);
        let number = rule.map_or(0, |rule| match (kind, &response.rendered) {
            // So that a page of another type is asked whole only once under the rule of a command.
            (ContentKind::Opaque, _) if !rule.convert.is_empty() => rule.converted_number,
            (ContentKind::Opaque, _) => 0,
            (_, Some(_)) if response.is_converted => rule.converted_number,
            (_, Some(_)) => rule.rendered_number,
            (_, None) => rule.number,
        });
        let rule = rule.filter(|_| matches!(kind, ContentKind::Text | ContentKind::Hints));
        let mut content = Content {
            kind,
            fingerprint,
            rule: number,
            within_noise: 0,
            payload: payload(response),
            // Of the document that was sent: they say nothing of what its scripts load.
            validators: match response.rendered {
                Some(_) if !response.is_converted => Validators::default(),
                _ => response.validators.clone(),
            },
            archive: None,
            archived_at: 0,
            archived: ArchivedBody::Last,
            consent: extracted.consent().clone(),
            merged_links: Box::default(),
        };
        let change = self.compare(page, response, rule, &extracted, &mut content, visit)?;
        visit.outcome = Outcome::Fetched(change);
        visit.bytes = response.body.len() as u64;
        // A sitemap or feed is no page of any genre, and tells of others.
        let is_listing = matches!(extracted, Extracted::Listing(..));
        let judged = self.focus.as_ref().zip(tools.words.as_mut()).filter(|_| !is_listing);
        let judged = judged.map(|(focus, words)| {
            let text = match &extracted {
                Extracted::Page(text) => Some(text),
                _ => None,
            };
            (focus.judge(&page.entry.url, &page.entry.record.known, text, words), focus, words)
        });
        visit.verdict = judged.as_ref().map(|(judged, ..)| judged.verdict);
        if self.consent.follows(&content.consent) {
            visit.links = self.links(page, extracted, &content.consent, change, judged)?;
        }
        self.archived(page, response, change, content, visit, tools)
    }

    /// Compares the page with its last visit; notes the difference in the visit, and what lies within noise in the content.
    fn compare(
        &self,
        page: &FetchedPage,
        response: &Response,
        rule: Option<&PageRule>,
        extracted: &Extracted,
        content: &mut Content,
        visit: &mut Visit,
    ) -> Result<Change, Failure> {
        let before = page.entry.record.visited.as_ref();
        match before {
            // A redirect's target is compared at the merge, which knows its record. Other pages outside of the schedule were
            // asked for, and bring theirs; they have no other visit in the round.
            None if page.index.is_none() => Ok(Change::Undecided),
            None => Ok(Change::First),
            Some(Visited { content: before, .. }) if self.is_first_blank(before, content, response) => {
                *content = blank_after(before, std::mem::take(content));
                Ok(Change::Unchanged)
            }
            Some(visited) => {
                let before = &visited.content;
                let under_rule = self.under_rule_of(before, page, response, rule, content);
                let after = under_rule.as_ref().unwrap_or(content);
                visit.difference = self.difference(visited, after, rule);
                let found = match extracted {
                    // Earlier releases compared only the entries of feeds.
                    Extracted::Listing(hints, _)
                        if before.fingerprint == Fingerprint::of_bytes(&hints.entry_bytes()) =>
                    {
                        Compared::Equal
                    }
                    _ => self.noise.compare(&page.entry.url, visited, after)?,
                };
                content.within_noise = remember(before.within_noise, found);
                Ok(if found == Compared::Changed { Change::Changed } else { Change::Unchanged })
            }
        }
    }

    /// Adds the content to the visit; its record for the archive, unless the page forbids one.
    fn archived(
        &self,
        page: &FetchedPage,
        response: &Response,
        change: Change,
        mut content: Content,
        visit: &mut Visit,
        tools: &mut Tools,
    ) -> Result<Option<Vec<u8>>, Failure> {
        if !self.consent.admits_archive(&content.consent, visit.at) {
            content.keep_versions(content_before(page), ArchivedBody::Withheld);
            visit.content = Some(content);
            return Ok(None);
        }
        // What is told of a change is the body of its own visit.
        let same = page.entry.record.visited.as_ref().map(|before| &before.content);
        let same = same.filter(|b| b.payload == content.payload && change != Change::Changed);
        let record = match same.and_then(|b| self.capture_of(b)) {
            Some((position, of)) => {
                (content.archive, content.archived_at) = (Some(position), of.at);
                Record::Same { body: &response.body, of }
            }
            None => {
                if !self.archive {
                    content.keep_versions(content_before(page), ArchivedBody::Earlier);
                }
                let (truncated, before) = (response.cut.map(truncation), body_before(page));
                Record::Response { truncated, body: &response.body, before }
            }
        };
        visit.content = Some(content);
        let mut member = self.member(visit, response, &record, &mut tools.compressor);
        if let (Some(document), Some(member), Record::Response { .. }) =
            (&response.rendered, &mut member, &record)
        {
            let url = visit.url.as_text();
            member.extend(recrawl_archive::rendered(&mut tools.compressor, &url, visit.at, document));
        }
        Ok(member)
    }

    /// The links of a page, a sitemap or a feed.
    fn links(
        &self,
        page: &FetchedPage,
        extracted: Extracted,
        consent: &Consent,
        change: Change,
        mut judged: Option<(JudgedPage, &FocusReader<'_>, &mut Words)>,
    ) -> Result<Vec<Link>, Failure> {
        let (found, feeds) = match extracted {
            Extracted::Listing(hints, _) => return self.hints.entries(page, hints).map_err(Failure::from),
            Extracted::Page(read) => (read.links, read.feeds),
            Extracted::Opaque(_, links) => (links, Vec::new()),
        };
        let depth = page.entry.record.known.depth.saturating_add(1);
        let counted = change == Change::First;
        let followed = self.consent.links(found, consent).into_iter();
        let in_scope = followed.filter(|link| self.scope.admits_link(&link.url, depth));
        let links = in_scope.map(|link| {
            let expected =
                judged.as_mut().map(|(judged, focus, words)| focus.expectation(judged, &link, words));
            Link { counted, expectation: expected, ..Link::to(link.url, depth) }
        });
        Ok(links.chain(self.hints.feeds(page, feeds)).collect())
    }

    /// Leaves out links that must not be recorded, or need no merge; sitemaps and redirects lead into traps as well. Then adds
    /// the sitemaps that robots.txt names.
    fn choose_links(&self, page: &FetchedPage, visit: &mut Visit) -> Result<(), Failure> {
        let (left_out, has_probe) = self.traps.sift(self.scope.filters(), &mut visit.links)?;
        visit.left_out = left_out;
        let may_repeat = matches!(visit.outcome, Outcome::Fetched(_))
            // A cycle has a quota of probes of traps, and each link to one uses it.
            && !has_probe
            // A focused crawl learns from each link.
            && self.focus.is_none();
        if let Some(content) = visit.content.as_mut().filter(|_| may_repeat) {
            let before = page.entry.record.visited.as_ref();
            let before = before.map_or(&[][..], |visited| &visited.content.merged_links);
            let found = visit.links.len();
            content.merged_links = self.repeated_links.leave_out(&mut visit.links, before)?;
            visit.left_out.repeated = (found - visit.links.len()) as u32;
        }
        // Apart from the others, since robots.txt is not fetched with each visit.
        let mut named = self.hints.named(page);
        let (LeftOut { filtered, trapped, .. }, _) = self.traps.sift(self.scope.filters(), &mut named)?;
        visit.left_out.filtered += filtered;
        visit.left_out.trapped += trapped;
        visit.links.extend(named);
        Ok(())
    }

    /// 3xx: changed exactly if the target differs from that of the last visit.
    fn redirect(&self, page: &FetchedPage, target: &CanonicalUrl, visit: &mut Visit) {
        let content = Content {
            kind: ContentKind::Redirect,
            fingerprint: Fingerprint::of_redirect(target),
            ..Content::default()
        };
        let change = match page.entry.record.visited.as_ref().map(|v| &v.content) {
            None if page.index.is_none() => Change::Undecided,
            None => Change::First,
            Some(b) if b.kind == content.kind && b.fingerprint == content.fingerprint => Change::Unchanged,
            Some(_) => Change::Changed,
        };
        let known = &page.entry.record.known;
        if self.scope.admits_link(target, known.depth) {
            let hops = page.hops.saturating_add(1);
            // The target takes the place of what the links lead to.
            let expectation = known.expectation.filter(|_| self.focus.is_some());
            visit.links.push(Link { hops, expectation, ..Link::to(target.clone(), known.depth) });
        } else if known.depth == 0
            && change != Change::Unchanged
            && let Some(why) = self.scope.refuse(target)
        {
            // Otherwise a site that moved ends the crawl in silence.
            tracing::warn!("{} redirects to {target}, which is not visited: {why}", page.entry.url);
        }
        visit.outcome = Outcome::Redirected(change);
        visit.content = Some(content);
    }

    /// After a 304: the content of the last visit, with new validators if any came, and with
    /// directives added by the header. Archived bodies that these forbid are withheld.
    fn renewed(&self, before: &Content, response: &Response, visit: &Visit) -> Content {
        let Validators { etag, last_modified } = response.validators.clone();
        let old = before.validators.clone();
        let validators =
            Validators { etag: etag.or(old.etag), last_modified: last_modified.or(old.last_modified) };
        let fields = consent::fields(response);
        let added = recrawl_extractor::consent_of_header(&fields, &visit.url, self.rules, self.reading);
        let consent = before.consent.and(&added);
        let archived = match self.consent.admits_archive(&consent, visit.at) {
            false if before.archive.is_some() => ArchivedBody::Withheld,
            _ => before.archived,
        };
        let within_noise = remember(before.within_noise, Compared::Equal);
        Content { validators, consent, archived, within_noise, ..before.clone() }
    }

    /// The capture that holds the body of a content, if it is present.
    fn capture_of(&self, content: &Content) -> Option<(ArchivePosition, EarlierCapture)> {
        let position = content.body().filter(|position| self.bodies.has(*position))?;
        Some((position, EarlierCapture { at: content.archived_at }))
    }

    /// Distance of the texts, if both visits saw text. Where a rule says what part of a page counts, it tells
    /// nothing of the noise of other pages.
    fn difference(
        &self,
        before: &Visited,
        after: &Content,
        rule: Option<&PageRule>,
    ) -> Option<ContentDifference> {
        let Visited { history, content } = before;
        let distance =
            recrawl_change::distance(content, after).filter(|_| rule.and_then(PageRule::part).is_none())?;
        let same_digest = content.fingerprint.digest == after.fingerprint.digest;
        Some(ContentDifference {
            same_digest,
            distance: distance as u8,
            cycles: self.cycle.since(history.last),
        })
    }

    fn member(
        &self,
        visit: &Visit,
        response: &Response,
        record: &Record<'_>,
        compressor: &mut Compressor,
    ) -> Option<Vec<u8>> {
        if !self.archive {
            return None;
        }
        let url = visit.url.as_text();
        let (head, headers) = capture::head(&url, visit.at, response, self.round);
        Some(record.compress(compressor, &head, headers))
    }
}

/// The content of a page that answered without text for the first time: what it had is still compared. The next request is
/// unconditional, so that an answer says whether it stays so.
fn blank_after(before: &Content, blank: Content) -> Content {
    let Content { kind, fingerprint, rule, .. } = *before;
    let within_noise = remember(before.within_noise, Compared::WithinNoise);
    Content { kind, fingerprint, rule, within_noise, validators: Validators::default(), ..blank }
}

/// The payload of a response: for a rendered page, of the body and of the document.
fn payload(response: &Response) -> u64 {
    let sent = Content::payload_of(&response.body);
    let both = |rendered| [sent, Content::payload_of(rendered)].map(u64::to_le_bytes).concat();
    response.rendered.as_ref().map_or(sent, |rendered| Content::payload_of(&both(rendered)))
}

/// A visit with only its page and time known.
fn blank_visit(page: &FetchedPage) -> Visit {
    Visit {
        url: page.entry.url.clone(),
        index: page.index,
        share: page.entry.share,
        standing: page.entry.standing,
        at: page.at,
        took: page.elapsed.as_millis().try_into().unwrap_or(u32::MAX),
        outcome: Outcome::NotModified,
        content: None,
        difference: None,
        sign: None,
        left_out: LeftOut::default(),
        links: Vec::new(),
        bytes: 0,
        verdict: None,
    }
}

fn content_before(page: &FetchedPage) -> Option<&Content> {
    page.entry.record.visited.as_ref().map(|visited| &visited.content)
}

/// Position of the last archived body.
fn body_before(page: &FetchedPage) -> Option<ArchivePosition> {
    content_before(page).and_then(|content| content.archive)
}

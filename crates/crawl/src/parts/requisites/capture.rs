//! Reads pages and answers, and makes records of them. No request is made here.

use crate::admission::consent;
use crate::capture::head;
use crate::config::Consent;
use recrawl_archive::answer::ArchivedAnswer;
use recrawl_archive::{ArchiveReader, Compressor, Record};
use recrawl_extractor::{
    BodyFields, ExtractOptions, Extracted, Requisite, RequisiteKind, consent_of_header, extract, media_type,
    requisites,
};
use recrawl_fetcher::{FetchResult, Response};
use recrawl_repository::{RequisiteChange, RequisiteRow};
use recrawl_types::{ArchivePosition, CanonicalUrl, Content, Round, UrlRules};
use std::sync::Arc;
use std::time::Duration;

/// A requisite for the recorder.
pub struct RequisiteRecord {
    /// Its URL.
    pub url: CanonicalUrl,
    /// For the archive; none where the answer is what is there. Its place becomes that of a row that it replaces.
    pub member: Option<Vec<u8>>,
    /// For the table, once the member is durable.
    pub change: RequisiteChange,
}

/// Takes records to the recorder; may block.
pub type RecordSink = Arc<dyn Fn(RequisiteRecord) + Send + Sync>;

/// The outcome of an answer.
pub enum AnswerRecord {
    /// There is nothing to keep.
    Nothing,
    /// It is too large, or of another type.
    Refused,
    /// It asks not to be archived.
    Withdrawn,
    /// A record, and the requisites that it names.
    Record(Box<RequisiteRecord>, Arc<[Requisite]>),
}

/// The requisites of a page.
#[derive(Default)]
pub struct OfPage {
    /// Is the page archived itself?
    pub is_archived: bool,
    pub requisites: Vec<Requisite>,
    /// Further ones, beyond the limit.
    pub left_out: usize,
}

/// The kind of what a browser loaded: documents name requisites of their own.
pub fn kind_of_loaded(result: &FetchResult) -> RequisiteKind {
    match result {
        FetchResult::Page(response) if is_document(response) => RequisiteKind::Frame,
        _ => RequisiteKind::Script,
    }
}

/// Reads pages and answers of a round.
pub struct RequisiteReader {
    pub archive: ArchiveReader,
    pub consent: Consent,
    pub reading: ExtractOptions,
    pub urls: UrlRules,
    pub max_body: u64,
    pub max_document: u64,
    pub max_fresh: Duration,
    /// Requisites that a document or style sheet names at most.
    pub max_named: usize,
    pub round: Round,
}

impl RequisiteReader {
    /// May what was archived stay so, by the header of an answer and by what was asked for before?
    pub fn admits(
        &self,
        response: &Response,
        before: &recrawl_types::Consent,
        url: &CanonicalUrl,
        at: u64,
    ) -> bool {
        let asks = consent_of_header(&consent::fields(response), url, &self.urls, &self.reading);
        self.consent.admits_archive(&before.and(&asks), at)
    }

    /// The requisites of a page; none of one that asks not to be archived.
    pub fn of_page(&self, url: &CanonicalUrl, response: &Response, at: u64) -> OfPage {
        let mut fields = consent::fields(response);
        let sent = &response.body;
        let body = response.rendered.as_ref().unwrap_or(sent);
        if response.rendered.is_some() {
            fields = fields.rendered(sent, url, &self.reading.types);
        }
        let read = extract(body, &fields, url, &self.urls, &self.reading);
        if !matches!(read, Extracted::Page(_)) || !self.consent.admits_archive(read.consent(), at) {
            return OfPage::default();
        }
        let types = &self.reading.types;
        let mut found = requisites(body, &fields, url, types);
        // A replay shows what was sent, and runs its scripts.
        if response.rendered.is_some() {
            found.extend(requisites(sent, &consent::fields(response), url, types));
            found.sort_by_key(|requisite| requisite.kind);
        }
        let left_out = found.len().saturating_sub(self.max_named);
        found.truncate(self.max_named);
        OfPage { is_archived: true, requisites: found, left_out }
    }

    /// The same of an archived body.
    pub fn of_archived(&self, url: &CanonicalUrl, position: ArchivePosition) -> OfPage {
        let answer = ArchivedAnswer::read(&self.archive, position, self.max_document);
        let is_its = |answer: &ArchivedAnswer| answer.field("WARC-Target-URI") == Some(&*url.as_text());
        let Some(answer) = answer.ok().filter(is_its) else { return OfPage::default() };
        let content_type = answer.content_type();
        let sent = BodyFields { content_type: content_type.as_deref(), ..BodyFields::default() };
        let types = &self.reading.types;
        let mut found = requisites(&answer.body, &sent, url, types);
        if let Some(document) = &answer.rendered {
            found.extend(requisites(document, &sent.rendered(&answer.body, url, types), url, types));
            found.sort_by_key(|requisite| requisite.kind);
        }
        let left_out = found.len().saturating_sub(self.max_named);
        found.truncate(self.max_named);
        OfPage { is_archived: true, requisites: found, left_out }
    }

    /// The record of an answer that came at `at`. `before` has the last capture.
    pub fn answered(
        &self,
        requisite: &Requisite,
        before: Option<RequisiteRow>,
        result: FetchResult,
        at: u64,
    ) -> AnswerRecord {
        let (response, target) = match result {
            FetchResult::Page(response) if response.status == 200 => (response, None),
            FetchResult::Redirect { target, response } => (response, Some(target)),
            // Without a body that it confirms, a 304 says nothing.
            FetchResult::Page(_) | FetchResult::NotModified(_) | FetchResult::Nothing(_) => {
                return AnswerRecord::Nothing;
            }
        };
        let url = &requisite.url;
        let fields = consent::fields(&response);
        let asks = match target.is_none() && is_document(&response) {
            true => extract(&response.body, &fields, url, &self.urls, &self.reading).consent().clone(),
            false => consent_of_header(&fields, url, &self.urls, &self.reading),
        };
        if !self.consent.admits_archive(&asks, at) {
            return AnswerRecord::Withdrawn;
        }
        let is_large = response.body.len() as u64 > self.max_body;
        if target.is_none() && (response.is_cut() || is_large || !has_kind(requisite.kind, &response)) {
            return AnswerRecord::Refused;
        }
        // The body of a redirect is of no use.
        let body = if target.is_none() { &response.body[..] } else { b"" };
        let payload = match &target {
            Some(target) => Content::payload_of(target.key()),
            None => Content::payload_of(body),
        };
        let same = before.as_ref().filter(|row| row.payload == payload);
        let (archive, archived_at) =
            same.map_or((Default::default(), at), |row| (row.archive, row.archived_at));
        let row = RequisiteRow {
            archive,
            archived_at,
            payload,
            validators: if target.is_none() { response.validators.clone() } else { Default::default() },
            round: self.round,
            fresh_until: self.fresh_until(&response, at),
            ..RequisiteRow::default()
        };
        // As after a 304: records of each visit would grow the archive by half as much as pages that change.
        let (member, change) = match same {
            Some(_) => (None, RequisiteChange::Confirmed(row)),
            None => {
                let truncated = response.cut.map(crate::capture::truncation);
                let before = before.as_ref().map(|row| row.archive);
                let record = Record::Response { truncated, body, before };
                let address = url.as_text();
                let (head, headers) = head(&address, at, &response, Some(self.round));
                let member = Some(record.compress(&mut Compressor::new(), &head, headers));
                (member, RequisiteChange::Replaced(row))
            }
        };
        let named = match target {
            Some(target) => [Requisite { url: target, kind: requisite.kind }].into(),
            None => self.named_in(requisite, body, &consent::fields(&response)),
        };
        let record = RequisiteRecord { url: url.clone(), member, change };
        AnswerRecord::Record(Box::new(record), named)
    }

    /// The row after a 304.
    pub fn renewed(&self, row: RequisiteRow, response: &Response, at: u64) -> RequisiteChange {
        let fresh_until = self.fresh_until(response, at);
        let mut row = RequisiteRow { round: self.round, fresh_until, failures: 0, ..row };
        let news = response.validators.clone();
        row.validators.etag = news.etag.or(row.validators.etag);
        row.validators.last_modified = news.last_modified.or(row.validators.last_modified);
        RequisiteChange::Confirmed(row)
    }

    fn fresh_until(&self, response: &Response, at: u64) -> u64 {
        at.saturating_add(response.fresh_for().min(self.max_fresh).as_millis() as u64)
    }

    /// The requisites that an archived one names. Redirects name their target.
    pub fn named_by(&self, requisite: &Requisite, row: &RequisiteRow) -> Arc<[Requisite]> {
        let Ok(answer) = ArchivedAnswer::read(&self.archive, row.archive, self.max_body) else {
            return Arc::default();
        };
        if answer.field("WARC-Target-URI") != Some(&*requisite.url.as_text()) {
            return Arc::default();
        }
        if (300..400).contains(&answer.status()) {
            let named = answer.target(&requisite.url).map(|url| Requisite { url, kind: requisite.kind });
            return named.into_iter().collect();
        }
        let content_type = answer.content_type();
        let fields = BodyFields { content_type: content_type.as_deref(), ..BodyFields::default() };
        self.named_in(requisite, &answer.body, &fields)
    }

    fn named_in(&self, requisite: &Requisite, body: &[u8], fields: &BodyFields<'_>) -> Arc<[Requisite]> {
        let mut named = requisite.named_in(body, fields, &self.reading.types);
        named.truncate(self.max_named);
        named.into()
    }
}

/// Is the body what the page asked for? A document in place of an image is an error page.
fn has_kind(kind: RequisiteKind, response: &Response) -> bool {
    kind == RequisiteKind::Frame || !is_document(response)
}

fn is_document(response: &Response) -> bool {
    let found = media_type(response.content_type.as_deref(), &response.body);
    matches!(&*found, "text/html" | "application/xhtml+xml")
}

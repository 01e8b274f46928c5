//! Builds the response of the web to a request.

use super::body::{Manner, PageBody};
use super::connection::ExchangeLog;
use crate::fault::Action;
use crate::ledger::{AccessEntry, Arrival};
use crate::requisites;
use crate::scripted;
use crate::sites::Spelling;
use crate::validators::{SentValidators, State};
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response};
use std::io::{self, Write};
use std::sync::Arc;
use std::time::SystemTime;

/// A response before a fault changes how it is sent.
struct PlannedResponse {
    status: u16,
    fields: Vec<(HeaderName, String)>,
    body: Vec<u8>,
}

impl PlannedResponse {
    fn text(status: u16, text: &str) -> PlannedResponse {
        let fields = vec![(header::CONTENT_TYPE, "text/plain; charset=utf-8".to_string())];
        PlannedResponse { status, fields, body: text.as_bytes().to_vec() }
    }

    /// Replaces its own fields by these.
    fn replace(&mut self, fields: Vec<(&'static str, String)>) {
        // Remove all of them first: a field may occur several times.
        self.fields.retain(|(own, _)| fields.iter().all(|(name, _)| own != name));
        let given = fields.into_iter().map(|(name, value)| (HeaderName::from_static(name), value));
        self.fields.extend(given);
    }

    fn of_type(kind: &str, body: Vec<u8>) -> PlannedResponse {
        PlannedResponse { status: 200, fields: vec![(header::CONTENT_TYPE, kind.to_string())], body }
    }
}

const HTML: &str = "text/html; charset=utf-8";

/// The web's view of a request: host, spelling of its name, target, clock.
struct WebRequest {
    host: u32,
    spelling: Spelling,
    target: String,
    cycle: u32,
    serial: u64,
}

/// Answers one request. An error closes the connection without a response.
pub async fn respond(line: Arc<ExchangeLog>, request: Request<Incoming>) -> io::Result<Response<PageBody>> {
    let core = Arc::clone(&line.core);
    let at = core.ledger.now();
    let authority = match request.uri().authority() {
        Some(authority) => authority.as_str(),
        None => field(request.headers(), header::HOST).unwrap_or(""),
    };
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
    let meant = core.sites.resolve(authority);
    let (cycle, serial) = (core.clock(), core.ledger.next_serial());
    let struck = meant.and_then(|(host, _)| {
        let faults = core.faults.read().expect("no thread panics with the faults open");
        faults.iter().find_map(|rule| {
            let action = rule.strike(host, target, serial)?;
            let spares =
                matches!(action, Action::CloseIdle(after) if line.idle().is_none_or(|idle| idle < after));
            (!spares).then_some((rule.name(), action))
        })
    });
    let access = AccessEntry {
        seq: 0,
        ms: at.as_millis() as u64,
        cycle,
        host: meant.map_or(String::new(), |(host, spelling)| {
            core.sites.authorities(spelling)[host as usize].clone()
        }),
        host_id: meant.map(|(host, _)| host),
        method: request.method().as_str().to_string(),
        path: target.to_string(),
        page_id: None,
        version: None,
        status: 0,
        complete: false,
        bytes: 0,
        conditional: request.headers().contains_key(header::IF_NONE_MATCH)
            || request.headers().contains_key(header::IF_MODIFIED_SINCE),
        holds: None,
        fault: struck.as_ref().map(|(fault, _)| (*fault).to_string()),
    };
    if matches!(struck, Some((_, Action::CloseIdle(_)))) {
        core.ledger.lost(access);
        return Err(io::Error::other("requested fault: idle connection closed"));
    }
    core.ledger.arrived(&Arrival {
        at,
        address: line.address,
        host: meant.map(|(host, _)| host),
        target,
        is_forbidden: meant.is_some_and(|(host, _)| !core.web.robots(host).allows(target)),
    });
    line.begin(access);
    let Some((host, spelling)) = meant else {
        return Ok(send(&line, PlannedResponse::text(421, "no such host\n"), &request, Manner::Whole));
    };
    let visit = WebRequest { host, spelling, target: target.to_string(), cycle, serial };
    let Some((_, action)) = struck else {
        let answer = shown(&line, &visit, &request);
        return Ok(send(&line, answer, &request, Manner::Whole));
    };
    let mut relabelled = Vec::new();
    let must_reset = matches!(action, Action::Reset { .. });
    let manner = match action {
        Action::Page { fields, body } => {
            let mut answer = PlannedResponse { status: 200, fields: Vec::new(), body };
            answer.replace(fields);
            return Ok(send(&line, answer, &request, Manner::Whole));
        }
        Action::Raw(raw) => {
            line.note(|exchange| exchange.status = raw.status());
            line.send_raw(raw);
            return Err(io::Error::other("requested fault: raw bytes"));
        }
        Action::CloseIdle(_) => Manner::Whole,
        Action::Relabel(fields) => {
            relabelled = fields;
            Manner::Whole
        }
        Action::Answer { status, fields } => {
            let mut answer = PlannedResponse::text(status, "requested fault\n");
            answer
                .fields
                .extend(fields.into_iter().map(|(name, value)| (HeaderName::from_static(name), value)));
            return Ok(send(&line, answer, &request, Manner::Whole));
        }
        Action::Silence(time) => {
            tokio::time::sleep(time).await;
            return Err(io::Error::other("requested fault: silence"));
        }
        Action::Reset { after: 0 } => {
            line.reset();
            return Err(io::Error::other("requested fault: reset"));
        }
        Action::Reset { after } => Manner::Until(after),
        Action::Truncate { after: Some(after) } => Manner::Until(after),
        Action::Truncate { after: None } => Manner::Until(usize::MAX),
        Action::Trickle { piece, pause } => Manner::Pieces(piece, pause),
    };
    let mut answer = shown(&line, &visit, &request);
    answer.replace(relabelled);
    let manner = match manner {
        // A 304 has no body that could be cut: it is complete with its header.
        Manner::Until(_) if answer.body.is_empty() => Manner::Whole,
        // At least one byte is missing.
        Manner::Until(usize::MAX) => Manner::Until(answer.body.len() / 2),
        Manner::Until(after) => Manner::Until(after.min(answer.body.len().saturating_sub(1))),
        other => other,
    };
    if must_reset && matches!(manner, Manner::Until(_)) {
        line.reset();
    }
    Ok(send(&line, answer, &request, manner))
}

/// The web's response, with pages as shells if they are made by script.
fn shown(line: &ExchangeLog, visit: &WebRequest, request: &Request<Incoming>) -> PlannedResponse {
    if !line.core.scripted {
        return with_requisites(line, visit, request);
    }
    if visit.target == scripted::SCRIPT_TARGET {
        return PlannedResponse::of_type("text/javascript", scripted::SCRIPT.into());
    }
    if let Some(page) = scripted::page_of(&visit.target) {
        let data = WebRequest { target: page.to_owned(), spelling: visit.spelling, ..*visit };
        return answer(line, &data, request);
    }
    let answer = answer(line, visit, request);
    match answer.status == 200 && answer.fields.iter().any(|(_, value)| value == HTML) {
        true => {
            // A shell holds no version of the page.
            line.note(|exchange| exchange.holds = None);
            PlannedResponse::of_type(HTML, scripted::SHELL.into())
        }
        false => answer,
    }
}

/// The web's response, with the requisites of pages if they have any.
fn with_requisites(line: &ExchangeLog, visit: &WebRequest, request: &Request<Incoming>) -> PlannedResponse {
    let found = line.core.requisites.then(|| requisites::find(&visit.target)).flatten();
    if let Some((kind, body)) = found {
        return PlannedResponse::of_type(kind, body);
    }
    let mut answer = answer(line, visit, request);
    let is_page = answer.status == 200 && answer.fields.iter().any(|(_, value)| value == HTML);
    if line.core.requisites && is_page {
        requisites::add_to(&mut answer.body, &visit.target);
    }
    answer
}

/// The web's response for the target.
fn answer(line: &ExchangeLog, visit: &WebRequest, request: &Request<Incoming>) -> PlannedResponse {
    let core = &line.core;
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let mut answer = PlannedResponse::text(405, "only GET and HEAD\n");
        answer.fields.push((header::ALLOW, "GET, HEAD".into()));
        return answer;
    }
    let WebRequest { host, cycle, .. } = *visit;
    let names = core.sites.authorities(visit.spelling);
    match visit.target.as_str() {
        "/" => {
            let mut body = Vec::with_capacity(16 << 10);
            core.web.write_index(host, cycle, names, &mut body);
            PlannedResponse::of_type(HTML, body)
        }
        "/robots.txt" => {
            let origin = format!("http://{}", names[host as usize]);
            let text = core.web.robots(host).text(&origin, core.web.sitemap(host));
            PlannedResponse::of_type("text/plain; charset=utf-8", text.into_bytes())
        }
        target if is_key_file(target, core.ping_key.as_deref()) => {
            let key = core.ping_key.clone().unwrap_or_default();
            PlannedResponse::of_type("text/plain; charset=utf-8", key.into_bytes())
        }
        target if let Some((media, body)) = core.web.hints(host, target, cycle, names) => {
            PlannedResponse::of_type(media, body)
        }
        target => match core.web.find(host, target) {
            Some(page) => page_answer(line, visit, page, request.headers()),
            // Forbidden paths have a page, so that a violation has no other consequence.
            None if !core.web.robots(host).allows(target) || target.starts_with("/private/") => {
                let body = b"<!DOCTYPE html>\n<title>Internal</title>\n<p>Not for crawlers.</p>\n".to_vec();
                PlannedResponse::of_type(HTML, body)
            }
            None => PlannedResponse::text(404, "there is no such page\n"),
        },
    }
}

fn is_key_file(target: &str, key: Option<&str>) -> bool {
    key.is_some_and(|key| target.strip_prefix('/').and_then(|file| file.strip_suffix(".txt")) == Some(key))
}

fn page_answer(line: &ExchangeLog, visit: &WebRequest, page: u32, headers: &HeaderMap) -> PlannedResponse {
    let core = &line.core;
    let Some(version) = core.web.version(page, visit.cycle) else {
        return PlannedResponse::text(404, "the page is not there at this cycle\n");
    };
    let is_noisy = core.noise.is_on(visit.host);
    let told = core.validators.tell(&State {
        page,
        version,
        modified: core.web.date(core.web.changed_at(page, visit.cycle)),
        appeared: core.web.date(core.web.lifetime(page).0),
        is_noisy,
        serial: visit.serial,
    });
    line.note(|exchange| {
        exchange.page_id = Some(page);
        exchange.version = Some(version);
    });
    let is_confirmed =
        told.confirms(field(headers, header::IF_NONE_MATCH), field(headers, header::IF_MODIFIED_SINCE));
    let mut fields = validator_fields(&told);
    if is_confirmed {
        let is_true = core.validators == crate::validators::Validators::Strong;
        line.note(|exchange| exchange.holds = is_true.then_some(version));
        return PlannedResponse { status: 304, fields, body: Vec::new() };
    }
    line.note(|exchange| exchange.holds = Some(version));
    let mut body = Vec::with_capacity(16 << 10);
    let notice = if is_noisy { core.noise.html(visit.host, visit.serial) } else { String::new() };
    let names = core.sites.authorities(visit.spelling);
    core.web.write_page(page, version, &notice, names, &mut body);
    fields.push((header::CONTENT_TYPE, HTML.to_string()));
    PlannedResponse { status: 200, fields, body }
}

fn validator_fields(told: &SentValidators) -> Vec<(HeaderName, String)> {
    let date = |moment: SystemTime| (header::LAST_MODIFIED, httpdate::fmt_http_date(moment));
    let tag = told.etag.clone().map(|etag| (header::ETAG, etag));
    tag.into_iter().chain(told.modified.map(date)).collect()
}

fn send(
    line: &Arc<ExchangeLog>,
    answer: PlannedResponse,
    request: &Request<Incoming>,
    manner: Manner,
) -> Response<PageBody> {
    let PlannedResponse { status, mut fields, mut body } = answer;
    let is_coded = fields.iter().any(|(name, _)| name == header::CONTENT_ENCODING);
    if line.core.gzip && !is_coded && status == 200 && accepts_gzip(request.headers()) {
        body = gzip(&body);
        fields.push((header::CONTENT_ENCODING, "gzip".into()));
        fields.push((header::VARY, "accept-encoding".into()));
    }
    line.note(|exchange| exchange.status = status);
    let length = body.len();
    let is_head = request.method() == Method::HEAD;
    if is_head {
        body.clear();
    }
    let manner = if is_head { Manner::Whole } else { manner };
    let mut response = Response::new(PageBody::new(Bytes::from(body), manner, Arc::clone(line)));
    *response.status_mut() = hyper::StatusCode::from_u16(status).expect("statuses are from 200 to 599");
    for (name, value) in fields {
        match HeaderValue::from_str(&value) {
            Ok(value) => response.headers_mut().append(name, value),
            // Only the text of a rule can have such bytes; HTTP cannot send them.
            Err(_) => response.headers_mut().append(name, HeaderValue::from_static("invalid")),
        };
    }
    if is_head || matches!(manner, Manner::Until(_)) {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    response
}

fn field(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// Whether the client accepts gzip with a weight other than 0.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    field(headers, header::ACCEPT_ENCODING).is_some_and(|codings| {
        codings.split(',').any(|coding| {
            let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
            name.trim().eq_ignore_ascii_case("gzip") && !matches!(weight.trim(), "q=0" | "q=0.0")
        })
    })
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut packed =
        flate2::write::GzEncoder::new(Vec::with_capacity(body.len() / 2), flate2::Compression::fast());
    packed.write_all(body).and_then(|()| packed.finish()).expect("memory takes every byte")
}

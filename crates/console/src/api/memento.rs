//! Memento (RFC 7089): a page at a time, for other programs. The TimeGate leads to a version, the TimeMap lists all, and a
//! memento is the response as it was archived.
//!
//! Nothing that a site sent acts on the console's origin: a memento is a download in a sandbox, and of a type that no
//! browser takes for a script or a style sheet.

use super::read::{Named, name_of_something};
use crate::console::Console;
use crate::problem::{Problem, ProblemType};
use crate::view::{MementoList, OneVersion, RawVersion, Which};
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HOST, LINK, LOCATION, VARY};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::rfc2822::{DateTimeParser, DateTimePrinter};
use jiff::tz::TimeZone;
use std::fmt::Write as _;
use std::sync::Arc;

/// The time of a memento in its URL.
const DIGITS: &str = "%Y%m%d%H%M%S";
const ACCEPT_DATETIME: &str = "accept-datetime";
/// Bytes of archived header fields that are passed on. Clients take some 64 KiB.
const MAX_PASSED_ON: usize = 16 << 10;
/// Prefix of header fields of the archived response.
const ORIGINAL: &str = "x-archive-orig-";
/// Media types that keep their name: none of them acts, as a script or a style sheet does.
const PASSIVE: &[&str] = &["text/html", "text/plain", "application/pdf", "application/json", "image/"];

/// The page that a request asks for, and where the console is.
struct MementoRequest {
    /// The URL of the page, as written.
    url: String,
    /// The beginning of all URLs of the console, without the last slash.
    base: String,
}

impl MementoRequest {
    /// The URL behind this part of the path, with its query.
    fn read(uri: &Uri, headers: &HeaderMap, skipped: usize) -> Result<MementoRequest, Problem> {
        let whole = uri.path_and_query().map_or("", |whole| whole.as_str());
        let url = name_of_something("path", whole.get(skipped..).unwrap_or_default().to_owned())?;
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let scheme = if text("x-forwarded-proto") == "https" { "https" } else { "http" };
        let host = uri.authority().map_or(text(HOST.as_str()), |authority| authority.as_str());
        // The folder at which a proxy serves the console.
        let folder = text("x-forwarded-prefix").trim_end_matches('/');
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.');
        // Anything else would go on with the host's name.
        let is_path = folder.starts_with('/') && !folder.starts_with("//");
        let folder = if is_path && folder.bytes().all(is_plain) { folder } else { "" };
        Ok(MementoRequest { url, base: format!("{scheme}://{host}{folder}") })
    }

    /// The memento of this second.
    fn memento(&self, url: &str, time: u64) -> String {
        let digits = moment(time).to_zoned(TimeZone::UTC).strftime(DIGITS).to_string();
        format!("{}/memento/{digits}/{url}", self.base)
    }

    /// The links that all answers have.
    fn links(&self, url: &str) -> String {
        let base = &self.base;
        format!(
            "<{url}>; rel=\"original\", <{base}/timegate/{url}>; rel=\"timegate\", \
             <{base}/timemap/link/{url}>; rel=\"timemap\"; type=\"application/link-format\""
        )
    }

    /// The link to a memento.
    fn link(&self, url: &str, time: u64, rel: &str) -> String {
        format!("<{}>; rel=\"{rel}\"; datetime=\"{}\"", self.memento(url, time), date(time))
    }
}

/// A second since 1970. The archive has no later one.
fn moment(second: u64) -> Timestamp {
    i64::try_from(second)
        .ok()
        .and_then(|second| Timestamp::from_second(second).ok())
        .unwrap_or(Timestamp::MAX)
}

/// As HTTP writes it.
fn date(second: u64) -> String {
    DateTimePrinter::new().timestamp_to_rfc9110_string(&moment(second)).expect("years have four digits")
}

/// The second that a client asks for; none for the newest version.
fn accepted(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get(ACCEPT_DATETIME) else { return Ok(None) };
    let text = value.to_str().unwrap_or_default().trim();
    // A time before 1970 asks for the first version.
    match DateTimeParser::new().parse_timestamp(text) {
        Ok(at) if text.ends_with("GMT") => Ok(Some(u64::try_from(at.as_second()).unwrap_or(0))),
        _ => Err(Problem::new(ProblemType::Malformed, format!("{text:?} is no date of HTTP"))
            .at("Accept-Datetime")
            .todo("write it as `Thu, 31 May 2007 20:35:00 GMT`")),
    }
}

/// The version to which the time leads: the newest that is not after it, or else the first.
fn chosen(times: &[u64], asked: Option<u64>) -> usize {
    let Some(asked) = asked else { return 0 };
    times.iter().position(|time| *time <= asked).unwrap_or(times.len() - 1)
}

/// A page at a time.
///
/// Leads to the newest version that is not after `Accept-Datetime`, or else to the first one.
#[utoipa::path(get, path = "/timegate/{*url}", tag = "memento",
    params(("url" = inline(Named), Path, description = "URL of the page, as it is, with its query")),
    responses((status = 302, description = "The memento is at `Location`")))]
pub async fn timegate(
    State(console): State<Arc<Console>>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, Problem> {
    let asked = MementoRequest::read(&uri, &headers, "/timegate/".len())?;
    let when = accepted(&headers)?;
    let list = list(&console, &asked).await?;
    let (url, times) = (&list.url, &list.times);
    let at = chosen(times, when);
    let mut links = asked.links(url);
    let near = [
        ("first", Some(times.len() - 1)),
        ("prev", Some(at + 1).filter(|older| *older < times.len())),
        ("", Some(at)),
        ("next", at.checked_sub(1)),
        ("last", Some(0)),
    ];
    for (index, time) in times.iter().enumerate().rev() {
        let names = near.iter().filter(|(_, of)| *of == Some(index));
        let names: Vec<&str> = names.map(|(name, _)| *name).filter(|name| !name.is_empty()).collect();
        if index == at || !names.is_empty() {
            let rel = [&names[..], &["memento"]].concat().join(" ");
            let _ = write!(links, ", {}", asked.link(url, *time, &rel));
        }
    }
    let location = asked.memento(url, times[at]);
    Ok((StatusCode::FOUND, [(VARY, ACCEPT_DATETIME.to_owned()), (LOCATION, location), (LINK, links)])
        .into_response())
}

/// The archived versions of a page, oldest first, as links (RFC 6690): the last 1000.
#[utoipa::path(get, path = "/timemap/link/{*url}", tag = "memento",
    params(("url" = inline(Named), Path, description = "URL of the page, as it is, with its query")),
    responses((status = 200, description = "The links", body = String, content_type = "application/link-format")))]
pub async fn timemap(
    State(console): State<Arc<Console>>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, Problem> {
    let asked = MementoRequest::read(&uri, &headers, "/timemap/link/".len())?;
    let MementoList { url, times } = list(&console, &asked).await?;
    let ends = times.last().zip(times.first()).map(|(first, last)| (date(*first), date(*last)));
    let (first, last) = ends.unwrap_or_default();
    let mut body = format!(
        "<{url}>; rel=\"original\",\n<{base}/timegate/{url}>; rel=\"timegate\",\n\
         <{base}/timemap/link/{url}>; rel=\"self\"; type=\"application/link-format\"; from=\"{first}\"; until=\"{last}\"",
        base = asked.base
    );
    for (index, time) in times.iter().enumerate().rev() {
        let is = |end: bool, name: &'static str| if end { name } else { "" };
        let rel = [is(index + 1 == times.len(), "first "), is(index == 0, "last "), "memento"].concat();
        let _ = write!(body, ",\n{}", asked.link(&url, *time, &rel));
    }
    body.push('\n');
    Ok(([(CONTENT_TYPE, "application/link-format")], body).into_response())
}

/// The archived response of a second, for download.
///
/// Its header fields have the prefix `X-Archive-Orig-`. Another second leads to the version that was the newest then.
#[utoipa::path(get, path = "/memento/{digits}/{*url}", tag = "memento",
    params(("digits" = inline(Named), Path, description = "Time as YYYYMMDDhhmmss, in UTC"),
        ("url" = inline(Named), Path, description = "URL of the page, as it is, with its query")),
    responses(
        (status = 200, description = "The body, with the archived status", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 302, description = "The memento is at `Location`")))]
pub async fn memento(
    State(console): State<Arc<Console>>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, Problem> {
    let path = uri.path();
    let digits = path.strip_prefix("/memento/").and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let asked = MementoRequest::read(&uri, &headers, "/memento/".len() + digits.len() + 1)?;
    let is_time = digits.len() == 14 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let time = DateTime::strptime(DIGITS, digits).ok().filter(|_| is_time);
    let time =
        time.and_then(|time| time.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second().try_into().ok());
    let time: u64 = time.ok_or_else(|| {
        Problem::invalid("digits", format!("{digits:?} is no time"), "write it as YYYYMMDDhhmmss, in UTC")
    })?;
    let version = OneVersion { url: asked.url.clone(), which: Which::At(time) };
    let raw = console.ask(move |view| view.raw(&version)).await?;
    if raw.time != time {
        let location = asked.memento(&raw.url, raw.time);
        return Ok((StatusCode::FOUND, [(LOCATION, location), (LINK, asked.links(&raw.url))]).into_response());
    }
    Ok(answer(&asked, raw))
}

async fn list(console: &Arc<Console>, asked: &MementoRequest) -> Result<MementoList, Problem> {
    let url = asked.url.clone();
    let mut list = console.ask(move |view| view.mementos(&url)).await?;
    // Two versions of one second have one name: it is that of the newer.
    list.times.dedup();
    Ok(list)
}

/// The archived response.
fn answer(asked: &MementoRequest, raw: RawVersion) -> Response {
    let RawVersion { url, time, status, head, body, target } = raw;
    let mut headers = HeaderMap::new();
    let mut left = MAX_PASSED_ON;
    // The first line is the status.
    for line in head.split(|byte| *byte == b'\n').skip(1) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = (line[..colon].to_ascii_lowercase(), line[colon + 1..].trim_ascii());
        let name = name.strip_prefix(ORIGINAL.as_bytes()).unwrap_or(&name);
        let name = HeaderName::from_bytes(&[ORIGINAL.as_bytes(), name].concat());
        let Some(after) = left.checked_sub(line.len() + ORIGINAL.len()) else { break };
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value)) {
            left = after;
            headers.append(name, value);
        }
    }
    let declared = headers.get("x-archive-orig-content-type").cloned();
    let kind = declared.filter(|kind| is_passive(kind.as_bytes()));
    headers.insert(CONTENT_TYPE, kind.unwrap_or(HeaderValue::from_static("application/octet-stream")));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    let told = [
        (HeaderName::from_static("memento-datetime"), Some(date(time))),
        (LINK, Some(format!("{}, {}", asked.links(&url), asked.link(&url, time, "memento")))),
        // A redirect leads to what was archived of its target then.
        (LOCATION, target.map(|target| asked.memento(&target, time))),
    ];
    for (name, value) in told {
        if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
            headers.insert(name, value);
        }
    }
    // One below 200 ends no answer.
    let status = StatusCode::from_u16(status).ok().filter(|status| !status.is_informational());
    (status.unwrap_or(StatusCode::OK), headers, body).into_response()
}

fn is_passive(kind: &[u8]) -> bool {
    let kind = String::from_utf8_lossy(kind).to_ascii_lowercase();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    let is_one = |name: &&str| essence == *name || name.ends_with('/') && essence.starts_with(*name);
    // Two values joined may be read as either.
    !kind.contains(',') && PASSIVE.iter().any(is_one) && !essence.contains("svg")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_leads_to_the_newest_version_that_is_not_after_it() {
        for (asked, at) in
            [(None, 0), (Some(40), 0), (Some(30), 0), (Some(29), 1), (Some(10), 2), (Some(9), 2)]
        {
            assert_eq!(chosen(&[30, 20, 10], asked), at, "{asked:?}");
        }
    }

    #[test]
    fn a_prefix_adds_a_path_and_nothing_else() {
        let base = |prefix: &'static str| {
            let fields = [("host", "console.test"), ("x-forwarded-prefix", prefix)];
            let headers =
                fields.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
            let uri = Uri::from_static("/timegate/http://a.test/");
            let read = MementoRequest::read(&uri, &HeaderMap::from_iter(headers), "/timegate/".len());
            read.unwrap().base
        };
        for (prefix, path) in [("/watch/", "/watch"), ("/", ""), ("", ""), ("/a/b-c.d", "/a/b-c.d")] {
            assert_eq!(base(prefix), format!("http://console.test{path}"), "{prefix}");
        }
        for other in [".evil.example", "//evil.example", "evil", "@evil.example", "/a b"] {
            assert_eq!(base(other), "http://console.test", "{other}");
        }
    }

    #[test]
    fn a_date_is_one_of_http_or_refused() {
        let asked = |text: &str| {
            let headers = [(HeaderName::from_static(ACCEPT_DATETIME), HeaderValue::from_str(text).unwrap())];
            accepted(&headers.into_iter().collect())
        };
        assert_eq!(asked("Tue, 14 Nov 2023 22:13:20 GMT").unwrap(), Some(1_700_000_000));
        assert_eq!(date(1_700_000_000), "Tue, 14 Nov 2023 22:13:20 GMT");
        assert_eq!(asked("Wed, 31 Dec 1969 23:59:59 GMT").unwrap(), Some(0));
        for wrong in [
            "",
            "yesterday",
            "2023-11-14",
            "Mon, 14 Nov 2023 22:13:20 GMT",
            "Tue, 14 Nov 2023 22:13:20 +0100",
        ] {
            assert!(asked(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn no_type_that_acts_keeps_its_name() {
        for passive in ["text/html; charset=utf-8", "Image/PNG", "application/json"] {
            assert!(is_passive(passive.as_bytes()), "{passive}");
        }
        for other in [
            "text/javascript",
            "text/css",
            "application/javascript",
            "text/html, text/javascript",
            "image/svg+xml",
            "text/xml",
            "text/plainx",
            "",
        ] {
            assert!(!is_passive(other.as_bytes()), "{other}");
        }
    }
}

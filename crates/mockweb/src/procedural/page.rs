//! Renders a procedural page as HTML: frame, links, and sentences, some of which a version
//! rewrites.
//!
//! Links have every usual form: absolute, without scheme, from the root, relative to the page, with
//! fragments, and with `&amp;` if the target has a query.

use super::{OPEN, Procedural, REFUSED, refused_on, sitemap, topic};
use crate::seed::Stream;
use crate::web::{Authorities, neighbours, push_number};
use jiff::Span;

const LINKS: u64 = 0x6c69_6e6b;
const EDIT: u64 = 0x6564_6974;
/// Links to pages of the same host, including the link home. With [`OUTSIDE`] this gives about 25
/// per page, a good three quarters within the host.
const INSIDE: u32 = 19;
/// Links to pages of other hosts.
const OUTSIDE: u32 = 6;
const SENTENCES_A_PARAGRAPH: u32 = 6;
/// Average bytes of a sentence, with its share of markup.
const SENTENCE_BYTES: u32 = 107;
/// Average bytes of the frame and the links.
const FRAME_BYTES: u32 = 3_000;

/// A page that is being written.
pub struct PageWriter<'a> {
    web: &'a Procedural,
    page: u32,
    host: u32,
    names: &'a Authorities,
    out: &'a mut Vec<u8>,
    /// Relative links first leave the page's section; pages with a query are at the root.
    depth: usize,
    scratch: Vec<u8>,
}

impl<'a> PageWriter<'a> {
    /// Starts a page that is appended to `out`.
    pub fn new(
        web: &'a Procedural,
        page: u32,
        names: &'a Authorities,
        out: &'a mut Vec<u8>,
    ) -> PageWriter<'a> {
        let host = web.layout.host_of(page);
        let mut scratch = Vec::with_capacity(64);
        web.layout.push_target(page, &mut scratch);
        let path_end = scratch.iter().position(|&b| b == b'?').unwrap_or(scratch.len());
        let depth = scratch[1..path_end].iter().filter(|&&b| b == b'/').count();
        PageWriter { web, page, host, names, out, depth, scratch }
    }

    /// Writes the page at this version.
    pub fn page(&mut self, version: u32, notice: &str) {
        let id = u64::from(self.page);
        self.out
            .extend_from_slice(b"<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>");
        let is_syllabus = self.web.is_syllabus(self.page);
        self.name(is_syllabus);
        self.web.prose.push_phrase([id, 0, LINKS], self.out);
        self.out.extend_from_slice(
            b"</title>\n<style>main { max-width: 40em } nav li { display: inline }</style>\n\
              <script>var ready = 1 < 2;</script>\n</head>\n<body>\n<nav><ul>\n<li><a href=\"/\">home</a></li>\n",
        );
        let mut stream = Stream::new(&[self.web.config.seed, LINKS, id]);
        let below = self.web.layout.below(self.host, Some(self.page));
        let mut inside = (INSIDE - 1).saturating_sub(below.len() as u32);
        for _ in 0..4.min(inside) {
            inside -= 1;
            let target = self.web.layout.page_near_index(self.host, &mut stream);
            self.item(target, &mut stream);
        }
        self.out.extend_from_slice(b"</ul></nav>\n<main>\n<h1>");
        self.name(is_syllabus);
        self.web.prose.push_phrase([id, 0, LINKS], self.out);
        self.out.extend_from_slice(b"</h1>\n");
        self.out.extend_from_slice(notice.as_bytes());
        if is_syllabus {
            self.out.extend_from_slice(topic::TEXT);
        } else if below.clone().any(|page| self.web.is_syllabus(page)) {
            self.out.extend_from_slice(topic::LIST_TEXT);
        }
        // The stream of links does not know the version: all versions have the same, but for the one below.
        self.paragraphs(version, inside, &mut stream);
        self.out.extend_from_slice(b"<h2>In this section</h2>\n<ul>\n");
        for target in below {
            self.item(target, &mut stream);
        }
        if version > 0 {
            // New text often links elsewhere.
            let mut news = Stream::new(&[self.web.config.seed, EDIT, id, u64::from(version)]);
            let target = self.web.layout.page_near_index(self.host, &mut news);
            self.item(target, &mut news);
        }
        self.out.extend_from_slice(b"</ul>\n</main>\n<aside><h2>Elsewhere</h2><ul>\n");
        for _ in 0..OUTSIDE {
            let target = self.web.layout.page_elsewhere(self.host, &mut stream);
            self.item(target, &mut stream);
        }
        self.out.extend_from_slice(b"</ul></aside>\n<footer>");
        if stream.below(5) == 0 {
            push_refused_link(self.web, self.host, id, self.out);
        }
        self.out.extend_from_slice(b"<p>All rights reserved.</p></footer>\n</body>\n</html>\n");
    }

    fn paragraphs(&mut self, version: u32, mut links: u32, stream: &mut Stream) {
        let room = self.web.config.page_bytes.saturating_sub(FRAME_BYTES);
        let sentences = (room / SENTENCE_BYTES).max(SENTENCES_A_PARAGRAPH);
        let paragraphs = sentences.div_ceil(SENTENCES_A_PARAGRAPH);
        let edited = edit(self.web.config.seed, self.page, version, sentences);
        let mut left = paragraphs;
        for sentence in 0..sentences {
            if sentence % SENTENCES_A_PARAGRAPH == 0 {
                self.out.extend_from_slice(b"<p>");
            }
            let rewritten = edited.0 <= sentence && sentence < edited.1;
            let revision = if rewritten { u64::from(version) + 1 } else { 0 };
            self.web.prose.push_sentence([u64::from(self.page), u64::from(sentence) + 1, revision], self.out);
            let is_last = sentence + 1 == sentences;
            if sentence % SENTENCES_A_PARAGRAPH == SENTENCES_A_PARAGRAPH - 1 || is_last {
                let here = links.div_ceil(left);
                for _ in 0..here {
                    let target = self.web.layout.page_near_index(self.host, stream);
                    self.link(target, stream);
                    self.out.push(b' ');
                }
                links -= here;
                left -= 1;
                self.out.extend_from_slice(b"</p>\n");
            }
        }
    }

    fn name(&mut self, is_syllabus: bool) {
        if is_syllabus {
            self.out.extend_from_slice(topic::NAME);
        }
    }

    fn item(&mut self, target: u32, stream: &mut Stream) {
        self.out.extend_from_slice(b"<li>");
        self.link(target, stream);
        self.out.extend_from_slice(b"</li>\n");
    }

    fn link(&mut self, target: u32, stream: &mut Stream) {
        let host = self.web.layout.host_of(target);
        let authority = &self.names[host as usize];
        self.scratch.clear();
        self.web.layout.push_target(target, &mut self.scratch);
        self.out.extend_from_slice(b"<a href=\"");
        let mut path = &self.scratch[..];
        let form = stream.below(8);
        if host != self.host || form == 0 {
            self.out.extend_from_slice(if form.is_multiple_of(2) { b"http://" } else { b"//" });
            self.out.extend_from_slice(authority.as_bytes());
        } else if form < 4 {
            for _ in 0..self.depth {
                self.out.extend_from_slice(b"../");
            }
            path = &path[1..];
        }
        for &byte in path {
            if byte == b'&' {
                self.out.extend_from_slice(b"&amp;");
            } else {
                self.out.push(byte);
            }
        }
        if form == 7 {
            self.out.extend_from_slice(b"#section");
        }
        self.out.extend_from_slice(b"\">");
        self.name(self.web.names_syllabus(self.page, target));
        self.web.prose.push_phrase([u64::from(target), 0, LINKS], self.out);
        self.out.extend_from_slice(b"</a>");
    }
}

/// The sentences that a version rewrites, `from..to`. Most edits are small, some touch a quarter of
/// the page, a few all of it. The other sentences are as in version 0.
fn edit(seed: u64, page: u32, version: u32, sentences: u32) -> (u32, u32) {
    if version == 0 {
        return (0, 0);
    }
    let mut stream = Stream::new(&[seed, EDIT, u64::from(page), u64::from(version), 1]);
    let length = match stream.below(10) {
        0..=5 => 1 + stream.below(3),
        6..=8 => sentences / 4,
        _ => sentences,
    }
    .clamp(1, sentences);
    let from = stream.below(sentences - length + 1);
    (from, from + length)
}

fn push_refused_link(web: &Procedural, host: u32, number: u64, out: &mut Vec<u8>) {
    let prefix = match number % 3 {
        0 => REFUSED[0],
        1 => refused_on(web.config.seed, host),
        _ => OPEN,
    };
    out.extend_from_slice(b"<a href=\"");
    out.extend_from_slice(prefix.as_bytes());
    out.push(b'n');
    push_number(number % 100, out);
    out.extend_from_slice(b"\">internal</a> ");
}

/// Writes the index page of a host: the top of its tree, other hosts, and two links below forbidden
/// paths.
pub fn write_index(web: &Procedural, host: u32, names: &Authorities, out: &mut Vec<u8>) {
    out.extend_from_slice(b"<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>");
    out.extend_from_slice(names[host as usize].as_bytes());
    out.extend_from_slice(b"</title>");
    out.extend_from_slice(sitemap::head(web, host).as_bytes());
    out.extend_from_slice(b"</head>\n<body>\n<main><h1>Welcome</h1>\n<ul>\n");
    let mut target = Vec::new();
    for page in web.layout.below(host, None) {
        target.clear();
        web.layout.push_target(page, &mut target);
        let href = String::from_utf8_lossy(&target).replace('&', "&amp;");
        out.extend_from_slice(format!("<li><a href=\"{href}\">").as_bytes());
        web.prose.push_phrase([u64::from(page), 0, LINKS], out);
        out.extend_from_slice(b"</a></li>\n");
    }
    out.extend_from_slice(b"</ul></main>\n<nav><ul>\n");
    for other in neighbours(host, web.config.hosts) {
        let name = &names[other as usize];
        out.extend_from_slice(format!("<li><a href=\"http://{name}/\">{name}</a></li>\n").as_bytes());
    }
    out.extend_from_slice(b"</ul></nav>\n<footer>");
    push_refused_link(web, host, 0, out);
    push_refused_link(web, host, 1, out);
    out.extend_from_slice(b"</footer>\n</body>\n</html>\n");
}

/// The last date that has four digits for its year.
const LAST_DATE: &str = "9999-12-31";

/// The date of a cycle: this many days after 2001-01-01, at most [`LAST_DATE`].
pub fn date(cycle: u32) -> String {
    let days = Span::new().try_days(i64::from(cycle));
    let date = days.and_then(|days| jiff::civil::date(2001, 1, 1).checked_add(days));
    date.map_or_else(|_| LAST_DATE.into(), |date| date.to_string())
}

#[cfg(test)]
mod tests {
    use super::{LAST_DATE, date};
    use crate::recording::seconds_of_date;

    #[test]
    fn cycles_are_days() {
        assert_eq!((date(0), date(u32::MAX)), ("2001-01-01".into(), LAST_DATE.into()));
        for cycle in (0..40_000).chain([1_000_000, 2_900_000]) {
            let text = date(cycle);
            let seconds = seconds_of_date(&text);
            assert_eq!(seconds, Some(crate::procedural::FIRST_DAY + 86_400 * u64::from(cycle)), "{text}");
        }
    }
}

//! Sort keys of URLs in indexes of web archives: the SURT (Sort-friendly URI Reordering Transform)
//! of the URL as canonicalized by the Internet Archive.
//!
//! `https://www.example.org/B/?b=2&a=1` becomes `org,example)/b?a=1&b=2`: host labels in reverse
//! without `www`, lower case, needless escapes decoded, parameters sorted, session ids removed.
//! Several pages may share a key. `scripts/check-archives.py` compares the keys with those of other
//! programs.

use std::fmt::Write as _;

/// Bytes that are not escaped, besides letters and digits.
const PLAIN: &[u8] = b"!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~";

/// The key of a URL that begins with `http://` or `https://`.
pub fn surt(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let rest = rest.split('#').next().unwrap_or("");
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut key = host_key(authority, scheme);
    key.push(')');
    key.push_str(&path_key(path));
    let query = query_key(query);
    if !query.is_empty() {
        let _ = write!(key, "?{query}");
    }
    key
}

fn host_key(authority: &str, scheme: &str) -> String {
    let authority = authority.rsplit('@').next().unwrap_or("");
    // The colon of a port comes after a bracketed address, if there is one.
    let colon = authority.rfind(':').filter(|colon| !authority[*colon..].contains(']'));
    let (host, port) = colon.map_or((authority, ""), |at| (&authority[..at], &authority[at + 1..]));
    let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
    let host = without_www(&host);
    let mut key = host.split('.').rev().collect::<Vec<_>>().join(",");
    let is_usual = matches!((scheme, port), (_, "") | ("http", "80") | ("https", "443"));
    if !is_usual {
        let _ = write!(key, ":{port}");
    }
    key
}

/// Removes `www.`, `www2.` etc.
fn without_www(host: &str) -> &str {
    let numbered = host.strip_prefix("www").map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    numbered.and_then(|rest| rest.strip_prefix('.')).unwrap_or(host)
}

fn path_key(path: &str) -> String {
    let decoded = unescape(path.as_bytes());
    let mut kept: Vec<&[u8]> = Vec::new();
    for segment in decoded.split(|byte| *byte == b'/').skip(1) {
        match segment {
            b"." => {}
            b".." if !kept.is_empty() => drop(kept.pop()),
            other => kept.push(other),
        }
    }
    let mut normal = vec![b'/'];
    if let Some((last, before)) = kept.split_last() {
        for segment in before.iter().filter(|segment| !segment.is_empty()) {
            normal.extend_from_slice(segment);
            normal.push(b'/');
        }
        normal.extend_from_slice(last);
    }
    let lower = escape(&normal).to_ascii_lowercase();
    let path = without_session_segment(without_session_segment(lower, is_lettered_session), is_session);
    match path.strip_suffix('/') {
        Some(shorter) if !shorter.is_empty() => shorter.to_owned(),
        _ => path,
    }
}

/// Removes the session id that ASP.NET puts in a segment before the name of the program.
fn without_session_segment(path: String, is_number: fn(&str) -> bool) -> String {
    let starts: Vec<usize> = path.match_indices('/').map(|(at, _)| at + 1).collect();
    for pair in starts.windows(2).rev() {
        let (segment, program) = (&path[pair[0]..pair[1] - 1], &path[pair[1]..]);
        let inner = segment.strip_prefix('(').and_then(|s| s.strip_suffix(')'));
        // At least one letter must precede the extension, and no question mark.
        let is_program = program.match_indices(".aspx").any(|(at, _)| at > 0 && !program[..at].contains('?'));
        if inner.is_some_and(is_number) && is_program {
            return format!("{}{program}", &path[..pair[0]]);
        }
    }
    path
}

/// `0123456789abcdefghijklmn`
fn is_session(number: &str) -> bool {
    number.len() == 24 && number.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// `s(0123456789abcdefghijklmn)`, one or several
fn is_lettered_session(numbers: &str) -> bool {
    let mut rest = numbers;
    while !rest.is_empty() {
        let inner = rest.strip_prefix(|c: char| c.is_ascii_lowercase()).and_then(|r| r.strip_prefix('('));
        match inner.and_then(|inner| inner.split_once(')')) {
            Some((number, after)) if is_session(number) => rest = after,
            _ => return false,
        }
    }
    !numbers.is_empty()
}

fn query_key(query: &str) -> String {
    let query = without_sessions(escape(&unescape(query.as_bytes()))).to_ascii_lowercase();
    if query.len() <= 1 {
        return query;
    }
    // A name without a value sorts before the same name with one.
    let mut parameters: Vec<(&str, Option<&str>)> = query
        .split('&')
        .map(|parameter| parameter.split_once('=').map_or((parameter, None), |(n, v)| (n, Some(v))))
        .collect();
    parameters.sort_unstable();
    let spelled = parameters.iter().map(|(name, value)| match value {
        Some(value) => format!("{name}={value}"),
        None => (*name).to_owned(),
    });
    spelled.collect::<Vec<_>>().join("&")
}

/// Removes session parameters, the last one of each name.
fn without_sessions(mut query: String) -> String {
    let number = |text: &str| {
        let is_number = text.len() >= 32 && text.bytes().take(32).all(|byte| byte.is_ascii_alphanumeric());
        is_number.then_some(32)
    };
    let asp = |text: &str| {
        let bytes = text.as_bytes();
        let is_number = bytes.len() >= 33
            && bytes[..8].iter().all(u8::is_ascii_alphabetic)
            && bytes[8] == b'='
            && bytes[9..33].iter().all(u8::is_ascii_alphabetic);
        is_number.then_some(33)
    };
    let cold_fusion = |text: &str| {
        let id = text.find('&').filter(|end| *end > 0)?;
        let token = text[id + 1..].get(..8).filter(|name| name.eq_ignore_ascii_case("cftoken="))?;
        let start = id + 1 + token.len();
        let end = text[start..].find('&').map_or(text.len(), |at| start + at);
        (end > start).then_some(end)
    };
    type Length = dyn Fn(&str) -> Option<usize>;
    let names: [(&str, &Length); 5] = [
        ("jsessionid=", &number),
        ("phpsessid=", &number),
        ("sid=", &number),
        ("aspsessionid", &asp),
        ("cfid=", &cold_fusion),
    ];
    for (name, length) in names {
        let lower = query.to_ascii_lowercase();
        let found = lower.match_indices(name).map(|(at, _)| at).filter_map(|at| {
            let start = at + name.len();
            let end = start + length(&query[start..])?;
            matches!(query.as_bytes().get(end), None | Some(b'&')).then_some((at, end))
        });
        if let Some((at, end)) = found.last() {
            let after = query.get(end + 1..).unwrap_or("");
            query = format!("{}{after}", &query[..at]);
        }
    }
    query
}

/// Decodes escapes until there are none.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    loop {
        let mut plain = Vec::with_capacity(text.len());
        let mut at = 0;
        while at < text.len() {
            let pair = text.get(at + 1..at + 3).and_then(|pair| Some((hex(pair[0])?, hex(pair[1])?)));
            match (text[at], pair) {
                (b'%', Some((high, low))) => {
                    plain.push(high << 4 | low);
                    at += 3;
                }
                (byte, _) => {
                    plain.push(byte);
                    at += 1;
                }
            }
        }
        if plain == text {
            return plain;
        }
        text = plain;
    }
}

fn hex(digit: u8) -> Option<u8> {
    (digit as char).to_digit(16).map(|value| value as u8)
}

fn escape(text: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text {
        match byte {
            b if b.is_ascii_alphanumeric() || PLAIN.contains(b) => out.push(*b as char),
            b => {
                let _ = write!(out, "%{b:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::surt;

    /// The results of the program `surt` 0.3.1 for the same URLs.
    #[test]
    fn keys_are_those_of_the_internet_archive() {
        for line in include_str!("surt/expected.tsv").lines() {
            let (url, expected) = line.split_once('\t').unwrap();
            assert_eq!(surt(url), expected, "{url}");
        }
    }
}

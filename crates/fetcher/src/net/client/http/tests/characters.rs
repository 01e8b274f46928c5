//! Characters of links as they are sent: as the URL Standard has them.

use super::*;

/// A character as written between `p` and `q`, in a path and in a query, and both as sent. From Chromium 156, but for `|`
/// in a path, which it escapes and the standard does not, and for escapes, which we normalise.
const TABLE: [(&str, &str, &str); 65] = [
    (" ", "/p%20q", "/p?p%20q"),
    ("!", "/p!q", "/p?p!q"),
    ("\"", "/p%22q", "/p?p%22q"),
    ("#", "/p", "/p?p"),
    ("$", "/p$q", "/p?p$q"),
    ("%", "/p%q", "/p?p%q"),
    ("&", "/p&q", "/p?p&q"),
    ("'", "/p'q", "/p?p%27q"),
    ("(", "/p(q", "/p?p(q"),
    (")", "/p)q", "/p?p)q"),
    ("*", "/p*q", "/p?p*q"),
    ("+", "/p+q", "/p?p+q"),
    (",", "/p,q", "/p?p,q"),
    ("-", "/p-q", "/p?p-q"),
    (".", "/p.q", "/p?p.q"),
    ("/", "/p/q", "/p?p/q"),
    (":", "/p:q", "/p?p:q"),
    (";", "/p;q", "/p?p;q"),
    ("<", "/p%3Cq", "/p?p%3Cq"),
    ("=", "/p=q", "/p?p=q"),
    (">", "/p%3Eq", "/p?p%3Eq"),
    ("?", "/p?q", "/p?p?q"),
    ("@", "/p@q", "/p?p@q"),
    ("[", "/p[q", "/p?p[q"),
    ("\\", "/p/q", "/p?p\\q"),
    ("]", "/p]q", "/p?p]q"),
    ("^", "/p%5Eq", "/p?p^q"),
    ("_", "/p_q", "/p?p_q"),
    ("`", "/p%60q", "/p?p`q"),
    ("{", "/p%7Bq", "/p?p{q"),
    ("|", "/p|q", "/p?p|q"),
    ("}", "/p%7Dq", "/p?p}q"),
    ("~", "/p~q", "/p?p~q"),
    ("\u{1}", "/p%01q", "/p?p%01q"),
    ("\u{9}", "/pq", "/p?pq"),
    ("\u{a}", "/pq", "/p?pq"),
    ("\u{d}", "/pq", "/p?pq"),
    ("\u{1f}", "/p%1Fq", "/p?p%1Fq"),
    ("\u{7f}", "/p%7Fq", "/p?p%7Fq"),
    ("\u{80}", "/p%C2%80q", "/p?p%C2%80q"),
    ("\u{85}", "/p%C2%85q", "/p?p%C2%85q"),
    ("\u{a0}", "/p%C2%A0q", "/p?p%C2%A0q"),
    ("\u{ad}", "/p%C2%ADq", "/p?p%C2%ADq"),
    ("\u{df}", "/p%C3%9Fq", "/p?p%C3%9Fq"),
    ("\u{e9}", "/p%C3%A9q", "/p?p%C3%A9q"),
    ("\u{130}", "/p%C4%B0q", "/p?p%C4%B0q"),
    ("\u{3c2}", "/p%CF%82q", "/p?p%CF%82q"),
    ("\u{200b}", "/p%E2%80%8Bq", "/p?p%E2%80%8Bq"),
    ("\u{200d}", "/p%E2%80%8Dq", "/p?p%E2%80%8Dq"),
    ("\u{2028}", "/p%E2%80%A8q", "/p?p%E2%80%A8q"),
    ("\u{3002}", "/p%E3%80%82q", "/p?p%E3%80%82q"),
    ("\u{feff}", "/p%EF%BB%BFq", "/p?p%EF%BB%BFq"),
    ("\u{fffd}", "/p%EF%BF%BDq", "/p?p%EF%BF%BDq"),
    ("\u{fffe}", "/p%EF%BF%BEq", "/p?p%EF%BF%BEq"),
    ("\u{1f600}", "/p%F0%9F%98%80q", "/p?p%F0%9F%98%80q"),
    ("%2", "/p%2q", "/p?p%2q"),
    ("%2e", "/p.q", "/p?p.q"),
    ("%2E", "/p.q", "/p?p.q"),
    ("%41", "/pAq", "/p?pAq"),
    ("%7e", "/p~q", "/p?p~q"),
    ("%5e", "/p%5Eq", "/p?p%5Eq"),
    ("%5E", "/p%5Eq", "/p?p%5Eq"),
    ("%zz", "/p%zzq", "/p?p%zzq"),
    ("%3F", "/p%3Fq", "/p?p%3Fq"),
    ("%00", "/p%00q", "/p?p%00q"),
];

#[tokio::test]
async fn characters_of_links_are_sent_as_browsers_send_them() {
    let base = reqwest::Url::parse(&format!("http://{}/d/", serve(Act::Echo).await)).unwrap();
    let network = HttpNetwork::new(&config()).unwrap();
    for (written, path, query) in TABLE {
        for (link, expected) in [
            (format!("/p{written}q"), path),
            (format!("/p?p{written}q"), query),
            (format!("/p#p{written}q"), "/p"),
        ] {
            let url = UrlRules::default().join(&base, &link).unwrap();
            let hop = recrawl_types::url::joined(&base, &link, None).unwrap();
            for hop in [None, Some(crate::Hop { url: hop, cookies: None })] {
                let is_hop = hop.is_some();
                let asked = Request { url: url.clone(), hop, ..request(base.as_str()) };
                let echo = network.get(&asked, &Meter::default()).await.unwrap().body;
                let sent = String::from_utf8_lossy(&echo).split(' ').nth(1).unwrap().to_owned();
                // A redirect is followed as its server wrote it.
                if !is_hop || !written.starts_with('%') {
                    assert_eq!(sent, expected, "{link:?}, behind a redirect: {is_hop}");
                }
            }
        }
    }
}

//! Requisites of pages: style sheets, one of which imports the other, images, and one that robots.txt forbids.
//!
//! Those of a host are shared by its pages, but for an image of each page.

/// Where they are, but for the forbidden one.
const FOLDER: &str = "/look/";
/// Beginning and end of an image.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Adds them to a page.
pub fn add_to(body: &mut Vec<u8>, target: &str) {
    let own = target.bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let markup = format!(
        "<link rel=stylesheet href={FOLDER}main.css><img src={FOLDER}logo.png><img src={FOLDER}{own}.png>\
         <img src=/private/look.png>\n"
    );
    body.extend_from_slice(markup.as_bytes());
}

/// The type and the body of one.
pub fn find(target: &str) -> Option<(&'static str, Vec<u8>)> {
    match target.strip_prefix(FOLDER)? {
        "main.css" => Some(("text/css", b"@import 'more.css'; p { background: url(ground.png) }".to_vec())),
        "more.css" => Some(("text/css", b"h1 { color: teal }".to_vec())),
        name if name.ends_with(".png") => Some(("image/png", [PNG, name.as_bytes()].concat())),
        _ => None,
    }
}

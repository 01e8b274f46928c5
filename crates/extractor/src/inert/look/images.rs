//! The image that a page shows, of all that it might show.
//!
//! The choice is that of a browser whose screen has [`WIDTH`] pixels, each one of the page's. The image keeps its
//! descriptor, so a browser gives it the size that it has in the page.

use crate::requisites::{described, top_level};
use scraper::node::Element;

/// Pixels of the screen for which images are chosen.
const WIDTH: f64 = 1280.0;
const HEIGHT: f64 = 720.0;
/// Pixels of a letter.
const EM: f64 = 16.0;
/// Candidates of an image that the archive is asked for.
const MAX_CANDIDATES: usize = 16;
/// Types of images that browsers show.
const IMAGES: [&str; 6] =
    ["image/avif", "image/gif", "image/jpeg", "image/png", "image/svg+xml", "image/webp"];

/// An image that may be shown.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ImageChoice {
    pub(super) reference: String,
    /// As in a `srcset`; none of one that has the size of its pixels.
    pub(super) descriptor: Option<String>,
    /// The `sizes` of its list.
    pub(super) sizes: Option<String>,
}

/// The images of one source in the order in which they should be shown: `src`, and its list with its sizes.
pub(super) fn choices(src: Option<&str>, list: &str, sizes: Option<&str>) -> Vec<ImageChoice> {
    let mut found: Vec<(f64, ImageChoice)> = Vec::new();
    let width = sizes.map_or(WIDTH, length_of_sizes);
    let mut has_widths = false;
    for (reference, descriptor) in described(list) {
        let (density, is_width) = match (positive(descriptor, 'w'), positive(descriptor, 'x')) {
            (Some(pixels), _) => (pixels / width.max(1.0), true),
            (None, density) => (density.unwrap_or(1.0), false),
        };
        has_widths |= is_width;
        let has_own_size = !is_width && (density - 1.0).abs() < f64::EPSILON;
        let choice = ImageChoice {
            reference: reference.to_owned(),
            descriptor: (!has_own_size).then(|| descriptor.to_owned()),
            sizes: sizes.filter(|_| is_width).map(str::to_owned),
        };
        found.push((density, choice));
    }
    // The least dense of those that are sharp, then the sharpest of the others.
    let rank = |density: f64| if density >= 1.0 { (0, density) } else { (1, -density) };
    let of_src = src.map(|src| ImageChoice { reference: src.to_owned(), descriptor: None, sizes: None });
    // Beside widths, a `src` is for browsers that read no list.
    let (listed, last) = if has_widths { (None, of_src) } else { (of_src, None) };
    found.extend(listed.map(|choice| (1.0, choice)));
    found.sort_by(|(a, _), (b, _)| {
        let ((a, of_a), (b, of_b)) = (rank(*a), rank(*b));
        a.cmp(&b).then(of_a.total_cmp(&of_b))
    });
    let found = found.into_iter().map(|(_, choice)| choice);
    found.take(MAX_CANDIDATES).chain(last).collect()
}

fn positive(descriptor: &str, unit: char) -> Option<f64> {
    let number = descriptor.strip_suffix(unit)?;
    let is_plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    number.parse::<f64>().ok().filter(|number| is_plain && *number > 0.0)
}

/// Pixels of an image by its `sizes`.
fn length_of_sizes(sizes: &str) -> f64 {
    let mut rest = sizes;
    while !rest.trim().is_empty() {
        let (size, after) = rest.split_at(top_level(rest));
        rest = after.get(1..).unwrap_or_default();
        let size = size.trim();
        let (condition, length) = match size.rsplit_once(|c: char| c.is_ascii_whitespace()) {
            Some((condition, length)) if !length.ends_with(')') => (condition.trim(), length),
            _ => ("", size),
        };
        if condition.is_empty() || holds(condition) {
            return pixels(length).unwrap_or(WIDTH);
        }
    }
    WIDTH
}

fn pixels(length: &str) -> Option<f64> {
    let split = length.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+')));
    let (number, unit) = length.split_at(split.unwrap_or(length.len()));
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "px" => 1.0,
        "em" | "rem" => EM,
        "vw" => WIDTH / 100.0,
        "vh" => HEIGHT / 100.0,
        _ => return None,
    };
    number.parse::<f64>().ok().map(|number| number * factor)
}

/// Does a source of a picture come before its image, on such a screen?
pub(super) fn is_shown(source: &Element) -> bool {
    let is_known = |kind: &str| IMAGES.contains(&&*kind.trim().to_ascii_lowercase());
    source.attr("media").is_none_or(holds) && source.attr("type").is_none_or(is_known)
}

/// Does a media query hold on such a screen? Only the common ones are read; others do not.
pub(super) fn holds(media: &str) -> bool {
    let media = media.to_ascii_lowercase();
    media.split(',').any(|query| {
        let query = query.trim();
        match query.strip_prefix("not ") {
            Some(negated) => !negated.split(" and ").all(part_holds),
            None => query.strip_prefix("only ").unwrap_or(query).split(" and ").all(part_holds),
        }
    })
}

fn part_holds(part: &str) -> bool {
    let part = part.trim().trim_matches(['(', ')']).trim();
    let Some((name, value)) = part.split_once(':') else { return matches!(part, "screen" | "all") };
    let value = value.trim();
    let at_most = |limit: f64, own: f64| limit <= own;
    match (name.trim(), pixels(value)) {
        ("min-width", Some(limit)) => at_most(limit, WIDTH),
        ("max-width", Some(limit)) => at_most(WIDTH, limit),
        ("min-height", Some(limit)) => at_most(limit, HEIGHT),
        ("max-height", Some(limit)) => at_most(HEIGHT, limit),
        ("orientation", None) => value == "landscape",
        ("prefers-color-scheme", None) => value == "light",
        ("prefers-reduced-motion", None) => value == "no-preference",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(src: Option<&str>, list: &str, sizes: Option<&str>) -> Vec<String> {
        let shown = |choice: ImageChoice| match choice.descriptor {
            Some(descriptor) => format!("{} {descriptor}", choice.reference),
            None => choice.reference,
        };
        choices(src, list, sizes).into_iter().map(shown).collect()
    }

    #[test]
    fn the_choice_is_that_of_a_browser() {
        for (src, list, sizes, expected) in [
            (Some("a"), "", None, &["a"][..]),
            (Some("a"), "b 2x, c 1x", None, &["c", "a", "b 2x"]),
            (Some("a"), "b 2x", None, &["a", "b 2x"]),
            (None, "b, c 1.5x, d .5x", None, &["b", "c 1.5x", "d .5x"]),
            (Some("a"), "b 90w, c 300w, d 900w", Some("300px"), &["c 300w", "d 900w", "b 90w", "a"]),
            (None, "b 640w, c 1280w", None, &["c 1280w", "b 640w"]),
            (None, "b 640w, c 1280w", Some("(max-width: 600px) 10px, 50vw"), &["b 640w", "c 1280w"]),
            (None, "b 640w, c 1280w", Some("(min-width: 20em) 40rem, 1px"), &["b 640w", "c 1280w"]),
            // What cannot be computed is the screen's width.
            (None, "b 640w, c 1280w", Some("calc(100vw - (2 * 3px))"), &["c 1280w", "b 640w"]),
            (None, "b -3w, c 0x, d x y, e infx", None, &["b", "c", "d", "e"]),
        ] {
            assert_eq!(order(src, list, sizes), expected, "{src:?} {list} {sizes:?}");
        }
    }

    #[test]
    fn many_candidates_are_few_requests() {
        let list: String = (0..100_000).map(|at| format!("/{at}.png {}w,", at + 1)).collect();
        let found = order(Some("src"), &list, Some("100px"));
        assert_eq!((found.len(), &*found[0], &*found[16]), (MAX_CANDIDATES + 1, "/99.png 100w", "src"));
    }

    #[test]
    fn queries_of_pictures_hold_as_on_a_wide_screen() {
        for (media, expected) in [
            ("(min-width: 600px)", true),
            ("screen and (min-width:1280px) and (max-width: 2000px)", true),
            ("only screen and (MIN-WIDTH: 40em)", true),
            ("print, (min-width: 1px)", true),
            ("not print", true),
            ("not all", false),
            ("(min-width: 1281px)", false),
            ("(max-width: 1279.5px)", false),
            ("(orientation: portrait)", false),
            ("(prefers-color-scheme: dark)", false),
            ("print", false),
            ("(min-width: calc(1px))", false),
        ] {
            assert_eq!(holds(media), expected, "{media}");
        }
    }
}

//! The dashboard. Its files are embedded in the program; it loads nothing from elsewhere.

/// A file of the dashboard.
pub struct Asset {
    /// Name under `/assets/`.
    pub name: &'static str,
    /// Media type.
    pub kind: &'static str,
    /// Content.
    pub text: &'static str,
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The page at `/`.
pub const PAGE: Asset = Asset {
    name: "index.html",
    kind: "text/html; charset=utf-8",
    text: include_str!("dashboard/index.html"),
};

/// A file of `dashboard/`.
macro_rules! asset {
    ($name:literal, $kind:expr) => {
        Asset { name: $name, kind: $kind, text: include_str!(concat!("dashboard/", $name)) }
    };
}

/// All other files of `dashboard/`.
pub const ASSETS: &[Asset] = &[
    asset!("action.js", SCRIPT),
    asset!("api.js", SCRIPT),
    asset!("bands.js", SCRIPT),
    asset!("bursts.js", SCRIPT),
    asset!("changes.js", SCRIPT),
    asset!("calendar.js", SCRIPT),
    asset!("chart.js", SCRIPT),
    asset!("control.js", SCRIPT),
    asset!("cycle.js", SCRIPT),
    asset!("cycles.js", SCRIPT),
    asset!("delivery.js", SCRIPT),
    asset!("difference.js", SCRIPT),
    asset!("dom.js", SCRIPT),
    asset!("errors.js", SCRIPT),
    asset!("flight.js", SCRIPT),
    asset!("fleet.js", SCRIPT),
    asset!("focus.js", SCRIPT),
    asset!("forecast.js", SCRIPT),
    asset!("format.js", SCRIPT),
    asset!("formula.js", SCRIPT),
    asset!("health.js", SCRIPT),
    asset!("hosts.js", SCRIPT),
    asset!("icon.svg", "image/svg+xml"),
    asset!("improve.js", SCRIPT),
    asset!("loop.js", SCRIPT),
    asset!("main.js", SCRIPT),
    asset!("now.js", SCRIPT),
    asset!("page.js", SCRIPT),
    asset!("polite.js", SCRIPT),
    asset!("recent.js", SCRIPT),
    asset!("search.js", SCRIPT),
    asset!("seeds.js", SCRIPT),
    asset!("size.js", SCRIPT),
    asset!("stream.js", SCRIPT),
    asset!("style.css", "text/css; charset=utf-8"),
    asset!("table.js", SCRIPT),
    asset!("timeline.js", SCRIPT),
    asset!("versions.js", SCRIPT),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn all() -> impl Iterator<Item = &'static Asset> {
        ASSETS.iter().chain([&PAGE])
    }

    #[test]
    fn every_file_of_the_folder_is_served_under_its_name() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/dashboard");
        let files = std::fs::read_dir(folder).unwrap();
        let files: BTreeSet<String> = files.map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
        let served: BTreeSet<String> = all().map(|asset| asset.name.to_owned()).collect();
        assert_eq!(served, files);
    }

    #[test]
    fn what_a_file_asks_for_is_there() {
        let names: BTreeSet<&str> = ASSETS.iter().map(|asset| asset.name).collect();
        for asset in all() {
            for (before, after) in [("from \"./", '"'), ("\"assets/", '"')] {
                for rest in asset.text.split(before).skip(1) {
                    let wanted = rest.split(after).next().unwrap();
                    assert!(names.contains(wanted), "{} asks for {wanted}", asset.name);
                }
            }
        }
    }

    /// Behind a proxy the page may be at `/watch/`: an address that begins with a slash would leave it.
    #[test]
    fn every_address_is_relative_to_the_page() {
        for asset in all() {
            for start in ["href=\"/", "src=\"/", "\"/api", "`/api", "\"/archived", "\"/assets", "url(/"] {
                assert!(!asset.text.contains(start), "{} has {start}", asset.name);
            }
        }
    }

    /// The content security policy blocks some of this in the browser; this test finds it earlier.
    #[test]
    fn no_text_becomes_markup_and_nobody_else_is_asked() {
        let forbidden = [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "DOMParser",
            "eval(",
            "<style",
            "style=\"",
            "onclick=\"",
        ];
        for asset in all() {
            for word in forbidden {
                assert!(!asset.text.contains(word), "{} has {word}", asset.name);
            }
            let foreign = asset.text.split("://").count() - 1;
            // The namespace of SVG, which is never fetched, and examples in hints.
            let named = ["http://www.w3.org/2000/svg", "https://example.com", "includes(\"://"]
                .map(|text| asset.text.matches(text).count());
            assert_eq!(foreign, named.iter().sum::<usize>(), "{} has an address", asset.name);
        }
        assert_eq!(PAGE.text.matches("<script").count(), 1, "one script, and that is a file");
    }
}

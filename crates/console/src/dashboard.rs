//! The dashboard: its page and files, embedded in the program, so that it asks nobody else for anything.

/// A file of the dashboard.
pub struct Asset {
    /// Its name under `/assets/`.
    pub name: &'static str,
    /// Its media type.
    pub kind: &'static str,
    /// What is in it.
    pub text: &'static str,
}

/// The page at `/`.
pub const PAGE: Asset = Asset {
    name: "index.html",
    kind: "text/html; charset=utf-8",
    text: include_str!("dashboard/index.html"),
};

/// All other files, from `dashboard/`.
pub const ASSETS: &[Asset] = &[Asset {
    name: "style.css",
    kind: "text/css; charset=utf-8",
    text: include_str!("dashboard/style.css"),
}];

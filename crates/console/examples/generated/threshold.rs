//! Thresholds by the names that alerts and panels use.

use recrawl_console::view::health::{BACKED_OFF_SHARE, FAILED_SHARE, LOW_DISK_RESERVES, SPENT_SHARE};

/// Share of the allowed file descriptors above which too many are open; an alert only.
pub const FILES_SHARE: f64 = 0.9;

/// The thresholds.
pub const THRESHOLDS: &[(&str, f64)] = &[
    ("FAILED_SHARE", FAILED_SHARE),
    ("LOW_DISK_RESERVES", LOW_DISK_RESERVES),
    ("SPENT_SHARE", SPENT_SHARE),
    ("BACKED_OFF_SHARE", BACKED_OFF_SHARE),
    ("FILES_SHARE", FILES_SHARE),
];

/// `text` with the values of the thresholds that it names.
pub fn with_thresholds(text: &str) -> String {
    THRESHOLDS.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, &value.to_string()))
}

//! Archived versions of a page: a list, and one of them.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// Query of the list of a page's versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionQuery {
    /// URL. Untrusted.
    pub url: String,
    /// Continue at [`VersionList::next`] of an earlier response. Untrusted, as [`HostQuery::cursor`](super::HostQuery).
    pub cursor: Option<String>,
    /// Maximum rows, 1 to [`MAX_VERSION_ROWS`](crate::MAX_VERSION_ROWS).
    pub limit: usize,
}

/// Query of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneVersion {
    /// URL. Untrusted.
    pub url: String,
    /// Untrusted.
    pub which: Which,
}

/// How a version is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// By its place.
    Place {
        /// [`Version::warc_file`].
        warc_file: u32,
        /// [`Version::warc_offset`].
        warc_offset: u64,
    },
    /// The newest that is not after this second since 1970.
    At(u64),
}

/// The times of a page's archived versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct MementoList {
    /// Canonical URL of the page.
    pub url: String,
    /// Seconds since 1970, newest first. There is one.
    pub times: Vec<u64>,
}

/// A response as it was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawVersion {
    /// Canonical URL of the page.
    pub url: String,
    /// Time of the fetch, in seconds since 1970.
    pub time: u64,
    /// HTTP status.
    pub status: u16,
    /// Status line and headers, as archived. Untrusted.
    pub head: Vec<u8>,
    /// The body. Untrusted.
    pub body: Vec<u8>,
    /// The canonical URL to which it redirects.
    pub target: Option<String>,
}

/// A part of the list of a page's archived versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct VersionList {
    /// Canonical URL of the page.
    pub url: String,
    /// Versions, newest first. A visit that found the same bytes adds none.
    pub versions: Vec<Version>,
    /// Cursor of the next part; null at the end.
    pub next: Option<String>,
    /// Why there is no version, or why the one before the last of these cannot be read; else null.
    pub missing: Option<NoVersion>,
}

/// An archived response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Version {
    /// Its number, from 1, the newest. It grows when a new version is archived.
    pub number: usize,
    /// Time of the fetch, in seconds since 1970.
    pub time: u64,
    /// HTTP status.
    pub status: u16,
    /// `Content-Type`, as declared.
    pub content_type: Option<String>,
    /// Bytes of the body.
    pub bytes: u64,
    /// Digest of the body, in WARC notation.
    pub digest: Option<String>,
    /// Do its words differ from those of the version before? Null if one of them is no text, or there is none before.
    pub words_changed: Option<bool>,
    /// Number of the WARC file. With the offset it names the version for good.
    pub warc_file: u32,
    /// Offset in this file, in bytes.
    pub warc_offset: u64,
}

/// Why something is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct NoVersion {
    /// The reason for programs; the table is in docs/console.md.
    pub none: &'static str,
    /// The reason for people.
    pub why: String,
}

/// What the archive has of one version.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct VersionContent {
    /// Canonical URL of the page.
    pub url: String,
    /// The version; `words_changed` is null.
    pub version: Version,
    /// Status line and headers, as archived.
    pub headers: String,
    /// The visible text, as far as the page's rule lets it count; null if there is none.
    pub text: Option<String>,
    /// Is the text longer than what is here?
    pub text_is_cut: bool,
    /// Why there is no text; else null.
    pub no_text: Option<NoVersion>,
    /// The difference to the version before, or why there is none, as `texts` of /api/v1/page.
    #[schema(value_type = Object)]
    pub difference: Value,
}

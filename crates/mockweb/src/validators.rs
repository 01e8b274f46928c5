//! Validators and conditional requests (RFC 9110 §8.8, §13).

use std::time::SystemTime;

/// Validators of a web.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Validators {
    /// No `ETag` and no `Last-Modified`; a condition is never met.
    None,
    /// An `ETag` for the version (a weak one on a noisy host, whose bytes differ at every response)
    /// and the date of the last change.
    #[default]
    Strong,
    /// An `ETag` and a date that never change: 304 even if the content changed.
    Lying,
    /// A new `ETag` at every response and no date: never 304.
    Restless,
}

impl Validators {
    /// Every name with its value, in the order of the manual.
    pub const NAMES: [(&str, Validators); 4] = [
        ("none", Validators::None),
        ("strong", Validators::Strong),
        ("lying", Validators::Lying),
        ("restless", Validators::Restless),
    ];
}

impl std::str::FromStr for Validators {
    type Err = String;

    fn from_str(text: &str) -> Result<Validators, String> {
        let found = Validators::NAMES.iter().find(|(name, _)| *name == text);
        found.map(|(_, validators)| *validators).ok_or_else(|| {
            let names = Validators::NAMES.map(|(name, _)| name).join(", ");
            format!("unknown validators {text:?}; use {names}")
        })
    }
}

/// The truth about a page at the time of a request.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// The page.
    pub page: u32,
    /// Version of the page.
    pub version: u32,
    /// When this version appeared.
    pub modified: SystemTime,
    /// When the page first appeared.
    pub appeared: SystemTime,
    /// Whether every response differs.
    pub is_noisy: bool,
    /// The serial number of this response.
    pub serial: u64,
}

/// The validators of one response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentValidators {
    /// The `ETag` field.
    pub etag: Option<String>,
    /// The `Last-Modified` field, as a moment.
    pub modified: Option<SystemTime>,
}

impl Validators {
    /// The validators of a page's response.
    pub fn tell(self, state: &State) -> SentValidators {
        let State { page, version, .. } = state;
        match self {
            Validators::None => SentValidators::default(),
            Validators::Strong => {
                let weak = if state.is_noisy { "W/" } else { "" };
                SentValidators {
                    etag: Some(format!("{weak}\"{page:x}-{version:x}\"")),
                    modified: Some(state.modified),
                }
            }
            Validators::Lying => {
                SentValidators { etag: Some(format!("\"{page:x}\"")), modified: Some(state.appeared) }
            }
            Validators::Restless => {
                SentValidators { etag: Some(format!("\"{page:x}-r{:x}\"", state.serial)), modified: None }
            }
        }
    }
}

impl SentValidators {
    /// Whether the client's version is current. `If-None-Match` overrides `If-Modified-Since`; tags
    /// are compared weakly, dates by the second.
    pub fn confirms(&self, if_none_match: Option<&str>, if_modified_since: Option<&str>) -> bool {
        if let Some(tags) = if_none_match {
            let bare = |tag: &str| tag.trim().trim_start_matches("W/").to_string();
            let own = self.etag.as_deref().map(bare);
            return tags.split(',').any(|tag| tag.trim() == "*" || Some(bare(tag)) == own);
        }
        let (Some(since), Some(modified)) = (if_modified_since, self.modified) else { return false };
        httpdate::parse_http_date(since).is_ok_and(|since| modified <= since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn day(n: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(86_400 * n)
    }

    fn state(version: u32, is_noisy: bool, serial: u64) -> State {
        State { page: 10, version, modified: day(30), appeared: day(1), is_noisy, serial }
    }

    #[test]
    fn a_strong_tag_names_the_version_and_nothing_else() {
        let told = Validators::Strong.tell(&state(3, false, 1));
        assert_eq!(told.etag.as_deref(), Some("\"a-3\""));
        assert_eq!(told, Validators::Strong.tell(&state(3, false, 2)));
        assert!(told.confirms(Some("\"a-3\""), None));
        assert!(told.confirms(Some("\"x\", W/\"a-3\""), None));
        assert!(told.confirms(Some("*"), None));
        assert!(!told.confirms(Some("\"a-2\""), None));
        assert_eq!(Validators::Strong.tell(&state(3, true, 1)).etag.as_deref(), Some("W/\"a-3\""));
    }

    #[test]
    fn a_date_counts_only_where_no_tag_is_given() {
        let told = Validators::Strong.tell(&state(3, false, 1));
        let date = httpdate::fmt_http_date(day(30));
        let earlier = httpdate::fmt_http_date(day(29));
        assert!(told.confirms(None, Some(&date)));
        assert!(!told.confirms(None, Some(&earlier)));
        assert!(!told.confirms(Some("\"a-2\""), Some(&date)));
        assert!(!told.confirms(None, Some("yesterday")));
        assert!(!told.confirms(None, None));
    }

    #[test]
    fn liars_lie() {
        let before = Validators::Lying.tell(&state(3, false, 1));
        let after = Validators::Lying.tell(&state(4, false, 2));
        assert!(after.confirms(before.etag.as_deref(), None));
        let before = Validators::Restless.tell(&state(3, false, 1));
        let after = Validators::Restless.tell(&state(3, false, 2));
        assert!(!after.confirms(before.etag.as_deref(), None));
        assert_eq!(Validators::None.tell(&state(3, false, 1)), SentValidators::default());
        assert!("strict".parse::<Validators>().is_err());
    }
}

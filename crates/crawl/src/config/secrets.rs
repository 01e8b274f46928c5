//! Secret values of the configuration: their references, and how to read them.

use super::operator_file;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::path::{Path, PathBuf};

/// `env:NAME`, `file:PATH`, or the value itself; empty for none. Displays the reference, never the
/// value.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

/// Stands for a value that is not read.
const LEFT_OUT: &str = "env:left out";

impl Secret {
    /// Leaves the value out, if there is one.
    pub fn leave_out(&mut self) {
        if !self.is_empty() {
            self.0 = LEFT_OUT.into();
        }
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The file that holds it, if it is in a file.
    pub fn file(&self) -> Option<PathBuf> {
        self.0.strip_prefix("file:").map(PathBuf::from)
    }

    fn is_reference(&self) -> bool {
        self.0.starts_with("env:") || self.0.starts_with("file:")
    }

    /// The value, which may be in the configuration itself.
    ///
    /// # Errors
    /// When the reference cannot be read. The message contains no secret.
    #[expect(clippy::disallowed_methods, reason = "the configuration names the variable")]
    pub fn value(&self) -> Result<String, String> {
        if self.0 == LEFT_OUT {
            return Ok("left-out".into());
        }
        if let Some(name) = self.0.strip_prefix("env:") {
            return std::env::var(name).map_err(|e| format!("cannot read environment variable {name}: {e}"));
        }
        let Some(path) = self.0.strip_prefix("file:") else { return Ok(self.0.clone()) };
        let text = operator_file::read_text(Path::new(path), operator_file::MAX_SECRET)
            .map_err(|e| format!("cannot read {path}: {e}"))?;
        Ok(text.trim_end_matches(['\r', '\n']).to_owned())
    }

    /// The value, which must not be in the configuration itself.
    ///
    /// # Errors
    /// As [`Secret::value`], and when it is.
    pub fn referred(&self) -> Result<String, String> {
        if self.is_reference() {
            self.value()
        } else {
            Err("secrets are not allowed in the configuration; write \"env:NAME\" or \"file:PATH\"".into())
        }
    }
}

/// A URL whose path may be a secret, such as that of a chat: `env:NAME`, `file:PATH`, or the URL itself. Displays its
/// scheme, host and port.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct SecretUrl(pub Secret);

impl fmt::Display for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match url::Url::parse(&self.0.0) {
            Ok(url) if !self.0.is_reference() => {
                write!(f, "{}/(hidden)", url.origin().ascii_serialization())
            }
            _ => self.0.fmt(f),
        }
    }
}

impl fmt::Debug for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for SecretUrl {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() || self.is_reference() { &self.0 } else { "(hidden)" })
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Secret, D::Error> {
        String::deserialize(d).map(Secret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_where_they_are_and_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "geheim\n").unwrap();
        let file = Secret(format!("file:{}", path.display()));
        assert_eq!(file.referred().as_deref(), Ok("geheim"));
        assert!(file.to_string().ends_with("token"));
        let literal = Secret("geheim".into());
        assert_eq!((literal.value().as_deref(), literal.to_string().as_str()), (Ok("geheim"), "(hidden)"));
        assert!(literal.referred().unwrap_err().contains("env:NAME"));
        let shown = |text: &str| SecretUrl(Secret(text.into())).to_string();
        assert_eq!(shown("https://u:p@hooks.test:8443/geheim?a=b"), "https://hooks.test:8443/(hidden)");
        assert_eq!(
            (shown("file:/run/hook"), shown("env:HOOK")),
            ("file:/run/hook".into(), "env:HOOK".into())
        );
        assert_eq!((shown("hooks.test/geheim"), shown("")), ("(hidden)".into(), String::new()));
        let [mut given, mut none] = ["env:RECRAWL_NO_SUCH_VARIABLE", ""].map(|text| Secret(text.into()));
        given.leave_out();
        none.leave_out();
        assert!(given.referred().is_ok() && !given.is_empty() && none.is_empty());
        let missing = Secret("env:RECRAWL_NO_SUCH_VARIABLE".into()).value().unwrap_err();
        assert!(missing.contains("RECRAWL_NO_SUCH_VARIABLE"), "{missing}");
        assert!(Secret(format!("file:{}x", path.display())).value().unwrap_err().contains("tokenx"));
    }
}

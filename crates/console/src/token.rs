//! Operator names and their bearer tokens, from a file that no other user can read.

use recrawl_types::Size;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use subtle::{Choice, ConstantTimeEq};

/// Minimum characters of a token: 32 characters of base64 are 192 bits.
pub const MIN_TOKEN_CHARACTERS: usize = 32;
/// Maximum bytes of a token.
pub const MAX_TOKEN_BYTES: usize = 512;
/// Maximum tokens of a file. Each request with a token is compared with all of them.
pub const MAX_TOKENS: usize = 100;
/// Maximum bytes of a token file.
pub const MAX_FILE_BYTES: u64 = 64 << 10;

/// Names and their tokens. An empty list authorizes nobody.
#[derive(Clone)]
pub struct Tokens(Vec<(String, String)>);

impl Tokens {
    /// Reads a file of lines `name token`. Empty lines and lines that start with `#` are ignored. A
    /// file without other lines authorizes nobody.
    ///
    /// # Errors
    /// If the file cannot be read, other users can access it, or a line is invalid. Errors contain
    /// no token.
    pub fn read(path: &Path) -> Result<Tokens, TokenError> {
        let error = |line, what: String, todo| TokenError { path: path.to_owned(), line, what, todo };
        let unreadable = |e: io::Error| error(None, e.to_string(), "use a file that this user can read");
        let file = File::open(path).map_err(unreadable)?;
        if let Some(what) = readable_by_others(&file).map_err(unreadable)? {
            return Err(error(
                None,
                what,
                "run chmod 600 on it; replace the tokens if someone may have read them",
            ));
        }
        let mut text = String::new();
        file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
        if text.len() as u64 > MAX_FILE_BYTES {
            let what = format!("longer than {}", Size(MAX_FILE_BYTES));
            return Err(error(None, what, "is this the right file?"));
        }
        Tokens::parse(&text).map_err(|(line, what, todo)| error(line, what, todo))
    }

    /// Parses the text of a token file. An error has the line, what is wrong, and what to do.
    fn parse(text: &str) -> Result<Tokens, (Option<usize>, String, &'static str)> {
        const SHAPE: &str = "write `name token`, such as `anna $(openssl rand -hex 32)`";
        let mut tokens: Vec<(String, String)> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |what: String, todo| Err((Some(number), what, todo));
            let words: Vec<&str> = line.split_whitespace().collect();
            let &[name, token] = words.as_slice() else {
                return wrong(format!("expected 2 words, found {}", words.len()), SHAPE);
            };
            if !token.bytes().all(|b| b.is_ascii_graphic()) || token.len() > MAX_TOKEN_BYTES {
                return wrong(
                    format!("a token must be printable ASCII of at most {MAX_TOKEN_BYTES} bytes"),
                    SHAPE,
                );
            }
            if token.len() < MIN_TOKEN_CHARACTERS {
                let what = format!("the token has only {} characters", token.len());
                return wrong(what, "use at least 32 characters");
            }
            if tokens.iter().any(|(n, _)| n == name) {
                return wrong(format!("second token for {name}"), "use a different name for each token");
            }
            if tokens.iter().any(|(_, t)| t == token) {
                return wrong("duplicate token".into(), "use a different token for each name");
            }
            if tokens.len() == MAX_TOKENS {
                return wrong(format!("more than {MAX_TOKENS} tokens"), "remove unused tokens");
            }
            tokens.push((name.to_owned(), token.to_owned()));
        }
        Ok(Tokens(tokens))
    }

    /// Whether there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The name of a token, if it is known. The time taken reveals nothing about the tokens.
    pub fn name_of(&self, token: &[u8]) -> Option<&str> {
        let mut found = None;
        for (name, known) in &self.0 {
            let same: Choice = known.as_bytes().ct_eq(token);
            if same.into() {
                found = Some(name.as_str());
            }
        }
        found
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// A complaint if other users can access the file. It checks the open file, because the path may
/// name another one by now.
#[cfg(unix)]
fn readable_by_others(file: &File) -> io::Result<Option<String>> {
    use std::os::unix::fs::PermissionsExt;
    let mode = file.metadata()?.permissions().mode() & 0o777;
    Ok((mode & 0o077 != 0).then(|| format!("mode {mode:o}: other users can read or write it")))
}

#[cfg(not(unix))]
fn readable_by_others(_: &File) -> io::Result<Option<String>> {
    Ok(None)
}

/// Why a token file is invalid.
#[derive(Debug, thiserror::Error)]
#[error("{}{}: {what}; {todo}", .path.display(), .line.map_or_else(String::new, |n| format!(":{n}")))]
pub struct TokenError {
    /// Path of the file.
    pub path: PathBuf,
    /// The line, counted from 1; none if the whole file is wrong.
    pub line: Option<usize>,
    /// What is wrong; never contains a token.
    pub what: String,
    /// What to do.
    pub todo: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "0123456789abcdef0123456789abcdef";
    const B: &str = "0123456789abcdef0123456789abcdeF";

    #[test]
    fn a_token_names_its_owner_and_nothing_else_does() {
        let tokens = Tokens::parse(&format!("# who\n\nanna {A}\n  ben\t{B}  \n")).unwrap();
        assert_eq!(tokens.name_of(A.as_bytes()), Some("anna"));
        assert_eq!(tokens.name_of(B.as_bytes()), Some("ben"));
        for other in ["", "anna", &A[1..], &format!("{A}0"), &A.to_uppercase()] {
            assert_eq!(tokens.name_of(other.as_bytes()), None, "{other}");
        }
        assert_eq!(format!("{tokens:?}"), r#"["anna", "ben"]"#);
    }

    #[test]
    fn a_line_that_is_none_is_refused_without_being_shown() {
        let many: String = (0..=MAX_TOKENS).map(|i| format!("n{i} {A}{i}\n")).collect();
        for (text, line, why) in [
            (&format!("anna\n{A}"), Some(1), "found 1"),
            (&format!("anna {A}\n\nben {A}"), Some(3), "duplicate token"),
            (&format!("anna {A}\nanna {B}"), Some(2), "second token for anna"),
            (&format!("anna {}", &A[1..]), Some(1), "31 characters"),
            (&format!("anna {A}ü"), Some(1), "ASCII"),
            (&format!("anna {}", A.repeat(17)), Some(1), "512 bytes"),
            (&many, Some(MAX_TOKENS + 1), "more than 100"),
        ] {
            let (at, what, _) = Tokens::parse(text).unwrap_err();
            assert_eq!(at, line, "{what}");
            assert!(what.contains(why) && !what.contains(&A[1..]), "{what}");
        }
    }

    #[test]
    fn an_empty_file_is_nobodys() {
        for text in ["", "\n\n", "# anna x\n"] {
            let tokens = Tokens::parse(text).unwrap();
            assert!(tokens.is_empty() && tokens.name_of(b"").is_none(), "{text:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        std::fs::write(&path, format!("anna {A}\n")).unwrap();
        for (mode, fine) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o620, false)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let read = Tokens::read(&path);
            assert_eq!(read.is_ok(), fine, "{mode:o}");
            if let Err(e) = read {
                assert!(e.to_string().contains("chmod 600"), "{e}");
            }
        }
        let gone = Tokens::read(&folder.path().join("none")).unwrap_err().to_string();
        assert!(gone.contains("none: "), "{gone}");
    }
}

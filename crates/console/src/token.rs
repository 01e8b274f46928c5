//! Who may change something: names and bearer tokens, from a file that nobody else can read.

use std::error::Error;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use subtle::{Choice, ConstantTimeEq};

/// Characters of a token, at least: 32 of base 64 are 192 bits.
pub const MIN_TOKEN_CHARACTERS: usize = 32;
/// Bytes of a token.
pub const MAX_TOKEN_BYTES: usize = 512;
/// Tokens of a file: each is compared with whatever a stranger sends.
pub const MAX_TOKENS: usize = 100;
/// Bytes of a file of tokens.
pub const MAX_FILE_BYTES: u64 = 64 << 10;

/// Names and their tokens; of an empty file nobody's.
#[derive(Clone)]
pub struct Tokens(Vec<(String, String)>);

impl Tokens {
    /// Reads a file of lines `name token`; empty lines and those that begin with `#` are passed over. One with no other
    /// lines takes the right from everybody.
    ///
    /// # Errors
    /// When it cannot be read, others can read it, or a line is none; in words that hold no token.
    pub fn read(path: &Path) -> Result<Tokens, TokenError> {
        let error = |line, what: String, todo| TokenError { path: path.to_owned(), line, what, todo };
        let unreadable = |e: io::Error| error(None, e.to_string(), "name a file that this user can read");
        let file = File::open(path).map_err(unreadable)?;
        if let Some(what) = readable_by_others(&file).map_err(unreadable)? {
            return Err(error(
                None,
                what,
                "chmod 600 it, and change the tokens if someone may have read them",
            ));
        }
        let mut text = String::new();
        file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
        if text.len() as u64 > MAX_FILE_BYTES {
            let what = format!("longer than {MAX_FILE_BYTES} bytes");
            return Err(error(None, what, "is this the right file?"));
        }
        Tokens::parse(&text).map_err(|(line, what, todo)| error(line, what, todo))
    }

    /// The text of such a file. An error has line, what is wrong, and what to do.
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
                return wrong(format!("{} words instead of two", words.len()), SHAPE);
            };
            if !token.bytes().all(|b| b.is_ascii_graphic()) || token.len() > MAX_TOKEN_BYTES {
                return wrong(format!("a token is ASCII, of {MAX_TOKEN_BYTES} bytes at most"), SHAPE);
            }
            if token.len() < MIN_TOKEN_CHARACTERS {
                let what = format!("the token has {} characters, too few to be hard to guess", token.len());
                return wrong(what, "take one of 32 characters or more");
            }
            if tokens.iter().any(|(n, _)| n == name) {
                return wrong(
                    format!("a second token of {name}"),
                    "a name has one; give the other another name",
                );
            }
            if tokens.iter().any(|(_, t)| t == token) {
                return wrong("the token of another name too".into(), "each name needs a token of its own");
            }
            if tokens.len() == MAX_TOKENS {
                return wrong(format!("more than {MAX_TOKENS} tokens"), "remove those that nobody uses");
            }
            tokens.push((name.to_owned(), token.to_owned()));
        }
        Ok(Tokens(tokens))
    }

    /// Are they nobody's?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whose token this is. Takes as long whichever it is, if any, and however much of one it is.
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

/// What is wrong with who may read a file. The open file is asked, not its name, which may be another by now.
#[cfg(unix)]
fn readable_by_others(file: &File) -> io::Result<Option<String>> {
    use std::os::unix::fs::PermissionsExt;
    let mode = file.metadata()?.permissions().mode() & 0o777;
    Ok((mode & 0o077 != 0).then(|| format!("its mode {mode:o} lets others read or write it")))
}

#[cfg(not(unix))]
fn readable_by_others(_: &File) -> io::Result<Option<String>> {
    Ok(None)
}

/// Why a file of tokens is none.
#[derive(Debug)]
pub struct TokenError {
    /// The file.
    pub path: PathBuf,
    /// The line, counted from 1; none when the whole file is meant.
    pub line: Option<usize>,
    /// What is wrong; never a token.
    pub what: String,
    /// What to do about it.
    pub todo: &'static str,
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}; {}", self.what, self.todo)
    }
}

impl Error for TokenError {}

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
            (&format!("anna\n{A}"), Some(1), "1 words"),
            (&format!("anna {A}\n\nben {A}"), Some(3), "of another name"),
            (&format!("anna {A}\nanna {B}"), Some(2), "second token of anna"),
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

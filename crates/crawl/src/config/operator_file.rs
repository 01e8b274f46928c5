//! Files that the configuration names, or is in: read up to a limit, since a device or a pipe has no end.

use recrawl_types::Size;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Maximum bytes of the configuration. The parser takes seconds for longer keys.
pub const MAX_CONFIG: u64 = 1 << 20;
/// Maximum bytes of a file with a secret.
pub const MAX_SECRET: u64 = 64 << 10;
/// Maximum bytes of a model, of labels, or of a body that is tried.
pub const MAX_DATA: u64 = 64 << 20;
/// Maximum bytes of a file with certificates.
pub const MAX_CERTIFICATES: u64 = 4 << 20;

/// Reads a file, or a pipe, of at most this many bytes; `-` is standard input.
///
/// # Errors
/// When it cannot be read or is longer.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file: Box<dyn Read> =
        if path == Path::new("-") { Box::new(io::stdin()) } else { Box::new(File::open(path)?) };
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let text = format!("longer than {}; name another file", Size(most));
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(bytes)
}

/// The same, of a text in UTF-8.
///
/// # Errors
/// As [`read`], and when it is not such a text.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit_and_one_without_end_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for (length, is_read) in [(0, true), (1024, true), (1025, false)] {
            std::fs::write(&path, vec![b'a'; length]).unwrap();
            assert_eq!(
                read(&path, 1024).map(|bytes| bytes.len()).ok(),
                is_read.then_some(length),
                "{length}"
            );
        }
        let error = read(Path::new("/dev/zero"), MAX_CONFIG).unwrap_err();
        assert!(error.to_string().contains("longer than 1 MiB"), "{error}");
    }
}

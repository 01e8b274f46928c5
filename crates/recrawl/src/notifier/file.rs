//! Appends messages to a file, a line each.

use super::not_taken::{NotTaken, within};
use recrawl_crawl::output::sync_folder_of;
use rustix::fs::OFlags;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::task::spawn_blocking;

/// A file of lines. It is opened for each line, so that it can be rotated by a rename.
pub struct LinesFile {
    pub path: PathBuf,
    pub timeout: Duration,
}

impl LinesFile {
    /// Appends a line, durably. Line breaks within the text become spaces.
    ///
    /// # Errors
    /// When it cannot be written, or not in time.
    pub async fn append(&self, text: String) -> Result<(), NotTaken> {
        let path = self.path.clone();
        // A disk may stand still.
        let written = spawn_blocking(move || append(&path, &text));
        let path = self.path.display();
        let failed = |e: io::Error| NotTaken::Failed(format!("cannot write {path}: {e}"));
        let work = async {
            let written = written.await.unwrap_or_else(|panic| Err(io::Error::other(panic)));
            written.map_err(failed)
        };
        within(self.timeout, work).await
    }
}

fn append(path: &Path, text: &str) -> io::Result<()> {
    let mut line = text.trim_end_matches(['\r', '\n']).replace(['\r', '\n'], " ");
    line.push('\n');
    let mut options = OpenOptions::new();
    // A named pipe would be waited for.
    options.append(true).custom_flags(OFlags::NONBLOCK.bits() as i32);
    let (mut file, is_new) = match options.open(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => (options.create(true).open(path)?, true),
        opened => (opened?, false),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    // A line is in it whole or not at all.
    let written = file.write_all(line.as_bytes()).and_then(|()| file.sync_data());
    written.inspect_err(|_| _ = file.set_len(metadata.len()))?;
    if is_new {
        sync_folder_of(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &Path) -> LinesFile {
        LinesFile { path: path.into(), timeout: Duration::from_secs(300) }
    }

    #[tokio::test]
    async fn each_message_is_a_line_whatever_its_text_and_whoever_renames_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let (path, older) = (folder.path().join("lines"), folder.path().join("older"));
        let file = lines(&path);
        file.append("one\r\ntwo\n\n".into()).await.unwrap();
        std::fs::rename(&path, &older).unwrap();
        file.append("three".into()).await.unwrap();
        file.append("four".into()).await.unwrap();
        assert_eq!(std::fs::read_to_string(older).unwrap(), "one  two\n");
        assert_eq!(std::fs::read_to_string(path).unwrap(), "three\nfour\n");
    }

    #[tokio::test]
    async fn what_is_no_regular_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        let refused = async |path: &Path| {
            let error = lines(path).append("text".into()).await.unwrap_err().to_string();
            assert!(!error.contains("no answer"), "{error}");
            error
        };
        refused(&pipe).await;
        let _reader = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        let error = refused(&pipe).await;
        assert!(error.contains("no regular file"), "{error}");
        refused(folder.path()).await;
    }
}

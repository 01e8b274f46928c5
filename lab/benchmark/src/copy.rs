//! Time of `cp` and fsync for the same files: the yardstick of the cycle step.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Instant;

const BUFFER: usize = 1 << 20;

/// Copies the files of one folder into a new one, syncs each and the folder, and returns the
/// seconds.
///
/// # Errors
/// If the disk fails.
pub fn copy_synced(from: &Path, names: &[String], to: &Path) -> io::Result<f64> {
    fs::create_dir(to)?;
    let started = Instant::now();
    let mut buffer = vec![0; BUFFER];
    for name in names {
        let (mut source, mut target) = (File::open(from.join(name))?, File::create_new(to.join(name))?);
        loop {
            let count = source.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            target.write_all(&buffer[..count])?;
        }
        target.sync_all()?;
    }
    File::open(to)?.sync_all()?;
    Ok(started.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let content: Vec<u8> = (0..3 * BUFFER / 2).map(|i| i as u8).collect();
        fs::write(dir.path().join("a"), &content).unwrap();
        fs::write(dir.path().join("b"), b"").unwrap();
        let target = dir.path().join("copy");
        assert!(copy_synced(dir.path(), &["a".to_owned(), "b".to_owned()], &target).unwrap() > 0.0);
        assert_eq!(fs::read(target.join("a")).unwrap(), content);
        assert_eq!(fs::read(target.join("b")).unwrap(), b"");
    }
}

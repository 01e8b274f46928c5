//! The socket for programs of this machine: the same API, for the crawl's user and root, without a token.
//!
//! Its permission is that of a file: mode 0600. Each connection is checked again by the user of its process, since
//! the mode is set only after the file exists, and somebody may change it.

use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Maximum concurrent connections to the socket. A command has one.
pub const MAX_LOCAL_CONNECTIONS: usize = 16;
/// The mode of the file: only its owner, and root, can connect.
const MODE: u32 = 0o600;
const ROOT: u32 = 0;

/// A listening socket. Its file is removed when this is dropped.
pub struct LocalSocket {
    pub(crate) listener: UnixListener,
    path: PathBuf,
}

impl LocalSocket {
    /// Listens at `path`. A socket that is there already is replaced: the caller holds the lock of the folder, so
    /// the process that made it has ended.
    ///
    /// # Errors
    /// If something else than a socket is there, or the file system has no sockets.
    pub fn bind(path: &Path) -> io::Result<LocalSocket> {
        match fs::symlink_metadata(path) {
            Ok(found) if found.file_type().is_socket() => fs::remove_file(path)?,
            Ok(_) => return Err(not_a_socket()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
        let listener = at(path, UnixListener::bind_addr)?;
        let socket = LocalSocket { listener, path: path.to_owned() };
        fs::set_permissions(path, Permissions::from_mode(MODE))?;
        socket.listener.set_nonblocking(true)?;
        Ok(socket)
    }
}

impl Drop for LocalSocket {
    fn drop(&mut self) {
        // The next start replaces it.
        let _ = fs::remove_file(&self.path);
    }
}

/// Connects to the socket at `path`.
///
/// # Errors
/// `NotFound` if nothing is there; `ConnectionRefused` if the process that listened has ended; `PermissionDenied`
/// for another user; `InvalidInput` if it is no socket.
pub fn connect(path: &Path) -> io::Result<UnixStream> {
    // Connecting to another file is refused like connecting to a dead socket.
    if !fs::metadata(path)?.file_type().is_socket() {
        return Err(not_a_socket());
    }
    let stream = at(path, UnixStream::connect_addr)?;
    // A console of another user closes at once, so its answer may come too late.
    match is_admitted(geteuid().as_raw(), socket_peercred(&stream)?.uid.as_raw()) {
        true => Ok(stream),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

fn not_a_socket() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a socket; move it away")
}

/// Calls `act` with the address of `path`. Addresses of sockets have about 100 bytes: a longer path is written
/// by its open folder.
fn at<T>(path: &Path, act: impl FnOnce(&SocketAddr) -> io::Result<T>) -> io::Result<T> {
    if let Ok(address) = SocketAddr::from_pathname(path) {
        return act(&address);
    }
    let (folder, name) = (path.parent().unwrap_or(path), path.file_name().unwrap_or_default());
    let folder = File::open(folder)?;
    let short = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
    act(&SocketAddr::from_pathname(short)?)
}

/// May a process of user `uid` use the console of a process of user `own`?
pub fn is_admitted(uid: u32, own: u32) -> bool {
    uid == own || uid == ROOT
}

/// A local user in the log of changes: `user anna`, or with the number if the name is unknown. No token has such a
/// name, since it has a space.
pub fn user_name(uid: u32) -> String {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    format!("user {}", name_in(&users, uid).unwrap_or(&uid.to_string()))
}

fn name_in(users: &str, uid: u32) -> Option<&str> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn only_the_same_user_and_root_are_admitted() {
        for (uid, own, is) in [(1000, 1000, true), (0, 1000, true), (1001, 1000, false), (1000, 0, false)] {
            assert_eq!(is_admitted(uid, own), is, "{uid} to a process of {own}");
        }
    }

    #[test]
    fn a_user_is_named_as_the_system_does() {
        let users = "root:x:0:0:root:/root:/bin/sh\n#\nanna:x:1000:1000::/home/anna:/bin/sh\n";
        assert_eq!((name_in(users, 1000), name_in(users, 0)), (Some("anna"), Some("root")));
        assert_eq!((name_in(users, 7), name_in("anna:x", 0), name_in("", 0)), (None, None, None));
        assert_eq!(user_name(u32::MAX - 1), format!("user {}", u32::MAX - 1));
    }

    fn passes_a_byte(path: &Path) {
        let socket = LocalSocket::bind(path).unwrap();
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, MODE);
        let mut near = connect(path).unwrap();
        socket.listener.set_nonblocking(false).unwrap();
        let (mut far, _) = socket.listener.accept().unwrap();
        near.write_all(b"x").unwrap();
        far.read_exact(&mut [0]).unwrap();
        drop(socket);
        assert_eq!(connect(path).unwrap_err().kind(), io::ErrorKind::NotFound, "it is removed");
    }

    #[test]
    fn a_path_of_any_length_is_an_address() {
        let folder = tempfile::tempdir().unwrap();
        passes_a_byte(&folder.path().join("s"));
        let deep = folder.path().join("d".repeat(200));
        fs::create_dir(&deep).unwrap();
        passes_a_byte(&deep.join("s"));
    }

    #[test]
    fn a_socket_that_was_left_is_replaced_and_anything_else_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        // The standard library does not remove the file.
        drop(UnixListener::bind(&path).unwrap());
        assert_eq!(connect(&path).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        passes_a_byte(&path);
        fs::write(&path, "mine").unwrap();
        assert_eq!(connect(&path).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert!(LocalSocket::bind(&path).err().unwrap().to_string().contains("not a socket"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }
}

//! Errors of this machine, not of a host: no file descriptor, buffer, port or memory is left.

use rustix::io::Errno;
use std::io;

/// Did the system call fail because this machine lacks a resource?
pub fn is_exhausted(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM | Errno::ADDRNOTAVAIL)
    )
}

//! The processes of a browser: their memory, and their end.

use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open, pidfd_send_signal,
};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A process of a group.
#[derive(Debug)]
pub struct GroupProcess {
    pub pid: Pid,
    /// Does it run the code of pages?
    pub is_page: bool,
    /// Its share of the memory in bytes (PSS): what processes share is counted once.
    pub memory: u64,
}

/// The processes of a group. One that ends meanwhile is left out.
pub fn of_group(group: Pid) -> Vec<GroupProcess> {
    pids().filter_map(|pid| read(pid, group)).collect()
}

fn read(pid: i32, group: Pid) -> Option<GroupProcess> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything; state, parent and group follow it.
    let of = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(2)?.parse::<i32>().ok()?;
    if of != group.as_raw_nonzero().get() {
        return None;
    }
    let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let is_page = command.split(|byte| *byte == 0).any(|word| word == b"--type=renderer")
        || command.windows(15).any(|part| part == b"--type=renderer");
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
    let memory =
        line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()).unwrap_or(0);
    Some(GroupProcess { pid: Pid::from_raw(pid)?, is_page, memory: memory * 1024 })
}

/// Does a process of the group live? One that ended and was not waited for does not.
pub fn is_alive(group: Pid) -> bool {
    of_group(group).iter().any(|process| process.memory > 0)
}

/// Ends all processes of a group.
pub fn end_group(group: Pid) {
    // It fails only if the group has ended.
    let _ = kill_process_group(group, Signal::KILL);
}

/// Ends the processes that have this home, also those that left their group, as the browser's crash handlers do; gives
/// their number. No other process may have this home.
pub fn end_all_at(home: &Path) -> usize {
    let home = [b"HOME=", home.as_os_str().as_bytes()].concat();
    pids().filter(|pid| end_if_at(*pid, &home).is_some()).count()
}

fn pids() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
}

/// Ends a process that has this variable. It is held open before it is looked at: its id may become another's.
fn end_if_at(pid: i32, home: &[u8]) -> Option<()> {
    let process = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let is_at = environment.split(|byte| *byte == 0).any(|variable| variable == home);
    is_at.then(|| pidfd_send_signal(process, Signal::KILL).ok()).flatten()
}

/// Ends a process.
pub fn end(pid: Pid) {
    let _ = kill_process(pid, Signal::KILL);
}

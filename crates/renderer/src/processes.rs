//! The processes of a browser: their memory, and their end.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs;

/// A process of a group.
#[derive(Debug)]
pub struct Process {
    pub pid: Pid,
    /// Does it run the code of pages?
    pub is_page: bool,
    /// Its share of the memory in bytes (PSS): what processes share is counted once.
    pub memory: u64,
}

/// The processes of a group. One that ends meanwhile is left out.
pub fn of_group(group: Pid) -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| read(pid, group)).collect()
}

fn read(pid: i32, group: Pid) -> Option<Process> {
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
    Some(Process { pid: Pid::from_raw(pid)?, is_page, memory: memory * 1024 })
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

/// Ends a process.
pub fn end(pid: Pid) {
    let _ = kill_process(pid, Signal::KILL);
}

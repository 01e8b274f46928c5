//! Runs a command, and kills all that it started when it ends, or when recrawl wants no more of it.
//!
//! A process that calls `setsid`, or whose parent ends, leaves its group and loses its parent. But it stays below the
//! next *subreaper* (`man 2const PR_SET_CHILD_SUBREAPER`), which is a process of recrawl's own for each command: all that
//! the command started is below it, and nothing else. Only children of this process are killed, and only it waits for
//! them, so their ids cannot become those of other processes. The children of a killed one become its own.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, kill_process, set_child_subreaper, wait, waitid,
};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use std::{fs, thread};

/// Time for killed processes to end before those that they have started meanwhile are looked for.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// The end of a command, as the supervisor writes it to standard output.
#[derive(Debug, Serialize, Deserialize)]
pub enum CommandEnd {
    /// The status of the command, as `wait` gives it.
    Status(i32),
    /// The command could not be started.
    NotStarted(String),
}

/// A process that supervises a command. It ends soon after its standard output is closed, with all that the command
/// started; else at the end of the command, after it has written [`CommandEnd`]. Standard input and error are the command's.
pub fn command(words: &[String]) -> Command {
    let mut command = super::command(super::SUPERVISOR);
    command.args(words).stdout(Stdio::piped()).process_group(0);
    command
}

/// Supervises the command of these words.
pub fn serve(words: impl Iterator<Item = OsString>) -> ExitCode {
    let ended = supervise(words).unwrap_or_else(|e| CommandEnd::NotStarted(e.to_string()));
    let line = serde_json::to_string(&ended).expect("it is plain data");
    // recrawl may want to know no more.
    match io::stdout().write_all(line.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn supervise(mut words: impl Iterator<Item = OsString>) -> io::Result<CommandEnd> {
    set_child_subreaper(Some(getpid()))?;
    let name = words.next().ok_or(io::ErrorKind::InvalidInput)?;
    // Without a group of its own, a command that signals its group would end this process.
    let started = Command::new(name).args(words).stdout(Stdio::null()).process_group(0).spawn()?;
    let child = Pid::from_raw(started.id() as i32).expect("a process has an id");
    let (sender, end) = channel();
    let of_output = sender.clone();
    thread::spawn(move || until_ended(child, &sender));
    thread::spawn(move || until_closed(&of_output));
    end.recv().map_err(io::Error::other)?;
    let status = kill_all(child);
    status.map(CommandEnd::Status).ok_or_else(|| io::Error::other("it cannot be killed"))
}

/// Waits for the end of the command, and leaves it to be waited for: its id stays its own until then.
fn until_ended(child: Pid, end: &Sender<()>) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while matches!(waitid(WaitId::Pid(child), options), Err(Errno::INTR)) {}
    _ = end.send(());
}

/// Waits until the reader of standard output closes it.
fn until_closed(end: &Sender<()>) {
    let output = io::stdout();
    while poll(&mut [PollFd::new(&output, PollFlags::empty())], None) == Err(Errno::INTR) {}
    _ = end.send(());
}

/// Kills all processes below this one, until none is left that may be killed. Gives the status of the command.
fn kill_all(command: Pid) -> Option<i32> {
    let mut status = None;
    loop {
        while let Ok(Some((pid, ended))) = wait(WaitOptions::NOHANG) {
            if pid == command {
                status = Some(ended.as_raw());
            }
        }
        // Processes of other users, by setuid programs, are not ours to kill.
        let killed = children().into_iter().filter(|pid| kill_process(*pid, Signal::KILL).is_ok()).count();
        if killed == 0 {
            return status;
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// The processes whose parent this is.
fn children() -> Vec<Pid> {
    let own = getpid().as_raw_nonzero().get();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| parent(*pid) == Some(own)).filter_map(Pid::from_raw).collect()
}

fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything; state and parent follow it.
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

//! Runs a program for each message.

use recrawl_notifications::message::Message;
use rustix::process::{Pid, Signal, kill_process_group};
use std::process::Stdio;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

/// Bytes of the program's errors that are read at most.
const MAX_ERRORS: u64 = 64 << 10;
/// Characters of them that are told.
const MAX_TOLD: usize = 200;

/// A program and its arguments.
pub struct Program(pub Vec<String>);

impl Program {
    /// Runs it with the message as standard input. Dropped before it ends, it is killed with all that it started.
    ///
    /// # Errors
    /// When it cannot be started, or does not end with 0; with the end of what it wrote to standard error.
    pub async fn run(&self, target: &str, message: &Message, body: String) -> Result<(), String> {
        let mut command = Command::new(&self.0[0]);
        command.args(&self.0[1..]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
            .env("RECRAWL_TARGET", target)
            .env("RECRAWL_ID", &message.id)
            .env("RECRAWL_TYPE", &message.name);
        command.process_group(0).kill_on_drop(true);
        let mut child = command.spawn().map_err(|e| format!("cannot start {}: {e}", self.0[0]))?;
        let _group = Group(child.id());
        let (input, errors) = (child.stdin.take(), child.stderr.take());
        let write = async move {
            // A program need not read all.
            if let Some(mut input) = input {
                _ = input.write_all(body.as_bytes()).await;
            }
        };
        let read = async move {
            let mut text = Vec::new();
            if let Some(errors) = errors {
                _ = errors.take(MAX_ERRORS).read_to_end(&mut text).await;
            }
            text
        };
        let (status, (), errors) = tokio::join!(child.wait(), write, read);
        match status.map_err(|e| e.to_string())? {
            status if status.success() => Ok(()),
            status => {
                let errors = String::from_utf8_lossy(&errors);
                let last: String =
                    errors.trim().lines().last().unwrap_or_default().chars().take(MAX_TOLD).collect();
                Err(if last.is_empty() { status.to_string() } else { format!("{status}: {last}") })
            }
        }
    }
}

/// The processes of a program, killed when it is dropped.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(pid) = self.0.and_then(|id| Pid::from_raw(id as i32)) {
            // All may have ended.
            _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

//! Runs a program for each message.

use super::not_taken::{NotTaken, within};
use crate::child::supervisor::{self, CommandEnd};
use recrawl_notifications::message::Message;
use std::fmt::Display;
use std::future::pending;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, Command};
use tokio::time::timeout;

/// Bytes of the program's errors that are kept, the last ones.
const MAX_ERRORS: usize = 4 << 10;
/// Characters of their last line that are shown.
const MAX_SHOWN: usize = 200;
/// Time for killed processes to end.
const KILLED: Duration = Duration::from_secs(5);
/// Time for the rest of the errors once the program has ended: another process may keep them open.
const LAST_ERRORS: Duration = Duration::from_millis(200);

/// A program.
pub struct NotifierProgram {
    /// With its arguments.
    pub command: Vec<String>,
    pub timeout: Duration,
}

impl NotifierProgram {
    /// Runs it with the message as standard input.
    ///
    /// # Errors
    /// When it cannot be started, or does not end with 0; with the end of what it wrote to standard error.
    pub async fn run(&self, target: &str, message: &Message, mut body: String) -> Result<(), NotTaken> {
        // Programs that read lines want an end of the last one.
        body.push('\n');
        let message =
            [("RECRAWL_TARGET", target), ("RECRAWL_ID", &message.id), ("RECRAWL_TYPE", &message.name)];
        match self.end(&message, body).await? {
            (status, _) if status.success() => Ok(()),
            (_, why) => Err(NotTaken::Refused(why)),
        }
    }

    /// Runs it with this environment and standard input. It is killed with all that it started when it ends, or is dropped.
    /// Gives its status, and in words with the end of what it wrote to standard error.
    ///
    /// # Errors
    /// When it cannot be started, or does not end in time.
    pub async fn end(
        &self,
        environment: &[(&str, &str)],
        body: String,
    ) -> Result<(ExitStatus, String), NotTaken> {
        let mut command = Command::from(supervisor::command(&self.command));
        command.stdin(Stdio::piped()).stderr(Stdio::piped());
        command.envs(environment.iter().copied());
        let cannot_start =
            |e: &dyn Display| NotTaken::Failed(format!("cannot start {}: {e}", self.command[0]));
        let mut child = command.spawn().map_err(|e| cannot_start(&e))?;
        let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut errors = ProgramStderr { from: errors, last: Vec::new() };
        let write = async move {
            // A program need not read all.
            if let Some(mut input) = input {
                _ = input.write_all(body.as_bytes()).await;
            }
        };
        let ended = within(self.timeout, async move {
            let mut ended = Vec::new();
            let mut output = output.expect("it is piped");
            tokio::select! {
                read = output.read_to_end(&mut ended) => read.map_err(|e| NotTaken::Failed(e.to_string()))?,
                // Pipes that another process keeps open are no reason to wait.
                _ = async { tokio::join!(write, errors.read()); pending::<()>().await } => unreachable!(),
            };
            Ok((ended, errors))
        });
        let ended = ended.await;
        // Without a reader of its output, the supervisor kills all that lives, and ends.
        _ = timeout(KILLED, child.wait()).await;
        let (ended, mut errors) = ended?;
        match serde_json::from_slice(&ended) {
            Ok(CommandEnd::Status(status)) => {
                let status = ExitStatus::from_raw(status);
                if !status.success() {
                    _ = timeout(LAST_ERRORS, errors.read()).await;
                }
                Ok((status, errors.told(status)))
            }
            Ok(CommandEnd::NotStarted(why)) => Err(cannot_start(&why)),
            Err(_) => Err(NotTaken::Failed("the process that supervises it was killed".into())),
        }
    }
}

/// What a program writes to standard error.
struct ProgramStderr {
    from: Option<ChildStderr>,
    last: Vec<u8>,
}

impl ProgramStderr {
    /// Reads all, so that the program can go on, and keeps the end.
    async fn read(&mut self) {
        let Some(from) = &mut self.from else { return };
        while let Ok(1..) = from.read_buf(&mut self.last).await {
            let surplus = self.last.len().saturating_sub(MAX_ERRORS);
            self.last.drain(..surplus);
        }
    }

    /// The status with the last line.
    fn told(&self, status: ExitStatus) -> String {
        let errors = String::from_utf8_lossy(&self.last);
        let last: String = errors.trim().lines().last().unwrap_or_default().chars().take(MAX_SHOWN).collect();
        if last.is_empty() { status.to_string() } else { format!("{status}: {last}") }
    }
}

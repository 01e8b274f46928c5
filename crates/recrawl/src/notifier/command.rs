//! Runs a program for each message.

use super::sender::{NotTaken, within};
use recrawl_notifications::message::Message;
use rustix::process::{Pid, Signal, kill_process_group};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, Command};
use tokio::time::timeout;

/// Bytes of the program's errors that are kept, the last ones.
const MAX_ERRORS: usize = 4 << 10;
/// Characters of their last line that are shown.
const MAX_SHOWN: usize = 200;
/// Time for the rest of the errors once the program has ended: another process may keep them open.
const LAST_ERRORS: Duration = Duration::from_millis(200);

/// A program.
pub struct Program {
    /// With its arguments.
    pub command: Vec<String>,
    pub timeout: Duration,
}

impl Program {
    /// Runs it with the message as standard input. It is killed with all that it started when it ends, or is dropped.
    ///
    /// # Errors
    /// When it cannot be started, or does not end with 0; with the end of what it wrote to standard error.
    pub async fn run(&self, target: &str, message: &Message, mut body: String) -> Result<(), NotTaken> {
        let name = &self.command[0];
        // Programs that read lines want an end of the last one.
        body.push('\n');
        let mut command = Command::new(name);
        command.args(&self.command[1..]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
            .env("RECRAWL_TARGET", target)
            .env("RECRAWL_ID", &message.id)
            .env("RECRAWL_TYPE", &message.name);
        command.process_group(0).kill_on_drop(true);
        let started = command.spawn();
        let mut child = started.map_err(|e| NotTaken::Failed(format!("cannot start {name}: {e}")))?;
        let group = Group(child.id());
        let (input, errors) = (child.stdin.take(), child.stderr.take());
        let mut errors = Errors { from: errors, last: Vec::new() };
        let write = async move {
            // A program need not read all.
            if let Some(mut input) = input {
                _ = input.write_all(body.as_bytes()).await;
            }
        };
        let ended = within(self.timeout, async {
            tokio::select! {
                status = child.wait() => status.map_err(|e| NotTaken::Failed(e.to_string())),
                // Pipes that another process keeps open are no reason to wait.
                _ = async { tokio::join!(write, errors.read()); std::future::pending::<()>().await } => unreachable!(),
            }
        });
        let status = ended.await?;
        drop(group);
        if status.success() {
            return Ok(());
        }
        _ = timeout(LAST_ERRORS, errors.read()).await;
        Err(NotTaken::Refused(errors.told(status)))
    }
}

/// What a program writes to standard error.
struct Errors {
    from: Option<ChildStderr>,
    last: Vec<u8>,
}

impl Errors {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Far longer than a program takes, and shorter than those that it leaves running.
    const PATIENCE: Duration = Duration::from_secs(300);

    async fn run(script: &str, limit: Duration) -> Result<(), NotTaken> {
        let command = ["sh", "-c", script].map(str::to_owned).to_vec();
        let message = Message::of_test("desk", 5, false);
        Program { command, timeout: limit }.run("desk", &message, message.to_json()).await
    }

    #[tokio::test]
    async fn a_program_has_taken_the_message_once_it_ends_with_0_whatever_it_left_running() {
        assert_eq!(run("cat >/dev/null; sleep 900 & exit 0", PATIENCE).await, Ok(()));
        let failed = run("sleep 900 & echo no room >&2; exit 3", PATIENCE).await;
        assert_eq!(failed, Err(NotTaken::Refused("exit status: 3: no room".into())));
    }

    #[tokio::test]
    async fn a_program_may_write_many_errors_and_the_last_is_shown() {
        let script = "yes no room | head -n 100000 >&2 || exit 9; echo 'the end' >&2; exit ";
        let of = async |code: &str| run(&format!("{script}{code}"), PATIENCE).await;
        assert_eq!(of("0").await, Ok(()));
        assert_eq!(of("3").await, Err(NotTaken::Refused("exit status: 3: the end".into())));
    }

    #[tokio::test]
    async fn a_program_that_hangs_fails() {
        let failed = run("sleep 900", Duration::from_millis(200)).await;
        assert_eq!(failed, Err(NotTaken::Failed("no answer within 200ms".into())));
    }
}

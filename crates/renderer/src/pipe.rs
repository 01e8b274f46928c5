//! The Chrome DevTools Protocol over a pipe: JSON messages that end with a zero byte.
//!
//! Calls wait for their answers; events go to the session that they belong to. A message above the limit, or one that
//! cannot be read, is the work of a page: it fails the call or the session that it is for.

use crate::message::{self, BrowserMessage, ENDS};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot, watch};

/// Events of a session that wait to be read. A page that makes more is given up.
pub const MAX_EVENTS: usize = 4096;

/// Bytes read at a time.
const CHUNK: usize = 1 << 16;

/// Why a call has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallError {
    /// The browser has ended.
    Closed,
    /// The browser says no.
    Refused,
    /// It is too long, or cannot be read.
    Unreadable,
}

/// What a session receives: an event, or that one could not be read.
pub type ReceivedEvent = Result<SessionEvent, CallError>;

/// An event of a session.
#[derive(Debug)]
pub struct SessionEvent {
    pub method: String,
    pub params: Value,
}

/// A connection to a browser.
#[derive(Debug)]
pub struct Pipe {
    out: mpsc::Sender<Vec<u8>>,
    shared: Arc<SharedPipe>,
    closed: watch::Receiver<bool>,
}

#[derive(Debug, Default)]
struct SharedPipe {
    calls: Mutex<HashMap<u64, oneshot::Sender<Result<Value, CallError>>>>,
    sessions: Mutex<HashMap<String, mpsc::Sender<ReceivedEvent>>>,
    next: AtomicU64,
}

impl Pipe {
    /// Connects to a browser that reads commands from `input` and writes to `output`, in messages of at most `limit`
    /// bytes.
    pub fn new(mut input: ChildStdin, output: ChildStdout, limit: usize) -> Pipe {
        let (out, mut outgoing) = mpsc::channel::<Vec<u8>>(64);
        let (close, closed) = watch::channel(false);
        let shared = Arc::new(SharedPipe::default());
        tokio::spawn(async move {
            while let Some(message) = outgoing.recv().await {
                if input.write_all(&message).await.is_err() {
                    return;
                }
            }
        });
        let reading = shared.clone();
        tokio::spawn(async move {
            read(output, limit, &reading).await;
            // First, because a call that the tables lose may be made anew at once.
            let _ = close.send(true);
            lock(&reading.calls).clear();
            lock(&reading.sessions).clear();
        });
        Pipe { out, shared, closed }
    }

    /// Has the browser ended? Writing and reading notice it at different times.
    pub fn is_closed(&self) -> bool {
        *self.closed.borrow() || self.out.is_closed()
    }

    /// Sends a command and waits for its answer.
    pub async fn call(&self, session: Option<&str>, method: &str, params: Value) -> Result<Value, CallError> {
        let (answer, answered) = oneshot::channel();
        self.send(session, method, params, Some(answer)).await?;
        answered.await.unwrap_or(Err(CallError::Closed))
    }

    /// Sends a command whose answer says nothing.
    pub async fn tell(&self, session: Option<&str>, method: &str, params: Value) -> Result<(), CallError> {
        self.send(session, method, params, None).await
    }

    async fn send(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
        answer: Option<oneshot::Sender<Result<Value, CallError>>>,
    ) -> Result<(), CallError> {
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        if let Some(answer) = answer {
            lock(&self.shared.calls).insert(id, answer);
        }
        let mut bytes = serde_json::to_vec(&message).expect("a value is JSON");
        bytes.push(0);
        let sent = if self.is_closed() { false } else { self.out.send(bytes).await.is_ok() };
        // Also if it closed meanwhile: the reader may have emptied the tables before this call was in them.
        if !sent || self.is_closed() {
            lock(&self.shared.calls).remove(&id);
            return Err(CallError::Closed);
        }
        Ok(())
    }

    /// Receives the events of a session from now on. The receiver ends with the browser, with [`Pipe::forget`], or when
    /// [`MAX_EVENTS`] wait.
    pub fn listen(&self, session: &str) -> mpsc::Receiver<ReceivedEvent> {
        let (event, events) = mpsc::channel(MAX_EVENTS);
        lock(&self.shared.sessions).insert(session.to_owned(), event);
        events
    }

    /// Drops the events of a session.
    pub fn forget(&self, session: &str) {
        lock(&self.shared.sessions).remove(session);
    }
}

/// Reads messages until the browser ends, or writes what nobody can be told of. Of a message above `limit` bytes only
/// both ends are kept.
async fn read(mut output: ChildStdout, limit: usize, shared: &SharedPipe) {
    let mut buffer: Vec<u8> = Vec::with_capacity(CHUNK);
    // The beginning of a message that is too long. The buffer holds its end then.
    let mut head: Option<Vec<u8>> = None;
    loop {
        let from = buffer.len();
        buffer.reserve(CHUNK);
        match output.read_buf(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let Some(last) = buffer[from..].iter().rposition(|byte| *byte == 0) else {
            if head.is_some() || buffer.len() > limit {
                head.get_or_insert_with(|| buffer[..ENDS.min(buffer.len())].to_vec());
                buffer.drain(..buffer.len().saturating_sub(ENDS));
            }
            continue;
        };
        let rest = buffer.split_off(from + last + 1);
        let messages = std::mem::replace(&mut buffer, rest);
        for bytes in messages[..messages.len() - 1].split(|byte| *byte == 0) {
            let message = match head.take() {
                Some(head) => {
                    tracing::warn!(limit, "the browser sent a message that is too long");
                    message::unreadable(&head, bytes)
                }
                None => message::read(bytes),
            };
            let Some(message) = message else {
                let start = String::from_utf8_lossy(&bytes[..bytes.len().min(ENDS)]);
                tracing::warn!(%start, "the browser sent a message that cannot be read: it is started anew");
                return;
            };
            shared.take(message);
        }
    }
}

impl SharedPipe {
    fn take(&self, message: BrowserMessage) {
        match message {
            BrowserMessage::Answer { id, answer } => {
                if let Some(call) = lock(&self.calls).remove(&id) {
                    // The caller may have given up.
                    let _ = call.send(answer);
                }
            }
            BrowserMessage::Event { session, event } => {
                let mut sessions = lock(&self.sessions);
                let Some(events) = sessions.get(&session) else { return };
                let event = event.map(|(method, params)| SessionEvent { method, params });
                if events.try_send(event).is_err() {
                    sessions.remove(&session);
                }
            }
            BrowserMessage::Other => {}
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;
    use std::time::Duration;
    use tokio::process::Command;

    /// Whoever hears that the browser has ended may ask at once again, and must hear it again.
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn no_call_waits_for_a_browser_that_has_ended() {
        for _ in 0..200 {
            let mut command = Command::new("sleep");
            command.arg("60").stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
            let mut child = command.spawn().unwrap();
            let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
            let pipe = Arc::new(Pipe::new(input, output, 1 << 20));
            let calls = (0..8).map(|_| {
                let pipe = pipe.clone();
                tokio::spawn(async move {
                    for _ in 0..20 {
                        let answer = pipe.call(None, "Browser.getVersion", json!({})).await;
                        assert_eq!(answer, Err(CallError::Closed));
                        assert!(pipe.is_closed());
                    }
                })
            });
            let calls: Vec<_> = calls.collect();
            tokio::task::yield_now().await;
            child.start_kill().unwrap();
            for call in calls {
                tokio::time::timeout(Duration::from_secs(300), call).await.expect("an answer").unwrap();
            }
        }
    }

    /// A pipe to a program that writes this and then waits.
    fn writing(script: &str, limit: usize) -> (tokio::process::Child, Pipe) {
        let mut command = Command::new("/bin/sh");
        // Not `exec`: the shell keeps its output open, as a browser does, until the pipe is dropped.
        command.args(["-c", &format!("{script}; cat >/dev/null")]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        (child, Pipe::new(input, output, limit))
    }

    /// `read` waits until the call was made.
    #[tokio::test]
    async fn a_call_hears_of_an_answer_that_cannot_be_read() {
        let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
        let long = "x".repeat(300_000);
        for (result, limit, expected) in [
            (r#"{"value":"\\ud83d"}"#, 1 << 20, Ok(json!({ "value": "\u{fffd}" }))),
            (&*deep, 1 << 20, Err(CallError::Unreadable)),
            (&*format!("{{\"value\":\"{long}\"}}"), 1 << 10, Err(CallError::Unreadable)),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("answer");
            // And another call behind it is answered as ever.
            let second = "{\"id\":1,\"result\":{}}\0";
            let result = result.replace(r"\\", r"\");
            std::fs::write(&file, format!("{{\"id\":0,\"result\":{result}}}\0{second}")).unwrap();
            let (_child, pipe) = writing(&format!("head -c 40 >/dev/null; cat {}", file.display()), limit);
            let (first, second) =
                tokio::join!(pipe.call(None, "first", json!({})), pipe.call(None, "second", json!({})));
            assert_eq!((first, second), (expected, Ok(json!({}))));
        }
    }

    #[tokio::test]
    async fn a_session_hears_of_an_event_that_is_too_long_and_others_of_nothing() {
        let long = "x".repeat(300_000);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("events");
        let event = |text: &str, session: &str| {
            format!("{{\"method\":\"m\",\"params\":\"{text}\",\"sessionId\":\"{session}\"}}\0")
        };
        std::fs::write(&file, [event(&long, "A"), event("short", "B")].concat()).unwrap();
        let (_child, pipe) = writing(&format!("head -c 1 >/dev/null; cat {}", file.display()), 1 << 10);
        let (mut a, mut b) = (pipe.listen("A"), pipe.listen("B"));
        pipe.tell(None, "begin", json!({})).await.unwrap();
        assert!(matches!(a.recv().await, Some(Err(CallError::Unreadable))));
        assert!(matches!(b.recv().await, Some(Ok(SessionEvent { params, .. })) if params == "short"));
        assert!(!pipe.is_closed());
    }

    /// What is no message cannot be told to anybody, so all who wait hear of the end.
    #[tokio::test]
    async fn bytes_that_are_no_message_end_the_connection() {
        let (_child, pipe) = writing("head -c 1 >/dev/null; printf 'nonsense\\000'", 1 << 10);
        assert_eq!(pipe.call(None, "first", json!({})).await, Err(CallError::Closed));
    }
}

//! The Chrome DevTools Protocol over a pipe: JSON messages that end with a zero byte.
//!
//! Calls wait for their answers; events go to the session that they belong to. A message above the limit ends the
//! connection: it is the work of a page, and the browser is started anew.

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
}

/// An event of a session.
#[derive(Debug)]
pub struct Event {
    pub method: String,
    pub params: Value,
}

/// A connection to a browser.
#[derive(Debug)]
pub struct Pipe {
    out: mpsc::Sender<Vec<u8>>,
    shared: Arc<Shared>,
    closed: watch::Receiver<bool>,
}

#[derive(Debug, Default)]
struct Shared {
    calls: Mutex<HashMap<u64, oneshot::Sender<Result<Value, CallError>>>>,
    sessions: Mutex<HashMap<String, mpsc::Sender<Event>>>,
    next: AtomicU64,
}

impl Pipe {
    /// Connects to a browser that reads commands from `input` and writes to `output`, in messages of at most `limit`
    /// bytes.
    pub fn new(mut input: ChildStdin, output: ChildStdout, limit: usize) -> Pipe {
        let (out, mut outgoing) = mpsc::channel::<Vec<u8>>(64);
        let (close, closed) = watch::channel(false);
        let shared = Arc::new(Shared::default());
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
    pub fn listen(&self, session: &str) -> mpsc::Receiver<Event> {
        let (event, events) = mpsc::channel(MAX_EVENTS);
        lock(&self.shared.sessions).insert(session.to_owned(), event);
        events
    }

    /// Drops the events of a session.
    pub fn forget(&self, session: &str) {
        lock(&self.shared.sessions).remove(session);
    }
}

/// Reads messages until the browser ends or a message is too long.
async fn read(mut output: ChildStdout, limit: usize, shared: &Shared) {
    let mut buffer: Vec<u8> = Vec::with_capacity(CHUNK);
    loop {
        let from = buffer.len();
        buffer.reserve(CHUNK);
        match output.read_buf(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let Some(last) = buffer[from..].iter().rposition(|byte| *byte == 0) else {
            if buffer.len() > limit {
                tracing::warn!(limit, "the browser sent a message that is too long");
                return;
            }
            continue;
        };
        let rest = buffer.split_off(from + last + 1);
        for message in std::mem::replace(&mut buffer, rest).split(|byte| *byte == 0) {
            if let Ok(message) = serde_json::from_slice::<Value>(message) {
                shared.take(message);
            }
        }
    }
}

impl Shared {
    fn take(&self, mut message: Value) {
        if let Some(id) = message["id"].as_u64() {
            let answer = match message.get_mut("result") {
                Some(result) => Ok(result.take()),
                None => {
                    tracing::debug!(error = %message["error"], "the browser refused a command");
                    Err(CallError::Refused)
                }
            };
            if let Some(call) = lock(&self.calls).remove(&id) {
                // The caller may have given up.
                let _ = call.send(answer);
            }
            return;
        }
        let (Some(session), Some(method)) = (message["sessionId"].as_str(), message["method"].as_str())
        else {
            return;
        };
        let mut sessions = lock(&self.sessions);
        let Some(events) = sessions.get(session) else { return };
        let (session, method) = (session.to_owned(), method.to_owned());
        if events.try_send(Event { method, params: message["params"].take() }).is_err() {
            sessions.remove(&session);
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
                tokio::time::timeout(Duration::from_secs(20), call).await.expect("an answer").unwrap();
            }
        }
    }
}

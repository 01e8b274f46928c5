//! Sends messages to the receiver of a target.

use super::{command, file, mail, webhook};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::notify::{Receiver, Target};
use recrawl_fetcher::FetchConfig;
use recrawl_notifications::delivery::MAX_IN_FLIGHT;
use recrawl_notifications::message::Message;
use std::fmt;
use std::time::Duration;
use tokio::time::timeout;

/// Programs of a target that run at once at most.
const MAX_COMMANDS: usize = 2;

/// Why a receiver did not take a message.
#[derive(Clone, Debug, PartialEq)]
pub enum NotTaken {
    /// It refused the message: it may take others, or a smaller one.
    Refused(String),
    /// It takes none at present.
    Failed(String),
}

impl fmt::Display for NotTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotTaken::Refused(why) | NotTaken::Failed(why) => f.write_str(why),
        }
    }
}

/// What comes of this within the time limit of a message.
pub async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, NotTaken>>,
) -> Result<T, NotTaken> {
    let late = || NotTaken::Failed(format!("no answer within {limit:?}"));
    timeout(limit, work).await.unwrap_or_else(|_| Err(late()))
}

/// What sends to one target.
pub enum Sender {
    Webhook(Box<webhook::Webhook>),
    Command(command::Program),
    File(file::LinesFile),
    Mail(Box<mail::Mailer>),
}

impl Sender {
    /// Sets the sender up; `fetch`: how the crawl makes requests.
    ///
    /// # Errors
    /// When the configuration cannot be used.
    pub fn new(target: &Target, fetch: &FetchConfig) -> Result<Sender, Failure> {
        let named = |e: String| Failure::Usage(format!("[[notify]] {:?}: {e}", target.name));
        Ok(match &target.receiver {
            Receiver::Webhook { url, keys, authorization, content_type } => {
                let authorization = authorization.as_deref();
                let made = webhook::Webhook::new(target, fetch, url, keys, authorization, content_type);
                Sender::Webhook(Box::new(made.map_err(named)?))
            }
            Receiver::Command(command) => {
                Sender::Command(command::Program { command: command.clone(), timeout: target.timeout })
            }
            Receiver::File(path) => {
                Sender::File(file::LinesFile { path: path.clone(), timeout: target.timeout })
            }
            Receiver::Mail(to) => {
                Sender::Mail(Box::new(mail::Mailer::new(target, fetch, to).map_err(named)?))
            }
        })
    }

    /// Messages in flight at most.
    pub fn window(&self) -> usize {
        match self {
            Sender::Webhook(_) => MAX_IN_FLIGHT,
            Sender::Command(_) => MAX_COMMANDS,
            Sender::File(_) | Sender::Mail(_) => 1,
        }
    }

    /// Sends a message. `now`: seconds since 1970. What follows a success, such as the end of a connection, cannot make a
    /// failure of it.
    ///
    /// # Errors
    /// Why the receiver did not take it.
    pub async fn send(&self, target: &Target, message: &Message, now: u64) -> Result<(), NotTaken> {
        let body = target.body(message).map_err(|e| NotTaken::Refused(format!("template: {e}")))?;
        match self {
            Sender::Webhook(webhook) => webhook.post(&message.id, now, body).await,
            Sender::Command(program) => program.run(&target.name, message, body).await,
            Sender::File(file) => file.append(body).await,
            Sender::Mail(mailer) => mailer.send(message, body).await,
        }
    }
}

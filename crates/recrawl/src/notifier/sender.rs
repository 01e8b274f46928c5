//! Sends messages to the receiver of a target.

use super::{command, file, mail, webhook};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::notify::{Receiver, Target};
use recrawl_fetcher::FetchConfig;
use recrawl_notifications::delivery::MAX_IN_FLIGHT;
use recrawl_notifications::message::Message;

/// Programs of a target that run at once at most.
const MAX_COMMANDS: usize = 2;

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
            Receiver::Command(command) => Sender::Command(command::Program(command.clone())),
            Receiver::File(path) => Sender::File(file::LinesFile::new(path)),
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

    /// Sends a message. `now`: seconds since 1970.
    ///
    /// # Errors
    /// Why the receiver did not take it.
    pub async fn send(&self, target: &Target, message: &Message, now: u64) -> Result<(), String> {
        let body = target.body(message).map_err(|e| format!("template: {e}"))?;
        let sent = async {
            match self {
                Sender::Webhook(webhook) => webhook.post(&message.id, now, body).await,
                Sender::Command(program) => program.run(&target.name, message, body).await,
                Sender::File(file) => file.append(body),
                Sender::Mail(mailer) => mailer.send(message, body).await,
            }
        };
        let in_time = tokio::time::timeout(target.timeout, sent).await;
        in_time.unwrap_or_else(|_| Err(format!("no answer within {:?}", target.timeout)))
    }

    /// Makes durable what was taken.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn sync(&self) -> Result<(), Failure> {
        match self {
            Sender::File(file) => file.sync(),
            Sender::Webhook(_) | Sender::Command(_) | Sender::Mail(_) => Ok(()),
        }
    }
}

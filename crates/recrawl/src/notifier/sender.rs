//! Sends messages to the receiver of a target.

use super::not_taken::NotTaken;
use super::{command, file, mail, webhook};
use crate::child::templates::{TemplateError, TemplateRenderer};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::parts::notify::{NotifyPace, NotifyTarget, Receiver};
use recrawl_fetcher::FetchConfig;
use recrawl_notifications::delivery::MAX_IN_FLIGHT;
use recrawl_notifications::message::Message;
use recrawl_terminal::escape;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::task::spawn_blocking;

/// Programs of a target that run at once at most.
const MAX_COMMANDS: usize = 2;

/// What sends to one target.
pub struct NoticeSender {
    channel: NoticeChannel,
    renderer: Arc<Mutex<TemplateRenderer>>,
}

enum NoticeChannel {
    Webhook(Box<webhook::Webhook>),
    Command(command::NotifierProgram),
    File(file::LinesFile),
    Mail(Box<mail::Mailer>),
}

impl NoticeSender {
    /// Sets the sender up; `fetch`: how the crawl makes requests.
    ///
    /// # Errors
    /// When the configuration cannot be used.
    pub fn new(target: &NotifyTarget, fetch: &FetchConfig) -> Result<NoticeSender, Failure> {
        let named = |e: String| Failure::Usage(format!("[[notify]] {:?}: {e}", target.name));
        let channel = match &target.receiver {
            Receiver::Webhook { url, keys, authorization, content_type } => {
                let authorization = authorization.as_deref();
                let made = webhook::Webhook::new(target, fetch, url, keys, authorization, content_type);
                NoticeChannel::Webhook(Box::new(made.map_err(named)?))
            }
            Receiver::Command(command) => NoticeChannel::Command(command::NotifierProgram {
                command: command.clone(),
                timeout: target.timeout,
            }),
            Receiver::File(path) => {
                NoticeChannel::File(file::LinesFile { path: path.clone(), timeout: target.timeout })
            }
            Receiver::Mail(to) => {
                NoticeChannel::Mail(Box::new(mail::Mailer::new(target, fetch, to).map_err(named)?))
            }
        };
        Ok(NoticeSender { channel, renderer: Arc::default() })
    }

    /// Checks that the templates work for messages of the target; blocks.
    ///
    /// # Errors
    /// The target and the template, and what is wrong.
    pub fn check_templates(&self, target: &NotifyTarget) -> Result<(), Failure> {
        let named = |key: &str, e: TemplateError| match e {
            TemplateError::Template(why) => {
                Failure::Usage(format!("[[notify]] {:?}: {key}: {why}", target.name))
            }
            TemplateError::Process(e) => Failure::Work(format!("cannot start a process for templates: {e}")),
        };
        let fields = fields(&Message::of_hard_texts(&target.name, target.pace != NotifyPace::Each));
        let mut renderer = lock(&self.renderer);
        if let Some(template) = &target.template {
            let body = renderer.render(template, &fields).map_err(|e| named("template", e))?;
            let is_json = matches!(&target.receiver, Receiver::Webhook { content_type, .. } if content_type.contains("json"));
            if is_json && let Err(e) = serde_json::from_str::<IgnoredAny>(&body) {
                let why = format!(
                    "it makes no JSON ({e}): write fields as {{{{ url|tojson }}}}, or set content_type"
                );
                return Err(named("template", TemplateError::Template(why)));
            }
        }
        if let Receiver::Mail(mail) = &target.receiver
            && let Some(subject) = &mail.subject
        {
            renderer.render(subject, &fields).map_err(|e| named("subject", e))?;
        }
        Ok(())
    }

    /// Messages in flight at most.
    pub fn window(&self) -> usize {
        match self.channel {
            NoticeChannel::Webhook(_) => MAX_IN_FLIGHT,
            NoticeChannel::Command(_) => MAX_COMMANDS,
            NoticeChannel::File(_) | NoticeChannel::Mail(_) => 1,
        }
    }

    /// Sends a message. `now` gives seconds since 1970, once it is the message's turn: receivers refuse an old signature. What
    /// follows a success, such as the end of a connection, cannot make a
    /// failure of it.
    ///
    /// # Errors
    /// Why the receiver did not take it.
    pub async fn send(
        &self,
        target: &NotifyTarget,
        message: &Message,
        now: impl Fn() -> u64,
    ) -> Result<(), NotTaken> {
        let body = match &target.template {
            Some(template) => self.rendered("template", template, message).await?,
            // JSON leaves some of them as they are.
            None => escape::lines(&message.to_json()).into_owned(),
        };
        if let Some(rate) = &target.rate {
            rate.turn().await;
        }
        match &self.channel {
            NoticeChannel::Webhook(webhook) => webhook.post(&message.id, now(), body).await,
            NoticeChannel::Command(program) => program.run(&target.name, message, body).await,
            NoticeChannel::File(file) => file.append(body).await,
            NoticeChannel::Mail(mailer) => {
                let subject = match mailer.subject() {
                    Some(template) => self.rendered("subject", template, message).await?,
                    None => mail::plain_subject(message),
                };
                mailer.send(message, &subject, body).await
            }
        }
    }

    async fn rendered(&self, key: &str, template: &str, message: &Message) -> Result<String, NotTaken> {
        let (renderer, template, fields) = (self.renderer.clone(), template.to_owned(), fields(message));
        let rendered = spawn_blocking(move || lock(&renderer).render(&template, &fields)).await;
        let rendered = rendered.unwrap_or_else(|e| Err(TemplateError::Process(io::Error::other(e))));
        rendered.map_err(|e| match e {
            TemplateError::Template(why) => NotTaken::Refused(format!("{key}: {why}")),
            TemplateError::Process(e) => NotTaken::Failed(format!("cannot run a process for templates: {e}")),
        })
    }
}

/// The fields for a template: what pages say cannot steer the terminal on which the text is read.
fn fields(message: &Message) -> Value {
    let mut fields = message.fields();
    escape::make_plain(&mut fields);
    fields
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no panic under the lock")
}

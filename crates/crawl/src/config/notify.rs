//! `[[notify]]`: who is told of changes.

use super::secrets::{Secret, SecretUrl};
use super::units::{Size, Span};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

table! {
    /// `[[notify]]`
    NotifyTable {
        /// The target's name, in messages and in what the crawl remembers of it.
        name: String = String::new(),
        /// The pages, as patterns.
        pages: Vec<String> = vec!["*".into()],
        /// The kinds of changes: changed, new, failed, not_found, gone, back.
        changes: Vec<String> = vec!["changed".into()],
        /// Condition of a message (`recrawl_notifications::condition`); empty for none.
        when: String = String::new(),
        /// URL that messages are posted to.
        webhook: SecretUrl = SecretUrl::default(),
        /// Program and arguments; the message is its standard input.
        command: Vec<String> = Vec::new(),
        /// File that messages are appended to, a line each.
        file: PathBuf = PathBuf::new(),
        /// Mail server: `smtp://` or `smtps://`, host and port.
        smtp: String = String::new(),
        /// For mail: sender.
        from: String = String::new(),
        /// For mail: recipients.
        to: Vec<String> = Vec::new(),
        /// For mail: template of the subject.
        subject: String = String::new(),
        /// For the mail server or for Basic authentication of a webhook.
        user: String = String::new(),
        /// For the same.
        password: Secret = Secret::default(),
        /// For Bearer authentication of a webhook.
        bearer: Secret = Secret::default(),
        /// Secrets that sign the messages of a webhook (standard-webhooks).
        secrets: Vec<Secret> = Vec::new(),
        /// Address blocks that a webhook or mail server may have although they are not on the public Internet.
        allow_addresses: Vec<String> = Vec::new(),
        /// A message for each change, or a digest: each, hour, day.
        digest: String = "each".into(),
        /// Template of the message (Jinja); empty for JSON.
        template: String = String::new(),
        /// Content type of a webhook's messages.
        content_type: String = "application/json".into(),
        /// Maximum bytes of the old text, of the new one and of their difference; 0 for none of them.
        text: Size = Size(8 << 10),
        /// Maximum messages per time, as `10/s`; empty for no limit.
        rate: String = String::new(),
        /// Time limit of one message.
        timeout: Span = Span::millis(30_000),
    }
}

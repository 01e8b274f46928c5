//! Targets of changes (`[[notify]]`), as checked. What they are told, and how far they were, is the business
//! of the crate `notifications`; the program sends.

use crate::admission::address_block::address_block;
use crate::admission::pattern::Pattern;
use crate::config::secrets::Secret;
use crate::config::target::{authorization, check_name, credentials, rate};
use crate::config::{Config, NotifyTable};
use ipnet::IpNet;
use recrawl_fetcher::RequestRate;
use recrawl_notifications::signature::SigningKey;
use recrawl_notifications::{ChangeKind, MessageCondition};
use recrawl_types::host::literal;
use recrawl_types::{CanonicalUrl, UrlRules, WrittenHost};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Targets at most: each reads the kept visits for itself.
const MAX_TARGETS: usize = 100;

/// Visits should be kept for at least as long.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// A checked target.
#[derive(Clone)]
pub struct NotifyTarget {
    /// Its name.
    pub name: String,
    /// The kinds of changes it asks for.
    pub kinds: Vec<ChangeKind>,
    /// The condition of a message; none for every change.
    pub when: Option<MessageCondition>,
    /// Where messages go.
    pub receiver: Receiver,
    /// When it is told.
    pub pace: NotifyPace,
    /// The template of its messages, not checked; none for JSON.
    pub template: Option<String>,
    /// Maximum bytes of each text in a message; 0 for none.
    pub max_text: usize,
    /// The rate of messages, if it is limited.
    pub rate: Option<Arc<RequestRate>>,
    /// Time limit of one message.
    pub timeout: Duration,
    /// Addresses that are allowed although they are not on the public Internet.
    pub allow_addresses: Vec<IpNet>,
    patterns: Vec<Pattern>,
}

/// When a target is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotifyPace {
    /// Of each change once its round is committed.
    Each,
    /// At the end of each period of so many milliseconds since 1970, of all changes since.
    Digest(u64),
}

/// Where messages go.
#[derive(Clone)]
pub enum Receiver {
    /// They are posted to a URL.
    Webhook {
        /// The URL.
        url: CanonicalUrl,
        /// Keys that sign them.
        keys: Vec<SigningKey>,
        /// `Authorization`, if any.
        authorization: Option<String>,
        /// `Content-Type`.
        content_type: String,
    },
    /// A program reads one as its standard input.
    Command(Vec<String>),
    /// They are appended to a file.
    File(PathBuf),
    /// They are sent by mail.
    Mail(Box<Mail>),
}

/// Where mail goes.
#[derive(Clone)]
pub struct Mail {
    /// TLS from the first byte (`smtps://`); else STARTTLS, which only a server at a loopback address may lack.
    pub is_tls: bool,
    /// Name or address of the server.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// User and password, if any.
    pub credentials: Option<(String, String)>,
    /// The sender.
    pub from: String,
    /// The recipients.
    pub to: Vec<String>,
    /// Template of the subject, not checked; none for that of recrawl.
    pub subject: Option<String>,
}

/// Nothing that may be secret.
impl fmt::Debug for NotifyTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({})", self.name)
    }
}

impl NotifyTarget {
    /// Checks the `[[notify]]` tables.
    ///
    /// # Errors
    /// The target and the key, and what is wrong.
    pub fn all(config: &Config, urls: &UrlRules) -> Result<Vec<NotifyTarget>, String> {
        let tables = &config.notify;
        if tables.len() > MAX_TARGETS {
            return Err(format!("at most {MAX_TARGETS} [[notify]] can be given, not {}", tables.len()));
        }
        if !tables.is_empty() && config.storage.keep_visits == 0 {
            return Err("[[notify]] needs kept visits: set storage.keep_visits above 0".into());
        }
        let mut targets: Vec<NotifyTarget> = Vec::new();
        for table in tables {
            let name = &table.name;
            check_name("notify", name)?;
            if targets.iter().any(|earlier| earlier.name == *name) {
                return Err(format!("notify.name {name:?} is given twice"));
            }
            let target =
                NotifyTarget::new(table, config, urls).map_err(|e| format!("[[notify]] {name:?}: {e}"))?;
            targets.push(target);
        }
        Ok(targets)
    }

    fn new(table: &NotifyTable, config: &Config, urls: &UrlRules) -> Result<NotifyTarget, String> {
        let named = |key: &'static str| move |e: String| format!("{key}: {e}");
        let kinds: Result<Vec<_>, _> = table.changes.iter().map(|name| ChangeKind::named(name)).collect();
        let kinds = kinds.map_err(named("changes"))?;
        let patterns: Result<Vec<_>, _> =
            table.pages.iter().map(|text| Pattern::parse(text, urls).map_err(|e| e.to_string())).collect();
        let patterns = patterns.map_err(named("pages"))?;
        for (key, is_empty) in [("changes", kinds.is_empty()), ("pages", patterns.is_empty())] {
            if is_empty {
                return Err(format!("{key} is empty, so the target would get nothing"));
            }
        }
        let pace = match table.digest.as_str() {
            "each" => NotifyPace::Each,
            "hour" => NotifyPace::Digest(3_600_000),
            "day" => NotifyPace::Digest(24 * 3_600_000),
            other => return Err(format!("digest is {other:?}; write \"each\", \"hour\" or \"day\"")),
        };
        if table.timeout.0.is_zero() {
            return Err("timeout must not be 0".into());
        }
        let when = given(&table.when).map(|text| MessageCondition::parse(&text)).transpose();
        let when = when.map_err(named("when"))?;
        if when.as_ref().is_some_and(MessageCondition::reads_archive) && !config.storage.archive {
            return Err(
                "when: texts and numbers of pages come from the archive: set storage.archive = true".into()
            );
        }
        let receiver = receiver(table, config)?;
        let allow = table.allow_addresses.iter().map(|text| address_block(text));
        Ok(NotifyTarget {
            name: table.name.clone(),
            kinds,
            when,
            receiver,
            pace,
            template: given(&table.template),
            max_text: usize::try_from(table.text.0).unwrap_or(usize::MAX),
            rate: rate(&table.rate)?,
            timeout: table.timeout.0,
            allow_addresses: allow.collect::<Result<_, _>>().map_err(named("allow_addresses"))?,
            patterns,
        })
    }

    /// Is the target told of each change of the page?
    pub fn asks_for_changes_of(&self, url: &CanonicalUrl) -> bool {
        self.kinds.contains(&ChangeKind::Changed) && self.wants(url)
    }

    /// Is the page one of the target's?
    pub fn wants(&self, url: &CanonicalUrl) -> bool {
        self.patterns.iter().any(|pattern| pattern.matches(url))
    }
}

/// A warning about what is allowed and makes little sense: visits that are kept for less than a day.
pub fn warning(config: &Config) -> Option<String> {
    let (cycles, period) = (config.storage.keep_visits, config.cycle.period);
    let is_short = period.0.saturating_mul(cycles) < DAY && !config.notify.is_empty();
    is_short.then(|| {
        format!(
            "storage.keep_visits is {cycles} cycles of {period}: a target of [[notify]] that takes nothing for so long loses \
             changes; keep at least a day"
        )
    })
}

/// A kind of receiver.
struct ReceiverKind {
    /// The key that chooses it.
    key: &'static str,
    /// Is the key set?
    is_given: fn(&NotifyTable) -> bool,
    /// Checks its keys.
    read: fn(&NotifyTable, &Config) -> Result<Receiver, String>,
}

const KINDS: &[ReceiverKind] = &[
    ReceiverKind { key: "webhook", is_given: |table| !table.webhook.0.is_empty(), read: webhook },
    ReceiverKind {
        key: "command",
        is_given: |table| !table.command.is_empty(),
        read: |table, _| Ok(Receiver::Command(table.command.clone())),
    },
    ReceiverKind {
        key: "file",
        is_given: |table| !table.file.as_os_str().is_empty(),
        read: |table, _| lines_file(table).map(Receiver::File),
    },
    ReceiverKind {
        key: "smtp",
        is_given: |table| !table.smtp.is_empty(),
        read: |table, _| mail(table).map(|mail| Receiver::Mail(Box::new(mail))),
    },
];

/// The one receiver of a table. Keys of another kind of receiver are refused.
fn receiver(table: &NotifyTable, config: &Config) -> Result<Receiver, String> {
    let given: Vec<&ReceiverKind> = KINDS.iter().filter(|kind| (kind.is_given)(table)).collect();
    let [kind] = given[..] else {
        let listed = |kinds: &mut dyn Iterator<Item = &ReceiverKind>| {
            kinds.map(|kind| kind.key).collect::<Vec<_>>().join(", ")
        };
        let all = listed(&mut KINDS.iter());
        let given = match given.is_empty() {
            true => "none is".into(),
            false => format!("{} are", listed(&mut given.into_iter())),
        };
        return Err(format!("set exactly one of {all}; {given} set"));
    };
    let default = NotifyTable::default();
    for (key, is_given, kinds) in [
        ("secrets", !table.secrets.is_empty(), &["webhook"][..]),
        ("bearer", !table.bearer.is_empty(), &["webhook"]),
        ("content_type", table.content_type != default.content_type, &["webhook"]),
        ("user", !table.user.is_empty(), &["webhook", "smtp"]),
        ("password", !table.password.is_empty(), &["webhook", "smtp"]),
        ("allow_addresses", !table.allow_addresses.is_empty(), &["webhook", "smtp"]),
        ("from", !table.from.is_empty(), &["smtp"]),
        ("to", !table.to.is_empty(), &["smtp"]),
        ("subject", !table.subject.is_empty(), &["smtp"]),
    ] {
        if is_given && !kinds.contains(&kind.key) {
            return Err(format!("{key} has no effect with {}: remove it", kind.key));
        }
    }
    (kind.read)(table, config)
}

fn lines_file(table: &NotifyTable) -> Result<PathBuf, String> {
    let file = &table.file;
    let named = |what: &str| format!("file {}: {what}", file.display());
    match file {
        file if file.is_dir() => Err(named("it is a folder; name a file in it")),
        file if file.starts_with("~") => Err(named("~ is of the shell; write the whole path")),
        file => Ok(file.clone()),
    }
}

fn given(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn webhook(table: &NotifyTable, config: &Config) -> Result<Receiver, String> {
    let named = |e: String| format!("webhook {}: {e}", table.webhook);
    let url = table.webhook.0.value().map_err(named)?;
    if url::Url::parse(&url).is_ok_and(|url| !url.username().is_empty() || url.password().is_some()) {
        return Err("webhook: user and password are keys of their own: leave them out of the URL".into());
    }
    let url = UrlRules::keep_all().canonicalize(&url).map_err(|e| named(e.to_string()))?;
    if is_own_console(&url, config) {
        return Err(named("it is the console of this crawl (serve.listen): name another receiver".into()));
    }
    let key = |secret: &Secret| SigningKey::parse(&secret.referred()?);
    let keys =
        table.secrets.iter().map(key).collect::<Result<_, _>>().map_err(|e| format!("secrets: {e}"))?;
    let authorization = authorization(&table.user, &table.password, &table.bearer)?;
    Ok(Receiver::Webhook { url, keys, authorization, content_type: table.content_type.clone() })
}

/// Does the URL lead to the console of this crawl?
fn is_own_console(url: &CanonicalUrl, config: &Config) -> bool {
    let (listen, host) = (config.serve.listen, url.host());
    let is_it = match literal(&host) {
        Some(address) => address == listen.ip() || listen.ip().is_unspecified() && address.is_loopback(),
        None => *host == *"localhost" || config.serve.names.iter().any(|name| **name == *host),
    };
    is_it && url.port() == listen.port()
}

fn mail(table: &NotifyTable) -> Result<Mail, String> {
    let wrong =
        || format!("smtp {:?}: write smtp://mail.example.com:587 or smtps://mail.example.com", table.smtp);
    let url = url::Url::parse(&table.smtp).map_err(|_| wrong())?;
    let is_tls = match url.scheme() {
        "smtp" => false,
        "smtps" => true,
        _ => return Err(wrong()),
    };
    let is_bare = matches!(url.path(), "" | "/")
        && url.username().is_empty()
        && [url.password(), url.query(), url.fragment()] == [None; 3];
    let host = url.host_str().filter(|host| !host.is_empty() && is_bare).ok_or_else(wrong)?;
    let host = WrittenHost::without_port(host).map_err(|e| format!("{}: {e}", wrong()))?;
    let is_address = |text: &String| text.contains('@') && !text.contains(char::is_control);
    if let Some(text) = std::iter::once(&table.from).chain(&table.to).find(|text| !is_address(text)) {
        return Err(format!("from and to: {text:?} is no e-mail address"));
    }
    if table.to.is_empty() {
        return Err("to: name a recipient".into());
    }
    Ok(Mail {
        is_tls,
        host,
        port: url.port().unwrap_or(if is_tls { 465 } else { 587 }),
        credentials: credentials(&table.user, &table.password)?,
        from: table.from.clone(),
        to: table.to.clone(),
        subject: given(&table.subject),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_notifications_has_each_kind_of_receiver() {
        let page = include_str!("../../../../docs/notifications.md");
        for ReceiverKind { key, .. } in KINDS {
            assert!(
                page.contains(&format!("\n- **`{key}`**: ")),
                "docs/notifications.md does not tell of {key}"
            );
        }
    }
}

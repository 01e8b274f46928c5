//! Sends messages by mail.

use super::bounded::BoundedStream;
use super::not_taken::{NotTaken, within};
use super::webhook::words;
use lettre::address::Envelope;
use lettre::message::Mailbox;
use lettre::message::header::{ContentType, HeaderName, HeaderValue, MIME_VERSION_1_0};
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use recrawl_crawl::parts::notify::{Mail, NotifyTarget};
use recrawl_fetcher::{FetchConfig, HttpNetwork, Network};
use recrawl_notifications::message::Message;
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::BuilderVerifierExt;
use std::fmt::Debug;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Time for the end of a connection, after the mail is taken.
const QUIT: Duration = Duration::from_secs(1);
/// Characters of a subject at most.
const MAX_SUBJECT: usize = 200;

/// A mail server, asked anew for each message.
pub struct Mailer {
    mail: Mail,
    from: Mailbox,
    to: Vec<Mailbox>,
    /// Looks up the server and checks its address.
    network: HttpNetwork,
    timeout: Duration,
}

impl Mailer {
    /// # Errors
    /// When an address is none, or lookups cannot be set up.
    pub fn new(target: &NotifyTarget, fetch: &FetchConfig, mail: &Mail) -> Result<Mailer, String> {
        let mailbox = |text: &String| text.parse().map_err(|e| format!("{text:?} is no e-mail address: {e}"));
        let network = HttpNetwork::new(&FetchConfig {
            allow_addresses: target.allow_addresses.clone(),
            proxy: None,
            ..fetch.clone()
        });
        Ok(Mailer {
            mail: mail.clone(),
            from: mailbox(&mail.from)?,
            to: mail.to.iter().map(mailbox).collect::<Result<_, _>>()?,
            network: network.map_err(|e| e.to_string())?,
            timeout: target.timeout,
        })
    }

    /// The template of the subject, if the operator has one.
    pub fn subject(&self) -> Option<&str> {
        self.mail.subject.as_deref()
    }

    /// Sends a message as plain text. Its id is the `Message-ID`, so that mail programs can tell duplicates.
    ///
    /// # Errors
    /// What the server answered, or why there is no answer.
    pub async fn send(&self, message: &Message, subject: &str, body: String) -> Result<(), NotTaken> {
        let refused = |why: String| NotTaken::Refused(why);
        // White space of a page's title must not end the line.
        let subject: String =
            subject.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_SUBJECT).collect();
        let host = self.from.email.domain();
        let mut mail = lettre::Message::builder().from(self.from.clone()).subject(subject);
        for to in &self.to {
            mail = mail.to(to.clone());
        }
        let mail = mail.message_id(Some(format!("<{}@{host}>", message.id)));
        let mail = mail.header(MIME_VERSION_1_0).header(ContentType::TEXT_PLAIN);
        // Answers of people who are away are sent to people only (RFC 3834).
        let automatic = HeaderName::new_from_ascii_str("Auto-Submitted");
        let mail = mail.raw_header(HeaderValue::new(automatic, "auto-generated".into()));
        let mail = mail.body(body).map_err(|e| refused(e.to_string()))?;
        match self.transfer(mail.envelope(), &mail.formatted()).await {
            // Servers refuse one recipient, and the client gives up all.
            Err(NotTaken::Refused(why)) if self.to.len() > 1 => self.send_apart(&mail, why).await,
            sent => sent,
        }
    }

    /// Sends a mail to each recipient alone. Those that do not get it are told in the log, unless nobody does: `why`. A
    /// further try would send it again to those that got it.
    async fn send_apart(&self, mail: &lettre::Message, why: String) -> Result<(), NotTaken> {
        let (mut is_taken, mut left) = (false, NotTaken::Refused(why));
        for to in &self.to {
            let envelope = Envelope::new(mail.envelope().from().cloned(), vec![to.email.clone()]);
            let envelope = envelope.map_err(|e| NotTaken::Refused(e.to_string()))?;
            match self.transfer(&envelope, &mail.formatted()).await {
                Ok(()) => is_taken = true,
                Err(why) => {
                    tracing::warn!("the mail server does not take the message for {}: {why}", to.email);
                    left = if matches!(why, NotTaken::Failed(_)) { why } else { left };
                }
            }
        }
        if is_taken { Ok(()) } else { Err(left) }
    }

    async fn transfer(&self, envelope: &Envelope, mail: &[u8]) -> Result<(), NotTaken> {
        let mut open = None;
        let sent = within(self.timeout, async {
            let connection = open.insert(self.connect().await.map_err(NotTaken::Failed)?);
            let sent = connection.send(envelope, mail).await;
            sent.map(drop).map_err(|e| match e.is_permanent() {
                true => NotTaken::Refused(told(&e)),
                false => NotTaken::Failed(told(&e)),
            })
        });
        let sent = sent.await;
        if let (Ok(()), Some(mut connection)) = (&sent, open) {
            _ = timeout(QUIT, connection.quit()).await;
        }
        sent
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, String> {
        let Mail { is_tls, host, port, credentials, .. } = &self.mail;
        let address = self.network.address(host).await.map_err(|e| words(e).to_owned())?;
        // Certificates name an address without brackets.
        let name = host.trim_matches(['[', ']']);
        let (hello, server) = (ClientId::default(), SocketAddr::new(address, *port));
        let stream = TcpStream::connect(server).await.map_err(|e| told(&e))?;
        let mut connection = match is_tls {
            true => greeted(encrypted(stream, name, system_tls()?).await?, server, &hello).await?,
            false => greeted(stream, server, &hello).await?,
        };
        if !is_tls && connection.can_starttls() {
            let tls = TlsParameters::new(name.to_owned()).map_err(|e| told(&e))?;
            connection.starttls(tls, &hello).await.map_err(|e| told(&e))?;
        } else if !is_tls && !address.is_loopback() {
            return Err("the server offers no STARTTLS: use smtps://".into());
        }
        if let Some((user, password)) = credentials {
            let credentials = Credentials::new(user.clone(), password.clone());
            connection
                .auth(&[Mechanism::Plain, Mechanism::Login], &credentials)
                .await
                .map_err(|e| told(&e))?;
        }
        Ok(connection)
    }
}

/// TLS that trusts the system's authorities, as STARTTLS does.
fn system_tls() -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.and_then(BuilderVerifierExt::with_platform_verifier);
    Ok(config.map_err(|e| told(&e))?.with_no_client_auth())
}

/// TLS from the first byte, behind the certificate of this name.
pub async fn encrypted(
    stream: TcpStream,
    name: &str,
    tls: ClientConfig,
) -> Result<TlsStream<TcpStream>, String> {
    let name = ServerName::try_from(name.to_owned()).map_err(|e| told(&e))?;
    TlsConnector::from(Arc::new(tls)).connect(name, stream).await.map_err(|e| told(&e))
}

/// The connection behind the first words of both sides.
pub async fn greeted<S: AsyncRead + AsyncWrite + Send + Sync + Unpin + Debug + 'static>(
    stream: S,
    server: SocketAddr,
    hello: &ClientId,
) -> Result<AsyncSmtpConnection, String> {
    let stream = Box::new(BoundedStream::new(stream, server));
    AsyncSmtpConnection::connect_with_transport(stream, hello).await.map_err(|e| told(&e))
}

/// The subject without a template.
pub fn plain_subject(message: &Message) -> String {
    let data = &message.data;
    match data["changes"].as_array() {
        Some(changes) => format!("recrawl: {} changes", changes.len()),
        None => {
            let text = |key: &str| data[key].as_str().unwrap_or_default();
            format!("recrawl: {} {}", text("kind"), text("url"))
        }
    }
}

/// An error with its cause, if it does not say it already.
fn told(error: &(dyn std::error::Error + 'static)) -> String {
    let text = error.to_string();
    match error.source().map(ToString::to_string) {
        Some(source) if !text.contains(&source) => format!("{text}: {source}"),
        _ => text,
    }
}

//! Changes without tokens: a one-time link in the log, and the sessions that it begins.
//!
//! Everyone who reads the daemon's log, or its terminal, may change the crawl. The secret of the link is exchanged
//! once for a session, which the browser keeps as a cookie that no script can read.

use ring::rand::{SecureRandom, SystemRandom};
use std::collections::VecDeque;
use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use subtle::{Choice, ConstantTimeEq};
use tokio::time::Instant;

/// Time in which a link can be used.
pub const LINK_LIFETIME: Duration = Duration::from_secs(15 * 60);
/// Time in which a session can make changes.
pub const SESSION_LIFETIME: Duration = Duration::from_secs(7 * 24 * 3600);
/// Maximum sessions; a further one ends the oldest.
pub const MAX_SESSIONS: usize = 16;
/// Bytes of a secret; it is written in hexadecimal.
const SECRET_BYTES: usize = 32;

/// The link that can be used, and the sessions. They outlive a console, since a daemon that steps aside gets a new one.
#[derive(Default)]
pub struct Sessions(Mutex<LoginSecrets>);

#[derive(Default)]
struct LoginSecrets {
    was_offered: bool,
    link: Option<LoginSecret>,
    begun: VecDeque<LoginSecret>,
}

struct LoginSecret {
    text: String,
    ends: Instant,
}

impl LoginSecret {
    /// None if the system gives no random bytes: then nobody gets in.
    fn new(ends: Instant) -> Option<LoginSecret> {
        let mut bytes = [0; SECRET_BYTES];
        SystemRandom::new().fill(&mut bytes).ok()?;
        let mut text = String::with_capacity(2 * SECRET_BYTES);
        for byte in bytes {
            write!(text, "{byte:02x}").expect("a string takes all");
        }
        Some(LoginSecret { text, ends })
    }

    /// The time taken reveals nothing about the secret.
    fn is(&self, given: &[u8], now: Instant) -> bool {
        let same: Choice = self.text.as_bytes().ct_eq(given);
        bool::from(same) && now < self.ends
    }
}

impl Sessions {
    /// The secret of the link: of a new one, unless an earlier one can still be used.
    pub fn offer(&self, now: Instant) -> Option<String> {
        let mut secrets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if secrets.link.as_ref().is_none_or(|link| link.ends <= now) {
            secrets.link = LoginSecret::new(now + LINK_LIFETIME);
        }
        secrets.was_offered = true;
        secrets.link.as_ref().map(|link| link.text.clone())
    }

    /// Was a link offered before? A daemon that steps aside for a command offers none when it returns.
    pub fn was_offered(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).was_offered
    }

    /// Exchanges the secret of the link for that of a session. It works once.
    pub fn begin(&self, link: &[u8], now: Instant) -> Option<String> {
        let mut secrets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.link.take_if(|offered| offered.is(link, now))?;
        let session = LoginSecret::new(now + SESSION_LIFETIME)?;
        let text = session.text.clone();
        if secrets.begun.len() == MAX_SESSIONS {
            secrets.begun.pop_front();
        }
        secrets.begun.push_back(session);
        Some(text)
    }

    /// Is this the secret of a session that has not ended?
    pub fn has(&self, session: &[u8], now: Instant) -> bool {
        let secrets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.begun.iter().fold(false, |found, one| found | one.is(session, now))
    }

    /// Ends the link and all sessions: there are tokens now.
    pub fn end(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = LoginSecrets::default();
    }
}

/// The link with this secret to a console at `address`. Its secret is in the fragment, which browsers do not send:
/// no proxy logs it, and no preview of the link uses it up.
pub fn link(address: SocketAddr, secret: &str) -> String {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    format!("http://{}/#/login?secret={secret}", SocketAddr::new(ip, address.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_works_once_and_in_time() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let link = sessions.offer(now).unwrap();
        assert_eq!(link.len(), 2 * SECRET_BYTES);
        assert_eq!(sessions.offer(now).as_ref(), Some(&link), "the first can still be used");
        for wrong in ["", &link[1..], &link.to_uppercase(), &"0".repeat(64)] {
            assert_eq!(sessions.begin(wrong.as_bytes(), now), None, "{wrong}");
        }
        let session = sessions.begin(link.as_bytes(), now).unwrap();
        assert_ne!(session, link);
        assert_eq!(sessions.begin(link.as_bytes(), now), None, "once");
        assert!(sessions.has(session.as_bytes(), now) && !sessions.has(link.as_bytes(), now));
        assert!(!sessions.has(session.as_bytes(), now + SESSION_LIFETIME), "a session ends");

        let late = sessions.offer(now).expect("the first is used up");
        assert_eq!(sessions.begin(late.as_bytes(), now + LINK_LIFETIME), None, "too late");
        assert!(sessions.offer(now + LINK_LIFETIME).is_some_and(|next| next != late));
        sessions.end();
        assert!(!sessions.has(session.as_bytes(), now));
    }

    #[test]
    fn one_session_too_many_ends_the_oldest() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let all: Vec<String> = (0..=MAX_SESSIONS)
            .map(|_| sessions.begin(sessions.offer(now).unwrap().as_bytes(), now).unwrap())
            .collect();
        let open: Vec<bool> = all.iter().map(|one| sessions.has(one.as_bytes(), now)).collect();
        assert_eq!(open.iter().position(|is| *is), Some(1));
        assert!(open[1..].iter().all(|is| *is));
    }

    #[test]
    fn a_link_leads_to_an_address_that_a_browser_can_open() {
        for (listen, leads) in [
            ("127.0.0.1:8420", "http://127.0.0.1:8420/#/login?secret=x"),
            ("0.0.0.0:80", "http://127.0.0.1:80/#/login?secret=x"),
            ("[::]:8420", "http://[::1]:8420/#/login?secret=x"),
            ("[2001:db8::1]:8420", "http://[2001:db8::1]:8420/#/login?secret=x"),
        ] {
            assert_eq!(link(listen.parse().unwrap(), "x"), leads);
        }
    }
}

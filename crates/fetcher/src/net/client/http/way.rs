//! An HTTP client and the addresses that it may connect to.
//!
//! There are two. What a rendered page asks for may be limited to public addresses, and a client cannot decide this for
//! each request: its connections are shared, and it looks names up by itself.

use super::exchange::{Exchange, TakingLayer};
use super::{SetupError, common_fields, trust, user_agent};
use crate::net::client::NetworkError;
use crate::net::dns::Resolver;
use crate::net::guard::Guard;
use crate::net::limits::FetchConfig;
use recrawl_types::host::literal;
use reqwest::{Client, ClientBuilder};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How much longer than the delay an idle connection is kept.
const IDLE_SLACK: Duration = Duration::from_secs(4);

/// A client with its guard.
#[derive(Clone, Debug)]
pub struct Way {
    config: Arc<FetchConfig>,
    client: Exchange,
    /// Speaks HTTP/1.1 alone. It is made with the first origin that needs it; none if it cannot be made.
    http1: Arc<OnceLock<Option<Exchange>>>,
    pub guard: Guard,
    pub resolver: Resolver,
}

impl Way {
    /// `resolver` has the same guard.
    pub fn new(config: Arc<FetchConfig>, guard: Guard, resolver: Resolver) -> Result<Way, SetupError> {
        let client = Way::exchange(&config, &resolver, false)?;
        Ok(Way { config, client, http1: Arc::default(), guard, resolver })
    }

    /// The client for an origin; an error, which is logged, if none can be made though the usual one could.
    pub fn client(&self, is_http1: bool) -> Result<&Exchange, NetworkError> {
        if !is_http1 {
            return Ok(&self.client);
        }
        let make = || {
            Way::exchange(&self.config, &self.resolver, true)
                .inspect_err(|error| tracing::error!(%error, "no requests over HTTP/1.1 alone"))
                .ok()
        };
        self.http1.get_or_init(make).as_ref().ok_or(NetworkError::Protocol)
    }

    fn exchange(config: &FetchConfig, resolver: &Resolver, is_http1: bool) -> Result<Exchange, SetupError> {
        let idle = config.delay_per_host.max(config.delay_per_ip) + IDLE_SLACK;
        let mut builder = builder()
            .user_agent(user_agent(config)?)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .dns_resolver(Arc::new(resolver.clone()))
            .connect_timeout(config.connect_timeout)
            .connector_layer(TakingLayer);
        if !config.extra_ca.is_empty() {
            let protocols: &[&[u8]] = if is_http1 { &[b"http/1.1"] } else { &[b"h2", b"http/1.1"] };
            builder = builder.tls_backend_preconfigured(trust::tls(&config.extra_ca, protocols)?);
        }
        if let Some(proxy) = &config.proxy {
            builder = builder.proxy(proxy.rule());
        }
        if is_http1 {
            builder = builder.http1_only();
        }
        let connecting = builder.build().map_err(SetupError::Client)?;
        Ok(Exchange::new(config, connecting, common_fields(config)?, idle))
    }

    pub async fn is_v6(&self, host: &str) -> bool {
        match literal(host) {
            Some(address) => address.is_ipv6(),
            None => self.resolver.address(host).await.is_ok_and(|address| address.is_ipv6()),
        }
    }
}

/// A client's builder. reqwest panics in `build` if the process has no provider of cryptography yet.
fn builder() -> ClientBuilder {
    // Fails if a provider is installed already, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
}

/// The way to public addresses alone. Its client is made with the first request, since most crawls need none.
#[derive(Clone, Debug)]
pub struct PublicWay {
    config: Arc<FetchConfig>,
    pub guard: Guard,
    pub resolver: Resolver,
    made: Arc<OnceLock<Option<Way>>>,
}

impl PublicWay {
    pub fn new(config: Arc<FetchConfig>, guard: &Guard, resolver: &Resolver) -> PublicWay {
        let guard = guard.clone().only_public();
        let resolver = resolver.clone().guarded_by(guard.clone());
        PublicWay { config, guard, resolver, made: Arc::default() }
    }

    /// The way. An error, which is logged, if no client can be made though the usual one could.
    pub fn way(&self) -> Result<&Way, NetworkError> {
        let make = || {
            Way::new(self.config.clone(), self.guard.clone(), self.resolver.clone())
                .inspect_err(|error| tracing::error!(%error, "no requests for rendered pages"))
                .ok()
        };
        self.made.get_or_init(make).as_ref().ok_or(NetworkError::Refused)
    }
}

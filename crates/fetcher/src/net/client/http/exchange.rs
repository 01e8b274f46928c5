//! Requests on connections that reqwest makes. reqwest knows TLS, proxies and names, but of a response it tells only
//! what it understood. So it connects alone, and the client here sends requests, with a [`Tap`] on each connection.

use super::connection::note_connect;
use super::tap::{RawHead, RawHeads, Tap, Wire};
use crate::net::limits::{FetchConfig, MAX_HEADER_BYTES, MAX_HEADERS, MAX_UNREAD};
use crate::net::proxy::Proxy;
use hyper::Uri;
use hyper::ext::ReasonPhrase;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use reqwest::header::{Entry, HeaderMap, HeaderValue, PROXY_AUTHORIZATION};
use reqwest::{Body, Client, Method, Request, Response, Url};
use std::error::Error;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tower::{Layer, Service};

type BoxError = Box<dyn Error + Send + Sync>;

/// The place for a connection that reqwest makes.
type Place = Arc<Mutex<Option<Box<dyn Wire>>>>;

tokio::task_local! {
    /// Where [`TakingLayer`] puts the connection.
    static PLACE: Place;
}

/// Sends requests.
#[derive(Clone, Debug)]
pub struct Exchange {
    client: legacy::Client<Connector, Body>,
    /// Fields of every request that does not have its own.
    common: HeaderMap,
    /// The proxy with its credentials, if it has any.
    proxy: Option<(Proxy, HeaderValue)>,
}

impl Exchange {
    /// `connecting` has [`TakingLayer`]. `idle`: how long a connection is kept.
    pub fn new(config: &FetchConfig, connecting: Client, common: HeaderMap, idle: Duration) -> Exchange {
        let client = legacy::Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(config.connections_per_host)
            .pool_idle_timeout(idle)
            // Read as tolerantly as browsers (RFC 9112 §5): a line that is no field is left out. What frames
            // the body is never guessed: hyper rejects contradictory lengths and NUL.
            .http1_allow_spaces_after_header_name_in_responses(true)
            .http1_allow_obsolete_multiline_headers_in_responses(true)
            .http1_ignore_invalid_headers_in_responses(true)
            .http1_max_headers(MAX_HEADERS)
            .http2_max_header_list_size(MAX_HEADER_BYTES)
            .http2_initial_stream_window_size(MAX_UNREAD)
            .build(Connector(connecting));
        let proxy = config.proxy.as_ref().and_then(|proxy| Some((proxy.clone(), proxy.authorization()?)));
        Exchange { client, common, proxy }
    }

    /// Sends a request. The header of an HTTP/1 response comes also as it was received.
    ///
    /// # Errors
    /// Before the body.
    pub async fn send(&self, mut request: Request) -> Result<(Response, Option<RawHead>), BoxError> {
        for (name, value) in &self.common {
            if let Entry::Vacant(entry) = request.headers_mut().entry(name) {
                entry.insert(value.clone());
            }
        }
        let mut request = hyper::Request::<Body>::try_from(request)?;
        if let Some((proxy, credentials)) = &self.proxy
            && request.uri().scheme_str() == Some("http")
            && request.uri().host().is_some_and(|host| proxy.covers(host))
        {
            request.headers_mut().insert(PROXY_AUTHORIZATION, credentials.clone());
        }
        let (mut parts, body) = self.client.request(request).await?.into_parts();
        let heads = parts.extensions.remove::<RawHeads>();
        let told = parts.extensions.remove::<ReasonPhrase>();
        let head = heads.zip(told).and_then(|(heads, told)| heads.take(told.as_bytes()));
        Ok((hyper::Response::from_parts(parts, Body::wrap(body)).into(), head))
    }
}

/// Makes connections.
#[derive(Clone, Debug)]
struct Connector(Client);

impl Service<Uri> for Connector {
    type Response = Tap;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Tap, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, origin: Uri) -> Self::Future {
        note_connect();
        let client = self.0.clone();
        Box::pin(async move {
            let request = Request::new(Method::GET, Url::parse(&origin.to_string())?);
            let place = Place::default();
            let result = PLACE.scope(place.clone(), client.execute(request)).await;
            let taken = place.lock().unwrap_or_else(PoisonError::into_inner).take();
            match (taken, result) {
                (Some(wire), _) => Ok(Tap::new(wire)),
                (None, Err(error)) => Err(error.into()),
                (None, Ok(_)) => Err(TakenError.into()),
            }
        })
    }
}

/// Takes connections away from the client that makes them, so that it sends nothing.
#[derive(Clone, Copy, Debug)]
pub struct TakingLayer;

/// See [`TakingLayer`].
#[derive(Clone, Copy, Debug)]
pub struct TakingService<S>(S);

/// The error of the client that makes a connection, instead of it.
#[derive(Debug, thiserror::Error)]
#[error("the connection was taken")]
struct TakenError;

impl<S> Layer<S> for TakingLayer {
    type Service = TakingService<S>;

    fn layer(&self, connector: S) -> TakingService<S> {
        TakingService(connector)
    }
}

impl<S, R> Service<R> for TakingService<S>
where
    S: Service<R, Error = BoxError>,
    S::Response: Wire + 'static,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let connecting = self.0.call(request);
        Box::pin(async move {
            let wire = connecting.await?;
            let put = |place: &Place| {
                *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(wire));
            };
            PLACE.try_with(put)?;
            Err(TakenError.into())
        })
    }
}

//! Origins that are asked over HTTP/1.1, on connections of their own.
//!
//! A server may demand HTTP/1.1 for a request, which it has not processed then (RFC 9113 §7), or say that the connection is
//! not one for the host (421, RFC 9110 §15.5.20). Browsers ask again, and so does the caller: one answer of a kind moves the
//! origin here, until the process ends. So does an answer that is no sound HTTP/2, such as one with a field `Connection`:
//! browsers overlook more of them than hyper, and such fields mean no harm in HTTP/1.1.

use super::sources;
use crate::net::client::NetworkError;
use recrawl_types::Origin;
use std::collections::HashSet;
use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Origins that are remembered. Then all are forgotten, and each costs one more request.
const MAX_ORIGINS: usize = 10_000;

/// See the module documentation.
#[derive(Clone, Debug, Default)]
pub struct Http1Origins(Arc<Mutex<HashSet<Origin>>>);

impl Http1Origins {
    pub fn has(&self, origin: &Origin) -> bool {
        self.all().contains(origin)
    }

    pub fn add(&self, origin: Origin) {
        let mut all = self.all();
        if all.len() >= MAX_ORIGINS {
            all.clear();
        }
        all.insert(origin);
    }

    fn all(&self) -> MutexGuard<'_, HashSet<Origin>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end of a request with this error before its answer, if the server demands HTTP/1.1 for it, or speaks no
/// sound HTTP/2. Of the latter it may have been processed.
pub fn requires_http1(error: &(dyn Error + 'static)) -> Option<NetworkError> {
    use h2::Reason;
    let causes = sources(error).filter_map(|cause| cause.downcast_ref::<h2::Error>());
    causes.filter_map(h2::Error::reason).find_map(|reason| match reason {
        Reason::HTTP_1_1_REQUIRED => Some(NetworkError::NotProcessed),
        Reason::PROTOCOL_ERROR | Reason::FRAME_SIZE_ERROR => Some(NetworkError::Unsound),
        _ => None,
    })
}

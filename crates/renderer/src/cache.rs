//! Scripts that pages of an origin share, kept across pages up to a number of bytes.
//!
//! Only scripts: data is what a page shows, and an old answer would hide a change. A script is kept until the cache is
//! cleared, or for less if its server says so. A request that is under way is not made twice.

use crate::clock::WaitingRequest;
use crate::resources::{Ask, Resource, ResourceAnswer, ResourceKind, ResourceSource};
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes that an entry counts beside its body.
const OVERHEAD: usize = 1 << 10;

/// What tells answers apart. No origin shares with another: whether an answer is kept would tell a page what pages of
/// others load, and servers answer by `Origin`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CacheKey {
    /// The origin of the page.
    page: String,
    url: String,
    /// May credentials have gone with the request?
    is_own: bool,
    /// The field `Origin` of the request.
    origin: Option<String>,
}

/// The kept scripts.
#[derive(Debug, Default)]
pub struct Cache {
    /// Most bytes kept; 0 keeps nothing.
    limit: usize,
    kept: Mutex<StoredAnswer>,
    /// Requests that are under way, by their key.
    asking: Mutex<HashMap<CacheKey, Arc<tokio::sync::Mutex<()>>>>,
}

#[derive(Debug, Default)]
struct StoredAnswer {
    entries: HashMap<CacheKey, CacheEntry>,
    bytes: usize,
    uses: u64,
}

#[derive(Debug)]
struct CacheEntry {
    resource: Arc<Resource>,
    until: Option<Instant>,
    used: u64,
}

impl Cache {
    pub fn new(limit: usize) -> Cache {
        Cache { limit, ..Cache::default() }
    }

    /// Forgets all scripts.
    pub fn clear(&self) {
        *lock(&self.kept) = StoredAnswer::default();
    }

    /// Answers a page of this origin from the cache or from the source. The flag says that it came from the cache.
    pub async fn get(
        &self,
        page: &str,
        ask: &Ask,
        source: &dyn ResourceSource,
        waiting: WaitingRequest,
    ) -> (ResourceAnswer, bool) {
        if ask.kind != ResourceKind::Script || self.limit == 0 {
            return (source.get(ask, waiting).await, false);
        }
        let (page, url, origin) = (page.to_owned(), ask.url.clone(), ask.field("origin").map(str::to_owned));
        let key = CacheKey { page, url, is_own: ask.is_own, origin };
        if let Some(kept) = lock(&self.kept).find(&key) {
            return (ResourceAnswer::Response(kept), true);
        }
        let turn = lock(&self.asking).entry(key.clone()).or_default().clone();
        let _asking = Asking { cache: self, key: &key };
        let _turn = turn.lock().await;
        if let Some(kept) = lock(&self.kept).find(&key) {
            return (ResourceAnswer::Response(kept), true);
        }
        let answer = source.get(ask, waiting).await;
        if let ResourceAnswer::Response(resource) = &answer {
            lock(&self.kept).keep(&key, resource, self.limit);
        }
        (answer, false)
    }
}

/// A request under way, also if its page gives up.
struct Asking<'c> {
    cache: &'c Cache,
    key: &'c CacheKey,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let mut asking = lock(&self.cache.asking);
        // Held by the table and by this request alone.
        if asking.get(self.key).is_some_and(|turn| Arc::strong_count(turn) <= 2) {
            asking.remove(self.key);
        }
    }
}

impl StoredAnswer {
    fn find(&mut self, key: &CacheKey) -> Option<Arc<Resource>> {
        self.uses += 1;
        let entry = self.entries.get_mut(key)?;
        entry.used = self.uses;
        if entry.until.is_some_and(|until| until <= Instant::now()) {
            self.remove(key);
            return None;
        }
        Some(entry.resource.clone())
    }

    fn remove(&mut self, key: &CacheKey) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= entry.resource.body.len() + OVERHEAD;
        }
    }

    fn keep(&mut self, key: &CacheKey, resource: &Arc<Resource>, limit: usize) {
        let size = resource.body.len() + OVERHEAD;
        let Some(lifetime) = lifetime(resource).filter(|_| resource.status == 200 && size <= limit) else {
            return;
        };
        self.remove(key);
        while self.bytes + size > limit {
            // The table is small: scripts that sites share.
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
            self.remove(&oldest.expect("the bytes are those of entries"));
        }
        let until = lifetime.map(|lifetime| Instant::now() + lifetime);
        self.bytes += size;
        // A copy, because the body may hold a share of the memory that all bodies under way have.
        let body = Bytes::copy_from_slice(&resource.body);
        let resource = Arc::new(Resource { body, ..Resource::clone(resource) });
        self.entries.insert(key.clone(), CacheEntry { resource, until, used: self.uses });
    }
}

/// How long a script may be kept: none if not at all, an inner none until the cache is cleared.
fn lifetime(resource: &Resource) -> Option<Option<Duration>> {
    let Some(control) = resource.header("cache-control") else { return Some(None) };
    let control = control.to_ascii_lowercase();
    let directives = || control.split(',').map(str::trim);
    if directives().any(|d| matches!(d, "no-store" | "no-cache") || d.starts_with("no-cache=")) {
        return None;
    }
    let age = directives().find_map(|d| d.strip_prefix("max-age=")?.trim_matches('"').parse::<u64>().ok());
    match age {
        Some(0) => None,
        // A year at most, so that the sum is a time.
        Some(seconds) => Some(Some(Duration::from_secs(seconds.min(365 * 86_400)))),
        None => Some(None),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::PageClock;
    use crate::resources::AnswerFuture;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const PAGE: &str = "http://a.test";

    /// Answers after a moment, and counts.
    #[derive(Default)]
    struct CountingSource {
        asked: AtomicUsize,
        control: Option<&'static str>,
        bytes: usize,
    }

    impl ResourceSource for CountingSource {
        fn get<'a>(&'a self, _ask: &'a Ask, _waiting: WaitingRequest) -> AnswerFuture<'a> {
            Box::pin(async {
                self.asked.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(1)).await;
                let headers = self.control.map(|value| ("cache-control".to_owned(), value.to_owned()));
                let body = vec![b'x'; self.bytes].into();
                ResourceAnswer::Response(Arc::new(Resource {
                    status: 200,
                    headers: headers.into_iter().collect(),
                    body,
                }))
            })
        }
    }

    fn ask(url: &str, kind: ResourceKind, is_own: bool) -> Ask {
        Ask { url: url.into(), kind, is_own, body_time: None, fields: Vec::new() }
    }

    fn waiting() -> WaitingRequest {
        PageClock::start().wait()
    }

    #[tokio::test(start_paused = true)]
    async fn scripts_are_asked_for_once_and_data_each_time() {
        let (cache, source) = (Cache::new(1 << 20), CountingSource::default());
        let script = ask("http://a.test/x.js", ResourceKind::Script, false);
        let (first, second) = tokio::join!(
            cache.get(PAGE, &script, &source, waiting()),
            cache.get(PAGE, &script, &source, waiting())
        );
        assert_eq!((first.1, second.1, source.asked.load(Ordering::Relaxed)), (false, true, 1));
        assert!(cache.asking.lock().unwrap().is_empty());
        let own = ask("http://a.test/x.js", ResourceKind::Script, true);
        assert!(
            !cache.get(PAGE, &own, &source, waiting()).await.1,
            "an answer to credentials is not for others"
        );
        let data = ask("http://a.test/x.js", ResourceKind::Data, false);
        assert!(
            !cache.get(PAGE, &data, &source, waiting()).await.1
                && !cache.get(PAGE, &data, &source, waiting()).await.1
        );
        assert_eq!(source.asked.load(Ordering::Relaxed), 4);
        // A page that gives up leaves nothing behind.
        cache.clear();
        let given_up =
            tokio::time::timeout(Duration::ZERO, cache.get(PAGE, &script, &source, waiting())).await;
        assert!(given_up.is_err() && cache.asking.lock().unwrap().is_empty());
        assert!(!cache.get(PAGE, &script, &source, waiting()).await.1);
    }

    #[tokio::test]
    async fn nothing_is_shared_between_origins() {
        let (cache, source) = (Cache::new(1 << 20), CountingSource::default());
        let plain = ask("http://b.test/x.js", ResourceKind::Script, false);
        let checked = |origin: &str| Ask { fields: vec![("origin", origin.to_owned())], ..plain.clone() };
        let asks = [
            ("http://a.test", plain.clone()),
            ("http://c.test", plain.clone()),
            ("https://a.test", plain.clone()),
            ("http://a.test:81", plain.clone()),
            ("http://a.test", checked("http://a.test")),
            ("http://a.test", checked("null")),
        ];
        for (page, ask) in &asks {
            assert!(!cache.get(page, ask, &source, waiting()).await.1, "{page} {ask:?}");
        }
        for (page, ask) in &asks {
            assert!(cache.get(page, ask, &source, waiting()).await.1, "{page} {ask:?}");
        }
    }

    #[tokio::test]
    async fn the_bytes_are_bounded_and_servers_are_obeyed() {
        let (cache, source) =
            (Cache::new(10 * OVERHEAD), CountingSource { bytes: OVERHEAD, ..CountingSource::default() });
        for i in 0..100 {
            cache
                .get(
                    PAGE,
                    &ask(&format!("http://a.test/{i}"), ResourceKind::Script, false),
                    &source,
                    waiting(),
                )
                .await;
        }
        let (entries, bytes) = {
            let kept = cache.kept.lock().unwrap();
            (kept.entries.len(), kept.bytes)
        };
        assert_eq!((entries, bytes), (5, 10 * OVERHEAD));
        for control in ["no-store", "private, No-Cache", "max-age=0"] {
            let cache = Cache::new(1 << 20);
            let source = CountingSource { control: Some(control), ..CountingSource::default() };
            let script = ask("http://a.test/x.js", ResourceKind::Script, false);
            cache.get(PAGE, &script, &source, waiting()).await;
            assert!(!cache.get(PAGE, &script, &source, waiting()).await.1, "{control}");
        }
    }
}

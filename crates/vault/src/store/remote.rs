//! Objects in S3, Google Cloud Storage or Azure Blob Storage, and in what speaks like them, by Apache's `object_store`.
//! Credentials come from the environment or the machine's role, as each service's own tools read them.

use super::{Listed, Store, StoreError};
use crate::error::VaultError;
use futures_util::TryStreamExt;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{ClientOptions, Error, ObjectStore, ObjectStoreExt, PutMode, RetryConfig, UpdateVersion};
use std::time::Duration;
use tokio::runtime::Runtime;
use url::Url;

/// Time for a request: 8 MiB on a slow line.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Time to connect.
const CONNECT: Duration = Duration::from_secs(10);
/// Tries of a request that the store answers by an error of its own. The vault tries again itself.
const RETRIES: usize = 3;
/// Time for all of them.
const RETRY: Duration = Duration::from_secs(30);

/// Objects under a prefix of a bucket.
#[derive(Debug)]
pub struct RemoteStore {
    store: Box<dyn ObjectStore>,
    prefix: String,
    shown: String,
    runtime: Runtime,
}

impl RemoteStore {
    /// The bucket of this address. Nothing is asked of it.
    ///
    /// # Errors
    /// [`VaultError::Refused`] if settings of the environment contradict each other, or are missing.
    pub fn open(url: &Url, prefix: &str) -> Result<RemoteStore, VaultError> {
        // The client would write it in another way, and a list would find nothing below it.
        if Path::from(prefix).as_ref() != prefix {
            return Err(VaultError::Refused(format!(
                "the prefix {prefix:?} has signs that stores write differently; use letters, digits, -, _, . and /"
            )));
        }
        // One for the process, which others may have chosen already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let options = ClientOptions::new().with_timeout(TIMEOUT).with_connect_timeout(CONNECT);
        let retry = RetryConfig { max_retries: RETRIES, retry_timeout: RETRY, ..RetryConfig::default() };
        let bucket = url.host_str().unwrap_or_default();
        let opened: Result<Box<dyn ObjectStore>, Error> = match url.scheme() {
            "s3" => {
                let builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
                let endpoint = builder.get_config_value(&AmazonS3ConfigKey::Endpoint);
                // Who names an endpoint without TLS means it.
                let is_plain = endpoint.is_some_and(|endpoint| endpoint.starts_with("http://"));
                let options = options.with_allow_http(is_plain);
                builder
                    .with_client_options(options)
                    .with_retry(retry)
                    .build()
                    .map(|store| Box::new(store) as _)
            }
            "gs" => GoogleCloudStorageBuilder::from_env()
                .with_bucket_name(bucket)
                .with_client_options(options)
                .with_retry(retry)
                .build()
                .map(|store| Box::new(store) as _),
            _ => MicrosoftAzureBuilder::from_env()
                .with_container_name(bucket)
                .with_client_options(options)
                .with_retry(retry)
                .build()
                .map(|store| Box::new(store) as _),
        };
        let shown = url.as_str().trim_end_matches('/').to_owned();
        let store = opened.map_err(|e| VaultError::Refused(format!("{shown}: {}", causes(&e))))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("vault-requests")
            .enable_all()
            .build()
            .map_err(|e| VaultError::Away(format!("cannot start a thread that asks the vault: {e}")))?;
        Ok(RemoteStore { store, prefix: prefix.to_owned(), shown, runtime })
    }

    fn path(&self, key: &str) -> Path {
        Path::from(format!("{}/{key}", self.prefix))
    }

    fn told(&self, key: &str) -> impl Fn(Error) -> StoreError {
        let object = self.locate(key);
        move |error| match &error {
            Error::AlreadyExists { .. } | Error::Precondition { .. } => StoreError::Exists(object.clone()),
            Error::NotFound { .. } => StoreError::Absent(object.clone()),
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => StoreError::Refused(format!(
                "{object}: the store refuses these credentials: {}",
                causes(&error)
            )),
            Error::NotImplemented { .. } | Error::NotSupported { .. } => {
                StoreError::Refused(format!("{object}: the store cannot do this: {}", causes(&error)))
            }
            _ => StoreError::Failed(format!("{object}: {}", causes(&error))),
        }
    }
}

/// An error with its causes, each once: an outer one often repeats those inside.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let words = inner.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        cause = inner.source();
    }
    text
}

impl Store for RemoteStore {
    fn create(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let payload = bytes::Bytes::copy_from_slice(bytes).into();
        let path = self.path(key);
        let put = self.store.put_opts(&path, payload, PutMode::Create.into());
        self.runtime.block_on(put).map(drop).map_err(self.told(key)).map_err(|error| match error {
            // There is nothing else that could be missing.
            StoreError::Absent(object) => StoreError::Refused(format!("{object}: there is no such bucket")),
            other => other,
        })
    }

    fn read(&self, key: &str, most: u64) -> Result<Vec<u8>, StoreError> {
        let path = self.path(key);
        let get = async {
            let found = self.store.get(&path).await?;
            let bytes = found.meta.size;
            Ok(if bytes > most { Err(bytes) } else { Ok(found.bytes().await?) })
        };
        match self.runtime.block_on(get).map_err(self.told(key))? {
            Ok(object) => Ok(object.into()),
            Err(bytes) => Err(StoreError::TooLong { object: self.locate(key), bytes }),
        }
    }

    fn read_range(&self, key: &str, at: u64, bytes: u64) -> Result<Vec<u8>, StoreError> {
        let path = self.path(key);
        let get = self.store.get_range(&path, at..at.saturating_add(bytes));
        self.runtime.block_on(get).map(Vec::from).map_err(self.told(key))
    }

    fn replace(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let payload = bytes::Bytes::copy_from_slice(bytes).into();
        let path = self.path(key);
        let put = self.store.put_opts(&path, payload, PutMode::Overwrite.into());
        self.runtime.block_on(put).map(drop).map_err(self.told(key))
    }

    fn exchange(&self, key: &str, before: &[u8], bytes: &[u8]) -> Result<(), StoreError> {
        let (path, payload) = (self.path(key), bytes::Bytes::copy_from_slice(bytes).into());
        let put = async {
            let found = self.store.get(&path).await?;
            let version =
                UpdateVersion { e_tag: found.meta.e_tag.clone(), version: found.meta.version.clone() };
            if found.bytes().await? != before {
                return Ok(false);
            }
            self.store.put_opts(&path, payload, PutMode::Update(version).into()).await.map(|_| true)
        };
        match self.runtime.block_on(put).map_err(self.told(key))? {
            true => Ok(()),
            false => Err(StoreError::Exists(self.locate(key))),
        }
    }

    fn list(&self, folder: &str) -> Result<Vec<Listed>, StoreError> {
        let prefix = self.path(folder);
        let list = self.store.list(Some(&prefix)).try_collect::<Vec<_>>();
        let found = self.runtime.block_on(list).map_err(self.told(folder))?;
        let listed = found.into_iter().filter_map(|object| {
            let key = object.location.as_ref().strip_prefix(&self.prefix)?.trim_start_matches('/').to_owned();
            let created = object.last_modified.timestamp_millis().max(0) as u64;
            Some(Listed { key, bytes: object.size, created })
        });
        Ok(listed.collect())
    }

    fn created(&self, key: &str) -> Result<u64, StoreError> {
        let found = self.runtime.block_on(self.store.head(&self.path(key))).map_err(self.told(key))?;
        Ok(found.last_modified.timestamp_millis().max(0) as u64)
    }

    fn remove(&self, key: &str) -> Result<(), StoreError> {
        match self.runtime.block_on(self.store.delete(&self.path(key))).map_err(self.told(key)) {
            Err(StoreError::Absent(_)) => Ok(()),
            removed => removed,
        }
    }

    fn locate(&self, key: &str) -> String {
        if key.is_empty() { self.shown.clone() } else { format!("{}/{key}", self.shown) }
    }
}

//! Names and secrets of callbacks, and the signatures of hubs. All derive from one random key, so that they
//! survive restarts.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use recrawl_types::CanonicalUrl;
use ring::hmac;

/// Bytes of the random key.
pub const KEY_BYTES: usize = 32;
/// Bytes of a callback's name.
const ID_BYTES: usize = 16;

/// The key of a crawl.
pub struct MasterKey(hmac::Key);

impl MasterKey {
    pub fn new(bytes: &[u8; KEY_BYTES]) -> MasterKey {
        MasterKey(hmac::Key::new(hmac::HMAC_SHA256, bytes))
    }

    /// The name of the callback of a subscription, which nobody can guess.
    pub fn id(&self, feed: &CanonicalUrl, hub: &CanonicalUrl, topic: &str) -> String {
        let text = format!("id {feed} {hub} {topic}");
        HEXLOWER.encode(&hmac::sign(&self.0, text.as_bytes()).as_ref()[..ID_BYTES])
    }

    /// The secret with which the hub signs what it sends to this callback.
    pub fn secret(&self, id: &str) -> String {
        HEXLOWER.encode(hmac::sign(&self.0, format!("secret {id}").as_bytes()).as_ref())
    }
}

/// Is the signature, as in `X-Hub-Signature` (WebSub §8), of this body and secret? Takes the same time
/// whatever the signature is.
pub fn is_signed(secret: &str, signature: &str, body: &[u8]) -> bool {
    let Some((method, tag)) = signature.trim().split_once('=') else { return false };
    let algorithm = match method.to_ascii_lowercase().as_str() {
        "sha1" => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
        "sha256" => hmac::HMAC_SHA256,
        "sha384" => hmac::HMAC_SHA384,
        "sha512" => hmac::HMAC_SHA512,
        _ => return false,
    };
    let Ok(tag) = HEXLOWER_PERMISSIVE.decode(tag.as_bytes()) else { return false };
    hmac::verify(&hmac::Key::new(algorithm, secret.as_bytes()), body, &tag).is_ok()
}

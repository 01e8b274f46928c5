//! Signatures of webhooks, by the specification of standard-webhooks (version 1, symmetric).

use data_encoding::BASE64;
use ring::hmac;

/// Prefix of a secret.
const PREFIX: &str = "whsec_";
/// Bytes of a key, by the specification.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// A key that signs messages.
#[derive(Clone)]
pub struct SigningKey(hmac::Key);

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningKey")
    }
}

impl SigningKey {
    /// From a secret: `whsec_` and 24 to 64 bytes in Base64.
    ///
    /// # Errors
    /// What is wrong with it; the text has nothing of the secret.
    pub fn parse(secret: &str) -> Result<SigningKey, String> {
        let coded = secret.trim().strip_prefix(PREFIX);
        let key = coded.and_then(|coded| BASE64.decode(coded.as_bytes()).ok());
        match key.filter(|key| KEY_BYTES.contains(&key.len())) {
            Some(key) => Ok(SigningKey(hmac::Key::new(hmac::HMAC_SHA256, &key))),
            None => Err(format!(
                "not a secret of standard-webhooks: write {PREFIX} and 24 to 64 random bytes in Base64, as \
                 `echo {PREFIX}$(openssl rand -base64 32)` gives them"
            )),
        }
    }

    /// The signature of a message: `v1,` and HMAC-SHA256 in Base64. `seconds`: when it is sent, since 1970.
    pub fn sign(&self, id: &str, seconds: u64, body: &[u8]) -> String {
        let mut context = hmac::Context::with_key(&self.0);
        context.update(format!("{id}.{seconds}.").as_bytes());
        context.update(body);
        format!("v1,{}", BASE64.encode(context.sign().as_ref()))
    }
}

/// The header field of all keys. During the change of a secret, the old and the new one sign.
pub fn signatures(keys: &[SigningKey], id: &str, seconds: u64, body: &[u8]) -> String {
    keys.iter().map(|key| key.sign(id, seconds, body)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the reference libraries of standard-webhooks.
    #[test]
    fn the_published_example_is_signed_alike() {
        let key = SigningKey::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature = key.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        let both = signatures(&[key.clone(), key], "a", 1, b"");
        assert_eq!(both.split(' ').count(), 2);
    }

    #[test]
    fn what_is_no_secret_is_refused_without_a_word_of_it() {
        for secret in
            ["", "geheim", "whsec_", "whsec_geheim!", "whsec_Z2VoZWlt", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]
        {
            let error = SigningKey::parse(secret).unwrap_err();
            assert!(secret.is_empty() || secret == PREFIX || !error.contains(secret), "{error}");
        }
    }
}

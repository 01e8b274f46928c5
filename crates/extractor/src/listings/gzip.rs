//! Unpacks gzipped sitemaps under a limit.

use flate2::read::MultiGzDecoder;
use recrawl_types::Size;
use std::borrow::Cow;
use std::io::Read;

/// Whether the body begins like a gzip member (RFC 1952 §2.3.1).
pub(super) fn is_gzip(body: &[u8]) -> bool {
    body.starts_with(&[0x1f, 0x8b, 0x08])
}

/// At most `limit` unpacked bytes and, if that is not everything, the reason. Servers pack files once more that are packed
/// already.
pub(super) fn unpack(body: &[u8], limit: usize) -> (Cow<'_, [u8]>, Option<String>) {
    let (bytes, cut) = unpack_once(body, limit);
    if !is_gzip(&bytes) {
        return (Cow::Owned(bytes), cut);
    }
    let (bytes, inner) = unpack_once(&bytes, limit);
    (Cow::Owned(bytes), cut.or(inner))
}

fn unpack_once(body: &[u8], limit: usize) -> (Vec<u8>, Option<String>) {
    let mut bytes = Vec::new();
    let mut decoder = MultiGzDecoder::new(body);
    let outcome = decoder.by_ref().take(limit as u64).read_to_end(&mut bytes);
    let cut = match outcome {
        Err(_) => Some(format!("the gzip data end early after {}", Size(bytes.len() as u64).rounded())),
        Ok(_) if bytes.len() == limit && !matches!(decoder.read(&mut [0]), Ok(0)) => {
            Some(format!("larger than the limit of {} when unpacked", Size(limit as u64)))
        }
        Ok(_) => None,
    };
    (bytes, cut)
}

//! Validates the host part of a key that was read from disk.

use super::LABEL;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Can this be the host part of a URL's key? If so, the URL of the key parses. Handwritten because
/// it runs for every page that is read; only Punycode names, whose rules are long, go to the
/// parser.
pub fn is_sound(host: &[u8]) -> bool {
    is_plain_name(host) || is_sound_in_full(host)
}

/// Is it a name of lower-case letters, digits and hyphens that is neither an address nor Punycode?
/// True for nearly every host, and found in one pass.
fn is_plain_name(host: &[u8]) -> bool {
    let (mut is_at_start, mut is_punycode) = (true, false);
    for (at, &byte) in host.iter().enumerate() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' => {
                is_punycode |= is_at_start && host[at..].starts_with(b"xn--");
                is_at_start = false;
            }
            LABEL if !is_at_start => is_at_start = true,
            _ => return false,
        }
    }
    !is_at_start && !is_punycode && !host[0].is_ascii_digit()
}

fn is_sound_in_full(host: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(host) else { return false };
    if let Some(address) = text.strip_prefix('[') {
        return address.strip_suffix(']').is_some_and(|a| !a.contains('.') && a.parse::<Ipv6Addr>().is_ok());
    }
    let mut labels = host.split(|&b| b == LABEL);
    let last = labels.next().unwrap_or_default();
    // A name whose last label is a number would be parsed as an address.
    if last.first().is_some_and(u8::is_ascii_digit) && (last.contains(&b'.') || is_number(last)) {
        return text.parse::<Ipv4Addr>().is_ok();
    }
    let is_label = |label: &[u8]| !label.is_empty() && label.iter().all(|&b| may_be_in_a_name(b));
    let punycode = |label: &[u8]| label.starts_with(b"xn--");
    std::iter::once(last).chain(labels).all(is_label)
        && (!host.split(|&b| b == LABEL).any(punycode) || names_the_same(text))
}

/// Printable, lower case, no separator and no forbidden domain code point (URL Standard §3.1).
fn may_be_in_a_name(byte: u8) -> bool {
    (0x21..0x7f).contains(&byte) && !byte.is_ascii_uppercase() && !b"#%./:<>?@[\\]^|".contains(&byte)
}

/// "Ends in a number" of the URL Standard (§3.5): decimal digits, or 0x and hexadecimal ones.
fn is_number(label: &[u8]) -> bool {
    let hexadecimal = label.strip_prefix(b"0x").is_some_and(|rest| rest.iter().all(u8::is_ascii_hexdigit));
    hexadecimal || label.iter().all(u8::is_ascii_digit)
}

/// Does the parser return the same name?
fn names_the_same(key: &str) -> bool {
    let name = key.rsplit(char::from(LABEL)).collect::<Vec<_>>().join(".");
    matches!(url::Host::parse(&name), Ok(url::Host::Domain(parsed)) if parsed == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_plain_name_is_a_sound_host(host in "(xn--|0x)?[a-c0-1.\u{1}\\[-]{0,8}") {
            prop_assert!(!is_plain_name(host.as_bytes()) || is_sound_in_full(host.as_bytes()));
        }
    }

    #[test]
    fn nearly_every_host_is_a_plain_name() {
        for host in ["com\u{1}example", "localhost", "uk\u{1}co\u{1}site-2\u{1}www"] {
            assert!(is_plain_name(host.as_bytes()), "{host:?}");
        }
        for host in
            ["", "127.0.0.1", "[::1]", "com\u{1}", "\u{1}com", "com\u{1}\u{1}a", "com\u{1}xn--bcher-kva", "9"]
        {
            assert!(!is_plain_name(host.as_bytes()), "{host:?}");
        }
    }
}

//! A message of the browser, read as tolerantly as it is written.
//!
//! Strings of scripts are UTF-16 and may hold half a surrogate pair. The browser writes it as `\ud83d`, which is JSON but
//! no text; it becomes U+FFFD, as in a form or a file that the browser itself writes. A message that cannot be read at
//! all still has an addressee, who must hear of it: nobody waits for an answer that was dropped.

use crate::pipe::CallError;
use serde_json::Value;

/// Bytes of the beginning and of the end of a message that name its addressee.
pub const ENDS: usize = 256;

/// A message by its addressee.
#[derive(Debug, PartialEq)]
pub enum BrowserMessage {
    /// The answer to a call.
    Answer { id: u64, answer: Result<Value, CallError> },
    /// An event of a session: its method and parameters.
    Event { session: String, event: Result<(String, Value), CallError> },
    /// An event of the browser itself, to which nobody listens.
    Other,
}

/// Reads a message; none if nobody can be told what it says.
pub fn read(bytes: &[u8]) -> Option<BrowserMessage> {
    let Some(mut message) = parse(bytes) else { return unreadable(bytes, bytes) };
    if let Some(id) = message["id"].as_u64() {
        let answer = match message.get_mut("result") {
            Some(result) => Ok(result.take()),
            None => {
                tracing::debug!(error = %message["error"], "the browser refused a command");
                Err(CallError::Refused)
            }
        };
        return Some(BrowserMessage::Answer { id, answer });
    }
    // A command that the browser could not read has no number here.
    let method = message["method"].as_str()?.to_owned();
    let Some(session) = message["sessionId"].as_str().map(str::to_owned) else {
        return Some(BrowserMessage::Other);
    };
    Some(BrowserMessage::Event { session, event: Ok((method, message["params"].take())) })
}

/// A message that cannot be read, by its beginning and its end. The browser writes the number of a call first and the
/// session last, and a quotation mark of a page's text is never without a backslash.
pub fn unreadable(head: &[u8], tail: &[u8]) -> Option<BrowserMessage> {
    let number = head.strip_prefix(b"{\"id\":".as_slice()).map(|rest| {
        let digits = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()
    });
    if let Some(number) = number {
        return number.map(|id| BrowserMessage::Answer { id, answer: Err(CallError::Unreadable) });
    }
    if !head.starts_with(b"{\"method\":") {
        return None;
    }
    let tail = String::from_utf8_lossy(&tail[tail.len().saturating_sub(ENDS)..]);
    let session = tail.strip_suffix("\"}").and_then(|rest| rest.rsplit_once(",\"sessionId\":\""));
    Some(match session {
        Some((_, session)) => {
            BrowserMessage::Event { session: session.to_owned(), event: Err(CallError::Unreadable) }
        }
        None => BrowserMessage::Other,
    })
}

fn parse(bytes: &[u8]) -> Option<Value> {
    serde_json::from_slice(bytes).ok().or_else(|| {
        let mut text = String::from_utf8_lossy(bytes).into_owned().into_bytes();
        replace_lone_surrogates(&mut text);
        serde_json::from_slice(&text).ok()
    })
}

/// Puts U+FFFD in place of each escaped surrogate that is no half of a pair.
fn replace_lone_surrogates(json: &mut [u8]) {
    let mut at = 0;
    while let Some(next) = json[at..].iter().position(|byte| *byte == b'\\') {
        at += next;
        at += match (unit(json, at), unit(json, at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                json[at..at + 6].copy_from_slice(b"\\ufffd");
                6
            }
            (Some(_), _) => 6,
            // Another escape: the character behind the backslash begins none.
            (None, _) => 2,
        };
        at = at.min(json.len());
    }
}

/// The UTF-16 unit of the escape `\uXXXX` at a place; none if there is none.
fn unit(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + 6)?.strip_prefix(b"\\u".as_slice())?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(json: &str) -> String {
        let message = format!("{{\"id\":7,\"result\":{{\"value\":\"{json}\"}},\"sessionId\":\"A\"}}");
        match read(message.as_bytes()) {
            Some(BrowserMessage::Answer { id: 7, answer: Ok(value) }) => {
                value["value"].as_str().expect("a string").to_owned()
            }
            other => panic!("{json}: {other:?}"),
        }
    }

    #[test]
    fn half_a_surrogate_pair_becomes_a_replacement_character() {
        for (json, expected) in [
            (r"half \ud83d", "half \u{fffd}"),
            (r"\ude00 first", "\u{fffd} first"),
            (r"\ud83d\ude00 whole", "😀 whole"),
            (r"\uD83D\uDE00\uD83D", "😀\u{fffd}"),
            (r"\ud83d\ud83d\ude00", "\u{fffd}😀"),
            (r"\ude00\ud83d", "\u{fffd}\u{fffd}"),
            (r"\ud83d\u0041", "\u{fffd}A"),
            // A backslash in the text, and no escape behind it.
            (r"\\ud83d \ud83d", "\\ud83d \u{fffd}"),
            (r"\\\ud83d\\", "\\\u{fffd}\\"),
            (r#"\"\ud800\""#, "\"\u{fffd}\""),
            (r"\u0000\n\ud800", "\0\n\u{fffd}"),
            (r"é😀\ud800", "é😀\u{fffd}"),
        ] {
            assert_eq!(text(json), expected, "{json}");
        }
    }

    #[test]
    fn bytes_that_are_no_utf8_are_replaced() {
        let message = b"{\"method\":\"m\",\"params\":[\"a\xed\xa0\xbdb\"],\"sessionId\":\"S\"}";
        let event = Ok(("m".to_owned(), json!(["a\u{fffd}\u{fffd}\u{fffd}b"])));
        assert_eq!(read(message), Some(BrowserMessage::Event { session: "S".into(), event }));
    }

    #[test]
    fn what_cannot_be_read_reaches_whom_it_is_for() {
        let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
        let answer = BrowserMessage::Answer { id: 41, answer: Err(CallError::Unreadable) };
        let event = BrowserMessage::Event { session: "5F".into(), event: Err(CallError::Unreadable) };
        // What a page writes looks like an address, but its quotation marks are escaped.
        let text = r#"{\"id\":9,\"sessionId\":\"6A\"}"#;
        for (bytes, expected) in [
            (format!("{{\"id\":41,\"result\":{deep},\"sessionId\":\"5F\"}}"), Some(answer)),
            (
                format!("{{\"method\":\"m\",\"params\":[{deep},\"{text}\"],\"sessionId\":\"5F\"}}"),
                Some(event),
            ),
            (format!("{{\"method\":\"m\",\"params\":[{deep},\"{text}\"]}}"), Some(BrowserMessage::Other)),
            ("{\"id\":x".into(), None),
            ("{\"id\":99999999999999999999999,\"result\":{}".into(), None),
            ("no JSON".into(), None),
            (String::new(), None),
            ("{\"error\":{\"code\":-32700}}".into(), None),
        ] {
            assert_eq!(read(bytes.as_bytes()), expected, "{bytes}");
        }
    }

    #[test]
    fn an_answer_without_a_result_is_a_refusal() {
        let refused = BrowserMessage::Answer { id: 1, answer: Err(CallError::Refused) };
        assert_eq!(read(b"{\"id\":1,\"error\":{\"message\":\"no\"}}"), Some(refused));
        assert_eq!(
            read(b"{\"method\":\"Target.attachedToTarget\",\"params\":{}}"),
            Some(BrowserMessage::Other)
        );
    }
}

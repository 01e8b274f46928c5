//! Keys that `[[notify]]` and `[[deliver]]` share.

use super::secrets::Secret;
use data_encoding::BASE64;
use recrawl_fetcher::RequestRate;
use std::sync::Arc;

/// Characters of a target's name at most. It is in messages, and the name of a file.
const MAX_NAME: usize = 64;

/// Checks the name of a target in this table.
///
/// # Errors
/// That it is no name for a target.
pub fn check_name(table: &str, name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_plain) {
        true => Ok(()),
        false => {
            Err(format!("{table}.name {name:?}: write a name of at most {MAX_NAME} letters, digits, - and _"))
        }
    }
}

/// The rate of a target, if it has any.
///
/// # Errors
/// That it is no rate.
pub fn rate(text: &str) -> Result<Option<Arc<RequestRate>>, String> {
    match text {
        "" => Ok(None),
        text => RequestRate::parse(text).map(|rate| Some(Arc::new(rate))).map_err(|e| format!("rate: {e}")),
    }
}

/// User and password, if any.
///
/// # Errors
/// That one of them is missing, or the password cannot be read.
pub fn credentials(user: &str, password: &Secret) -> Result<Option<(String, String)>, String> {
    match (user.is_empty(), password.is_empty()) {
        (true, true) => Ok(None),
        (false, false) => {
            let password = password.referred().map_err(|e| format!("password: {e}"))?;
            Ok(Some((user.to_owned(), password)))
        }
        _ => Err("set user and password together".into()),
    }
}

/// `Authorization`, Basic or Bearer, if any.
///
/// # Errors
/// That both are given, or as [`credentials`].
pub fn authorization(user: &str, password: &Secret, bearer: &Secret) -> Result<Option<String>, String> {
    let is_basic = !user.is_empty() || !password.is_empty();
    if is_basic && !bearer.is_empty() {
        return Err("set either user and password or bearer, not both".into());
    }
    if !bearer.is_empty() {
        let token = bearer.referred().map_err(|e| format!("bearer: {e}"))?;
        return match token.bytes().all(|byte| byte.is_ascii_graphic()) {
            true => Ok(Some(format!("Bearer {token}"))),
            false => {
                Err("bearer: a token has no spaces, line breaks or accents; this one cannot be sent".into())
            }
        };
    }
    let Some((user, password)) = credentials(user, password)? else { return Ok(None) };
    // RFC 7617: the first colon ends the user.
    if user.contains(':') {
        return Err("user: it cannot have a colon".into());
    }
    if user.chars().chain(password.chars()).any(char::is_control) {
        return Err("user and password cannot have control characters, such as a line break".into());
    }
    Ok(Some(format!("Basic {}", BASE64.encode(format!("{user}:{password}").as_bytes()))))
}

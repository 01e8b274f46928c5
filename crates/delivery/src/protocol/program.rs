//! A program that gets lines of JSON, as a file does. Its exit code is the answer.

use super::{TargetPlace, TargetProtocol};

/// Reads `deliver.to` of a program: its path and arguments, with spaces between them.
pub(super) fn place(words: &str) -> Result<TargetPlace, String> {
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    match words.first().is_some_and(|program| program.starts_with('/')) {
        true => Ok(TargetPlace {
            address: format!("command:{}", words.join(" ")),
            protocol: TargetProtocol::Program(words),
        }),
        false => Err("name a program by its whole path".into()),
    }
}

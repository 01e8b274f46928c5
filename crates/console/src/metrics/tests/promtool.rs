//! Prometheus' own check of metrics and rules.

use std::io::{self, Write as _};
use std::process::{Command, Stdio};

/// The output of promtool for `input`; none if it is not installed (Debian: package `prometheus`).
pub fn promtool(arguments: &[&str], input: &str) -> Option<String> {
    let command = Command::new("promtool")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match command {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            // Bypasses the capture of test output: a skipped check must be visible.
            let text = format!("promtool {arguments:?} was skipped: install Debian's package prometheus\n");
            io::stderr().write_all(text.as_bytes()).unwrap();
            return None;
        }
        other => other.unwrap(),
    };
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let said = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&[said.stdout, said.stderr].concat()).into_owned();
    assert!(said.status.success(), "promtool {arguments:?}: {text}");
    Some(text)
}

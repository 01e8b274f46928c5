//! How a run of a program ended.

use std::process::Output;

/// Standard output of a run that must have succeeded.
pub fn succeeds(output: Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "exit {:?}: {errors}", output.status.code());
    String::from_utf8(output.stdout).expect("the program speaks UTF-8")
}

/// The one line of a run that must have failed with this code.
pub fn fails(output: Output, code: i32) -> String {
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{errors}");
    let is_of_program = |line: &&str| line.starts_with("recrawl: ") || line.starts_with("recrawl-lab: ");
    let lines: Vec<&str> = errors.lines().filter(is_of_program).collect();
    assert_eq!(lines.len(), 1, "one line says what is wrong: {errors}");
    lines[0].to_owned()
}

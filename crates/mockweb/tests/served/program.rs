//! The program: first line, exit, error messages.

use crate::client::get;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

fn start(arguments: &[&str]) -> (Child, Value) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_recrawl-mockweb"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (child, serde_json::from_str(&line).unwrap())
}

fn kill(child: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

#[test]
fn it_says_where_it_serves_and_ends_when_told_to() {
    for signal in ["-TERM", "-INT"] {
        let (mut child, info) = start(&["replay", "--cycle", "7", "--hosts", "3"]);
        assert_eq!(
            (&info["kind"], &info["cycle"], &info["pages"]),
            (&"replay".into(), &7.into(), &600.into())
        );
        assert_eq!(info["seeds"].as_array().unwrap().len(), 3);
        assert_eq!(get(info["seeds"][2].as_str().unwrap()).status, 200);
        let control = format!("http://127.0.0.1:{}/clock", info["control_port"]);
        assert_eq!(serde_json::from_slice::<Value>(&get(&control).body).unwrap()["cycle"], 7);
        kill(&child, signal);
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn it_ends_with_its_parent_where_asked_to() {
    let (mut child, info) =
        start(&["procedural", "--pages", "30", "--hosts", "2", "--with-parent", "--noise"]);
    assert_eq!(info["pages"], 30);
    assert_eq!(get(info["seeds"][0].as_str().unwrap()).status, 200);
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    for (arguments, code, why) in [
        (&["replay", "/nowhere"][..], 1, "/nowhere/cycles.tsv: "),
        (&["procedural", "--pages", "3", "--hosts", "4"][..], 1, "4 hosts for 3 pages"),
        (&["procedural", "--fault", "/=drought"][..], 2, "use status, busy"),
        (&["procedural", "--mix", "weekly=1"][..], 2, "use static, poisson"),
        (&["procedural", "--drift", "60:0"][..], 2, "use a number above 0"),
        (&["procedural", "--drift", "60"][..], 2, "CYCLE:FACTOR"),
        (&["procedural", "--liveliness", "0.5"][..], 1, "liveliness 0.5: use a number from 1"),
        (&["procedural", "--swap", "60"][..], 2, "--liveliness"),
        (&["cut", "/nowhere", "--out", "/nowhere/out"][..], 1, "/nowhere/cycles.tsv: "),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_recrawl-mockweb")).args(arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(why) && output.stdout.is_empty(), "{said}");
    }
}

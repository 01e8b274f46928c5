//! The Model Context Protocol as a server speaks it over pipes: a JSON-RPC 2.0 message a line.
//!
//! The crate `rmcp` was weighed: 14 more packages and an asynchronous service for four methods.

use serde_json::{Value, json};
use std::io::{self, BufRead, ErrorKind, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Bytes of a message. A longer line is passed over.
pub const MAX_LINE: usize = 1 << 20;
/// Versions of the protocol, the newest first. They differ in nothing that is used here; 2025-03-26, which has batches,
/// is left out.
const VERSIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2024-11-05"];

/// Codes of JSON-RPC.
const NO_JSON: i64 = -32700;
const NO_REQUEST: i64 = -32600;
const NO_METHOD: i64 = -32601;
const NO_PARAMETERS: i64 = -32602;

/// The tools of a server.
pub trait ServedTools {
    /// Their descriptions.
    fn list(&self) -> Value;

    /// The text that a tool gives; none if there is no such tool.
    ///
    /// # Errors
    /// Why it gives none, for the model.
    fn call(&self, name: &str, arguments: Value) -> Option<Result<String, String>>;
}

/// An error of the protocol.
struct RpcError(i64, String);

/// Answers messages until the input ends or nobody reads the answers.
///
/// # Errors
/// When the input cannot be read or the output not be written.
pub fn serve(mut input: impl BufRead, mut output: impl Write, tools: &dyn ServedTools) -> io::Result<()> {
    let (mut line, mut session) = (Vec::new(), McpSession { tools, is_begun: false });
    while let Some(is_whole) = read_line(&mut input, &mut line)? {
        let answer = match (is_whole, std::str::from_utf8(&line)) {
            (true, Ok(text)) if text.trim().is_empty() => None,
            (true, Ok(text)) => session.answer(text),
            (true, Err(_)) => Some(failed(&Value::Null, &RpcError(NO_JSON, "the line is not UTF-8".into()))),
            (false, _) => {
                let why = format!("the line is longer than {MAX_LINE} bytes");
                Some(failed(&Value::Null, &RpcError(NO_REQUEST, why)))
            }
        };
        let Some(answer) = answer else { continue };
        match writeln!(output, "{answer}").and_then(|()| output.flush()) {
            Err(e) if e.kind() == ErrorKind::BrokenPipe => return Ok(()),
            written => written?,
        }
    }
    Ok(())
}

/// Reads a line; false if it is longer than [`MAX_LINE`], none at the end.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<bool>> {
    line.clear();
    let mut is_whole = true;
    loop {
        let part = input.fill_buf()?;
        if part.is_empty() {
            return Ok((!line.is_empty() || !is_whole).then_some(is_whole));
        }
        let end = part.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(part.len());
        is_whole &= line.len() + taken <= MAX_LINE;
        if is_whole {
            line.extend_from_slice(&part[..taken]);
        }
        input.consume(taken + usize::from(end.is_some()));
        if end.is_some() {
            return Ok(Some(is_whole));
        }
    }
}

fn failed(id: &Value, RpcError(code, message): &RpcError) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

struct McpSession<'t> {
    tools: &'t dyn ServedTools,
    is_begun: bool,
}

impl McpSession<'_> {
    /// The answer to a message; none to a notification, or to an answer.
    fn answer(&mut self, text: &str) -> Option<Value> {
        let message: Value = match serde_json::from_str(text) {
            Ok(message) => message,
            Err(e) => return Some(failed(&Value::Null, &RpcError(NO_JSON, format!("no JSON: {e}")))),
        };
        let id = &message["id"];
        let is_request = message["jsonrpc"] == "2.0" && (id.is_string() || id.is_number());
        let Some(method) = message["method"].as_str() else {
            let is_answer = message.get("result").or(message.get("error")).is_some();
            let why = "no message of JSON-RPC 2.0 with a method";
            return (!is_answer).then(|| failed(&Value::Null, &RpcError(NO_REQUEST, why.into())));
        };
        // A notification has none.
        message.get("id")?;
        if !is_request {
            let why = "jsonrpc must be \"2.0\", and id a string or a number";
            return Some(failed(&Value::Null, &RpcError(NO_REQUEST, why.into())));
        }
        Some(match self.result(method, &message["params"]) {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => failed(id, &error),
        })
    }

    fn result(&mut self, method: &str, params: &Value) -> Result<Value, RpcError> {
        match method {
            "ping" => Ok(json!({})),
            "initialize" => {
                let asked = params["protocolVersion"].as_str();
                let asked =
                    asked.ok_or_else(|| RpcError(NO_PARAMETERS, "protocolVersion is missing".into()))?;
                self.is_begun = true;
                Ok(json!({
                    "protocolVersion": VERSIONS.iter().find(|known| **known == asked).unwrap_or(&VERSIONS[0]),
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "recrawl", "version": env!("CARGO_PKG_VERSION")},
                }))
            }
            _ if !self.is_begun => Err(RpcError(NO_REQUEST, format!("{method} before initialize"))),
            "tools/list" => Ok(json!({"tools": self.tools.list()})),
            "tools/call" => {
                let name = params["name"].as_str().unwrap_or_default();
                let arguments = params.get("arguments").cloned().unwrap_or_else(|| json!({}));
                let unknown = || RpcError(NO_PARAMETERS, format!("no tool is named {name:?}"));
                // A page at which its reader panics does not end the session.
                let call = catch_unwind(AssertUnwindSafe(|| self.tools.call(name, arguments)));
                let panicked = |_| Some(Err("internal error; please report it".into()));
                let given = call.unwrap_or_else(panicked).ok_or_else(unknown)?;
                let is_error = given.is_err();
                let text = given.unwrap_or_else(|why| why);
                Ok(json!({"content": [{"type": "text", "text": text}], "isError": is_error}))
            }
            _ => Err(RpcError(NO_METHOD, format!("no method is named {method:?}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Echo;

    impl ServedTools for Echo {
        fn list(&self) -> Value {
            json!([{"name": "echo"}])
        }

        fn call(&self, name: &str, arguments: Value) -> Option<Result<String, String>> {
            let text = arguments["text"].as_str().map(str::to_owned);
            (name == "echo").then(|| text.ok_or_else(|| "text is missing".into()))
        }
    }

    fn answers(input: &[u8]) -> Vec<Value> {
        let mut output = Vec::new();
        // A small buffer: a line comes in many parts.
        serve(io::BufReader::with_capacity(16, input), &mut output, &Echo).unwrap();
        String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    const INITIALIZE: &str =
        r#"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2024-11-05"}}"#;

    #[test]
    fn a_session_lists_and_calls_tools() {
        let call = |id: u8, params: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
        };
        let lines = [
            r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#.to_owned(),
            INITIALIZE.to_owned(),
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_owned(),
            call(2, r#"{"name":"echo","arguments":{"text":"ä\n"}}"#),
            call(3, r#"{"name":"echo"}"#),
        ];
        let found = answers(lines.join("\n").as_bytes());
        let results: Vec<&Value> = found.iter().map(|answer| &answer["result"]).collect();
        assert_eq!(results[0], &json!({}));
        assert_eq!((&found[1]["id"], &results[1]["protocolVersion"]), (&json!("a"), &json!("2024-11-05")));
        assert_eq!(results[2]["tools"][0]["name"], "echo");
        assert_eq!(results[3], &json!({"content": [{"type": "text", "text": "ä\n"}], "isError": false}));
        assert_eq!(
            (&results[4]["isError"], &results[4]["content"][0]["text"]),
            (&json!(true), &json!("text is missing"))
        );
        assert_eq!(found.len(), 5);
        let other = INITIALIZE.replace("2024-11-05", "1999-01-01");
        assert_eq!(answers(other.as_bytes())[0]["result"]["protocolVersion"], VERSIONS[0]);
    }

    #[test]
    fn what_is_no_request_gets_an_error_and_the_session_goes_on() {
        let deep = "[".repeat(100_000);
        let mut long = vec![b'x'; MAX_LINE + 1];
        long.extend_from_slice(b"\n");
        let cases: [(&[u8], i64, Value); 10] = [
            (b"{", NO_JSON, Value::Null),
            (deep.as_bytes(), NO_JSON, Value::Null),
            (b"\xff", NO_JSON, Value::Null),
            (&long, NO_REQUEST, Value::Null),
            (b"[]", NO_REQUEST, Value::Null),
            (br#"{"id":1,"method":"ping"}"#, NO_REQUEST, Value::Null),
            (br#"{"jsonrpc":"2.0","id":[],"method":"ping"}"#, NO_REQUEST, Value::Null),
            (br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, NO_REQUEST, json!(1)),
            (br#"{"jsonrpc":"2.0","id":2,"method":"initialize"}"#, NO_PARAMETERS, json!(2)),
            (br#"{"jsonrpc":"2.0","id":3,"method":"tools/call"}"#, NO_REQUEST, json!(3)),
        ];
        for (line, code, id) in &cases {
            let input = [line, INITIALIZE.as_bytes()].join(&b'\n');
            let found = answers(&input);
            assert_eq!(
                (&found[0]["error"]["code"], &found[0]["id"]),
                (&json!(code), id),
                "{:.60}",
                String::from_utf8_lossy(line)
            );
            assert_eq!(found[1]["result"]["serverInfo"]["name"], "recrawl");
        }
        for (line, code) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"resources/list"}"#, NO_METHOD),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}"#, NO_PARAMETERS),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}"#, NO_PARAMETERS),
        ] {
            assert_eq!(
                answers(format!("{INITIALIZE}\n{line}").as_bytes())[1]["error"]["code"],
                code,
                "{line}"
            );
        }
        // Neither notifications nor answers are answered.
        assert_eq!(
            answers(
                b"\n{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"
            ),
            [] as [Value; 0]
        );
    }
}

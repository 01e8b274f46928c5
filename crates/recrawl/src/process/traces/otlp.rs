//! Spans in the JSON encoding of OTLP (opentelemetry-proto, trace/v1): ids in hexadecimal, 64-bit
//! numbers as text.

use serde_json::{Value, json};

/// Id shared by the spans of a run of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceId(pub u128);

/// Id of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanId(pub u64);

/// A span; `ended` is 0 until it has ended.
#[derive(Debug)]
pub struct Finished {
    pub trace: TraceId,
    pub span: SpanId,
    pub parent: Option<SpanId>,
    pub name: &'static str,
    pub attributes: Vec<(&'static str, Value)>,
    /// Start in nanoseconds since 1970.
    pub began: u64,
    /// End in nanoseconds since 1970.
    pub ended: u64,
}

/// The body of a request.
pub fn body(spans: &[Finished]) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let resource = [("service.name", json!("recrawl")), ("service.version", json!(version))];
    let spans: Vec<Value> = spans.iter().map(span).collect();
    let body = json!({"resourceSpans": [{
        "resource": {"attributes": attributes(&resource)},
        "scopeSpans": [{"scope": {"name": "recrawl", "version": version}, "spans": spans}],
    }]});
    body.to_string()
}

fn span(span: &Finished) -> Value {
    /// SPAN_KIND_INTERNAL.
    const INTERNAL: u8 = 1;
    let mut value = json!({
        "traceId": format!("{:032x}", span.trace.0),
        "spanId": format!("{:016x}", span.span.0),
        "name": span.name,
        "kind": INTERNAL,
        "startTimeUnixNano": span.began.to_string(),
        "endTimeUnixNano": span.ended.to_string(),
        "attributes": attributes(&span.attributes),
    });
    if let Some(SpanId(parent)) = span.parent {
        value["parentSpanId"] = format!("{parent:016x}").into();
    }
    value
}

fn attributes(attributes: &[(&'static str, Value)]) -> Value {
    let written = attributes.iter().map(|(key, value)| {
        let value = match value {
            Value::Number(number) => json!({"intValue": number.to_string()}),
            Value::String(text) => json!({"stringValue": text}),
            other => json!({"stringValue": other.to_string()}),
        };
        json!({"key": key, "value": value})
    });
    written.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_written_as_the_protocol_has_it() {
        let span = Finished {
            trace: TraceId(0xab),
            span: SpanId(0xc),
            parent: Some(SpanId(0xd)),
            name: "host",
            attributes: vec![("host", json!("a.example")), ("cycle", json!(7))],
            began: 1_700_000_000_000_000_001,
            ended: 1_700_000_000_000_000_002,
        };
        let body: Value = serde_json::from_str(&body(&[span])).unwrap();
        let resource = &body["resourceSpans"][0];
        assert_eq!(resource["resource"]["attributes"][0]["value"]["stringValue"], "recrawl");
        let expected = json!({
            "traceId": "000000000000000000000000000000ab",
            "spanId": "000000000000000c",
            "parentSpanId": "000000000000000d",
            "name": "host",
            "kind": 1,
            "startTimeUnixNano": "1700000000000000001",
            "endTimeUnixNano": "1700000000000000002",
            "attributes": [
                {"key": "host", "value": {"stringValue": "a.example"}},
                {"key": "cycle", "value": {"intValue": "7"}},
            ],
        });
        assert_eq!(resource["scopeSpans"][0]["spans"][0], expected);
    }
}

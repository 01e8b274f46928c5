//! What a collector of traces is told of a crawl, and that no crawl waits for one.

use crate::harness::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Takes what is exported, and answers 200.
struct Collector {
    address: String,
    bodies: Arc<Mutex<Vec<Value>>>,
}

impl Collector {
    fn start() -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let taken = bodies.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                take(stream, &taken);
            }
        });
        Collector { address, bodies }
    }

    /// All spans so far.
    fn spans(&self) -> Vec<Value> {
        let bodies = self.bodies.lock().unwrap();
        let resources = bodies.iter().flat_map(|body| body["resourceSpans"].as_array().unwrap());
        let scopes = resources.flat_map(|resource| {
            let service = &resource["resource"]["attributes"][0];
            assert_eq!(
                (&service["key"], &service["value"]["stringValue"]),
                (&"service.name".into(), &"recrawl".into())
            );
            resource["scopeSpans"].as_array().unwrap()
        });
        scopes.flat_map(|scope| scope["spans"].as_array().unwrap().clone()).collect()
    }
}

/// Reads a request, and answers once its body is among those taken.
fn take(stream: TcpStream, bodies: &Mutex<Vec<Value>>) {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    for (at, line) in reader.by_ref().lines().map_while(Result::ok).enumerate() {
        if at == 0 {
            assert_eq!(line, "POST /v1/traces HTTP/1.1");
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
            length = value.parse().expect("a length");
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    bodies.lock().unwrap().push(serde_json::from_slice(&body).expect("JSON"));
    reader.into_inner().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").expect("it listens");
}

fn attribute<'s>(span: &'s Value, key: &str) -> Option<&'s str> {
    let attributes = span["attributes"].as_array()?;
    let value = &attributes.iter().find(|attribute| attribute["key"] == key)?["value"];
    value["stringValue"].as_str().or(value["intValue"].as_str())
}

fn nanos(span: &Value, key: &str) -> u64 {
    span[key].as_str().and_then(|text| text.parse().ok()).expect("nanoseconds as text")
}

#[test]
fn a_collector_is_told_of_cycles_stages_and_hosts() {
    let collector = Collector::start();
    let world = World::new(web(30, 3), &format!("[log]\notlp = \"http://{}\"", collector.address));
    // The end of a crawl waits for the collector, but not for long: so this one ends once all is told.
    let mut command = world.crawl_command(100_000);
    // Nothing of this is believed.
    for variable in ["OTEL_EXPORTER_OTLP_ENDPOINT", "http_proxy", "HTTP_PROXY", "ALL_PROXY"] {
        command.env(variable, "http://127.0.0.1:1");
    }
    command.env("RECRAWL_LOG", "off").stdout(Stdio::null()).stderr(Stdio::piped());
    let mut crawl = command.spawn().unwrap();
    let is_one_of_two =
        |span: &&Value| span["name"] == "cycle" && matches!(attribute(span, "cycle"), Some("1" | "2"));
    let (begun, mut spans) = (Instant::now(), Vec::<Value>::new());
    while spans.iter().filter(is_one_of_two).count() < 2 {
        assert!(begun.elapsed() < PATIENCE && crawl.try_wait().unwrap().is_none(), "{} spans", spans.len());
        std::thread::sleep(Duration::from_millis(20));
        spans = collector.spans();
    }
    crawl.kill().unwrap();
    let output = crawl.wait_with_output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let by_id: BTreeMap<&str, &Value> = spans.iter().map(|s| (s["spanId"].as_str().unwrap(), s)).collect();
    assert_eq!(by_id.len(), spans.len(), "each is told once");
    let cycles: Vec<&Value> = spans.iter().filter(is_one_of_two).collect();
    let numbers: Vec<_> = cycles.iter().map(|cycle| attribute(cycle, "cycle").unwrap()).collect();
    assert_eq!(numbers, ["1", "2"]);
    assert_ne!(cycles[0]["traceId"], cycles[1]["traceId"]);
    for cycle in cycles {
        assert_eq!(cycle.get("parentSpanId"), None);
        let of_cycle = |name: &str| {
            let is_in = |span: &&Value| span["name"] == name && span["traceId"] == cycle["traceId"];
            spans.iter().filter(is_in).collect::<Vec<_>>()
        };
        let mut before = nanos(cycle, "startTimeUnixNano");
        for stage in ["plan", "fetch", "gather", "merge", "commit"] {
            let [span] = of_cycle(stage)[..] else { panic!("one {stage} a cycle") };
            assert_eq!(span["parentSpanId"], cycle["spanId"], "{stage}");
            assert!(nanos(span, "startTimeUnixNano") >= before, "{stage} begins when the one before ended");
            before = nanos(span, "endTimeUnixNano");
        }
        assert!(before <= nanos(cycle, "endTimeUnixNano"));
        let hosts = of_cycle("host");
        assert!(!hosts.is_empty());
        for host in hosts {
            assert_eq!(by_id[host["parentSpanId"].as_str().unwrap()]["name"], "fetch");
            assert!(world.server.seeds().iter().any(|seed| seed.contains(attribute(host, "host").unwrap())));
        }
    }
}

#[test]
fn a_collector_that_never_answers_or_is_not_there_costs_spans_alone() {
    // It takes connections, as far as the system does by itself, and never a word.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = {
        let gone = TcpListener::bind("127.0.0.1:0").unwrap();
        gone.local_addr().unwrap()
    };
    for address in [silent.local_addr().unwrap(), nobody] {
        let world = World::new(web(30, 3), &format!("[log]\notlp = \"http://{address}\""));
        let output = world.crawl_command(2).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(json_lines(&succeeds(output)).len(), 2);
        assert!(said.contains("spans lost at shutdown"), "{said}");
        world.is_sound();
    }
    let world = World::new(web(3, 1), "[log]\notlp = \"https://collector.example\"");
    let said = fails(world.crawl_command(1).output().unwrap(), 2);
    assert!(said.contains("log.otlp") && said.contains("http://127.0.0.1:4318"), "{said}");
}

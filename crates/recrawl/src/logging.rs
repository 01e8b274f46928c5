//! What the program says on standard error: events of its log, and plain words.
//!
//! All of it goes through one [`Queue`], which a thread of its own writes out. So nothing else ever waits for whoever
//! reads standard error, and a reader that stands still costs lines, which are counted, and no more.
//!
//! What strangers send is escaped ([`terminal`]): it cannot steer a terminal, nor begin a line.
//!
//! Lines carry the spans that they were told in: the cycle, its stage, the host. These are of the level `error`, so that
//! every line has them, whatever the filter lets through.

mod queue;

use crate::clock;
use crate::config::{Log, LogFormat};
use crate::failure::Failure;
use crate::terminal;
use crate::traces::{self, Collector};
use queue::Queue;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, SystemTime};
use tracing::Level;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, reload};

/// What is on its way.
static QUEUE: Queue = Queue::new();
/// How it is written out; nothing until somebody does.
static STARTED: OnceLock<Started> = OnceLock::new();
/// A reader that takes no line for so long, once the program is about to end, takes none any more.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same, where the end is wanted at once.
const SHORT_PATIENCE: Duration = Duration::from_millis(200);

struct Started {
    format: LogFormat,
    filter: reload::Handle<EnvFilter, Registry>,
    /// What is logged where the configuration does not say.
    usual: &'static str,
    /// RECRAWL_LOG said what is logged.
    by_environment: bool,
}

/// Logs to standard error from now on: what RECRAWL_LOG says, or the configuration, or else what is `usual`.
///
/// # Errors
/// When RECRAWL_LOG is no filter, or there is no thread to be had.
#[expect(
    clippy::disallowed_methods,
    reason = "says more, or less, of the same results, and in which colours"
)]
pub fn start(log: &Log, usual: &'static str) -> Result<(), Failure> {
    let environment = std::env::var("RECRAWL_LOG").ok();
    let by_environment = environment.is_some();
    let filter = match environment {
        Some(text) => parse(&text).map_err(|e| Failure::Usage(format!("RECRAWL_LOG: {e}")))?,
        None => of(log, usual).map_err(Failure::Usage)?,
    };
    let (filter, handle) = reload::Layer::new(filter);
    let is_coloured =
        io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty());
    let format = log.format;
    let lines = tracing_subscriber::fmt::layer().with_writer(move || Line(format)).with_target(false);
    let lines = match format {
        LogFormat::Human => lines.with_ansi(is_coloured).fmt_fields(fields()).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).with_current_span(false).boxed(),
    };
    let write = || loop {
        QUEUE.write(&mut io::stderr(), &gap);
    };
    thread::Builder::new().name("log".into()).spawn(write)?;
    STARTED.get_or_init(|| Started { format, filter: handle, usual, by_environment });
    std::panic::set_hook(Box::new(|panic| {
        let trace = Backtrace::capture();
        let is_wanted = trace.status() == BacktraceStatus::Captured;
        let trace = if is_wanted { format!("\n{trace}") } else { String::new() };
        say(Level::ERROR, &format!("{panic}{trace}"));
        settle_soon();
    }));
    let collector = Collector::parse(&log.otlp).map_err(|e| Failure::Usage(format!("log.otlp: {e}")))?;
    let traces = collector.map(traces::start).transpose()?;
    tracing_subscriber::registry().with(lines.with_filter(filter)).with(traces).init();
    Ok(())
}

/// The fields of a line for people: the message, then `name=value`.
fn fields() -> impl for<'w> FormatFields<'w> {
    format::debug_fn(|writer, field, value| {
        let value = format!("{value:?}");
        let value = terminal::line(&value);
        match field.name().trim_start_matches("r#") {
            "message" => write!(writer, "{value}"),
            // As the library writes them: the name in italics, the sign dimmed.
            name if writer.has_ansi_escapes() => write!(writer, "\x1b[3m{name}\x1b[0m\x1b[2m=\x1b[0m{value}"),
            name => write!(writer, "{name}={value}"),
        }
    })
    .delimited(" ")
}

/// Can the configuration be used?
///
/// # Errors
/// The key, and what is wrong with it.
pub fn check(log: &Log) -> Result<(), String> {
    Collector::parse(&log.otlp).map_err(|e| format!("log.otlp: {e}"))?;
    of(log, "").map(drop)
}

/// What this configuration lets through from now on.
pub fn refilter(log: &Log) {
    if let Some(started) = STARTED.get().filter(|started| !started.by_environment)
        && let Err(problem) =
            of(log, started.usual).and_then(|filter| started.filter.reload(filter).map_err(|e| e.to_string()))
    {
        tracing::error!("the log's filter stays as it was: {problem}");
    }
}

/// Did RECRAWL_LOG say what is logged? Then the configuration does not.
pub fn is_by_environment() -> bool {
    STARTED.get().is_some_and(|started| started.by_environment)
}

fn of(log: &Log, usual: &str) -> Result<EnvFilter, String> {
    let text = if log.filter.is_empty() { usual } else { &log.filter };
    parse(text).map_err(|e| format!("log.filter: {e}"))
}

fn parse(text: &str) -> Result<EnvFilter, String> {
    EnvFilter::builder()
        .parse(text)
        .map_err(|e| format!("{text:?}: {e}: write a level, such as info, or recrawl_fetcher=debug"))
}

/// Says something whatever the filter lets through: why the program ends.
pub fn say(level: Level, text: &str) {
    match STARTED.get() {
        Some(started) => QUEUE.put(plain(started.format, level, text).as_bytes()),
        // What cannot be said, since nobody is there to hear it, is no reason to fail.
        None => drop(io::stderr().write_all(plain(LogFormat::Human, level, text).as_bytes())),
    }
}

/// A line that is no event.
fn plain(format: LogFormat, level: Level, text: &str) -> String {
    match format {
        LogFormat::Human => format!("recrawl: {}\n", terminal::lines(text)),
        LogFormat::Json => {
            let timestamp = clock::precise(SystemTime::now());
            let level = level.as_str();
            let line = serde_json::json!({"timestamp": timestamp, "level": level, "message": text});
            format!("{line}\n")
        }
    }
}

/// Waits until all is said, at the end of the program; not for a reader that stands still.
pub fn settle() {
    traces::settle();
    QUEUE.settle(PATIENCE);
}

/// The same, with hardly any patience.
pub fn settle_soon() {
    QUEUE.settle(SHORT_PATIENCE);
}

/// Lines that nobody took, since the process began.
pub fn lost() -> u64 {
    QUEUE.lost()
}

/// What stands where lines were lost.
fn gap(lines: u64) -> String {
    let format = STARTED.get().map_or(LogFormat::Human, |started| started.format);
    let text = format!("here {lines} lines of the log are lost: standard error took none");
    plain(format, Level::WARN, &text)
}

/// Takes an event: it is written in one piece.
struct Line(LogFormat);

impl Write for Line {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match self.0 {
            // Colours are written so too: the fields are escaped one by one.
            LogFormat::Human => QUEUE.put(line),
            LogFormat::Json => QUEUE.put(terminal::lines(&String::from_utf8_lossy(line)).as_bytes()),
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_line_is_one_line_of_its_format() {
        assert_eq!(plain(LogFormat::Human, Level::ERROR, "it ends"), "recrawl: it ends\n");
        let line = plain(LogFormat::Json, Level::WARN, "of \"two\"\nlines");
        assert_eq!(line.matches('\n').count(), 1);
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&line["level"], &line["message"]), (&"WARN".into(), &"of \"two\"\nlines".into()));
        assert!(line["timestamp"].as_str().unwrap().ends_with('Z'));
    }

    #[test]
    fn a_filter_is_checked_before_it_is_needed() {
        for (filter, is_one) in
            [("", true), ("info", true), ("warn,recrawl_fetcher=debug", true), ("a=loud", false)]
        {
            let checked = check(&Log { filter: filter.into(), ..Log::default() });
            assert_eq!(checked.is_ok(), is_one, "{filter}: {checked:?}");
            assert!(checked.is_ok() || checked.unwrap_err().starts_with("log.filter: "));
        }
    }
}

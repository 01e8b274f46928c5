//! Output on standard error: log events and plain messages.
//!
//! All of it goes through one queue, written by a thread of its own. So a slow reader of
//! standard error never blocks the crawl; it only costs lines, which are counted.
//!
//! Text from the network is escaped ([`escape`]), so that it can neither control a terminal nor
//! begin a line.
//!
//! Lines carry their spans: the cycle, its stage, the host. Spans have the level `error`, so that
//! every line has them with any filter.

mod queue;

use crate::{clock, colour, escape};
use queue::LogQueue;
use recrawl_crawl::config::{Log, LogFormat};
use recrawl_crawl::failure::Failure;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt;
use std::io::{self, Write};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, SystemTime};
use tracing::Level;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::filter::Filtered;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::layer::{Identity, Layered};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, reload};

/// The queue of lines.
static QUEUE: LogQueue = LogQueue::new();
/// Set by [`choose`].
static VERBOSITY: OnceLock<Verbosity> = OnceLock::new();
/// The program, which begins each plain message. Set by [`choose`].
static PROGRAM: OnceLock<&'static str> = OnceLock::new();
/// The running log; empty before [`start`].
static STARTED: OnceLock<Started> = OnceLock::new();
/// Patience with a slow reader at the end of the program.
const PATIENCE: Duration = Duration::from_secs(5);
/// Patience when the program must end at once.
const SHORT_PATIENCE: Duration = Duration::from_millis(200);

/// The subscriber that writes log lines.
pub type Lines = Layered<
    Filtered<Box<dyn Layer<Registry> + Send + Sync>, reload::Layer<EnvFilter, Registry>, Registry>,
    Registry,
>;

struct Started {
    format: LogFormat,
    filter: reload::Handle<EnvFilter, Registry>,
    /// Filter used if the configuration has none.
    usual: &'static str,
    /// Was the filter set on the command line or by RECRAWL_LOG?
    is_chosen: bool,
}

/// The flags `--quiet` and `-v`.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Verbosity {
    /// Only errors.
    pub is_quiet: bool,
    /// Levels above the usual one.
    pub more: u8,
}

/// Sets what the command line says of the log. It overrides RECRAWL_LOG and the configuration.
pub fn choose(program: &'static str, verbosity: Verbosity) {
    PROGRAM.get_or_init(|| program);
    VERBOSITY.get_or_init(|| verbosity);
}

impl Verbosity {
    /// The level; none if no flag was given.
    fn level(self, usual: &str) -> Option<&'static str> {
        const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];
        if self.is_quiet {
            return Some(LEVELS[0]);
        }
        let at = LEVELS.iter().position(|level| *level == usual).unwrap_or(1) + usize::from(self.more);
        (self.more > 0).then(|| LEVELS[at.min(LEVELS.len() - 1)])
    }
}

/// No further layer, for [`start`].
pub const ALONE: Option<Identity> = None;

/// Starts logging to standard error. The filter is that of the command line, or else RECRAWL_LOG, or else that of the
/// configuration, or else `usual`. A further layer gets all events and spans.
///
/// # Errors
/// When RECRAWL_LOG is not a filter, or no thread can be started.
#[expect(clippy::disallowed_methods, reason = "RECRAWL_LOG only changes log detail")]
pub fn start(
    log: &Log,
    usual: &'static str,
    further: Option<impl Layer<Lines> + Send + Sync>,
) -> Result<(), Failure> {
    let chosen = VERBOSITY.get().and_then(|verbosity| verbosity.level(usual));
    let environment = std::env::var("RECRAWL_LOG").ok();
    let is_chosen = chosen.is_some() || environment.is_some();
    let filter = match environment {
        _ if chosen.is_some() => EnvFilter::new(chosen.unwrap_or_default()),
        Some(text) => parse(&text).map_err(|e| Failure::Usage(format!("RECRAWL_LOG: {e}")))?,
        None => filter_of(log, usual).map_err(Failure::Usage)?,
    };
    let (filter, handle) = reload::Layer::new(filter);
    let is_coloured = colour::is_on_stderr();
    let format = log.format;
    let lines = tracing_subscriber::fmt::layer().with_writer(move || EventLine(format)).with_target(false);
    let lines = match format {
        LogFormat::Human => lines.with_ansi(is_coloured).fmt_fields(fields()).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).with_current_span(false).boxed(),
    };
    let write = || loop {
        QUEUE.write(&mut io::stderr(), &gap);
    };
    thread::Builder::new().name("log".into()).spawn(write)?;
    STARTED.get_or_init(|| Started { format, filter: handle, usual, is_chosen });
    std::panic::set_hook(Box::new(|panic| {
        let trace = Backtrace::capture();
        let is_wanted = trace.status() == BacktraceStatus::Captured;
        let trace = if is_wanted { format!("\n{trace}") } else { String::new() };
        say(Level::ERROR, &format!("{panic}{trace}"));
        settle_soon();
    }));
    tracing_subscriber::registry().with(lines.with_filter(filter)).with(further).init();
    Ok(())
}

/// The fields of a line for people: the message, then `name=value`.
fn fields() -> impl for<'w> FormatFields<'w> {
    format::debug_fn(|writer, field, value| {
        let value = format!("{value:?}");
        let value = escape::line(&value);
        match field.name().trim_start_matches("r#") {
            "message" => write!(writer, "{value}"),
            // As tracing-subscriber formats them: the name in italics, the sign dimmed.
            name if writer.has_ansi_escapes() => write!(writer, "\x1b[3m{name}\x1b[0m\x1b[2m=\x1b[0m{value}"),
            name => write!(writer, "{name}={value}"),
        }
    })
    .delimited(" ")
}

/// Checks the filter of a configuration.
///
/// # Errors
/// The key, and what is wrong with it.
pub fn check(log: &Log) -> Result<(), String> {
    filter_of(log, "").map(drop)
}

/// Applies the filter of a new configuration.
pub fn refilter(log: &Log) {
    if let Some(started) = STARTED.get().filter(|started| !started.is_chosen)
        && let Err(problem) = filter_of(log, started.usual)
            .and_then(|filter| started.filter.reload(filter).map_err(|e| e.to_string()))
    {
        tracing::error!("kept the previous log filter: {problem}");
    }
}

/// Was the filter set on the command line or by RECRAWL_LOG? Then the configuration's is ignored.
pub fn is_chosen() -> bool {
    STARTED.get().is_some_and(|started| started.is_chosen)
}

fn filter_of(log: &Log, usual: &str) -> Result<EnvFilter, String> {
    let text = if log.filter.is_empty() { usual } else { &log.filter };
    parse(text).map_err(|e| format!("log.filter: {e}"))
}

/// A filter that never hides an error by chance: a misspelt level would be the name of a module without a line, and a
/// filter of some modules would hide all others.
fn parse(text: &str) -> Result<EnvFilter, String> {
    let wrong = |why: &dyn fmt::Display| {
        format!("{text:?}: {why}; write a level such as info, or a filter such as recrawl_fetcher=debug")
    };
    let words = || text.split(',').map(str::trim).filter(|word| !word.contains(['=', '[', ']', '{', '}']));
    let is_level = |word: &&str| word.parse::<LevelFilter>().is_ok();
    let is_known = |word: &&str| word.is_empty() || is_level(word) || word.starts_with("recrawl");
    if let Some(word) = words().find(|word| !is_known(word)) {
        return Err(wrong(&format_args!("{word:?} is no level (error, warn, info, debug, trace, off)")));
    }
    let filter = EnvFilter::builder().parse(text).map_err(|e| wrong(&e))?;
    let has_level = words().any(|word| is_level(&word));
    Ok(if has_level { filter } else { filter.add_directive(LevelFilter::ERROR.into()) })
}

/// Prints a message regardless of the filter, such as why the program ends.
pub fn say(level: Level, text: &str) {
    match STARTED.get() {
        Some(started) => QUEUE.put(plain(started.format, level, text).as_bytes()),
        // Failing to print is no reason to fail.
        None => drop(io::stderr().write_all(plain(LogFormat::Human, level, text).as_bytes())),
    }
}

/// A line that is not a log event.
fn plain(format: LogFormat, level: Level, text: &str) -> String {
    match format {
        LogFormat::Human => {
            let program = PROGRAM.get().unwrap_or(&"recrawl");
            format!("{program}: {}\n", escape::lines(text))
        }
        LogFormat::Json => {
            let timestamp = clock::precise(SystemTime::now());
            let level = level.as_str();
            let line = serde_json::json!({"timestamp": timestamp, "level": level, "message": text});
            format!("{line}\n")
        }
    }
}

/// Waits at the end of the program until all lines are written, but not for a reader that has
/// stopped reading.
pub fn settle() {
    QUEUE.settle(PATIENCE);
}

/// The same, with little patience.
pub fn settle_soon() {
    QUEUE.settle(SHORT_PATIENCE);
}

/// Lines dropped since the process started.
pub fn lost() -> u64 {
    QUEUE.lost()
}

/// The line in place of dropped lines.
fn gap(lines: u64) -> String {
    let format = STARTED.get().map_or(LogFormat::Human, |started| started.format);
    let text = format!("{lines} log lines dropped here: standard error was not being read");
    plain(format, Level::WARN, &text)
}

/// Writes a log event in one piece.
struct EventLine(LogFormat);

impl Write for EventLine {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match self.0 {
            // The fields are already escaped one by one, since this text also contains colours.
            LogFormat::Human => QUEUE.put(line),
            LogFormat::Json => QUEUE.put(escape::lines(&String::from_utf8_lossy(line)).as_bytes()),
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
    fn each_flag_is_a_level_more_and_quiet_is_only_errors() {
        let level = |is_quiet, more, usual| Verbosity { is_quiet, more }.level(usual);
        assert_eq!(level(false, 0, "warn"), None);
        assert_eq!((level(false, 1, "warn"), level(false, 2, "warn")), (Some("info"), Some("debug")));
        assert_eq!((level(false, 1, "info"), level(false, 9, "info")), (Some("debug"), Some("trace")));
        assert_eq!(level(true, 0, "info"), Some("error"));
    }

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
        for (filter, is_one) in [
            ("", true),
            ("info", true),
            ("warn,recrawl_fetcher=debug", true),
            ("recrawl_fetcher,hyper=debug,WARN", true),
            ("a=loud", false),
            ("warning", false),
            ("verbose", false),
            ("recrawl=info,warnings", false),
        ] {
            let checked = check(&Log { filter: filter.into(), ..Log::default() });
            assert_eq!(checked.is_ok(), is_one, "{filter}: {checked:?}");
            assert!(checked.is_ok() || checked.unwrap_err().starts_with("log.filter: "));
        }
    }

    #[test]
    fn errors_are_logged_unless_they_are_off() {
        for (filter, rest) in [
            ("recrawl_fetcher=debug", "error"),
            ("hyper=off", "error"),
            ("off,hyper=info", "off"),
            ("warn", "warn"),
        ] {
            let parsed = parse(filter).unwrap().to_string();
            let all: Vec<&str> = parsed.split(',').filter(|word| !word.contains('=')).collect();
            assert_eq!(all, [rest], "{filter}: {parsed}");
        }
    }
}

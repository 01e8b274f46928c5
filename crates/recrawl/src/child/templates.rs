//! Renders templates within limits of memory and time.
//!
//! A few lines of a template can double a text until the memory is full, and minijinja counts steps, not bytes. So
//! templates are compiled and rendered in a process whose memory and processor time the kernel limits. A process
//! serves one target and lives as long as it: a message costs a line there and a line back.

use recrawl_notifications::template;
use recrawl_types::{Size, Span};
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, Signal, getrlimit, set_dumpable_behavior, setrlimit,
};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, ExitCode, ExitStatus, Stdio};

/// Bytes of memory of the process, with the program itself.
const MAX_MEMORY: u64 = 256 << 20;
/// Seconds of processor time that a message takes at most.
const MAX_SECONDS: u64 = 5;

/// A line to the process.
#[derive(Serialize, Deserialize)]
struct TemplateRequest<'a> {
    template: Cow<'a, str>,
    fields: Cow<'a, Value>,
}

/// The line back: the text, or what is wrong with the template.
type TemplateReply = Result<String, String>;

/// Why there is no text.
#[derive(Debug)]
pub enum TemplateError {
    /// The template does not work for the message.
    Template(String),
    /// There is no process for it.
    Process(io::Error),
}

/// Renders templates. The process begins with the first of them, and again after it was ended by its limits.
#[derive(Default)]
pub struct TemplateRenderer(Option<TemplateProcess>);

impl TemplateRenderer {
    /// Renders a template; blocks for [`MAX_SECONDS`] of processor time at most.
    ///
    /// # Errors
    /// [`TemplateError`].
    pub fn render(&mut self, template: &str, fields: &Value) -> Result<String, TemplateError> {
        let request = TemplateRequest { template: Cow::Borrowed(template), fields: Cow::Borrowed(fields) };
        let mut process = match self.0.take() {
            Some(process) => process,
            None => TemplateProcess::start().map_err(TemplateError::Process)?,
        };
        match process.ask(&request) {
            Ok(answer) => {
                self.0 = Some(process);
                answer.map_err(TemplateError::Template)
            }
            Err(_) => {
                let ended = process.end().map_err(TemplateError::Process)?;
                Err(TemplateError::Template(why(ended)))
            }
        }
    }
}

/// A process that renders.
struct TemplateProcess {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl TemplateProcess {
    fn start() -> io::Result<TemplateProcess> {
        let mut command = super::command(super::TEMPLATES);
        // No secret of the environment is its business, and what it says of its end is told better here.
        command.env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let (requests, answers) = child.stdin.take().zip(child.stdout.take()).expect("both are piped");
        Ok(TemplateProcess { child, requests, answers: BufReader::new(answers) })
    }

    fn ask(&mut self, request: &TemplateRequest<'_>) -> io::Result<TemplateReply> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        self.requests.write_all(&line)?;
        line.clear();
        self.answers.read_until(b'\n', &mut line)?;
        Ok(serde_json::from_slice(&line)?)
    }

    fn end(mut self) -> io::Result<ExitStatus> {
        // It ends by itself then, if it has not.
        drop((self.requests, self.answers));
        self.child.wait()
    }
}

impl Drop for TemplateRenderer {
    fn drop(&mut self) {
        if let Some(process) = self.0.take() {
            _ = process.end();
        }
    }
}

/// Why the process ended.
fn why(status: ExitStatus) -> String {
    let is_by = |signal: Signal| status.signal() == Some(signal.as_raw());
    if is_by(Signal::XCPU) {
        format!("it takes more than {} of processor time", Span::millis(MAX_SECONDS * 1000))
    } else if is_by(Signal::ABORT) {
        format!("it needs more than {} of memory", Size(MAX_MEMORY))
    } else {
        format!("the process that renders it ended ({status})")
    }
}

/// Renders what standard input asks for, within the limits, until it ends.
pub fn serve() -> ExitCode {
    match serve_all() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve_all() -> io::Result<()> {
    // The end by a limit is no reason for a core file.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    limit(Resource::As, MAX_MEMORY)?;
    for line in io::stdin().lock().lines() {
        limit(Resource::Cpu, seconds_used().saturating_add(1 + MAX_SECONDS))?;
        let line = line?;
        let request: TemplateRequest<'_> = serde_json::from_str(&line)?;
        let answer: TemplateReply = template::render(&request.template, request.fields.into_owned());
        let mut answer = serde_json::to_vec(&answer)?;
        answer.push(b'\n');
        io::stdout().write_all(&answer)?;
        io::stdout().flush()?;
    }
    Ok(())
}

/// Lowers a limit. The hard one stays, so that that of time can move.
fn limit(resource: Resource, to: u64) -> io::Result<()> {
    let hard = getrlimit(resource).maximum;
    let current = Some(hard.map_or(to, |hard| hard.min(to)));
    Ok(setrlimit(resource, Rlimit { current, maximum: hard })?)
}

fn seconds_used() -> u64 {
    u64::try_from(clock_gettime(ClockId::ProcessCPUTime).tv_sec).unwrap_or(0)
}

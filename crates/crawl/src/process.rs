//! Services of the program around a crawl.

use crate::config::ConvertTable;
use bytes::Bytes;
use recrawl_types::Cycle;
use std::io::Write;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// Services of the program around a crawl.
pub struct ProgramServices {
    /// The runtime, and the token that stops the crawl.
    pub shutdown: Shutdown,
    /// Shows the progress of a cycle.
    pub display: Box<dyn CycleDisplay>,
    /// Letters and digits in the names of WARC files that this process begins. No other crawl or machine
    /// should have the same.
    pub archive_tag: String,
    /// Converts documents.
    pub converter: Arc<dyn Converter>,
}

impl ProgramServices {
    /// Without signals, display, converter and a tag of its own.
    ///
    /// # Errors
    /// When the system gives no event queue.
    pub fn quiet() -> std::io::Result<ProgramServices> {
        let (shutdown, display) = (Shutdown::new()?, Box::new(Hidden));
        Ok(ProgramServices { shutdown, display, archive_tag: "0".into(), converter: Arc::new(NoConverter) })
    }
}

/// A runtime, and the token that stops what runs on it.
pub struct Shutdown {
    runtime: Runtime,
    token: CancellationToken,
}

impl Shutdown {
    /// Starts the runtime. It only waits, so it needs no thread of its own.
    ///
    /// # Errors
    /// When the system gives no event queue.
    pub fn new() -> std::io::Result<Shutdown> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Shutdown { runtime, token: CancellationToken::new() })
    }

    /// Stops with this one, and may be stopped alone.
    ///
    /// # Errors
    /// When the system gives no event queue.
    pub fn child(&self) -> std::io::Result<Shutdown> {
        Ok(Shutdown { token: self.token.child_token(), ..Shutdown::new()? })
    }

    /// The runtime, to wait on.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Cancelled when the crawl is to stop.
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Is the crawl to stop?
    pub fn requested(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Waits for `time` or a stop; returns true if it was a stop.
    pub fn wait(&self, time: Duration) -> bool {
        self.runtime.block_on(async {
            tokio::select! {
                () = self.token.cancelled() => true,
                () = tokio::time::sleep(time) => false,
            }
        })
    }
}

/// Shows the progress of a cycle, such as a line on a terminal.
pub trait CycleDisplay: Send + Sync {
    /// Begins with the pages and hosts of a cycle. An earlier run of the cycle fetched `done` pages.
    fn begin(&self, cycle: Cycle, pages: u64, hosts: usize, done: u64);

    /// A page is done.
    fn page_done(&self);

    /// The cycle fetches no more.
    fn end(&self);
}

/// Makes text of documents that have none of their own, by commands.
pub trait Converter: Send + Sync {
    /// Runs the command on the document, and gives what it writes. The error says why there is nothing.
    fn convert<'a>(
        &'a self,
        command: &'a [String],
        document: SourceDocument,
        limits: &'a ConvertTable,
    ) -> ConvertFuture<'a>;
}

/// [`Converter::convert`].
pub type ConvertFuture<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, String>> + Send + 'a>>;

/// A document, as its server sent it.
pub struct SourceDocument {
    /// Where it was fetched.
    pub url: String,
    /// `type/subtype` in lower case.
    pub media_type: String,
    /// All of it.
    pub body: Bytes,
}

struct NoConverter;

impl Converter for NoConverter {
    fn convert<'a>(&'a self, _: &'a [String], _: SourceDocument, _: &'a ConvertTable) -> ConvertFuture<'a> {
        Box::pin(async { Err("this process converts nothing".into()) })
    }
}

struct Hidden;

impl CycleDisplay for Hidden {
    fn begin(&self, _: Cycle, _: u64, _: usize, _: u64) {}
    fn page_done(&self) {}
    fn end(&self) {}
}

/// An output that cannot be cut off, such as standard output.
pub trait Printer: Write + Send {
    /// Was a write given up, since the crawl stops and the reader has stalled?
    fn gave_up(&self) -> bool;
}

//! The program `recrawl-mockweb`: serves a web on loopback, or extracts a small recording from
//! large ones.

mod arguments;

use arguments::{Arguments, MockwebCommand};
use clap::Parser;
use recrawl_mockweb::recording::cut;
use recrawl_mockweb::server::Info;
use recrawl_mockweb::{Config, Server};
use std::io::{Read, Write};
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};

/// Exit codes: 0 success, 1 failure, 2 wrong arguments (by clap).
fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        MockwebCommand::Cut(arguments) => cut(&arguments.config())
            .map_err(|e| e.to_string())
            .and_then(|report| print_line(&report).map_err(|e| e.to_string())),
        MockwebCommand::Procedural(arguments) => serve(arguments.config(), arguments.serving.with_parent),
        MockwebCommand::Replay(arguments) => serve(arguments.config(), arguments.serving.with_parent),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("recrawl-mockweb: {why}");
            ExitCode::FAILURE
        }
    }
}

fn print_line(value: &impl serde::Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    out.write_all(&line)?;
    out.flush()
}

/// Serves until it is stopped.
fn serve(config: Config, with_parent: bool) -> Result<(), String> {
    let server = Server::start(config).map_err(|e| e.to_string())?;
    let info = server.info();
    let waiting = tokio::runtime::Builder::new_current_thread().enable_all().build();
    waiting.and_then(|runtime| runtime.block_on(stop_asked(with_parent, &info))).map_err(|e| e.to_string())
}

/// Prints what is served, then waits for SIGTERM or SIGINT, or with `with_parent` for the end of
/// standard input.
async fn stop_asked(with_parent: bool, info: &Info) -> std::io::Result<()> {
    // A reader of the line may send requests at once.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    print_line(info)?;
    let (gone, parent) = tokio::sync::oneshot::channel();
    // Without a parent to watch, the channel stays open and silent.
    let _kept = if with_parent {
        // A thread, not a task: the runtime would wait for a blocked read at its end.
        std::thread::spawn(move || {
            let mut buffer = [0; 256];
            while std::io::stdin().read(&mut buffer).is_ok_and(|n| n > 0) {}
            gone.send(()).ok();
        });
        None
    } else {
        Some(gone)
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        _ = parent => {}
    }
    Ok(())
}

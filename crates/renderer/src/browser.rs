//! A browser process: found, started, and ended with all its children.
//!
//! It has no way to the network but the pipe. Its proxy and every name lead nowhere, loopback included, so what the
//! interception of requests does not see (WebSockets, prefetches, reports) ends before a socket is opened. It keeps
//! nothing: profile and home are a folder that is removed with it, and it inherits no variables but PATH.

use crate::pipe::{CallError, Pipe};
use crate::processes::{self, GroupProcess};
use rustix::process::{Pid, geteuid};
use serde_json::json;
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, Command};
use tokio::time::timeout;

/// Names under which browsers are installed, the smallest first.
const NAMES: [&str; 5] =
    ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/// How long a browser may take to answer first.
const START: Duration = Duration::from_secs(120);
/// How long its processes may take to end.
const END: Duration = Duration::from_secs(2);
/// Bytes of its messages that are kept for an error.
const TAIL: usize = 4096;

/// The folder of the browser, by a name that is short wherever it lies.
const OWN_FOLDER: &str = "/proc/self/cwd";

/// Limits the data of each process to so many KiB, and hands the two pipes of the protocol to the browser as file
/// descriptors 3 and 4, and nothing else.
const LAUNCH: &str = r#"ulimit -d "$1"; shift; exec "$@" 3<&0 4>&1 0</dev/null 1>/dev/null"#;

/// Flags of every browser.
const FLAGS: [&str; 29] = [
    "--remote-debugging-pipe",
    "--headless",
    // No way to the network, see above.
    "--proxy-server=http://recrawl.invalid:1",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    // No requests of the browser's own.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
    "--metrics-recording-only",
    "--disable-breakpad",
    "--disable-crash-reporter",
    // A page has no windows, no permissions, no devices.
    "--block-new-web-contents",
    "--deny-permission-prompts",
    "--disable-gpu",
    "--disable-extensions",
    "--disable-default-apps",
    "--mute-audio",
    "--hide-scrollbars",
    "--password-store=basic",
    // Containers have little of it.
    "--disable-dev-shm-usage",
    // A page is one process: frames of other sites are not loaded.
    "--disable-site-isolation-trials",
    "--disable-features=IsolateOrigins,site-per-process,IsolateSandboxedIframes,SpareRendererForSitePerProcess,\
     MediaRouter,OptimizationHints,Translate,WebTransport,DirectSockets,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable",
    "--js-flags=--max-old-space-size=512",
];

/// Why no browser runs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BrowserError {
    /// None is installed.
    #[error(
        "no browser is installed (looked for {} in PATH): install one (Debian: apt install chromium-headless-shell, or \
         chromium), or name its program in render.browser",
        NAMES.join(", ")
    )]
    NotFound,
    /// The given program does not exist or cannot be executed.
    #[error("{}: no such program: install Chromium, or correct render.browser", .0.display())]
    NoProgram(PathBuf),
    /// It cannot be started.
    #[error("cannot start {}: {}", .0.display(), .1)]
    Launch(PathBuf, #[source] io::Error),
    /// It ended, or did not answer in time.
    #[error("{} did not start as a browser (Chromium 120 or newer is needed). It said: {}", .0.display(), .1)]
    NoAnswer(PathBuf, String),
}

/// The browser to start: the given program, or the first that is installed.
///
/// # Errors
/// What is missing, and what to install.
pub fn find(given: Option<&Path>) -> Result<PathBuf, BrowserError> {
    match given {
        Some(path) => program(path).ok_or_else(|| BrowserError::NoProgram(path.to_owned())),
        None => installed().ok_or(BrowserError::NotFound),
    }
}

/// The first browser in PATH.
pub fn installed() -> Option<PathBuf> {
    NAMES.iter().find_map(|name| program(Path::new(name)))
}

/// The program with this path, or of this name in PATH, if it can be executed.
pub fn program(name: &Path) -> Option<PathBuf> {
    let can_run = |path: &PathBuf| {
        path.is_file() && rustix::fs::access(path.as_path(), rustix::fs::Access::EXEC_OK).is_ok()
    };
    if name.components().count() > 1 {
        return Some(name.to_owned()).filter(can_run);
    }
    std::env::split_paths(&search_path()?).map(|folder| folder.join(name)).find(can_run)
}

/// PATH.
#[allow(clippy::disallowed_methods, reason = "where programs are installed is known to the system alone")]
fn search_path() -> Option<std::ffi::OsString> {
    std::env::var_os("PATH")
}

/// A running browser. Its end takes all its processes with it.
#[derive(Debug)]
pub struct Browser {
    pub pipe: Pipe,
    /// Pages begun.
    pub pages: AtomicU64,
    is_killed: AtomicBool,
    child: Child,
    group: Pid,
    /// Profile and home.
    folder: TempDir,
}

impl Browser {
    /// Starts a browser. `max_message`: bytes of a message; `max_data`: bytes of data of each process; `sandbox`:
    /// Chromium's own, which the user root cannot have.
    ///
    /// # Errors
    /// [`BrowserError`].
    pub async fn start(
        program: &Path,
        sandbox: bool,
        max_message: usize,
        max_data: u64,
    ) -> Result<Browser, BrowserError> {
        let launch = |e| BrowserError::Launch(program.to_owned(), e);
        let folder = tempfile::Builder::new().prefix("recrawl-browser-").tempdir().map_err(launch)?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", LAUNCH, "sh", &(max_data >> 10).to_string()]).arg(program).args(FLAGS);
        if !sandbox || geteuid().is_root() {
            command.arg("--no-sandbox");
        }
        command.arg(format!("--user-data-dir={}", folder.path().display())).arg("about:blank");
        command.env_clear().envs(search_path().map(|path| ("PATH", path)));
        command.env("HOME", folder.path()).current_dir(folder.path());
        // The browser binds a Unix socket there, whose path may have 107 bytes.
        command.env("TMPDIR", OWN_FOLDER);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.kill_on_drop(true).spawn().map_err(launch)?;
        let group =
            child.id().and_then(|id| Pid::from_raw(id as i32)).expect("a child that was not waited for");
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (input, output) = input.zip(output).expect("both are piped");
        let said = Arc::new(Mutex::new(VecDeque::new()));
        tokio::spawn(listen(child.stderr.take().expect("it is piped"), said.clone()));
        let pipe = Pipe::new(input, output, max_message);
        let browser =
            Browser { pipe, pages: AtomicU64::new(0), is_killed: false.into(), child, group, folder };
        let version = timeout(START, browser.pipe.call(None, "Browser.getVersion", json!({}))).await;
        match version.unwrap_or(Err(CallError::Closed)) {
            Ok(version) => {
                tracing::info!(version = version["product"].as_str(), "browser started");
                Ok(browser)
            }
            Err(_) => {
                let said: Vec<u8> =
                    said.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
                let said = String::from_utf8_lossy(&said).trim().to_owned();
                Err(BrowserError::NoAnswer(program.to_owned(), said))
            }
        }
    }

    /// Its processes.
    pub fn processes(&self) -> Vec<GroupProcess> {
        processes::of_group(self.group)
    }

    /// Has it ended, or will it at once?
    pub fn has_ended(&self) -> bool {
        self.is_killed.load(Relaxed) || self.pipe.is_closed()
    }

    /// Ends all its processes at once.
    pub fn kill(&self) {
        self.is_killed.store(true, Relaxed);
        processes::end_group(self.group);
        processes::end_all_at(self.folder.path());
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.kill();
        // The folder can be removed only when nobody writes there.
        let until = Instant::now() + END;
        let lives = || processes::end_all_at(self.folder.path()) > 0 || processes::is_alive(self.group);
        while lives() && Instant::now() < until {
            let _ = self.child.try_wait();
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Keeps the end of what the browser says.
async fn listen(mut stderr: ChildStderr, said: Arc<Mutex<VecDeque<u8>>>) {
    let mut buffer = [0; 1024];
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.extend(&buffer[..count]);
        let excess = said.len().saturating_sub(TAIL);
        said.drain(..excess);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_missing_browser_is_said_with_what_to_install() {
        let given = find(Some(Path::new("/nowhere/chromium"))).unwrap_err().to_string();
        assert!(given.contains("/nowhere/chromium") && given.contains("render.browser"), "{given}");
        assert!(BrowserError::NotFound.to_string().contains("apt install"));
        // A script is a program, too; a folder is none.
        assert!(program(Path::new("sh")).is_some() && program(Path::new("/")).is_none());
    }

    #[tokio::test]
    async fn what_left_the_group_of_a_browser_ends_with_it_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let (browser, begun) = (folder.path().join("browser"), folder.path().join("begun"));
        // It ends without an answer once the other process has begun.
        let script = format!(
            "#!/bin/sh\n(setsid sh -c 'echo $$ >\"$0.new\"; mv \"$0.new\" \"$0\"; exec sleep 900' '{0}' &) 3<&- 4>&-\n\
             while ! [ -e '{0}' ]; do sleep 0.01; done\n",
            begun.display()
        );
        std::fs::write(&browser, script).unwrap();
        std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut beside = std::process::Command::new("sleep")
            .arg("900")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let started = Browser::start(&browser, false, 1 << 20, 4 << 30).await;
        assert!(matches!(started, Err(BrowserError::NoAnswer(..))), "{started:?}");
        let pid = std::fs::read_to_string(&begun).unwrap();
        let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "{state}");
        assert!(beside.try_wait().unwrap().is_none());
        beside.kill().unwrap();
        beside.wait().unwrap();
    }
}

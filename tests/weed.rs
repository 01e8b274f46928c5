//! SeaweedFS, a store that speaks S3 and keeps its objects on a disk, so that it can be killed.
//!
//! It takes fixed ports, and talks to itself through sockets in /tmp that are named by them. So it is started in a [network
//! of a test's own](crate::network) alone, and its folder is its /tmp.

use crate::harness::PATIENCE;
use crate::network::STORE;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const PORT: u16 = 8333;
/// A question to a server that has just started may never be answered.
const ANSWER: Duration = Duration::from_secs(5);

/// The server, running.
pub struct Weed {
    program: PathBuf,
    folder: PathBuf,
    child: Child,
}

/// Its program; none if it is not installed. RECRAWL_WEED names it (scripts/weed-server.sh).
#[expect(
    clippy::disallowed_methods,
    reason = "a component that may be installed is named by a documented variable"
)]
pub fn weed() -> Option<PathBuf> {
    let program = PathBuf::from(std::env::var("RECRAWL_WEED").unwrap_or_else(|_| "weed".into()));
    let version = Command::new(&program).arg("version").stdin(Stdio::null()).output().ok()?;
    version.status.success().then_some(program)
}

impl Weed {
    /// Starts it with a bucket `bucket`, in a folder that is there.
    pub fn start(program: &Path, folder: &Path) -> Weed {
        let child = spawn(program, folder);
        let mut weed = Weed { program: program.to_owned(), folder: folder.to_owned(), child };
        weed.until_ready();
        weed
    }

    /// SIGKILL, and a start on the same folder.
    pub fn kill_and_start(&mut self) {
        self.kill();
        self.child = spawn(&self.program, &self.folder);
        self.until_ready();
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until it takes objects: long after its port is open.
    fn until_ready(&mut self) {
        let begun = Instant::now();
        while !(matches!(ask("PUT", "/bucket", ""), Some(200 | 409))
            && ask("PUT", "/bucket/ready", "yes") == Some(200)
            && ask("GET", "/bucket/ready", "") == Some(200))
        {
            let ended = self.child.try_wait().unwrap();
            let told = || fs::read_to_string(log(&self.folder)).unwrap_or_default();
            assert!(ended.is_none() && begun.elapsed() < PATIENCE, "no SeaweedFS, {ended:?}: {}", told());
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Where programs find it, and credentials: it believes any.
    pub fn variables() -> Vec<(&'static str, String)> {
        vec![
            ("AWS_ENDPOINT_URL", format!("http://{STORE}:{PORT}")),
            ("AWS_REGION", "us-east-1".into()),
            ("AWS_ACCESS_KEY_ID", "key".into()),
            ("AWS_SECRET_ACCESS_KEY", "secret".into()),
        ]
    }
}

impl Drop for Weed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(program: &Path, folder: &Path) -> Child {
    let there = "exec 9<\"$0\"; mount --bind \"$1\" /tmp; shift; exec /proc/self/fd/9 \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-ec", there]).arg(program).arg(folder);
    command.args(["server", "-dir=/tmp", &format!("-ip={STORE}")]);
    // Small files of objects: it allocates a file for each of its volumes.
    command.args(["-s3", &format!("-s3.port={PORT}"), "-master.volumeSizeLimitMB=64", "-volume.max=20"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(log(folder)).unwrap());
    command.spawn().expect("SeaweedFS starts")
}

fn log(folder: &Path) -> PathBuf {
    folder.with_extension("log")
}

/// The status of the answer to a request; none if there is none.
fn ask(method: &str, path: &str, body: &str) -> Option<u16> {
    let mut stream = TcpStream::connect((STORE, PORT)).ok()?;
    stream.set_read_timeout(Some(ANSWER)).ok()?;
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {STORE}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    stream.write_all(head.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.split(' ').nth(1)?.parse().ok()
}

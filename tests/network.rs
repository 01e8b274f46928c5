//! Networks of a test's own: a test runs again within network namespaces, and each process that it starts may have one more.
//! Nothing of the machine's network is touched, and all goes with the test.
//!
//! The test's own namespace has the mock web, on addresses of loopback, and the store, at [`STORE`]. Each machine reaches
//! both through a link of its own, the store by an address of its own, so that answers of the store alone can be lost.

use crate::harness::succeeds;
use std::process::{Child, Command, Stdio};

/// The address of the store.
pub const STORE: &str = "10.8.0.1";
/// Says that a test runs in a network of its own.
const INSIDE: &str = "RECRAWL_OWN_NETWORK";
/// All that a test starts ends with it.
const ALONE: [&str; 5] = ["--net", "--pid", "--fork", "--kill-child", "--mount-proc"];

/// Runs the test of this name in a network of its own; true there, where the caller does its work. Elsewhere all is done, or
/// it is told why not.
#[expect(clippy::disallowed_methods, reason = "the test itself sets it for its inner run")]
pub fn is_inside(test: &str) -> bool {
    if std::env::var(INSIDE).is_ok() {
        ip("link set lo up");
        ip(&format!("address add {STORE}/32 dev lo"));
        return true;
    }
    // Root of a container may have namespaces, or a user that becomes root of one.
    let ways: [&[&str]; 2] = [&[], &["--map-root-user"]];
    let is_allowed = |way: &&&[&str]| {
        let tried = Command::new("unshare").args(**way).args(ALONE).args(["ip", "link"]).output();
        tried.is_ok_and(|tried| tried.status.success())
    };
    let Some(way) = ways.iter().find(is_allowed) else {
        eprintln!(
            "SKIPPED, 1 test: {test}: this user may make no network namespaces, or there is no unshare or ip"
        );
        return false;
    };
    let mut inner = Command::new("unshare");
    inner.args(*way).args(ALONE).arg(std::env::current_exe().unwrap()).args([test, "--exact", "--nocapture"]);
    let told = succeeds(inner.env(INSIDE, "yes").output().unwrap());
    println!("{told}");
    assert!(told.contains("1 passed"), "{test} is the name of a test: {told}");
    false
}

/// How a machine is cut off from the store.
#[derive(Clone, Copy, Debug)]
pub enum StoreCut {
    /// Nothing arrives.
    Whole,
    /// Requests arrive and are done; their answers are lost.
    Answers,
}

/// A machine: a network namespace, with a link to that of the test.
pub struct Machine {
    number: u8,
    /// Keeps the namespace. It ends when its input does.
    keeper: Child,
}

impl Machine {
    /// Machine number `number`, from 1.
    pub fn new(number: u8) -> Machine {
        let keeper = Command::new("unshare").args(["--net", "cat"]).stdin(Stdio::piped()).spawn().unwrap();
        let machine = Machine { number, keeper };
        let (link, pid) = (format!("m{number}"), machine.keeper.id());
        let own = std::fs::read_link("/proc/self/ns/net").unwrap();
        while std::fs::read_link(format!("/proc/{pid}/ns/net")).unwrap() == own {
            std::thread::yield_now();
        }
        ip(&format!("link add {link} type veth peer name eth netns {pid}"));
        ip(&format!("address add 10.9.{number}.1/30 dev {link}"));
        ip(&format!("address add 10.7.{number}.1/30 dev {link}"));
        ip(&format!("link set {link} up"));
        let to_loopback = format!("/proc/sys/net/ipv4/conf/{link}/route_localnet");
        std::fs::write(to_loopback, "1").unwrap();
        machine.ip("link set lo up");
        machine.ip("link set eth up");
        machine.ip(&format!("address add 10.9.{number}.2/30 dev eth"));
        machine.ip(&format!("address add 10.7.{number}.2/30 dev eth"));
        // The mock web has 127.1.0.0/16. The console of a process stays on the machine's own loopback.
        let there = "echo 1 >/proc/sys/net/ipv4/conf/eth/route_localnet";
        succeeds(machine.command("sh").args(["-c", there]).output().unwrap());
        machine.ip("route add local 127.0.0.0/16 dev lo table local");
        machine.ip("route delete local 127.0.0.0/8 dev lo table local");
        machine.ip(&format!("route add 127.1.0.0/16 via 10.9.{number}.1 src 10.9.{number}.2"));
        machine.heal();
        machine
    }

    /// A program on this machine.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{}/ns/net", self.keeper.id())).arg(program);
        command
    }

    /// The same command on this machine.
    pub fn with(&self, command: &Command) -> Command {
        let mut there = self.command(command.get_program().to_str().unwrap());
        there.args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => there.env(name, value),
                None => there.env_remove(name),
            };
        }
        there
    }

    fn ip(&self, words: &str) {
        succeeds(self.command("ip").args(words.split(' ')).output().unwrap());
    }

    /// Cuts it off from the store, until it is [healed](Machine::heal).
    pub fn cut(&self, how: StoreCut) {
        match how {
            StoreCut::Whole => self.ip(&format!("route replace blackhole {STORE}/32")),
            StoreCut::Answers => ip(&format!("route replace blackhole 10.7.{}.2/32", self.number)),
        }
    }

    /// The store is there again.
    pub fn heal(&self) {
        let number = self.number;
        self.ip(&format!("route replace {STORE}/32 via 10.7.{number}.1 src 10.7.{number}.2"));
        // There may be none.
        let mut route = Command::new("ip");
        let _ = route.args(["route", "delete", "blackhole", &format!("10.7.{number}.2/32")]).output();
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}

fn ip(words: &str) {
    succeeds(Command::new("ip").args(words.split(' ')).output().unwrap());
}

//! The memory limit of each contender, including page cache: a control group of its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Location of control groups: the mount, the file with the limit, and the file of members.
const PLACES: [(&str, &str, &str); 2] = [
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "tasks"),
    ("/sys/fs/cgroup", "memory.max", "cgroup.procs"),
];

/// A control group, removed when it is dropped.
#[derive(Debug)]
pub struct ControlGroup {
    group: Option<(PathBuf, &'static str)>,
}

impl ControlGroup {
    /// A group with this memory limit in bytes, or none if the system does not permit one.
    pub fn new(bytes: u64, name: &str) -> ControlGroup {
        let made = PLACES.iter().find_map(|&(mount, limit, members)| {
            let group = Path::new(mount).join(name);
            make(&group, limit, bytes).ok().map(|()| (group, members))
        });
        ControlGroup { group: made }
    }

    /// Adds a process to the group, if there is one.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn put(&self, process: u32) -> io::Result<()> {
        let Some((group, members)) = &self.group else { return Ok(()) };
        fs::write(group.join(members), process.to_string())
    }

    /// Whether memory is limited. Otherwise the page cache may use the whole machine.
    pub fn is_set(&self) -> bool {
        self.group.is_some()
    }
}

fn make(group: &Path, limit: &str, bytes: u64) -> io::Result<()> {
    fs::create_dir(group)?;
    // A group without the memory controller has no such file.
    let set = fs::OpenOptions::new().write(true).open(group.join(limit)).and_then(|mut file| {
        use io::Write;
        file.write_all(bytes.to_string().as_bytes())
    });
    if set.is_err() {
        fs::remove_dir(group)?;
    }
    set
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        if let Some((group, _)) = &self.group
            && let Err(e) = fs::remove_dir(group)
        {
            eprintln!("{}: the control group stays behind: {e}", group.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_without_control_groups_limits_nothing_and_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let group = dir.path().join("group");
        assert!(make(&group, "memory.max", 1 << 30).is_err());
        assert!(!group.exists(), "what was made is removed");
        let limit = ControlGroup { group: None };
        assert!(limit.put(1).is_ok() && !limit.is_set());
    }
}

//! Figures of a running process from Linux' `/proc`.

use std::fs;

/// A figure of `/proc/PROCESS/status` in KiB, such as `VmRSS`; none if the process is gone.
pub fn kib(process: u32, name: &str) -> Option<u64> {
    figure(&fs::read_to_string(format!("/proc/{process}/status")).ok()?, name)
}

/// A figure of one reading of the status.
fn figure(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_memory_until_it_is_gone() {
        // Of one reading: other tests take and return memory meanwhile, and Linux counts both with a delay.
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let resident = figure(&status, "VmRSS");
        assert!(resident > Some(0) && figure(&status, "VmHWM") >= resident);
        assert!(kib(std::process::id(), "VmRSS") > Some(0));
        assert_eq!(kib(u32::MAX, "VmHWM"), None);
    }
}

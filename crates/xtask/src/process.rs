//! Figures of a running process from Linux' `/proc`.

use std::fs;

/// A figure of `/proc/PROCESS/status` in KiB, such as `VmRSS`; none if the process is gone.
pub fn kib(process: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_memory_until_it_is_gone() {
        // In this order: other tests take memory meanwhile.
        let resident = kib(std::process::id(), "VmRSS");
        assert!(resident > Some(0) && kib(std::process::id(), "VmHWM") >= resident);
        assert_eq!(kib(u32::MAX, "VmHWM"), None);
    }
}

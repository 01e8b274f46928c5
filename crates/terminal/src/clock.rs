//! The system clock, and times as text (RFC 3339); formatting never fails.

use recrawl_archive::LAST_SECOND;
use recrawl_crawl::failure::Failure;
use std::time::{Duration, SystemTime};

/// Refuses a clock that was never set.
///
/// # Errors
/// [`Failure::Work`] if it is before 1970: certificates could not be verified, nor times stored.
pub fn check(now: SystemTime) -> Result<(), Failure> {
    match now.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(_) => Ok(()),
        Err(_) => Err(Failure::Work("the system clock is before 1970; set it and restart".into())),
    }
}

/// A time as `2026-01-31T12:00:00.123456Z`; a time before 1970, to which a running clock may be set
/// back, as the beginning of 1970.
pub fn precise(at: SystemTime) -> String {
    let since =
        at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().min(Duration::from_millis(LAST_SECOND));
    humantime::format_rfc3339_micros(SystemTime::UNIX_EPOCH + since).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EARLY: SystemTime = SystemTime::UNIX_EPOCH;

    #[test]
    fn a_clock_before_1970_is_refused_and_no_clock_makes_a_text_fail() {
        let before = EARLY - Duration::from_secs(1);
        assert!(check(before).unwrap_err().to_string().contains("before 1970"));
        assert!(check(EARLY).is_ok() && check(SystemTime::now()).is_ok());
        assert_eq!([precise(before), precise(EARLY)], ["1970-01-01T00:00:00.000000Z"; 2].map(String::from));
        let far = EARLY + Duration::from_secs(1 << 40);
        assert_eq!(precise(far), "9999-12-31T23:59:59.000000Z");
    }
}

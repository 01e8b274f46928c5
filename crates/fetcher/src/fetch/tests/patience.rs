//! A run that leaves slow hosts to the next one.

use super::*;
use crate::StoppedBy;

const SECOND: Duration = Duration::from_secs(1);
const LINGER: Duration = Duration::from_secs(10);

fn patience(most: Duration) -> RunPatience {
    RunPatience { linger: LINGER, least: Some(LINGER), end: Instant::now() + most }
}

/// A setup of `hosts` hosts with three pages each; the first also has `more`. A host is asked once a second.
fn setup(hosts: usize, more: usize) -> Setup {
    let of_host = |host: usize| (0..if host == 0 { 3 + more } else { 3 }).map(move |page| (host, page));
    let pages: Vec<String> =
        (0..hosts).flat_map(of_host).map(|(host, page)| format!("http://h{host}.test/{page:03}")).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let setup = Setup::new(&pages, friendly).delay(SECOND);
    Setup { patience: Some(patience(SECOND * 600)), ..setup }
}

#[tokio::test(start_paused = true)]
async fn what_a_slow_host_has_left_is_neither_visited_nor_delivered() {
    let setup = setup(4, 97);
    let begun = Instant::now();
    let output = setup.run().await;
    assert_eq!(output.report.stopped_by, StoppedBy::SlowHosts);
    // Three hosts are done after robots.txt and three pages; the fourth then gets ten seconds more.
    let took = begun.elapsed();
    assert!(took > LINGER && took < LINGER + SECOND * 6, "{took:?}");
    let of_slow = output.pages.iter().filter(|page| &*page.entry.url.host() == "h0.test").count();
    assert_eq!(output.pages.len(), of_slow + 9);
    assert!((10..17).contains(&of_slow), "{of_slow}");
    assert_eq!(output.report.outcomes.total(), output.pages.len() as u64, "nothing is skipped");
}

#[tokio::test(start_paused = true)]
async fn hosts_that_all_need_long_are_waited_for_until_the_end() {
    let mut patient = setup(1, 97);
    let output = patient.run().await;
    assert_eq!((output.report.stopped_by, output.pages.len()), (StoppedBy::End, 100), "it is alone");
    patient.patience = Some(patience(SECOND * 30));
    let output = patient.run().await;
    assert_eq!(output.report.stopped_by, StoppedBy::SlowHosts);
    assert!((25..32).contains(&output.pages.len()), "{}", output.pages.len());
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_last_host_ends_in_time_is_done() {
    let output = setup(4, 5).run().await;
    assert_eq!((output.report.stopped_by, output.pages.len()), (StoppedBy::End, 17));
}

#[tokio::test(start_paused = true)]
async fn held_hosts_are_not_waited_for_longer_than_slow_ones() {
    let held = setup(2, 0);
    held.control.hold_host("h0.test", true);
    let begun = Instant::now();
    let output = held.run().await;
    assert_eq!((output.report.stopped_by, output.pages.len()), (StoppedBy::SlowHosts, 3));
    assert!(begun.elapsed() < LINGER + SECOND * 6, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_run_says_until_when_it_waits_for_slow_hosts() {
    let setup = setup(4, 97);
    let begun = Instant::now();
    let seconds_left = async {
        let mut left = Vec::new();
        for at in [2, 8] {
            tokio::time::sleep_until(begun + SECOND * at).await;
            let ends_by = setup.control.figures().ends_by.expect("it is patient");
            left.push((ends_by - NOW) / 1000 - u64::from(at));
        }
        left
    };
    let (_, left) = tokio::join!(setup.run(), seconds_left);
    assert!(left[0] > 590 && left[1] <= 10, "half of the hosts are done between: {left:?}");
}

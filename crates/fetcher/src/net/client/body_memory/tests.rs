use super::*;
use proptest::prelude::*;
use std::sync::Mutex;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

const MAX_BODY: usize = 2 << 20;

/// A body: its final length, the time between two of its parts, how long it is kept, and whether its request is
/// given up after the second part.
type Life = (usize, u64, u64, bool);

fn life() -> impl Strategy<Value = Life> {
    (0..=MAX_BODY, 0u64..50, 0u64..500, prop::bool::weighted(0.2))
}

/// Memory that bodies over [`MAX_SMALL_BODY`] have now, and the most that they had.
#[derive(Default)]
struct Tally(Mutex<(usize, usize)>);

impl Tally {
    fn change(&self, from: usize, to: usize) {
        let large = |bytes| if bytes > MAX_SMALL_BODY { bytes } else { 0 };
        let mut tally = self.0.lock().unwrap();
        tally.0 = tally.0 + large(to) - large(from);
        tally.1 = tally.1.max(tally.0);
    }
}

async fn live((length, pause, kept, is_given_up): Life, memory: BodyMemory, tally: Arc<Tally>) {
    let (mut share, mut body, mut space, meter) = (MemoryShare::default(), Vec::new(), 0, Meter::default());
    for part in 0.. {
        if is_given_up && part == 2 {
            return tally.change(space, 0);
        }
        let more = (2 * space).clamp(8 << 10, MAX_BODY);
        memory.grow(&mut share, more, &meter).await;
        tally.change(space, more);
        body.reserve_exact(more - body.len());
        (space, _) = (more, body.resize(more.min(length), 0));
        if body.len() == length {
            break;
        }
        sleep(Duration::from_millis(pause)).await;
    }
    let bytes = share.keep(body);
    tally.change(space, bytes.len());
    let copy = bytes.slice(..bytes.len() / 2);
    drop(bytes);
    sleep(Duration::from_millis(kept)).await;
    tally.change(length, 0);
    drop(copy);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn bodies_never_have_more_than_the_memory_and_all_come_to_their_end(
        lives in prop::collection::vec(life(), 1..60),
        bytes in MAX_BODY..4 * MAX_BODY,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let most = runtime.unwrap().block_on(async {
            let (memory, tally) = (BodyMemory::new(bytes, MAX_BODY), Arc::new(Tally::default()));
            let all_free = memory.free();
            let mut bodies = JoinSet::new();
            for life in lives {
                bodies.spawn(live(life, memory.clone(), tally.clone()));
            }
            // Of sixty bodies one at a time, each takes five seconds at most.
            timeout(Duration::from_secs(600), bodies.join_all()).await.expect("no body waits for ever");
            assert_eq!((memory.free(), memory.reserve.available_permits()), (all_free, 1), "all is returned");
            tally.0.lock().unwrap().1
        });
        prop_assert!(most <= bytes, "{} of {}", most, bytes);
    }
}

#[tokio::test(start_paused = true)]
async fn a_small_body_does_not_wait_and_a_large_one_does() {
    let memory = BodyMemory::new(MAX_BODY, MAX_BODY);
    let (mut first, meter) = (MemoryShare::default(), Meter::default());
    memory.grow(&mut first, MAX_BODY, &meter).await;
    let held = first.keep(vec![0; MAX_BODY]);
    let mut small = MemoryShare::default();
    memory.grow(&mut small, MAX_SMALL_BODY, &meter).await;
    assert_eq!(meter.waited(), Duration::ZERO);
    let mut second = MemoryShare::default();
    let grown = memory.grow(&mut second, MAX_SMALL_BODY + 1, &meter);
    let read = async {
        sleep(Duration::from_secs(7)).await;
        drop(held);
    };
    tokio::join!(grown, read);
    assert_eq!(meter.waited(), Duration::from_secs(7));
}

#[tokio::test(start_paused = true)]
async fn time_spent_waiting_for_memory_is_not_the_servers() {
    let memory = BodyMemory::new(MAX_BODY, MAX_BODY);
    let mut first = MemoryShare::default();
    memory.grow(&mut first, MAX_BODY, &Meter::default()).await;
    let (meter, start) = (Meter::default(), Instant::now());
    // Two seconds of the server, then ten of waiting, then the rest of the server's.
    let request = |rest: u64| {
        let (memory, meter) = (&memory, &meter);
        async move {
            sleep(Duration::from_secs(2)).await;
            memory.grow(&mut MemoryShare::default(), MAX_BODY, meter).await;
            sleep(Duration::from_secs(rest)).await;
        }
    };
    let read = async {
        sleep(Duration::from_secs(12)).await;
        drop(first);
    };
    let (ended, ()) = tokio::join!(meter.within(Duration::from_secs(5), request(2)), read);
    assert_eq!((ended, start.elapsed()), (Some(()), Duration::from_secs(14)));
    assert_eq!(meter.within(Duration::from_secs(5), request(4)).await, None);
    assert_eq!(start.elapsed(), Duration::from_secs(19));
}

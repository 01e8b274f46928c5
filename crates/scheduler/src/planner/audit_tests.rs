//! The probabilities of the audit sample.

use crate::testing::{ListedScores, fetched, plan, request, unfetched};
use crate::{Gate, PlanRequest};
use recrawl_types::{Known, Share};

/// The recorded probability p is that of a two-phase draw. Over many draws, the mean of 1/p is
/// one for each eligible page, whatever slots warm-up, announced pages, discovery, ties and
/// limits take.
#[test]
fn over_a_hundred_thousand_draws_each_page_stands_for_itself() {
    let mut pages = vec![fetched(3, 50); 12];
    pages.extend([fetched(1, 50), fetched(1, 60), unfetched(0), unfetched(1)]);
    pages.extend(vec![fetched(4, 60); 5]);
    pages.extend([(Known { is_announced: true, ..fetched(3, 50).0 }, fetched(3, 50).1); 3]);
    pages.extend([fetched(1, 50), fetched(1, 50), fetched(1, 50), fetched(3, 50)]);
    // Hosts of sixteen pages (two in warm-up), of eight, and of four whose warm-up takes all
    // slots.
    let hosts = [16, 8, 4];
    let request = PlanRequest {
        pages: 12,
        audit_share: 0.5,
        announced_share: 0.2,
        discovery_share: 0.1,
        max_per_host: Some(3),
        ..request()
    };
    let hosts_with_places = 24;
    let rounds = 100_000u64;
    let mut sums = vec![(0.0, 0.0); pages.len()];
    for seed in 0..rounds {
        let request = PlanRequest { seed, ..request.clone() };
        let made = plan(&request, &mut ListedScores(vec![1.0; pages.len()]), &pages, &hosts, 64).unwrap();
        assert_eq!(made.counts.audit_eligible, 20);
        for (ordinal, share) in made.chosen {
            let Share::Audit(probability) = share else { continue };
            let sum = &mut sums[ordinal as usize];
            *sum = (sum.0 + 1.0 / probability, sum.1 + 1.0 / (probability * probability));
        }
    }
    for (at, ((known, history), sum)) in pages.iter().zip(sums).enumerate() {
        let gate = Gate::for_page(known, history.map(|h| h.visits), request.cycle, request.warmup);
        if gate != Gate::Revisit || at >= hosts_with_places {
            assert_eq!(sum, (0.0, 0.0), "page {at} is not of the population");
            continue;
        }
        let mean = sum.0 / rounds as f64;
        let error = ((sum.1 / rounds as f64 - mean * mean) / rounds as f64).sqrt();
        assert!((mean - 1.0).abs() < 4.5 * error && error < 0.02, "page {at}: {mean} ± {error}");
    }
}

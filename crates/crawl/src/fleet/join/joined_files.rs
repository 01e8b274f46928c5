//! Messages that wait, and what targets of documents hold.

use crate::failure::Failure;
use crate::operator::stopped::StoppedCrawl;
use recrawl_notifications::store;
use recrawl_repository::storage::Storage;
use recrawl_repository::{CopyHead, CopyReader, CopyWriter, JoinedRound, StoredPosition, copies};
use recrawl_types::Round;
use std::collections::BTreeSet;

/// Puts together how far each target was told: as far as it was told of each part, so some messages are sent again.
pub fn join_messages(
    parts: &[StoppedCrawl],
    base: usize,
    rounds: &[JoinedRound],
    next: Round,
) -> Result<(), Failure> {
    let mut joined = store::Deliveries::new();
    let mut has_some = false;
    for (at, part) in parts.iter().enumerate() {
        let deliveries = store::read(&*part.storage).map_err(Failure::work)?;
        has_some |= !deliveries.is_empty();
        for (name, mut delivery) in deliveries {
            delivery.place = moved(&delivery.place, at, rounds, next);
            delivery.digest_to =
                delivery.digest_to.map(|round| moved(&StoredPosition::before(round), at, rounds, next).round);
            match joined.get_mut(&name) {
                None => _ = joined.insert(name, delivery),
                Some(known) => {
                    known.held.append(&mut delivery.held);
                    known.digest_to = known.digest_to.max(delivery.digest_to);
                    if (delivery.place.round, &delivery.place.after) < (known.place.round, &known.place.after)
                    {
                        known.place = delivery.place;
                    }
                }
            }
        }
    }
    match has_some {
        true => store::write(&*parts[base].storage, &joined).map_err(Failure::work),
        false => Ok(()),
    }
}

/// A position by the numbers after the joining.
fn moved(place: &StoredPosition, at: usize, rounds: &[JoinedRound], next: Round) -> StoredPosition {
    let of_part = |round: &JoinedRound| {
        round
            .parts
            .iter()
            .find(|(of, part)| *of == at && part.round >= place.round)
            .map(|(_, part)| part.round)
    };
    let found = rounds.iter().find_map(|round| Some((round.round.round, of_part(round)?)));
    let (round, of_part) = found.unwrap_or((next, next));
    let after = place.after.clone().filter(|_| of_part == place.round);
    StoredPosition { round, after, lost: place.lost }
}

/// Puts the copies of one name behind one another.
pub fn join_copies(parts: &[&dyn Storage], base: usize) -> Result<(), Failure> {
    let mut names = BTreeSet::new();
    for part in parts {
        names.extend(copies(*part)?);
    }
    for name in names {
        let open = |part: &&dyn Storage| CopyReader::open(*part, &name);
        let mut readers =
            parts.iter().map(open).collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect::<Vec<_>>();
        let mut head = CopyHead::default();
        for (at, of_part) in readers.iter().map(CopyReader::head).enumerate() {
            if at > 0 && of_part.target != head.target {
                return Err(Failure::Work(format!(
                    "the parts deliver to different addresses as {name:?}: {} and {}; start each once with one \
                     configuration first",
                    head.target, of_part.target
                )));
            }
            head.target.clone_from(&of_part.target);
            head.version = head.version.max(of_part.version);
            head.given_up = head.given_up.max(of_part.given_up);
            let known: BTreeSet<String> = head.purge.iter().cloned().collect();
            head.purge.extend(of_part.purge.iter().filter(|pattern| !known.contains(*pattern)).cloned());
        }
        let mut writer = CopyWriter::create(parts[base], &name, &head).map_err(Failure::work)?;
        for reader in &mut readers {
            while let Some((url, held)) = reader.next_page()? {
                writer.push(&url, &held).map_err(Failure::work)?;
            }
        }
        writer.finish(parts[base]).map_err(Failure::work)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_repository::Held;
    use recrawl_repository::storage::MemoryStorage;
    use recrawl_types::{CanonicalUrl, Cycle, DatedRound, UrlRules};

    fn url(page: u32) -> CanonicalUrl {
        UrlRules::default().canonicalize(&format!("http://h{page}.test/")).unwrap()
    }

    #[test]
    fn a_position_follows_its_round() {
        let dated = |round, cycle| DatedRound { round: Round(round), cycle: Cycle(cycle) };
        let rounds = [
            JoinedRound { round: dated(6, 6), parts: vec![(0, dated(6, 6))] },
            JoinedRound { round: dated(7, 7), parts: vec![(0, dated(7, 7)), (1, dated(5, 7))] },
        ];
        let place = |round, after| StoredPosition { round: Round(round), after, lost: 3 };
        let moved = |at, round, after| moved(&place(round, after), at, &rounds, Round(8));
        assert_eq!(moved(1, 5, Some(url(1))), place(7, Some(url(1))));
        assert_eq!(moved(1, 4, Some(url(1))), place(7, None), "what is kept no more is passed as before");
        assert_eq!(moved(1, 6, None), place(8, None), "all was read");
        assert_eq!(moved(0, 6, None), place(6, None));
    }

    #[test]
    fn copies_are_put_behind_one_another_and_addresses_must_agree() {
        let parts = [MemoryStorage::new(), MemoryStorage::new()];
        let write = |at: usize, name: &str, target: &str, version, page| {
            let head =
                CopyHead { target: target.into(), version, purge: vec!["a".into()], ..CopyHead::default() };
            let mut writer = CopyWriter::create(&parts[at], name, &head).unwrap();
            writer.push(&url(page), &Held::Unsure).unwrap();
            writer.finish(&parts[at]).unwrap();
        };
        write(0, "one", "http://t.test/", 7, 1);
        write(1, "one", "http://t.test/", 9, 2);
        write(0, "other", "http://u.test/", 1, 1);
        let storages: Vec<&dyn Storage> = parts.iter().map(|part| part as &dyn Storage).collect();
        join_copies(&storages, 1).unwrap();
        let mut joined = CopyReader::open(&parts[1], "one").unwrap().unwrap();
        assert_eq!((joined.head().version, joined.head().purge.len()), (9, 1));
        let pages: Vec<_> = std::iter::from_fn(|| joined.next_page().unwrap()).map(|(url, _)| url).collect();
        assert_eq!(pages, [url(1), url(2)]);
        assert!(CopyReader::open(&parts[1], "other").unwrap().is_some());
        write(0, "one", "http://elsewhere.test/", 7, 1);
        let error = join_copies(&storages, 1).unwrap_err().to_string();
        assert!(error.contains("elsewhere"), "{error}");
    }
}

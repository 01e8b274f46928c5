//! The SimHash of a text (Charikar 2002; Manku et al. 2007): bit *i* is set if more than half of
//! the features have bit *i* set in their hash.
//! The `simhash` crate defines the bits. It adds to 64 counters per feature. Here the counters are
//! bit-sliced: plane *j* holds bit *j* of all 64 counts, so a carry-save adder counts a feature's
//! 64 bits in a few operations (Harley and Seal). A property test compares the two.
//! bits in a few operations (Harley and Seal). A property test holds both equal.

use crate::sip;
use crate::words::Words;

/// The SimHash over all runs of `n` words; 0 for a text without words.
pub(crate) fn simhash(words: &Words, n: usize) -> u64 {
    let bytes = words.padded();
    let mut counts = BitCounts::default();
    // Hashing goes in pairs of equal length; the order of features does not matter to the sum.
    let mut waiting = [None; 16];
    for run in words.runs(n) {
        let slot = sip::blocks(run);
        match waiting.get_mut(slot) {
            Some(place) => match place.take() {
                Some(other) => {
                    let (a, b) = sip::hash_pair(bytes, other, run);
                    counts.add(a);
                    counts.add(b);
                }
                None => *place = Some(run),
            },
            // Long ones are rare: alone.
            None => counts.add(sip::hash_pair(bytes, run, run).0),
        }
    }
    for run in waiting.into_iter().flatten() {
        counts.add(sip::hash_pair(bytes, run, run).0);
    }
    counts.majority()
}

/// 64 counters of up to 2^32 − 1.
#[derive(Default)]
struct BitCounts {
    /// Hashes seen.
    total: u32,
    /// Bits 0, 1 and 2 of the counts.
    ones: u64,
    twos: u64,
    fours: u64,
    /// Bits 3 and up.
    eights: [u64; 29],
    /// Hashes not added yet.
    batch: [u64; 8],
}

impl BitCounts {
    fn add(&mut self, hash: u64) {
        let place = self.total % 8;
        self.batch[place as usize] = hash;
        self.total += 1;
        if place == 7 {
            self.add_batch();
        }
    }

    fn add_batch(&mut self) {
        let b = self.batch;
        let (ones, two_a) = full_adder(self.ones, b[0], b[1]);
        let (ones, two_b) = full_adder(ones, b[2], b[3]);
        let (twos, four_a) = full_adder(self.twos, two_a, two_b);
        let (ones, two_a) = full_adder(ones, b[4], b[5]);
        let (ones, two_b) = full_adder(ones, b[6], b[7]);
        let (twos, four_b) = full_adder(twos, two_a, two_b);
        let (fours, mut carry) = full_adder(self.fours, four_a, four_b);
        (self.ones, self.twos, self.fours) = (ones, twos, fours);
        for plane in &mut self.eights {
            if carry == 0 {
                break;
            }
            (*plane, carry) = (*plane ^ carry, *plane & carry);
        }
    }

    /// The bits that more than half of the hashes have.
    fn majority(mut self) -> u64 {
        let total = self.total;
        // The rest of the last batch, filled up with hashes of no bits.
        if !total.is_multiple_of(8) {
            self.batch[(total % 8) as usize..].fill(0);
            self.add_batch();
        }
        let half = total / 2;
        // Compare each count with `half`, from the highest bit down.
        let (mut greater, mut equal) = (0, u64::MAX);
        let planes = [self.ones, self.twos, self.fours].into_iter().chain(self.eights);
        let planes: Vec<u64> = planes.collect();
        for (bit, plane) in planes.iter().enumerate().rev() {
            let of_half = if half >> bit & 1 == 1 { u64::MAX } else { 0 };
            greater |= equal & plane & !of_half;
            equal &= !(plane ^ of_half);
        }
        greater
    }
}

/// Sum and carry of three bits, 64 times.
fn full_adder(a: u64, b: u64, c: u64) -> (u64, u64) {
    let u = a ^ b;
    (u ^ c, a & b | u & c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn by_the_crate(text: &str, n: usize) -> u64 {
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.len() < n {
            return simhash::simhash_stream(
                std::iter::once(words.join(" ").as_str()).filter(|t| !t.is_empty()),
            );
        }
        let features: Vec<String> = words.windows(n).map(|w| w.join(" ")).collect();
        simhash::simhash_stream(features.iter().map(String::as_str))
    }

    #[test]
    fn long_texts_equal_the_crate() {
        for count in [7, 8, 9, 63, 64, 65, 1_000, 20_011] {
            let text: String = (0..count).map(|i| format!("w{} ", i * 7_919 % 4_001)).collect();
            for n in 1..=4 {
                assert_eq!(
                    simhash(&Words::split_text(&text), n),
                    by_the_crate(&text, n),
                    "{count} words in {n}s"
                );
            }
        }
        // One word so often that every count is the total or nothing.
        let text = "same ".repeat(70_000);
        assert_eq!(simhash(&Words::split_text(&text), 1), by_the_crate(&text, 1));
    }

    proptest! {
        #[test]
        fn every_text_equals_the_crate(
            text in proptest::collection::vec("[a-zäß€\u{3000}]{0,40}|[a-c]{100,300}|.{0,9}", 0..60),
            n in 1usize..5,
        ) {
            let text = text.join(" ");
            prop_assert_eq!(simhash(&Words::split_text(&text), n), by_the_crate(&text, n));
        }
    }
}

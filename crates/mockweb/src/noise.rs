//! Cosmetic noise: parts of a page that differ in every response although the page has not changed.
//!
//! Noise is a clock, a visitor counter, a rotating advertisement and a session token. It depends
//! only on the serial number of the response, never on a real clock, so that runs are repeatable.

use crate::seed::{Stream, mix, unit};

const ADS: [&str; 8] = [
    "Fresh roasted coffee delivered to your door every week",
    "Learn to play the cello in thirty days or your money back",
    "The hotel by the lake has rooms left for the long weekend",
    "Running shoes that weigh less than this sentence",
    "Insure your bicycle before somebody else rides it home",
    "Our new mattress has been tested by four thousand sleepers",
    "Half price on garden tools until the end of the month",
    "A newspaper that prints one story a day and explains it",
];

const NOISE: u64 = 0x6e6f_6973;

/// Which hosts make noise, by share.
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    seed: u64,
    share: f64,
}

impl Noise {
    /// Noise on this share (0 to 1) of the hosts, chosen by the seed.
    pub fn new(seed: u64, share: f64) -> Noise {
        Noise { seed, share }
    }

    /// Does this host make noise?
    pub fn is_on(&self, host: u32) -> bool {
        unit(mix(&[self.seed, NOISE, u64::from(host)])) < self.share
    }

    /// The noise of one response: a piece of HTML, empty on a quiet host.
    pub fn html(&self, host: u32, serial: u64) -> String {
        if !self.is_on(host) {
            return String::new();
        }
        let mut stream = Stream::new(&[self.seed, NOISE, u64::from(host), serial]);
        let second = serial.wrapping_mul(7) % 86_400;
        let ad = ADS[stream.below(ADS.len() as u32) as usize];
        format!(
            "<div class=\"notice\"><p>It is {:02}:{:02}:{:02}. Visitor number {}.</p>\
             <p class=\"ad\">{ad}.</p>\
             <form><input type=\"hidden\" name=\"token\" value=\"{:016x}\"></form></div>\n",
            second / 3_600,
            second / 60 % 60,
            second % 60,
            serial + 1,
            stream.next_bits(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_differs_at_every_response_and_can_be_repeated() {
        let noise = Noise::new(3, 1.0);
        assert_eq!(noise.html(0, 5), noise.html(0, 5));
        let mut seen: Vec<String> = (0..1_000).map(|serial| noise.html(0, serial)).collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 1_000);
    }

    #[test]
    fn the_share_of_noisy_hosts_is_the_one_asked_for() {
        assert!((0..100).all(|host| Noise::new(1, 0.0).html(host, 1).is_empty()));
        assert!((0..100).all(|host| Noise::new(1, 1.0).is_on(host)));
        let noisy = (0..10_000).filter(|&host| Noise::new(1, 0.3).is_on(host)).count();
        assert!((2_800..3_200).contains(&noisy), "{noisy}");
    }
}

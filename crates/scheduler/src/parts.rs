//! How the revisit rounds of a cycle divide k.

use std::str::FromStr;

/// The number of rounds, or a list with the share of each. The last one gets the rest.
#[derive(Clone, Debug, PartialEq)]
pub enum Parts {
    /// This number of rounds, all alike.
    Equal(u32),
    /// A round for each share.
    Shares(Vec<f64>),
}

/// Maximum number of revisit rounds in a cycle.
pub const MAX_PARTS: u32 = 100;

impl Parts {
    /// The parts, if they can be.
    ///
    /// # Errors
    /// For no round, more than [`MAX_PARTS`], shares outside 0 to 1, or more than one in sum.
    pub fn check(self) -> Result<Parts, String> {
        let shares = match &self {
            Parts::Equal(_) => &[][..],
            Parts::Shares(shares) => shares,
        };
        let sum: f64 = shares.iter().sum();
        match self.count() {
            0 => Err("a cycle has one round at least".into()),
            count if count > MAX_PARTS => Err(format!("{count} rounds; the maximum is {MAX_PARTS}")),
            _ if shares.iter().any(|share| !(0.0..=1.0).contains(share)) => {
                Err("a share is a number from 0 to 1".into())
            }
            _ if sum > 1.0 + 1e-9 => Err(format!("the shares add up to {sum}; the maximum is 1")),
            _ => Ok(self),
        }
    }

    /// Number of rounds.
    pub fn count(&self) -> u32 {
        match self {
            Parts::Equal(count) => *count,
            Parts::Shares(shares) => shares.len() as u32,
        }
    }

    /// The share of k that the rounds up to this one spend, counted from 0.
    pub fn up_to(&self, part: u32) -> f64 {
        match self {
            _ if part + 1 >= self.count() => 1.0,
            Parts::Equal(count) => f64::from(part + 1) / f64::from(*count),
            Parts::Shares(shares) => shares.iter().take(part as usize + 1).sum::<f64>().min(1.0),
        }
    }
}

/// Reads `5`, or `0.4,0.6`.
impl FromStr for Parts {
    type Err = String;

    fn from_str(text: &str) -> Result<Parts, String> {
        let parts = match text.parse() {
            Ok(count) => Parts::Equal(count),
            Err(_) => {
                let shares: Result<_, _> = text.split(',').map(|share| share.trim().parse()).collect();
                Parts::Shares(shares.map_err(|_| "write a number such as 3, or shares such as 0.5,0.5")?)
            }
        };
        parts.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_is_divided_by_number_or_by_shares() {
        let up_to = |text: &str| {
            let parts: Parts = text.parse().unwrap();
            (0..parts.count()).map(|part| parts.up_to(part)).collect::<Vec<_>>()
        };
        assert_eq!(up_to("1"), [1.0]);
        assert_eq!(up_to("4"), [0.25, 0.5, 0.75, 1.0]);
        assert_eq!(up_to("0.5, 0.25,0.25"), [0.5, 0.75, 1.0]);
        assert_eq!(up_to("0.5,0.1"), [0.5, 1.0], "the last one gets the rest");
        for (text, says) in [
            ("0", "one round at least"),
            ("", "write a number"),
            ("101", "maximum is 100"),
            ("0.7,0.5", "add up to 1.2"),
            ("1.5,-0.5", "from 0 to 1"),
            ("NaN,0.5", "from 0 to 1"),
            ("many", "write a number"),
        ] {
            let error = text.parse::<Parts>().unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}

//! Why a partition is free, and in which words a process takes it.

/// Why a partition is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyFree {
    /// Nobody has owned it.
    New,
    /// The process that owned it ran here, and has ended.
    Own,
    /// Its owner has ended, and its vault has all.
    Freed,
    /// Its owner has given it up for this process.
    HandedOver,
    /// Its owner has shown no sign of life for a lease.
    Silent,
}

impl WhyFree {
    /// May several processes copy it?
    pub fn is_contested(self) -> bool {
        matches!(self, WhyFree::Freed | WhyFree::Silent)
    }

    /// From whom it is taken, for the log: `silent` is the owner's name, and how long it has told nothing. None if from nobody.
    pub fn words(self, partition: u32, silent: Option<(&str, String)>) -> Option<String> {
        Some(match (self, silent) {
            (WhyFree::New | WhyFree::Own, _) => return None,
            (WhyFree::Freed, _) => format!("takes partition {partition}, which its owner has freed"),
            (WhyFree::HandedOver, _) => {
                format!("takes partition {partition}, which its owner has handed over")
            }
            (WhyFree::Silent, Some((owner, time))) => {
                format!("takes partition {partition} over from {owner}, silent for {time}")
            }
            (WhyFree::Silent, None) => {
                format!("takes partition {partition} over: its owner has been silent for a lease")
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_takeover_names_the_owner_before() {
        let words = |why: WhyFree| why.words(2, Some(("b", "12 s".into()))).unwrap_or_default();
        assert_eq!(words(WhyFree::Silent), "takes partition 2 over from b, silent for 12 s");
        let gone = WhyFree::Silent.words(2, None).unwrap();
        assert_eq!(gone, "takes partition 2 over: its owner has been silent for a lease");
        assert_eq!(words(WhyFree::Freed), "takes partition 2, which its owner has freed");
        assert_eq!([words(WhyFree::New), words(WhyFree::Own)], ["", ""]);
    }
}

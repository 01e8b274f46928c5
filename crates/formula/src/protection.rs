//! What division and logarithm yield where they are not defined.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How division and logarithm are kept from their undefined places. The thesis, the journal article
/// and the authors' own program (Santos et al. 2013, 2015) each do it differently; `exp` and `pow` are
/// plain in all three, so NaN and infinities can still come out.
///
/// | | x / y | log x |
/// |---|---|---|
/// | `program` (default) | \|y\| < 10⁻⁶: −10⁶ if x·y < 0, else 10⁶ | \|x\| ≤ 1: 0, else ln \|x\| |
/// | `thesis` | \|y\| < 10⁻⁶: −10⁶ if just one of x, y is below 0, else 10⁶ | x = 0: 0, else ln x (NaN below 0) |
/// | `journal` | y = 0: 0 | x ≤ 0: 0, else ln x |
///
/// `program` is the default because it made the published figures. The thesis gives no numbers for
/// "very close to zero" and "very large"; the program's stand in, so that the two differ only for y = 0
/// below a negative x, and where x·y is too small for an `f64`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// As in the authors' program.
    #[default]
    Program,
    /// As in the text of the thesis.
    Thesis,
    /// As in the text of the journal article.
    Journal,
}

impl Protection {
    /// Every protection.
    pub const ALL: [Protection; 3] = [Protection::Program, Protection::Thesis, Protection::Journal];
    /// A divisor nearer to zero than this is taken for zero (`program`, `thesis`).
    pub const NEAR_ZERO: f64 = 1e-6;
    /// What such a division yields, but for the sign.
    pub const VERY_LARGE: f64 = 1e6;

    /// Where a logarithm is constant, in words.
    pub fn flat_log(self) -> &'static str {
        match self {
            Protection::Program => {
                "log x is 0 wherever |x| ≤ 1, as it is for every probability; \
                 multiply x by a constant above 1, or set protection to `thesis` or `journal`"
            }
            Protection::Thesis => "log x is 0 at x = 0, and no number below",
            Protection::Journal => "log x is 0 wherever x ≤ 0",
        }
    }

    /// The name in formula files.
    pub fn name(self) -> &'static str {
        match self {
            Protection::Program => "program",
            Protection::Thesis => "thesis",
            Protection::Journal => "journal",
        }
    }
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

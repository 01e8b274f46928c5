//! The values of undefined divisions and logarithms.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How division and logarithm are protected from undefined values. The thesis, the journal article
/// and the authors' program (Santos et al. 2013, 2015) each do it differently. `exp` and `pow` are
/// plain in all three, so results may still be NaN or infinite.
///
/// | | x / y | log x |
/// |---|---|---|
/// | `program` (default) | \|y\| < 10⁻⁶: −10⁶ if x·y < 0, else 10⁶ | \|x\| ≤ 1: 0, else ln \|x\| |
/// | `thesis` | \|y\| < 10⁻⁶: −10⁶ if just one of x, y is below 0, else 10⁶ | x = 0: 0, else ln x (NaN below 0) |
/// | `journal` | y = 0: 0 | x ≤ 0: 0, else ln x |
///
/// `program` is the default because it made the published figures. The thesis gives no numbers for
/// "very close to zero" and "very large", so the program's are used. The two then differ only for y
/// = 0 and negative x, and if x·y underflows.
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
    /// All protections.
    pub const ALL: [Protection; 3] = [Protection::Program, Protection::Thesis, Protection::Journal];
    /// A divisor nearer to zero than this counts as zero (`program`, `thesis`).
    pub const NEAR_ZERO: f64 = 1e-6;
    /// The absolute value of such a division.
    pub const VERY_LARGE: f64 = 1e6;

    /// Where a logarithm is constant, as text.
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

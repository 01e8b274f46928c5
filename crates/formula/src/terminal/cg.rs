//! `cg`: the rate of change by CG.

use super::Terminal;
use crate::estimator::cg::ESTIMATOR;

pub(super) static TERMINAL: Terminal = Terminal::rate(ESTIMATOR);

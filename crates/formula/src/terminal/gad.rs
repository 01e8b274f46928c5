//! `gad`: the rate of change by GAD.

use super::Terminal;
use crate::estimator::gad::ESTIMATOR;

pub(super) static TERMINAL: Terminal = Terminal::rate(ESTIMATOR);

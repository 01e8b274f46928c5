//! `aad`: the rate of change by AAD.

use super::Terminal;
use crate::estimator::aad::ESTIMATOR;

pub(super) static TERMINAL: Terminal = Terminal::rate(ESTIMATOR);

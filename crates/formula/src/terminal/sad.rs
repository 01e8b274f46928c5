//! `sad`: the rate of change by SAD.

use super::Terminal;
use crate::estimator::sad::ESTIMATOR;

pub(super) static TERMINAL: Terminal = Terminal::rate(ESTIMATOR);

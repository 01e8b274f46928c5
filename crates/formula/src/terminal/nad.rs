//! `nad`: the rate of change by NAD.

use super::Terminal;
use crate::estimator::nad::ESTIMATOR;

pub(super) static TERMINAL: Terminal = Terminal::rate(ESTIMATOR);

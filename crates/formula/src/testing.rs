//! Test helpers: random expressions and records, and an independent, naive evaluator.

use crate::signal::Signalled;
use crate::{Basis, Expr, Priors, Protection, SiteRates, function, math, refresh, terminal};
use proptest::prelude::*;
use recrawl_types::{Cycle, History, Known, NEXT_CHANGE_WEIGHTS, StateColumns, decay};
use std::path::Path;

/// Fails unless the listed names are those of the folder's files (without extension, ignoring
/// case). `folder` is relative to the crate.
pub(crate) fn assert_lists_folder(listed: &[String], folder: &str, extension: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == extension))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_lowercase())
        .filter(|name| name != "tests")
        .collect();
    let mut listed: Vec<String> = listed.iter().map(|name| name.to_lowercase()).collect();
    files.sort();
    listed.sort();
    assert_eq!(files, listed, "files of {} beside the list", folder.display());
}

/// Any finite number, often a special one.
pub(crate) fn constants() -> impl Strategy<Value = f64> {
    prop_oneof![
        prop::sample::select(vec![
            0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 10.0, 0.1, 1e-7, -1e-7, 1e-6, 1000.0, 1e300, -1e300, 5e-324
        ]),
        prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO,
        -100.0..100.0f64,
    ]
}

/// Any number, including infinities and NaN.
pub(crate) fn numbers() -> impl Strategy<Value = f64> {
    prop_oneof![4 => constants(), 1 => prop::num::f64::ANY, 1 => 0.0..1.0f64]
}

/// Any expression of up to about 60 nodes.
pub(crate) fn expressions() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        constants().prop_map(Expr::Constant),
        prop::sample::select(terminal::ALL).prop_map(Expr::Terminal),
    ];
    leaf.prop_recursive(7, 60, 2, |inner| {
        (prop::sample::select(function::ALL), inner.clone(), inner).prop_map(|(function, x, y)| {
            let mut arguments = vec![x, y];
            arguments.truncate(function.arity);
            Expr::Call(function, arguments)
        })
    })
}

pub(crate) fn protections() -> impl Strategy<Value = Protection> {
    prop::sample::select(&Protection::ALL[..])
}

pub(crate) fn bases() -> impl Strategy<Value = Basis> {
    prop::sample::select(&Basis::ALL[..])
}

/// The history of a page that was fetched and then visited at random, with the cycle of the last
/// visit.
pub(crate) fn histories() -> impl Strategy<Value = History> {
    let visits = prop::collection::vec((1u32..5, any::<bool>()), 0..40);
    (0u32..4, visits).prop_map(|(first, visits)| {
        let mut history = History::first_fetch(Cycle(first));
        for (gap, changed) in visits {
            history.record(Cycle(history.last.0 + gap), changed);
        }
        history
    })
}

/// The change rate of a site, in changes per cycle.
pub(crate) fn rates() -> impl Strategy<Value = f64> {
    prop_oneof![1e-9..1.0f64, 1.0..50.0f64]
}

/// A block of up to `most` pages, visited or not, as of cycle [`NOW`].
pub(crate) fn blocks(most: usize) -> impl Strategy<Value = StateColumns> {
    let groups = (rates(), rates(), rates());
    let page = (prop::option::weighted(0.8, histories()), groups, 0.01..100.0f64, signals());
    let beside = (rates(), any::<bool>(), prop::array::uniform9(-3.0..3.0f64));
    (prop::collection::vec(page, 0..most), beside).prop_map(|(pages, (global, has_signals, next_change))| {
        let mut columns = StateColumns { global_rate: global, next_change, ..StateColumns::default() };
        for (history, (site, section, siblings), burst, (signals, precision, recall)) in &pages {
            columns.push(Known::default(), history.as_ref());
            columns.site_rate.push(*site);
            columns.section_rate.push(*section);
            columns.sibling_rate.push(*siblings);
            columns.burst.push(*burst);
            if has_signals {
                columns.signals.push(*signals);
                columns.relevance.push(*precision);
                columns.importance.push(10.0 * *recall);
                columns.in_links_rank.push(*precision);
                columns.signal_precision.push(*precision);
                columns.signal_recall.push(*recall);
            }
        }
        columns
    })
}

/// Signals since the last visit, their precision and their recall.
fn signals() -> impl Strategy<Value = (u8, f64, f64)> {
    let share = || prop_oneof![Just(0.0), Just(1.0), 0.0..1.0f64];
    (prop_oneof![0u8..3, any::<u8>()], share(), share())
}

/// What a page's record does not hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beside {
    pub rates: SiteRates,
    pub section: f64,
    /// The rate of the siblings, and the burst.
    pub siblings: (f64, f64),
    pub next_change: [f64; NEXT_CHANGE_WEIGHTS],
    pub signals: (u8, f64, f64),
    pub relevance: f64,
    pub importance: f64,
    pub in_links_rank: f64,
}

/// What the record of the page in a row does not hold.
pub(crate) fn beside(columns: &StateColumns, row: usize) -> Beside {
    let share = |column: &[f64]| column.get(row).copied().unwrap_or_default();
    let signals = columns.signals.get(row).copied().unwrap_or_default();
    Beside {
        rates: SiteRates { global: columns.global_rate, site: columns.site_rate[row] },
        section: columns.section_rate[row],
        siblings: (columns.sibling_rate[row], columns.burst[row]),
        next_change: columns.next_change,
        signals: (signals, share(&columns.signal_precision), share(&columns.signal_recall)),
        relevance: columns.relevance.get(row).copied().unwrap_or(1.0),
        importance: columns.importance.get(row).copied().unwrap_or(1.0),
        in_links_rank: columns.in_links_rank.get(row).copied().unwrap_or(0.5),
    }
}

/// A block of one page.
pub(crate) fn block_of(history: &History, rates: SiteRates) -> StateColumns {
    let mut columns = StateColumns::default();
    columns.push(Known::default(), Some(history));
    (columns.global_rate, columns.site_rate) = (rates.global, vec![rates.site]);
    (columns.sibling_rate, columns.burst) = (vec![rates.site], vec![1.0]);
    columns.section_rate = vec![rates.site];
    columns
}

/// A cycle after all visits of [`histories`].
pub(crate) const NOW: Cycle = Cycle(200);

/// The same number, or both NaN. The bits of a NaN have no meaning.
pub(crate) fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// The value of an expression for one page, from the definitions, page by page and node by node. It
/// shares no code with programs, kernels or estimators.
pub(crate) fn naive(
    expr: &Expr,
    protection: Protection,
    basis: Basis,
    h: &History,
    beside: Beside,
    cycle: Cycle,
) -> f64 {
    let of = |e: &Expr| naive(e, protection, basis, h, beside, cycle);
    match expr {
        Expr::Constant(value) => *value,
        Expr::Terminal(terminal) => naive_terminal(terminal.name, basis, h, beside, cycle),
        Expr::Call(function, a) => match (function.name, protection) {
            ("add", _) => of(&a[0]) + of(&a[1]),
            ("sub", _) => of(&a[0]) - of(&a[1]),
            ("mul", _) => of(&a[0]) * of(&a[1]),
            ("div", _) => naive_division(of(&a[0]), of(&a[1]), protection),
            ("neg", _) => -of(&a[0]),
            ("min", _) => match (of(&a[0]), of(&a[1])) {
                (x, y) if x.is_nan() || y.is_nan() => f64::NAN,
                (x, y) => {
                    if x < y {
                        x
                    } else {
                        y
                    }
                }
            },
            ("max", _) => match (of(&a[0]), of(&a[1])) {
                (x, y) if x.is_nan() || y.is_nan() => f64::NAN,
                (x, y) => {
                    if x > y {
                        x
                    } else {
                        y
                    }
                }
            },
            ("sqrt", _) => of(&a[0]).sqrt(),
            ("exp", _) => math::exp(of(&a[0])),
            ("pow", _) => math::pow(of(&a[0]), of(&a[1])),
            ("log", Protection::Program) => match of(&a[0]).abs() {
                x if x <= 1.0 => 0.0,
                x => math::ln(x),
            },
            ("log", Protection::Thesis) => match of(&a[0]) {
                0.0 => 0.0,
                x => math::ln(x),
            },
            ("log", Protection::Journal) => match of(&a[0]) {
                x if x <= 0.0 => 0.0,
                x => math::ln(x),
            },
            (name, _) => panic!("the naive evaluator does not know {name}"),
        },
    }
}

fn naive_division(x: f64, y: f64, protection: Protection) -> f64 {
    match protection {
        Protection::Program if y.abs() < 1e-6 && x * y < 0.0 => -1e6,
        Protection::Program if y.abs() < 1e-6 => 1e6,
        Protection::Thesis if y.abs() < 1e-6 && (x < 0.0) != (y < 0.0) => -1e6,
        Protection::Thesis if y.abs() < 1e-6 => 1e6,
        Protection::Journal if y == 0.0 => 0.0,
        _ => x / y,
    }
}

fn naive_terminal(name: &str, basis: Basis, h: &History, beside: Beside, cycle: Cycle) -> f64 {
    let (n, x) = (f64::from(h.visits), f64::from(h.changes));
    let t = f64::from(cycle.0 - h.last.0);
    let s = f64::from(cycle.0 - h.first.0);
    let steps = if basis == Basis::Visits { n } else { s };
    if let Some(value) = naive_extended(name, h, beside, cycle) {
        return value;
    }
    if let Some(rate) = name.strip_prefix("p_") {
        return 1.0 - math::exp(-(naive_terminal(rate, basis, h, beside, cycle) * t));
    }
    let value = match (name, basis) {
        ("n", _) => return n,
        ("X", _) => return x,
        ("t", _) => return t,
        ("cg", _) => -math::ln((n - x + 0.5) / (n + 0.5)),
        ("nad", _) => x / steps,
        ("sad", Basis::Visits) => f64::from(u8::from(h.last_visit_changed())),
        ("sad", Basis::Cycles) => f64::from(u8::from(h.changes > 0 && h.last_change.0 + 1 == cycle.0)),
        ("aad", Basis::Visits) => h.ramp_visits as f64 / (n * (n + 1.0) / 2.0),
        ("aad", Basis::Cycles) => h.ramp_cycles as f64 / (s * (s + 1.0) / 2.0),
        ("gad", Basis::Visits) => h.geometric_visits / (2.0 - 2f64.powf(1.0 - n)),
        ("gad", Basis::Cycles) => {
            let since = f64::from(cycle.0 - h.last_change.0);
            h.geometric_cycles * 2f64.powf(-since) / (1.0 - 2f64.powf(-s))
        }
        (name, _) => panic!("the naive evaluator does not know {name}"),
    };
    // Without a comparison there is no rate. And −0 is not a rate either.
    if steps == 0.0 || value == 0.0 { 0.0 } else { value }
}

/// The terminals beyond those of the papers; `None` for one of theirs.
fn naive_extended(name: &str, h: &History, beside: Beside, cycle: Cycle) -> Option<f64> {
    let Beside { rates, section, siblings, next_change, signals: (signals, precision, recall), .. } = beside;
    let x = f64::from(h.changes);
    let t = f64::from(cycle.0 - h.last.0);
    let span = f64::from(h.last.0 - h.first.0);
    let s1 = f64::from(h.changed_cycles);
    let (name, mean) = match name.strip_suffix("_site") {
        Some(name) => (name, rates.site),
        None => (name, rates.global),
    };
    let shape = Priors::SHAPE + x;
    let watched_with = |mean: f64| Priors::SHAPE / mean + (span - s1 / 2.0);
    let watched = watched_with(mean);
    let hazard = |mean: f64, t: f64| shape * math::ln(1.0 + t / watched_with(mean));
    let quiet_since = if h.changes > 0 { h.last_change } else { h.first };
    let faded =
        |i: usize, half_life| f64::from(h.decayed[i]) * decay::weight(half_life, cycle.0 - h.last_change.0);
    Some(match name {
        "span" => span,
        "span_changed" => s1,
        "span_same" => span - s1,
        "quiet" => f64::from(cycle.0 - quiet_since.0),
        "recent_2" => faded(0, 2),
        "recent_8" => faded(1, 8),
        "recent_32" => faded(2, 32),
        "streak" if h.streak == 0 => 0.0,
        "streak" if h.last_visit_changed() => f64::from(h.streak),
        "streak" => -f64::from(h.streak),
        "weekday" => (1.0 + f64::from(h.weekdays[cycle.0 as usize % 7])) / (7.0 + x),
        "mm" => (x + 1.0) / (s1 + 0.5) * math::ln(1.0 + (s1 + 0.5) / (span - s1 + 0.5)),
        "global_rate" => rates.global,
        "site_rate" => rates.site,
        "section_rate" => section,
        "sib_rate" => siblings.0,
        "burst" => siblings.1,
        "p_eb_sib" => 1.0 - math::exp(-hazard(siblings.0, t)),
        "p_burst" => 1.0 - math::exp(-(hazard(siblings.0, t) * siblings.1)),
        "u_fresh_sib" => refresh::freshness(hazard(siblings.0, t) * siblings.1 / t, t),
        "u_harm_sib" => refresh::harmonic(hazard(siblings.0, t) * siblings.1 / t, t),
        "p_next"
        | "u_fresh_next"
        | "u_harm_next"
        | "p_next_section"
        | "u_fresh_next_section"
        | "u_harm_next_section" => {
            let log = |mean| math::ln(hazard(mean, t).max(1e-12));
            let base = log(rates.site);
            let of_section = if name.ends_with("_section") { math::ln(section / rates.global) } else { 0.0 };
            let features = [
                1.0,
                log(rates.global) - base,
                log(siblings.0) - base,
                math::ln(1.0 + faded(0, 2)),
                math::ln(1.0 + faded(1, 8)),
                math::ln(1.0 + faded(2, 32)),
                math::ln(1.0 + t) - 2.0,
                math::ln(siblings.1),
                of_section,
            ];
            let sum = (0..features.len()).fold(base, |sum, i| sum + features[i] * next_change[i]);
            let next = math::exp(sum.max(math::ln(1e-12)).min(math::ln(32.0)));
            match name.trim_end_matches("_section") {
                "p_next" => 1.0 - math::exp(-next),
                "u_fresh_next" => refresh::freshness(next / t, t),
                _ => refresh::harmonic(next / t, t),
            }
        }
        "eb" => shape / watched,
        "p_eb" => 1.0 - math::exp(-(shape * math::ln(1.0 + t / watched))),
        "u_fresh" => refresh::freshness(shape / watched, t),
        "u_harm" => refresh::harmonic(shape / watched, t),
        "signals" => f64::from(signals),
        "relevance" => beside.relevance,
        "importance" => beside.importance,
        "in_links_rank" => beside.in_links_rank,
        "p_signal" | "u_fresh_signal" => {
            let rate = shape / (Priors::SHAPE / rates.site + (span - s1 / 2.0));
            let page = Signalled { rate, precision, recall, age: t, signals: signals.into() };
            if name == "p_signal" { page.stale() } else { page.gain() }
        }
        "u_age" => refresh::age(shape / watched, t),
        _ => return None,
    })
}

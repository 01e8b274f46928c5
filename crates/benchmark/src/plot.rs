//! Curves over the size of the repository as SVG, both axes logarithmic.

use crate::Failure;
use crate::outcome::Outcome;
use crate::{model, table};
use std::fmt::Write;
use std::fs;
use std::path::Path;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 620.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 400.0;
const LINE: f64 = 20.0;

/// Middle tones, visible on white and on black, and distinguishable without red and green (Okabe &
/// Ito 2008).
const COLOURS: [&str; 6] = ["#0072b2", "#3d9be0", "#d55e00", "#009e73", "#cc79a7", "#b8860b"];

/// A curve: name, points, and whether it is a prediction of the model.
#[derive(Clone, Debug, PartialEq)]
struct Curve {
    name: String,
    points: Vec<(f64, f64)>,
    is_predicted: bool,
}

/// Prints the table of a record, and draws checks per second and bytes per check.
///
/// # Errors
/// If the record cannot be read or a drawing cannot be written.
pub fn draw(record: &Path, out: &Path) -> Result<(), Failure> {
    let text = fs::read_to_string(record).map_err(|e| format!("{}: {e}", record.display()))?;
    let mut outcomes: Vec<Outcome> =
        text.lines().map(serde_json::from_str).collect::<Result<_, _>>().map_err(|e| {
            format!("{}: {e}: it has to be what `recrawl-benchmark run --record` wrote", record.display())
        })?;
    outcomes.sort_by_key(|outcome| outcome.pages);
    print!("{}", table::comparison(&outcomes));
    let speed = curves(&outcomes, |outcome| Some(outcome.checks_a_second()));
    let sum = |bytes: (f64, f64)| bytes.0 + bytes.1;
    let mut bytes = curves(&outcomes, |outcome| Some(sum(outcome.bytes_a_check())));
    let predicted = curves(&outcomes, |outcome| model::predict(outcome).map(|cost| cost.read + cost.written));
    bytes.extend(predicted.into_iter().map(|curve| Curve { is_predicted: true, ..curve }));
    fs::write(out.join("verifier-checks.svg"), svg("URL checks a second", "checks/s", &speed))?;
    let title = "Bytes read and written for a URL check (dashed: predicted)";
    fs::write(out.join("verifier-bytes.svg"), svg(title, "bytes", &bytes))?;
    Ok(())
}

/// A curve for each contender in order of appearance, limited by the number of colours.
fn curves(outcomes: &[Outcome], of: impl Fn(&Outcome) -> Option<f64>) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for outcome in outcomes {
        let Some(value) = of(outcome).filter(|value| *value > 0.0) else { continue };
        let name = &outcome.contender;
        let at = curves.iter().position(|curve| curve.name == *name).unwrap_or_else(|| {
            curves.push(Curve { name: name.clone(), points: Vec::new(), is_predicted: false });
            curves.len() - 1
        });
        curves[at].points.push((outcome.pages as f64, value));
    }
    curves
}

/// The powers of ten that enclose these.
fn decades(values: impl Iterator<Item = f64>) -> (i32, i32) {
    let (low, high) = values.fold((f64::INFINITY, 0.0), |(l, h): (f64, f64), v| (l.min(v), h.max(v)));
    if low > high {
        return (0, 1);
    }
    let (low, high) = ((low.log10() + 1e-9).floor() as i32, (high.log10() - 1e-9).ceil() as i32);
    (low, high.max(low + 1))
}

/// A number in thousands, millions or billions.
fn shown(value: f64) -> String {
    let (unit, letter) = match value {
        v if v >= 1e9 => (1e9, " G"),
        v if v >= 1e6 => (1e6, " M"),
        v if v >= 1e3 => (1e3, " k"),
        _ => (1.0, ""),
    };
    format!("{:.0}{letter}", value / unit)
}

fn svg(title: &str, label: &str, curves: &[Curve]) -> String {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let (x, y) = (decades(points().map(|p| p.0)), decades(points().map(|p| p.1)));
    let part = |value: f64, (low, high): (i32, i32)| (value.log10() - f64::from(low)) / f64::from(high - low);
    let at_x = |value: f64| LEFT + part(value, x) * (RIGHT - LEFT);
    let at_y = |value: f64| BOTTOM - part(value, y) * (BOTTOM - TOP);
    let mut svg = String::new();
    let mut put = |text: std::fmt::Arguments<'_>| writeln!(svg, "{text}").expect("a string takes all");
    put(format_args!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">
<style>
svg {{ background: #ffffff }} text {{ fill: #222222 }} .grid {{ stroke: #dddddd }} .frame {{ stroke: #222222; fill: none }}
@media (prefers-color-scheme: dark) {{
svg {{ background: #16181c }} text {{ fill: #dddddd }} .grid {{ stroke: #3a3d42 }} .frame {{ stroke: #dddddd }}
}}
.curve {{ fill: none; stroke-width: 1.8; stroke-linejoin: round }}
</style>
<text x="{LEFT}" y="28" font-size="16">{title}</text>"#
    ));
    for power in x.0..=x.1 {
        let at = at_x(10f64.powi(power));
        put(format_args!(
            r#"<path class="grid" d="M{at:.1} {TOP}V{BOTTOM}"/><text x="{at:.1}" y="{}" text-anchor="middle">{}</text>"#,
            BOTTOM + 18.0,
            shown(10f64.powi(power))
        ));
    }
    let ticks = (y.0..y.1).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)));
    for tick in ticks.chain([10f64.powi(y.1)]) {
        let at = at_y(tick);
        put(format_args!(
            r#"<path class="grid" d="M{LEFT} {at:.1}H{RIGHT}"/><text x="{}" y="{:.1}" text-anchor="end">{}</text>"#,
            LEFT - 8.0,
            at + 4.0,
            shown(tick)
        ));
    }
    let names: Vec<&str> = curves.iter().filter(|c| !c.is_predicted).map(|c| &*c.name).collect();
    for curve in curves {
        let Some(place) = names.iter().position(|name| *name == curve.name) else { continue };
        let colour = COLOURS[place % COLOURS.len()];
        let mut path = String::new();
        for &(across, up) in &curve.points {
            let step = if path.is_empty() { 'M' } else { 'L' };
            write!(path, "{step}{:.1} {:.1}", at_x(across), at_y(up)).expect("a string takes all");
        }
        let dash = if curve.is_predicted { r#" stroke-dasharray="3 4""# } else { "" };
        put(format_args!(r#"<path class="curve" stroke="{colour}"{dash} d="{path}"/>"#));
        for &(across, up) in curve.points.iter().filter(|_| !curve.is_predicted) {
            put(format_args!(
                r#"<circle cx="{:.1}" cy="{:.1}" r="3.5" fill="{colour}"><title>{}: {across:.0} pages, {up:.0} {label}</title></circle>"#,
                at_x(across),
                at_y(up),
                curve.name
            ));
        }
    }
    for (place, name) in names.iter().enumerate() {
        let (at, colour) = (TOP + (place as f64 + 0.5) * LINE, COLOURS[place % COLOURS.len()]);
        put(format_args!(
            r#"<path class="curve" stroke="{colour}" d="M{} {at}h28"/><text x="{}" y="{}">{name}</text>"#,
            RIGHT + 20.0,
            RIGHT + 56.0,
            at + 4.0
        ));
    }
    put(format_args!(
        r#"<rect class="frame" x="{LEFT}" y="{TOP}" width="{}" height="{}"/>
<text x="{}" y="{}" text-anchor="middle">known pages</text>
<text transform="translate(28 {}) rotate(-90)" text-anchor="middle">{label}</text>
</svg>"#,
        RIGHT - LEFT,
        BOTTOM - TOP,
        (LEFT + RIGHT) / 2.0,
        BOTTOM + 42.0,
        (TOP + BOTTOM) / 2.0
    ));
    svg
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::CycleOutcome;

    fn outcome(contender: &str, pages: u64, seconds: f64) -> Outcome {
        let stages = vec![("check".to_owned(), seconds)];
        let cycle = CycleOutcome {
            checks: 1000,
            log: 3000,
            logged: 1000,
            read: 5000,
            stages,
            ..CycleOutcome::default()
        };
        Outcome { contender: contender.into(), pages, cycles: vec![cycle], ..Outcome::default() }
    }

    #[test]
    fn decades_hold_all_values() {
        assert_eq!(decades([1e6, 1e8].into_iter()), (6, 8));
        assert_eq!(decades([150.0, 150.0].into_iter()), (2, 3));
        assert_eq!(decades([1000.0].into_iter()), (3, 4));
        assert_eq!(decades(std::iter::empty()), (0, 1));
    }

    #[test]
    fn ticks_are_short() {
        assert_eq!([50.0, 2e3, 1e6, 1e9].map(shown), ["50", "2 k", "1 M", "1 G"]);
    }

    #[test]
    fn each_contender_has_a_curve_and_a_point_for_each_size() {
        let dir = tempfile::tempdir().unwrap();
        let record = dir.path().join("record");
        let outcomes = [
            outcome("ours", 1_000_000, 0.1),
            outcome("sled", 1_000_000, 2.0),
            outcome("ours", 10_000_000, 0.2),
        ];
        let lines: Vec<String> = outcomes.iter().map(|o| serde_json::to_string(o).unwrap()).collect();
        fs::write(&record, lines.join("\n")).unwrap();
        draw(&record, dir.path()).unwrap();
        let checks = fs::read_to_string(dir.path().join("verifier-checks.svg")).unwrap();
        assert_eq!(checks.matches("<circle").count(), 3);
        assert_eq!(checks.matches(">ours<").count() + checks.matches(">sled<").count(), 2, "{checks}");
        let bytes = fs::read_to_string(dir.path().join("verifier-bytes.svg")).unwrap();
        assert!(bytes.contains("stroke-dasharray"), "the model's curves");
    }

    #[test]
    fn a_record_of_something_else_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let record = dir.path().join("record");
        fs::write(&record, "checks/s\n").unwrap();
        let error = draw(&record, dir.path()).unwrap_err().to_string();
        assert!(error.contains("--record"), "{error}");
    }
}

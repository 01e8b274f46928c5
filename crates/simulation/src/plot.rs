//! Curves as SVG, without a plotting crate, which would add a dozen dependencies for a few lines
//! and labels.

use std::fmt::Write;

/// A drawing: stacked panels with one legend.
#[derive(Clone, Debug, Default)]
pub struct Plot {
    /// The title above it.
    pub title: String,
    /// The label of the horizontal axis, which all panels share.
    pub across: String,
    /// The panels, from the top.
    pub panels: Vec<Panel>,
    /// The names of the curves; each panel has its curves in this order.
    pub names: Vec<String>,
}

/// A panel.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// The label of the vertical axis.
    pub label: String,
    /// The curves as points by ascending x. Points that are not numbers are skipped.
    pub curves: Vec<Vec<(f64, f64)>>,
}

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 700.0;
const TOP: f64 = 50.0;
const HEIGHT: f64 = 280.0;
const GAP: f64 = 60.0;
const LINE: f64 = 18.0;

/// Maximum letters of a name in the legend.
const NAME: usize = 34;

/// Middle tones, visible on white and on black, and distinguishable without red and green (Okabe &
/// Ito 2008, darkened or lightened towards the middle).
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#3d9be0", "#8a63d2", "#808080"];

/// Beyond the colours, dashes distinguish the curves.
const DASHES: [&str; 4] = ["none", "7 3", "2 3", "9 3 2 3"];

impl Plot {
    /// The drawing as an SVG document. Follows the reader's preference for light or dark.
    pub fn svg(&self) -> String {
        let below = TOP + self.panels.len() as f64 * (HEIGHT + GAP);
        let height = below.max(TOP + self.names.len() as f64 * LINE) + 20.0;
        let mut svg = String::new();
        let mut put = |text: std::fmt::Arguments<'_>| writeln!(svg, "{text}").expect("a string takes all");
        put(format_args!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">
<style>
svg {{ background: #ffffff }} text {{ fill: #222222 }} .grid {{ stroke: #dddddd }} .frame {{ stroke: #222222; fill: none }}
@media (prefers-color-scheme: dark) {{
svg {{ background: #16181c }} text {{ fill: #dddddd }} .grid {{ stroke: #3a3d42 }} .frame {{ stroke: #dddddd }}
}}
.curve {{ fill: none; stroke-width: 1.6; stroke-linejoin: round }}
</style>
<text x="{LEFT}" y="28" font-size="16">{}</text>"#,
            escaped(&self.title)
        ));
        for (place, panel) in self.panels.iter().enumerate() {
            let top = TOP + place as f64 * (HEIGHT + GAP);
            put(format_args!("{}", panel.svg(top, &self.across)));
        }
        for (place, name) in self.names.iter().enumerate() {
            let y = TOP + (place as f64 + 0.5) * LINE;
            put(format_args!(
                r#"<path d="M{} {y}h28" {}/><text x="{}" y="{}"><title>{}</title>{}</text>"#,
                RIGHT + 20.0,
                style(place),
                RIGHT + 56.0,
                y + 4.0,
                escaped(name),
                escaped(&shortened(name, NAME)),
            ));
        }
        put(format_args!("</svg>"));
        svg
    }
}

impl Panel {
    fn svg(&self, top: f64, across: &str) -> String {
        let points = || self.curves.iter().flatten().filter(|point| point.1.is_finite());
        let (x, y) = (Scale::over(points().map(|p| p.0)), Scale::over(points().map(|p| p.1)).rounded());
        let (bottom, middle) = (top + HEIGHT, top + HEIGHT / 2.0);
        let at_x = |value: f64| LEFT + x.part(value) * (RIGHT - LEFT);
        let at_y = |value: f64| bottom - y.part(value) * HEIGHT;
        let mut svg = String::new();
        let mut put = |text: std::fmt::Arguments<'_>| writeln!(svg, "{text}").expect("a string takes all");
        for tick in x.ticks() {
            let at = at_x(tick);
            put(format_args!(
                r#"<path class="grid" d="M{at:.1} {top}V{bottom}"/><text x="{at:.1}" y="{}" text-anchor="middle">{}</text>"#,
                bottom + 16.0,
                x.shown(tick)
            ));
        }
        for tick in y.ticks() {
            let at = at_y(tick);
            put(format_args!(
                r#"<path class="grid" d="M{LEFT} {at:.1}H{RIGHT}"/><text x="{}" y="{:.1}" text-anchor="end">{}</text>"#,
                LEFT - 6.0,
                at + 4.0,
                y.shown(tick)
            ));
        }
        for (place, curve) in self.curves.iter().enumerate() {
            let mut path = String::new();
            for point in curve.iter().filter(|point| point.1.is_finite()) {
                let step = if path.is_empty() { 'M' } else { 'L' };
                write!(path, "{step}{:.1} {:.1}", at_x(point.0), at_y(point.1)).expect("a string takes all");
            }
            if !path.is_empty() {
                put(format_args!(r#"<path d="{path}" {}/>"#, style(place)));
            }
        }
        put(format_args!(
            r#"<rect class="frame" x="{LEFT}" y="{top}" width="{}" height="{HEIGHT}"/>
<text x="{}" y="{}" text-anchor="middle">{}</text>
<text transform="translate(18 {middle}) rotate(-90)" text-anchor="middle">{}</text>"#,
            RIGHT - LEFT,
            (LEFT + RIGHT) / 2.0,
            bottom + 34.0,
            escaped(across),
            escaped(&self.label),
        ));
        svg
    }
}

fn style(place: usize) -> String {
    let (colour, dash) = (COLOURS[place % COLOURS.len()], DASHES[place / COLOURS.len() % DASHES.len()]);
    format!(r#"class="curve" stroke="{colour}" stroke-dasharray="{dash}""#)
}

/// An axis with ticks at round numbers.
struct Scale {
    low: f64,
    high: f64,
    step: f64,
    decimals: usize,
}

impl Scale {
    /// An axis from the minimum to the maximum of these values, with about five ticks.
    fn over(values: impl Iterator<Item = f64>) -> Scale {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let span = (high - low).max(1e-6);
        let (mut step, mut decimals) = (1e-7, 7);
        // 1, 2, 5, 10, 20, 50 …: terminates, since a span is finite.
        'found: for power in -7..300 {
            for factor in [1.0, 2.0, 5.0] {
                (step, decimals) = (factor * 10f64.powi(power), usize::try_from(-power).unwrap_or(0));
                if span / step <= 6.0 {
                    break 'found;
                }
            }
        }
        Scale { low, high: low + span, step, decimals }
    }

    /// The same, extended to whole ticks.
    fn rounded(self) -> Scale {
        let low = (self.low / self.step).floor() * self.step;
        Scale { low, high: ((self.high / self.step).ceil() * self.step).max(low + self.step), ..self }
    }

    fn part(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> + '_ {
        // A little tolerance, since multiples of a step may be inexact.
        let first = (self.low / self.step - 1e-6).ceil();
        let count = ((self.high / self.step + 1e-6).floor() - first) as u32;
        (0..=count).map(move |i| (first + f64::from(i)) * self.step)
    }

    fn shown(&self, tick: f64) -> String {
        format!("{tick:.*}", self.decimals)
    }
}

/// A centred moving mean over up to `width` points, fewer at the ends.
pub fn smoothed(values: &[f64], width: usize) -> Vec<f64> {
    let half = width / 2;
    let mean = |i: usize| {
        let near = &values[i.saturating_sub(half)..(i + half + 1).min(values.len())];
        near.iter().sum::<f64>() / near.len() as f64
    };
    (0..values.len()).map(mean).collect()
}

/// The text, cut to `letters` letters.
pub fn shortened(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    text.chars().take(letters.saturating_sub(1)).chain(['…']).collect()
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_curve_is_drawn_and_named() {
        let curve = |shift: f64| (0..50).map(|x| (f64::from(x), shift + 0.01 * f64::from(x))).collect();
        let plot = Plot {
            title: "a < b & c".into(),
            across: "cycle".into(),
            panels: vec![Panel {
                label: "ChangeRate".into(),
                curves: vec![curve(0.0), curve(0.2), vec![(0.0, f64::NAN)]],
            }],
            names: vec![
                "t * X".into(),
                "\"quoted\"".into(),
                "t + 0.123456789 * n + 0.123456789 * X + n".into(),
            ],
        };
        let svg = plot.svg();
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("a &lt; b &amp; c") && svg.contains("&quot;quoted&quot;"));
        assert!(svg.contains("ChangeRate") && svg.contains(">cycle<") && svg.contains('…'));
        // Two curves and three entries of the legend; the curve without points is not drawn.
        assert_eq!(svg.matches("class=\"curve\"").count(), 5);
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        assert!(Plot::default().svg().contains("</svg>"));
    }

    #[test]
    fn axes_run_between_round_numbers() {
        let scale = Scale::over([0.132, 0.871].into_iter()).rounded();
        assert_eq!((scale.shown(scale.low), scale.shown(scale.high)), ("0.0".into(), "1.0".into()));
        assert_eq!(scale.ticks().count(), 6);
        let scale = Scale::over([3.0, 362.0].into_iter());
        assert_eq!((scale.low, scale.high), (3.0, 362.0));
        assert_eq!(scale.ticks().map(|t| scale.shown(t)).collect::<Vec<_>>(), ["100", "200", "300"]);
        let flat = Scale::over([0.5, 0.5].into_iter()).rounded();
        assert!(flat.high > flat.low && flat.part(0.5).is_finite());
        assert!(Scale::over(std::iter::empty()).high > 0.0);
    }

    #[test]
    fn smoothing_takes_the_mean_of_neighbours() {
        assert_eq!(smoothed(&[1.0, 2.0, 6.0, 3.0], 3), [1.5, 3.0, 11.0 / 3.0, 4.5]);
        assert_eq!(smoothed(&[1.0, 2.0], 1), [1.0, 2.0]);
        assert_eq!(smoothed(&[], 5), [0.0f64; 0]);
    }
}

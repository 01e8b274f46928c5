//! Curves as SVG. Its style sheet follows the reader's preference for light or dark, and names and
//! points have titles: `plotters` writes neither.

mod scale;

use scale::Scale;
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
    /// For a few positive points over decades: both axes are logarithmic, and each point is marked.
    pub is_logarithmic: bool,
}

/// A panel.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// The label of the vertical axis.
    pub label: String,
    /// The curves as points by ascending x. Points that are not numbers are skipped.
    pub curves: Vec<Vec<(f64, f64)>>,
    /// Predictions of the curves, in the same order: dashed, in the same colours.
    pub predicted: Vec<Vec<(f64, f64)>>,
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

/// Dashes of a prediction.
const PREDICTED: &str = "3 4";

impl Plot {
    /// The drawing as an SVG document.
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
            put(format_args!("{}", panel.svg(top, self)));
        }
        for (place, name) in self.names.iter().enumerate() {
            let y = TOP + (place as f64 + 0.5) * LINE;
            put(format_args!(
                r#"<path d="M{} {y}h28" {}/><text x="{}" y="{}"><title>{}</title>{}</text>"#,
                RIGHT + 20.0,
                style(place, None),
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
    fn svg(&self, top: f64, plot: &Plot) -> String {
        let points = || self.curves.iter().chain(&self.predicted).flatten().filter(|p| p.1.is_finite());
        let x = Scale::over(points().map(|p| p.0), plot.is_logarithmic);
        let y = Scale::over(points().map(|p| p.1), plot.is_logarithmic).rounded();
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
        let (across, label) = (escaped(&plot.across), escaped(&self.label));
        let measured = self.curves.iter().enumerate().map(|(place, curve)| (place, curve, None));
        let predicted = self.predicted.iter().enumerate();
        let predicted = predicted.map(|(place, curve)| (place, curve, Some(PREDICTED)));
        for (place, curve, dash) in measured.chain(predicted) {
            let (mut path, mut marks) = (String::new(), String::new());
            for &(right, up) in curve.iter().filter(|point| point.1.is_finite()) {
                let step = if path.is_empty() { 'M' } else { 'L' };
                write!(path, "{step}{:.1} {:.1}", at_x(right), at_y(up)).expect("a string takes all");
                if plot.is_logarithmic && dash.is_none() {
                    write!(
                        marks,
                        r#"<circle cx="{:.1}" cy="{:.1}" r="3.5" fill="{}"><title>{}: {right:.0} {across}, {up:.0} {label}</title></circle>"#,
                        at_x(right),
                        at_y(up),
                        colour(place),
                        escaped(&plot.names[place]),
                    )
                    .expect("a string takes all");
                }
            }
            if !path.is_empty() {
                put(format_args!(r#"<path d="{path}" {}/>{marks}"#, style(place, dash)));
            }
        }
        put(format_args!(
            r#"<rect class="frame" x="{LEFT}" y="{top}" width="{}" height="{HEIGHT}"/>
<text x="{}" y="{}" text-anchor="middle">{across}</text>
<text transform="translate(18 {middle}) rotate(-90)" text-anchor="middle">{label}</text>"#,
            RIGHT - LEFT,
            (LEFT + RIGHT) / 2.0,
            bottom + 34.0,
        ));
        svg
    }
}

fn colour(place: usize) -> &'static str {
    COLOURS[place % COLOURS.len()]
}

fn style(place: usize, dash: Option<&str>) -> String {
    let dash = dash.unwrap_or(DASHES[place / COLOURS.len() % DASHES.len()]);
    format!(r#"class="curve" stroke="{}" stroke-dasharray="{dash}""#, colour(place))
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
                ..Panel::default()
            }],
            names: vec![
                "t * X".into(),
                "\"quoted\"".into(),
                "t + 0.123456789 * n + 0.123456789 * X + n".into(),
            ],
            ..Plot::default()
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
    fn a_logarithmic_plot_marks_points_and_dashes_predictions() {
        let panel = Panel {
            label: "bytes".into(),
            curves: vec![vec![(1e6, 40.0), (1e7, 900.0)], vec![(1e6, 2e3)]],
            predicted: vec![vec![(1e6, 50.0), (1e7, 700.0)], vec![]],
        };
        let names = vec!["ours".into(), "sled".into()];
        let plot = Plot {
            panels: vec![panel],
            names,
            across: "pages".into(),
            is_logarithmic: true,
            ..Plot::default()
        };
        let svg = plot.svg();
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(svg.contains("ours: 10000000 pages, 900 bytes"), "{svg}");
        assert_eq!(svg.matches(PREDICTED).count(), 1);
    }

    #[test]
    fn smoothing_takes_the_mean_of_neighbours() {
        assert_eq!(smoothed(&[1.0, 2.0, 6.0, 3.0], 3), [1.5, 3.0, 11.0 / 3.0, 4.5]);
        assert_eq!(smoothed(&[1.0, 2.0], 1), [1.0, 2.0]);
        assert_eq!(smoothed(&[], 5), [0.0f64; 0]);
    }
}

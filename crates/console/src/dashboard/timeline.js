// Charts over time. The pointer reads values; the legend shows them, and without a pointer those of the last point.

import { frame, legend, mark, nice, picture, runs } from "./chart.js";
import { h, s, say } from "./dom.js";
import { clock } from "./format.js";

const HEIGHT = 90;
const [LEFT, RIGHT, ABOVE, BELOW] = [82, 10, 8, 24];
/** Half the width of a time on the axis. */
const HALF_TIME = 20;
/** Milliseconds shown at least, so that the first points do not fill the width. */
const SPAN = 5 * 60_000;
/** Steps of the time axis, in minutes. */
const STEPS = [1, 2, 5, 10, 15, 20, 30];

/**
 * A chart of `series`, each `{kind, name, of}`: `of` gives the value of a point, or null. With `stacked`, the values add
 * up. `round` gives the end of the axis for the highest value, and `tick` writes a value on an axis with this end. `set` draws points, which have an `at` in milliseconds.
 */
export function timeline({ title, series, format, stacked = false, round = nice, tick = format }) {
  let points = [],
    chosen = null,
    rule = null,
    x = () => 0;
  const [place, when, names] = [h("div"), h("p", { class: "quiet when" }), h("div")];
  const value = ({ of }, point) => (point ? of(point) : null);
  const tell = () => {
    const point = chosen ?? points.at(-1);
    say(when, point ? `At ${clock(point.at)}` : "No points yet: the first comes within 10 seconds.");
    const entries = series.map((one) => ({ kind: one.kind, name: one.name, key: one.key, value: format(value(one, point)) }));
    names.replaceChildren(legend(entries));
    place.hidden = names.hidden = !point;
    rule?.setAttribute("visibility", chosen ? "visible" : "hidden");
    if (chosen && rule) for (const end of ["x1", "x2"]) rule.setAttribute(end, x(chosen.at));
  };
  const drawn = picture((width) => {
    const last = points.at(-1)?.at ?? 0;
    const [from, to] = [Math.min(points[0]?.at ?? last, last - SPAN), last];
    x = (at) => LEFT + ((at - from) / (to - from)) * (width - LEFT - RIGHT);
    // Each series as bands: [point, low, high].
    const bands = series.map(() => []);
    for (const point of points) {
      let sum = 0;
      series.forEach((one, at) => {
        const size = value(one, point);
        bands[at].push([point, stacked ? sum : 0, size === null ? null : stacked ? sum + size : size]);
        if (stacked) sum += size ?? 0;
      });
    }
    const high = round(Math.max(0, ...bands.flat().map(([, , top]) => top ?? 0)));
    const y = (of) => ABOVE + (1 - of / high) * (HEIGHT - ABOVE - BELOW);
    // The middle only if its label is another than that of an end.
    const named = (of) => tick(of, high);
    const isMiddle = ![0, high].map(named).includes(named(high / 2));
    const grid = (isMiddle ? [0, high / 2, high] : [0, high]).flatMap((of) => [
      s("line", { x1: LEFT, x2: width - RIGHT, y1: y(of), y2: y(of), class: "grid" }),
      s("text", { x: LEFT - 6, y: y(of) + 4, class: "tick end" }, named(of)),
    ]);
    const shapes = series.flatMap(({ kind, name }, at) =>
      runs(bands[at]).map((run) => {
        const [[alone, , only]] = run;
        if (run.length === 1 && !stacked) return mark(kind, x(alone.at), y(only), name);
        // A lone point of a stack is a thin bar.
        const wide = run.length === 1 ? [-2, 2].map((by) => [by, ...run]) : run.map((one) => [0, one]);
        const top = wide.map(([by, [point, , high]]) => `${(x(point.at) + by).toFixed(1)},${y(high).toFixed(1)}`);
        const bottom = wide.map(([by, [point, low]]) => `${(x(point.at) + by).toFixed(1)},${y(low).toFixed(1)}`).reverse();
        return stacked
          ? s("polygon", { points: [...top, ...bottom].join(" "), class: `fill ${kind}` }, s("title", {}, name))
          : s("polyline", { points: top.join(" "), class: `line ${kind}` }, s("title", {}, name));
      }),
    );
    rule = s("line", { y1: ABOVE, y2: HEIGHT - BELOW, class: "rule", visibility: "hidden" });
    const now = points.at(-1);
    const said = series.map((one) => `${one.name} ${format(value(one, now))}`).join(", ");
    const label = now ? `${title} from ${clock(points[0].at)} to ${clock(to)}; last: ${said}` : `${title}: no points yet`;
    const chart = frame(
      width,
      HEIGHT,
      label,
      ...grid,
      ...shapes,
      ...ticks(from, to, width).map((at) =>
        s("text", { x: Math.min(x(at), width - HALF_TIME), y: HEIGHT - 6, class: "tick middle" }, clock(at, true)),
      ),
      rule,
    );
    chart.addEventListener("pointermove", (event) => {
      const left = event.clientX - chart.getBoundingClientRect().left;
      const at = from + ((left - LEFT) / (width - LEFT - RIGHT)) * (to - from);
      chosen = points.reduce((best, point) => (Math.abs(point.at - at) < Math.abs(best.at - at) ? point : best), points[0]) ?? null;
      tell();
    });
    chart.addEventListener("pointerleave", () => {
      chosen = null;
      tell();
    });
    return chart;
  });
  place.append(drawn.element);
  tell();
  return {
    element: h("div", { class: "timeline" }, h("div", { class: "flow" }, h("h3", {}, title), when), place, names),
    set: (all) => {
      points = all;
      tell();
      drawn.redraw();
    },
  };
}

/** Full minutes for the axis. */
function ticks(from, to, width) {
  const most = Math.max(2, Math.floor((width - LEFT) / 80));
  const step = 60_000 * (STEPS.find((minutes) => (to - from) / (60_000 * minutes) <= most) ?? 60);
  const all = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) all.push(at);
  return all;
}

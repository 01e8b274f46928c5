// Lines with the bands of their intervals. Each has a text label, and a table with its figures beside it.

import { frame, isOther, mark, runs } from "./chart.js";
import { s } from "./dom.js";
import { share } from "./format.js";

const [LEFT, RIGHT, ABOVE, BELOW] = [56, 14, 10, 26];

/**
 * Shares over x. A series is `{kind, name, points: [{x, title, share, low, high}]}`, with `share` null where there is no
 * value. `ticks` are `[x, text]`; `place` maps x to a number that grows evenly along the axis.
 */
export function bands(width, series, { label, ticks, place = (x) => x, height = 220 }) {
  const all = series.flatMap(({ points }) => points).filter((point) => point.share !== null);
  const along = series.flatMap(({ points }) => points).map((point) => place(point.x));
  const [from, to] = [Math.min(...along), Math.max(...along)];
  const [floor, ceiling] = tenths(all);
  const x = (value) => LEFT + (to === from ? 0.5 : (place(value) - from) / (to - from)) * (width - LEFT - RIGHT);
  const y = (value) => ABOVE + (1 - (value - floor) / (ceiling - floor)) * (height - ABOVE - BELOW);
  const step = [0.05, 0.1].find((size) => (ceiling - floor) / size < 7.5) ?? 0.2;
  const levels = Array.from({ length: Math.round((ceiling - floor) / step) + 1 }, (_, at) => floor + at * step);
  const grid = levels.flatMap((value) => {
    return [
      s("line", { x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value), class: "grid" }),
      s("text", { x: LEFT - 8, y: y(value) + 4, class: "tick end" }, `${Number((100 * value).toFixed(1))} %`),
    ];
  });
  const spot = (at, value) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`;
  const drawn = series.flatMap(({ kind, name, points }) => {
    const parts = runs(points.map((point) => [point, point.share])).map((run) => run.map(([point]) => point));
    return [
      ...parts.map((part) => {
        // A lone value has a thin band.
        const wide = part.length === 1 ? 3 : 0;
        const top = part.map((point) => spot(point.x, point.high));
        const bottom = part.map((point) => spot(point.x, point.low)).reverse();
        return wide
          ? s("rect", { x: x(part[0].x) - wide, y: y(part[0].high), width: 2 * wide, height: y(part[0].low) - y(part[0].high), class: `band ${kind}` })
          : s("polygon", { points: [...top, ...bottom].join(" "), class: `band ${kind}` });
      }),
      ...parts.map((part) => s("polyline", { points: part.map((point) => spot(point.x, point.share)).join(" "), class: `line ${kind}` })),
      ...parts.flat().map((point) =>
        mark(kind, x(point.x), y(point.share), `${name}, ${point.title}: ${share(point.share)} (${share(point.low)} to ${share(point.high)})`),
      ),
    ];
  });
  const named = ticks.map(([at, text]) => s("text", { x: x(at), y: height - 6, class: "tick middle" }, text));
  return frame(width, height, label, ...grid, ...drawn, ...named);
}

/** The tenths around all intervals; the whole axis if these take most of it. */
function tenths(points) {
  const low = Math.floor(10 * Math.min(1, ...points.map((point) => point.low)) + 1e-9) / 10;
  const high = Math.ceil(10 * Math.max(0, ...points.map((point) => point.high)) - 1e-9) / 10;
  return high > low && high - low < 0.75 ? [low, high] : [0, 1];
}

/** Cycles for the axis, at most one for each 70 pixels, by these names. */
export function cycleTicks(cycles, width, name) {
  if (cycles.length === 0) return [];
  const [from, to] = [cycles[0], cycles.at(-1)];
  const step = Math.max(1, Math.ceil((to - from) / Math.max(1, Math.floor((width - LEFT) / 70))));
  const all = [];
  for (let at = to; at >= from; at -= step) all.push([at, name(at)]);
  return all.filter(isOther);
}

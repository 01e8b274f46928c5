// Charts as wide as their container. Each has a text label, and a table or list with its figures.

import { datum, h, s } from "./dom.js";
import { clock, count, day } from "./format.js";

/** A chart that is redrawn when its width changes. Call `redraw` when its figures change. */
export function picture(draw) {
  const place = h("div", { class: "picture" });
  let width = 0;
  const redraw = () => {
    if (width > 0) place.replaceChildren(draw(width));
  };
  new ResizeObserver(([entry]) => {
    const now = Math.floor(entry.contentRect.width);
    if (now === width) return;
    width = now;
    redraw();
  }).observe(place);
  return { element: place, redraw };
}

/** The drawing of a chart. */
export function frame(width, height, label, ...children) {
  return s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...children);
}

/** One bar and its parts, from left to right. A part is `{kind, name, value}`. */
export function bar(width, parts, label) {
  const [height, total] = [28, parts.reduce((sum, part) => sum + part.value, 0)];
  let x = 0;
  const pieces = parts
    .filter((part) => part.value > 0)
    .map((part) => {
      const size = (part.value / total) * width;
      // A gap separates neighbours of similar colours.
      const piece = s(
        "rect",
        { x, y: 0, width: Math.max(1, size - 1), height, class: `fill ${part.kind}` },
        s("title", {}, `${part.name}: ${part.value}`),
      );
      x += size;
      return piece;
    });
  return frame(width, height, label, s("rect", { width, height, class: "ground" }), ...pieces);
}

/** Names cycles by the day on which they ended, or by the time if that is the same day. `ends` maps them to milliseconds since 1970. */
export function dates(ends) {
  const isOneDay = new Set([...ends.values()].map(day)).size === 1;
  return (cycle) => (ends.has(cycle) ? (isOneDay ? clock(ends.get(cycle), true) : day(ends.get(cycle))) : "");
}

/** Half the width of a name on the axis. */
const HALF_NAME = 20;

/** Lines over cycles, which `axis` names, from 0 to the next round number above them. A series is `{kind, name, points: [[x, y]]}`, with `y` null where there is no value. */
export function lines(width, series, { label, format, axis = String, height = 200 }) {
  const [left, right, above, below] = [52, 12, 10, 26];
  const all = series.flatMap(({ points }) => points);
  const [from, to] = [Math.min(...all.map(([x]) => x)), Math.max(...all.map(([x]) => x))];
  const high = nice(Math.max(...all.map(([, y]) => y ?? 0)));
  const x = (value) => left + (to === from ? 0.5 : (value - from) / (to - from)) * (width - left - right);
  const y = (value) => above + (1 - value / high) * (height - above - below);
  // Halves of a round number are round, quarters are not.
  const grid = [0, 0.5, 1].flatMap((part) => [
    s("line", { x1: left, x2: width - right, y1: y(part * high), y2: y(part * high), class: "grid" }),
    s("text", { x: left - 8, y: y(part * high) + 4, class: "tick end" }, format(part * high)),
  ]);
  const drawn = series.flatMap(({ kind, name, points }) => [
    ...runs(points).map((run) =>
      s("polyline", { points: run.map(([a, b]) => `${x(a)},${y(b)}`).join(" "), class: `line ${kind}` }),
    ),
    ...points
      .filter(([, b]) => b !== null)
      .map(([a, b]) => mark(kind, x(a), y(b), `${name}, ${axis(a)}, cycle ${a}: ${format(b)}`)),
  ]);
  const named = steps(from, to, Math.max(2, Math.floor(width / 90))).map((cycle) => [cycle, axis(cycle)]);
  const ticks = named
    .filter(isOther)
    .map(([cycle, name]) => s("text", { x: Math.min(x(cycle), width - HALF_NAME), y: height - 6, class: "tick middle" }, name));
  return frame(width, height, label, ...grid, ...drawn, ...ticks);
}

/** Is the name of a tick another than that of the one before? */
export const isOther = ([, name], at, all) => name !== all[at - 1]?.[1];

// Shapes differ too, for colour-blind readers.
export function mark(kind, x, y, title) {
  const text = s("title", {}, title);
  return kind === "beside"
    ? s("rect", { x: x - 3, y: y - 3, width: 6, height: 6, class: `mark ${kind}` }, text)
    : s("circle", { cx: x, cy: y, r: 3.5, class: `mark ${kind}` }, text);
}

/** Splits a line where a value, the last part of a point, is missing. */
export function runs(points) {
  const all = [[]];
  for (const point of points) {
    if (point.at(-1) === null) all.push([]);
    else all.at(-1).push(point);
  }
  return all.filter((run) => run.length > 0);
}

/** The next of 1, 2, 5, 10, 20 … */
export function nice(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value * 0.999);
}

/** The next of 1, 2, 5 … B, KiB or MiB. */
export function niceBytes(value) {
  const unit = 1024 ** Math.floor(Math.log2(Math.max(1, value)) / 10);
  return unit * nice(value / unit);
}

function steps(from, to, most) {
  const step = Math.max(1, Math.ceil((to - from) / most));
  const all = [];
  for (let at = to; at >= from; at -= step) all.push(at);
  return all;
}

/** A value from 0 to 1 with its interval. */
export function interval(width, { share, low, high }, label) {
  const [height, pad] = [46, 8];
  const x = (value) => pad + value * (width - 2 * pad);
  return frame(
    width,
    height,
    label,
    s("line", { x1: x(0), x2: x(1), y1: 16, y2: 16, class: "grid thick" }),
    s("line", { x1: x(low), x2: x(high), y1: 16, y2: 16, class: "span" }),
    ...[low, high].map((end) => s("line", { x1: x(end), x2: x(end), y1: 9, y2: 23, class: "end" })),
    s("circle", { cx: x(share), cy: 16, r: 6, class: "mark main" }),
    s("text", { x: x(0), y: 40, class: "tick" }, "0 %"),
    s("text", { x: x(0.5), y: 40, class: "tick middle" }, "50 %"),
    s("text", { x: x(1), y: 40, class: "tick end" }, "100 %"),
  );
}

/** Visits, oldest first. A visit is `{kind, title}`; both the height and the colour of its bar show the kind. */
export function strip(width, visits, label) {
  const [height, gap] = [44, 1];
  const size = Math.min(18, Math.max(3, width / visits.length - gap));
  const shown = visits.slice(-Math.floor(width / (size + gap)));
  const signs = shown.map(({ kind, title }, at) => {
    const tall = { changed: height, first: 36, unchanged: 16, failed: 26, skipped: 6 }[kind];
    return s(
      "rect",
      { x: at * (size + gap), y: height - tall, width: size, height: tall, class: `fill ${kind}` },
      s("title", {}, title),
    );
  });
  return frame(width, height, label, ...signs);
}

/** Ranks of pages by two formulas: the one in force on the left, the other on the right, rank 1 on top. */
export function slopes(width, changes, label) {
  const [side, above, height] = [64, 26, 260];
  const ranks = changes.flatMap(({ rank, other_rank: other }) => [rank, other]);
  const [highest, deepest] = [Math.min(...ranks), Math.max(...ranks)];
  // Logarithmic, because the selected pages are in the first few percent.
  const y = (rank) => above + (Math.log(rank / highest) / Math.log(deepest / highest)) * (height - above - 12);
  const [x1, x2] = [side, width - side];
  const drawn = changes.flatMap(({ url, rank, other_rank: other }) => {
    const kind = other < rank ? "rise" : "fall";
    return [
      s(
        "line",
        { x1, x2, y1: y(rank), y2: y(other), class: `line ${kind}` },
        s("title", {}, `${url}: ${rank} → ${other}`),
      ),
      s("circle", { cx: x1, cy: y(rank), r: 3, class: `mark ${kind}` }),
      s("circle", { cx: x2, cy: y(other), r: 3, class: `mark ${kind}` }),
    ];
  });
  const ticks = [highest, deepest].flatMap((rank) => [
    s("text", { x: x1 - 10, y: y(rank) + 4, class: "tick end" }, count(rank)),
    s("text", { x: x2 + 10, y: y(rank) + 4, class: "tick" }, count(rank)),
  ]);
  return frame(
    width,
    height,
    label,
    s("text", { x: x1, y: 12, class: "tick middle" }, "in force"),
    s("text", { x: x2, y: 12, class: "tick middle" }, "candidate"),
    ...ticks,
    ...drawn,
  );
}

const square = (kind) =>
  s(
    "svg",
    { width: 14, height: 14, "aria-hidden": "true" },
    s("rect", { width: 14, height: 14, rx: 2, class: `fill ${kind}` }),
  );

/** A sample of a line with its marker. */
const stroke = (kind) =>
  s(
    "svg",
    { width: 28, height: 14, "aria-hidden": "true" },
    s("line", { x1: 0, x2: 28, y1: 7, y2: 7, class: `line ${kind}` }),
    kind === "beside"
      ? s("rect", { x: 11, y: 4, width: 6, height: 6, class: `mark ${kind}` })
      : s("circle", { cx: 14, cy: 7, r: 3.5, class: `mark ${kind}` }),
  );

/** Legend of a bar, with the number of each part. */
export const numbered = (parts) => legend(parts.map((part) => ({ ...part, value: count(part.value) })));

/** Legend of a chart, with figures if there are any. */
export function legend(entries) {
  return h(
    "ul",
    { class: "legend" },
    entries.map(({ kind, name, key, value }) => {
      const number = value === undefined ? null : datum(key, value);
      return h(
        "li",
        {},
        ["main", "beside", "rise", "fall"].includes(kind) ? stroke(kind) : square(kind),
        name,
        number,
      );
    }),
  );
}

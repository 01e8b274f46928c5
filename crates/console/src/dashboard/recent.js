// The last hour: pages, bytes and response times.

import { ask, query } from "./api.js";
import { niceBytes } from "./chart.js";
import { h, panel, problem } from "./dom.js";
import { bytes, clock, count, millis } from "./format.js";
import { Table } from "./table.js";
import { timeline } from "./timeline.js";

/** Answers, from the bottom of the stack. */
const ANSWERS = [
  ["success", "2xx", "changed"],
  ["not_modified", "304", "unchanged"],
  ["redirect", "other 3xx", "first"],
  ["client_error", "4xx", "missing"],
  ["server_error", "5xx", "failed"],
  ["failed", "no answer", "denied"],
];

const NUMBER = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const perSecond = (value) => (value === null ? "–" : `${NUMBER.format(value)}/s`);
const rate = (amount, { ms }) => (ms > 0 ? (1000 * amount) / ms : null);
const pages = ({ answers }) => Object.values(answers).reduce((sum, answered) => sum + answered, 0);

export function recentPanel() {
  let points = [],
    keep = 360,
    every = 10_000,
    asked = 0;
  const charts = [
    timeline({
      title: "Pages per second, by answer",
      stacked: true,
      format: perSecond,
      series: ANSWERS.map(([key, name, kind]) => ({ key: `rate_${key}`, name, kind, of: (p) => rate(p.answers[key], p) })),
    }),
    timeline({
      title: "Bytes per second",
      format: (value) => (value === null ? "–" : `${bytes(Math.round(value))}/s`),
      round: niceBytes,
      tick: (value, end) => `${bytes(value, end)}/s`,
      series: [{ key: "rate_bytes", name: "bodies", kind: "main", of: (p) => rate(p.bytes, p) }],
    }),
    timeline({
      title: "Response time",
      format: (value) => (value === null ? "–" : millis(value < 10 ? Number(value.toFixed(1)) : Math.round(value))),
      series: [
        { key: "p95", name: "95 % within", kind: "beside", of: (p) => p.p95_ms },
        { key: "median", name: "half within", kind: "main", of: (p) => p.median_ms },
      ],
    }),
  ];
  const table = new Table(
    "The last hour",
    [["Time"], ["Pages/s", true], ...ANSWERS.map(([, name]) => [name, true]), ["Bytes/s", true], ["Half within", true], ["95 % within", true]],
    "No points yet: the first comes within 10 seconds.",
  );
  const figures = h("details", {}, h("summary", {}, "Show the last hour as table"), table.element);
  // 360 rows only for those who read them.
  const fill = () => {
    if (!figures.open) return;
    table.fill(
      points.toReversed(),
      (point) => point.at,
      (point) => [
        clock(point.at),
        perSecond(rate(pages(point), point)),
        ...ANSWERS.map(([key]) => count(point.answers[key])),
        `${bytes(Math.round(rate(point.bytes, point) ?? 0))}/s`,
        point.median_ms === null ? null : millis(Math.round(point.median_ms)),
        point.p95_ms === null ? null : millis(Math.round(point.p95_ms)),
      ],
    );
  };
  figures.addEventListener("toggle", fill);
  table.scroll.classList.add("long");
  figures.classList.add("apart");
  const trouble = h("div");
  const element = panel(
    "Last hour",
    trouble,
    h("div", { class: "timelines" }, ...charts.map((chart) => chart.element)),
    figures,
  );
  // The first point comes within 10 seconds.
  element.hidden = true;
  let turn = 0;
  const load = async (signal) => {
    asked = Date.now();
    const mine = ++turn;
    try {
      const recent = await ask(query("api/v1/recent", { since: points.at(-1)?.at }), { signal });
      // A later load brings these points too.
      if (mine !== turn) return;
      [keep, every] = [recent.points_max, recent.every_ms];
      trouble.replaceChildren();
      if (recent.points.length === 0 && points.length > 0) return;
      points = [...points, ...recent.points].slice(-keep);
      element.hidden = points.length === 0;
      for (const chart of charts) chart.set(points);
      fill();
    } catch (refusal) {
      if (refusal.name === "AbortError") return;
      if (refusal.title === undefined) throw refusal;
      trouble.replaceChildren(problem(refusal, () => load(signal)));
      element.hidden = false;
    }
  };
  return {
    element,
    load,
    /** Loads everything again after a restart of the daemon, whose ring is empty. */
    again: (signal) => {
      points = [];
      return load(signal);
    },
    tick: (signal) => Date.now() - asked >= every && load(signal),
  };
}

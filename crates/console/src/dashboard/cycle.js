// The running or last cycle: one bar with the outcomes of its pages.

import { bar, numbered, picture } from "./chart.js";
import { datum, h, panel, say } from "./dom.js";
import { count, duration, plural, time } from "./format.js";

/** Outcomes of scheduled pages, in the order of the bar. */
const PARTS = [
  ["changed", "changed"],
  ["unchanged", "unchanged"],
  ["first_visits", "first visits"],
  ["undecided", "not compared yet"],
  ["not_found", "not found"],
  ["failed", "failed"],
  ["robots_unreachable", "robots.txt not fetched"],
  ["skipped", "skipped"],
  ["robots_denied", "denied by robots.txt"],
  ["refused", "rejected addresses"],
  ["in_flight", "in flight"],
  ["waiting", "remaining"],
  ["left", "left for the next round"],
];

/** Outcomes, without overlap. */
const ENDED = ["fetched", "not_found", "failed", "skipped", "robots_unreachable", "robots_denied", "refused"];

/** The parts of a running or committed cycle. */
function parts(cycle) {
  const undecided = Math.max(0, cycle.fetched - cycle.changed - cycle.unchanged - cycle.first_visits);
  const ended = ENDED.reduce((sum, kind) => sum + cycle[kind], 0);
  const isRunning = cycle.done !== undefined;
  const waiting = isRunning ? Math.max(0, cycle.scheduled - cycle.done - cycle.in_flight) : 0;
  const left = isRunning ? 0 : Math.max(0, cycle.scheduled - ended);
  const all = { ...cycle, undecided, waiting, left, in_flight: cycle.in_flight ?? 0 };
  const shown = PARTS.map(([kind, name]) => ({ kind, name, key: kind, value: all[kind] }));
  return shown.filter(({ kind, value }) => value > 0 || ["changed", "unchanged", "failed"].includes(kind));
}

export function cyclePanel() {
  let shown = [],
    label = "";
  const drawn = picture((width) => bar(width, shown, label));
  const [head, left, names] = [h("p", { class: "lead" }), h("p", {}), h("div")];
  const element = panel("Cycle", head, drawn.element, names, left);
  element.hidden = true;
  const tick = ({ status, clock }) => {
    if (!status) return;
    const { cycle } = status;
    if (cycle) {
      // The estimate comes from the last status.
      const end = cycle.ends_by ? Math.max(0, (cycle.ends_by - clock()) / 1000) : null;
      const about =
        cycle.stage === "waiting"
          ? "unknown while paused"
          : cycle.seconds_left === null
            ? "unknown"
            : `about ${duration(Math.min(cycle.seconds_left, end ?? Infinity))}`;
      const ends = end !== null && cycle.stage === "fetching" ? `; at most ${duration(end)}` : "";
      say(left, `Time left: ${about}${ends}. Running for ${duration((clock() - cycle.started) / 1000)}.`);
    } else {
      say(left, "");
    }
  };
  const status = (now) => {
    const running = now.cycle;
    const cycle = running ?? now.last;
    element.hidden = !cycle;
    if (!cycle) return;
    const figures = running
      ? [
          `Since ${time(cycle.started)}, cycle `,
          datum("cycle", count(cycle.cycle)),
          `: ${cycle.kind} round, ${cycle.stage === "waiting" ? "paused" : cycle.stage}`,
          cycle.to_pass ? ` (${count(cycle.passed)} of ${count(cycle.to_pass)} known pages)` : "",
          ": ",
          datum("done", count(cycle.done)),
          " of ",
          datum("scheduled", count(cycle.scheduled)),
          " done, ",
          datum("in_flight", count(cycle.in_flight)),
          " in flight, ",
          datum("open_hosts", count(cycle.open_hosts)),
          cycle.open_hosts === 1 ? " open host" : " open hosts",
        ]
      : [
          `Ended ${time(cycle.ended)}, cycle `,
          datum("cycle", count(cycle.cycle)),
          ": ",
          datum("scheduled", count(cycle.scheduled)),
          ` ${cycle.scheduled === 1 ? "page" : "pages"} in ${duration(cycle.seconds)}`,
        ];
    head.replaceChildren(...figures);
    shown = parts(cycle);
    label = `${running ? "Running round" : "Last cycle"}, ${plural(cycle.scheduled, "page")}: ${shown.map(({ name, value }) => `${count(value)} ${name}`).join(", ")}`;
    names.replaceChildren(numbered(shown));
    drawn.redraw();
  };
  return { element, status, tick };
}

// The running or last cycle: one bar with the outcomes of its pages.

import { bar, legend, picture } from "./chart.js";
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
  ["robots_denied", "denied by robots.txt"],
  ["refused", "rejected addresses"],
  ["skipped", "skipped"],
  ["in_flight", "in flight"],
  ["waiting", "remaining"],
];

/** The parts of a running or committed cycle. */
function parts(cycle) {
  const undecided = Math.max(0, cycle.fetched - cycle.changed - cycle.unchanged - cycle.first_visits);
  const waiting = cycle.done === undefined ? 0 : Math.max(0, cycle.scheduled - cycle.done - cycle.in_flight);
  const all = { ...cycle, undecided, waiting, in_flight: cycle.in_flight ?? 0 };
  const shown = PARTS.map(([kind, name]) => ({ kind, name, key: kind, value: all[kind] }));
  return shown.filter(({ kind, value }) => value > 0 || ["changed", "unchanged", "failed"].includes(kind));
}

export function cyclePanel() {
  let shown = [],
    label = "";
  const drawn = picture((width) => bar(width, shown, label));
  const [head, left, names] = [h("p", { class: "lead" }), h("p", {}), h("div")];
  const body = h("div", {}, head, drawn.element, names, left);
  const empty = h("p", { class: "lead" });
  const element = panel("Cycle", empty, body);
  element.classList.add("wide");
  const tick = ({ status, clock }) => {
    if (!status) return;
    const { cycle, next_cycle_at: next } = status;
    if (cycle) {
      // The estimate comes from the last status.
      const about =
        cycle.stage === "waiting"
          ? "unknown while paused"
          : cycle.seconds_left === null
            ? "unknown"
            : `about ${duration(cycle.seconds_left)}`;
      const deadline = cycle.deadline ? `; deadline in ${duration((cycle.deadline - clock()) / 1000)}` : "";
      say(left, `Time left: ${about}${deadline}. Running for ${duration((clock() - cycle.started) / 1000)}.`);
    } else if (next) {
      say(
        left,
        `Next cycle: ${next > clock() ? `in ${duration((next - clock()) / 1000)}` : "now"} (${time(next)}).`,
      );
    } else {
      say(left, "");
    }
  };
  const status = (now) => {
    const running = now.cycle;
    const cycle = running ?? now.last;
    empty.hidden = Boolean(cycle);
    body.hidden = !cycle;
    if (!cycle) {
      say(empty, now.reason ? `No cycle yet: ${now.reason}.` : "No cycle yet.");
      return;
    }
    const figures = running
      ? [
          `Cycle `,
          datum("cycle", count(cycle.cycle)),
          `, ${cycle.kind} round, ${cycle.stage === "waiting" ? "paused" : cycle.stage}`,
          cycle.to_pass ? ` (${count(cycle.passed)} of ${count(cycle.to_pass)} known pages)` : "",
          ": ",
          datum("done", count(cycle.done)),
          " of ",
          datum("scheduled", count(cycle.scheduled)),
          " done, ",
          datum("in_flight", count(cycle.in_flight)),
          " in flight, ",
          datum("open_hosts", count(cycle.open_hosts)),
          " open hosts",
        ]
      : [
          `No running cycle. Cycle `,
          datum("cycle", count(cycle.cycle)),
          ` ended ${time(cycle.ended)}: `,
          datum("scheduled", count(cycle.scheduled)),
          ` pages in ${duration(cycle.seconds)}`,
        ];
    head.replaceChildren(...figures);
    shown = parts(cycle);
    label = `${running ? "Running" : "Last"} cycle, ${plural(cycle.scheduled, "page")}: ${shown.map(({ name, value }) => `${count(value)} ${name}`).join(", ")}`;
    names.replaceChildren(legend(shown.map((part) => ({ ...part, value: count(part.value) }))));
    drawn.redraw();
  };
  return { element, status, tick };
}

// Freshness at other budgets, and what plain revisiting would need. The daemon computes both in the background.

import { ask } from "./api.js";
import { bands } from "./bands.js";
import { legend, picture } from "./chart.js";
import { datum, h, panel, problem, say } from "./dom.js";
import { bytes, count, plural, share } from "./format.js";
import { Table, alternative } from "./table.js";

/** Milliseconds between two questions while the answer is computed. */
const AGAIN = 2000;

const times = (budget) => `${Number(budget.toFixed(2))}×`;

export function forecastPanel(signal) {
  let forecasts = [];
  const drawn = picture((width) =>
    bands(
      width,
      [{ kind: "main", name: "freshness", points: forecasts.map((one) => ({ ...one, x: one.budget, title: times(one.budget) })) }],
      {
        label: `Forecast freshness by budget: ${forecasts.map((one) => `${times(one.budget)} ${share(one.share)}`).join(", ")}`,
        place: Math.log2,
        ticks: forecasts.filter(({ budget }) => width > 500 || Number.isInteger(Math.log2(budget))).map(({ budget }) => [budget, times(budget)]),
      },
    ),
  );
  const table = new Table(
    "Forecast freshness by budget",
    [["Budget"], ["Revisits a cycle", true], ["Fresh", true], ["Its interval", true]],
    "No forecast.",
  );
  const [state, missing, trouble] = [h("p", { class: "quiet", role: "status" }), h("ul"), h("div")];
  const saved = h("p", { class: "lead", "data-figure": "savings" });
  const chart = h("div", { hidden: true }, drawn.element, legend([{ kind: "main", name: "freshness, with its 95 % interval" }]), alternative(table));
  const element = panel(
    "Other budgets",
    h("p", { class: "quiet" }, "Share of fresh pages with more or fewer revisits a cycle, forecast from the crawl's own visits."),
    state,
    missing,
    saved,
    chart,
    trouble,
  );
  let waits = null;
  const load = async () => {
    clearTimeout(waits);
    trouble.replaceChildren();
    try {
      const [curve, savings] = await Promise.all(["api/v1/whatif", "api/v1/savings"].map((path) => ask(path, { signal })));
      if ([curve, savings].some((one) => one.state === "computing")) {
        if (forecasts.length === 0) say(state, "The forecast is being computed …");
        waits = setTimeout(load, AGAIN);
        return;
      }
      draw(curve, savings);
    } catch (refusal) {
      if (refusal.name !== "AbortError") trouble.replaceChildren(problem(refusal, load));
    }
  };
  const draw = (curve, savings) => {
    forecasts = curve.forecasts;
    chart.hidden = forecasts.length === 0;
    say(
      state,
      curve.enough
        ? `From ${plural(curve.sample_pages, "page")} of ${plural(curve.groups, "site or folder", "sites or folders")}, cycles ${count(curve.first_cycle)} to ${count(curve.last_cycle)}, with ${curve.formula}.`
        : "There is not enough to forecast from:",
    );
    missing.replaceChildren(
      ...curve.missing.map(({ what, there, needed }) => h("li", {}, `${count(there)} ${what}; ${count(needed)} are needed`)),
    );
    missing.hidden = curve.missing.length === 0;
    saved.replaceChildren(...savingsText(savings));
    saved.hidden = savings.plain === null;
    table.fill(
      forecasts,
      ({ budget }) => budget,
      ({ budget, pages_a_cycle: pages, share: fresh, low, high }) => [
        times(budget),
        count(Math.round(pages)),
        share(fresh),
        `${share(low)} to ${share(high)}`,
      ],
    );
    drawn.redraw();
  };
  signal.addEventListener("abort", () => clearTimeout(waits));
  return { element, load };
}

/** The savings as a sentence. */
function savingsText({ plain, bytes_a_visit: size }) {
  if (plain === null) return [];
  const { budget, low, high, smallest, largest, pages_saved: pages } = plain;
  const end = (number) => {
    if (number === null) return `over ${times(largest)}`;
    return number <= smallest ? `at most ${times(smallest)}` : times(number);
  };
  const needs = ["Visiting the page that waited longest would need ", datum("plain", end(budget)), ` the revisits (${end(low)} to ${end(high)}) for the same freshness`];
  if (pages <= 0) return [...needs, ": the formula saves nothing."];
  const volume = size === null ? "" : `, or ${bytes(Math.round(pages * size))}`;
  return [...needs, `: the formula saves ${budget === null ? "at least " : ""}`, datum("saved", count(Math.round(pages))), ` revisits a cycle${volume}.`];
}

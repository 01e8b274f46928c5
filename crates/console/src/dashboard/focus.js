// What a focused crawl finds: harvest, recall, and sites that are exhausted.

import { figure, h, panel, say } from "./dom.js";
import { count, plural, share } from "./format.js";
import { Table } from "./table.js";

/** 12.3 % (10.1 % to 14.9 %) */
const within = (estimate, low, high) =>
  estimate === null || estimate === undefined ? "unknown" : `${share(estimate)} (${share(low)} to ${share(high)})`;

export function focusPanel() {
  const lead = h("p", { class: "quiet", "data-figure": "focus" });
  const figures = {
    known: figure("Relevant pages", "relevant-known"),
    found: figure("Found this cycle", "relevant-found"),
    harvest: figure("Harvest rate", "harvest", { hint: "Relevant share of the pages judged for the first time; 90 % interval" }),
    recall: figure("Recall", "recall", { hint: "Found share of all relevant pages, estimated from explored pages; 90 % interval" }),
  };
  const table = new Table(
    "Exhausted sites",
    [["Site"], ["Last visits", true], ["Relevant", true], ["Still expected", true]],
    "No exhausted sites.",
  );
  const list = h("dl", { class: "figures" }, Object.values(figures).map(({ element }) => element));
  const element = panel("Focus", lead, list, table.element);
  element.hidden = true;
  return {
    element,
    cycles: (reports) => {
      const last = reports.at(-1);
      // A crawl that looks for nothing needs no panel.
      element.hidden = !last?.focus;
      if (element.hidden) return;
      const found = last.focus;
      const stopped = found.is_satisfied ? " Enough was found: discovery has stopped." : "";
      const explored = `${plural(found.explored, "page")} of ${count(found.discovered)} explored.`;
      say(lead, `Order "${found.order}". ${explored}${stopped}`);
      figures.known.set(count(found.relevant_known));
      figures.found.set(count(found.relevant_found));
      figures.harvest.set(within(found.harvest_rate, found.harvest_low, found.harvest_high));
      figures.recall.set(within(found.recall_estimate, found.recall_low, found.recall_high));
      table.fill(
        found.exhausted ?? [],
        ({ site }) => site,
        ({ site, visits, finds, pending }) => [site, count(visits), count(finds), pending.toFixed(1)],
      );
    },
  };
}

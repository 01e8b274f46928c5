// Bursts: groups of siblings of which more pages changed than was expected.

import { h, panel, say } from "./dom.js";
import { count, plural } from "./format.js";
import { Table } from "./table.js";

export function burstsPanel() {
  const lead = h("p", { class: "quiet", "data-figure": "bursts" });
  const table = new Table(
    "Bursts, strongest first",
    [["Folder"], ["Pages", true], ["Visited", true], ["Changed", true], ["Expected", true]],
    "No bursts.",
  );
  const element = panel("Bursts among siblings", lead, table.element);
  element.hidden = true;
  return {
    element,
    cycles: (reports) => {
      const last = reports.at(-1);
      // A formula that reads no siblings finds no bursts, and needs no panel.
      element.hidden = !last?.bursts;
      if (element.hidden) return;
      const { groups, strongest } = last.bursts;
      say(lead, `${plural(groups, "group")} when cycle ${count(last.cycle)} was planned, by visits of two cycles.`);
      table.fill(
        strongest.map((burst, at) => ({ ...burst, at })),
        ({ folder, at }) => `${at} ${folder}`,
        ({ folder, pages, visits, changes, expected }) => [
          { text: folder, href: `#/page?url=${encodeURIComponent(folder)}` },
          count(pages),
          count(visits),
          count(changes),
          expected.toFixed(1),
        ],
      );
    },
  };
}

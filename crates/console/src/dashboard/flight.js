// The pages that are being fetched now.

import { datum, h, panel } from "./dom.js";
import { count, duration } from "./format.js";
import { Table } from "./table.js";

export function flightPanel() {
  const table = new Table("Pages in flight", [["Page"], ["For", true]], "No page is being fetched.");
  const more = h("p", { class: "quiet" });
  let shown = [];
  const draw = (now) =>
    table.fill(
      shown,
      ({ url }) => url,
      ({ url, since }) => [
        { text: url, href: `#/page?url=${encodeURIComponent(url)}` },
        duration(Math.max(0, Math.round((now - since) / 1000))),
      ],
    );
  const element = panel("In flight", more, table.element);
  element.classList.add("wide");
  return {
    element,
    status: ({ cycle, now }) => {
      shown = cycle?.fetching ?? [];
      const lead = cycle
        ? [datum("fetching", count(shown.length)), ` of ${count(cycle.in_flight)} requests, the longest first. Others look up names, or read robots.txt.`]
        : ["Nothing is fetched between two rounds."];
      more.replaceChildren(...lead);
      draw(now);
    },
  };
}

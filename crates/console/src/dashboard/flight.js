// The pages that are being fetched now.

import { datum, h, panel } from "./dom.js";
import { count, duration, plural } from "./format.js";
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
      const requests = cycle?.in_flight ?? 0;
      const others = requests > shown.length ? " Others look up names, or read robots.txt." : "";
      more.hidden = requests === 0;
      more.replaceChildren(
        datum("fetching", count(shown.length)),
        ` of ${plural(requests, "request")}, the longest first.${others}`,
      );
      draw(now);
    },
  };
}

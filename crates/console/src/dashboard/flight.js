// The pages that are being fetched now.

import { datum, h, panel } from "./dom.js";
import { count, duration, plural } from "./format.js";
import { Table } from "./table.js";

export function flightPanel() {
  const table = new Table("Pages in flight", [["Page"], ["For", true]], "");
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
  element.hidden = true;
  return {
    element,
    status: ({ cycle, now }) => {
      shown = cycle?.fetching ?? [];
      const requests = cycle?.in_flight ?? 0;
      element.hidden = requests === 0;
      const pages = datum("fetching", count(shown.length));
      const others = requests - shown.length;
      more.replaceChildren(
        ...(others === 0 ? [] : [`${plural(requests, "request")}: `]),
        pages,
        ` ${shown.length === 1 ? "page" : "pages"}, the longest first`,
        others === 0 ? "." : `; ${count(others)} for names, robots.txt or further pages.`,
      );
      draw(now);
    },
  };
}

// Failures: counts by kind in the cycle, and the last failed pages.

import { ask } from "./api.js";
import { h, panel, show } from "./dom.js";
import { count, time, words } from "./format.js";
import { Table } from "./table.js";

const linkTo = (url) => `#/page?url=${encodeURIComponent(url)}`;

/** `failed: timeout`, `not found (404)` */
const named = ({ outcome, why, status }) =>
  `${words(outcome)}${why && why !== "status" ? `: ${words(why)}` : ""}${status ? ` (${status})` : ""}`;

export function errorsPanel() {
  const kinds = new Table(
    "Failures by kind",
    [["Outcome"], ["Pages", true]],
    "No failures in this cycle.",
  );
  const last = new Table(
    "Recent failures",
    [["URL"], ["When"], ["Outcome"], ["Detail"]],
    "None since start.",
  );
  const place = h("div", {}, h("p", { class: "quiet" }, "Loading …"));
  const body = h(
    "div",
    { class: "beside" },
    h("div", {}, h("h3", {}, "By kind (this or the last cycle)"), kinds.element),
    h("div", {}, h("h3", {}, "Newest first"), last.element),
  );
  last.scroll.classList.add("long");
  const element = panel("Failures and refusals", place);
  element.classList.add("wide");
  return {
    element,
    load: (signal) =>
      show(place, async () => {
        const errors = await ask("/api/v1/errors", { signal });
        kinds.fill(errors.kinds, named, (kind) => [named(kind), count(kind.pages)]);
        last.fill(
          errors.last,
          ({ at, url }) => `${at} ${url}`,
          (error) => [
            { text: error.url, href: linkTo(error.url) },
            time(error.at),
            { text: named(error), tag: error.outcome },
            error.detail,
          ],
        );
        return body;
      }),
  };
}

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
  // Denials are rules that recrawl obeys: they are no failures.
  const groups = [
    ["failure", "Failures by kind"],
    ["rule", "Kept out by a rule"],
    ["postponed", "Put off to a later round"],
  ].map(([group, name]) => {
    const table = new Table(name, [["Outcome"], ["Pages", true]], "");
    return { group, table, element: h("div", {}, h("h3", {}, name), table.element) };
  });
  const last = new Table(
    "Recent failures",
    [["URL"], ["When"], ["Outcome"], ["Detail"]],
    "None since start.",
  );
  const place = h("div");
  const body = h(
    "div",
    { class: "beside" },
    h("div", {}, ...groups.map(({ element }) => element)),
    h("div", {}, h("h3", {}, "Failures, newest first"), last.element),
  );
  last.scroll.classList.add("long");
  const element = panel("Failures", h("p", { class: "quiet" }, "Counts are of all rounds of the running cycle, or of the last one."), place);
  element.hidden = true;
  const load = async (signal) => {
    const errors = await ask("api/v1/errors", { signal });
    element.hidden = errors.kinds.length + errors.last.length === 0;
    for (const { group, table, element: part } of groups) {
      const kinds = errors.kinds.filter((kind) => kind.group === group);
      part.hidden = kinds.length === 0;
      table.fill(kinds, named, (kind) => [named(kind), count(kind.pages)]);
    }
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
  };
  return { element, load: (signal) => show(place, () => load(signal), () => (element.hidden = false)) };
}

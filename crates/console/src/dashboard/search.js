// The view "Search": pages by their texts, the best first, with the place of each that has most of the words.

import { ask, query } from "./api.js";
import { h, loading, prose, show } from "./dom.js";
import { partitionChoice } from "./fleet.js";
import { count, plural, seconds } from "./format.js";

export const title = "Search";

const RESULTS = 25;
const DAY = 24 * 3600;
const SPANS = [
  ["", "at any time"],
  [DAY, "in the last day"],
  [7 * DAY, "in the last 7 days"],
  [30 * DAY, "in the last 30 days"],
];

const SORTS = [
  ["", "the best first"],
  ["newest", "the newest first"],
];

/** The address of a search from the field in the header. One that is open keeps its host and time. */
export function address(words) {
  const [, open] = /^#\/search\?(.*)$/.exec(location.hash) ?? [];
  return `#${query("/search", { ...Object.fromEntries(new URLSearchParams(open ?? "")), q: words })}`;
}

export function open(main, { app, signal, parameters, navigate }) {
  const [words, host, last, sort, partition] = ["q", "host", "last", "sort", "partition"].map((name) => parameters.get(name) ?? "");
  const option = (chosen) => ([value, text]) => h("option", { value, selected: String(value) === chosen }, text);
  const spans = h("select", { id: "span" }, SPANS.map(option(last)));
  const sorts = h("select", { id: "sort" }, SORTS.map(option(sort)));
  const partitions = partitionChoice(partition, app);
  const hosts = h("input", { id: "sought-host", type: "search", value: host, spellcheck: "false", autocapitalize: "none", "aria-describedby": "sought-hint" });
  const choose = (event) => {
    event.preventDefault();
    const q = document.getElementById("words").value.trim();
    navigate(`#${query("/search", { q, host: hosts.value.trim(), last: spans.value, sort: sorts.value, partition: partitions.value() })}`);
  };
  const place = h("div", {}, words ? loading() : h("p", { class: "quiet" }, "Enter words in the field above."));
  main.append(
    h(
      "form",
      { class: "choices", on: { submit: choose } },
      h("span", {}, h("label", { for: "sought-host" }, "Host"), hosts),
      h("span", {}, h("label", { for: "span" }, "New text"), spans),
      h("span", {}, h("label", { for: "sort" }, "Order"), sorts),
      partitions.element,
      h("button", { type: "submit" }, "Show"),
      h("p", { id: "sought-hint", class: "quiet" }, ...prose('Words: `"several words"` stand side by side, `-word` must not be there. Host: also a domain, as `*.example.com`. ')),
    ),
    place,
  );
  if (!words) return { status: partitions.status };
  const since = last ? Math.max(0, Math.floor(app.clock() / 1000) - Number(last)) : undefined;
  show(place, async () => {
    let found;
    try {
      found = await ask(query("api/v1/search", { q: words, host, since, sort, partition, limit: RESULTS }), { signal });
    } catch (refusal) {
      // Without an index there is nothing wrong: the answer says how to get one.
      if (refusal.status !== 409) throw refusal;
      return [h("p", { class: "quiet", role: "status" }, ...prose(refusal.detail))];
    }
    return [h("p", { class: "quiet", role: "status", "data-figure": "found" }, summary(found)), h("ol", { class: "changes" }, found.results.map(row))];
  });
  return { status: partitions.status };
}

function summary({ results, total, is_partial: isPartial }) {
  if (results.length === 0) return "No page has these words.";
  const shown = total > results.length ? `, the first ${count(results.length)} are shown` : "";
  return isPartial
    ? `No page has all of these words. ${plural(total, "page")} with some${shown}.`
    : `${plural(total, "page")} found${shown}.`;
}

function row({ url, title: name, fetched_at: time, snippet }) {
  const part = ({ text, is_match: isMatch }) => (isMatch ? h("mark", {}, text) : text);
  return h(
    "li",
    { class: "panel" },
    h("h2", {}, h("a", { href: `#/page?url=${encodeURIComponent(url)}` }, name ?? url)),
    h("p", { class: "quiet" }, seconds(time), name ? h("span", { class: "url" }, ` · ${url}`) : null),
    snippet.length > 0 && h("p", { class: "url" }, snippet.map(part)),
  );
}

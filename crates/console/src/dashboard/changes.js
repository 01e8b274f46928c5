// The view "Changes": what changed, newest first, with the difference of each.

import { ask, query } from "./api.js";
import { h, inUse, loading, problem, prose, show } from "./dom.js";
import { partitionChoice } from "./fleet.js";
import { count, date, plural, seconds, words } from "./format.js";

export const title = "Changes";

/** Changes per part of the list. The archive is read for each. */
const PART = 25;
const KINDS = [
  ["", "all but new pages"],
  ["changed", "changed"],
  ["gone,not_found,failed", "gone or failed"],
  ["back", "back"],
  ["new", "new"],
];
const HOUR = 3600;
const SPANS = [
  ["", "all that is kept"],
  [HOUR, "the last hour"],
  [24 * HOUR, "the last day"],
  [7 * 24 * HOUR, "the last 7 days"],
  [30 * 24 * HOUR, "the last 30 days"],
];

export function open(main, { app, signal, parameters, navigate }) {
  const [pages, changes, last, partition] = ["pages", "changes", "last", "partition"].map((name) => parameters.get(name) ?? "");
  const choice = (id, name, options, chosen) => {
    const option = ([value, text]) => h("option", { value, selected: String(value) === chosen }, text);
    const select = h("select", { id }, options.map(option));
    return [select, h("span", {}, h("label", { for: id }, name), select)];
  };
  const [kinds, kindChoice] = choice("kind", "Kind", KINDS, changes);
  const [spans, spanChoice] = choice("span", "Time", SPANS, last);
  const partitions = partitionChoice(partition, app);
  const sought = h("input", { id: "sought", type: "search", value: pages, spellcheck: "false", autocapitalize: "none", "aria-describedby": "sought-hint" });
  const choose = (event) => {
    event.preventDefault();
    navigate(`#${query("/changes", { pages: sought.value.trim(), changes: kinds.value, last: spans.value, partition: partitions.value() })}`);
  };
  const list = h("ol", { class: "changes" });
  const place = h("div", {}, loading());
  const wrong = h("div");
  const more = h("button", { type: "button", hidden: true }, "Older changes");
  main.append(
    h(
      "form",
      { class: "choices", on: { submit: choose } },
      h("span", {}, h("label", { for: "sought" }, "Pages"), sought),
      kindChoice,
      spanChoice,
      partitions.element,
      h("button", { type: "submit" }, "Show"),
      h("p", { id: "sought-hint", class: "quiet" }, ...prose("Pages: a host, `*.example.com`, a URL, or the beginning of one with `*`. ")),
    ),
    h("p", {}, h("a", { href: query("feed.atom", { pages, changes, partition }), type: "application/atom+xml" }, "Subscribe to these changes"), " in a feed reader."),
    place,
    wrong,
    more,
  );

  let isWhole = true;
  const part = async (cursor) => {
    const now = Math.floor(app.clock() / 1000);
    const since = last ? Math.max(0, now - Number(last)) : undefined;
    const found = await ask(query("api/v1/changes", { pages, changes, since, partition, cursor, limit: PART, diff: true }), { signal });
    more.hidden = found.next === null;
    more.onclick = () => older(found.next);
    return found;
  };
  const load = () =>
    show(place, async () => {
      const found = await part();
      isWhole = true;
      list.replaceChildren(...found.changes.map(row));
      if (found.changes.length > 0) return list;
      const day = found.since_time === null ? "" : `${date(1000 * found.since_time)}, `;
      const kept = found.since_cycle === null ? "No visit is kept yet." : `Visits are kept since ${day}cycle ${count(found.since_cycle)}.`;
      return h("p", { class: "quiet", "data-figure": "no_change" }, found.next === null ? `No change found. ${kept}` : "No change in the newest visits.");
    });
  async function older(cursor) {
    try {
      const found = await part(cursor);
      isWhole = false;
      wrong.replaceChildren();
      const rows = found.changes.map(row);
      list.append(...rows);
      if (list.parentNode === null) place.replaceChildren(list);
      rows[0]?.querySelector("a").focus();
    } catch (refusal) {
      if (refusal.name === "AbortError") return;
      if (refusal.title === undefined) throw refusal;
      wrong.replaceChildren(problem(refusal, () => older(cursor)));
    }
  }
  load();
  // Reloading a list with more parts would jump back to its start.
  const anew = () => isWhole && !inUse(place) && load();
  return { cycle: anew, again: anew, status: partitions.status };
}

function row(change) {
  const { kind, url, time, title: name, reason, difference, no_text: missing, is_cut: isCut, hint } = change;
  const note = (text) => text && h("p", { class: "quiet" }, `${text}.`);
  return h(
    "li",
    { class: "panel", "data-change": change.id },
    h(
      "h2",
      {},
      h("span", { class: `tag ${kind}` }, words(kind)),
      " ",
      h("a", { href: `#/page?url=${encodeURIComponent(url)}` }, name ?? url),
    ),
    h("p", { class: "quiet" }, seconds(time), name ? h("span", { class: "url" }, ` · ${url}`) : null),
    note(reason),
    difference === null ? note(missing) : lines(difference, `Difference of ${url}`),
    note(isCut && "The difference goes on: the archived versions of the page show all of it"),
    note(hint),
  );
}

/** The lines of a difference as `diff -u` prints it; its first two are the times. */
function lines(difference, label) {
  const all = difference.split("\n").slice(2).filter((line, at, all) => at < all.length - 1 || line !== "");
  const hunks = all.filter((line) => line.startsWith("@@")).length;
  if (hunks === 0) return h("p", { class: "quiet" }, "No visible difference.");
  const [shown, removed, added] = [[], [], []];
  const place = () => shown.push(...changed(removed.splice(0), added.splice(0)));
  for (const line of all) {
    const [kind, text] = [line[0], line.slice(1)];
    if (kind === "-" && added.length > 0) place();
    if (kind === "-") removed.push(text);
    else if (kind === "+") added.push(text);
    else {
      place();
      if (!line.startsWith("@@")) shown.push(h("span", {}, `${text}\n`));
      else if (shown.length > 0) shown.push(h("span", { class: "skipped" }, "…"));
    }
  }
  place();
  return h("pre", { class: "diff", tabindex: "0", role: "group", "aria-label": `${label}, ${plural(hunks, "place")}` }, shown);
}

/** Lines in place of others. A line that is mostly the one it replaces shows the words that differ. */
function changed(removed, added) {
  const whole = (name, all) => all.map((text) => h(name, {}, `${text}\n`));
  if (removed.length !== added.length) return [...whole("del", removed), ...whole("ins", added)];
  return removed.flatMap((older, at) => {
    const [before, after] = [older, added[at]].map((text) => text.split(/(?<=\s)/));
    const shorter = Math.min(before.length, after.length);
    const same = (end, max) => {
      let count = 0;
      while (count < max && before.at(end(count)) === after.at(end(count))) count++;
      return count;
    };
    const first = same((count) => count, shorter);
    const last = same((count) => -1 - count, shorter - first);
    if (2 * (first + last) < shorter) return [...whole("del", [older]), ...whole("ins", [added[at]])];
    const middle = (name, words) => words.length > first + last && h(name, {}, words.slice(first, words.length - last).join(""));
    const rest = `${before.slice(before.length - last).join("")}\n`;
    return [h("span", {}, before.slice(0, first).join("")), middle("del", before), middle("ins", after), h("span", {}, rest)];
  });
}

// The archived versions of a page: a list, and one of them as text, page, headers or difference.

import { ask, query } from "./api.js";
import { calendar } from "./calendar.js";
import { beside, difference } from "./difference.js";
import { h, inUse, loading, panel, problem, say, show } from "./dom.js";
import { bytes, count, seconds } from "./format.js";
import { Table } from "./table.js";

const KINDS = [
  ["text", "Text"],
  ["page", "Page"],
  ["headers", "Headers"],
  ["difference", "Difference to the version before"],
  ["beside", "Both side by side"],
];

/** How the API names a version. */
const placeOf = ({ warc_file, warc_offset }) => ({ warc_file, warc_offset });

const name = ({ warc_file: file, warc_offset: offset }) => `${file}-${offset}`;

/** What the words of a version tell, and the class of its tag. */
const words = (changed) =>
  changed === null ? "–" : changed ? { text: "changed", tag: "changed" } : { text: "same", tag: "unchanged" };

/** The panel of a page's versions. `load` reads the list anew; `refresh` does if it is not in use. */
export function versions(url, signal) {
  const table = new Table(
    "Archived versions, newest first",
    [["Version", true], ["Fetched"], ["Status", true], ["Type"], ["Size", true], ["Words"], ["Show"]],
    "No archived version.",
  );
  const why = h("p", { class: "quiet", "data-figure": "no_version" });
  const more = h("button", { type: "button", on: { click: () => load(next) } }, "Show older versions");
  const opened = shown(url, signal);
  const wrong = h("div");
  const older = h("p", { class: "actions" }, more);
  const strip = calendar(url, signal, (at) => opened.open({ at }));
  const element = panel("Archived versions", strip.element, table.element, why, older, wrong, opened.element);
  more.hidden = why.hidden = element.hidden = true;
  let [rows, next] = [[], null];

  async function load(cursor) {
    let list;
    try {
      list = await ask(query("api/v1/versions", { url, cursor }), { signal });
    } catch (refusal) {
      if (refusal.name === "AbortError") return;
      if (refusal.title === undefined) throw refusal;
      // The view itself says that a page is unknown, or a URL invalid.
      const isTold = !cursor && [404, 422].includes(refusal.status);
      if (!isTold) wrong.replaceChildren(problem(refusal, () => load(cursor)));
      element.hidden = isTold;
      return;
    }
    wrong.replaceChildren();
    rows = cursor ? [...rows, ...list.versions] : list.versions;
    next = list.next;
    table.fill(rows, name, (version) => [
      count(version.number),
      seconds(version.time),
      version.status,
      version.content_type,
      bytes(version.bytes),
      words(version.words_changed),
      { text: "Show", label: `Show version ${version.number}`, act: () => opened.open(placeOf(version), version.time) },
    ]);
    strip.mark(rows);
    if (!cursor) strip.load(rows);
    more.hidden = next === null;
    why.hidden = list.missing === null;
    const what = rows.length > 0 ? "Older versions cannot be shown" : "Nothing to show";
    if (list.missing) say(why, `${what}: ${list.missing.why}.`);
    element.hidden = false;
    // What was taken down meanwhile is not shown on.
    if (rows.length === 0) opened.close();
  }
  // While somebody reads, the list stays.
  return { element, load: () => load(), refresh: () => inUse(element) || load() };
}

/** The opened version. */
function shown(url, signal) {
  const heading = h("h3", { tabindex: "-1" });
  const content = h("div", { class: "archived" });
  const choices = KINDS.map(([kind, text]) => {
    const properties = { type: "radio", name: "archived-as", id: `archived-${kind}`, value: kind };
    const choice = h("input", { ...properties, on: { change: () => render() } });
    return h("span", {}, choice, h("label", { for: choice.id }, text));
  });
  const group = h("div", { class: "choices", role: "radiogroup", "aria-label": "Show as" }, choices);
  const element = h("div", {}, heading, group, content);
  element.hidden = true;
  let [version, read] = [null, null];
  const chosen = () => element.querySelector("input:checked").value;
  const place = () => query("archived", { url, ...version });

  /** Text, headers and difference are read once. */
  const parts = () => (read ??= ask(place().replace("archived", "api/v1/version"), { signal }));

  function render() {
    content.replaceChildren(loading());
    const [asked, kind] = [version, chosen()];
    show(content, async () => {
      const found = await parts().catch((refusal) => {
        read = null;
        throw refusal;
      });
      if (asked === version) say(heading, `Version of ${seconds(found.version.time)}`);
      const elements = SHOWN[kind](found, place());
      // Another choice was made meanwhile.
      return asked === version && kind === chosen() ? elements : [...content.childNodes];
    });
  }

  return {
    element,
    open: (opened, time) => {
      [version, read] = [opened, null];
      say(heading, time ? `Version of ${seconds(time)}` : "Version");
      if (!element.querySelector("input:checked")) element.querySelector("input").checked = true;
      element.hidden = false;
      render();
      heading.focus();
    },
    close: () => {
      element.hidden = true;
      content.replaceChildren();
    },
  };
}

const pre = (text, label) =>
  h("pre", { class: "diff", tabindex: "0", role: "group", "aria-label": label }, text);
const none = ({ why }) => [h("p", { class: "quiet", "data-figure": "no_text" }, `Nothing to show: ${why}.`)];

const SHOWN = {
  text: ({ text, text_is_cut: isCut, no_text: missing }) =>
    missing
      ? none(missing)
      : [pre(text, "Text of the version"), isCut ? h("p", { class: "quiet" }, "Truncated.") : null].filter(Boolean),
  headers: ({ headers }) => [pre(headers, "Headers of the version")],
  difference: ({ difference: texts }) => difference(texts, "Difference to the version before", "version_texts"),
  beside: ({ difference: texts }) => beside(texts, "Both versions side by side", "version_texts"),
  // The frame has no origin: nothing in it can run, ask anybody or reach this page.
  // What says so stands outside: a style sheet of the page may hide all that is in it.
  page: ({ no_text: missing, version }, place) =>
    missing
      ? none(missing)
      : [
          h(
            "p",
            {},
            `Archived copy of ${seconds(version.time)}. `,
            h("a", { href: place, target: "_blank", rel: "noopener noreferrer" }, "Open in a new tab"),
          ),
          h("iframe", { sandbox: true, src: place, title: "Archived page", referrerpolicy: "no-referrer" }),
        ],
};

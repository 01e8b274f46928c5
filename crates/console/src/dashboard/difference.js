// The difference of two texts.

import { h } from "./dom.js";
import { count, plural, seconds } from "./format.js";

/** Elements of a difference, as in `texts` of a page, or why it is unknown. */
export function difference(texts, label, key = "texts") {
  if (texts.none !== undefined)
    return [h("p", { class: "quiet", "data-figure": key }, `Nothing to compare: ${texts.why}.`)];
  return [
    h("p", { class: "quiet" }, `${seconds(texts.older.time)} vs. ${seconds(texts.newer.time)}. `, amounts(texts, key)),
    h("pre", { class: "diff", tabindex: "0", role: "group", "aria-label": label }, texts.parts.map(part)),
  ];
}

/** The same with the older text on the left, and the newer one on the right, line by line where they are the same. */
export function beside(texts, label, key) {
  if (texts.none !== undefined) return difference(texts, label, key);
  const cell = (side) => h("td", {}, side);
  const sides = [texts.older, texts.newer];
  return [
    h("p", { class: "quiet" }, amounts(texts, key)),
    h(
      "table",
      { class: "diff sides" },
      h("caption", {}, label),
      h("thead", {}, h("tr", {}, sides.map(({ time }) => h("th", { scope: "col" }, seconds(time))))),
      h("tbody", {}, rowsOf(texts.parts).map(([older, newer]) => h("tr", {}, cell(older), cell(newer)))),
    ),
  ];
}

/** The two cells of each row. */
function rowsOf(parts) {
  const rows = [[[], []]];
  const both = (make) => rows.at(-1).forEach((side) => side.push(make()));
  const end = () => rows.push([[], []]);
  for (const each of parts) {
    if (each.kind === "removed") rows.at(-1)[0].push(part(each));
    else if (each.kind === "added") rows.at(-1)[1].push(part(each));
    else if (each.kind === "skipped") {
      end();
      both(() => part(each));
      end();
    } else {
      for (const line of each.text.split(/(?<=\n)/)) {
        both(() => line);
        if (line.endsWith("\n")) end();
      }
    }
  }
  return rows.filter(([older, newer]) => older.length + newer.length > 0);
}

function amounts({ words_added: added, words_removed: removed, is_cut: isCut }, key) {
  const said =
    added + removed === 0
      ? "No visible difference"
      : `${plural(added, "word")} added, ${count(removed)} removed`;
  return h("span", { "data-figure": key }, `${said}${isCut ? "; truncated" : ""}.`);
}

const ELEMENTS = { added: "ins", removed: "del", same: "span" };

const part = ({ kind, text, words: left }) =>
  kind === "skipped"
    ? h("span", { class: "skipped" }, `… ${plural(left, "word")} the same …`)
    : h(ELEMENTS[kind] ?? "span", {}, text);

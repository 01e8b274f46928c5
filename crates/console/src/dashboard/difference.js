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

// Tables whose rows are updated in place, so that the focus stays.

import { h, say } from "./dom.js";

/** A table. A column is its name, and `true` if it holds numbers. */
export class Table {
  #rows = new Map();
  #body = h("tbody");
  #empty;
  #columns;

  constructor(caption, columns, empty) {
    this.#columns = columns;
    this.#empty = h("p", { class: "quiet" }, empty);
    const heads = columns.map(([name, isNumber]) => h("th", { scope: "col", class: isNumber ? "number" : null }, name));
    this.table = h(
      "table",
      {},
      h("caption", { class: "unseen" }, caption),
      h("thead", {}, h("tr", {}, heads)),
      this.#body,
    );
    this.scroll = h("div", { class: "scroll", role: "group", "aria-label": caption, tabindex: "0" }, this.table);
    hintAtMore(this.scroll, this.table);
    this.element = h("div", {}, this.#empty, this.scroll);
    this.fill([], String, () => []);
  }

  /** Shows `items`. A cell is text, or an object: `text` with an `href`, a `tag` (its class), or an
   *  `act` of a button with its `label`; or a `meter` from 0 to 1. */
  fill(items, key, cells) {
    const rows = new Map();
    for (const item of items) {
      const name = key(item);
      rows.set(name, this.#update(this.#rows.get(name) ?? this.#row(), cells(item)));
    }
    for (const [name, row] of this.#rows) if (!rows.has(name)) row.remove();
    // Move a row only if its position changed: moved elements lose the focus.
    let place = this.#body.firstChild;
    for (const row of rows.values()) {
      if (row === place) place = place.nextSibling;
      else this.#body.insertBefore(row, place);
    }
    this.#rows = rows;
    this.#empty.hidden = rows.size > 0;
    this.scroll.hidden = rows.size === 0;
  }

  #row() {
    const cell = ([, isNumber], at) =>
      at === 0
        ? h("th", { scope: "row", class: isNumber ? "number" : null })
        : h("td", { class: isNumber ? "number" : null });
    return h("tr", {}, this.#columns.map(cell));
  }

  #update(row, cells) {
    cells.forEach((cell, at) =>
      put(row.children[at], typeof cell === "object" && cell !== null ? cell : { text: String(cell ?? "–") }),
    );
    return row;
  }
}

/** Marks a table with columns beyond its right edge. */
function hintAtMore(scroll, table) {
  const look = () => scroll.classList.toggle("more", scroll.scrollLeft + scroll.clientWidth < scroll.scrollWidth - 1);
  const seen = new ResizeObserver(look);
  for (const element of [scroll, table]) seen.observe(element);
  scroll.addEventListener("scroll", look, { passive: true });
}

function put(place, { text, href, tag, act, label, meter }) {
  if (meter !== undefined) {
    if (place.firstElementChild?.className !== "meter")
      place.replaceChildren(h("span", { class: "meter", "aria-hidden": "true" }, h("span")));
    place.firstElementChild.firstElementChild.style.width = `${100 * meter}%`;
  } else if (act) {
    if (place.firstElementChild?.tagName !== "BUTTON") place.replaceChildren(h("button", { type: "button", class: "change" }));
    const button = place.firstElementChild;
    say(button, text);
    button.setAttribute("aria-label", label);
    button.onclick = act;
  } else if (href) {
    if (place.firstElementChild?.tagName !== "A") place.replaceChildren(h("a"));
    place.firstElementChild.setAttribute("href", href);
    say(place.firstElementChild, text);
  } else if (tag) {
    if (place.firstElementChild?.tagName !== "SPAN") place.replaceChildren(h("span"));
    place.firstElementChild.className = `tag ${tag}`;
    say(place.firstElementChild, text);
  } else {
    say(place, text);
  }
}

/** The figures of a chart as a table. */
export function alternative(table) {
  return h("details", {}, h("summary", {}, "Show as table"), table.element);
}

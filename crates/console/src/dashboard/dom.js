// Elements. All data of the crawl is inserted as text; no code of the dashboard parses HTML from a string.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    } else {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An HTML element. `on` has its listeners; children are elements or text. */
export function h(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** An SVG element. */
export function s(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

/** Sets a text only if it differs, so that screen readers announce only changes. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A figure within a sentence. Tests find it by `key`. */
export const datum = (key, text) => h("b", { "data-figure": key }, text);

/** A labelled figure. Tests find it by `key`. */
export function figure(name, key, { hint } = {}) {
  const value = h("dd", { "data-figure": key }, "–");
  return { element: h("div", {}, h("dt", { title: hint }, name), value), set: (text) => say(value, text) };
}

/** Names and values; rows without a value are omitted. */
export function facts(rows) {
  const some = rows.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return h(
    "dl",
    { class: "facts" },
    some.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );
}

/** A panel with its heading. */
export function panel(title, ...children) {
  const id = `panel-${title.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`;
  return h("section", { class: "panel", "aria-labelledby": id }, h("h2", { id }, title), ...children);
}

/** The placeholder until data arrives. */
export function loading() {
  return h("p", { class: "quiet", role: "status" }, "Loading …");
}

/** A text of recrawl itself: what is in backticks is code. */
export const prose = (text) => text.split("`").map((part, at) => (at % 2 === 1 ? h("code", {}, part) : part));

/** Sets such a text only if it differs. */
export function sayProse(element, text) {
  if (element.textContent !== text.replaceAll("`", "")) element.replaceChildren(...prose(text));
}

/** An error of the console (RFC 9457). */
export function problem(refusal, again) {
  return h(
    "div",
    { class: "problem", role: "alert" },
    h("p", {}, h("strong", {}, refusal.title), refusal.status ? ` (${refusal.status})` : ""),
    h("p", {}, refusal.at ? `${refusal.at}: ${refusal.detail}` : refusal.detail),
    refusal.todo ? h("p", {}, "What to do: ", ...prose(refusal.todo)) : null,
    again ? h("p", {}, h("button", { type: "button", on: { click: again } }, "Try again")) : null,
  );
}

/** Whether the user reads or uses this element, so that it should not be replaced now. */
export const inUse = (place) => place.contains(document.activeElement) || place.querySelector("details[open]") !== null;

/** Shows the elements from `load` in `place`, or the error, of which `failed` hears. */
export async function show(place, load, failed = () => {}) {
  try {
    const brought = [await load()].flat();
    // Keep elements that are already there, with the focus.
    const stands =
      brought.length === place.childNodes.length && brought.every((node, at) => node === place.childNodes[at]);
    if (!stands) place.replaceChildren(...brought);
  } catch (refusal) {
    if (refusal.name === "AbortError") return;
    if (refusal.title === undefined) throw refusal;
    place.replaceChildren(problem(refusal, () => show(place, load, failed)));
    failed();
  }
}

// Elements. Whatever comes from the crawl goes in as text: nothing here, or elsewhere, reads HTML from a string.

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

/** An element of HTML. `on` has its listeners; children are elements or text. */
export function h(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** An element of SVG. */
export function s(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

/** Changes a text only where it is another, so that readers of the screen are told of changes alone. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A figure within a sentence; `key` is its name for tests. */
export const datum = (key, text) => h("b", { "data-figure": key }, text);

/** A figure: its name for those who read, and for tests, then its value. */
export function figure(name, key, { hint } = {}) {
  const value = h("dd", { "data-figure": key }, "–");
  return { element: h("div", {}, h("dt", { title: hint }, name), value), set: (text) => say(value, text) };
}

/** Names and values; those without a value are left out. */
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

/** What is so while nothing has come yet. */
export function loading() {
  return h("p", { class: "quiet", role: "status" }, "Loading …");
}

/** Why something was refused, as the console says it (RFC 9457). */
export function problem(refusal, again) {
  return h(
    "div",
    { class: "problem", role: "alert" },
    h("p", {}, h("strong", {}, refusal.title), refusal.status ? ` (${refusal.status})` : ""),
    h("p", {}, refusal.at ? `${refusal.at}: ${refusal.detail}` : refusal.detail),
    refusal.todo ? h("p", {}, `What to do: ${refusal.todo}`) : null,
    again ? h("p", {}, h("button", { type: "button", on: { click: again } }, "Try again")) : null,
  );
}

/** Does somebody read or use what stands here, so that it had better stay for now? */
export const inUse = (place) => place.contains(document.activeElement) || place.querySelector("details[open]") !== null;

/** Shows in `place` what `load` brings, or why it does not. */
export async function show(place, load) {
  try {
    const brought = [await load()].flat();
    // What stands there already stays, with the focus.
    const stands =
      brought.length === place.childNodes.length && brought.every((node, at) => node === place.childNodes[at]);
    if (!stands) place.replaceChildren(...brought);
  } catch (refusal) {
    if (refusal.name === "AbortError") return;
    if (refusal.title === undefined) throw refusal;
    place.replaceChildren(problem(refusal, () => show(place, load)));
  }
}

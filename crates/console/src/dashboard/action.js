// Buttons and forms for changes, with the result next to them.

import { change } from "./api.js";
import { h, problem } from "./dom.js";

/** The element that shows the result of a change. */
export function outcome() {
  return h("div", { class: "outcome", role: "status" });
}

/** Sends a change and shows the result in `told`. Returns true if the change was accepted. */
export async function attempt(told, method, path, body) {
  told.replaceChildren();
  try {
    const accepted = await change(method, path, body);
    if (accepted === null) return false;
    told.replaceChildren(
      h("p", { class: "accepted" }, h("strong", {}, DID[accepted.did] ?? accepted.did), `: ${accepted.detail}`),
    );
    return true;
  } catch (refusal) {
    if (refusal.title === undefined) throw refusal;
    told.replaceChildren(problem(refusal));
    return false;
  }
}

const DID = { done: "Done", already: "No change", next_round: "Soon", next_cycle: "From the next cycle on" };

/** A button that sends a change, then calls `after`. */
export function button(text, told, method, path, { body, after, kind, label } = {}) {
  const act = async () => {
    if ((await attempt(told, method, path, body?.())) && after) after();
  };
  return h("button", { type: "button", class: `change ${kind ?? ""}`, "aria-label": label, on: { click: act } }, text);
}

/** A form of one field and one button. */
export function form(id, label, field, text, submit, hint, kind) {
  field.id = id;
  if (hint) field.setAttribute("aria-describedby", `${id}-hint`);
  const sent = (event) => {
    event.preventDefault();
    submit(field);
  };
  return h(
    "form",
    { class: "field change", on: { submit: sent } },
    h("label", { for: id }, label),
    field,
    hint ? h("p", { id: `${id}-hint`, class: "quiet" }, hint) : null,
    h("p", { class: "actions" }, h("button", { type: "submit", class: kind }, text)),
  );
}

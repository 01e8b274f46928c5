// The form that adds seed URLs.

import { attempt, form, outcome } from "./action.js";
import { h, panel } from "./dom.js";

/** The panel. `after` is called when seeds were added; `kind` is that of the button. */
export function seedsPanel(title, { after, kind, lead } = {}) {
  const told = outcome();
  const add = async (field) => {
    const urls = field.value
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean);
    if (await attempt(told, "POST", "api/v1/seeds", { urls })) {
      field.value = "";
      after?.();
    }
  };
  const field = h("textarea", { rows: "4", spellcheck: "false", autocapitalize: "none", required: true });
  return panel(
    title,
    lead ?? "",
    form("seeds", "URLs, one per line", field, "Add seed URLs", add, "They are crawled within seconds.", kind),
    told,
  );
}

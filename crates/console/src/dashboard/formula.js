// The view "Formula": the one in force and where it comes from; a candidate, checked, compared and chosen.

import { attempt, button, outcome } from "./action.js";
import { ask } from "./api.js";
import { bar, legend, picture, slopes } from "./chart.js";
import { datum, facts, h, loading, panel, show } from "./dom.js";
import { count, plural, share, time, value, words } from "./format.js";
import { Table } from "./table.js";

export const title = "Formula";

/** Pages in the picture of a comparison, of those that rise and of those that fall. */
const DRAWN = 10;

export function open(main, { signal }) {
  const known = h("div", {}, loading());
  const past = new Table(
    "Formulas that were chosen, newest first",
    [["Formula"], ["Expression"], ["By"], ["When"], ["From cycle", true]],
    "Nobody chose another formula yet.",
  );
  const backTold = outcome();
  const [told, result] = [outcome(), h("div", { "aria-live": "polite" })];
  const text = h("textarea", {
    id: "candidate",
    rows: "4",
    spellcheck: "false",
    autocapitalize: "none",
    "aria-describedby": "candidate-hint",
  });
  const builtIn = h("select", { id: "built-in" }, h("option", { value: "" }, "choose one"));
  builtIn.addEventListener("change", () => {
    if (builtIn.value) text.value = builtIn.value;
  });
  const load = () =>
    show(known, async () => {
      const formulas = await ask("/api/v1/formulas", { signal });
      const chosen = builtIn.value;
      past.fill(
        formulas.history,
        (used) => `${used.at} ${used.name}`,
        (used) => [used.name, used.expression, used.who, time(used.at), count(used.from_cycle)],
      );
      builtIn.replaceChildren(
        h("option", { value: "" }, "choose one"),
        ...formulas.built_in.map(({ name }) => h("option", { value: name, selected: name === chosen }, name)),
      );
      return h(
        "div",
        { class: "panels" },
        formulaPanel("In force", formulas.in_force),
        formulas.next ? formulaPanel("From the next cycle on", formulas.next) : null,
      );
    });
  const post = (path, draw) => async () => {
    told.replaceChildren();
    result.replaceChildren(loading());
    await show(result, async () => draw(await ask(path, { method: "POST", body: { text: text.value }, signal })));
  };
  const use = async () => {
    if (await attempt(told, "PUT", "/api/v1/formula", { text: text.value })) load();
  };
  const candidate = panel(
    "A candidate",
    h(
      "form",
      { class: "field", on: { submit: (event) => event.preventDefault() } },
      h("p", {}, h("label", { for: "built-in" }, "Built in"), builtIn),
      h("label", { for: "candidate" }, "Formula"),
      text,
      h(
        "p",
        { id: "candidate-hint", class: "quiet" },
        "A name, an expression such as ",
        h("code", {}, "1 - exp(-cg * t)"),
        ", or the text of a formula file. Checking and comparing change nothing.",
      ),
      h(
        "p",
        { class: "actions" },
        h("button", { type: "button", on: { click: post("/api/v1/formulas/check", checked) } }, "Check"),
        " ",
        h("button", { type: "button", on: { click: post("/api/v1/formulas/compare", compared) } }, "Compare"),
        " ",
        h("button", { type: "button", class: "main", on: { click: use } }, "Use from the next cycle on"),
      ),
    ),
    told,
    result,
  );
  candidate.classList.add("wide");
  const history = panel(
    "History",
    past.element,
    h(
      "p",
      { class: "actions" },
      button("Roll back to the one before", backTold, "DELETE", "/api/v1/formula", { after: load }),
    ),
    backTold,
  );
  history.classList.add("wide");
  main.append(known, h("div", { class: "panels" }, candidate, history));
  load();
  return { cycle: load, change: load, again: load };
}

function formulaPanel(heading, { name, expression, description, provenance }) {
  const rows = Object.entries(provenance ?? {}).map(([key, shown]) => [words(key), String(shown)]);
  return panel(
    heading,
    h("p", { class: "lead", "data-figure": heading === "In force" ? "formula" : "formula_next" }, name),
    h("pre", { class: "expression" }, expression),
    description ? h("p", {}, description) : null,
    rows.length > 0 ? h("h3", {}, "Provenance") : null,
    rows.length > 0 ? facts(rows) : h("p", { class: "quiet" }, "Nothing is said of where it comes from."),
  );
}

function checked(check) {
  return h(
    "div",
    {},
    h("h3", {}, "It is a formula"),
    facts([
      ["Name", check.name],
      ["Understood as", h("code", { "data-figure": "checked" }, check.expression)],
      ["Simplified", check.simplified && h("code", {}, check.simplified)],
      ["Reads", check.terminals.join(", ") || "nothing"],
      ["Size", `${plural(check.nodes, "node")}, depth ${check.depth}`],
      ["Cost", `${plural(check.cost, "step")} a page`],
    ]),
    check.warnings.length > 0
      ? h(
          "div",
          { class: "warning" },
          h("h4", {}, "Beware"),
          h(
            "ul",
            {},
            check.warnings.map((warning) => h("li", {}, warning)),
          ),
        )
      : h("p", { class: "quiet" }, "Nothing to beware of."),
  );
}

function compared(changes) {
  const some = [...changes.rise.slice(0, DRAWN), ...changes.fall.slice(0, DRAWN)];
  const both = Math.round(changes.overlap * changes.k);
  const parts = [
    { kind: "unchanged", name: "chosen by both", value: both, key: "both" },
    { kind: "changed", name: "by the candidate instead", value: changes.k - both, key: "instead" },
  ];
  const text = `Of the best ${count(changes.k)} of ${plural(changes.pages, "page")}, both choose ${share(changes.overlap)}`;
  const list = (name, pages) => {
    const table = new Table(
      name,
      [["Page"], ["Rank in force", true], ["Rank by it", true], ["Score in force", true], ["Score by it", true]],
      "None.",
    );
    table.fill(
      pages,
      (page) => page.url,
      (page) => [
        { text: page.url, href: `#/page?url=${encodeURIComponent(page.url)}` },
        count(page.rank),
        count(page.other_rank),
        value(page.score),
        value(page.other_score),
      ],
    );
    return h("div", {}, h("h4", {}, name), table.element);
  };
  return h(
    "div",
    {},
    h("h3", {}, "Beside the one in force"),
    h(
      "p",
      {},
      "Of the best ",
      datum("k", count(changes.k)),
      " of ",
      datum("compared", count(changes.pages)),
      " pages, both choose ",
      datum("overlap", share(changes.overlap)),
      ".",
    ),
    changes.k > 0 ? picture((width) => bar(width, parts, text)).element : null,
    changes.k > 0 ? legend(parts.map((part) => ({ ...part, value: count(part.value) }))) : null,
    some.length > 0
      ? picture((width) =>
          slopes(
            Math.min(width, 640),
            some,
            `${plural(changes.rise.length, "page")} that rise and ${changes.fall.length} that fall most; the tables below have their ranks`,
          ),
        ).element
      : h("p", { class: "quiet" }, "No page has another rank."),
    some.length > 0
      ? legend([
          { kind: "rise", name: "rises" },
          { kind: "fall", name: "falls" },
        ])
      : null,
    some.length > 0
      ? h("div", {}, list("Pages that rise most", changes.rise), list("Pages that fall most", changes.fall))
      : null,
  );
}

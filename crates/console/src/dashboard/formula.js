// The view "Formula": the one in force with its provenance, and a candidate to check, compare and use.

import { attempt, button, outcome } from "./action.js";
import { ask } from "./api.js";
import { bar, legend, numbered, picture, slopes } from "./chart.js";
import { datum, facts, h, loading, panel, prose, say, show } from "./dom.js";
import { count, plural, share, time, value, words } from "./format.js";
import { Table } from "./table.js";

export const title = "Formula";

/** Rising pages, and falling pages, in the chart of a comparison. */
const DRAWN = 10;

export function open(main, { signal }) {
  const known = h("div", {}, loading());
  const past = new Table(
    "Formula history, newest first",
    [["Formula"], ["Expression"], ["By"], ["When"], ["From cycle", true]],
    "No earlier formulas.",
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
  const builtIn = h("select", { id: "built-in" }, h("option", { value: "" }, "Choose …"));
  builtIn.addEventListener("change", () => {
    if (builtIn.value) text.value = builtIn.value;
    enable();
  });
  const load = () =>
    show(known, async () => {
      const formulas = await ask("api/v1/formulas", { signal });
      const chosen = builtIn.value;
      back.disabled = formulas.history.length === 0;
      say(noBack, back.disabled ? "There is no earlier formula to roll back to." : "");
      past.fill(
        formulas.history,
        (used) => `${used.at} ${used.name}`,
        (used) => [used.name, used.expression, used.who, time(used.at), count(used.from_cycle)],
      );
      builtIn.replaceChildren(
        h("option", { value: "" }, "Choose …"),
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
    if (await attempt(told, "PUT", "api/v1/formula", { text: text.value })) load();
  };
  const act = (name, kind, click) =>
    h("button", { type: "button", class: kind, "aria-describedby": "no-candidate", on: { click } }, name);
  const actions = [
    act("Check", null, post("api/v1/formulas/check", checked)),
    act("Compare", "main", post("api/v1/formulas/compare", compared)),
    act("Use from next cycle", "change", use),
  ];
  const noCandidate = h("span", { class: "quiet", id: "no-candidate" });
  const enable = () => {
    const isEmpty = text.value.trim() === "";
    for (const action of actions) action.disabled = isEmpty;
    say(noCandidate, isEmpty ? "Choose or write a formula first." : "");
  };
  text.addEventListener("input", enable);
  enable();
  const candidate = panel(
    "Candidate",
    h(
      "form",
      { class: "field", on: { submit: (event) => event.preventDefault() } },
      h("p", {}, h("label", { for: "built-in" }, "Built-in"), builtIn),
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
        actions.flatMap((action) => [action, " "]),
        noCandidate,
      ),
    ),
    told,
    result,
  );
  candidate.classList.add("wide");
  const back = button("Roll back", backTold, "DELETE", "api/v1/formula", { after: load });
  const noBack = h("span", { class: "quiet", id: "no-roll-back" });
  back.setAttribute("aria-describedby", "no-roll-back");
  const history = panel(
    "History",
    past.element,
    h("p", { class: "actions" }, back, noBack),
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
    rows.length > 0 ? facts(rows) : h("p", { class: "quiet" }, "No provenance."),
  );
}

function checked(check) {
  return h(
    "div",
    {},
    h("h3", {}, "Valid formula"),
    facts([
      ["Name", check.name],
      ["Parsed as", h("code", { "data-figure": "checked" }, check.expression)],
      ["Simplified", check.simplified && h("code", {}, check.simplified)],
      ["Terminals", check.terminals.join(", ") || "nothing"],
      ["Size", `${plural(check.nodes, "node")}, depth ${check.depth}`],
      ["Cost", `${plural(check.cost, "operation")} per page`],
    ]),
    check.warnings.length > 0
      ? h(
          "div",
          { class: "warning" },
          h("h4", {}, "Warnings"),
          h(
            "ul",
            {},
            check.warnings.map((warning) => h("li", {}, warning)),
          ),
        )
      : h("p", { class: "quiet" }, "No warnings."),
  );
}

const CHOICES = {
  in_force: "formula in force",
  candidate: "candidate",
  best: "best by the estimator",
  random: "by chance",
};

/** What each choice of k pages is expected to bring. */
function expectations({ expected, basis, observed_change_rate: observed, k }) {
  const table = new Table(
    "Expected by one estimator",
    [["Choice"], ["Expected ChangeRate", true], ["Expected freshness afterwards", true]],
    "Nothing to expect.",
  );
  table.fill(
    expected,
    ({ by }) => by,
    ({ by, change_rate: rate, freshness }) => [CHOICES[by], share(rate), share(freshness)],
  );
  const why = k === 0 ? "ChangeRate is unknown: no page would be chosen by score." : "";
  const seen =
    observed === null
      ? "No audit sample yet (cycle.audit_share), so nothing was measured to compare it with."
      : `To judge the estimator: it expects ${share(expected.find(({ by }) => by === "random")?.change_rate)} of all pages to have changed; the last audit sample found ${share(observed)}.`;
  return h(
    "div",
    {},
    h("h4", {}, "Expected ChangeRate and freshness"),
    table.element,
    why ? h("p", { class: "quiet" }, why) : null,
    h("p", { class: "quiet" }, ...prose(basis), " ", h("span", { "data-figure": "observed" }, seen)),
  );
}

function compared(changes) {
  const heading = h("h3", {}, "Compared with the formula in force");
  if (changes.pages === 0)
    return h("div", {}, heading, h("p", { class: "quiet" }, "No page competes by score yet: none has enough visits."));
  const some = [...changes.rise.slice(0, DRAWN), ...changes.fall.slice(0, DRAWN)];
  const both = Math.round(changes.overlap * changes.k);
  const parts = [
    { kind: "unchanged", name: "selected by both", value: both, key: "both" },
    { kind: "changed", name: "only by the candidate", value: changes.k - both, key: "instead" },
  ];
  const text = `Both select ${share(changes.overlap)} of the top ${count(changes.k)} of ${plural(changes.pages, "page")}`;
  const list = (name, pages) => {
    const table = new Table(
      name,
      [["Page"], ["Current rank", true], ["Candidate rank", true], ["Current score", true], ["Candidate score", true]],
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
    heading,
    changes.k > 0
      ? [
          h(
            "p",
            {},
            "Top ",
            datum("k", count(changes.k)),
            " of ",
            datum("compared", count(changes.pages)),
            " pages; selected by both: ",
            datum("overlap", share(changes.overlap)),
            ".",
          ),
          picture((width) => bar(width, parts, text)).element,
          numbered(parts),
        ]
      : h("p", {}, `The next cycle selects none of ${plural(changes.pages, "page")} by score.`),
    expectations(changes),
    some.length > 0
      ? picture((width) =>
          slopes(
            width,
            some,
            `${plural(changes.rise.length, "page")} rising most and ${changes.fall.length} falling most; see the tables below`,
          ),
        ).element
      : h("p", { class: "quiet" }, "No rank changes."),
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

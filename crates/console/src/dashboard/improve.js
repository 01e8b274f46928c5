// The view "Improve": how fresh the pages are, the step of the loop, its candidate and history, and other budgets.

import { ask, query } from "./api.js";
import { bands, cycleTicks } from "./bands.js";
import { dates, picture } from "./chart.js";
import { facts, figure, h, loading, panel, problem, prose, say, show } from "./dom.js";
import { forecastPanel } from "./forecast.js";
import { count, plural, share, time, words } from "./format.js";
import { armsPanel, candidatePanel, loopPanel } from "./loop.js";
import { Table, alternative } from "./table.js";

export const title = "Improve";

/** Events loaded at once. */
const EVENTS = 25;
/** Seconds between two loads while a formula is learned: its end is no event. */
const LOOK = 5;

export function open(main, { app, signal }) {
  const [off, state] = [h("div"), h("div", {}, loading())];
  const [fresh, expected] = [freshnessPanel(), expectedPanel()];
  const loop = loopPanel({ after: () => load() });
  const [candidate, arms, history] = [candidatePanel(), armsPanel(), historyPanel(signal)];
  const forecast = forecastPanel(signal);
  const [measured, tried] = [[fresh, expected], [loop, candidate, arms]];
  const stack = (...parts) => h("div", { class: "stack" }, ...parts.map(({ element }) => element));
  const panels = h(
    "div",
    { class: "panels two" },
    fresh.element,
    loop.element,
    stack(candidate, expected),
    stack(arms, forecast),
    history.element,
  );
  panels.hidden = true;
  main.append(off, state, panels);
  let isLearning = false,
    isOff = false;
  const load = () =>
    show(state, async () => {
      const improve = await ask("api/v1/improve", { signal });
      isLearning = improve.loop !== null && (improve.loop.learner.running_since !== null || improve.loop.learner.is_asked);
      isOff = improve.mode === "off";
      off.replaceChildren(...modePanel(improve));
      panels.hidden = false;
      for (const one of measured) {
        one.element.hidden = isOff;
        if (!isOff) one.set(improve);
      }
      for (const one of tried) {
        one.element.hidden = improve.loop === null;
        if (improve.loop !== null) one.set(improve, app.clock());
      }
      forecast.element.hidden = isOff;
      return [];
    });
  const all = async () => {
    history.load();
    await load();
    if (!isOff) forecast.load();
  };
  all();
  let ticks = 0;
  return {
    cycle: all,
    change: () => (load(), history.load()),
    again: all,
    tick: () => {
      ticks += 1;
      if (isLearning && ticks % LOOK === 0) load();
    },
  };
}

/** What is switched off, and what to set. */
function modePanel({ mode, todo }) {
  if (todo === null || mode === "propose") return [];
  const lead = {
    off: "This crawl does not measure what its formula is worth.",
    watch: "This crawl measures its formula, and learns no other.",
  }[mode];
  const element = panel("Mode", h("p", { class: "lead", "data-figure": "improve_mode" }, lead), h("p", {}, "What to do: ", ...prose(coded(todo)), "."));
  return [h("div", { class: "panels" }, element)];
}

/** Settings in a text as code. */
const coded = (text) => text.replaceAll(/improve\.mode = "[a-z]+"|"[a-z]+"/g, (found) => `\`${found}\``);

/** When cycles ended. */
const endsOf = (cycles) => new Map(cycles.map(({ cycle, ended }) => [cycle, ended]));

function freshnessPanel() {
  let [cycles, ends] = [[], new Map()];
  const [now, range, pages] = [
    figure("estimate", "improve_freshness"),
    figure("interval", "improve_interval"),
    figure("audited pages", "improve_pages"),
  ];
  const basis = h("p", { class: "quiet" });
  const drawn = picture((width) => {
    const name = dates(ends);
    const title = (cycle) => `${name(cycle)}, cycle ${cycle}`;
    return bands(
      width,
      [{ kind: "main", name: "freshness", points: cycles.map(({ cycle, freshness }) => ({ x: cycle, title: title(cycle), share: null, ...freshness })) }],
      {
        label: `Freshness from ${name(cycles[0]?.cycle)} to ${name(cycles.at(-1)?.cycle)}, with its interval; see the table`,
        ticks: cycleTicks(
          cycles.map(({ cycle }) => cycle),
          width,
          name,
        ),
      },
    );
  });
  const table = new Table(
    "Freshness by cycle",
    [["Ended"], ["Cycle", true], ["Fresh", true], ["Its interval", true], ["Audited", true]],
    "No measured cycle yet.",
  );
  const chart = h("div", {}, drawn.element, alternative(table));
  const element = panel(
    "Measured freshness",
    h("p", { class: "quiet" }, "Share of pages unchanged since their last visit, before the visits of a cycle."),
    h("dl", { class: "figures flow" }, now.element, range.element, pages.element),
    basis,
    chart,
  );
  element.classList.add("wide");
  return {
    element,
    set: ({ watch, cycles: all }) => {
      const fresh = watch?.freshness ?? null;
      now.set(share(fresh?.share));
      range.set(fresh ? `${share(fresh.low)} to ${share(fresh.high)}` : "–");
      pages.set(count(watch?.pages));
      say(basis, basisText(watch, fresh));
      [cycles, ends] = [all, endsOf(all)];
      chart.hidden = !all.some(({ freshness }) => freshness !== null);
      table.fill(
        all.toReversed(),
        ({ cycle }) => cycle,
        ({ cycle, ended, freshness }) => [
          time(ended),
          count(cycle),
          share(freshness?.share),
          freshness ? `${share(freshness.low)} to ${share(freshness.high)}` : "–",
          count(freshness?.pages),
        ],
      );
      drawn.redraw();
    },
  };
}

function basisText(watch, fresh) {
  if (!watch) return "Unknown: no measured cycle yet.";
  const of = `Mean of ${plural(watch.pooled, "cycle")}`;
  if (!fresh) return `Unknown: ${plural(watch.pages, "audited page")} so far, ${count(watch.pages_needed)} are needed.`;
  const wanted = watch.pages_for_two_points;
  return wanted > watch.pages ? `${of}. An error of 2 points takes ${plural(wanted, "audited page")}.` : `${of}.`;
}

function expectedPanel() {
  const place = h("div");
  const table = new Table(
    "Stability of the pages that compete by score",
    [["Distribution"], ["Stability index", true], ["Limit", true]],
    "Nothing to compare with 28 cycles before.",
  );
  const moved = h("p", { class: "warning" }, "The pages are distributed in another way than 28 cycles before.");
  const unknown = h("p", { class: "quiet", "data-figure": "improve_population_unknown" });
  const element = panel("As expected", place, h("h3", {}, "Distribution of pages"), moved, unknown, table.element);
  const found = ({ visits, changed, expected }) => `${count(changed)} of ${plural(visits, "visit")} found a change, ${count(Math.round(expected))} expected`;
  return {
    element,
    set: ({ watch }) => {
      if (!watch) {
        place.replaceChildren(h("p", { class: "quiet" }, "No measured cycle yet."));
        moved.hidden = unknown.hidden = true;
        table.fill([], String, () => []);
        return;
      }
      const { cycles, score, audit, drift, population } = watch;
      place.replaceChildren(
        ...(drift.alarm
          ? [h("p", { class: "warning" }, `Visits find ${drift.alarm.changes} changes than before since cycle ${count(drift.alarm.cycle)}.`)]
          : []),
        facts([
          ["Visits by score", found(score)],
          ["Audit sample", found(audit)],
          [
            "Drift",
            drift.cycles_wanted > 0
              ? `${plural(drift.cycles_wanted, "cycle")} until there is a norm to compare with`
              : `sums ${drift.above.toFixed(1)} above and ${drift.below.toFixed(1)} below; an alarm comes above ${count(drift.limit)}`,
          ],
        ]),
      );
      moved.hidden = population.has_moved !== true;
      const reason = unknownText(population, cycles);
      unknown.hidden = reason === null;
      say(unknown, reason ?? "");
      const rows = [
        ["X/n, the changes a visit", population.change_rate],
        ["depth", population.depth],
      ];
      table.fill(
        rows.filter(([, stability]) => stability !== null),
        ([name]) => name,
        ([name, { index, limit }]) => [name, `${index.toFixed(2)}${index >= limit ? " (much)" : ""}`, limit.toFixed(2)],
      );
    },
  };
}

/** Why it cannot be told how pages are distributed; null if it can. */
function unknownText({ cycles_needed, change_rate, depth, has_moved }, cycles) {
  if (has_moved === null && cycles < cycles_needed) return `Too few cycles to tell: ${count(cycles)} of ${count(cycles_needed)}.`;
  if (depth !== null && change_rate === null) return "Too few visits a page to tell X/n: half of the pages need 16.";
  return null;
}

function historyPanel(signal) {
  let [events, next, shown] = [[], null, EVENTS];
  const table = new Table(
    "History of the loop, newest first",
    [["Event"], ["When"], ["Cycle", true], ["Candidate"], ["Why"]],
    "Nothing was tried yet.",
  );
  const trouble = h("div");
  const more = h("button", { type: "button", on: { click: () => ((shown += EVENTS), load()) } }, "Show more");
  const element = panel("History", table.element, h("p", { class: "actions" }, more), trouble);
  element.classList.add("wide");
  const load = async () => {
    try {
      ({ events, next } = await ask(query("api/v1/improve/history", { limit: shown }), { signal }));
      trouble.replaceChildren();
      more.hidden = next === null;
      table.fill(
        events,
        ({ at, what, cycle, candidate, why }) => `${at} ${cycle} ${what} ${candidate} ${why}`,
        ({ cycle, at, what, candidate, why }) => [{ text: words(what), tag: TAGS[what] ?? "" }, time(at), count(cycle), candidate ?? "–", why],
      );
    } catch (refusal) {
      if (refusal.name !== "AbortError") trouble.replaceChildren(problem(refusal, load));
    }
  };
  return { element, load };
}

/** Classes of tags, by event. */
const TAGS = {
  promoted: "done",
  kept: "done",
  refused: "",
  rejected: "refused",
  rolled_back: "refused",
  alarm: "next_cycle",
  held: "paused",
};

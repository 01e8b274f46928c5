// The view "Now": the running cycle and the state of the crawl.

import { ask } from "./api.js";
import { pagesPanel, ratePanel } from "./cycles.js";
import { cyclePanel } from "./cycle.js";
import { h } from "./dom.js";
import { errorsPanel } from "./errors.js";
import { changesPanel, politePanel } from "./polite.js";
import { bulkPanel, freshPanel } from "./size.js";

export const title = "Now";

/** Cycles in the charts. */
const CYCLES = 60;
/** Milliseconds between two loads of the host lists. They cost the crawl more than the status. */
const HOSTS_EVERY = 5000;

export function open(main, { app, signal }) {
  const cycle = cyclePanel(),
    rate = ratePanel(),
    pages = pagesPanel(),
    fresh = freshPanel();
  const changes = changesPanel(),
    polite = politePanel(),
    errors = errorsPanel(),
    bulk = bulkPanel();
  main.append(
    h(
      "div",
      { class: "panels" },
      cycle.element,
      rate.element,
      pages.element,
      h("div", { class: "stack" }, fresh.element, bulk.element),
      changes.element,
      polite.element,
      errors.element,
    ),
  );

  let reports = [],
    asked = 0;
  const draw = () => {
    rate.cycles(reports);
    pages.cycles(reports);
  };
  const load = async () => {
    try {
      reports = (await ask(`/api/v1/cycles?last=${CYCLES}`, { signal })).reverse();
      draw();
    } catch (refusal) {
      if (refusal.name !== "AbortError") rate.refused(refusal, load);
    }
  };
  const hosts = () => {
    asked = Date.now();
    changes.load(signal);
    polite.load(signal);
    errors.load(signal);
  };
  const status = (now) => {
    for (const part of [cycle, rate, pages, fresh, polite, bulk]) part.status(now);
    if (Date.now() - asked > HOSTS_EVERY) hosts();
  };
  load();
  hosts();
  if (app.status) status(app.status);
  return {
    status,
    cycle: (report) => {
      reports = [...reports.filter((known) => known.cycle !== report.cycle), report].slice(-CYCLES);
      draw();
      hosts();
    },
    change: hosts,
    again: () => (load(), hosts()),
    tick: () => cycle.tick(app),
  };
}

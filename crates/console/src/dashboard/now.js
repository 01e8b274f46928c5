// The view "Now": the running cycle and the state of the crawl.

import { ask } from "./api.js";
import { burstsPanel } from "./bursts.js";
import { pagesPanel, ratePanel } from "./cycles.js";
import { cyclePanel } from "./cycle.js";
import { h } from "./dom.js";
import { errorsPanel } from "./errors.js";
import { changesPanel, politePanel } from "./polite.js";
import { flightPanel } from "./flight.js";
import { focusPanel } from "./focus.js";
import { fleetPanel } from "./fleet.js";
import { healthPanel } from "./health.js";
import { recentPanel } from "./recent.js";
import { copiesPanel, deliveryPanel, vaultPanel } from "./delivery.js";
import { seedsPanel } from "./seeds.js";
import { bulkPanel, freshPanel } from "./size.js";

export const title = "Now";

/** Set in the browser while the rest of the view is open. */
const MORE = "recrawl-more";
/** Cycles in the charts. */
const CYCLES = 60;
/** Milliseconds between two loads of the host lists. They cost the crawl more than the status. */
const HOSTS_EVERY = 5000;

/** Panels beside each other, where there is room. */
const row = (...panels) => h("div", { class: "row" }, panels.map(({ element }) => element));

export function open(main, { app, signal }) {
  // The selected tab says it.
  main.querySelector("h1").className = "unseen";
  const health = healthPanel(app),
    recent = recentPanel(),
    flight = flightPanel(),
    cycle = cyclePanel(),
    rate = ratePanel(),
    pages = pagesPanel(),
    fresh = freshPanel();
  const changes = changesPanel(),
    polite = politePanel(),
    delivery = deliveryPanel(),
    copies = copiesPanel(),
    vault = vaultPanel(),
    fleet = fleetPanel(),
    errors = errorsPanel(),
    bulk = bulkPanel(),
    bursts = burstsPanel(),
    focus = focusPanel();
  // A crawl without pages needs nothing but a seed.
  const seeds = seedsPanel("Start with a seed", {
    kind: "main",
    lead: h("p", {}, "No pages yet. Add the address of a site to crawl it."),
  });
  seeds.hidden = true;
  const more = h(
    "details",
    { class: "more", open: localStorage.getItem(MORE) !== null },
    h("summary", {}, "Hosts, documents, failures, bytes"),
    h("div", { class: "rows" }, row(flight, changes), copies.element, polite.element, errors.element, row(bulk, bursts)),
  );
  more.addEventListener("toggle", () => (more.open ? localStorage.setItem(MORE, "open") : localStorage.removeItem(MORE)));
  main.append(
    h("div", { class: "rows" }, row(health, cycle), seeds, recent.element, row(rate, fresh, pages), delivery.element, vault.element, fleet.element, focus.element),
    more,
  );

  let reports = [],
    asked = 0;
  const draw = () => {
    rate.cycles(reports);
    pages.cycles(reports);
    bursts.cycles(reports);
    focus.cycles(reports);
  };
  const load = async () => {
    try {
      reports = (await ask(`api/v1/cycles?last=${CYCLES}`, { signal })).reverse();
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
    for (const part of [health, cycle, flight, rate, pages, fresh, delivery, copies, vault, fleet, polite, bulk]) part.status(now);
    seeds.hidden = now.pages > 0 || now.state === "starting" || Boolean(now.cycle);
    if (Date.now() - asked > HOSTS_EVERY) hosts();
  };
  load();
  hosts();
  recent.load(signal);
  if (app.status) status(app.status);
  return {
    status,
    cycle: (report) => {
      reports = [...reports.filter((known) => known.cycle !== report.cycle), report].slice(-CYCLES);
      draw();
      hosts();
    },
    change: hosts,
    again: () => (load(), hosts(), recent.again(signal)),
    tick: () => {
      health.tick();
      cycle.tick(app);
      recent.tick(signal);
    },
  };
}

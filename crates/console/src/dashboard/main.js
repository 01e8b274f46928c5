// The page: selects the view, passes events to it, and fills header and footer.

import { beginSession, session } from "./api.js";
import { listen } from "./stream.js";
import { h, prose, say, sayProse } from "./dom.js";
import { count, time, words } from "./format.js";
import { light, sentence } from "./health.js";
import * as changes from "./changes.js";
import * as control from "./control.js";
import * as formula from "./formula.js";
import * as hosts from "./hosts.js";
import * as improve from "./improve.js";
import * as now from "./now.js";
import * as page from "./page.js";
import * as search from "./search.js";

const VIEWS = { now, search, changes, page, hosts, host: hosts.one, formula, improve, control };
/** Operators' changes kept for the view "Control". */
const CHANGES = 50;

const $ = (id) => document.getElementById(id);
const main = $("main");

/** State for all views: the last status, whether the connection is lost, the crawl's clock, and the changes since the
 *  page was opened. */
const app = { status: null, isLost: false, changes: [], clock: () => Date.now() + ahead };
let ahead = 0;
let view = {},
  leave = null;

/** Opens a view by its address, again if it is open. */
const navigate = (hash) => (location.hash === hash ? route() : (location.hash = hash));

/** Opens the view that the address names: `#/page?url=…`. */
function route() {
  const [, name, parameters] = /^#\/([a-z]*)(?:\?(.*))?$/.exec(location.hash) ?? [];
  const chosen = VIEWS[name] ?? now;
  const isFirst = leave === null;
  leave?.abort();
  leave = new AbortController();
  document.title = `${chosen.title} · recrawl`;
  const heading = h("h1", { tabindex: "-1" }, chosen.title);
  main.replaceChildren(heading);
  for (const link of document.querySelectorAll("nav a")) {
    const isHere = (VIEWS[link.hash.slice(2)] ?? now) === chosen || (chosen === hosts.one && link.hash === "#/hosts");
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const asked = new URLSearchParams(parameters ?? "");
  $("words").value = (chosen === search && asked.get("q")) || "";
  view = chosen.open(main, { app, signal: leave.signal, parameters: asked, navigate });
  view.tick?.();
  // Screen readers announce the new view.
  if (!isFirst) heading.focus();
}

/** Announces a text to screen readers. */
const announce = (text) => say($("news"), text);

let told = { state: null, level: null, quarter: 0 };

function status(now) {
  app.status = now;
  ahead = now.now - Date.now();
  say($("state"), words(now.state));
  $("state").className = `badge ${now.state}`;
  light($("light"), now.health.level);
  sayProse($("reason"), sentence(now.health, now.now));
  say(
    $("where"),
    `recrawl ${now.version} · ${now.data_dir} · generation ${count(now.generation)} · up since ${time(now.started)}`,
  );
  view.status?.(now);
  view.tick?.();
  // Announce only changes of state and each quarter of a round.
  const quarter = now.cycle && now.cycle.scheduled > 0 ? Math.floor((4 * now.cycle.done) / now.cycle.scheduled) : 0;
  if (now.state !== told.state || now.health.level !== told.level)
    announce(`The crawl is ${words(now.state)}; health is ${now.health.level}: ${now.health.reason}.`);
  else if (quarter > told.quarter)
    announce(`Round of cycle ${now.cycle.cycle}: ${count(now.cycle.done)} of ${count(now.cycle.scheduled)} pages done.`);
  told = { state: now.state, level: now.health.level, quarter };
}

/** Notes whether the connection is lost. The view hears of it with the status. */
function stale(isLost) {
  app.isLost = isLost;
  document.body.classList.toggle("stale", isLost);
  if (app.status) view.status?.(app.status);
}

listen({
  status,
  cycle: (report) => {
    announce(`Cycle ${report.cycle} committed.`);
    view.cycle?.(report);
  },
  change: (tried) => {
    app.changes = [tried, ...app.changes].slice(0, CHANGES);
    view.change?.(tried);
  },
  lost: (since) => {
    say($("lost"), `Connection lost. Data as of ${time(since)}. Reconnecting …`);
    $("lost").hidden = false;
    stale(true);
    if (!app.status) say($("state"), "no connection");
  },
  found: () => {
    $("lost").hidden = true;
    stale(false);
    announce("Connection restored.");
  },
  again: () => {
    access();
    view.again?.();
  },
});
// Update relative times between events.
setInterval(() => view.tick?.(), 1000);

// The theme is not secret and may be stored.
const THEME = "recrawl-theme";
const setTheme = (theme) => {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
};
$("theme").value = localStorage.getItem(THEME) ?? "";
setTheme($("theme").value);
$("theme").addEventListener("change", () => {
  localStorage.setItem(THEME, $("theme").value);
  setTheme($("theme").value);
});

$("search").addEventListener("submit", (event) => {
  event.preventDefault();
  const words = $("words").value.trim();
  if (words) navigate(search.address(words));
});
document.querySelector(".skip").addEventListener("click", (event) => {
  // Following the link to #main would leave the view.
  event.preventDefault();
  main.focus();
});
/** Begins a session if the address is the one-time link; its secret leaves the address and the history. */
async function enter() {
  const secret = /^#\/login\?secret=([^&]*)$/.exec(location.hash)?.[1];
  if (secret === undefined) return;
  history.replaceState(null, "", "#/now");
  try {
    await beginSession(secret);
    say($("access"), "You can change the crawl from this browser for 7 days, or until the daemon ends.");
  } catch (refusal) {
    $("access").classList.add("refused");
    $("access").replaceChildren(...prose(`You cannot change the crawl: ${refusal.detail}. What to do: ${refusal.todo}.`));
  }
  $("access").hidden = false;
}

/** Hides what changes the crawl where nobody may. */
const access = () => session().then(({ by }) => (document.documentElement.dataset.changes = by), () => {});

addEventListener("hashchange", () => (enter(), route()));
enter().then(access);
route();

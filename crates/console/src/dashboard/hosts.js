// The views "Hosts" and "Host": a sorted list, and the politeness and figures of one host.

import { button, outcome } from "./action.js";
import { ask, query } from "./api.js";
import { datum, facts, h, inUse, loading, panel, show } from "./dom.js";
import { count, millis, plural, share, time, words } from "./format.js";
import { Table } from "./table.js";

export const title = "Hosts";

/** Hosts per part of the list. */
const PART = 50;
const SORTS = ["name", "pages", "queue", "delay", "latency", "failures", "changes"];
const STATES = ["asking", "waiting", "idle", "backed_off", "blocked", "paused"];

const linkTo = (host) => `#/host?name=${encodeURIComponent(host)}`;

export function open(main, { signal, parameters, navigate }) {
  const [sort, state, search] = ["sort", "state", "search"].map((name) => parameters.get(name) ?? { sort: "pages" }[name] ?? "");
  const choice = (id, name, options, chosen) => {
    const select = h(
      "select",
      { id },
      options.map((option) =>
        h("option", { value: option, selected: option === chosen }, option === "" ? "all" : words(option)),
      ),
    );
    return [h("label", { for: id }, name), select];
  };
  const [[sortLabel, sorts], [stateLabel, states]] = [
    choice("sort", "Sort by", SORTS, sort),
    choice("in-state", "State", ["", ...STATES], state),
  ];
  const sought = h("input", { id: "sought", type: "search", value: search, spellcheck: "false", autocapitalize: "none" });
  const choose = (event) => {
    event.preventDefault();
    navigate(`#${query("/hosts", { search: sought.value.trim(), sort: sorts.value, state: states.value })}`);
  };
  const list = h("div", {}, loading());
  const table = new Table(
    "Hosts",
    [
      ["Host"],
      ["State"],
      ["Pages", true],
      ["Visited", true],
      ["Queue", true],
      ["Done", true],
      ["Changes", true],
      ["Requests", true],
      ["Visits denied", true],
      ["Delay", true],
      ["Set by"],
      ["Response time", true],
      ["Failures in a row", true],
    ],
    search ? `No host${state ? ` that is ${words(state)}` : ""} has "${search}" in its name.` : state ? `No host is ${words(state)}.` : "No hosts yet. Add seed URLs under Control.",
  );
  const more = h("button", { type: "button", hidden: true }, "More hosts");
  main.append(
    h(
      "form",
      { class: "choices", on: { submit: choose } },
      h("span", {}, h("label", { for: "sought" }, "Name contains"), sought),
      h("span", {}, sortLabel, sorts),
      h("span", {}, stateLabel, states),
      h("button", { type: "submit" }, "Show"),
    ),
    list,
    more,
  );

  let shown = [];
  const load = (cursor) =>
    show(list, async () => {
      const { hosts, next } = await ask(query("api/v1/hosts", { search, sort, state, cursor, limit: PART }), { signal });
      shown = cursor ? [...shown, ...hosts] : hosts;
      table.fill(
        shown,
        (host) => host.host,
        (host) => [
          { text: host.host, href: linkTo(host.host) },
          { text: words(host.state), tag: host.state },
          count(host.pages),
          count(host.visited),
          count(host.queue),
          count(host.done),
          count(host.changed),
          count(host.requests),
          count(host.robots_denied),
          millis(host.delay_ms),
          host.delay_because,
          millis(host.latency_ms),
          count(host.failures),
        ],
      );
      more.hidden = !next;
      more.onclick = () => load(next);
      return table.element;
    });
  load();
  // Reloading a list with more parts would jump back to its start.
  const anew = () => shown.length <= PART && load();
  return { cycle: anew, change: anew, again: anew };
}

/** One host. */
export const one = { title: "Host", open: openOne };

function openOne(main, { signal, parameters }) {
  const name = parameters.get("name") ?? "";
  const place = h("div", {}, loading());
  const told = outcome();
  const acts = h("p", { class: "actions" });
  const load = () =>
    show(place, async () => {
      const [found, { paused_hosts: paused, blocks }] = await Promise.all([
        ask(`api/v1/hosts/${encodeURIComponent(bare(name))}`, { signal }),
        ask("api/v1/controls", { signal }),
      ]);
      acts.replaceChildren(...controls(bare(name), told, load, paused, blocks));
      const some = found.filter((host) => !name.includes("://") || host.host === name);
      return (some.length > 0 ? some : found).map(document);
    });
  main.append(h("p", { class: "lead url" }, name), acts, told, place);
  load();
  const anew = () => inUse(place) || load();
  return { cycle: anew, change: anew, again: anew };
}

/** The host name alone, as pauses and blocks expect it. */
function bare(origin) {
  try {
    return origin.includes("://") ? new URL(origin).hostname : origin;
  } catch {
    return origin;
  }
}

/** The changes that fit the state of the host. */
function controls(host, told, after, paused, blocks) {
  const path = encodeURIComponent(host);
  const act = (text, method, route) => button(text, told, method, route, { after, label: `${text} ${host}` });
  const isPaused = paused.some(({ what }) => what === host);
  const isBlocked = blocks.some(({ what }) => what === host);
  const wider = blocks.find(({ what }) => host.endsWith(`.${what}`));
  return [
    isPaused
      ? act("Resume", "DELETE", `api/v1/hosts/${path}/pause`)
      : act("Pause", "PUT", `api/v1/hosts/${path}/pause`),
    isBlocked ? act("Unblock", "DELETE", `api/v1/blocks/${path}`) : act("Block", "PUT", `api/v1/blocks/${path}`),
    wider ? h("span", { class: "quiet" }, `Blocked by ${wider.what} too; remove that under Control.`) : "",
  ];
}

/** The trust in the dates of a host's sitemaps and feeds, if any was compared with what a visit found. */
export function dateTrust({ trust, newer_changed, newer_unchanged, same_changed, same_unchanged }) {
  const compared = newer_changed + newer_unchanged + same_changed + same_unchanged;
  return compared === 0 ? "no dates compared yet" : share(trust);
}

function document(host) {
  const { pace, lastmod } = host;
  const rules = new Table(
    "Refused pages by rule",
    [["Rule"], ["Pages", true], ["Example"]],
    "No refused pages.",
  );
  rules.fill(
    host.refused ?? [],
    (rule) => rule.rule,
    (rule) => [
      rule.rule,
      count(rule.pages),
      { text: rule.example, href: `#/page?url=${encodeURIComponent(rule.example)}` },
    ],
  );
  const traps = new Table(
    "Trap patterns",
    [["Pattern"], ["First visits", true], ["Near-duplicates", true], ["Since cycle", true]],
    "None.",
  );
  traps.fill(
    host.traps ?? [],
    (trap) => trap.pattern,
    (trap) => [trap.pattern, count(trap.first_visits), count(trap.near_duplicates), count(trap.since)],
  );
  const rate = (amount) => (amount === null || amount === undefined ? null : `${amount < 100 ? amount.toFixed(1) : count(Math.round(amount))} per minute`);
  const left = host.left_alone
    ? `${words(host.left_alone)}${host.left_alone_until ? `, until ${time(host.left_alone_until)}` : ""}`
    : null;
  const promised = panel(
    "Politeness",
    facts([
      [
        "Delay",
        host.delay_ms === undefined ? null : datum("delay_ms", millis(host.delay_ms)),
      ],
      ["Delay set by", host.delay_because],
      ["Response time", host.latency_ms ? millis(host.latency_ms) : null],
      ["Requests", datum("requests", count(host.requests))],
      ["Last request", host.last_request ? time(host.last_request) : null],
      ["Request rate", pace && rate(pace.per_minute)],
      ["Allowed rate", pace && rate(pace.per_minute_promised)],
      ["Rate measured", pace?.cycle ? `until ${time(pace.last)}, cycle ${count(pace.cycle)}` : null],
      ["Failures in a row", count(host.failures)],
      ["Backed off", left],
      ["Opted out", host.opted_out],
      ["Validators", host.validators && words(host.validators)],
      ["Changes hidden by validators", host.changes_hidden ? count(host.changes_hidden) : null],
      ["Sitemap date trust", lastmod && dateTrust(lastmod)],
    ]),
  );
  const robots = panel(
    "robots.txt",
    h(
      "p",
      {},
      `${plural(host.robots_denied ?? 0, "visit")} denied. `,
      host.robots_fetched
        ? `${host.robots_unreachable ? "Tried" : "Fetched"} ${time(host.robots_fetched)}.`
        : "Not fetched yet.",
    ),
    host.robots
      ? h("pre", { tabindex: "0", role: "group", "aria-label": "robots.txt" }, host.robots)
      : h(
          "p",
          { class: "quiet" },
          host.robots_unreachable
            ? `robots.txt ${host.robots_unreachable}: everything is forbidden for now.`
            : host.robots_fetched
              ? "Not found: everything is allowed."
              : "",
        ),
  );
  return h(
    "section",
    { "aria-label": host.host },
    h("div", { class: "panels two" }, promised, robots, panel("Refused", rules.element), panel("Traps", traps.element)),
  );
}

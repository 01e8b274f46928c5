// Hosts: where changes are met, which are slow, and which are left alone.

import { ask } from "./api.js";
import { datum, figure, h, panel, say, show } from "./dom.js";
import { count, millis, words } from "./format.js";
import { Table } from "./table.js";

/** Hosts of a list. */
const HOSTS = 10;

const linkTo = (host) => `#/host?name=${encodeURIComponent(host)}`;

export function changesPanel() {
  const list = h("div", {}, h("p", { class: "quiet" }, "Loading …"));
  const table = new Table(
    "Changes met by host",
    [["Host"], ["Changes", true], ["Beside the most"]],
    "No change was met yet.",
  );
  return {
    element: panel(
      "Changes by host",
      h("p", { class: "quiet" }, "Met in this cycle, or in the last where none runs."),
      list,
    ),
    load: (signal) =>
      show(list, async () => {
        const { hosts } = await ask(`/api/v1/hosts?sort=changes&limit=${HOSTS}`, { signal });
        const some = hosts.filter((host) => host.changed > 0);
        const most = Math.max(1, ...some.map((host) => host.changed));
        table.fill(
          some,
          (host) => host.host,
          (host) => [{ text: host.host, href: linkTo(host.host) }, count(host.changed), { meter: host.changed / most }],
        );
        return table.element;
      }),
  };
}

export function politePanel() {
  const slowest = new Table(
    "Hosts with the longest way to go",
    [["Host"], ["Queue", true], ["Done", true], ["Delay", true], ["Answers", true], ["Failures", true], ["State"]],
    "No host has pages waiting.",
  );
  const lists = [
    ["backed_off", "Backed off"],
    ["blocked", "Blocked"],
    ["paused", "Paused"],
  ].map(([state, name]) => ({ state, ...standing(name, state) }));
  const [early, denied, deniedEver] = [
    figure("requests too early", "early_requests", {
      hint: "Begun before the promised delay was over. More than none is a bug.",
    }),
    figure("robots.txt refusals, this cycle", "robots_denied_now"),
    figure("robots.txt refusals, since the start", "robots_denied"),
  ];
  const element = panel(
    "Politeness",
    h("dl", { class: "figures" }, early.element, denied.element, deniedEver.element),
    h("h3", {}, "Slowest hosts"),
    slowest.element,
    h("div", { class: "panels" }, ...lists.map((list) => list.element)),
  );
  element.classList.add("wide");
  return {
    element,
    status: (status) => {
      early.set(count(status.early_requests));
      denied.set(count(status.cycle?.robots_denied));
      deniedEver.set(count(status.totals.robots_denied));
      slowest.fill(
        status.cycle?.slowest ?? [],
        (host) => host.host,
        (host) => [
          { text: host.host, href: linkTo(host.host) },
          count(host.queue),
          count(host.done),
          millis(host.delay_ms),
          millis(host.latency_ms),
          count(host.failures),
          { text: words(host.state), tag: host.state },
        ],
      );
    },
    load: (signal) => lists.forEach((list) => list.load(signal)),
  };
}

/** The hosts in one state. */
function standing(name, state) {
  const [number, place] = [datum(`hosts_${state}`, "–"), h("div")];
  const table = new Table(`${name} hosts`, [["Host"], ["Failures", true], ["Requests", true]], "None.");
  return {
    element: h("div", {}, h("h3", {}, `${name}: `, number), place),
    load: (signal) =>
      show(place, async () => {
        const { hosts, next } = await ask(`/api/v1/hosts?state=${state}&limit=${HOSTS}`, { signal });
        say(number, `${hosts.length}${next ? " and more" : ""}`);
        table.fill(
          hosts,
          (host) => host.host,
          (host) => [{ text: host.host, href: linkTo(host.host) }, count(host.failures), count(host.requests)],
        );
        return table.element;
      }),
  };
}

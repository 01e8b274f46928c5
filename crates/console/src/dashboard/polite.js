// Hosts: changes by host, the slowest hosts, and backed-off, blocked or paused ones.

import { ask } from "./api.js";
import { datum, figure, h, panel, say, show } from "./dom.js";
import { count, millis, time, words } from "./format.js";
import { Table } from "./table.js";

/** Hosts of a list. */
const HOSTS = 10;

const linkTo = (host) => `#/host?name=${encodeURIComponent(host)}`;

export function changesPanel() {
  const list = h("div");
  const table = new Table("Changes by host", [["Host"], ["Changes", true], ["Share of maximum"]], "");
  const element = panel("Changes by host", h("p", { class: "quiet" }, "In the running cycle, or in the last one."), list);
  element.hidden = true;
  return {
    element,
    load: (signal) =>
      show(
        list,
        async () => {
          const { hosts } = await ask(`api/v1/hosts?sort=changes&limit=${HOSTS}`, { signal });
          const some = hosts.filter((host) => host.changed > 0);
          const most = Math.max(1, ...some.map((host) => host.changed));
          table.fill(
            some,
            (host) => host.host,
            (host) => [{ text: host.host, href: linkTo(host.host) }, count(host.changed), { meter: host.changed / most }],
          );
          element.hidden = some.length === 0;
          return table.element;
        },
        () => (element.hidden = false),
      ),
  };
}

export function politePanel() {
  const slowest = new Table(
    "Slowest hosts",
    [["Host"], ["Queue", true], ["Done", true], ["Delay", true], ["Response time", true], ["Failures in a row", true], ["State"]],
    "",
  );
  const slow = h("div", {}, h("h3", {}, "Slowest hosts"), slowest.element);
  const lists = [
    ["backed_off", "Backed-off hosts"],
    ["blocked", "Blocked hosts"],
    ["paused", "Paused hosts"],
  ].map(([state, name]) => standing(name, state));
  const prefixes = h("p", { class: "url", "data-figure": "blocked_prefixes" });
  const [early, denied, deniedEver, unreachable] = [
    figure("early requests", "early_requests", {
      hint: "Sent before the delay of the host had passed. Above 0 is a bug.",
    }),
    figure("denied by robots.txt, this round", "robots_denied_now"),
    figure("denied by robots.txt, since start", "robots_denied"),
    figure("without robots.txt, this round", "robots_unreachable_now", {
      hint: "Pages of hosts whose robots.txt could not be fetched, such as a host that is down. They are not requested.",
    }),
  ];
  const element = panel(
    "Politeness",
    h("dl", { class: "figures" }, early.element, denied.element, deniedEver.element, unreachable.element),
    slow,
    h("div", { class: "panels" }, ...lists.map((list) => list.element)),
    prefixes,
  );
  const loadPrefixes = (signal) =>
    show(prefixes, async () => {
      const { blocks } = await ask("api/v1/controls", { signal });
      const some = blocks.map(({ what }) => what).filter((what) => what.includes("://"));
      const more = some.length > HOSTS ? `, and ${count(some.length - HOSTS)} more` : "";
      return some.length > 0 ? `Blocked URLs: ${some.slice(0, HOSTS).join(", ")}${more}.` : "";
    });
  return {
    element,
    status: (status) => {
      early.set(count(status.early_requests));
      denied.set(count(status.cycle?.robots_denied));
      unreachable.set(count(status.cycle?.robots_unreachable));
      deniedEver.set(count(status.totals.robots_denied));
      const hosts = status.cycle?.slowest ?? [];
      slow.hidden = hosts.length === 0;
      slowest.fill(
        hosts,
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
    load: (signal) => {
      for (const list of lists) list.load(signal);
      loadPrefixes(signal);
    },
  };
}

/** The hosts in one state. */
function standing(name, state) {
  const [number, place] = [datum(`hosts_${state}`, "–"), h("div")];
  // Operators know why they block and pause.
  const columns = state === "backed_off" ? [["Why"], ["Until"]] : [];
  const table = new Table(name, [["Host"], ...columns, ["Requests", true]], "");
  const element = h("div", { hidden: true }, h("h3", {}, `${name}: `, number), place);
  return {
    element,
    load: (signal) =>
      show(
        place,
        async () => {
          const { hosts, next } = await ask(`api/v1/hosts?state=${state}&limit=${HOSTS}`, { signal });
          element.hidden = hosts.length === 0;
          say(number, `${hosts.length}${next ? " and more" : ""}`);
          table.fill(
            hosts,
            (host) => host.host,
            (host) => [
              { text: host.host, href: linkTo(host.host) },
              ...(columns.length > 0 ? [host.left_alone, host.left_alone_until ? time(host.left_alone_until) : "–"] : []),
              count(host.requests),
            ],
          );
          return table.element;
        },
        () => (element.hidden = false),
      ),
  };
}

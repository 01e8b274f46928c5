// Freshness, and the bytes and memory of the crawl.

import { interval, picture } from "./chart.js";
import { figure, h, panel, say } from "./dom.js";
import { bytes, count, plural, share } from "./format.js";

/** The interval; a census has none. */
export const within = ({ share: estimate, low, high, answered }) =>
  low === high && low === estimate ? `exact: all ${plural(answered, "page")} due were audited` : `${share(low)} to ${share(high)}`;

export function freshPanel() {
  let fresh = null;
  const drawn = picture((width) =>
    fresh
      ? interval(width, fresh, `Freshness ${share(fresh.share)}, from ${share(fresh.low)} to ${share(fresh.high)}`)
      : h("span"),
  );
  const [now, range, basis] = [
    figure("estimate", "freshness", { hint: "Share of the pages due for a revisit whose copy was current." }),
    figure("interval", "freshness_interval"),
    h("p", { class: "quiet" }),
  ];
  const element = panel(
    "Freshness",
    h("dl", { class: "figures flow" }, now.element, range.element),
    drawn.element,
    basis,
  );
  element.hidden = true;
  return {
    element,
    status: (status) => {
      // Without an audit sample nothing is known.
      element.hidden = !status.freshness;
      const isOther = JSON.stringify(fresh) !== JSON.stringify(status.freshness);
      fresh = status.freshness;
      now.set(share(fresh?.share));
      range.set(fresh ? within(fresh) : "–");
      say(basis, fresh?.basis ?? "");
      if (isOther) drawn.redraw();
    },
  };
}

export function bulkPanel() {
  const [cycle, ever, used, free, memory] = [
    figure("body bytes, this round", "bytes_now"),
    figure("body bytes, since start", "bytes"),
    figure("data on disk", "bytes_on_disk"),
    figure("free", "bytes_free"),
    figure("memory", "memory_bytes"),
  ];
  const [links, failed, told] = [
    figure("links seen, since start", "links_seen"),
    figure("failed cycles", "cycles_failed"),
    h("p", { class: "quiet" }),
  ];
  return {
    element: panel(
      "Bytes and memory",
      h(
        "dl",
        { class: "figures" },
        cycle.element,
        ever.element,
        used.element,
        free.element,
        memory.element,
        links.element,
        failed.element,
      ),
      told,
    ),
    status: (status) => {
      cycle.set(bytes(status.cycle?.bytes));
      ever.set(bytes(status.totals.bytes));
      used.set(bytes(status.bytes_on_disk));
      free.set(bytes(status.bytes_free));
      memory.set(bytes(status.memory_bytes));
      links.set(count(status.totals.links_seen));
      failed.set(count(status.cycles_failed));
      say(told, `The crawl stops when free space falls below ${bytes(status.bytes_reserved)} (storage.reserve).`);
    },
  };
}

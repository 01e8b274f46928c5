// Delivery of notifications and documents, and the vault: what each target of `[[notify]]` and `[[deliver]]` took, and what
// waits for it.

import { h, panel } from "./dom.js";
import { bytes, count, time } from "./format.js";
import { Table } from "./table.js";

function failing({ failing_since: since, error }) {
  return since === null ? null : { text: `takes nothing since ${time(since)}: ${error ?? "unknown error"}`, tag: "failed" };
}

/** The state of a target of messages, in words. */
function state({ given_up: givenUp, rounds_lost: lost, waiting, rounds_behind: behind }) {
  if (givenUp + lost > 0) return { text: "changes were lost", tag: "failed" };
  return waiting + behind > 0 ? { text: "catching up", tag: "waiting" } : { text: "up to date", tag: "done" };
}

/** The state of a copy, in words. */
function copyState({ waiting, refused }) {
  if (waiting > 0) return { text: "catching up", tag: "waiting" };
  return refused > 0 ? { text: "some refused", tag: "waiting" } : { text: "up to date", tag: "done" };
}

/** The state of the vault, in words. */
function vaultState({ is_waited_for: isWaitedFor, waiting_since: since }) {
  if (isWaitedFor) return { text: "the crawl waits for it", tag: "failed" };
  return since === null ? { text: "up to date", tag: "done" } : { text: "catching up", tag: "waiting" };
}

/** A panel with a row for each target; hidden without any. `cells` gives what stands behind name and state. */
function targetsPanel({ title, lead, caption, columns, targets, state, cells }) {
  const table = new Table(caption, [["Target"], ["State"], ...columns], "No targets.");
  const element = panel(title, h("p", { class: "quiet" }, lead), table.element);
  element.hidden = true;
  return {
    element,
    status: (now) => {
      const rows = targets(now);
      element.hidden = rows.length === 0;
      table.fill(rows, ({ name }) => name, (target) => [target.name, failing(target) ?? state(target), ...cells(target)]);
    },
  };
}

export function copiesPanel() {
  return targetsPanel({
    title: "Documents",
    lead: "Copies of pages, by target.",
    caption: "Delivery of documents",
    columns: [["Documents", true], ["Not confirmed", true], ["Refused", true], ["Last success"]],
    targets: ({ deliver = [] }) => deliver,
    state: copyState,
    cells: (target) => [
      ...["delivered", "waiting", "refused"].map((key) => count(target[key])),
      target.delivered_at === null ? "none since the start" : time(target.delivered_at),
    ],
  });
}

export function deliveryPanel() {
  return targetsPanel({
    title: "Notifications",
    lead: "Messages about changes, by target.",
    caption: "Delivery of notifications",
    columns: [["Delivered", true], ["Waiting", true], ["Rounds behind", true], ["Given up", true], ["Rounds lost", true]],
    targets: ({ notify = [] }) => notify,
    state,
    cells: (target) => ["delivered", "waiting", "rounds_behind", "given_up", "rounds_lost"].map((key) => count(target[key])),
  });
}

export function vaultPanel() {
  return targetsPanel({
    title: "Vault",
    lead: "The copy of the crawl that outlives its disk.",
    caption: "Shipping to the vault",
    columns: [["Not shipped", true], ["Failed tries", true], ["Last had all"]],
    targets: ({ vault }) =>
      vault ? [{ ...vault, name: vault.address, failing_since: vault.error === null ? null : vault.waiting_since }] : [],
    state: vaultState,
    cells: ({ unshipped, failures, shipped_at: at }) => [bytes(unshipped), count(failures), at === null ? "never" : time(at)],
  });
}

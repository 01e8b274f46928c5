// Delivery of notifications and documents: what each target of `[[notify]]` and `[[deliver]]` took, and what waits for it.

import { h, panel } from "./dom.js";
import { count, time } from "./format.js";
import { Table } from "./table.js";

/** The state of a target, in words. */
function state({ failing_since: since, error, given_up: givenUp, rounds_lost: lost, waiting, rounds_behind: behind }) {
  if (since !== null) return { text: `takes nothing since ${time(since)}: ${error ?? "unknown error"}`, tag: "failed" };
  if (givenUp + lost > 0) return { text: "changes were lost", tag: "failed" };
  return waiting + behind > 0 ? { text: "catching up", tag: "waiting" } : { text: "up to date", tag: "done" };
}

/** The state of a copy, in words. */
function copyState({ failing_since: since, error, waiting, refused }) {
  if (since !== null) return { text: `takes nothing since ${time(since)}: ${error ?? "unknown error"}`, tag: "failed" };
  if (waiting > 0) return { text: "catching up", tag: "waiting" };
  return refused > 0 ? { text: "some refused", tag: "waiting" } : { text: "up to date", tag: "done" };
}

export function copiesPanel() {
  const table = new Table(
    "Delivery of documents",
    [["Target"], ["State"], ["Documents", true], ["Not confirmed", true], ["Refused", true], ["Last success"]],
    "No targets.",
  );
  const element = panel("Documents", h("p", { class: "quiet" }, "Copies of pages, by target."), table.element);
  element.hidden = true;
  return {
    element,
    status: ({ deliver: targets = [] }) => {
      element.hidden = targets.length === 0;
      table.fill(
        targets,
        ({ name }) => name,
        (target) => [
          target.name,
          copyState(target),
          ...["delivered", "waiting", "refused"].map((key) => count(target[key])),
          target.delivered_at === null ? "none since the start" : time(target.delivered_at),
        ],
      );
    },
  };
}

export function deliveryPanel() {
  const table = new Table(
    "Delivery of notifications",
    [["Target"], ["State"], ["Delivered", true], ["Waiting", true], ["Rounds behind", true], ["Given up", true], ["Rounds lost", true]],
    "No targets.",
  );
  const element = panel("Notifications", h("p", { class: "quiet" }, "Messages about changes, by target."), table.element);
  element.hidden = true;
  return {
    element,
    status: ({ notify: targets = [] }) => {
      element.hidden = targets.length === 0;
      table.fill(
        targets,
        ({ name }) => name,
        (target) => [
          target.name,
          state(target),
          ...["delivered", "waiting", "rounds_behind", "given_up", "rounds_lost"].map((key) => count(target[key])),
        ],
      );
    },
  };
}

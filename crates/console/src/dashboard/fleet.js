// The fleet: who owns which partition, which processes are silent, and whose pages are shown.

import { h, panel } from "./dom.js";
import { bytes, count, duration } from "./format.js";
import { Table } from "./table.js";

/** The state of a partition, in words. */
function partitionState({ owner, unowned_ms: unowned }) {
  if (owner === null) return { text: unowned > 0 ? `no owner for ${duration(unowned / 1000)}` : "no owner yet", tag: "failed" };
  return { text: "owned", tag: "done" };
}

/** The state of a process, in words. */
function nodeState({ partition, is_silent: isSilent }) {
  if (isSilent) return { text: "silent", tag: "failed" };
  return partition === null ? { text: "stands by", tag: "waiting" } : { text: "crawls", tag: "done" };
}

/** A panel with all partitions and processes; hidden for a crawl that is alone. */
export function fleetPanel() {
  const partitions = new Table(
    "Partitions of the fleet",
    [["Partition"], ["Begins at"], ["State"], ["Owner"], ["Cycle", true], ["Not shipped", true], ["Runs not taken", true]],
    "No partitions.",
  );
  const nodes = new Table("Processes of the fleet", [["Process"], ["State"], ["Partition", true], ["Last seen"], ["Console"]], "No processes.");
  const lead = h("p", { class: "quiet" });
  const element = panel("Fleet", lead, partitions.element, nodes.element);
  element.hidden = true;
  return {
    element,
    status: ({ fleet }) => {
      element.hidden = !fleet;
      if (!fleet) return;
      lead.textContent = `This process crawls partition ${fleet.partition}.`;
      partitions.fill(fleet.partitions, ({ partition }) => partition, (one) => [
        String(one.partition),
        one.begins ?? "(first)",
        partitionState(one),
        one.owner ?? "–",
        count(one.cycle),
        bytes(one.unshipped),
        count(one.untaken_runs),
      ]);
      nodes.fill(fleet.nodes, ({ name }) => name, (node) => [
        node.name,
        nodeState(node),
        node.partition === null ? "–" : String(node.partition),
        `${duration(node.age_ms / 1000)} ago`,
        node.console,
      ]);
    },
  };
}

/** A choice of the partition whose pages are shown; hidden for a crawl that is alone. */
export function partitionChoice(chosen, app) {
  const select = h("select", { id: "partition" });
  const element = h("span", {}, h("label", { for: "partition" }, "Partition"), select);
  element.hidden = true;
  const status = ({ fleet }) => {
    // Filled once: what somebody is about to choose stays.
    if (!fleet || fleet.partitions.length < 2 || !element.hidden) return;
    const shown = chosen || String(fleet.partition);
    const option = ({ partition, begins }) =>
      h("option", { value: partition, selected: String(partition) === shown }, `${partition}, from ${begins ?? "the first site"} on`);
    select.append(...fleet.partitions.map(option));
    element.hidden = false;
  };
  if (app.status) status(app.status);
  return { element, status, value: () => (element.hidden ? chosen : select.value) };
}

/** A line that names the process of another partition that has answered; null if this one has. */
export const answeredBy = (owner) =>
  owner && h("p", { class: "quiet", "data-figure": "answered_by" }, `Answered by ${owner.node}, which has partition ${owner.partition}.`);

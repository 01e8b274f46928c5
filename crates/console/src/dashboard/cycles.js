// The cycles so far: observed and expected ChangeRate, and the number of known pages.

import { dates, legend, lines, picture } from "./chart.js";
import { figure, h, panel, problem, say } from "./dom.js";
import { count, share, time } from "./format.js";
import { Table, alternative } from "./table.js";

/** Pixels of a chart. */
const HEIGHT = 90;

/** The end of a cycle's last round, in milliseconds since 1970. */
const ended = ({ started, seconds }) => started + 1000 * seconds;

/** Names cycles on the axis. */
const axis = (reports) => dates(new Map(reports.map((report) => [report.cycle, ended(report)])));

/** A chart of two lines with a legend and a table. */
function chart(drawn, [main, beside], table) {
  const lines = [
    { kind: "main", name: main },
    { kind: "beside", name: beside },
  ];
  return h("div", { class: "chart" }, drawn.element, legend(lines), alternative(table));
}

/** The prediction interval of the expected ChangeRate, in words. */
function spread({ low, high }) {
  return low === null || high === null
    ? "Too few cycles for a prediction interval."
    : `95 % prediction interval: ${share(low)} to ${share(high)}.`;
}

export function ratePanel() {
  let reports = [];
  const met = ({ cycle, change_rate: rate }) => [cycle, rate ?? null];
  const promised = ({ cycle, promise }) => [cycle, promise?.change_rate ?? null];
  const series = () => [
    { kind: "beside", name: "expected", points: reports.map(promised) },
    { kind: "main", name: "observed", points: reports.map(met) },
  ];
  const drawn = picture((width) => {
    const last = reports.findLast((report) => report.change_rate !== null);
    const label = last
      ? `ChangeRate by cycle; ${share(last.change_rate)} in cycle ${last.cycle}`
      : "ChangeRate by cycle";
    return lines(width, series(), { label, axis: axis(reports), height: HEIGHT, format: (y) => `${Number((100 * y).toFixed(1))} %` });
  });
  const now = figure("this round so far", "change_rate", { hint: "Share of the revisits selected by score that found a change." }),
    expected = figure("expected", "promised");
  const table = new Table(
    "ChangeRate by cycle",
    [["Ended"], ["Cycle", true], ["ChangeRate", true], ["Expected", true], ["Revisits", true], ["Changed", true], ["Formula"]],
    "No committed cycles yet.",
  );
  const [told, trouble] = [h("p", { class: "quiet" }), h("div")];
  const body = chart(drawn, ["observed", "expected"], table);
  const element = panel(
    "ChangeRate",
    h("dl", { class: "figures flow" }, now.element, expected.element),
    trouble,
    body,
  );
  // Beside the figures of the table, for those who look closer.
  table.element.before(told);
  let isMet = false,
    isExpected = false;
  const hide = () => (element.hidden = !isMet && !isExpected && trouble.childNodes.length === 0);
  hide();
  return {
    element,
    status: (status) => {
      const promise = (status.cycle ?? status.last)?.promise;
      isExpected = Boolean(promise) || (status.cycle?.change_rate ?? null) !== null;
      hide();
      now.set(share(status.cycle?.change_rate));
      expected.set(share(promise?.change_rate));
      say(
        told,
        promise
          ? `Expected value from ${promise.basis}. ${spread(promise)}`
          : "No expected value: this formula has not ranked a cycle yet.",
      );
    },
    cycles: (all) => {
      reports = all;
      trouble.replaceChildren();
      const some = all.some((report) => (report.change_rate ?? null) !== null);
      isMet = some;
      body.hidden = !some;
      hide();
      table.fill(
        all.toReversed(),
        (report) => report.cycle,
        (report) => [
          time(ended(report)),
          count(report.cycle),
          share(report.change_rate),
          share(report.promise?.change_rate),
          count(report.score_visits),
          count(report.score_changed),
          report.formula,
        ],
      );
      drawn.redraw();
    },
    refused: (refusal, again) => {
      trouble.replaceChildren(problem(refusal, again));
      hide();
    },
  };
}

export function pagesPanel() {
  let reports = [];
  const [known, visited, gone, hosts] = [
    figure("known", "pages"),
    figure("visited", "visited"),
    figure("gone", "gone"),
    figure("hosts", "hosts"),
  ];
  const fresh = figure("new", "discovered", { hint: "Discovered in the last cycle." });
  const drawn = picture((width) =>
    lines(
      width,
      [
        { kind: "beside", name: "known", points: reports.map((report) => [report.cycle, report.pages_known]) },
        { kind: "main", name: "visited", points: reports.map((report) => [report.cycle, report.pages_visited]) },
      ],
      {
        label: `Pages by cycle; ${count(reports.at(-1)?.pages_known)} known, ${count(reports.at(-1)?.pages_visited)} visited`,
        format: short,
        axis: axis(reports),
        height: HEIGHT,
      },
    ),
  );
  const table = new Table(
    "Pages by cycle",
    [
      ["Ended"],
      ["Cycle", true],
      ["Known", true],
      ["Visited", true],
      ["New", true],
    ],
    "No committed cycles yet.",
  );
  const body = chart(drawn, ["visited", "known"], table);
  body.hidden = true;
  return {
    element: panel(
      "Pages",
      h("dl", { class: "figures flow" }, known.element, visited.element, gone.element, hosts.element, fresh.element),
      body,
    ),
    status: (status) => {
      known.set(count(status.pages));
      visited.set(count(status.visited));
      gone.set(count(status.gone));
      hosts.set(count(status.hosts));
    },
    cycles: (all) => {
      reports = all.filter((report) => report.pages_known !== undefined);
      body.hidden = reports.length === 0;
      fresh.set(count(reports.at(-1)?.links_new));
      table.fill(
        reports.toReversed(),
        (report) => report.cycle,
        (report) => [
          time(ended(report)),
          count(report.cycle),
          count(report.pages_known),
          count(report.pages_visited),
          count(report.links_new),
        ],
      );
      drawn.redraw();
    },
  };
}

const COMPACT = new Intl.NumberFormat("en", { notation: "compact" });
const short = (value) => COMPACT.format(value);

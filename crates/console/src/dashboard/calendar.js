// The days on which a page has archived versions, month by month, and any day that a user asks for.

import { ask, query } from "./api.js";
import { h } from "./dom.js";
import { plural } from "./format.js";

const MONTH = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric" });
const DAY = new Intl.DateTimeFormat("en-GB", { dateStyle: "long" });
const WEEK = 7;

/** Midnight of the day of a time in seconds, in the browser's time zone. */
const midnight = (seconds) => new Date(seconds * 1000).setHours(0, 0, 0, 0);
/** The last second of the day that begins then. */
const end = (day) => Math.floor(new Date(day).setHours(23, 59, 59, 0) / 1000);

/** What is known of the words of a day's versions. */
const KINDS = { changed: "words changed", unchanged: "same words", waiting: "not compared" };

/** The calendar. `show` opens the newest version that is not after a time in seconds. */
export function calendar(url, signal, show) {
  const months = h("div", { class: "months", role: "group", "aria-label": "Days with a version" });
  const field = h("input", { id: "archived-day", type: "date" });
  const sent = (event) => {
    event.preventDefault();
    if (field.value) show(end(new Date(`${field.value}T00:00:00`).getTime()));
  };
  const form = h(
    "form",
    { class: "actions", on: { submit: sent } },
    h("label", { for: "archived-day" }, "As of"),
    field,
    h("button", { type: "submit" }, "Show"),
  );
  const key = Object.entries(KINDS).map(([kind, text]) => h("li", {}, h("span", { class: `day ${kind}` }), text));
  const element = h("div", {}, months, h("ul", { class: "legend" }, key), form);
  element.hidden = true;
  let days = [];

  const move = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }[event.key];
    const at = days.findIndex(({ button }) => button === event.target) + (step ?? 0);
    if (step === undefined || !days[at]) return;
    event.preventDefault();
    reach(at);
    days[at].button.focus();
  };
  /** One of the days is in the tab order; arrow keys lead to the others. */
  const reach = (at) => days.forEach(({ button }, index) => button.setAttribute("tabindex", index === at ? "0" : "-1"));

  function button(day, versions) {
    const label = `${DAY.format(day)}, ${plural(versions, "version")}`;
    const press = () => {
      reach(days.findIndex((known) => known.day === day));
      show(end(day));
    };
    return h("button", { type: "button", title: label, on: { click: press, keydown: move } }, String(new Date(day).getDate()));
  }

  /** Marks the days of the listed versions: a day changed if one of its versions did. */
  function mark(rows) {
    for (const { day, versions, button } of days) {
      const known = rows.filter(({ time }) => midnight(time) === day).map(({ words_changed: changed }) => changed);
      const kind = known.includes(true) ? "changed" : known.includes(false) ? "unchanged" : "waiting";
      button.className = `day ${kind}`;
      button.setAttribute("aria-label", `${DAY.format(day)}, ${plural(versions, "version")}, ${KINDS[kind]}`);
    }
  }

  async function load(rows) {
    const none = { times: [] };
    // What was taken down has no times.
    const asked = rows.length === 0 ? none : ask(query("api/v1/version-times", { url }), { signal });
    const { times } = await Promise.resolve(asked).catch((refusal) => {
      if (refusal.name === "AbortError" || refusal.title !== undefined) return none;
      throw refusal;
    });
    const counts = new Map();
    for (const time of times.toReversed()) counts.set(midnight(time), (counts.get(midnight(time)) ?? 0) + 1);
    days = [...counts].map(([day, versions]) => ({ day, versions, button: button(day, versions) }));
    const names = [...new Set(days.map(({ day }) => MONTH.format(day)))];
    months.replaceChildren(
      ...names.map((name) => month(name, days.filter(({ day }) => MONTH.format(day) === name))),
    );
    mark(rows);
    reach(days.length - 1);
    element.hidden = days.length === 0;
    months.scrollLeft = months.scrollWidth;
  }
  return { element, load, mark };
}

/** A month: its days in rows of a week, from Monday. */
function month(name, days) {
  const first = new Date(days[0].day);
  first.setDate(1);
  const before = (first.getDay() + WEEK - 1) % WEEK;
  const last = new Date(first.getFullYear(), first.getMonth() + 1, 0).getDate();
  const free = (text) => h("span", { class: "day", "aria-hidden": "true" }, text);
  const all = Array.from({ length: last }, (_, at) => free(String(at + 1)));
  for (const { day, button } of days) all[new Date(day).getDate() - 1] = button;
  const blanks = Array.from({ length: before }, () => free(""));
  return h("div", { class: "month" }, h("h3", {}, name), h("div", { class: "week" }, blanks, all));
}

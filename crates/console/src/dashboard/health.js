// Health of the crawl: a light with its reason, the next round, and the figures an operator asks for first.

import { button, outcome } from "./action.js";
import { figure, h, panel, prose, say, sayProse } from "./dom.js";
import { bytes, duration, moment, words } from "./format.js";

/** What each level means, for those who do not see the colour. */
const LEVELS = { green: "Healthy", amber: "Needs a look", red: "Needs action" };

/** Sets a light to a level. */
export function light(element, level) {
  element.className = `light ${level}`;
  element.setAttribute("aria-label", `Health: ${level}`);
}

/** The reason with its time, as a sentence. */
export function sentence({ reason, at }, now) {
  const first = reason.charAt(0).toUpperCase() + reason.slice(1);
  return `${first}${at ? `, ${at > now ? `in ${duration((at - now) / 1000)}` : "due now"} (at ${moment(at, now)})` : ""}.`;
}

/** Pause or resume, whichever fits the state, or why neither does. */
export function pauseControls(app, told, after) {
  const [pause, resume, why] = [
    button("Pause crawl", told, "PUT", "api/v1/pause", { after }),
    button("Resume crawl", told, "DELETE", "api/v1/pause", { after, kind: "main" }),
    h("span", { class: "quiet", id: "no-pause" }),
  ];
  const element = h("p", { class: "actions" }, pause, resume, why);
  return {
    element,
    state: (state) => {
      const isPaused = state === "paused";
      const isBusy = state === "starting" || state === "stopping";
      const obstacle = app.isLost ? "No connection." : isBusy ? `The crawl is ${words(state)}.` : "";
      // A button that goes would take the focus with it.
      const had = [pause, resume].includes(document.activeElement);
      pause.hidden = isPaused;
      resume.hidden = !isPaused;
      for (const control of [pause, resume]) {
        control.disabled = obstacle !== "";
        if (obstacle) control.setAttribute("aria-describedby", "no-pause");
        else control.removeAttribute("aria-describedby");
      }
      say(why, obstacle);
      if (had) (isPaused ? resume : pause).focus();
    },
  };
}

export function healthPanel(app) {
  const [lamp, level, reason, also] = [
    h("span", { class: "light", role: "img" }),
    h("strong", { "data-figure": "health" }),
    h("span", { "data-figure": "health_reason" }),
    h("ul", { class: "also" }),
  ];
  const told = outcome();
  const controls = pauseControls(app, told);
  const [next, disk] = [
    figure("next round", "next_round"),
    figure("disk left before the crawl stops", "disk_left", { hint: "Free bytes above storage.reserve." }),
  ];
  const why = h("p", { class: "quiet", "data-figure": "next_why" });
  const element = panel(
    "Health",
    h("div", { class: "verdict" }, lamp, h("p", { class: "lead" }, level, ": ", reason), controls.element),
    also,
    told,
    h("div", { class: "aside" }, h("dl", { class: "figures flow" }, next.element, disk.element), why),
  );
  const tick = () => {
    const { status, clock: now } = app;
    if (!status) return;
    const { health, cycle, next_round: round, next_cycle_at: due } = status;
    sayProse(reason, sentence(health, now()));
    const when = (at) => (at > now() ? `in ${duration((at - now()) / 1000)}` : "now");
    next.set(round?.at ? `${round.kind}, ${when(round.at)}` : cycle && status.state === "crawling" ? "after this one" : "–");
    say(
      why,
      round
        ? `Next round: ${round.why}${round.at ? ` (at ${moment(round.at, now())})` : ""}.`
        : cycle && due
          ? `The end of this round decides what follows. The next cycle begins at ${moment(due, now())} at the earliest.`
          : status.state === "paused"
            ? "No next round while the crawl is paused."
            : "",
    );
  };
  return {
    element,
    tick,
    status: (status) => {
      const { health } = status;
      light(lamp, health.level);
      say(level, LEVELS[health.level]);
      also.replaceChildren(...health.also.map((text) => h("li", {}, ...prose(`Also: ${text}.`))));
      also.hidden = health.also.length === 0;
      controls.state(status.state);
      const free = status.bytes_free;
      disk.set(free === null ? "–" : bytes(Math.max(0, free - status.bytes_reserved)));
    },
  };
}

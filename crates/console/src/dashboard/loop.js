// The loop of `improve`: its step, what the next one needs, the candidate, and the arms of a trial.

import { bands, cycleTicks } from "./bands.js";
import { button, outcome } from "./action.js";
import { dates, legend, picture } from "./chart.js";
import { datum, facts, h, panel, say } from "./dom.js";
import { count, duration, plural, share, time, value } from "./format.js";
import { Table, alternative } from "./table.js";

/** A difference of shares in percentage points, with its sign. */
const points = (number) => `${number < 0 ? "−" : "+"}${(100 * Math.abs(number)).toFixed(1)}`;
const spread = ({ value, low, high }) => `${points(value)} (${points(low)} to ${points(high)}) percentage points`;

/** Steps in their order. A proposal takes the place of a trial. */
const line = (mode, step) => [
  ["idle", "Learn"],
  ["shadow", "Shadow"],
  mode === "propose" || step === "proposed" ? ["proposed", "Proposal"] : ["trial", "Trial"],
  ["guard", "Guard"],
];

export function loopPanel({ after }) {
  const told = outcome();
  const [steps, needs, learner] = [h("ol", { class: "steps" }), h("ul", { class: "reasons" }), h("p", { class: "quiet" })];
  const change = (text, method, path, kind) => button(text, told, method, path, { after, kind });
  const promote = change("Promote", "POST", "api/v1/improve/promote", "main");
  const back = change("Roll back", "POST", "api/v1/improve/rollback");
  const hold = change("Hold loop", "PUT", "api/v1/improve/hold");
  const release = change("Release loop", "DELETE", "api/v1/improve/hold");
  const learn = change("Learn now", "POST", "api/v1/improve/run");
  const why = h("p", { class: "quiet", id: "loop-why" });
  for (const one of [promote, back, learn]) one.setAttribute("aria-describedby", "loop-why");
  const held = h("p", { class: "warning" }, "An operator holds the loop.");
  const element = panel(
    "Loop",
    steps,
    held,
    h("h3", {}, "Needed next"),
    needs,
    learner,
    h("p", { class: "actions" }, promote, back, hold, release, learn),
    why,
    told,
  );
  element.classList.add("wide");
  return {
    element,
    set: ({ mode, loop }, now) => {
      const all = line(mode, loop.step);
      const here = all.findIndex(([step]) => step === loop.step);
      steps.replaceChildren(
        ...all.map(([step, name], at) =>
          h(
            "li",
            { class: at < here ? "past" : at === here ? "here" : null, "aria-current": at === here ? "step" : null, "data-step": step },
            h("b", {}, name),
            h("span", { class: "quiet" }, at === here ? stepText(loop) : ""),
          ),
        ),
      );
      needs.replaceChildren(...loop.needs.map((need) => h("li", {}, need)));
      held.hidden = !loop.is_held;
      [hold.hidden, release.hidden] = [loop.is_held, !loop.is_held];
      promote.disabled = !["shadow", "proposed"].includes(loop.step) || loop.asked !== null;
      back.disabled = loop.step !== "guard" || loop.asked !== null;
      const isBusy = loop.learner.running_since !== null || loop.learner.is_asked;
      learn.disabled = isBusy || loop.is_held || !["idle", "proposed"].includes(loop.step);
      say(why, whyNot(loop));
      say(learner, learnerText(loop.learner, now));
    },
  };
}

const stepText = ({ step, since, ends, asked }) => {
  if (asked) return asked.what === "promote" ? "to be promoted" : "to be taken back";
  if (step === "idle") return "nothing is tried";
  return ends === null ? `since cycle ${count(since)}` : `cycle ${count(since)} to ${count(ends)} or later`;
};

/** Why a button cannot be used. */
function whyNot({ step, asked }) {
  if (asked) return `${asked.who} decided at ${time(asked.at)}. Hold the loop to drop a promotion.`;
  return {
    idle: "There is no candidate to promote, and no promoted formula to take back.",
    shadow: "There is no promoted formula to take back.",
    proposed: "There is no promoted formula to take back.",
    trial: "A trial decides by itself. Hold the loop to end it.",
    guard: "The candidate is in force. While it is guarded, you can take it back.",
  }[step];
}

function learnerText({ running_since: since, is_asked: isAsked, cpu_seconds: cpu, last, ended, failures }, now) {
  const spent = cpu > 0 ? ` ${duration(cpu)} of processor time since the start.` : "";
  if (since !== null) return `A formula is being learned since ${duration((now - since) / 1000)}.${spent}`;
  if (isAsked) return "Learning is about to begin.";
  const failed = ended && !ended.has_learned ? ` It failed${failures > 1 ? `, ${count(failures)} times in a row` : ""}: ${ended.why}.` : "";
  if (last === null) return `No learner has run yet.${failed}`;
  return `Learning was last begun after cycle ${count(last)}.${failed}${spent}`;
}

export function candidatePanel() {
  const place = h("div");
  const table = new Table(
    "Back-test of the candidate",
    [["Formula"], ["Changes a visit", true], ["Pages visited", true]],
    "No back-test.",
  );
  const element = panel("Candidate", place, table.element);
  return {
    element,
    set: ({ loop }) => {
      const candidate = loop.candidate ?? loop.waiting;
      const isWaiting = loop.candidate === null && candidate !== null;
      table.element.hidden = candidate === null;
      if (candidate === null) {
        place.replaceChildren(h("p", { class: "quiet" }, loop.refused ? `The next candidate is refused: ${loop.refused}.` : "No candidate."));
        return;
      }
      const test = candidate.back_test;
      // A closed form may be the candidate.
      const others = test.closed_forms.filter(({ name }) => name !== candidate.name);
      table.fill(
        [
          { kind: "candidate", name: candidate.name, value: test.candidate, coverage: test.coverage.candidate },
          { kind: "in force", ...test.in_force, coverage: test.coverage.in_force },
          ...others.map((form) => ({ kind: "closed form", ...form })),
        ],
        ({ kind, name }) => `${kind} ${name}`,
        (row) => [`${row.name} (${row.kind})`, value(row.value), share(row.coverage)],
      );
      const parts = [
        isWaiting ? h("p", { class: "quiet" }, "It waits for the next cycle.") : null,
        h("pre", { class: "expression", "data-figure": "candidate" }, candidate.expression),
        loop.beside ? h("h3", {}, loop.step === "guard" ? "In force before" : "In force") : null,
        loop.beside ? h("pre", { class: "expression" }, loop.beside) : null,
        facts([
          ["Gain in the back-test", datum("gain", `${points(test.gain_low)} to ${points(test.gain_high)} percentage points`)],
          ["Tested on", `${plural(test.pages, "page")} of ${plural(test.groups, "site or folder", "sites or folders")}, ${plural(test.cycles, "cycle")}`],
          ["Candidates tried", `${count(loop.tries)} since the last promotion`],
          ["Same choices", loop.shadow ? share(loop.shadow.overlap) : null],
          ["Gain of one step", loop.shadow?.gain ? spread(loop.shadow.gain) : null],
        ]),
        loop.shadow?.gain ? h("p", { class: "quiet" }, "The gain of one step decides nothing.") : null,
      ];
      place.replaceChildren(...parts.filter((part) => part !== null));
    },
  };
}

export function armsPanel() {
  let [arms, ended] = [[], new Map()];
  // Only the last cycles have an end.
  const name = (cycle) => dates(ended)(cycle) || `cycle ${cycle}`;
  const drawn = picture((width) => {
    const title = (cycle) => (ended.has(cycle) ? `${name(cycle)}, cycle ${cycle}` : name(cycle));
    const of = (side) => arms.map(({ cycle, [side]: fresh }) => ({ x: cycle, title: title(cycle), share: null, ...fresh }));
    return bands(
      width,
      [
        { kind: "beside", name: "control", points: of("control") },
        { kind: "main", name: "candidate", points: of("candidate") },
      ],
      {
        label: `Freshness of the arms from ${name(arms[0]?.cycle)} to ${name(arms.at(-1)?.cycle)}; see the table`,
        ticks: cycleTicks(
          arms.map(({ cycle }) => cycle),
          width,
          name,
        ),
      },
    );
  });
  const table = new Table(
    "Freshness of the arms by cycle",
    [["Ended"], ["Cycle", true], ["Candidate", true], ["Its interval", true], ["Control", true], ["Its interval", true]],
    "No cycle yet.",
  );
  const [effect, phase, none] = [h("p", { class: "lead" }), h("p", { class: "quiet" }), h("p", { class: "quiet" }, "No measured cycle yet.")];
  const chart = h("div", {}, drawn.element, legend([{ kind: "main", name: "candidate" }, { kind: "beside", name: "control" }]), alternative(table));
  const element = panel(
    "Trial arms",
    h("p", { class: "quiet" }, "Freshness of the sites that the candidate visits, and of as many that the other formula visits."),
    effect,
    phase,
    none,
    chart,
  );
  const ends = (fresh) => (fresh ? `${share(fresh.low)} to ${share(fresh.high)}` : "–");
  return {
    element,
    set: ({ loop: { trial, terms }, cycles }) => {
      element.hidden = trial === null;
      if (trial === null) return;
      [arms, ended] = [trial.arms, new Map(cycles.map((one) => [one.cycle, one.ended]))];
      effect.replaceChildren(
        "Effect so far: ",
        datum("effect", trial.effect ? spread(trial.effect) : "not measured yet"),
        trial.effect ? `, from ${plural(trial.effect.pages, "audited page")}.` : ".",
      );
      say(
        phase,
        `The candidate visits its sites from cycle ${count(trial.candidate_from)}; they count from cycle ${count(trial.measured_from)}. ` +
          `The lower end must be above ${points(-terms.max_loss)}.` +
          (trial.pages_needed ? ` That takes about ${plural(trial.pages_needed, "audited page")}.` : ""),
      );
      [none.hidden, chart.hidden] = [arms.length > 0, arms.length === 0];
      table.fill(
        arms.toReversed(),
        ({ cycle }) => cycle,
        ({ cycle, candidate, control }) => [
          time(ended.get(cycle)),
          count(cycle),
          share(candidate?.share),
          ends(candidate),
          share(control?.share),
          ends(control),
        ],
      );
      drawn.redraw();
    },
  };
}

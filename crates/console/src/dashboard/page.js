// The view "Page": the record of a page, the terms of its score, and what blocks its next visit.

import { button, outcome } from "./action.js";
import { ask, ownerOf, query } from "./api.js";
import { legend, picture, strip } from "./chart.js";
import { difference } from "./difference.js";
import { datum, facts, h, inUse, loading, panel, say, show } from "./dom.js";
import { answeredBy } from "./fleet.js";
import { count, date, millis, plural, seconds, share, time, value, words } from "./format.js";
import { Table, alternative } from "./table.js";
import { versions } from "./versions.js";

export const title = "Page";

/** Suggested pages while a URL is typed. */
const OFFERED = 20;
/** Milliseconds without typing before pages are looked up. */
const PAUSE = 250;

/** Gates that "Fetch now" does not open. */
const CLOSED = ["opted_out", "scope", "blocked", "trap", "robots"];

const linkTo = (url) => `#/page?url=${encodeURIComponent(url)}`;

export function open(main, { signal, parameters, navigate }) {
  const url = parameters.get("url") ?? "";
  const offered = h("datalist", { id: "offered" });
  const field = h("input", {
    id: "url",
    type: "text",
    inputmode: "url",
    list: "offered",
    value: url,
    spellcheck: "false",
    autocapitalize: "none",
    "aria-describedby": "url-hint",
  });
  const found = h("div");
  let typing;
  field.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => offer(field.value, offered, signal), PAUSE);
  });
  const sent = (event) => {
    event.preventDefault();
    if (field.value.trim()) navigate(linkTo(field.value.trim()));
  };
  main.append(
    h(
      "form",
      { class: "search", role: "search", on: { submit: sent } },
      h("label", { for: "url" }, "URL"),
      field,
      offered,
      h("button", { type: "submit", class: "main" }, "Look up"),
      h(
        "p",
        { id: "url-hint", class: "quiet" },
        "A URL, or a URL prefix with a complete host. Matches appear as you type.",
      ),
    ),
    found,
  );
  if (!url) {
    show(found, () => someHosts(signal));
    return {};
  }
  found.replaceChildren(loading());
  const told = outcome();
  const load = () =>
    show(found, async () => {
      const { blocks } = await ask("api/v1/controls", { signal });
      blocking.blocks(blocks);
      try {
        const document = await ask(query("api/v1/page", { url }), { signal });
        fetchNow.hidden = (document.stopped_by ?? []).some(({ gate }) => CLOSED.includes(gate));
        return [answeredBy(ownerOf(document)), onePage(document)].filter(Boolean);
      } catch (refusal) {
        // A folder has no page of its own, but others in it.
        const pages = refusal.status === 404 ? await beginWith(url, signal) : [];
        if (pages.length === 0) throw refusal;
        fetchNow.hidden = true;
        return firstPages(`The first pages that begin with ${url}`, pages);
      }
    });
  const fetchNow = button("Fetch now", told, "POST", "api/v1/recrawl", { body: () => ({ url }), after: () => load() });
  const archived = versions(url, signal);
  const anew = (list) => () => {
    list();
    if (!inUse(found)) load();
  };
  const blocking = blockControls(url, told, () => load());
  found.before(h("p", { class: "actions" }, fetchNow, blocking.elements), told);
  found.after(archived.element);
  load();
  archived.load();
  // After a break, pages may have been taken down.
  return { cycle: anew(archived.refresh), change: anew(archived.refresh), again: anew(archived.load) };
}

/** Block or unblock the page, whichever fits. */
function blockControls(url, told, after) {
  const page = URL.canParse(url) ? new URL(url).href : url;
  // In a pattern, a star stands for any rest.
  const pattern = page.replaceAll("*", "\\*");
  const path = `api/v1/blocks/${encodeURIComponent(pattern)}`;
  const act = (text, method) => button(text, told, method, path, { after, label: `${text}: ${page}` });
  const [block, unblock, about] = [
    act("Block this page", "PUT"),
    act("Unblock this page", "DELETE"),
    h("span", { class: "quiet url" }),
  ];
  block.hidden = unblock.hidden = true;
  return {
    elements: [block, unblock, about],
    blocks: (blocks) => {
      const isBlocked = blocks.some(({ what }) => what === pattern);
      // A button that goes would take the focus with it.
      const had = [block, unblock].includes(document.activeElement);
      block.hidden = isBlocked;
      unblock.hidden = !isBlocked;
      say(about, isBlocked ? "Blocked" : "");
      if (had) (isBlocked ? unblock : block).focus();
    },
  };
}

/** The first pages with a URL prefix; none for an invalid prefix. */
async function beginWith(prefix, signal) {
  const words = query("api/v1/pages", { prefix: prefix.trim(), limit: OFFERED });
  const { pages } = await ask(words, { signal }).catch(() => ({ pages: [] }));
  return pages;
}

/** Suggests the first pages with a URL prefix. */
async function offer(prefix, place, signal) {
  const pages = await beginWith(prefix, signal);
  place.replaceChildren(...pages.map((page) => h("option", { value: page.url })));
}

async function someHosts(signal) {
  const { pages } = await ask(`api/v1/pages?limit=${OFFERED}`, { signal });
  return firstPages("The first pages by URL", pages);
}

function firstPages(caption, pages) {
  const table = new Table(
    caption,
    [["URL"], ["Compared visits", true], ["Changes", true], ["State"]],
    "No pages yet. Add seed URLs under Control.",
  );
  table.fill(
    pages,
    (page) => page.url,
    (page) => [
      { text: page.url, href: linkTo(page.url) },
      count(page.n),
      count(page.X),
      page.n === null ? { text: "never fetched", tag: "none" } : { text: page.status, tag: page.status },
    ],
  );
  return panel(caption, table.element);
}

function onePage(found) {
  const page = found.page ?? found;
  return h(
    "div",
    { class: "panels two" },
    decision(found, page),
    history(found.visits ?? []),
    lastTwo(found.texts),
    score(found),
    record(found, page),
  );
}

function decision(found, page) {
  const stops = found.stopped_by ?? [],
    lifted = found.would_be_fetched_if ?? [];
  const reasons = stops.map(({ gate, evidence }, at) =>
    h(
      "li",
      {},
      h("strong", {}, words(gate)),
      `: ${evidence}.`,
      lifted[at] ? h("span", { class: "lifted" }, ` To fetch it: ${lifted[at]}.`) : null,
    ),
  );
  const element = panel(
    "Next visit",
    h("p", { class: "lead url" }, page.url),
    found.visited_next
      ? h("p", {}, "Next visit: ", h("span", { "data-figure": "visited_next" }, found.visited_next), ".")
      : null,
    reasons.length > 1 ? h("p", {}, "All of these must end before it is fetched:") : null,
    reasons.length > 0
      ? h("ul", { class: "reasons" }, reasons)
      : h("p", { class: "quiet" }, "Nothing blocks it."),
  );
  element.classList.add("wide");
  return element;
}

const SIGNS = [
  ["first", "first visit"],
  ["changed", "changed"],
  ["unchanged", "unchanged"],
  ["failed", "failed"],
  ["skipped", "skipped"],
];

function kind({ outcome: ended, changed }) {
  if (["fetched", "not_modified", "redirected"].includes(ended))
    return changed === true ? "changed" : changed === false ? "unchanged" : "first";
  // As `recrawl explain` and the reports of cycles count them.
  return ["failed", "not_found", "robots_unreachable"].includes(ended) ? "failed" : "skipped";
}

const sign = (visit) => SIGNS.find(([name]) => name === kind(visit))[1];

function history(visits) {
  const shown = visits.map((visit) => ({ kind: kind(visit), title: `${seconds(visit.time)}, cycle ${visit.cycle}: ${sign(visit)}` }));
  const amounts = SIGNS.map(([name, text]) => [name, text, shown.filter((visit) => visit.kind === name).length]).filter(
    ([, , amount]) => amount > 0,
  );
  const label = `${plural(visits.length, "visit")}: ${amounts.map(([, text, amount]) => `${amount} ${text}`).join(", ")}`;
  const table = new Table(
    "Visits, newest first",
    [["When"], ["Cycle", true], ["Result"], ["Outcome"], ["Selected by"]],
    "No stored visits.",
  );
  table.fill(
    visits.toReversed(),
    (visit) => `${visit.cycle} ${visit.time}`,
    (visit) => [
      seconds(visit.time),
      count(visit.cycle),
      { text: sign(visit), tag: kind(visit) },
      [words(visit.outcome), visit.status, visit.why && words(visit.why)].filter(Boolean).join(", "),
      words(visit.share),
    ],
  );
  const body =
    visits.length === 0
      ? [h("p", { class: "quiet" }, "No stored visits: never fetched, or too long ago.")]
      : [
          picture((width) => strip(width, shown, label)).element,
          legend(
            amounts.map(([name, text, amount]) => ({
              kind: name,
              name: text,
              key: `visits_${name}`,
              value: count(amount),
            })),
          ),
          alternative(table),
        ];
  const element = panel("History", ...body);
  element.classList.add("wide");
  return element;
}

function score(found) {
  if (!found.terms)
    return panel(
      "Score",
      h("p", { class: "quiet" }, "No score: the page has never been visited."),
    );
  // The whole formula first, each term before its subterms.
  const terms = found.terms.map((term) =>
    h("li", { class: `depth-${Math.min(term.depth, 6)}` }, h("code", {}, term.text), h("b", {}, value(term.value))),
  );
  return panel(
    "Score",
    facts(
      [
        ["Formula", found.formula && h("code", {}, found.formula)],
        ["Score", found.score !== undefined && datum("score", value(found.score))],
        ["Rank", found.rank && datum("rank", count(found.rank))],
        ["Rank at most off by", found.rank_error > 0 && count(found.rank_error)],
        ["Lowest selected score (last cycle)", found.cutoff !== null && value(found.cutoff)],
        ["Changes per cycle (site)", found.site_rate && value(found.site_rate)],
        ["Changes per cycle (all pages)", found.global_rate && value(found.global_rate)],
        ...siblings(found.siblings),
      ].filter(([, shown]) => shown !== false),
    ),
    h("h3", {}, "Term by term"),
    h("ul", { class: "terms" }, terms),
  );
}

/** What the siblings of a page show, and its rank without them. */
function siblings(found) {
  if (!found) return [];
  const { folder, pages, rate, visits, changes, expected, burst } = found;
  const met =
    visits === 0
      ? "none visited after this page"
      : `${count(changes)} of ${count(visits)} visited after this page changed, ${expected.toFixed(1)} expected`;
  return [
    ["Siblings", [plural(pages, "page"), " in ", h("code", {}, folder)]],
    ["Changes per cycle (siblings)", value(rate)],
    ["Burst", [datum("burst", burst.toFixed(2)), `: ${met}`]],
    ["Score without siblings", value(found.score_without)],
    ["Rank without siblings", found.rank_without && datum("rank_without", count(found.rank_without))],
  ];
}

function record(found, page) {
  const yes = (flag) => (flag ? "yes" : null);
  const cycle = (name) => {
    // A stored visit has its time; of any other, only the day on which its cycle began is known.
    const [number, at, began] = [page[name], found.times?.[name], found.dates?.[name]];
    const when = at ? time(at) : began ? date(began) : null;
    return number ? [when, `cycle ${count(number)}`].filter(Boolean).join(", ") : null;
  };
  return panel(
    "Record",
    facts([
      ["State", words(page.status)],
      ["Compared visits (n)", datum("n", count(page.n))],
      ["Changes (X)", datum("X", count(page.X))],
      ["First visit", cycle("first")],
      ["Last visit", cycle("last")],
      ["Last change", cycle("last_change")],
      ["Last try", page.failures > 0 ? cycle("last_attempt") : null],
      ["Discovered", cycle("discovered")],
      ["Depth (links from a seed)", count(page.depth)],
      ["Linked from", plural(page.in_links ?? 0, "page")],
      ["Consecutive failures", page.failures > 0 ? count(page.failures) : null],
      ["Not found", page.not_found > 0 ? plural(page.not_found, "time") : null],
      ["robots.txt", found.robots],
      ["Rule", found.robots_rule && h("code", {}, found.robots_rule)],
      ["Host delay", found.host_delay_ms === null ? null : millis(found.host_delay_ms)],
      ["Host backed off", found.left_alone && words(found.left_alone)],
      ["Validators", found.validators && words(found.validators)],
      ["In scope", found.in_scope === null ? "unknown" : found.in_scope ? "yes" : `no: ${found.refused_by}`],
      ["Opted out", found.opted_out],
      [
        "Pattern",
        found.trap &&
          `${found.trap.pattern}: ${found.trap.near_duplicates} of ${found.trap.first_visits} first visits found a near-duplicate`,
      ],
      ["Sitemap date", page.lastmod && seconds(page.lastmod)],
      [
        "Sitemap date trust",
        typeof found.lastmod_trust === "number" ? share(found.lastmod_trust) : found.lastmod_trust,
      ],
      ["Announced as changed", yes(found.announced)],
      ["Kind", page.kind],
      ["ETag", page.etag],
      ["Last-Modified", page.last_modified],
      ["noindex", yes(page.noindex)],
      ["nofollow", yes(page.nofollow)],
      ["noarchive", yes(page.noarchive)],
      ["Canonical", page.canonical],
      ["Digest", page.digest && h("code", {}, page.digest)],
      ["WARC position", page.warc_file && `file ${page.warc_file}, byte ${count(page.warc_offset)}`],
    ]),
  );
}

function lastTwo(texts) {
  const element = panel("Last two texts", ...difference(texts, "Difference of the last two texts"));
  element.classList.add("wide");
  return element;
}

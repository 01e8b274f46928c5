// The view "Control": what operators decided, and the ways to decide otherwise.

import { attempt, button, form, outcome } from "./action.js";
import { ask, forgetToken, hasToken } from "./api.js";
import { datum, facts, h, loading, panel, say, show } from "./dom.js";
import { count, time, words } from "./format.js";
import { Table } from "./table.js";

export const title = "Control";

export function open(main, { app, signal }) {
  const [crawlTold, seedsTold, fetchTold, blocksTold, hostsTold] = Array.from({ length: 5 }, outcome);
  const [standing, waiting] = [h("div", {}, loading()), h("div", {}, loading())];
  const blocks = new Table("Blocked patterns", [["Pattern"], ["End"], ["By"], ["Since"]], "Nothing is blocked.");
  const down = new Table("Taken down", [["Taken down"]], "Nothing was taken down.");
  const hosts = new Table("Paused hosts", [["Host"], ["End"], ["By"], ["Since"]], "No host is paused.");
  const known = h("p", { class: "quiet" });
  const forget = h("button", { type: "button", on: { click: () => (forgetToken(), token()) } }, "Forget the token");
  const token = () => {
    say(
      known,
      hasToken()
        ? "This tab has a token; closing or loading it anew forgets it."
        : "This tab has no token yet. The first change asks for one.",
    );
    forget.hidden = !hasToken();
  };

  const [pause, resume] = [
    button("Pause the crawl", crawlTold, "PUT", "/api/v1/pause", { after: () => load() }),
    button("Resume the crawl", crawlTold, "DELETE", "/api/v1/pause", { after: () => load() }),
  ];
  const load = async () => {
    token();
    await show(standing, async () => {
      const controls = await ask("/api/v1/controls", { signal });
      const end = (path, told, what, text) => ({
        text,
        label: `${text} ${what}`,
        act: async () => (await attempt(told, "DELETE", path)) && load(),
      });
      blocks.fill(
        controls.blocks,
        ({ what }) => what,
        ({ what, who, at }) => [
          what,
          end(`/api/v1/blocks/${encodeURIComponent(what)}`, blocksTold, what, "Unblock"),
          who,
          time(at),
        ],
      );
      down.fill(
        controls.taken_down,
        (what) => what,
        (what) => [what],
      );
      hosts.fill(
        controls.paused_hosts,
        ({ what }) => what,
        ({ what, who, at }) => [
          what,
          end(`/api/v1/hosts/${encodeURIComponent(what)}/pause`, hostsTold, what, "Resume"),
          who,
          time(at),
        ],
      );
      waiting.replaceChildren(
        facts([
          [
            "Seeds that wait for the next cycle",
            datum("seeds_waiting", count(controls.seeds_waiting)),
          ],
          [
            "Pages asked for and not fetched yet",
            datum("recrawls_waiting", count(controls.recrawls_waiting)),
          ],
        ]),
      );
      const by = controls.paused;
      // What would change something stands out.
      pause.classList.toggle("main", !by);
      resume.classList.toggle("main", Boolean(by));
      return h(
        "p",
        { class: "lead", "data-figure": "paused" },
        by ? `Paused by ${by.who} since ${time(by.at)}.` : "Not paused.",
      );
    });
  };
  const send = (told, method, path, body) => async (field) => {
    if (await attempt(told, method, path(field.value.trim()), body?.(field.value))) {
      field.value = "";
      load();
    }
  };
  const text = (attributes) =>
    h("input", { type: "text", spellcheck: "false", autocapitalize: "none", required: true, ...attributes });
  const encoded = encodeURIComponent;

  const events = h("ol", { class: "events" });
  const none = h("p", { class: "quiet" }, "None since this page was opened.");
  const tell = () => {
    none.hidden = app.changes.length > 0;
    events.replaceChildren(
      ...app.changes.map(({ at, name, what, result, detail }) =>
        h(
          "li",
          {},
          h("span", { class: `tag ${result}` }, words(result)),
          ` ${time(at)}, ${name}: ${what}`,
          detail ? h("span", { class: "quiet" }, ` ${detail}`) : null,
        ),
      ),
    );
  };
  tell();

  main.append(
    h(
      "div",
      { class: "panels two" },
      panel(
        "Crawl",
        standing,
        h(
          "p",
          { class: "actions" },
          pause,
          " ",
          resume,
        ),
        crawlTold,
        waiting,
        known,
        h("p", {}, forget),
      ),
      panel(
        "Seeds",
        form(
          "seeds",
          "URLs, one a line",
          h("textarea", { rows: "4", spellcheck: "false", autocapitalize: "none", required: true }),
          "Add seeds",
          send(
            seedsTold,
            "POST",
            () => "/api/v1/seeds",
            (lines) => ({
              urls: lines
                .split("\n")
                .map((line) => line.trim())
                .filter(Boolean),
            }),
          ),
          "They are known from the next cycle on.",
        ),
        seedsTold,
      ),
      panel(
        "Fetch a page now",
        form(
          "recrawl",
          "URL",
          text({ inputmode: "url" }),
          "Fetch it",
          send(
            fetchTold,
            "POST",
            () => "/api/v1/recrawl",
            (url) => ({ url: url.trim() }),
          ),
          "As soon as robots.txt and politeness have it.",
        ),
        fetchTold,
      ),
      panel(
        "Blocks",
        form(
          "block",
          "Host, or beginning of URLs",
          text(),
          "Block",
          send(blocksTold, "PUT", (pattern) => `/api/v1/blocks/${encoded(pattern)}`),
          "example.com is the host and all below it; https://example.com/a/ is what begins so.",
        ),
        blocksTold,
        blocks.element,
        down.element,
        h("p", { class: "quiet" }, "recrawl takedown does that and, with --keep-crawling, ends it: either while the crawl is stopped."),
      ),
      panel(
        "Paused hosts",
        form(
          "pause-host",
          "Host",
          text(),
          "Pause the host",
          send(hostsTold, "PUT", (host) => `/api/v1/hosts/${encoded(host)}/pause`),
          "Its pages wait. What is not asked for is not taken for gone.",
        ),
        hostsTold,
        hosts.element,
      ),
      panel("Changes", none, events),
    ),
  );
  load();
  return { change: () => (tell(), load()), cycle: load, again: load };
}

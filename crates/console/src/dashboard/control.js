// The view "Control": operator decisions in force, and forms for changes.

import { attempt, form, outcome } from "./action.js";
import { ask, forgetToken, hasToken, session } from "./api.js";
import { datum, facts, h, loading, panel, prose, show } from "./dom.js";
import { count, time, words } from "./format.js";
import { pauseControls } from "./health.js";
import { seedsPanel } from "./seeds.js";
import { Table } from "./table.js";

export const title = "Control";

/** Whether this tab may change the crawl without a token, or what it needs. */
const ACCESS = {
  session: "This browser has a session from the one-time link.",
  token: "No token yet. The first change asks for it.",
  link: "No session yet. Open the one-time link in the daemon's log; `recrawl reload` logs it again, or a new one.",
  nothing: "Read-only: the file named by serve.tokens has no token.",
};

export function open(main, { app, signal }) {
  const [crawlTold, fetchTold, blocksTold, hostsTold] = Array.from({ length: 4 }, outcome);
  const [standing, waiting] = [h("div", {}, loading()), h("div", {}, loading())];
  const blocks = new Table("Blocked patterns", [["Pattern"], ["Action"], ["By"], ["Since"]], "No blocks.");
  const down = new Table("Takedowns", [["Taken down"]], "No takedowns.");
  const hosts = new Table("Paused hosts", [["Host"], ["Action"], ["By"], ["Since"]], "No paused hosts.");
  const known = h("p", { class: "quiet" });
  const forget = h("button", { type: "button", on: { click: () => (forgetToken(), token()) } }, "Forget token");
  const token = async () => {
    forget.hidden = !hasToken();
    const { by, may_change: mayChange } = await session({ signal }).catch(() => ({}));
    if (!by) return;
    const text = hasToken() ? "This tab holds a token until you close or reload it." : ACCESS[mayChange ? "session" : by];
    known.replaceChildren(...prose(text));
  };

  const pause = pauseControls(app, crawlTold, () => load());
  const load = async () => {
    token();
    await show(standing, async () => {
      const controls = await ask("api/v1/controls", { signal });
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
          end(`api/v1/blocks/${encodeURIComponent(what)}`, blocksTold, what, "Unblock"),
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
          end(`api/v1/hosts/${encodeURIComponent(what)}/pause`, hostsTold, what, "Resume"),
          who,
          time(at),
        ],
      );
      waiting.replaceChildren(
        facts([
          [
            "Queued seed URLs",
            datum("seeds_waiting", count(controls.seeds_waiting)),
          ],
          [
            "Queued page requests",
            datum("recrawls_waiting", count(controls.recrawls_waiting)),
          ],
          ...controls.waiting.map(({ url, why, until }) => ["Waiting", `${url}: ${why}${until ? `, until ${time(until)}` : ""}`]),
        ]),
      );
      const by = controls.paused;
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
  const none = h("p", { class: "quiet" }, "None since you opened this page.");
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
        pause.element,
        crawlTold,
        waiting,
        known,
        h("p", {}, forget),
      ),
      seedsPanel("Seeds", { after: () => load() }),
      panel(
        "Fetch page now",
        form(
          "recrawl",
          "URL",
          text({ inputmode: "url" }),
          "Fetch now",
          send(
            fetchTold,
            "POST",
            () => "api/v1/recrawl",
            (url) => ({ url: url.trim() }),
          ),
          "Fetched as soon as robots.txt and delays allow.",
        ),
        fetchTold,
      ),
      panel(
        "Blocks",
        form(
          "block",
          "Host, URL or pattern",
          text(),
          "Block",
          send(blocksTold, "PUT", (pattern) => `api/v1/blocks/${encoded(pattern)}`),
          "A host, *.example.com with its subdomains, the URL of a page, or https://example.com/a/* for all URLs that begin so.",
        ),
        blocksTold,
        blocks.element,
        down.element,
        h(
          "p",
          { class: "quiet" },
          prose("To add a takedown, run `recrawl takedown`. To end one, add `--end`."),
        ),
      ),
      panel(
        "Paused hosts",
        form(
          "pause-host",
          "Host",
          text(),
          "Pause host",
          send(hostsTold, "PUT", (host) => `api/v1/hosts/${encoded(host)}/pause`),
          "Its pages wait. They do not count as gone.",
        ),
        hostsTold,
        hosts.element,
      ),
      panel("Changes", none, events),
    ),
  );
  load();
  const status = ({ state }) => pause.state(state);
  if (app.status) status(app.status);
  return { status, change: () => (tell(), load()), cycle: load, again: load };
}

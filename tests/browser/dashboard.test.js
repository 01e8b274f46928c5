// The dashboard against the API: every figure equals the API's, every control works, and nothing else happens.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { violations } from "./axe.js";
import { browser, count, CYCLES, figure, giveToken, open, retry, says, share } from "./browser.js";
import { proxy, TOKEN, world } from "./crawl.js";
import { MARKUP } from "./hostile.js";

const encoded = encodeURIComponent;

const VIEWS = async () => {
  const { pages } = await crawl.get("/api/v1/pages?limit=1");
  const { hosts } = await crawl.get("/api/v1/hosts?limit=1");
  return [
    "#/now",
    "#/search?q=given&last=2592000",
    "#/changes",
    `#/page?url=${encoded(pages[0].url)}`,
    "#/page",
    "#/hosts",
    `#/host?name=${encoded(hosts[0].host)}`,
    "#/formula",
    "#/improve",
    "#/control",
  ];
};

let crawl, chromium, context;

before(async () => {
  [crawl, chromium] = await Promise.all([world(), browser()]);
  context = chromium.context;
});
after(async () => {
  await chromium?.close();
  await crawl?.stop();
});

// Closes pages of failed tests: a browser has six connections to one origin, and each page holds one.
afterEach(() =>
  Promise.all(
    context
      .pages()
      .slice(1)
      .map((page) => page.close()),
  ),
);

const view = (hash, options) => open(context, crawl.origin, hash, options);
const table = (page, caption) => page.locator(`table:has(caption:text-is("${caption}"))`);
const column = (page, caption, at) => table(page, caption).locator(`tbody tr > :nth-child(${at})`).allTextContents();

describe("while a cycle is paused", () => {
  let status;
  before(async () => {
    status = await crawl.hold();
  });
  after(() => crawl.del("/api/v1/pause"));

  it("Now shows the figures of the running cycle", async () => {
    const { page, done } = await view("#/now");
    const { cycle } = status;
    await says(page, "state", "paused");
    for (const key of ["cycle", "scheduled", "done", "in_flight", "open_hosts"])
      await says(page, key, count(cycle[key]));
    for (const key of ["changed", "unchanged", "failed"]) await says(page, key, count(cycle[key]));
    for (const key of ["first_visits", "not_found", "skipped"])
      if (cycle[key] > 0) await says(page, key, count(cycle[key]));
    await says(page, "waiting", count(cycle.scheduled - cycle.done - cycle.in_flight));
    await says(page, "health", "Needs a look");
    assert.equal(status.health.level, "amber");
    assert.match(await figure(page, "health_reason").textContent(), /^Paused by anna\.$/);
    assert.equal(await page.locator("#light").getAttribute("aria-label"), "Health: amber");
    await says(page, "next_round", "–");
    const left = status.bytes_free - status.bytes_reserved;
    const [told, unit] = (await figure(page, "disk_left").textContent()).split(" ");
    const size = 1024 ** ["B", "KiB", "MiB", "GiB", "TiB"].indexOf(unit);
    assert.ok(Math.abs(Number(told) * size - left) < 0.1 * left, `${told} ${unit} of ${left}`);
    assert.ok(await page.getByRole("button", { name: "Resume crawl" }).isVisible());
    assert.ok(!(await page.getByRole("button", { name: "Pause crawl" }).isVisible()), "it is paused");
    await says(page, "change_rate", share(cycle.change_rate));
    await says(page, "promised", share(cycle.promise?.change_rate));
    assert.ok(cycle.promise, "the formula has ranked cycles");
    const bar = await page
      .locator(".panel", { hasText: "done," })
      .locator("svg[role=img]")
      .first()
      .getAttribute("aria-label");
    assert.ok(bar.includes(`${count(cycle.changed)} changed`) && bar.includes(`${count(cycle.scheduled)} pages`), bar);
    await done();
  });

  it("Now shows pages, freshness, politeness, bytes and memory", async () => {
    const { page, done } = await view("#/now");
    for (const key of ["pages", "gone", "hosts"]) await says(page, key, count(status[key]));
    await says(page, "visited", count(status.visited));
    assert.ok(status.freshness, "there is an audit sample");
    await says(page, "freshness", share(status.freshness.share));
    await says(page, "freshness_interval", `${share(status.freshness.low)} to ${share(status.freshness.high)}`);
    await says(page, "early_requests", count(status.early_requests));
    await says(page, "robots_denied_now", count(status.cycle.robots_denied));
    for (const key of ["robots_denied_now", "bytes_now", "change_rate"])
      assert.match(await page.locator(`div:has(> [data-figure=${key}]) dt`).textContent(), /this round/, key);
    await says(page, "robots_denied", count(status.totals.robots_denied));
    await says(page, "robots_unreachable_now", count(status.cycle.robots_unreachable));
    // An ordinary crawl with all its charts fits a screen.
    await figure(page, "rate_success").waitFor();
    const height = () => page.evaluate(() => document.querySelector(".more > summary").getBoundingClientRect().bottom);
    assert.ok((await height()) <= 900, `${await height()} px`);
    await says(page, "links_seen", count(status.totals.links_seen));
    await says(page, "cycles_failed", count(status.cycles_failed));
    await says(
      page,
      "bytes",
      await page.evaluate(async (n) => (await import("/assets/format.js")).bytes(n), status.totals.bytes),
    );
    await says(
      page,
      "bytes_now",
      await page.evaluate(async (n) => (await import("/assets/format.js")).bytes(n), status.cycle.bytes),
    );
    for (const key of ["memory_bytes", "bytes_on_disk", "bytes_free"])
      assert.match(await figure(page, key).textContent(), /^[0-9.]+ [KMGT]iB$/, key);
    await done();
  });

  it("Now shows observed and expected ChangeRate by cycle, as a chart and as a table", async () => {
    const { page, done } = await view("#/now");
    const reports = await crawl.get("/api/v1/cycles?last=60");
    const panel = page.locator(".panel", { has: page.getByRole("heading", { name: "ChangeRate" }) });
    await panel.locator("summary").click();
    await retry(async () =>
      assert.deepEqual(
        await column(page, "ChangeRate by cycle", 2),
        reports.map(({ cycle }) => count(cycle)),
      ),
    );
    assert.deepEqual(
      await column(page, "ChangeRate by cycle", 3),
      reports.map((report) => share(report.change_rate)),
    );
    assert.deepEqual(
      await column(page, "ChangeRate by cycle", 4),
      reports.map((report) => share(report.promise?.change_rate)),
    );
    assert.deepEqual(
      await column(page, "ChangeRate by cycle", 5),
      reports.map((report) => count(report.score_visits)),
    );
    const drawn = reports.filter((report) => report.change_rate !== null).length;
    assert.ok(drawn > 2);
    assert.equal(await panel.locator(".picture circle.mark.main").count(), drawn, "one mark per cycle");
    assert.equal(await panel.locator(".picture rect.mark.beside").count(), reports.filter((report) => report.promise).length);
    assert.deepEqual(
      await column(page, "Pages by cycle", 3),
      reports.map((report) => count(report.pages_known)),
    );
    await done();
  });

  it("Now shows changes by host, and the slowest, backed-off and blocked hosts", async (test) => {
    const prefix = `${crawl.web.seeds[1]}news/*`;
    for (const block of ["127.1.0.5", prefix].map((what) => `/api/v1/blocks/${encoded(what)}`)) {
      await crawl.put(block);
      test.after(() => crawl.del(block));
    }
    const { page, done } = await view("#/now");
    const changes = (await crawl.get("/api/v1/hosts?sort=changes&limit=10")).hosts.filter((host) => host.changed > 0);
    assert.ok(changes.length > 0);
    await retry(async () =>
      assert.deepEqual(
        await column(page, "Changes by host", 1),
        changes.map(({ host }) => host),
      ),
    );
    assert.deepEqual(
      await column(page, "Changes by host", 2),
      changes.map(({ changed }) => count(changed)),
    );
    const { slowest } = (await crawl.get("/api/v1/status")).cycle;
    assert.ok(slowest.length > 0);
    await retry(async () =>
      assert.deepEqual(
        await column(page, "Slowest hosts", 1),
        slowest.map(({ host }) => host),
      ),
    );
    await retry(async () =>
      assert.deepEqual(
        await column(page, "Slowest hosts", 2),
        slowest.map(({ queue }) => count(queue)),
      ),
    );
    for (const state of ["backed_off", "blocked", "paused"]) {
      const { hosts } = await crawl.get(`/api/v1/hosts?state=${state}`);
      await says(page, `hosts_${state}`, count(hosts.length));
      if (state === "blocked") assert.equal(hosts.length, 1);
    }
    await says(page, "blocked_prefixes", `Blocked URLs: ${prefix}.`);
    assert.deepEqual(
      (await table(page, "Slowest hosts").locator("thead th").allTextContents()).slice(-2),
      ["Failures in a row", "State"],
    );
    await done();
  });

  it("Now shows the bursts among siblings that the last plan met", async () => {
    // Pages of the mock web change by themselves.
    const burst = (folder, changes) => ({ folder, pages: 8, visits: 6, changes, expected: 0.34 });
    const strongest = [burst("https://a.example/docs/", 5), burst("https://a.example/docs/", 4), burst(MARKUP, 3)];
    let cycle;
    const answer = async (route) => {
      const reports = await (await route.fetch()).json();
      ({ cycle } = reports[0]);
      reports[0].bursts = { groups: 1234, strongest };
      await route.fulfill({ json: reports });
    };
    const path = "**/api/v1/cycles?*";
    await context.route(path, answer);
    const { page, done } = await view("#/now");
    const caption = "Bursts, strongest first";
    await retry(async () => {
      assert.deepEqual(await column(page, caption, 1), strongest.map(({ folder }) => folder));
      assert.deepEqual(await column(page, caption, 4), ["5", "4", "3"]);
      assert.deepEqual(await column(page, caption, 5), ["0.3", "0.3", "0.3"]);
    });
    await says(page, "bursts", `1,234 groups when cycle ${count(cycle)} was planned, by visits of two cycles.`);
    assert.deepEqual(await violations(page), []);
    await done();
    await context.unroute(path, answer);
  });

  it("Now shows what went wrong, by kind and one by one", async () => {
    const { page, done } = await view("#/now");
    const { kinds, last } = await crawl.get("/api/v1/errors");
    assert.ok(kinds.length > 0 && last.length > 0, "a host fails, and pages of another are missing");
    for (const [group, name] of [
      ["failure", "Failures by kind"],
      ["rule", "Kept out by a rule"],
      ["postponed", "Put off to a later round"],
    ])
      await retry(async () =>
        assert.deepEqual(
          await column(page, name, 2),
          kinds.filter((kind) => kind.group === group).map(({ pages }) => count(pages)),
          name,
        ),
      );
    assert.ok(last.every(({ outcome }) => outcome !== "robots_denied"), "a rule that is obeyed is no failure");
    assert.deepEqual(
      await column(page, "Recent failures", 1),
      last.map(({ url }) => url),
    );
    assert.deepEqual(
      await column(page, "Recent failures", 4),
      last.map(({ detail }) => detail),
    );
    await page.getByText("Hosts, documents, failures, bytes").click();
    await table(page, "Recent failures").getByRole("link").first().click();
    await page.evaluate(() => localStorage.clear());
    await retry(async () => assert.equal(await page.locator(".lead.url").textContent(), last[0].url));
    await done();
  });

  it("Now fits a screen, and leaves hosts and failures to those who open them", async () => {
    const { page, done } = await view("#/now", { width: 1920, height: 1080 });
    await page.locator(".panel", { has: page.getByRole("heading", { name: "Last hour" }) }).waitFor();
    await page.locator(".panel", { has: page.getByRole("heading", { name: "ChangeRate" }) }).locator("svg").first().waitFor();
    const height = () => page.evaluate(() => document.documentElement.scrollHeight);
    await retry(async () => assert.ok((await height()) <= 1080, `it is ${await height()} pixels high`));
    const politeness = page.getByRole("heading", { name: "Politeness" });
    assert.ok(!(await politeness.isVisible()));
    await page.getByText("Hosts, documents, failures, bytes").click();
    assert.ok(await politeness.isVisible());
    await page.reload();
    await politeness.waitFor();
    await page.getByText("Hosts, documents, failures, bytes").click();
    await done();
  });

  it("Hosts are found by a part of their name, with what sets their delay", async () => {
    const { page, done } = await view("#/hosts");
    const { host } = new URL(crawl.web.seeds[1]);
    await page.fill("#sought", host);
    await page.getByRole("button", { name: "Show" }).click();
    await retry(async () => assert.deepEqual(await column(page, "Hosts", 1), [`http://${host}`]));
    assert.deepEqual(await column(page, "Hosts", 11), ["politeness.delay_per_host"]);
    await page.fill("#sought", "nowhere.example");
    await page.keyboard.press("Enter");
    await page.getByText('No host has "nowhere.example" in its name.').waitFor();
    await done();
  });

  it("Search finds pages from every view, by words, host and time, and shows what is found as text", async () => {
    const answer = (more = "") => crawl.get(`/api/v1/search?q=given&limit=25${more}`);
    await retry(async () => assert.ok((await answer()).total > 0, "the index has the pages"));
    const { page, done } = await view("#/hosts");
    const field = page.getByRole("searchbox", { name: "Search the texts of the pages" });
    await field.fill("given");
    await page.keyboard.press("Enter");
    const rows = page.locator(".changes > li");
    const { results } = await answer();
    await retry(async () => assert.equal(await rows.count(), results.length));
    assert.match(page.url(), /#\/search\?q=given$/);
    for (const [at, { url, title, snippet }] of results.entries()) {
      const row = rows.nth(at);
      assert.equal(await row.locator("h2 a").textContent(), title ?? url);
      assert.equal(await row.locator("h2 a").getAttribute("href"), `#/page?url=${encoded(url)}`);
      assert.deepEqual(await row.locator("mark").allTextContents(), snippet.filter((part) => part.is_match).map((part) => part.text));
    }
    assert.ok(results.some(({ snippet }) => snippet.some(({ text }) => text.includes(MARKUP))), "markup is found as text");
    assert.match(await figure(page, "found").textContent(), /^\d+ pages? found/);

    await page.fill("#sought-host", "nowhere.example");
    await page.selectOption("#span", "86400");
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await says(page, "found", "No page has these words.");
    assert.match(page.url(), /#\/search\?q=given&host=nowhere.example&last=86400$/);
    // The field keeps host and time.
    await field.fill("other words");
    await page.getByRole("button", { name: "Search", exact: true }).click();
    await retry(async () => assert.match(page.url(), /q=other\+words&host=nowhere.example&last=86400$/));
    await done();

    const { page: wrong, done: ended } = await view("#/search?q=%22", { expected: [422] });
    await wrong.getByText("the query has no word to look for").waitFor();
    await ended();
  });

  it("Changes shows what changed, newest first, with each difference, by pages and kind, and leads on", async () => {
    const { changes } = await crawl.get("/api/v1/changes?diff=true&limit=25");
    const { page, done } = await view("#/changes");
    const rows = page.locator("[data-change]");
    await retry(async () => assert.equal(await rows.count(), 25));
    for (const [at, { kind, url, title, difference }] of changes.entries()) {
      const row = rows.nth(at);
      assert.equal(await row.locator("h2 .tag").textContent(), kind.replaceAll("_", " "));
      assert.equal(await row.locator("h2 a").textContent(), title ?? url);
      assert.equal(await row.locator("h2 a").getAttribute("href"), `#/page?url=${encoded(url)}`);
      const told = difference?.split("\n").slice(2).filter((line) => /^[+ -]/.test(line)) ?? [];
      if (told.length === 0) continue;
      for (const [sign, other] of [["-", "ins"], ["+", "del"]]) {
        const found = await row.locator(".diff > *").evaluateAll((parts, other) => parts.filter((part) => part.localName !== other && part.className !== "skipped").map((part) => part.textContent).join(""), other);
        const expected = told.filter((line) => line[0] === " " || line[0] === sign).map((line) => `${line.slice(1)}\n`);
        assert.equal(found, expected.join(""), `${url}, ${sign}`);
      }
    }
    assert.ok(changes.some(({ difference }) => difference !== null), "no change has a difference");
    const address = await page.getByRole("link", { name: "Subscribe to these changes" }).getAttribute("href");
    assert.equal((await fetch(`${crawl.origin}/${address}`)).headers.get("content-type"), "application/atom+xml; charset=utf-8");

    await page.getByRole("button", { name: "Older changes" }).click();
    await retry(async () => assert.ok((await rows.count()) > 25));
    const ids = await rows.evaluateAll((all) => all.map((row) => row.dataset.change));
    assert.equal(new Set(ids).size, ids.length, "a change is shown twice");

    const { host } = new URL(changes[0].url);
    await page.fill("#sought", host.replace(/:\d+$/, ""));
    await page.selectOption("#kind", "changed");
    await page.selectOption("#span", "86400");
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await retry(async () => assert.match(page.url(), /#\/changes\?pages=.*&changes=changed&last=86400$/));
    await page.fill("#sought", "nowhere.example");
    await page.keyboard.press("Enter");
    await page.getByText(/No change found\. Visits are kept since \d+ \w+ \d{4}, cycle 1\./).waitFor();
    await done();
  });

  it("Page shows the record, the visits, the score by terms and why it is or is not visited", async () => {
    const { pages } = await crawl.get("/api/v1/pages?limit=300");
    const url = pages.find((page) => page.n > 3).url;
    const found = await crawl.get(`/api/v1/page?url=${encoded(url)}`);
    const { page, done } = await view(`#/page?url=${encoded(url)}`);
    await says(page, "n", count(found.page.n));
    assert.match(await page.locator(".facts div:has([data-figure=n]) dt").textContent(), /^Compared visits/);
    await says(page, "X", count(found.page.X));
    await says(page, "visited_next", found.visited_next);
    if (found.rank) await says(page, "rank", count(found.rank));
    await says(page, "burst", found.siblings.burst.toFixed(2));
    if (found.rank) await says(page, "rank_without", count(found.siblings.rank_without));
    await page.locator("summary").click();
    assert.deepEqual(
      await column(page, "Visits, newest first", 2),
      [...found.visits].reverse().map(({ cycle }) => count(cycle)),
    );
    assert.equal(
      await page.locator(".panel:has(h2:text-is('History')) svg[role=img] rect").count(),
      found.visits.length,
      "one mark per visit",
    );
    assert.deepEqual(
      await page.locator(".terms code").allTextContents(),
      found.terms.map(({ text }) => text),
    );
    const said = await page.locator("main").textContent();
    for (const { evidence } of found.stopped_by) assert.ok(said.includes(evidence), evidence);
    for (const lifted of found.would_be_fetched_if) assert.ok(said.includes(lifted), lifted);
    assert.ok(found.stopped_by.length > 0, "at least the pause stops it");
    await done();
  });

  it("Page shows where the last two texts differ, or why that is not known", async () => {
    const { pages } = await crawl.get("/api/v1/pages?limit=300");
    const found = async (url) => (await crawl.get(`/api/v1/page?url=${encoded(url)}`)).texts;
    const changed = pages.findLast((page) => page.X > 0 && page.warc_file);
    const texts = await found(changed.url);
    assert.ok(texts.words_added > 0 && texts.words_removed > 0, JSON.stringify(texts));
    const { page, done } = await view(`#/page?url=${encoded(changed.url)}`);
    await says(page, "texts", `${count(texts.words_added)} words added, ${count(texts.words_removed)} removed.`);
    const parts = (kind) => texts.parts.filter((part) => part.kind === kind).map(({ text }) => text);
    assert.deepEqual(await page.locator(".diff ins").allTextContents(), parts("added"));
    assert.deepEqual(await page.locator(".diff del").allTextContents(), parts("removed"));
    assert.deepEqual(await page.locator(".diff span:not(.skipped)").allTextContents(), parts("same"));
    const still = pages.find((page) => page.X === 0 && page.n > 0);
    const { none, why } = await found(still.url);
    assert.equal(none, "one_text");
    await page.goto(`${crawl.origin}/#/page?url=${encoded(still.url)}`);
    await says(page, "texts", `Nothing to compare: ${why}.`);
    // Content of a site is shown as text here too.
    const site = await found(crawl.site.url);
    assert.ok(JSON.stringify(site.parts).includes("onerror"), JSON.stringify(site));
    await page.goto(`${crawl.origin}/#/page?url=${encoded(crawl.site.url)}`);
    await page.locator(".diff", { hasText: MARKUP }).waitFor();
    assert.equal(await page.locator("main img, main script").count(), 0);
    await done();
  });

  it("the record of a page has dates before the numbers of cycles", async () => {
    const { pages } = await crawl.get("/api/v1/pages?limit=300");
    const changed = pages.findLast((page) => page.X > 0);
    const { dates, times } = await crawl.get(`/api/v1/page?url=${encoded(changed.url)}`);
    assert.ok(dates.first <= dates.last_change && dates.last_change <= dates.last, JSON.stringify(dates));
    assert.ok(times.first >= dates.first - 1000 && times.first <= times.last_change, JSON.stringify(times));
    const { page, done } = await view(`#/page?url=${encoded(changed.url)}`);
    const first = page.locator('.facts div:has(dt:text-is("First visit")) dd');
    const date = await page.evaluate(async (at) => (await import("/assets/format.js")).time(at), times.first);
    assert.equal(await first.textContent(), `${date}, cycle ${count(changed.first)}`);
    const found = page.locator('.facts div:has(dt:text-is("Discovered")) dd');
    const day = await page.evaluate(async (at) => (await import("/assets/format.js")).date(at), dates.discovered);
    assert.equal(await found.textContent(), `${day}, cycle ${count(changed.discovered)}`, "no time is known of it");
    await done();
  });

  it("Page offers pages as a URL is typed, lists those of a folder, and says what there is none of", async () => {
    const { page, done } = await view("#/page", { expected: [404] });
    const { pages } = await crawl.get("/api/v1/pages?limit=20");
    await retry(async () =>
      assert.deepEqual(
        await column(page, "The first pages by URL", 1),
        pages.map(({ url }) => url),
      ),
    );
    await page.fill("#url", new URL(crawl.web.seeds[0]).origin + "/");
    await retry(async () => assert.ok((await page.locator("#offered option").count()) > 0));
    const wanted = await page.locator("#offered option").nth(1).getAttribute("value");
    await page.fill("#url", wanted);
    await page.keyboard.press("Enter");
    await retry(async () => assert.equal(await page.locator(".lead.url").textContent(), wanted));
    // As the folder of a burst: no page has this URL, but others begin with it.
    const folder = wanted.slice(0, -1);
    const inFolder = (await crawl.get(`/api/v1/pages?limit=20&prefix=${encoded(folder)}`)).pages.map(({ url }) => url);
    assert.ok(inFolder.includes(wanted) && !inFolder.includes(folder), folder);
    await page.fill("#url", folder);
    await page.keyboard.press("Enter");
    await retry(async () =>
      assert.deepEqual(await column(page, `The first pages that begin with ${folder}`, 1), inFolder),
    );
    assert.equal(await page.getByRole("button", { name: "Fetch now" }).count(), 0);
    await page.fill("#url", "http://127.1.0.1:9099/nowhere");
    await page.keyboard.press("Enter");
    await page.locator(".problem", { hasText: "Not found (404)" }).waitFor();
    await done();
  });

  it("Hosts shows the list in the order asked for, and each host", async () => {
    const { page, done } = await view("#/hosts");
    const { hosts } = await crawl.get("/api/v1/hosts?sort=pages&limit=50");
    await retry(async () =>
      assert.deepEqual(
        await column(page, "Hosts", 1),
        hosts.map(({ host }) => host),
      ),
    );
    for (const [at, key] of [
      [3, "pages"],
      [4, "visited"],
      [5, "queue"],
      [6, "done"],
      [7, "changed"],
      [8, "requests"],
      [9, "robots_denied"],
      [13, "failures"],
    ]) {
      assert.deepEqual(
        await column(page, "Hosts", at),
        hosts.map((host) => count(host[key])),
        key,
      );
    }
    await page.selectOption("#sort", "name");
    await page.getByRole("button", { name: "Show" }).click();
    const named = (await crawl.get("/api/v1/hosts?sort=name&limit=50")).hosts;
    await retry(async () =>
      assert.deepEqual(
        await column(page, "Hosts", 1),
        named.map(({ host }) => host),
      ),
    );
    await table(page, "Hosts").getByRole("link", { name: named[0].host }).click();
    const [one] = await crawl.get(`/api/v1/hosts/${encoded(new URL(named[0].host).hostname)}`);
    await says(page, "requests", count(one.requests));
    assert.equal(await page.locator("h1").textContent(), "Host");
    await page.getByText(`${count(one.robots_denied)} visit`).waitFor();
    await done();
  });

  it("whatever a site sends is shown as text", async () => {
    const { hosts } = await crawl.get("/api/v1/hosts");
    const host = hosts.find(({ host: name }) => name === crawl.site.origin).host;
    const { page, done } = await view(`#/host?name=${encoded(host)}`, { expected: [422] });
    await page.locator("pre", { hasText: MARKUP }).waitFor();
    const { pages } = await crawl.get(`/api/v1/pages?prefix=${encoded(`${host}/`)}`);
    const strange = pages.find(({ url }) => url.includes("hostile"));
    assert.ok(strange, "the strange URL is known");
    await page.goto(`${crawl.origin}/#/page?url=${encoded(strange.url)}`);
    await retry(async () => assert.equal(await page.locator(".lead.url").textContent(), strange.url));
    assert.ok((await page.locator("main").textContent()).includes(crawl.site.etag), "its ETag");
    await page.goto(`${crawl.origin}/#/page?url=${encoded(`http://${MARKUP}`)}`);
    await page.locator(".problem", { hasText: MARKUP }).waitFor();
    assert.equal(await page.locator("main img, main script, main iframe").count(), 0);
    await done();
  });

  it("Formula shows the one in force, checks a candidate and compares it", async () => {
    const formulas = await crawl.get("/api/v1/formulas");
    const { page, done } = await view("#/formula", { expected: [422] });
    await says(page, "formula", formulas.in_force.name);
    assert.equal(await page.locator("pre.expression").first().textContent(), formulas.in_force.expression);
    for (const value of Object.values(formulas.in_force.provenance ?? {}))
      assert.ok((await page.locator("main").textContent()).includes(String(value)), value);
    assert.equal(await page.locator("#built-in option").count(), formulas.built_in.length + 1);
    const acts = ["Check", "Compare", "Use from next cycle"].map((name) => page.getByRole("button", { name }));
    for (const act of acts) {
      assert.ok(await act.isDisabled(), "there is no formula");
      assert.equal(await act.getAttribute("aria-describedby"), "no-candidate");
    }
    await page.locator("#no-candidate", { hasText: "Choose or write a formula first." }).waitFor();
    await page.fill("#candidate", "t * 2");
    for (const act of acts) assert.ok(await act.isEnabled());
    await page.getByRole("button", { name: "Check" }).click();
    await says(page, "checked", "t * 2");
    await page.getByRole("button", { name: "Compare" }).click();
    // One comparison runs at a time.
    await figure(page, "overlap").waitFor();
    const changes = await (
      await fetch(`${crawl.origin}/api/v1/formulas/compare`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: '{"text": "t * 2"}',
      })
    ).json();
    await says(page, "overlap", share(changes.overlap));
    const { expected, observed_change_rate: observed } = changes;
    assert.deepEqual(expected.map(({ by }) => by), ["in_force", "candidate", "best", "random"]);
    assert.deepEqual(
      await column(page, "Expected by one estimator", 2),
      expected.map(({ change_rate: rate }) => share(rate)),
    );
    assert.deepEqual(
      await column(page, "Expected by one estimator", 3),
      expected.map(({ freshness }) => share(freshness)),
    );
    const best = expected[2];
    assert.ok(expected.every(({ change_rate: rate }) => rate <= best.change_rate + 1e-9), "nothing beats the best");
    assert.ok(observed !== null && (await figure(page, "observed").textContent()).includes(share(observed)));
    assert.equal(await page.locator("main p code", { hasText: changes.basis.split("`")[1] }).count(), 1);
    await says(page, "k", count(changes.k));
    await says(page, "compared", count(changes.pages));
    assert.deepEqual(
      await column(page, "Pages that rise most", 1),
      changes.rise.map(({ url }) => url),
    );
    assert.deepEqual(
      await column(page, "Pages that fall most", 3),
      changes.fall.map(({ other_rank: rank }) => count(rank)),
    );
    await page.fill("#candidate", "t *");
    await page.getByRole("button", { name: "Check" }).click();
    await page.locator(".problem", { hasText: "Invalid (422)" }).waitFor();
    await done();
  });

  it("Improve says what to set while nothing is measured", async () => {
    const { page, done } = await view("#/improve");
    await says(page, "improve_mode", "This crawl does not measure what its formula is worth.");
    await page.locator("code", { hasText: 'improve.mode = "watch"' }).waitFor();
    await page.getByText("Nothing was tried yet.").waitFor();
    for (const name of ["Measured freshness", "Loop", "Other budgets"])
      assert.ok(!(await page.getByRole("heading", { name, exact: true }).isVisible()), name);
    await done();
  });

  it("a wrong token is refused in the API's words, and the question stays", async () => {
    const { page, done } = await view("#/control", { expected: [401] });
    await page.getByRole("button", { name: "Resume crawl" }).click();
    await giveToken(page, "two words");
    await page.locator("#token-wrong", { hasText: "one word" }).waitFor();
    await giveToken(page, "x".repeat(32));
    await page.locator("#token-wrong", { hasText: "unknown token" }).waitFor();
    assert.ok(await page.locator("#token[open]").isVisible(), "one does not start over");
    await page.keyboard.press("Escape");
    await page.locator("#token").waitFor({ state: "hidden" });
    assert.equal((await crawl.get("/api/v1/status")).state, "paused", "nothing was changed");
    // A change of no effect, so that the crawl stays paused.
    await page.fill("#pause-host", "nobody.example");
    await page.getByRole("button", { name: "Pause host" }).click();
    await giveToken(page, "x".repeat(32));
    await page.locator("#token-wrong", { hasText: "unknown token" }).waitFor();
    await giveToken(page, TOKEN);
    await page.getByRole("button", { name: "Resume nobody.example" }).click();
    await page.getByRole("button", { name: "Resume nobody.example" }).waitFor({ state: "detached" });
    assert.deepEqual(
      await page.evaluate(() => [JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.cookie]),
      ["{}", "{}", ""],
      "the token is kept nowhere",
    );
    await page.getByRole("button", { name: "Resume crawl" }).focus();
    await page.getByRole("button", { name: "Forget token" }).click();
    await page.getByRole("button", { name: "Resume crawl" }).click();
    await page.locator("#token[open]").waitFor();
    await page.keyboard.press("Escape");
    assert.equal((await crawl.get("/api/v1/status")).state, "paused");
    await done();
  });

  it("without tokens, the one-time link lets this browser change the crawl, also behind a proxy", async () => {
    const daemon = await crawl.openDaemon();
    const { page, done } = await open(context, daemon.origin, "#/control", { expected: [401] });
    await page.getByText("No session yet.").waitFor();
    await page.getByRole("button", { name: "Pause crawl" }).click();
    await page.getByRole("heading", { name: "Paste the one-time link" }).waitFor();
    assert.deepEqual(await violations(page), []);
    await giveToken(page, "anything");
    await page.locator("#token-wrong", { hasText: "ends with" }).waitFor();
    await giveToken(page, "0".repeat(64));
    await page.locator("#token-wrong", { hasText: "was used, has expired" }).waitFor();
    const link = await daemon.link();
    await giveToken(page, link);
    await page.getByRole("button", { name: "Resume crawl" }).waitFor();
    await page.reload();
    await page.getByText("This browser has a session").waitFor();
    await page.getByRole("button", { name: "Resume crawl" }).click();
    await page.getByRole("button", { name: "Pause crawl" }).waitFor();
    assert.equal(await page.evaluate(() => document.cookie), "", "no script can read the session");

    await page.goto(`${daemon.origin}/${new URL(link).hash}`);
    await page.locator("#access.refused", { hasText: "was used" }).waitFor();
    assert.equal(new URL(page.url()).hash, "#/now", "the secret leaves the address");
    assert.deepEqual(await violations(page), []);
    await done();
    await daemon.stop();

    const proxied = await crawl.openDaemon();
    const front = await proxy(proxied.origin);
    const { page: outer, done: outerDone } = await open(context, front.origin, `watch/${new URL(await proxied.link()).hash}`);
    await outer.locator("#access", { hasText: "You can change the crawl" }).waitFor();
    await outer.getByRole("link", { name: "Control" }).click();
    await outer.getByRole("button", { name: "Pause crawl" }).click();
    await outer.getByRole("button", { name: "Resume crawl" }).waitFor();
    await outerDone();
    front.stop();
    await proxied.stop();
  });

  it("Control acts, and the API shows it", async () => {
    const { page, done } = await view("#/control", { expected: [422] });
    const controls = () => crawl.get("/api/v1/controls");
    const [url, host] = [crawl.web.seeds[1], new URL(crawl.web.seeds[1]).hostname];
    await page.fill("#block", "blocked.example");
    await page.getByRole("button", { name: "Block", exact: true }).click();
    await giveToken(page, TOKEN);
    await table(page, "Blocked patterns").getByText("blocked.example").waitFor();
    assert.deepEqual(
      (await controls()).blocks.map(({ what, who }) => [what, who]),
      [["blocked.example", "anna"]],
    );
    await page.getByRole("button", { name: "Unblock blocked.example" }).click();
    await retry(async () => assert.deepEqual((await controls()).blocks, []));
    await page.getByText("No blocks.").waitFor();
    await page.getByText("No takedowns.").waitFor();
    await page.locator("code", { hasText: "recrawl takedown" }).waitFor();

    await page.fill("#pause-host", host);
    await page.getByRole("button", { name: "Pause host" }).click();
    await page.getByRole("button", { name: `Resume ${host}` }).waitFor();
    assert.equal((await controls()).paused_hosts[0].what, host);
    await page.getByRole("button", { name: `Resume ${host}` }).click();
    await retry(async () => assert.deepEqual((await controls()).paused_hosts, []));

    await page.fill("#seeds", `${url}new-seed\n${url}another`);
    await page.getByRole("button", { name: "Add seed URLs" }).click();
    await says(page, "seeds_waiting", "2");
    assert.equal((await controls()).seeds_waiting, 2);

    await page.fill("#recrawl", url);
    await page.getByRole("button", { name: "Fetch now" }).click();
    await says(page, "recrawls_waiting", "1");
    assert.equal((await controls()).recrawls_waiting, 1);
    await page.fill("#recrawl", "no url");
    await page.keyboard.press("Enter");
    await page.locator(".problem", { hasText: "Invalid (422)" }).waitFor();

    for (const change of ["add 2 seeds", "unblock blocked.example"])
      await page.locator(".events li", { hasText: `anna: ${change}` }).first().waitFor();
    await done();
  });

  it("Host and Page have their controls too", async () => {
    const host = new URL(crawl.web.seeds[0]).hostname;
    const { page, done } = await view(`#/host?name=${encoded(new URL(crawl.web.seeds[0]).origin)}`);
    await page.getByRole("button", { name: `Pause ${host}` }).click();
    await giveToken(page, TOKEN);
    await retry(async () => assert.equal((await crawl.get("/api/v1/controls")).paused_hosts[0]?.what, host));
    await page.getByRole("button", { name: `Resume ${host}` }).click();
    await retry(async () => assert.deepEqual((await crawl.get("/api/v1/controls")).paused_hosts, []));
    const url = crawl.web.seeds[2];
    await page.goto(`${crawl.origin}/#/page?url=${encoded(url)}`);
    const [block, unblock] = ["Block", "Unblock"].map((text) =>
      page.getByRole("button", { name: `${text} this page: ${url}`, exact: true }),
    );
    await block.waitFor();
    assert.equal(await unblock.count(), 0, "nothing is blocked");
    await block.click();
    await page.locator("main", { hasText: `unblock ${url}` }).waitFor();
    await page.getByRole("button", { name: "Fetch now" }).waitFor({ state: "hidden" });
    assert.equal(await block.count(), 0, "it is blocked");
    assert.ok(await unblock.evaluate((button) => button === document.activeElement), "the focus stays");
    await unblock.click();
    await retry(async () => assert.deepEqual((await crawl.get("/api/v1/controls")).blocks, []));
    await block.waitFor();
    const before = (await crawl.get("/api/v1/controls")).recrawls_waiting;
    await page.getByRole("button", { name: "Fetch now" }).click();
    await retry(async () => assert.equal((await crawl.get("/api/v1/controls")).recrawls_waiting, before + 1));
    await done();
  });

  it("axe finds nothing in any view, in both themes, wide and narrow", async () => {
    const { page, done } = await view("#/now");
    for (const hash of await VIEWS()) {
      await page.goto(`${crawl.origin}/${hash}`);
      await page.locator("main :is(.panel, table)").first().waitFor();
      await page.getByText("Loading …").first().waitFor({ state: "detached" });
      await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
      for (const [colorScheme, width] of ["light", "dark"].flatMap((theme) => [1920, 1280, 360].map((width) => [theme, width]))) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        await page.setViewportSize({ width, height: 800 });
        assert.deepEqual(await violations(page), [], `${hash} ${colorScheme} ${width}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${hash} at ${width} is ${wide} too wide`);
      }
    }
    await done();
  });

  it("axe finds nothing in the question for a token, nor in a refusal", async () => {
    const { page, done } = await view("#/control", { expected: [401, 404] });
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await page.goto(`${crawl.origin}/#/control`);
      await page.getByRole("button", { name: "Resume crawl" }).click();
      await page.locator("#token[open]").waitFor();
      assert.deepEqual(await violations(page), []);
      await giveToken(page, "x".repeat(32));
      await page.locator("#token-wrong:not(:empty)").waitFor();
      assert.deepEqual(await violations(page), []);
      await page.keyboard.press("Escape");
      await page.goto(`${crawl.origin}/#/page?url=${encoded("http://127.1.0.1:9099/nowhere")}`);
      await page.locator(".problem").waitFor();
      assert.deepEqual(await violations(page), []);
    }
    await done();
  });

  it("a narrow table shows that there is more beside it, and a wide view has no holes", async () => {
    const { page, done } = await view("#/hosts", { width: 390 });
    const scroll = page.locator(".scroll.more");
    await scroll.waitFor();
    const [first, window] = await scroll.evaluate((place) => [place.querySelector("tbody th").offsetWidth, innerWidth]);
    assert.ok(first < 0.45 * window, `the first column has ${first} of ${window}`);
    await scroll.evaluate((place) => place.scrollTo(place.scrollWidth, 0));
    await scroll.waitFor({ state: "detached" });
    await page.setViewportSize({ width: 1920, height: 900 });
    const hosts = await crawl.get("/api/v1/hosts?limit=1");
    await page.goto(`${crawl.origin}/#/host?name=${encoded(hosts.hosts[0].host)}`);
    const columns = () =>
      page.locator(".panels.two").evaluate((place) => getComputedStyle(place).gridTemplateColumns.split(" ").length);
    await retry(async () => assert.equal(await columns(), 2));
    await page.goto(`${crawl.origin}/#/formula`);
    await page.fill("#candidate", "t / (n + 1)");
    await page.getByRole("button", { name: "Compare" }).click();
    const picture = page.locator(".picture", { has: page.locator(".line.rise") });
    await retry(async () =>
      assert.ok(await picture.evaluate((place) => place.firstChild.clientWidth > place.clientWidth - 2), "the chart is wide"),
    );
    await done();
  });

  it("the keyboard reaches every control, and shows where it is", async () => {
    const { page, done } = await view("#/now");
    for (const hash of await VIEWS()) {
      await page.goto(`${crawl.origin}/${hash}`);
      await page.locator("main :is(.panel, table)").first().waitFor();
      // Without lists that come while it is looked at.
      await page.getByText("Loading …").first().waitFor({ state: "detached" });
      const marked = await page.evaluate(() => {
        const all = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")];
        const shown = all.filter((element) => element.checkVisibility() && !element.disabled);
        shown.forEach((element, at) => (element.dataset.reach = at));
        document.activeElement?.blur();
        return shown.length;
      });
      const reached = new Set();
      for (let press = 0; press < marked + 10; press += 1) {
        await page.keyboard.press("Tab");
        const [at, outline] = await page.evaluate(() => {
          const element = document.activeElement;
          return [element.dataset.reach, getComputedStyle(element).outlineStyle];
        });
        if (at === undefined) continue;
        reached.add(Number(at));
        assert.notEqual(outline, "none", `${hash}: control ${at} shows that it has the focus`);
      }
      const missed = await page.evaluate(
        (seen) =>
          [...document.querySelectorAll("[data-reach]")]
            .filter((e) => !seen.includes(Number(e.dataset.reach)))
            .map((e) => e.outerHTML.slice(0, 100)),
        [...reached],
      );
      assert.deepEqual(missed, [], hash);
    }
    await page.goto(`${crawl.origin}/#/now`);
    await page.reload();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "main", "the first stop skips to the content");
    await page.getByRole("link", { name: "Control" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Control" }).waitFor();
    assert.equal(
      await page.evaluate(() => document.activeElement.tagName),
      "H1",
      "screen readers announce the view",
    );
    await done();
  });
});

describe("while the crawl runs", () => {
  it("figures move without being asked for, and a committed cycle is drawn", async () => {
    const { page, done } = await view("#/now");
    const first = await crawl.until(
      "crawling",
      ({ state, cycle }) => state === "crawling" && cycle?.stage === "fetching",
    );
    const panel = page.locator(".panel", { has: page.getByRole("heading", { name: "Cycle", exact: true }) });
    const before = await panel.textContent();
    await retry(async () => assert.notEqual(await panel.textContent(), before));
    const { generation } = await crawl.until("committed", (now) => now.generation > first.generation);
    await page.locator(".panel", { has: page.getByRole("heading", { name: "ChangeRate" }) }).locator("summary").click();
    await retry(async () => assert.ok((await column(page, "ChangeRate by cycle", 2)).includes(count(generation))));
    await done();
  });

  it("the last hour is drawn, read by the pointer, and there again after a reload", async () => {
    const { page, done } = await view("#/now");
    const { points } = await retry(async () => {
      const recent = await crawl.get("/api/v1/recent");
      assert.ok(recent.points.filter(({ median_ms: median }) => median !== null).length > 2);
      return recent;
    });
    await page.reload();
    const panel = page.locator(".panel", { has: page.getByRole("heading", { name: "Last hour" }) });
    const chart = panel.locator(".timeline", { hasText: "by answer" }).locator(".picture svg");
    await retry(async () => assert.match(await chart.getAttribute("aria-label"), /last: 2xx [0-9.]+\/s/));
    await panel.locator("summary").click();
    await retry(async () => assert.ok((await column(page, "The last hour", 1)).length >= points.length));
    // The oldest point, in the table and under the pointer.
    const successes = await column(page, "The last hour", 3);
    assert.equal(successes.at(-1), count(points[0].answers.success));
    const box = await chart.boundingBox();
    const when = panel.locator(".timeline .when").first();
    const before = await when.textContent();
    await page.mouse.move(box.x + 60, box.y + 50);
    await retry(async () => assert.notEqual(await when.textContent(), before));
    const rate = (1000 * points[0].answers.success) / points[0].ms;
    assert.equal(parseFloat(await figure(page, "rate_success").textContent()), Number(rate.toPrecision(3)));
    await page.mouse.move(0, 0);
    await done();
  });

  it("figures agree with the API while pages are fetched", async () => {
    const { page, done } = await view("#/now");
    // A request is seldom in flight when the status is made: the mock web answers within milliseconds.
    const isBusy = ({ cycle }) => cycle?.stage === "fetching" && cycle.fetched > 0;
    const status = await crawl.until("fetching", isBusy);
    const { cycle } = status;
    assert.ok(cycle.fetching.length <= cycle.in_flight && cycle.fetching.every(({ url, host }) => url.startsWith(host)));
    assert.ok(["green", "amber"].includes(status.health.level), JSON.stringify(status.health));
    if (cycle.seconds_left !== null && cycle.ends_by !== null)
      assert.ok(cycle.seconds_left <= (cycle.ends_by - status.now) / 1000 + 1, "no longer than the round may last");
    assert.ok(status.next_cycle_at >= status.now && status.next_round === null);
    // A host of the seeds that answers nothing but failures is told first, in amber.
    const reasons = { green: /pages of a \w+ round/, amber: /^No page of http:\S+ can be fetched/ };
    await retry(async () => {
      const { level } = (await crawl.get("/api/v1/status")).health;
      assert.match(await figure(page, "health_reason").textContent(), reasons[level]);
    });
    const flight = page.locator(".panel", { has: page.getByRole("heading", { name: "In flight" }) });
    if (await flight.isVisible()) assert.match(await flight.textContent(), /[1-9]\d* (requests?|pages?)/);
    assert.ok(await page.getByRole("button", { name: "Pause crawl" }).isVisible());
    assert.ok(!(await page.getByRole("button", { name: "Resume crawl" }).isVisible()));
    const { hosts } = await crawl.get("/api/v1/hosts?state=idle");
    assert.ok(hosts.every(({ queue }) => queue === 0), "an idle host has nothing left");
    await done();
  });

  it("a pause and its end are seen, and told to those who read by ear", async () => {
    const { page, done } = await view("#/control");
    await page.getByRole("button", { name: "Pause crawl" }).click();
    await giveToken(page, TOKEN);
    await says(page, "state", "paused");
    assert.equal((await crawl.get("/api/v1/status")).state, "paused");
    await retry(async () => assert.match(await page.locator("#news").textContent(), /paused/));
    assert.match(await figure(page, "paused").textContent(), /Paused by anna/);
    await page.getByRole("button", { name: "Resume crawl" }).click();
    await retry(async () => assert.notEqual(await figure(page, "state").textContent(), "paused"));
    assert.notEqual((await crawl.get("/api/v1/status")).state, "paused");
    await done();
  });

  it("a formula is used from the next cycle on, and rolled back", async () => {
    const { page, done } = await view("#/formula");
    const first = (await crawl.get("/api/v1/formulas")).in_force.name;
    await page.fill(
      "#candidate",
      `name = "of our own"\nexpression = "t + n"\ndescription = ${JSON.stringify(MARKUP)}\n`,
    );
    await page.getByRole("button", { name: "Use from next cycle" }).click();
    await giveToken(page, TOKEN);
    await page.locator(".accepted", { hasText: "From the next cycle on" }).waitFor();
    await retry(async () => assert.equal((await crawl.get("/api/v1/formulas")).in_force.name, "of our own"), CYCLES);
    await says(page, "formula", "of our own", CYCLES);
    await page.getByText(MARKUP).first().waitFor();
    await page.getByRole("button", { name: "Roll back" }).click();
    await page.locator(".accepted", { hasText: `${first}: in force` }).waitFor();
    const { in_force: now, next } = await crawl.get("/api/v1/formulas");
    assert.equal((next ?? now).name, first);
    await says(page, next ? "formula_next" : "formula", first);
    await done();
  });

  it("the theme is the system's until another is chosen, and stays", async () => {
    const { page, done } = await view("#/now");
    const ground = () => page.evaluate(() => getComputedStyle(document.querySelector(".panel")).backgroundColor);
    await page.emulateMedia({ colorScheme: "light" });
    const light = await ground();
    await page.emulateMedia({ colorScheme: "dark" });
    const dark = await ground();
    assert.notEqual(light, dark);
    await page.selectOption("#theme", "light");
    assert.equal(await ground(), light);
    await page.reload();
    await page.locator(".panel").first().waitFor();
    assert.equal(await ground(), light);
    await page.selectOption("#theme", "");
    assert.equal(await ground(), dark);
    await page.emulateMedia({ reducedMotion: "reduce" });
    const moving = await page.evaluate(
      () =>
        [...document.querySelectorAll("*")].filter((e) => parseFloat(getComputedStyle(e).transitionDuration) > 0)
          .length,
    );
    assert.equal(moving, 0, "nothing moves for those who asked for less of it");
    await done();
  });

  it("figures are written as people read them", async () => {
    const { page, done } = await view("#/now");
    const written = await page.evaluate(async () => {
      const f = await import("/assets/format.js");
      return [
        f.count(12345),
        f.count(null),
        f.share(0.1234),
        f.bytes(0),
        f.bytes(1023),
        f.bytes(1536),
        f.bytes(5 * 2 ** 30),
        f.millis(250),
        f.millis(1500),
        f.duration(0),
        f.duration(59.6),
        f.duration(125),
        f.duration(3600),
        f.duration(273_600),
        f.value(0.00001234),
        f.value(0.123456789),
        f.value(null),
        f.plural(1, "page"),
        f.plural(2, "page"),
        f.moment(new Date(2026, 10, 23, 17, 2, 13), new Date(2026, 10, 23, 8)),
        f.moment(new Date(2026, 10, 24, 8, 14, 42), new Date(2026, 10, 23, 8)),
      ];
    });
    assert.deepEqual(written, [
      "12,345",
      "–",
      "12.3\u00a0%",
      "0 B",
      "1023 B",
      "1.5 KiB",
      "5.0 GiB",
      "250 ms",
      "1.5 s",
      "0 s",
      "1 min",
      "2 min 5 s",
      "1 h",
      "3 d 4 h",
      "1.234e-5",
      "0.12346",
      "not finite",
      "1 page",
      "2 pages",
      "17:02:13",
      "08:14:42 on Tue 24 Nov",
    ]);
    await done();
  });

  it("the parts of a cycle that ended early add up to its pages", async () => {
    const { page, done } = await view("#/now");
    const last = { cycle: 5, ended: 1, seconds: 71, scheduled: 437, fetched: 299, changed: 57, unchanged: 238 };
    const counts = { first_visits: 4, not_found: 0, failed: 22, skipped: 0, robots_unreachable: 3, robots_denied: 3, refused: 0 };
    const parts = await page.evaluate(async (cycle) => {
      const { cyclePanel } = await import("/assets/cycle.js");
      const panel = cyclePanel();
      panel.status({ cycle: null, last: cycle });
      return [...panel.element.querySelectorAll(".legend li")].map((part) => part.textContent);
    }, { ...last, ...counts });
    assert.equal(parts.at(-1), "left for the next round110");
    const sum = parts.reduce((total, text) => total + Number(/\d+$/.exec(text)[0]), 0);
    assert.equal(sum, last.scheduled, parts.join(", "));
    await done();
  });

  it("panels without content are hidden, and figures are said from one source", async () => {
    const { page, done } = await view("#/now");
    const texts = await page.evaluate(async () => {
      const { flightPanel } = await import("/assets/flight.js");
      const panel = flightPanel();
      const fetching = [{ url: "http://a.example/", since: 1000 }];
      return [[[], 0], [[], 3], [fetching, 1], [fetching, 2]].map(([fetching, requests]) => {
        panel.status({ cycle: { fetching, in_flight: requests }, now: 3000 });
        return panel.element.hidden ? "hidden" : panel.element.querySelector("p").textContent;
      });
    });
    assert.deepEqual(texts, [
      "hidden",
      "3 requests: 0 pages, the longest first; 3 for names, robots.txt or further pages.",
      "1 page, the longest first.",
      "2 requests: 1 page, the longest first; 1 for names, robots.txt or further pages.",
    ]);
    const [none, some] = await page.evaluate(async () => {
      const { deliveryPanel } = await import("/assets/delivery.js");
      const panel = deliveryPanel();
      panel.status({});
      const none = panel.element.hidden;
      const figures = { delivered: 1234, waiting: 0, rounds_behind: 0, given_up: 0, rounds_lost: 0, failing_since: null, error: null };
      panel.status({
        notify: [
          { ...figures, name: "mail" },
          { ...figures, name: "hook", waiting: 7, failing_since: 1, error: "connection refused" },
          { ...figures, name: "slow", rounds_behind: 2 },
          { ...figures, name: "lost", rounds_lost: 1 },
        ],
      });
      return [none, [...panel.element.querySelectorAll("tbody tr")].map((row) => [...row.children].slice(0, 3).map((cell) => cell.textContent))];
    });
    assert.equal(none, true, "no targets, no panel");
    assert.deepEqual(some.map(([name, state]) => [name, state.replace(/since .*:/, "since T:")]), [
      ["mail", "up to date"],
      ["hook", "takes nothing since T: connection refused"],
      ["slow", "catching up"],
      ["lost", "changes were lost"],
    ]);
    assert.equal(some[0][2], "1,234");
    const intervals = await page.evaluate(async () => {
      const { within } = await import("/assets/size.js");
      return [{ share: 1, low: 1, high: 1, answered: 1 }, { share: 1, low: 0.2, high: 1, answered: 1 }].map(within);
    });
    assert.deepEqual(intervals, ["exact: all 1 page due were audited", `${share(0.2)} to ${share(1)}`]);
    await done();
  });

  it("a chart draws a lone point, repeats no label, and cuts none", async () => {
    const { page, done } = await view("#/now");
    const chart = (points) =>
      page.evaluate(async (all) => {
        const { timeline } = await import("/assets/timeline.js");
        const format = (value) => `${Math.round(value)} B`;
        const drawn = timeline({ title: "Test", format, series: [{ kind: "main", name: "one", of: (point) => point.y }] });
        document.getElementById("main").prepend(drawn.element);
        drawn.set(all);
        // It is drawn once its width is known.
        while (!drawn.element.querySelector("svg[role=img]")) {
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        const svg = drawn.element.querySelector("svg[role=img]");
        const { left, right } = svg.getBoundingClientRect();
        const labels = [...svg.querySelectorAll(".tick")];
        const found = {
          values: [...svg.querySelectorAll(".tick.end")].map((label) => label.textContent),
          cut: labels.filter((label) => label.getBoundingClientRect().right > right || label.getBoundingClientRect().left < left).length,
          dots: svg.querySelectorAll("circle.mark").length,
        };
        drawn.element.remove();
        return found;
      }, points);
    const at = 60_000 * 20_000;
    assert.deepEqual(await chart([{ at, y: 0 }]), { values: ["0 B", "1 B"], cut: 0, dots: 1 });
    const two = await chart([{ at: at - 60_000, y: 3 }, { at, y: 150 }]);
    assert.deepEqual(two, { values: ["0 B", "100 B", "200 B"], cut: 0, dots: 0 });
    await done();
  });

  it("numbers on an axis are round, in one unit, and whole", async () => {
    const { page, done } = await view("#/now");
    const ends = [400, 1000 * 1024, 1024 ** 2, 3 * 1024 ** 3];
    const [texts, cut] = await page.evaluate(async (ends) => {
      const { timeline } = await import("/assets/timeline.js");
      const { niceBytes } = await import("/assets/chart.js");
      const { bytes } = await import("/assets/format.js");
      const all = [];
      let cut = 0;
      for (const y of ends) {
        const tick = (value, end) => `${bytes(value, end)}/s`;
        const series = [{ kind: "main", name: "one", of: (point) => point.y }];
        const drawn = timeline({ title: "Test", format: String, round: niceBytes, tick, series });
        document.getElementById("main").prepend(drawn.element);
        drawn.set([{ at: 1, y: 0 }, { at: 2, y }]);
        // It is drawn once its width is known.
        while (!drawn.element.querySelector("svg[role=img]")) {
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        const svg = drawn.element.querySelector("svg[role=img]");
        const labels = [...svg.querySelectorAll(".tick.end")];
        const { left } = svg.getBoundingClientRect();
        cut += labels.filter((label) => label.getBoundingClientRect().left < left).length;
        all.push(labels.map((label) => label.textContent));
        drawn.element.remove();
      }
      return [all, cut];
    }, ends);
    assert.deepEqual(texts, [
      ["0 B/s", "250 B/s", "500 B/s"],
      ["0 KiB/s", "500 KiB/s", "1000 KiB/s"],
      ["0 MiB/s", "0.5 MiB/s", "1 MiB/s"],
      ["0 GiB/s", "2.5 GiB/s", "5 GiB/s"],
    ]);
    assert.equal(cut, 0);
    const ticks = await page.evaluate(async () => {
      const { lines } = await import("/assets/chart.js");
      const format = (value) => new Intl.NumberFormat("en", { notation: "compact" }).format(value);
      const drawn = lines(400, [{ kind: "main", name: "one", points: [[1, 50_000]] }], { label: "Test", format });
      return [...drawn.querySelectorAll(".tick.end")].map((label) => label.textContent);
    });
    assert.deepEqual(ticks, ["0", "25K", "50K"]);
    await done();
  });

  it("a host's dates are trusted to a share only after a comparison", async () => {
    const { page, done } = await view("#/now");
    const shares = await page.evaluate(async () => {
      const { dateTrust } = await import("/assets/hosts.js");
      const none = { trust: 0, newer_changed: 0, newer_unchanged: 0, same_changed: 0, same_unchanged: 0 };
      return [dateTrust(none), dateTrust({ ...none, trust: 0.5, same_changed: 4 })];
    });
    assert.deepEqual(shares, ["no dates compared yet", share(0.5)]);
    await done();
  });

  it("a page that nobody sees listens no more, and has missed nothing once it is seen again", async () => {
    const { page, done } = await view("#/now");
    const streams = async () =>
      /^recrawl_console_event_streams (\d+)$/m.exec(await (await fetch(`${crawl.origin}/metrics`)).text())[1];
    const hide = (isHidden) =>
      page.evaluate((hidden) => {
        Object.defineProperty(document, "hidden", { configurable: true, value: hidden });
        document.dispatchEvent(new Event("visibilitychange"));
      }, isHidden);
    await retry(async () => assert.equal(await streams(), "1"));
    await hide(true);
    await retry(async () => assert.equal(await streams(), "0"));
    const { generation } = await crawl.get("/api/v1/status");
    const { generation: later } = await crawl.until("committed", (now) => now.generation > generation);
    await hide(false);
    await page.locator(".panel", { has: page.getByRole("heading", { name: "ChangeRate" }) }).locator("summary").click();
    await retry(async () => assert.ok((await column(page, "ChangeRate by cycle", 2)).includes(count(later))));
    await done();
  });

  it("a crawl that knows nothing yet says so in every view", async () => {
    const daemon = await crawl.newDaemon();
    try {
      const { page, done } = await open(context, daemon.origin, "#/now");
      await says(page, "health_reason", "There is nothing to crawl yet: add a seed URL.");
      await page.getByRole("heading", { name: "Start with a seed" }).waitFor();
      assert.deepEqual(await violations(page), [], "#/now");
      await page.locator("button.main", { hasText: "Add seed URLs" }).waitFor();
      const shown = page.locator("main .panel h2");
      await retry(async () => {
        const names = await shown.evaluateAll((all) => all.filter((one) => one.checkVisibility()).map((one) => one.textContent));
        assert.deepEqual(names.filter((name) => name !== "Last hour"), ["Health", "Start with a seed", "Pages"]);
      });
      for (const [hash, text] of [
        ["#/page", "No pages yet."],
        ["#/hosts", "No hosts yet."],
        ["#/changes", "No change found."],
        ["#/formula", "No earlier formulas."],
        ["#/improve", "Nothing was tried yet."],
        ["#/control", "No blocks."],
      ]) {
        await page.goto(`${daemon.origin}/${hash}`);
        await page.getByText(text).waitFor();
        assert.deepEqual(await violations(page), [], hash);
      }
      await page.goto(`${daemon.origin}/#/formula`);
      await page.fill("#candidate", "t");
      await page.locator("button.main", { hasText: "Compare" }).click();
      await page.getByText("No page competes by score yet").waitFor();
      assert.equal(await table(page, "Expected by one estimator").count(), 0, "there is nothing to expect");
      await done();
    } finally {
      await daemon.stop();
    }
  });

  it("a lost connection is told, and mended when the daemon is back", async () => {
    const { page, done } = await view("#/now", { expected: [/net::ERR_/] });
    await crawl.stopDaemon();
    await page.locator("#lost:not([hidden])", { hasText: "Connection lost" }).waitFor();
    assert.ok(await page.evaluate(() => document.body.classList.contains("stale")));
    const pause = page.getByRole("button", { name: "Pause crawl" });
    assert.ok(await pause.isDisabled(), "no change can be sent");
    assert.deepEqual(await violations(page), []);
    await crawl.restartDaemon();
    await page.locator("#lost").waitFor({ state: "hidden" });
    assert.ok(!(await page.evaluate(() => document.body.classList.contains("stale"))));
    await retry(async () => assert.ok(await pause.isEnabled()));
    const { pages } = await crawl.get("/api/v1/status");
    assert.ok(pages > 0);
    await done();
  });
});

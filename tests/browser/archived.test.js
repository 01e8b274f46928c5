// Archived versions in the dashboard: a page that attacks whoever looks at it runs nothing, asks nobody and leads nowhere.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { after, afterEach, before, describe, it } from "node:test";
import { violations } from "./axe.js";
import { browser, figure, open, retry } from "./browser.js";
import { VERSIONS, archived } from "./crawl.js";

/** Folder for pictures, to be looked at. */
const PICTURES = process.env.RECRAWL_PICTURES;
/** Milliseconds in which an attack would have come through. The page's refresh takes a second. */
const LONG_ENOUGH = 2_500;

describe("the archived versions of a page", () => {
  let [crawl, chromium] = [];
  before(async () => {
    [crawl, chromium] = await Promise.all([archived(), browser()]);
  });
  after(async () => {
    await chromium?.close();
    await crawl?.stop();
  });

  afterEach(() => (crawl.trapped.length = 0));

  const hashOf = (path) => `#/page?url=${encodeURIComponent(crawl.site + path)}`;
  const listOf = (path) => crawl.get(`/api/v1/versions?url=${encodeURIComponent(crawl.site + path)}`);
  const documentOf = async (path) => {
    const [{ warc_file: file, warc_offset: offset }] = (await listOf(path)).versions;
    return `/archived?url=${encodeURIComponent(crawl.site + path)}&warc_file=${file}&warc_offset=${offset}`;
  };
  const rows = (page) => page.locator("table:has(caption:text-is('Archived versions, newest first')) tbody tr");
  const choose = (page, name) => page.getByRole("radio", { name }).check();

  /** Opens the newest version of a page. */
  const look = async (path, options) => {
    const opened = await open(chromium.context, crawl.origin, hashOf(path), options);
    const events = watch(opened.page);
    await rows(opened.page).first().getByRole("button").click();
    return { ...opened, events };
  };

  /** Collects what an attack would cause. */
  const watch = (page) => {
    const events = { dialogs: [], navigations: [], asked: [], windows: [] };
    page.on("dialog", (dialog) => {
      events.dialogs.push(dialog.message());
      dialog.dismiss();
    });
    page.on("framenavigated", (frame) => events.navigations.push(frame.url()));
    page.on("request", (request) => events.asked.push(request.url()));
    page.on("popup", (popup) => events.windows.push(popup.url()));
    return events;
  };

  it("are attacks that come through where nobody stops them", async () => {
    const page = await chromium.context.newPage();
    const events = watch(page);
    await page.goto(`${crawl.site}/attack`, { waitUntil: "commit" });
    await retry(async () => assert.ok(crawl.trapped.includes("/refresh"), `${crawl.trapped}`));
    for (const what of ["script", "error", "svg", "srcdoc", "noscript"]) assert.ok(events.dialogs.includes(what), what);
    for (const what of ["link.css", "import.css", "script.js", "image.png", "background.png", "object", "prefetch"])
      assert.ok(crawl.trapped.includes(`/${what}`), what);
    await page.close();
  });

  it("show a hostile page in a frame that runs nothing, asks nobody and leads nowhere", async () => {
    const { page, done, events } = await look("/attack");
    await choose(page, "Page");
    const frame = page.frameLocator("iframe");
    await frame.getByRole("heading", { name: "A page with words of its own" }).waitFor();
    // The clicks of a user do nothing either.
    await frame.getByText("a link that leads away").click();
    await frame.getByText("another link").click();
    await frame.getByText("[A picture]").click();
    await page.waitForTimeout(LONG_ENOUGH);
    assert.deepEqual(events.dialogs, []);
    assert.deepEqual(events.windows, []);
    assert.deepEqual(crawl.trapped, [], "nobody came to the trap, nor connected to it");
    const document = crawl.origin + (await documentOf("/attack"));
    const elsewhere = events.asked.filter((url) => new URL(url).pathname !== "/archived" && !url.includes("/api/v1/"));
    assert.deepEqual(elsewhere, [], "nothing was asked but the API and the document");
    assert.deepEqual(
      events.navigations.map((url) => url.replace(/url=[^&]*/, "")),
      [document.replace(/url=[^&]*/, "")],
      "the frame was opened once and nothing else",
    );
    assert.equal(await page.locator("iframe").getAttribute("sandbox"), "", "the frame may do nothing");
    if (PICTURES) await writeFile(`${PICTURES}/archived-page.png`, await page.screenshot({ fullPage: true }));
    await done();
  });

  it("do no harm if the document is opened by itself", async () => {
    const page = await chromium.context.newPage();
    const events = watch(page);
    const place = crawl.origin + (await documentOf("/attack"));
    const answer = await page.goto(place);
    assert.equal(answer.status(), 200, "a browser opens it");
    assert.match(answer.headers()["content-security-policy"], /^sandbox; default-src 'none'/);
    await page.getByText("another link").click();
    await page.waitForTimeout(LONG_ENOUGH);
    assert.deepEqual([events.dialogs, events.windows, crawl.trapped], [[], [], []]);
    assert.deepEqual(events.navigations, [place]);
    assert.deepEqual(events.asked.filter((url) => !url.endsWith("/favicon.ico")), [place]);
    if (PICTURES) await writeFile(`${PICTURES}/archived-alone.png`, await page.screenshot());
    await page.close();
  });

  // The second line of defence: the headers alone, with the page as the site sent it.
  it("run nothing and fetch nothing by their headers alone", async () => {
    const sent = await (await fetch(`${crawl.site}/attack`)).text();
    for (const isFramed of [true, false]) {
      const page = await chromium.context.newPage();
      const events = watch(page);
      await page.route(/\/archived\?/, async (route) => {
        const answer = await route.fetch();
        await route.fulfill({ status: 200, headers: answer.headers(), body: sent });
      });
      const place = await documentOf("/attack");
      await page.goto(crawl.origin + (isFramed ? `/${hashOf("/attack")}` : place));
      if (isFramed) {
        await rows(page).first().getByRole("button").click();
        await choose(page, "Page");
        await page.frameLocator("iframe").getByText("Visit number").waitFor();
      } else {
        await page.getByText("Visit number").waitFor();
      }
      await page.waitForTimeout(LONG_ENOUGH);
      assert.deepEqual([events.dialogs, events.windows], [[], []]);
      assert.deepEqual(crawl.trapped.filter((what) => what !== "connection"), [], "no request");
      assert.equal(page.url(), crawl.origin + (isFramed ? `/${hashOf("/attack")}` : place), "no navigation");
      await page.close();
    }
  });

  it("are listed with what changed, and shown as text, headers and difference", async () => {
    const { page, done } = await open(chromium.context, crawl.origin, hashOf("/attack"));
    await retry(async () => assert.equal(await rows(page).count(), 10));
    await page.getByRole("button", { name: "Show older versions" }).click();
    await retry(async () => assert.equal(await rows(page).count(), VERSIONS));
    assert.equal(await page.getByRole("button", { name: "Show older versions" }).count(), 0);
    assert.equal(await rows(page).last().locator("td").nth(4).textContent(), "–", "nothing before the first");
    const cells = await rows(page).nth(1).locator("th, td").allTextContents();
    assert.deepEqual([cells[0], cells[2], cells[3], cells[5]], ["2", "200", "text/html", "changed"]);
    // By keyboard alone.
    await rows(page).nth(1).getByRole("button").focus();
    await page.keyboard.press("Enter");
    assert.match(await page.evaluate(() => document.activeElement.textContent), /^Version of /);
    const shown = page.locator(".archived");
    await shown.getByText(`Visit number ${VERSIONS - 1} of a page`).waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("ArrowRight");
    await page.frameLocator("iframe").getByText(`Visit number ${VERSIONS - 1} of a page`).waitFor();
    await page.keyboard.press("ArrowRight");
    await shown.getByText("HTTP/1.1 200").waitFor();
    await page.keyboard.press("ArrowRight");
    await shown.locator("ins", { hasText: `${VERSIONS - 1}` }).waitFor();
    assert.equal(await figure(page, "version_texts").textContent(), "1 word added, 1 removed.");
    await page.keyboard.press("ArrowRight");
    const sides = shown.locator("table.sides tbody tr:has(ins)");
    await sides.waitFor();
    for (const [at, tag] of ["del", "ins"].entries()) {
      const changed = sides.locator("td").nth(at).locator(tag);
      assert.equal((await changed.textContent()).trim(), `${VERSIONS - 2 + at}`);
    }
    assert.equal(await sides.locator("td").nth(0).locator("ins").count(), 0);
    await done();
  });

  it("are found by their day, by keyboard, and by any date", async () => {
    const expected = [/status of 404 /];
    const { page, done } = await open(chromium.context, crawl.origin, hashOf("/attack"), { expected });
    const days = page.getByRole("group", { name: "Days with a version" });
    const day = days.getByRole("button");
    await day.first().waitFor();
    const counts = (await day.evaluateAll((all) => all.map((one) => one.ariaLabel))).map((label) => label.split(", "));
    assert.equal(counts.reduce((sum, [, versions]) => sum + Number.parseInt(versions, 10), 0), VERSIONS);
    assert.equal(counts.at(-1)[2], "words changed");
    await day.last().focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    const shown = page.locator(".archived");
    await shown.getByText(`Visit number ${VERSIONS} of a page`).waitFor();
    assert.match(await page.evaluate(() => document.activeElement.textContent), /^Version of \d/);
    await page.getByLabel("As of").fill("2001-02-03");
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await shown.getByText("no version is so old; the oldest that is archived is of ").waitFor();
    await page.getByLabel("As of").fill("2999-01-01");
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await shown.getByText(`Visit number ${VERSIONS} of a page`).waitFor();
    await done();
  });

  it("are downloads for other programs, and no scripts", async () => {
    const gate = await fetch(`${crawl.origin}/timegate/${crawl.site}/attack`, { redirect: "manual" });
    const memento = gate.headers.get("location");
    const page = await chromium.context.newPage();
    const events = watch(page);
    // A browser downloads it instead of showing it.
    await assert.rejects(page.goto(memento), /Download is starting|ERR_ABORTED/);
    await page.goto(`${crawl.origin}/`);
    await page.evaluate((src) => {
      for (const tag of ["script", "iframe", "img"]) document.body.append(Object.assign(document.createElement(tag), { src }));
    }, memento);
    await page.waitForTimeout(LONG_ENOUGH);
    assert.deepEqual([events.dialogs, events.windows, crawl.trapped], [[], [], []]);
    await page.close();
  });

  it("are text where the site sent text, and nothing where it sent an image", async () => {
    const notes = await look("/notes");
    await notes.page.locator(".archived pre").getByText("<script>alert('notes')</script>").waitFor();
    await choose(notes.page, "Page");
    await notes.page.frameLocator("iframe").getByText("<script>alert('notes')</script>").waitFor();
    assert.deepEqual([notes.events.dialogs, crawl.trapped], [[], []]);
    await notes.done();
    const wide = await look("/wide");
    await choose(wide.page, "Page");
    await wide.page.frameLocator("iframe").getByText("Wide words").waitFor();
    await wide.done();
    const picture = await look("/picture");
    await choose(picture.page, "Page");
    await picture.page.locator(".archived", { hasText: "no text (image/png)" }).waitFor();
    assert.equal(await picture.page.locator("iframe").count(), 0);
    assert.equal((await fetch(crawl.origin + (await documentOf("/picture")))).status, 404);
    await picture.done();
    assert.deepEqual(crawl.trapped, []);
  });

  it("end where they are too long, and say so", async () => {
    const document = await (await fetch(crawl.origin + (await documentOf("/huge")))).text();
    assert.ok(document.includes("Beginning") && !document.includes("The end"));
    assert.ok(document.includes("the rest is left out") && document.length < 1_500_000, `${document.length}`);
  });

  it("axe finds nothing, in both themes, wide and narrow", async () => {
    const { page, done } = await look("/attack");
    for (const kind of ["Text", "Page", "Headers", "Difference to the version before", "Both side by side"]) {
      await choose(page, kind);
      await page.locator(".archived :is(pre, iframe, table)").waitFor();
      for (const [colorScheme, width] of ["light", "dark"].flatMap((theme) => [1280, 360].map((width) => [theme, width]))) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        await page.setViewportSize({ width, height: 800 });
        assert.deepEqual(await violations(page), [], `${kind} ${colorScheme} ${width}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `at ${width} it is ${wide} too wide`);
        if (PICTURES) {
          // The frame paints by itself, and only in view.
          await page.locator(".archived").scrollIntoViewIfNeeded();
          await page.waitForTimeout(500);
          const name = `archived-${kind.split(" ")[0].toLowerCase()}-${colorScheme}-${width}.png`;
          await writeFile(`${PICTURES}/${name}`, await page.screenshot());
        }
      }
    }
    await done();
  });

  // The last one, since the daemon steps aside meanwhile.
  it("are gone from an open view once the page is taken down, and it says so", async () => {
    const { page, done } = await look("/gone", { expected: [/net::ERR_/, /status of 503 /] });
    await page.locator(".archived").getByText("A page that will be taken down").waitFor();
    const place = await documentOf("/gone");
    await crawl.takeDown("/gone");
    await retry(async () => assert.match(await figure(page, "no_version").textContent(), /taken down/));
    assert.equal(await rows(page).count(), 0);
    assert.equal(await page.getByText("A page that will be taken down").count(), 0);
    assert.equal((await fetch(crawl.origin + place)).status, 404);
    await done();
  });
});

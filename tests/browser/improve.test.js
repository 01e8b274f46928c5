// The view "Improve" against the API, with a crawl that measures itself and tries what it has learned.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { violations } from "./axe.js";
import { browser, count, figure, giveToken, open, retry, says, share } from "./browser.js";
import { TOKEN, improving } from "./crawl.js";

const points = (value) => `${value < 0 ? "−" : "+"}${(100 * Math.abs(value)).toFixed(1)}`;

let crawls, chromium;

before(async () => {
  [crawls, chromium] = await Promise.all([improving(), browser()]);
});
after(async () => {
  await chromium?.close();
  await crawls?.stop();
});

const view = (crawl, options) => open(chromium.context, crawl.origin, "#/improve", options);
const column = (page, caption, at) =>
  page.locator(`table:has(caption:text-is("${caption}")) tbody tr > :nth-child(${at})`).allTextContents();
const step = (page) => page.locator(".steps [aria-current=step]").getAttribute("data-step");

/** The forecasts, once they are computed. */
const forecast = (crawl, path) =>
  retry(async () => {
    const found = await crawl.get(path);
    assert.equal(found.state, "ready");
    return found;
  });

describe("a measured crawl that tries a candidate", () => {
  it("shows what was measured as the API tells it", async () => {
    const { watch, cycles } = await crawls.trial.get("/api/v1/improve");
    const { page, done } = await view(crawls.trial);
    const { share: fresh, low, high } = watch.freshness;
    await says(page, "improve_freshness", share(fresh));
    await says(page, "improve_interval", `${share(low)} to ${share(high)}`);
    await says(page, "improve_pages", count(watch.pages));
    const known = cycles.toReversed();
    assert.ok((await column(page, "Freshness by cycle", 1)).every((text) => / 20\d\d,/.test(text)), "dates come first");
    assert.deepEqual(await column(page, "Freshness by cycle", 2), known.map(({ cycle }) => count(cycle)));
    assert.deepEqual(await column(page, "Freshness by cycle", 3), known.map(({ freshness }) => share(freshness?.share)));
    assert.ok((await page.locator(".band.main").count()) > 0, "the interval is drawn");
    await page.getByText(`${count(watch.score.changed)} of ${count(watch.score.visits)} visits found a change`).waitFor();
    await done();
  });

  it("shows the step, the candidate, the arms and the history", async () => {
    const { loop } = await crawls.trial.get("/api/v1/improve");
    const { events } = await crawls.trial.get("/api/v1/improve/history");
    const { page, done } = await view(crawls.trial);
    await retry(async () => assert.equal(await step(page), "trial"));
    assert.equal(loop.step, "trial");
    assert.deepEqual(await page.locator(".panel ul.reasons li").allTextContents(), loop.needs);
    await says(page, "candidate", loop.candidate.expression);
    const { gain_low: low, gain_high: high } = loop.candidate.back_test;
    await says(page, "gain", `${points(low)} to ${points(high)} percentage points`);
    const arms = loop.trial.arms.toReversed();
    assert.ok(arms.length > 2, "some cycles of the trial are over");
    assert.deepEqual(await column(page, "Freshness of the arms by cycle", 2), arms.map(({ cycle }) => count(cycle)));
    assert.deepEqual(await column(page, "Freshness of the arms by cycle", 3), arms.map(({ candidate }) => share(candidate?.share)));
    const { effect } = loop.trial;
    await says(page, "effect", `${points(effect.value)} (${points(effect.low)} to ${points(effect.high)}) percentage points`);
    assert.deepEqual(
      await column(page, "History of the loop, newest first", 1),
      events.map(({ what }) => what.replaceAll("_", " ")),
    );
    for (const name of ["Promote", "Roll back", "Learn now"])
      assert.ok(await page.getByRole("button", { name, exact: true }).isDisabled(), `${name} during a trial`);
    await page.getByText("A trial decides by itself.").waitFor();
    await done();
  });

  it("shows other budgets once they are computed, and what is saved", async () => {
    const { page, done } = await view(crawls.trial);
    const [curve, savings] = await Promise.all(["/api/v1/whatif", "/api/v1/savings"].map((path) => forecast(crawls.trial, path)));
    assert.ok(curve.enough && curve.forecasts.length === 7, JSON.stringify(curve));
    await retry(async () =>
      assert.deepEqual(await column(page, "Forecast freshness by budget", 3), curve.forecasts.map(({ share: fresh }) => share(fresh))),
    );
    const needs = savings.plain.budget;
    const { smallest, largest } = savings.plain;
    const times = (budget) => `${Number(budget.toFixed(2))}×`;
    const told = needs <= smallest ? `at most ${times(smallest)}` : times(needs);
    await says(page, "plain", needs === null ? `over ${times(largest)}` : told);
    await done();
  });

  it("is promoted from the next cycle on, unless the loop is held", async () => {
    const { page, done } = await view(crawls.shadow);
    await retry(async () => assert.equal(await step(page), "shadow"));
    await page.getByRole("button", { name: "Promote", exact: true }).click();
    await giveToken(page, TOKEN);
    await page.locator(".accepted", { hasText: "From the next cycle on" }).waitFor();
    const asked = async () => (await crawls.shadow.get("/api/v1/improve")).loop.asked;
    assert.equal((await asked()).what, "promote");
    await page.getByText("The next cycle puts the candidate in force, as anna decided.").waitFor();
    await page.getByRole("button", { name: "Hold loop" }).click();
    await page.getByText("An operator holds the loop.", { exact: true }).waitFor();
    assert.equal(await asked(), null);
    await retry(async () => assert.equal(await step(page), "idle"));
    await page.getByText("held", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Release loop" }).click();
    await page.getByRole("button", { name: "Hold loop" }).waitFor();
    const { loop } = await crawls.shadow.get("/api/v1/improve");
    assert.deepEqual([loop.is_held, loop.step], [false, "idle"]);
    await retry(async () =>
      assert.deepEqual((await column(page, "History of the loop, newest first", 1)).slice(0, 2), ["released", "held"]),
    );
    await done();
  });

  it("axe finds nothing, in both themes, wide and narrow", async () => {
    for (const crawl of [crawls.trial, crawls.shadow]) {
      await forecast(crawl, "/api/v1/whatif");
      const { page, done } = await view(crawl);
      await figure(page, "improve_freshness").waitFor();
      await page.locator("table:has(caption:text-is('Forecast freshness by budget')) tbody tr").first().waitFor({ state: "attached" });
      await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
      for (const [colorScheme, width] of ["light", "dark"].flatMap((theme) => [1920, 1280, 360].map((width) => [theme, width]))) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        await page.setViewportSize({ width, height: 800 });
        assert.deepEqual(await violations(page), [], `${colorScheme} ${width}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `at ${width} it is ${wide} too wide`);
      }
      await done();
    }
  });
});

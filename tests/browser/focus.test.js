// The panel "Focus" against the API, with a crawl that looks for syllabi.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { violations } from "./axe.js";
import { browser, count, open, says, share } from "./browser.js";
import { focused } from "./crawl.js";

const within = (estimate, low, high) => `${share(estimate)} (${share(low)} to ${share(high)})`;

let crawl, chromium;

before(async () => {
  [crawl, chromium] = await Promise.all([focused(), browser()]);
});
after(async () => {
  await chromium?.close();
  await crawl?.stop();
});

describe("a focused crawl", () => {
  it("shows harvest, recall and exhausted sites as the API tells them", async () => {
    const [{ focus }] = await crawl.get("/api/v1/cycles?last=1");
    assert.ok(focus.relevant_known > 5 && focus.recall_estimate !== null, JSON.stringify(focus));
    const { page, done } = await open(chromium.context, crawl.origin, "");
    await says(page, "relevant-known", count(focus.relevant_known));
    await says(page, "relevant-found", count(focus.relevant_found));
    await says(page, "harvest", within(focus.harvest_rate, focus.harvest_low, focus.harvest_high));
    await says(page, "recall", within(focus.recall_estimate, focus.recall_low, focus.recall_high));
    await says(page, "focus", `Order "learned". ${count(focus.explored)} pages of ${count(focus.discovered)} explored.`);
    const sites = page.locator('table:has(caption:text-is("Exhausted sites")) tbody tr > :nth-child(1)');
    const names = (focus.exhausted ?? []).map(({ site }) => site);
    assert.deepEqual(await sites.allTextContents(), names);
    assert.equal(await page.getByText("No exhausted sites.").isVisible(), names.length === 0);
    await done();
  });

  it("axe finds nothing, in both themes, wide and narrow", async () => {
    const { page, done } = await open(chromium.context, crawl.origin, "");
    await page.getByRole("heading", { name: "Focus", exact: true }).waitFor();
    for (const [colorScheme, width] of ["light", "dark"].flatMap((theme) => [1920, 360].map((width) => [theme, width]))) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.setViewportSize({ width, height: 800 });
      assert.deepEqual(await violations(page), [], `${colorScheme} ${width}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `at ${width} it is ${wide} too wide`);
    }
    await done();
  });
});

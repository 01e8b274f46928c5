// The panel "Fleet" against the API: three processes, of which one is lost.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { violations } from "./axe.js";
import { browser, open, retry } from "./browser.js";
import { fleet } from "./crawl.js";

let all, chromium;

before(async () => {
  [all, chromium] = await Promise.all([fleet(), browser()]);
});
after(async () => {
  await chromium?.close();
  await all?.stop();
});

describe("a fleet of three processes", () => {
  const rows = (page, caption) => page.locator(`table:has(caption:text-is("${caption}")) tbody tr`);
  const cells = async (row) => (await row.locator("> *").allTextContents()).map((text) => text.trim());

  it("shows who owns what, and then which process is lost", async () => {
    await all.until("owned", ({ fleet }) => fleet.partitions.every(({ owner }) => owner !== null));
    const { page, done } = await open(chromium.context, all.origin, "");
    const partitions = rows(page, "Partitions of the fleet");
    await retry(async () => {
      const shown = await Promise.all((await partitions.all()).map(cells));
      assert.deepEqual(shown.map(([id, begins, state]) => [id, begins, state]), [
        ["1", "(first)", "owned"],
        ["2", "127.1.0.3", "owned"],
        ["3", "127.1.0.5", "owned"],
      ]);
      assert.deepEqual(shown.map(([, , , owner]) => owner).sort(), ["a", "b", "c"]);
    });
    await all.lose();
    const lost = await all.until("silent", ({ fleet }) => fleet.nodes.some(({ is_silent: isSilent }) => isSilent));
    assert.equal(lost.fleet.nodes.find(({ is_silent: isSilent }) => isSilent).name, "c");
    await retry(async () => {
      const shown = await Promise.all((await rows(page, "Processes of the fleet").all()).map(cells));
      assert.deepEqual(shown.map(([name, state]) => [name, state]), [
        ["a", "crawls"],
        ["b", "crawls"],
        ["c", "silent"],
      ]);
    });
    await page.getByText("no owner for").waitFor();
    await done();
  });

  it("axe finds nothing, in both themes, wide and narrow", async () => {
    const { page, done } = await open(chromium.context, all.origin, "");
    await page.getByRole("heading", { name: "Fleet", exact: true }).waitFor();
    for (const [colorScheme, width] of ["light", "dark"].flatMap((theme) => [1920, 360].map((width) => [theme, width]))) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.setViewportSize({ width, height: 800 });
      if (process.env.RECRAWL_PICTURES) {
        await page.screenshot({ path: `${process.env.RECRAWL_PICTURES}/fleet-${colorScheme}-${width}.png`, fullPage: true });
      }
      assert.deepEqual(await violations(page), [], `${colorScheme} ${width}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `at ${width} it is ${wide} too wide`);
    }
    await done();
  });
});

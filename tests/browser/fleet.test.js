// A fleet in the dashboard of one process: pages of another partition, and the panel "Fleet", also when one is lost.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { violations } from "./axe.js";
import { browser, open, retry, says } from "./browser.js";
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

  /** Another partition than that of the dashboard's process, and its owner. */
  const another = async () => {
    const { fleet } = await all.until("owned", ({ fleet }) => fleet.partitions.every(({ owner }) => owner !== null));
    const { partition, owner } = fleet.partitions.find(({ partition }) => partition !== fleet.partition);
    return { theirs: String(partition), owner, node: all.nodes[owner] };
  };

  it("shows the changes of a chosen partition, and a page of it with who has answered", async () => {
    const { theirs, owner, node } = await another();
    await node.until("visited", ({ visited }) => visited > 10);
    const { page, done } = await open(chromium.context, all.origin, "#/changes?changes=new");
    const rows = page.locator("[data-change]");
    await rows.first().waitFor();
    assert.notEqual(await page.locator("#partition").inputValue(), theirs);
    await page.selectOption("#partition", theirs);
    await page.getByRole("button", { name: "Show", exact: true }).click();
    // Some may be new since.
    await retry(async () => {
      const { changes } = await node.get("/api/v1/changes?changes=new&limit=25");
      const shown = await rows.evaluateAll((all) => all.map((row) => row.dataset.change));
      assert.deepEqual(shown, changes.map(({ id }) => id));
    });
    assert.equal(await page.locator("#partition").inputValue(), theirs);
    assert.deepEqual(await violations(page), []);
    await rows.first().getByRole("link").click();
    await says(page, "answered_by", `Answered by ${owner}, which has partition ${theirs}.`);
    assert.deepEqual(await violations(page), []);
    await done();
  });

  it("searches a chosen partition", async () => {
    const { theirs, node } = await another();
    const { changes } = await node.get("/api/v1/changes?changes=new&limit=9");
    const texts = changes.map(({ url }) => node.get(`/api/v1/version?url=${encodeURIComponent(url)}`));
    const words = (await Promise.all(texts)).flatMap(({ text }) => /\b[a-z]{5,}\b/.exec(text ?? "") ?? []);
    // Not each page is in the index.
    const word = await retry(async () => {
      for (const word of words) if ((await node.get(`/api/v1/search?q=${word}`)).total > 0) return word;
      throw new Error(`nobody finds any of ${words}`);
    });
    const { page, done } = await open(chromium.context, all.origin, `#/search?q=${word}&partition=${theirs}`);
    await retry(async () => assert.match(await page.locator('[data-figure="found"]').textContent(), /^\d+ pages? found/));
    assert.equal(await page.locator("#partition").inputValue(), theirs);
    assert.deepEqual(await violations(page), []);
    await done();
  });

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

// An exported WACZ file in the library of ReplayWeb.page: pages look as on the web, and nothing is asked of it.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { browser, retry } from "./browser.js";
import { exported } from "./crawl.js";
import { reader } from "./reader.js";

/** Folder for the last replayed page and its original, to be looked at. */
const PICTURES = process.env.RECRAWL_PICTURES;

describe("an exported WACZ file", () => {
  let [crawl, site, chromium] = [];
  before(async () => {
    crawl = await exported();
    chromium = await browser();
    site = await reader(crawl.wacz, chromium.context);
  });
  after(async () => {
    await chromium?.close();
    site?.stop();
    await crawl?.stop();
  });

  /** The view of an address in a frame of the reader. */
  const shown = async (url) => {
    const page = await chromium.context.newPage();
    const asked = new Set();
    page.on("request", (request) => asked.add(new URL(request.url()).origin));
    const status = await site.framed(page, url);
    const found = { status, picture: await page.screenshot(), asked: [...asked] };
    await page.close();
    return found;
  };

  it("shows pages as they looked on the web, pixel by pixel, and asks nobody else", async () => {
    const pages = crawl.contents.filter(({ status, title }) => status === 200 && title);
    assert.ok(pages.length > 20, `${pages.length} pages`);
    // First, last, and some between them.
    const some = pages.filter((_, index) => index % Math.ceil(pages.length / 6) === 0).concat(pages.slice(-1));
    // A frame that was loaded may not be painted yet, on a busy machine.
    for (const { url, time } of some)
      await retry(async () => {
        const replayed = await shown(site.at(url, time));
        assert.equal(replayed.status, 200, url);
        assert.deepEqual(replayed.asked, [site.origin], url);
        const original = await shown(url);
        if (PICTURES) {
          await writeFile(`${PICTURES}/replayed.png`, replayed.picture);
          await writeFile(`${PICTURES}/original.png`, original.picture);
        }
        assert.ok(original.picture.equals(replayed.picture), `${url} looks as on the web`);
      });
  });

  it("says so of a page that it does not hold", async () => {
    const missing = await shown(site.at("http://missing.test/", 1_577_836_800));
    assert.equal(missing.status, 404);
    assert.deepEqual(missing.asked, [site.origin]);
  });
});

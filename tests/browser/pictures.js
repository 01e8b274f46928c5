// Takes pictures of every view for docs/pictures, from a crawl of the mock web: `node pictures.js FOLDER`. With `all` as
// second argument it takes more variants in full height, to look for faults.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { browser, giveToken, open } from "./browser.js";
import { TOKEN, improving, world } from "./crawl.js";

const heightOf = (name, width) => (width < 500 || /^(formula|improve)/.test(name) ? 1300 : 1000);

const folder = process.argv[2] ?? "../../docs/pictures";
await mkdir(folder, { recursive: true });
const [crawl, crawls, chromium] = await Promise.all([world(), improving(), browser()]);
try {
  await crawl.put(`/api/v1/blocks/${encodeURIComponent("ads.example")}`);
  await crawl.put(`/api/v1/hosts/${new URL(crawl.web.seeds[1]).hostname}/pause`);
  await crawl.hold();
  const { pages } = await crawl.get("/api/v1/pages?limit=300");
  const friendly = pages.filter((page) => !page.url.startsWith(crawl.site.origin));
  const changed = friendly.reduce((most, page) => ((page.X ?? 0) > (most.X ?? 0) ? page : most));
  const url = `#/page?url=${encodeURIComponent(changed.url)}`;
  const compare = async (page) => {
    await page.fill("#candidate", "t / (n + 1)");
    await page.getByRole("button", { name: "Compare" }).click();
    await page.locator("[data-figure=overlap]").waitFor();
  };
  const seed = async (page) => {
    await page.fill("#seeds", `${crawl.web.seeds[0]}news`);
    await page.getByRole("button", { name: "Add seed URLs" }).click();
    await giveToken(page, TOKEN);
    await page.locator(".accepted").waitFor();
  };
  const forecast = (page) => page.locator("[data-figure=plain]").waitFor();
  const host = `#/host?name=${encodeURIComponent(new URL(crawl.web.seeds[2]).origin)}`;
  const all = [
    ["now-light", "#/now", "light", 1280],
    ["now-dark", "#/now", "dark", 1280],
    ["now-narrow", "#/now", "light", 360],
    ["changes-light", "#/changes", "light", 1280],
    ["page-light", url, "light", 1280],
    ["page-narrow", url, "dark", 360],
    ["hosts-dark", "#/hosts", "dark", 1280],
    ["formula-light", "#/formula", "light", 1280, compare],
    ["improve-light", "#/improve", "light", 1280, forecast],
    ["control-dark", "#/control", "dark", 1280, seed],
    ...(process.argv[3] === "all"
      ? [
          ["changes-dark", "#/changes", "dark", 1280],
          ["changes-narrow", "#/changes", "light", 360],
          ["now-wide", "#/now", "light", 1920],
          ["now-wide-dark", "#/now", "dark", 1920],
          ["formula-wide", "#/formula", "light", 1920, compare],
          ["control-wide", "#/control", "dark", 1920],
          ["hosts-wide", "#/hosts", "light", 1920],
          ["page-wide", url, "light", 1920],
          ["page-dark", url, "dark", 1280],
          ["hosts-light", "#/hosts", "light", 1280],
          ["hosts-narrow", "#/hosts", "light", 360],
          ["host-light", host, "light", 1280],
          ["host-narrow", host, "dark", 360],
          ["formula-dark", "#/formula", "dark", 1280, compare],
          ["formula-narrow", "#/formula", "light", 360, compare],
          ["improve-dark", "#/improve", "dark", 1280, forecast],
          ["improve-narrow", "#/improve", "light", 360, forecast],
          ["control-narrow", "#/control", "light", 360],
          ["pages-light", "#/page", "light", 1280],
        ]
      : []),
  ];
  // The view of a crawl shows one that runs, and the others figures that stand still.
  const isNow = ([name]) => name.startsWith("now");
  for (const [name, hash, colorScheme, width, act] of [...all.filter((shot) => !isNow(shot)), ...all.filter(isNow)]) {
    if (name === "now-light") await crawl.del("/api/v1/pause");
    const { origin } = name.startsWith("improve") ? crawls.trial : crawl;
    const { page } = await open(chromium.context, origin, hash, { width, height: 800 });
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await act?.(page);
    await page.waitForTimeout(700);
    // The manual shows only the top of a view.
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    const clip = {
      x: 0,
      y: 0,
      width,
      height: process.argv[3] === "all" ? height : Math.min(height, heightOf(name, width)),
    };
    await page.screenshot({ path: join(folder, `dashboard-${name}.png`), fullPage: true, clip });
    await page.close();
  }
} finally {
  await chromium.close();
  await Promise.all([crawl.stop(), crawls.stop()]);
}

// Compares the look of 60 pages on the web with that of their copies: the console's view, the library of ReplayWeb.page and
// pywb. `node looks.js FOLDER [WAYBACK]` writes the pictures and a table; WAYBACK is pywb's program of that name.

import { spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { browser, retry } from "./browser.js";
import { looked } from "./crawl.js";
import { PAGES } from "./looks-site.js";
import { reader, stamp } from "./reader.js";

const SIZE = { width: 1000, height: 600 };

/** The share of pixels that differ between two pictures in any of their colours. Runs in the browser. */
async function difference(pictures) {
  const [a, b] = await Promise.all(
    pictures.map(async (picture) => {
      const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${picture}`)).blob());
      const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
      context.drawImage(image, 0, 0);
      return new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer);
    }),
  );
  if (a.length !== b.length) return 1;
  return a.reduce((sum, pixel, at) => sum + (pixel !== b[at]), 0) / a.length;
}

/** pywb over an archive's WARC files and index. */
async function pywb(program, crawl) {
  const folder = await mkdtemp(join(tmpdir(), "recrawl-pywb-"));
  await crawl.recrawl("export", "cdxj", "--out", join(folder, "index.cdxj"));
  await cp(join(crawl.data, "warc"), join(folder, "archive"), { recursive: true });
  await writeFile(
    join(folder, "config.yaml"),
    "collections:\n  looks:\n    index_paths: ./index.cdxj\n    archive_paths: ./archive/\n",
  );
  const port = await freePort();
  const child = spawn(program, ["-b", "127.0.0.1", "-p", `${port}`], { cwd: folder, stdio: "ignore" });
  process.on("exit", () => child.kill());
  const origin = `http://127.0.0.1:${port}`;
  await retry(() => fetch(origin));
  const stop = async () => {
    child.kill();
    await rm(folder, { recursive: true, force: true });
  };
  return { at: (url, time) => `${origin}/looks/${stamp(time)}/${url}`, stop };
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const [folder, program] = process.argv.slice(2);
await mkdir(folder, { recursive: true });
const [crawl, chromium] = [await looked(), await browser()];
const replay = await reader(crawl.wacz, chromium.context);
const wayback = program && (await pywb(program, crawl));
const page = await chromium.context.newPage();
await page.setViewportSize(SIZE);

/** The version that the console lists first. */
const newest = async (url) => (await crawl.get(`/api/v1/versions?url=${encodeURIComponent(url)}`)).versions[0];

// The line behind the copy says what it is.
await page.route(/\/archived\?/, async (route) => {
  const answer = await route.fetch();
  const body = (await answer.text()).replace(/<hr>\n<p style="[^"]*"><small>Archived copy[\s\S]*?<\/small><\/p>/, "");
  await route.fulfill({ response: answer, body });
});

const VIEWS = {
  view: async (url, { warc_file: file, warc_offset: offset }) => {
    await page.goto(`${crawl.origin}/archived?url=${encodeURIComponent(url)}&warc_file=${file}&warc_offset=${offset}`);
    await page.waitForLoadState("networkidle");
  },
  replayweb: (url, { time }) => replay.framed(page, replay.at(url, time)),
  pywb: async (url, { time }) => {
    await page.goto(wayback.at(url, time));
    await page.locator("#replay_iframe").evaluate((frame) => {
      frame.style = "position: fixed; inset: 0; width: 100%; height: 100%; border: 0; z-index: 9";
    });
    await page.waitForLoadState("networkidle");
  },
};
const views = Object.keys(VIEWS).filter((view) => view !== "pywb" || wayback);
const blank = await chromium.context.newPage();
const taken = async (path, view) => {
  const picture = await page.screenshot();
  await writeFile(join(folder, `${path.slice(1).replaceAll("/", "-")}-${view}.png`), picture);
  return picture.toString("base64");
};

const shares = Object.fromEntries(views.map((view) => [view, []]));
console.log(["page".padEnd(24), ...views.map((view) => view.padStart(10))].join(""));
for (const path of PAGES) {
  const url = crawl.site + path;
  await replay.framed(page, url);
  const live = await taken(path, "live");
  const version = await newest(url);
  const row = [];
  for (const view of views) {
    await VIEWS[view](url, version);
    const share = await blank.evaluate(difference, [live, await taken(path, view)]);
    shares[view].push(share);
    row.push(`${(100 * share).toFixed(2)} %`.padStart(10));
  }
  console.log(path.padEnd(24) + row.join(""));
}
for (const view of views) {
  const sorted = shares[view].toSorted((a, b) => a - b);
  const percent = (share) => `${(100 * share).toFixed(2)} %`;
  const same = sorted.filter((share) => share === 0).length;
  console.log(`${view}: ${same} of ${sorted.length} equal, median ${percent(sorted[sorted.length >> 1])}, worst ${percent(sorted.at(-1))}`);
}
await chromium.close();
await wayback?.stop();
replay.stop();
await crawl.stop();
